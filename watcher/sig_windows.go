package watcher

import (
	"io/fs"
	"syscall"
)

const (
	// platformBlindCTime: a stat without opening the file knows the time of
	// creation, which does not follow content.
	platformBlindCTime = true
	// platformEventFiles is 0: directories are watched, files cost nothing.
	platformEventFiles = 0
	// watchAbove: a watch on the directory above the root costs one buffer.
	watchAbove = true
)

func sigOf(fi fs.FileInfo) Sig {
	s := Sig{Size: fi.Size(), MTime: fi.ModTime().UnixNano()}
	if d, ok := fi.Sys().(*syscall.Win32FileAttributeData); ok {
		s.CTime = d.CreationTime.Nanoseconds()
	}
	return s
}
