package watcher_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"

	"github.com/memls/memls/watcher"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience ends a test that would hang; no test measures time by it.
const patience = time.Minute

// never keeps sweeps out of a test, so that events have to do.
const never = 1000 * time.Hour

// mirror is a receiver: it applies batches to a map of contents, as a catalog
// would, and remembers what it was told.
type mirror struct {
	root string

	mu      sync.Mutex
	now     map[string]string
	ever    map[string]int // how often a path was in Changed
	gone    map[string]int // how often a path was in Removed
	batches []watcher.Batch
	news    chan struct{} // closed and replaced at every batch
}

func newMirror(root string) *mirror {
	return &mirror{root: root, now: map[string]string{}, ever: map[string]int{}, gone: map[string]int{}, news: make(chan struct{})}
}

func (m *mirror) apply(b watcher.Batch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for rel := range b.Changed {
		m.ever[rel]++
		// A file that cannot be read has gone since; its removal follows.
		if text, err := os.ReadFile(filepath.Join(m.root, filepath.FromSlash(rel))); err == nil {
			m.now[rel] = string(text)
		} else {
			delete(m.now, rel)
		}
	}
	for rel := range b.Removed {
		m.gone[rel]++
		delete(m.now, rel)
	}
	m.batches = append(m.batches, b)
	close(m.news)
	m.news = make(chan struct{})
}

func (m *mirror) contents() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.now)
}

func (m *mirror) last() watcher.Batch {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.batches) == 0 {
		return watcher.Batch{}
	}
	return m.batches[len(m.batches)-1]
}

func (m *mirror) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.batches)
}

func (m *mirror) everRemoved() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.gone))
}

func (m *mirror) everChanged() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.ever))
}

// await returns when ok holds; it is asked again at every batch.
func (m *mirror) await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	end := time.After(patience)
	for {
		m.mu.Lock()
		news := m.news
		m.mu.Unlock()
		if ok() {
			return
		}
		select {
		case <-news:
		case <-end:
			t.Fatalf("never saw %s; have %d files, last batch %+v", what, len(m.contents()), m.last())
		}
	}
}

func (m *mirror) awaitContents(t testing.TB, want map[string]string) {
	t.Helper()
	m.await(t, fmt.Sprint(want), func() bool { return maps.Equal(m.contents(), want) })
}

// markdown is the filter of the tests: what a memory is.
func markdown(rel string, dir bool) bool { return dir || strings.HasSuffix(rel, ".md") }

// run starts a watcher and ends it with the test.
func run(t testing.TB, root string, opt watcher.Options) (*watcher.Watcher, *mirror) {
	t.Helper()
	m := newMirror(root)
	if opt.Keep == nil {
		opt.Keep = markdown
	}
	w := watcher.New(root, opt, m.apply)
	launch(t, w)
	return w, m
}

func launch(t testing.TB, w *watcher.Watcher) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// settled starts a watcher and waits for its first batch.
func settled(t testing.TB, root string, opt watcher.Options) (*watcher.Watcher, *mirror) {
	t.Helper()
	w, m := run(t, root, opt)
	m.await(t, "the first batch", func() bool { return m.count() > 0 })
	return w, m
}

func sync1(t testing.TB, w *watcher.Watcher) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.Sync(ctx); err != nil {
		t.Fatalf("Sync: %v", err)
	}
}

// newRoot makes an empty directory called memory in a directory of its own. It
// is resolved, since temporary directories are links on some systems.
func newRoot(t testing.TB) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	root := filepath.Join(base, "memory")
	must(t, os.Mkdir(root, 0o755))
	return root
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes text to the path made of parts, with its directories.
func write(t testing.TB, text string, parts ...string) string {
	t.Helper()
	p := filepath.Join(parts...)
	must(t, os.MkdirAll(filepath.Dir(p), 0o755))
	must(t, os.WriteFile(p, []byte(text), 0o644))
	return p
}

// old dates a file back, so that its time stamp is not racy.
func old(t testing.TB, path string) {
	t.Helper()
	at := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	must(t, os.Chtimes(path, at, at))
}

// disk reads what a mirror of root should hold.
func disk(root string) map[string]string {
	m := map[string]string{}
	_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.HasSuffix(p, ".md") {
			return nil //nolint:nilerr // the tree changes under the walk; what is gone is not there
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		if text, err := os.ReadFile(p); err == nil {
			m[filepath.ToSlash(rel)] = string(text)
		}
		return nil
	})
	return m
}

func reasons(b watcher.Batch) map[string]string {
	m := map[string]string{}
	for _, s := range b.Skipped {
		m[s.Path] = s.Reason
	}
	return m
}

// fakeSource is an event source that announces what a test tells it to.
type fakeSource struct {
	events chan fsnotify.Event
	errors chan error
	addErr func(dir string) error
	once   sync.Once

	mu      sync.Mutex
	watched map[string]bool
	log     []string // "+dir" and "-dir" in the order of Add and Remove
}

func newFake() *fakeSource {
	return &fakeSource{events: make(chan fsnotify.Event), errors: make(chan error), watched: map[string]bool{}}
}

func (s *fakeSource) open() (watcher.Source, error) { return s, nil }

func (s *fakeSource) Events() <-chan fsnotify.Event { return s.events }
func (s *fakeSource) Errors() <-chan error          { return s.errors }

func (s *fakeSource) Add(dir string) error {
	if s.addErr != nil {
		if err := s.addErr(dir); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watched[dir] = true
	s.log = append(s.log, "+"+dir)
	return nil
}

func (s *fakeSource) Remove(dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.watched[dir] {
		return fsnotify.ErrNonExistentWatch
	}
	delete(s.watched, dir)
	s.log = append(s.log, "-"+dir)
	return nil
}

func (s *fakeSource) Close() error {
	s.once.Do(func() { close(s.events); close(s.errors) })
	return nil
}

func (s *fakeSource) dirs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.watched))
}

// history answers what was done about dir, as "+-+".
func (s *fakeSource) history(dir string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var h strings.Builder
	for _, l := range s.log {
		if l[1:] == dir {
			h.WriteByte(l[0])
		}
	}
	return h.String()
}

func (s *fakeSource) say(op fsnotify.Op, path string) {
	s.events <- fsnotify.Event{Name: path, Op: op}
}
