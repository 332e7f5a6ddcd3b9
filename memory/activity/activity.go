// Package activity keeps, in the state directory of a person, what was delivered
// to agents, so that an editor can show what a host in another process was given,
// and how often, day by day. It holds names and counts, never a query and never a
// text.
//
// Several processes write at the same time, each under a kernel lock that ends
// with its process. Everything is bounded: the log of a root, the days that are
// counted, a line, and the wait for a lock.
package activity

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
)

const (
	// FileName is the log of a root, in the root's state directory.
	FileName = "activity.jsonl"
	// olderName is the log before it.
	olderName = "activity.1.jsonl"
	lockName  = "activity.lock"

	// LogBytes bounds a log; the one before it is kept, too.
	LogBytes = 128 << 10
	// MaxRefs bounds the refs of a record, maxRef each of them in bytes, and maxWord
	// every other word.
	MaxRefs = 16
	maxRef  = 4 << 10
	maxWord = 128

	lockWait = 2 * time.Second
	lockPoll = 5 * time.Millisecond
)

// Record is one delivery, as far as it concerns one root.
type Record struct {
	// ID tells records apart; [Store.Append] makes it.
	ID       string    `json:"id"`
	At       time.Time `json:"at"`
	Host     string    `json:"host"` // a label of the program that was given the memories
	Phase    string    `json:"phase"`
	Strategy string    `json:"strategy"`
	Status   string    `json:"status"`
	Refs     []string  `json:"refs"`
}

// Store is the activity of one person, as one process sees it. Its methods may be
// called from any goroutine.
type Store struct {
	dir    string
	writer string // names this store in the ids of its records
	count  atomic.Uint64
}

// Open makes a store over a state directory. It touches no file.
func Open(state string) *Store {
	return &Store{dir: state, writer: rand.Text()[:12]}
}

// Dir is where the log of a root lies.
func (s *Store) Dir(rootID string) string { return filepath.Join(s.dir, rootID) }

// Own tells whether a record was written by this store.
func (s *Store) Own(r *Record) bool {
	return len(r.ID) > len(s.writer) && r.ID[:len(s.writer)] == s.writer
}

// Append adds a record to the log of a root. What is too long in it is cut.
func (s *Store) Append(ctx context.Context, rootID string, r Record) error {
	if err := checkRoot(rootID); err != nil {
		return err
	}
	r.ID = s.writer + "-" + strconv.FormatUint(s.count.Add(1), 10)
	r.At = r.At.UTC()
	r.Refs = slices.DeleteFunc(slices.Clone(r.Refs), func(ref string) bool { return len(ref) > maxRef })
	r.Refs = r.Refs[:min(len(r.Refs), MaxRefs)]
	for _, word := range []*string{&r.Host, &r.Phase, &r.Strategy, &r.Status} {
		*word = cut(*word)
	}
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode a record of activity: %w", err)
	}
	line = append(line, '\n')
	return s.locked(ctx, s.Dir(rootID), func(dir string) error {
		path := filepath.Join(dir, FileName)
		if err := rotate(dir, path, len(line)); err != nil {
			return err
		}
		if err := appendLine(path, line); err != nil {
			return fmt.Errorf("write the activity log: %w", err)
		}
		return nil
	})
}

// appendLine adds a line. One that a writer was cut off in is ended first. Inv:
// the lock is held.
func appendLine(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if size := info.Size(); size > 0 {
		var last [1]byte
		if _, err := f.ReadAt(last[:], size-1); err != nil {
			return errors.Join(err, f.Close())
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}

// checkRoot refuses what is no id of a root: it becomes a part of a path.
func checkRoot(id string) error {
	if _, err := hex.DecodeString(id); err != nil || id == "" {
		return fmt.Errorf("%.20q is no id of a root", id)
	}
	return nil
}

// cut bounds a word.
func cut(s string) string {
	if len(s) <= maxWord {
		return s
	}
	return strings.ToValidUTF8(s[:maxWord], "")
}

// rotate makes room for n bytes. Inv: the lock is held.
func rotate(dir, path string, n int) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at the activity log: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("the activity log %s is not a regular file", path)
	case info.Size()+int64(n) <= LogBytes:
		return nil
	}
	if err := os.Rename(path, filepath.Join(dir, olderName)); err != nil {
		return fmt.Errorf("put the activity log aside: %w", err)
	}
	return nil
}

// locked runs work in a directory of which it is the only writer.
func (s *Store) locked(ctx context.Context, dir string, work func(dir string) error) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make a directory for activity: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	lock := flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600))
	if ok, err := lock.TryLockContext(ctx, lockPoll); err != nil || !ok {
		return fmt.Errorf("lock the activity in %s: %w", dir, err)
	}
	err := work(dir)
	return errors.Join(err, lock.Unlock())
}

// Tail follows the log of a root.
type Tail struct {
	dir  string
	last string // id of the last record that was seen
}

// Tail returns a tail that begins behind what the log holds now.
func (s *Store) Tail(rootID string) (*Tail, error) {
	if err := checkRoot(rootID); err != nil {
		return nil, err
	}
	t := &Tail{dir: s.Dir(rootID)}
	_, err := t.Next()
	return t, err
}

// Next returns the records since the last call, the oldest first. When so many
// came that the log has turned over twice, the oldest of them are missing.
func (t *Tail) Next() ([]Record, error) {
	var all []Record
	for _, name := range []string{olderName, FileName} {
		records, err := read(filepath.Join(t.dir, name))
		if err != nil {
			return nil, err
		}
		all = append(all, records...)
	}
	fresh := all
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].ID == t.last {
			fresh = all[i+1:]
			break
		}
	}
	if len(all) > 0 {
		t.last = all[len(all)-1].ID
	}
	return fresh, nil
}

// read reads a log. Lines that are none, of a file that somebody else has
// written to or of a writer that was cut off, are passed over.
func read(path string) ([]Record, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the activity log: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	var out []Record
	lines := bufio.NewScanner(io.LimitReader(f, 2*LogBytes))
	lines.Buffer(nil, LogBytes)
	for lines.Scan() {
		var r Record
		if json.Unmarshal(lines.Bytes(), &r) == nil && r.ID != "" {
			out = append(out, r)
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("read the activity log: %w", err)
	}
	return out, nil
}
