//go:build unix

package watcher

import (
	"io/fs"
	"os"
	"syscall"
)

// listDir lists a directory in no particular order. O_DIRECTORY and O_NOFOLLOW
// make it fail, at once, when the path has become a link or a FIFO since it was
// looked at.
func listDir(dir string) ([]fs.DirEntry, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}
