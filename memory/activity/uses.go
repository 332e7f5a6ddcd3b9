package activity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Use is how often a memory was delivered and when last, as far back as the log
// of its root reaches.
type Use struct {
	Count int
	Last  time.Time
}

// Uses are the deliveries of a root's memories by their paths as refs have them:
// the part behind the colon, since a root may have been called otherwise when it
// was written. Entries count for their file.
type Uses struct {
	ByPath map[string]Use
	stamp  string
}

// Uses reads the log of a root. before is what it answered last, or nil: that is
// answered again while nothing was written.
func (s *Store) Uses(rootID string, before *Uses) (*Uses, error) {
	if err := checkRoot(rootID); err != nil {
		return nil, err
	}
	dir := s.Dir(rootID)
	stamp, err := logStamp(dir)
	if err != nil {
		return nil, err
	}
	if before != nil && before.stamp == stamp {
		return before, nil
	}
	u := &Uses{ByPath: map[string]Use{}, stamp: stamp}
	for _, name := range []string{olderName, FileName} {
		records, err := read(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		for i := range records {
			u.add(&records[i])
		}
	}
	return u, nil
}

func (u *Uses) add(r *Record) {
	for _, ref := range r.Refs {
		_, path, _ := strings.Cut(ref, ":")
		path, _, _ = strings.Cut(path, "#")
		use := u.ByPath[path]
		use.Count++
		if r.At.After(use.Last) {
			use.Last = r.At
		}
		u.ByPath[path] = use
	}
}

// logStamp is another one whenever something was written to the log of a root.
func logStamp(dir string) (string, error) {
	stamp := ""
	for _, name := range []string{olderName, FileName} {
		info, err := os.Stat(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			stamp += "-\n"
		case err != nil:
			return "", fmt.Errorf("look at the activity log: %w", err)
		default:
			stamp += fmt.Sprintf("%d %d\n", info.Size(), info.ModTime().UnixNano())
		}
	}
	return stamp, nil
}
