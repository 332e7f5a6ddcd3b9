package discovery

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// trustRecord says that a person has said to trust a directory.
type trustRecord struct {
	Path string    `json:"path"`
	At   time.Time `json:"at"`
}

// Trusted tells whether a person has said to trust a workspace at a terminal. It
// holds for the directory itself: what lies below it and has a .git entry of its
// own is another workspace.
func Trusted(state, dir string) (bool, error) {
	if state == "" {
		return false, nil
	}
	real := resolved(dir)
	var record trustRecord
	err := readRecord(recordPath(state, "trusted", real), &record)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("whether %s is trusted cannot be read: %w", dir, err)
	}
	return record.Path == real, nil
}

// SetTrusted remembers that a person trusts a workspace, or no longer does.
func SetTrusted(state, dir string, trusted bool, now time.Time) error {
	if state == "" {
		return errors.New("there is no directory to remember trust in")
	}
	real := resolved(dir)
	path := recordPath(state, "trusted", real)
	if trusted {
		if err := writeRecord(path, trustRecord{Path: real, At: now.UTC()}); err != nil {
			return fmt.Errorf("remember that %s is trusted: %w", dir, err)
		}
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget that %s is trusted: %w", dir, err)
	}
	return nil
}

// ProjectRoot is the directory that a person trusts who is in dir: the nearest
// one upwards that has a .git entry, else dir itself.
func ProjectRoot(dir string) string {
	f := &finder{res: &Result{}}
	return f.projectOf(dir).Root
}
