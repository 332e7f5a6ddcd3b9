package watcher

import (
	"io/fs"
	"syscall"
)

const (
	platformBlindCTime = false
	// platformEventFiles: kqueue takes a descriptor for every file of a watched
	// directory; above this, polling leaves the descriptors to the rest of the
	// process.
	platformEventFiles = 4096
	// watchAbove: for the same reason the directory above the root, which may be
	// somebody's home, is not watched; probing and sweeps notice what happens there.
	watchAbove = false
)

func sigOf(fi fs.FileInfo) Sig {
	s := Sig{Size: fi.Size(), MTime: fi.ModTime().UnixNano()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		s.CTime, s.Ino, s.Dev = st.Ctimespec.Nano(), st.Ino, uint64(st.Dev)
	}
	return s
}
