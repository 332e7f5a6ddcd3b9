//go:build unix

package memory_test

import (
	"io/fs"
	"syscall"
)

func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino) //nolint:unconvert // its type differs between systems
	}
	return 0
}
