package memory

import (
	"io/fs"
	"syscall"
)

// inodeOf is when the inode last changed, and its number.
func inodeOf(info fs.FileInfo) (ctime int64, ino uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano(), st.Ino
	}
	return 0, 0
}
