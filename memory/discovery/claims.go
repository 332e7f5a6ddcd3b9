package discovery

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxRecord bounds a record of our own.
const maxRecord = 64 << 10

// claimRecord says which project a directory of memories belongs to whose name
// could stand for others.
type claimRecord struct {
	Root    string `json:"root"`
	Project string `json:"project"`
}

// claim notes that a directory belongs to a project, both without symlinks, and
// answers which other project it belongs to; empty if to none. A project that is
// no longer there loses its claim.
func claim(state, root, project string) (owner, note string, err error) {
	path := recordPath(state, "projects", root)
	var record claimRecord
	switch err := readRecord(path, &record); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		if note, err = quarantine(path, err); err != nil {
			return "", note, err
		}
	case record.Root != root:
		return "", "", errors.New("its record is that of " + record.Root)
	case record.Project == project || sameDirectory(record.Project, project):
		return "", "", nil
	case isThere(record.Project):
		return record.Project, "", nil
	default:
		note = "it was the memory of " + record.Project + ", which is gone"
	}
	if err := writeRecord(path, claimRecord{Root: root, Project: project}); err != nil {
		return "", note, err
	}
	// Another process may have been as fast.
	if err := readRecord(path, &record); err == nil && record.Project != project {
		return record.Project, note, nil
	}
	return "", note, nil
}

func sameDirectory(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// isThere tells whether a path exists as far as can be known.
func isThere(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// recordPath is where the record about a path lies.
func recordPath(state, kind, path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(state, kind, hex.EncodeToString(sum[:])+".json")
}

func readRecord(path string, into any) error {
	raw, err := readSmall(path, maxRecord)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// writeRecord writes a record so that it is there whole or not at all.
func writeRecord(path string, record any) (err error) {
	raw, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, "*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	_, err = file.Write(append(raw, '\n'))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// quarantine puts a record aside that cannot be read.
func quarantine(path string, why error) (note string, err error) {
	aside := path + ".corrupt"
	if err := os.Rename(path, aside); err != nil {
		return "", fmt.Errorf("its record cannot be read: %w", errors.Join(why, err))
	}
	return fmt.Sprintf("its record could not be read and lies in %s: %v", aside, why), nil
}
