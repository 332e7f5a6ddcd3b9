//go:build !unix

package watcher

import (
	"io/fs"
	"os"
)

// listDir lists a directory in no particular order.
func listDir(dir string) ([]fs.DirEntry, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}
