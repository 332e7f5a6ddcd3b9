package activity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Forget takes the refs of memories, and of their entries, out of the log of a
// root: the names of what was purged are kept nowhere. The records stay, so that
// whoever follows the log goes on where they were.
func (s *Store) Forget(ctx context.Context, rootID string, refs []string) error {
	if err := checkRoot(rootID); err != nil {
		return err
	}
	dir := s.Dir(rootID)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.locked(ctx, dir, func(dir string) error {
		for _, name := range []string{olderName, FileName} {
			if err := forget(dir, filepath.Join(dir, name), refs); err != nil {
				return err
			}
		}
		return nil
	})
}

// forget rewrites one log in one step, if it names any of the refs. Inv: the
// lock is held.
func forget(dir, path string, refs []string) error {
	records, err := read(path)
	if err != nil {
		return err
	}
	named := func(ref string) bool {
		file, _, _ := strings.Cut(ref, "#")
		return slices.Contains(refs, file)
	}
	var out bytes.Buffer
	found := false
	for i := range records {
		r := &records[i]
		found = found || slices.ContainsFunc(r.Refs, named)
		r.Refs = slices.DeleteFunc(r.Refs, named)
		line, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("encode a record of activity: %w", err)
		}
		out.Write(append(line, '\n'))
	}
	if !found {
		return nil
	}
	return replace(dir, path, out.Bytes(), "the activity log")
}
