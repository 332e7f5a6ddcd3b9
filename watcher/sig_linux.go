package watcher

import (
	"io/fs"
	"syscall"
)

const (
	platformBlindCTime = false
	// platformEventFiles is 0: inotify watches directories, files cost nothing.
	platformEventFiles = 0
	// watchAbove: a watch on the directory above the root costs one watch.
	watchAbove = true
)

func sigOf(fi fs.FileInfo) Sig {
	s := Sig{Size: fi.Size(), MTime: fi.ModTime().UnixNano()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		s.CTime, s.Ino, s.Dev = st.Ctim.Nano(), st.Ino, st.Dev
	}
	return s
}
