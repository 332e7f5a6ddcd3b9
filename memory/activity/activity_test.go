package activity_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/memls/memls/memory/activity"
)

const root = "0a1b2c3d"

// writerEnv makes the test binary a process that writes.
const writerEnv = "MEMLS_ACTIVITY_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerEnv); dir != "" {
		if err := write(dir, 100); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// write appends n records and counts as many recalls.
func write(dir string, n int) error {
	s := activity.Open(dir)
	for i := range n {
		r := activity.Record{At: time.Now(), Host: fmt.Sprint(os.Getpid()), Phase: "fast", Status: "delivered", Refs: []string{fmt.Sprintf("project:m%d.md", i)}}
		if err := s.Append(context.Background(), root, r); err != nil {
			return err
		}
		if err := s.Count(context.Background(), map[string]activity.Counts{"2026-11-30": {Recalled: 1, Discarded: map[string]int{"abort": 1}}}); err != nil {
			return err
		}
	}
	return nil
}

func record(refs ...string) activity.Record {
	return activity.Record{At: time.Now(), Host: "host", Phase: "refined", Strategy: "model", Status: "delivered", Refs: refs}
}

func add(t *testing.T, s *activity.Store, r activity.Record) {
	t.Helper()
	if err := s.Append(t.Context(), root, r); err != nil {
		t.Fatal(err)
	}
}

func next(t *testing.T, tail *activity.Tail) []activity.Record {
	t.Helper()
	got, err := tail.Next()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A tail begins behind what is there, and has each record once, in order, from
// every writer.
func TestTail(t *testing.T) {
	dir := t.TempDir()
	a, b := activity.Open(dir), activity.Open(dir)
	add(t, a, record("project:old.md"))
	tail, err := b.Tail(root)
	if err != nil {
		t.Fatal(err)
	}
	if got := next(t, tail); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	for i := range 3 {
		add(t, a, record(fmt.Sprintf("project:a%d.md", i)))
		add(t, b, record(fmt.Sprintf("project:b%d.md", i)))
		got := next(t, tail)
		if len(got) != 2 || got[0].Refs[0] != fmt.Sprintf("project:a%d.md", i) || b.Own(&got[0]) || !b.Own(&got[1]) {
			t.Errorf("%+v", got)
		}
	}
	other, err := activity.Open(t.TempDir()).Tail(root)
	if err != nil {
		t.Fatal(err)
	}
	if got := next(t, other); len(got) != 0 {
		t.Errorf("of another state directory: %+v", got)
	}
}

// The log is bounded and turns over; a tail that keeps up misses nothing.
func TestLogIsBounded(t *testing.T) {
	dir := t.TempDir()
	s := activity.Open(dir)
	tail, err := s.Tail(root)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	long := strings.Repeat("x", 2000)
	for i := range 400 {
		add(t, s, record("project:"+long, fmt.Sprintf("project:%d.md", i)))
		for _, r := range next(t, tail) {
			if want := fmt.Sprintf("project:%d.md", seen); r.Refs[1] != want {
				t.Fatalf("%v, want %s", r.Refs[1], want)
			}
			seen++
		}
	}
	if seen != 400 {
		t.Errorf("%d of 400 records", seen)
	}
	total := int64(0)
	for _, name := range names(t, filepath.Join(dir, root)) {
		info, err := os.Stat(filepath.Join(dir, root, name))
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %v", name, info.Mode())
		}
	}
	if total > 2*activity.LogBytes || total < activity.LogBytes {
		t.Errorf("%d bytes", total)
	}
	if info, err := os.Stat(filepath.Join(dir, root)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
}

func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// Words that are too long are cut, refs beyond the bounds left out; an id that
// is none makes no path.
func TestRecordsAreBounded(t *testing.T) {
	dir := t.TempDir()
	s := activity.Open(dir)
	r := record(strings.Repeat("y", 5000))
	r.Host = strings.Repeat("é", 1000)
	for i := range 100 {
		r.Refs = append(r.Refs, fmt.Sprint("project:", i))
	}
	tail, err := s.Tail(root)
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, r)
	got := next(t, tail)[0]
	if len(got.Refs) != activity.MaxRefs || got.Refs[0] != "project:0" || len(got.Host) > 128 || strings.ContainsRune(got.Host, '\uFFFD') {
		t.Errorf("%+v", got)
	}
	for _, id := range []string{"", "..", "../x", "a/b", `a\b`, "xyz", "0"} {
		if err := s.Append(t.Context(), id, record()); err == nil {
			t.Errorf("%q is taken for a root", id)
		}
		if _, err := s.Tail(id); err == nil {
			t.Errorf("%q is taken for a root", id)
		}
	}
}

