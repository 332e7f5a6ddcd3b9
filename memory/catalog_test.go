package memory_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/memory"
)

func TestCatalogDocuments(t *testing.T) {
	dir := tempDir(t)
	write(t, dir, "deploy.md", "---\nname: Deploy window\ntype: project\n---\nTuesdays.\n")
	write(t, dir, "feedback/no name.md", "text\n")
	write(t, dir, "user_language.MD", "prefers Greek\n")
	write(t, dir, "Pinned/keep.md", "---\ntype: reference\n---\nalways\n")
	write(t, dir, "a/b/c/größe.md", "tief\n")
	write(t, dir, "MEMORY.md", "- [x](x.md)\n")
	write(t, dir, "a/MEMORY.md", "- [x](x.md)\n")
	for _, rel := range []string{".hidden.md", ".git/x.md", "a/.b/x.md", "x.txt", "x.md~", "~$x.md", "x.tmp.md", "x.bak.md", "#x.md#", "4913", ".md", "md"} {
		write(t, dir, rel, "not a memory\n")
	}
	s := open(t, dir, nil).ready()
	checkSnapshot(t, s)
	wantRefs(t, s, "project:Pinned/keep.md", "project:a/b/c/gr%C3%B6%C3%9Fe.md", "project:deploy.md", "project:feedback/no%20name.md", "project:user_language.MD")
	for ref, want := range map[string]struct {
		title, kind string
		given, pin  bool
	}{
		"project:deploy.md":                {"Deploy window", "project", true, false},
		"project:feedback/no%20name.md":    {"no name", "feedback", false, false},
		"project:user_language.MD":         {"user_language", "user", false, false},
		"project:Pinned/keep.md":           {"keep", "reference", true, true},
		"project:a/b/c/gr%C3%B6%C3%9Fe.md": {"größe", "", false, false},
	} {
		d, ok := s.Get(ref)
		if !ok || d.Title != want.title || d.Type != want.kind || d.TypeGiven != want.given || d.Pinned != want.pin {
			t.Errorf("%s: %+v", ref, d)
		} else if d.ModTime.IsZero() || d.Size == 0 || !strings.HasPrefix(d.Version, "sha256:") {
			t.Errorf("%s: %v %d %q", ref, d.ModTime, d.Size, d.Version)
		}
	}
	r := s.Roots()[0]
	if r.State != memory.StateReady || r.OnDisk != 5 || r.Catalogued != 5 || !r.HasIndex || len(r.Skipped) != 0 || r.Revision != s.Revision {
		t.Errorf("status %+v", r)
	}
	if _, ok := s.Get("project:deploy.md#0"); ok {
		t.Error("an entry's ref gets a document")
	}
}

