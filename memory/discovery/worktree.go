package discovery

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// mainWorktree is the main worktree of the linked one at root, or the directory
// of the repository when that is bare; empty when root is no linked worktree.
//
// Inv: a .git file alone leads to no other project. It must name an
// administrative directory of a repository that names the worktree in turn,
// which only git, or who may write to that repository, can have arranged.
func mainWorktree(root string) (string, error) {
	link := filepath.Join(root, ".git")
	if !isFile(link) {
		return "", nil
	}
	admin, err := readPath(link, "gitdir:")
	if err != nil {
		return "", fmt.Errorf("its .git file cannot be read: %w", err)
	}
	common, err := readPath(filepath.Join(admin, "commondir"), "")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // a submodule
	}
	if err != nil {
		return "", fmt.Errorf("its repository cannot be read: %w", err)
	}
	back, err := readPath(filepath.Join(admin, "gitdir"), "")
	if err != nil || !sameFile(back, link) || filepath.Dir(filepath.Dir(admin)) != common && !sameFile(filepath.Dir(filepath.Dir(admin)), common) {
		return "", errors.New("its .git file names a repository that does not know it")
	}
	if filepath.Base(common) == ".git" {
		return filepath.Dir(common), nil
	}
	return common, nil
}

func sameFile(a, b string) bool {
	x, errX := os.Lstat(a)
	y, errY := os.Lstat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

var errLarge = errors.New("it is larger than any such file")

// readSmall reads a regular file of bounded size.
func readSmall(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) > most {
		return nil, errLarge
	}
	return raw, nil
}
