package activity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	statsName = "stats.json"
	// MaxDays is how many days are kept.
	MaxDays = 400
	// maxStats bounds the file, which MaxDays days do not come near.
	maxStats = 4 << 20
)

// Counts are what became of recalls.
type Counts struct {
	Recalled  int            `json:"recalled"`  // recalls that have ended
	Delivered int            `json:"delivered"` // of these, those that gave a memory
	Documents int            `json:"documents"` // memories that they gave
	Discarded map[string]int `json:"discarded"` // selections that nobody got, by reason
}

// Add adds what other counts.
func (c *Counts) Add(other Counts) {
	c.Recalled += other.Recalled
	c.Delivered += other.Delivered
	c.Documents += other.Documents
	for reason, n := range other.Discarded {
		if c.Discarded == nil {
			c.Discarded = map[string]int{}
		}
		c.Discarded[reason] += n
	}
}

// Empty tells whether nothing was counted.
func (c *Counts) Empty() bool { return c.Recalled == 0 }

// Day is what was counted in one day of UTC.
type Day struct {
	Date string // 2006-01-02
	Counts
}

// stats is the file of counts.
type stats struct {
	Version int               `json:"version"`
	Days    map[string]Counts `json:"days"`
}

// Count adds counts to the days that they belong to, by date. A file that cannot
// be understood is put aside and named in the error; the counts are kept all the
// same.
func (s *Store) Count(ctx context.Context, byDate map[string]Counts) error {
	return s.locked(ctx, s.dir, func(dir string) error {
		path := filepath.Join(dir, statsName)
		all, broken := readStats(path)
		if broken != nil {
			aside := path + ".corrupt"
			if err := os.Rename(path, aside); err != nil {
				return errors.Join(broken, fmt.Errorf("put the counts aside: %w", err))
			}
			broken = fmt.Errorf("%w; kept as %s", broken, aside)
			all = stats{}
		}
		if all.Days == nil {
			all.Days = map[string]Counts{}
		}
		for date, c := range byDate {
			day := all.Days[date]
			day.Add(c)
			all.Days[date] = day
		}
		for _, date := range slices.Sorted(maps.Keys(all.Days)) {
			if len(all.Days) <= MaxDays {
				break
			}
			delete(all.Days, date)
		}
		all.Version = 1
		return errors.Join(broken, writeStats(dir, path, &all))
	})
}

// Days are the last n days up to today, today included, that something was
// counted in; the oldest first.
func (s *Store) Days(n int, now time.Time) ([]Day, error) {
	all, err := readStats(filepath.Join(s.dir, statsName))
	if err != nil {
		return nil, err
	}
	first := Date(now.AddDate(0, 0, 1-n))
	var out []Day
	for _, date := range slices.Sorted(maps.Keys(all.Days)) {
		if date >= first {
			out = append(out, Day{date, all.Days[date]})
		}
	}
	return out, nil
}

// Date is the day of a time.
func Date(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// readStats reads the counts; a file that does not exist holds none.
func readStats(path string) (stats, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return stats{}, nil
	case err != nil:
		return stats{}, fmt.Errorf("look at the counts: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxStats:
		return stats{}, fmt.Errorf("%s does not hold counts", path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return stats{}, fmt.Errorf("read the counts: %w", err)
	}
	var all stats
	if err := json.Unmarshal(raw, &all); err != nil {
		return stats{}, fmt.Errorf("read the counts in %s: %w", path, err)
	}
	return all, nil
}

// writeStats replaces the file in one step. Inv: the lock is held.
func writeStats(dir, path string, all *stats) error {
	raw, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("encode the counts: %w", err)
	}
	return replace(dir, path, append(raw, '\n'), "the counts")
}

// replace puts a file in the place of another in one step; what names it in
// errors. Inv: the lock is held.
func replace(dir, path string, raw []byte, what string) error {
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	_, err = f.Write(raw)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}
