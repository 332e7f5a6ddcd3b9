//go:build !unix

package memory_test

import "io/fs"

func inode(fs.FileInfo) uint64 { return 0 }
