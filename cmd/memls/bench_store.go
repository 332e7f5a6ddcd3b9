package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/eval"
)

// tempState is a directory for images that is removed by what it returns.
func tempState() (dir string, remove func() error, err error) {
	if dir, err = os.MkdirTemp("", "memls-bench-"); err != nil {
		return "", nil, fmt.Errorf("a directory for images: %w", err)
	}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	return dir, func() error { return os.RemoveAll(dir) }, nil
}

// writeSynthetic writes invented memories into a temporary directory.
func writeSynthetic(n int) (roots []memory.RootConfig, remove func() error, err error) {
	dir, remove, err := tempState()
	if err != nil {
		return nil, nil, err
	}
	const seed = 5
	if _, err := eval.Synthetic(n, seed).WriteMemory(dir); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("write invented memories: %w", err), remove())
	}
	return []memory.RootConfig{{Scope: memory.ScopeProject, Path: dir}}, remove, nil
}

// treeBytes is the size of all files below a directory.
func treeBytes(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}