// A change that is none costs no revision and tells nobody.
func TestCatalogNoChange(t *testing.T) {
	dir := tempDir(t)
	path := write(t, dir, "a.md", "a\n")
	b := open(t, dir, nil)
	before := b.settled()
	drain(b.changes)
	changed := b.Changed()
	if err := os.Chtimes(path, time.Now(), time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	after := b.sync()
	b.fakes.last().emit(t, memory.FileChange{Changed: []string{"a.md"}, Removed: []string{"never-was.md"}})
	if after != before || b.Snapshot() != before || b.opens.Load() != 3 {
		t.Errorf("revision %d to %d, %d opens", before.Revision, b.Snapshot().Revision, b.opens.Load())
	}
	select {
	case <-changed:
		t.Error("a snapshot was published")
	default:
	}
	if got := drain(b.changes); len(got) != 0 {
		t.Errorf("changes %+v", got)
	}
	// A rename over the file, reported as removed and changed at once.
	write(t, dir, "b.md", "b\n")
	if err := os.Rename(filepath.Join(dir, "b.md"), path); err != nil {
		t.Fatal(err)
	}
	b.fakes.last().emit(t, memory.FileChange{Changed: []string{"a.md"}, Removed: []string{"a.md"}})
	got := drain(b.changes)
	if len(got) != 1 || !slices.Equal(got[0].Updated, []string{"project:a.md"}) || len(got[0].Added)+len(got[0].Removed) > 0 {
		t.Errorf("changes %+v", got)
	}
}

func TestCatalogChangeSets(t *testing.T) {
	dir := tempDir(t)
	for i := range 150 {
		write(t, dir, fmt.Sprintf("old-%03d.md", i), "old\n")
	}
	b := open(t, dir, nil)
	first := b.settled()
	drain(b.changes)
	for i := range 150 {
		if err := os.Rename(filepath.Join(dir, fmt.Sprintf("old-%03d.md", i)), filepath.Join(dir, fmt.Sprintf("new-%03d.md", i))); err != nil {
			t.Fatal(err)
		}
	}
	s := b.sync()
	got := drain(b.changes)
	if len(got) != 1 {
		t.Fatalf("%d change sets", len(got))
	}
	c := got[0]
	if c.Revision != s.Revision || s.Revision <= first.Revision || !c.Truncated || len(c.Added)+len(c.Removed)+len(c.Updated) != 200 || len(c.Added) != 150 {
		t.Errorf("%d added, %d updated, %d removed, truncated %v", len(c.Added), len(c.Updated), len(c.Removed), c.Truncated)
	}
	if s.Len() != 150 || first.Len() != 150 {
		t.Errorf("%d documents now, %d then", s.Len(), first.Len())
	}
}

// A first scan is visible while it goes on, and its size from the start.
func TestCatalogFirstScanInChunks(t *testing.T) {
	dir := tempDir(t)
	const n = 700
	for i := range n {
		write(t, dir, fmt.Sprintf("%d/%d.md", i%7, i), fmt.Sprint(i))
	}
	var c *memory.Catalog
	var seen []memory.RootStatus
	started := make(chan struct{})
	b := open(t, dir, func(o *memory.CatalogOptions) {
		told := o.OnChange
		o.OnChange = func(cs memory.ChangeSet) {
			<-started
			seen = append(seen, c.Snapshot().Roots()...)
			told(cs)
		}
	})
	c = b.Catalog
	close(started)
	s := b.ready()
	if s.Len() != n {
		t.Fatalf("%d documents", s.Len())
	}
	b.sync() // the writer is past the last callback
	if len(seen) < 3 {
		t.Fatalf("published %d times", len(seen))
	}
	for i, r := range seen {
		if done := r.Catalogued == n; r.OnDisk != n || (r.State == memory.StateReady) != done || done != (i == len(seen)-1) {
			t.Errorf("%d: %s, %d of %d", i, r.State, r.Catalogued, r.OnDisk)
		}
	}
}

// An empty file that held something a moment ago is read again; others do not
// wait for it, and Sync does.
func TestCatalogHalfWritten(t *testing.T) {
	dir := tempDir(t)
	path := write(t, dir, "a.md", "full\n")
	saved := time.Now()
	timer := make(chan time.Time)
	waits := make(chan time.Duration, 64)
	b := open(t, dir, func(o *memory.CatalogOptions) {
		o.Now = func() time.Time { return saved.Add(20 * time.Millisecond) }
		o.After = func(d time.Duration) <-chan time.Time { waits <- d; return timer }
	})
	b.ready()
	w := b.fakes.last()

	write(t, dir, "a.md", "")
	if err := os.Chtimes(path, saved, saved); err != nil {
		t.Fatal(err)
	}
	w.emit(t, memory.FileChange{Changed: []string{"a.md"}})
	if d := <-waits; d != 50*time.Millisecond {
		t.Errorf("waits %v", d)
	}
	write(t, dir, "b.md", "other\n")
	w.emit(t, memory.FileChange{Changed: []string{"b.md"}})
	s := b.Snapshot()
	if d, _ := s.Get("project:a.md"); d == nil || d.Text != "full\n" || s.Len() != 2 {
		t.Errorf("while it is saved: %+v", d)
	}
	write(t, dir, "a.md", "full again\n")
	timer <- saved
	b.until(func(s *memory.Snapshot) bool { d, _ := s.Get("project:a.md"); return d.Text == "full again\n" })

	// What stays empty is empty, and Sync waits until that is known.
	write(t, dir, "a.md", "")
	if err := os.Chtimes(path, saved, saved); err != nil {
		t.Fatal(err)
	}
	synced := make(chan error, 1)
	go func() { synced <- b.Sync(context.Background()) }()
	<-waits
	for waiting := true; waiting; {
		select {
		case timer <- saved:
		case err := <-synced:
			if waiting = false; err != nil {
				t.Fatal(err)
			}
		}
	}
	if d, _ := b.Snapshot().Get("project:a.md"); d == nil || d.Text != "" {
		t.Errorf("after a sync: %+v", d)
	}

	// So is one that has been for long.
	write(t, dir, "b.md", "")
	if err := os.Chtimes(filepath.Join(dir, "b.md"), saved, saved.Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	w.emit(t, memory.FileChange{Changed: []string{"b.md"}})
	if d, _ := b.Snapshot().Get("project:b.md"); d == nil || d.Text != "" {
		t.Errorf("emptied: %+v", d)
	}
}

// A newer report wins over a read that waits.
func TestCatalogHalfWrittenThenRemoved(t *testing.T) {
	dir := tempDir(t)
	path := write(t, dir, "a.md", "full\n")
	saved := time.Now()
	timer := make(chan time.Time)
	b := open(t, dir, func(o *memory.CatalogOptions) {
		o.Now = func() time.Time { return saved }
		o.After = func(d time.Duration) <-chan time.Time { return timer }
	})
	b.ready()
	write(t, dir, "a.md", "")
	if err := os.Chtimes(path, saved, saved); err != nil {
		t.Fatal(err)
	}
	w := b.fakes.last()
	w.emit(t, memory.FileChange{Changed: []string{"a.md"}})
	w.emit(t, memory.FileChange{Removed: []string{"a.md"}})
	timer <- saved
	if err := b.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantRefs(t, b.Snapshot(), "project:a.md") // from the sweep: the file is there, and empty
	if d, _ := b.Snapshot().Get("project:a.md"); d.Text != "" {
		t.Errorf("%+v", d)
	}
}

// A file that cannot be read keeps its document for some tries, is then skipped,
// and comes back without any further event.
func TestCatalogReadFailures(t *testing.T) {
	dir := tempDir(t)
	write(t, dir, "a.md", "one\n")
	write(t, dir, "b.md", "one\n")
	broken := make(chan error, 1)
	broken <- nil
	b := open(t, dir, func(o *memory.CatalogOptions) {
		o.Open = func(d *os.Root, name string) (*os.File, error) {
			err := <-broken
			broken <- err
			if name == "a.md" && err != nil {
				return nil, &fs.PathError{Op: "open", Path: name, Err: err}
			}
			return memory.OpenFile(d, name)
		}
		o.After = func(time.Duration) <-chan time.Time { c := make(chan time.Time, 1); c <- time.Time{}; return c }
		o.Recheck = 5 * time.Millisecond
	})
	b.ready()
	<-broken
	broken <- errors.New("input/output error")
	write(t, dir, "a.md", "two, longer\n")
	write(t, dir, "b.md", "two, longer\n")
	s := b.sync()
	r := s.Roots()[0]
	if want := []memory.Skip{{Path: "a.md", Reason: "input/output error"}}; !slices.Equal(r.Skipped, want) || r.OnDisk != 2 || r.Catalogued != 1 || r.State != memory.StateReady {
		t.Errorf("status %+v", r)
	}
	if d, _ := s.Get("project:b.md"); d == nil || d.Text != "two, longer\n" {
		t.Errorf("another file: %+v", d)
	}
	<-broken
	broken <- nil
	s = b.until(func(s *memory.Snapshot) bool { return s.Len() == 2 })
	if r := s.Roots()[0]; len(r.Skipped) != 0 || r.OnDisk != 2 {
		t.Errorf("status %+v", r)
	}
}

func TestCatalogLargeFile(t *testing.T) {
	dir := tempDir(t)
	path := write(t, dir, "big.md", "---\nname: big\n---\n"+strings.Repeat("x", memory.MaxFileBytes))
	b := open(t, dir, nil)
	s := b.ready()
	d, ok := s.Get("project:big.md")
	if !ok || !d.Truncated || len(d.Text) != memory.MaxFileBytes || d.Size != memory.MaxFileBytes+18 {
		t.Fatalf("%v %+v", ok, d.Problems)
	}
	wantCodes(t, d, memory.ProblemTruncated)
	// A change beyond the head is a new version all the same.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("tail"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if e, _ := b.sync().Get("project:big.md"); e.Version == d.Version || e.Size != d.Size+4 {
		t.Errorf("version %s, size %d", e.Version, e.Size)
	}
}

// In the steady state nothing that reads the catalog opens a file.
func TestCatalogReadersOpenNothing(t *testing.T) {
	dir := tempDir(t)
	for i := range 50 {
		write(t, dir, fmt.Sprintf("%d.md", i), "text\n")
	}
	b := open(t, dir, nil)
	b.ready()
	b.sync()
	if got := b.opens.Load(); got != 50 {
		t.Fatalf("%d opens for 50 files", got)
	}
	for range 100 {
		checkSnapshot(t, b.Snapshot())
		b.Status()
	}
	if got := b.opens.Load(); got != 50 {
		t.Errorf("%d opens after reading", got)
	}
}

func TestCatalogWatchStatus(t *testing.T) {
	dir := tempDir(t)
	b := open(t, dir, func(o *memory.CatalogOptions) { o.Recheck = time.Millisecond })
	b.settled()
	b.Poke()
	w := b.fakes.last()
	if w.pokes.Load() != 1 {
		t.Error("not poked")
	}
	swept := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	w.setStatus(memory.WatchStatus{Mode: "fsnotify", LastSweep: swept, LastEvent: swept})
	if r := b.Status()[0]; r.State != memory.StateReady || !r.Watch.LastSweep.Equal(swept) || !r.LastEventAt.Equal(swept) {
		t.Errorf("status %+v", r)
	}
	states := b.states.Load()
	w.setStatus(memory.WatchStatus{Mode: "poll", Reason: "too many watches"})
	s := b.until(func(s *memory.Snapshot) bool { return s.Roots()[0].State == memory.StateDegraded })
	if r := s.Roots()[0]; r.Reason != "too many watches" || r.Watch.Mode != "poll" {
		t.Errorf("status %+v", r)
	}
	w.setStatus(memory.WatchStatus{Mode: "poll"})
	b.until(func(s *memory.Snapshot) bool { return s.Roots()[0].State == memory.StateReady })
	b.sync()
	if got := b.states.Load() - states; got != 2 {
		t.Errorf("told %d times", got)
	}
}

type deadWatcher struct{ memory.Watcher }

func (deadWatcher) Run(context.Context) error { return errors.New("no memory for watches") }

func TestCatalogWatcherEnds(t *testing.T) {
	b := open(t, tempDir(t), func(o *memory.CatalogOptions) {
		make := o.Watch
		o.Watch = func(dir string, keep func(string, bool) bool, sink func(memory.FileChange)) memory.Watcher {
			return deadWatcher{make(dir, keep, sink)}
		}
	})
	s := b.ready()
	if r := s.Roots()[0]; r.State != memory.StateError || !strings.Contains(r.Reason, "no memory for watches") {
		t.Errorf("status %+v", r)
	}
	if err := b.Sync(t.Context()); err == nil {
		t.Error("a sweep without a watcher")
	}
}

func TestCatalogLife(t *testing.T) {
	if _, err := memory.NewCatalog(memory.CatalogOptions{}); err == nil {
		t.Error("a catalog without a watcher")
	}
	f := &fakes{idle: true}
	for _, bad := range []memory.RootConfig{{Scope: "other", Path: "x"}, {Scope: "user"}} {
		if _, err := memory.NewCatalog(memory.CatalogOptions{Watch: f.factory, Roots: []memory.RootConfig{bad}}); err == nil {
			t.Errorf("accepted %+v", bad)
		}
	}
	c, err := memory.NewCatalog(memory.CatalogOptions{Watch: f.factory, Roots: []memory.RootConfig{{Scope: memory.ScopeUser, Path: t.TempDir()}}})
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Snapshot(); !s.Loading() || s.Len() != 0 || s.Index() != nil || len(s.Roots()) != 1 {
		t.Errorf("at first: %+v", s)
	}
	short, stop := context.WithCancel(t.Context())
	stop()
	if err := c.Ready(short); !errors.Is(err, context.Canceled) {
		t.Errorf("Ready: %v", err)
	}
	if err := c.Sync(short); !errors.Is(err, context.Canceled) {
		t.Errorf("Sync: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	if err := c.Run(t.Context()); err == nil {
		t.Error("ran twice")
	}
	for name, err := range map[string]error{"Ready": c.Ready(t.Context()), "Sync": c.Sync(t.Context()), "SetRoots": c.SetRoots(t.Context(), nil)} {
		if !errors.Is(err, memory.ErrStopped) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Run ends while files are read, while a read waits, and while a message waits.
func TestCatalogEndsInTheMiddle(t *testing.T) {
	dir := tempDir(t)
	for i := range 200 {
		write(t, dir, fmt.Sprintf("%d.md", i), "text\n")
	}
	for n := range 12 {
		reached := make(chan struct{}, 1000)
		f := &fakes{}
		c, err := memory.NewCatalog(memory.CatalogOptions{
			Roots: []memory.RootConfig{{Scope: memory.ScopeProject, Path: dir}}, Watch: f.factory,
			Open: func(d *os.Root, name string) (*os.File, error) {
				reached <- struct{}{}
				if n%2 == 1 {
					return nil, errors.New("busy")
				}
				return memory.OpenFile(d, name)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		for range n * 20 {
			<-reached
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}
