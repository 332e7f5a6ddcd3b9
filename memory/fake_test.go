package memory_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/memls/memls/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeWatcher notices nothing by itself: a test has it scan (Sync) or emit what
// the test says.
type fakeWatcher struct {
	dir   string
	keep  func(rel string, dir bool) bool
	sink  func(memory.FileChange)
	calls chan func()
	ended chan struct{}
	pokes atomic.Int32

	known map[string]string // rel to what a stat says; used in Run only

	mu     sync.Mutex
	status memory.WatchStatus
}

// fakes makes fake watchers and remembers them.
type fakes struct {
	mu   sync.Mutex
	all  []*fakeWatcher
	idle bool // watchers do not scan when they start
}

func (f *fakes) factory(dir string, keep func(rel string, dir bool) bool, sink func(memory.FileChange)) memory.Watcher {
	w := &fakeWatcher{
		dir: dir, keep: keep, sink: sink, calls: make(chan func()), ended: make(chan struct{}),
		known: map[string]string{}, status: memory.WatchStatus{Mode: "fsnotify"},
	}
	if f.idle {
		w.known = nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, w)
	return w
}

func (f *fakes) last() *fakeWatcher {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all[len(f.all)-1]
}

func (w *fakeWatcher) Run(ctx context.Context) error {
	defer close(w.ended)
	if w.known != nil {
		w.sink(w.scan())
	}
	for {
		select {
		case f := <-w.calls:
			f()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (w *fakeWatcher) Poke() { w.pokes.Add(1) }

func (w *fakeWatcher) Status() memory.WatchStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

func (w *fakeWatcher) setStatus(s memory.WatchStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status = s
}

// call runs f where Run is and waits for it.
func (w *fakeWatcher) call(ctx context.Context, f func()) error {
	done := make(chan struct{})
	select {
	case w.calls <- func() { defer close(done); f() }:
	case <-w.ended:
		return errors.New("the watcher has ended")
	case <-ctx.Done():
		return ctx.Err()
	}
	<-done
	return nil
}

func (w *fakeWatcher) Sync(ctx context.Context) error {
	return w.call(ctx, func() { w.sink(w.scan()) })
}

func (w *fakeWatcher) emit(t testing.TB, fc memory.FileChange) {
	t.Helper()
	if err := w.call(t.Context(), func() { w.sink(fc) }); err != nil {
		t.Fatal(err)
	}
}

// scan walks the directory and reports the difference to the last walk.
func (w *fakeWatcher) scan() memory.FileChange {
	fc := memory.FileChange{Full: true, SkipsKnown: true}
	now := map[string]string{}
	if _, err := os.Stat(w.dir); err != nil {
		fc.Full, fc.Missing = false, true
	}
	_ = filepath.WalkDir(w.dir, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(w.dir, path)
		rel = filepath.ToSlash(rel)
		switch {
		case rel == ".":
			return nil
		case e.Type()&fs.ModeSymlink != 0 && (w.keep(rel, true) || w.keep(rel, false)):
			fc.Skipped = append(fc.Skipped, memory.Skip{Path: rel, Reason: "symlink"})
		case !w.keep(rel, e.IsDir()):
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		case !e.Type().IsRegular():
			fc.Skipped = append(fc.Skipped, memory.Skip{Path: rel, Reason: "not a regular file"})
		default:
			info, err := e.Info()
			if err == nil {
				now[rel] = fmt.Sprint(info.Size(), info.ModTime().UnixNano(), info.Mode(), inode(info))
			}
		}
		return nil
	})
	for rel, sig := range now {
		if w.known[rel] != sig {
			fc.Changed = append(fc.Changed, rel)
		}
	}
	for rel := range w.known {
		if _, ok := now[rel]; !ok {
			fc.Removed = append(fc.Removed, rel)
		}
	}
	w.known = now
	return fc
}

// fakeIndex keeps what the documents of a snapshot must be, and finds an
// Indexer's contract broken.
type fakeIndex struct {
	t     testing.TB
	calls atomic.Int32
}

func (x *fakeIndex) Update(prev any, removed, added []*memory.Document) any {
	x.calls.Add(1)
	if prev == nil {
		return map[string]string{}
	}
	next := maps.Clone(prev.(map[string]string))
	for _, d := range removed {
		if next[d.Ref] != d.Version {
			x.t.Errorf("removed %s %s, indexed is %s", d.Ref, d.Version, next[d.Ref])
		}
		delete(next, d.Ref)
	}
	for _, d := range added {
		if _, ok := next[d.Ref]; ok {
			x.t.Errorf("added twice: %s", d.Ref)
		}
		next[d.Ref] = d.Version
	}
	return next
}

// bench is a running catalog over a directory.
type bench struct {
	*memory.Catalog
	t       testing.TB
	dir     string
	fakes   *fakes
	opens   atomic.Int64
	changes chan memory.ChangeSet
	states  atomic.Int32
}

// open starts a catalog whose first root is dir. tune may change the options.
func open(t testing.TB, dir string, tune func(*memory.CatalogOptions)) *bench {
	t.Helper()
	b := &bench{t: t, dir: dir, fakes: &fakes{}, changes: make(chan memory.ChangeSet, 4096)}
	opt := memory.CatalogOptions{
		Roots:    []memory.RootConfig{{Scope: memory.ScopeProject, Path: dir}},
		Watch:    b.fakes.factory,
		Index:    &fakeIndex{t: t},
		OnChange: func(c memory.ChangeSet) { b.changes <- c },
		OnStatus: func() { b.states.Add(1) },
		Open: func(dir *os.Root, name string) (*os.File, error) {
			b.opens.Add(1)
			return memory.OpenFile(dir, name)
		},
	}
	if tune != nil {
		tune(&opt)
	}
	c, err := memory.NewCatalog(opt)
	if err != nil {
		t.Fatal(err)
	}
	b.Catalog = c
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bench) ready() *memory.Snapshot {
	b.t.Helper()
	if err := b.Ready(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	return b.Snapshot()
}

// settled is ready, and the callbacks about it are over as well.
func (b *bench) settled() *memory.Snapshot {
	b.t.Helper()
	b.ready()
	return b.sync()
}

func (b *bench) sync() *memory.Snapshot {
	b.t.Helper()
	if err := b.Sync(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	checkSnapshot(b.t, b.Snapshot())
	return b.Snapshot()
}

// until waits for a snapshot of which ok is true.
func (b *bench) until(ok func(*memory.Snapshot) bool) *memory.Snapshot {
	b.t.Helper()
	for {
		changed, s := b.Changed(), b.Snapshot()
		if ok(s) {
			return s
		}
		select {
		case <-changed:
		case <-b.t.Context().Done():
			b.t.Fatal("the test ended first")
		case <-time.After(time.Minute):
			b.t.Fatalf("never came about; roots %+v", b.Snapshot().Roots())
		}
	}
}

// checkSnapshot holds what is true of every snapshot.
func checkSnapshot(t testing.TB, s *memory.Snapshot) {
	t.Helper()
	index, _ := s.Index().(map[string]string)
	per := map[*memory.Root]int{}
	n := 0
	for d := range s.All() {
		n++
		per[d.Root]++
		if got, ok := s.Get(d.Ref); !ok || got != d {
			t.Errorf("%s is not found by its ref", d.Ref)
		}
		if index != nil && index[d.Ref] != d.Version {
			t.Errorf("%s: indexed %q, is %q", d.Ref, index[d.Ref], d.Version)
		}
		r, err := memory.ParseRef(d.Ref)
		if err != nil || r.Rel != d.Rel || r.Prefix() != d.Root.Prefix {
			t.Errorf("ref %q of %q: %+v, %v", d.Ref, d.Rel, r, err)
		}
	}
	if n != s.Len() || index != nil && len(index) != n {
		t.Errorf("%d documents, Len %d, indexed %d", n, s.Len(), len(index))
	}
	for _, r := range s.Roots() {
		if r.Catalogued != per[r.Root] {
			t.Errorf("root %s: catalogued %d, has %d", r.Root.Prefix, r.Catalogued, per[r.Root])
		}
		if r.OnDisk < r.Catalogued {
			t.Errorf("root %s: on disk %d, catalogued %d", r.Root.Prefix, r.OnDisk, r.Catalogued)
		}
	}
}

func write(t testing.TB, dir, rel, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func refs(s *memory.Snapshot) []string {
	var out []string
	for d := range s.All() {
		out = append(out, d.Ref)
	}
	slices.Sort(out)
	return out
}

func wantRefs(t testing.TB, s *memory.Snapshot, want ...string) {
	t.Helper()
	if got := refs(s); !slices.Equal(got, want) {
		t.Errorf("refs %q, want %q", got, want)
	}
}

func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func drain(c chan memory.ChangeSet) (all []memory.ChangeSet) {
	for {
		select {
		case x := <-c:
			all = append(all, x)
		default:
			return all
		}
	}
}