// Lines that a writer was cut off in, or that are no records, cost nothing else.
func TestBrokenLines(t *testing.T) {
	dir := t.TempDir()
	s := activity.Open(dir)
	tail, err := s.Tail(root)
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, record("project:a.md"))
	f, err := os.OpenFile(filepath.Join(dir, root, activity.FileName), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("[]\n\nnothing\n{\"id\":\"x\",\"refs\":[\"proj")
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	add(t, s, record("project:b.md"))
	if got := next(t, tail); len(got) != 2 || got[1].Refs[0] != "project:b.md" {
		t.Errorf("%+v", got)
	}
}

// Nothing is written through a link, and a log that is none is reported.
func TestLogThatIsALink(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // links need a privilege there
	}
	dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, root), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(root, activity.FileName), "stats.json"} {
		if err := os.Symlink(victim, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s := activity.Open(dir)
	if err := s.Append(t.Context(), root, record("project:a.md")); err == nil {
		t.Error("a link was taken for the log")
	}
	if err := s.Count(t.Context(), map[string]activity.Counts{"2026-11-30": {Recalled: 1}}); err == nil {
		t.Error("a link was taken for the counts")
	}
	if raw, err := os.ReadFile(victim); err != nil || string(raw) != "mine" {
		t.Errorf("%q %v", raw, err)
	}
}

// Several processes and goroutines write at once: no record is lost, torn or
// doubled while the log has room, and no count is lost.
func TestSeveralWriters(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tail, err := activity.Open(dir).Tail(root)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 3 {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), writerEnv+"="+dir)
		group.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
		group.Go(func() {
			if err := write(dir, 100); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	ids := map[string]bool{}
	for _, r := range next(t, tail) {
		ids[r.ID] = true
	}
	if len(ids) != 600 {
		t.Errorf("%d of 600 records", len(ids))
	}
	days, err := activity.Open(dir).Days(1, time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC))
	if err != nil || len(days) != 1 || days[0].Recalled != 600 || days[0].Discarded["abort"] != 600 {
		t.Errorf("%+v %v", days, err)
	}
}

// Days are kept up to a bound, and told the oldest first.
func TestDays(t *testing.T) {
	s := activity.Open(t.TempDir())
	if days, err := s.Days(30, time.Now()); err != nil || len(days) != 0 {
		t.Errorf("%+v %v", days, err)
	}
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	counts := map[string]activity.Counts{}
	for i := range activity.MaxDays + 50 {
		counts[activity.Date(now.AddDate(0, 0, -i))] = activity.Counts{Recalled: 1 + i, Delivered: 1, Documents: 2}
	}
	if err := s.Count(t.Context(), counts); err != nil {
		t.Fatal(err)
	}
	if days, err := s.Days(activity.MaxDays+50, now); err != nil || len(days) != activity.MaxDays {
		t.Errorf("%d days, %v", len(days), err)
	}
	days, err := s.Days(3, now)
	if err != nil || len(days) != 3 || days[0].Date != "2026-11-28" || days[0].Recalled != 3 || days[2].Date != "2026-11-30" {
		t.Errorf("%+v %v", days, err)
	}
}

// Counts that cannot be read are put aside and said; counting goes on.
func TestBrokenCounts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "stats.json")
	if err := os.WriteFile(path, []byte(`{"days": [`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := activity.Open(dir)
	now := time.Now()
	if _, err := s.Days(1, now); err == nil {
		t.Error("broken counts were read")
	}
	err := s.Count(t.Context(), map[string]activity.Counts{activity.Date(now): {Recalled: 4}})
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) && err == nil {
		t.Errorf("the fault was not told: %v", err)
	}
	if raw, err := os.ReadFile(path + ".corrupt"); err != nil || string(raw) != `{"days": [` {
		t.Errorf("%q %v", raw, err)
	}
	if days, err := s.Days(1, now); err != nil || len(days) != 1 || days[0].Recalled != 4 {
		t.Errorf("%+v %v", days, err)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	for _, name := range names(t, dir) {
		if strings.HasPrefix(name, ".stats-") {
			t.Errorf("%s was left behind", name)
		}
	}
}

// A lock that somebody keeps is waited for only as long as the caller waits.
func TestLockThatIsHeld(t *testing.T) {
	dir := t.TempDir()
	s := activity.Open(dir)
	add(t, s, record("project:a.md"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Append(ctx, root, record("project:b.md")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	blocked := filepath.Join(dir, "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var path *fs.PathError
	if err := activity.Open(blocked).Append(t.Context(), root, record()); !errors.As(err, &path) {
		t.Errorf("%v", err)
	}
}
