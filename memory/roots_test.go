package memory_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/memls/memls/memory"
)

func rootID(real string) string {
	sum := sha256.Sum256([]byte(real))
	return fmt.Sprintf("%x", sum[:4])
}

func withRoots(roots ...memory.RootConfig) func(*memory.CatalogOptions) {
	return func(o *memory.CatalogOptions) { o.Roots = roots }
}

func project(path string) memory.RootConfig {
	return memory.RootConfig{Scope: memory.ScopeProject, Path: path}
}

func TestRootsPrefixesAndOrder(t *testing.T) {
	a, b, c := tempDir(t), tempDir(t), tempDir(t)
	link := filepath.Join(tempDir(t), "link")
	if err := os.Symlink(b, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{a, b, c} {
		write(t, dir, "x.md", dir)
	}
	s := open(t, a, withRoots(
		memory.RootConfig{Scope: memory.ScopeUser, Path: c, Folders: "/w"},
		project(a),
		memory.RootConfig{Scope: memory.ScopeProject, Path: link, ReadOnly: true},
		project(b), // the same as link
		project(a+"/."),
	)).ready()
	checkSnapshot(t, s)
	want := []memory.Root{
		{ID: rootID(c), Scope: memory.ScopeUser, Path: c, Real: c, Folders: "/w", Order: 0, Prefix: "user"},
		{ID: rootID(a), Scope: memory.ScopeProject, Path: a, Real: a, Order: 1, Prefix: "project"},
		{ID: rootID(b), Scope: memory.ScopeProject, Path: link, Real: b, Order: 2, Prefix: "project@" + rootID(b), ReadOnly: true},
	}
	roots := s.Roots()
	if len(roots) != len(want) {
		t.Fatalf("%d roots", len(roots))
	}
	for i := range want {
		if *roots[i].Root != want[i] {
			t.Errorf("%+v\nwant %+v", *roots[i].Root, want[i])
		}
	}
	wantRefs(t, s, "project:x.md", "project@"+rootID(b)+":x.md", "user:x.md")
}

// The stricter of two mentions of one directory holds.
func TestRootsTwiceIsTheStricter(t *testing.T) {
	dir := tempDir(t)
	write(t, dir, "x.md", "x")
	b := open(t, dir, withRoots(project(dir), memory.RootConfig{Scope: memory.ScopeTeam, Path: dir, Untrusted: true, ReadOnly: true}))
	s := b.ready()
	if r := s.Roots(); len(r) != 1 || r[0].State != memory.StateUntrusted || !r[0].Root.ReadOnly || s.Len() != 0 {
		t.Errorf("%+v", r)
	}
}

func TestRootUntrustedIsNeverOpened(t *testing.T) {
	dir := tempDir(t)
	write(t, dir, "x.md", "x")
	b := open(t, dir, withRoots(memory.RootConfig{Scope: memory.ScopeTeam, Path: dir, Untrusted: true}))
	s := b.sync()
	if r := s.Roots()[0]; r.State != memory.StateUntrusted || r.Reason == "" || r.OnDisk != 0 {
		t.Errorf("status %+v", r)
	}
	if b.opens.Load() != 0 || len(b.fakes.all) != 0 {
		t.Errorf("%d opens, %d watchers", b.opens.Load(), len(b.fakes.all))
	}
	// Once trusted it is served.
	if err := b.SetRoots(t.Context(), []memory.RootConfig{{Scope: memory.ScopeTeam, Path: dir}}); err != nil {
		t.Fatal(err)
	}
	wantRefs(t, b.ready(), "team:x.md")
	// And when trust is withdrawn, its documents go at once.
	if err := b.SetRoots(t.Context(), []memory.RootConfig{{Scope: memory.ScopeTeam, Path: dir, Untrusted: true}}); err != nil {
		t.Fatal(err)
	}
	wantRefs(t, b.Snapshot())
}

// A file below two roots is served once, by the inner one, and by nobody when
// that one is not trusted.
func TestRootsInsideOneAnother(t *testing.T) {
	dir := tempDir(t)
	write(t, dir, "a.md", "a")
	write(t, dir, "team/b.md", "b")
	write(t, dir, "team/deep/c.md", "c")
	write(t, dir, "teams/d.md", "d")
	inner := filepath.Join(dir, "team")
	b := open(t, dir, withRoots(project(dir), memory.RootConfig{Scope: memory.ScopeTeam, Path: inner}))
	s := b.ready()
	checkSnapshot(t, s)
	wantRefs(t, s, "project:a.md", "project:teams/d.md", "team:b.md", "team:deep/c.md")
	if want := []memory.Skip{{Path: "team", Reason: "a root of its own, team"}}; !slices.Equal(s.Roots()[0].Skipped, want) || s.Roots()[0].OnDisk != 2 {
		t.Errorf("status %+v", s.Roots()[0])
	}
	// Not even when a watcher reports it.
	b.fakes.all[0].emit(t, memory.FileChange{Changed: []string{"team/b.md", "team/deep/c.md"}})
	b.fakes.all[1].emit(t, memory.FileChange{Changed: []string{"b.md"}})
	if b.Snapshot() != s {
		wantRefs(t, b.Snapshot(), refs(s)...)
	}
	if err := b.SetRoots(t.Context(), []memory.RootConfig{project(dir), {Scope: memory.ScopeTeam, Path: inner, Untrusted: true}}); err != nil {
		t.Fatal(err)
	}
	wantRefs(t, b.ready(), "project:a.md", "project:teams/d.md")
	if err := b.SetRoots(t.Context(), []memory.RootConfig{project(dir)}); err != nil {
		t.Fatal(err)
	}
	b.ready()
	wantRefs(t, b.Snapshot(), "project:a.md", "project:team/b.md", "project:team/deep/c.md", "project:teams/d.md")
	checkSnapshot(t, b.Snapshot())
}

func TestRootMissingThenThere(t *testing.T) {
	dir := filepath.Join(tempDir(t), "not", "yet")
	b := open(t, dir, nil)
	s := b.settled()
	if r := s.Roots()[0]; r.State != memory.StateMissing || r.Reason == "" || s.Loading() {
		t.Errorf("status %+v", r)
	}
	write(t, dir, "x.md", "x")
	s = b.sync()
	wantRefs(t, s, "project:x.md")
	if r := s.Roots()[0]; r.State != memory.StateReady || r.Root.Real != dir {
		t.Errorf("status %+v", r)
	}
	// Gone and back.
	away := filepath.Join(tempDir(t), "away")
	if err := os.Rename(dir, away); err != nil {
		t.Fatal(err)
	}
	s = b.sync()
	wantRefs(t, s)
	if r := s.Roots()[0]; r.State != memory.StateMissing || r.OnDisk != 0 || r.HasIndex {
		t.Errorf("status %+v", r)
	}
	states := b.states.Load()
	if err := os.Rename(away, dir); err != nil {
		t.Fatal(err)
	}
	s = b.sync()
	wantRefs(t, s, "project:x.md")
	if r := s.Roots()[0]; r.State != memory.StateReady || b.states.Load() == states {
		t.Errorf("status %+v, told %d times", r, b.states.Load()-states)
	}
}

func TestRootIsAFile(t *testing.T) {
	dir := tempDir(t)
	path := write(t, dir, "root", "a file")
	good := filepath.Join(dir, "good")
	write(t, good, "x.md", "x")
	b := open(t, path, withRoots(project(path), project(good)))
	s := b.ready()
	wantRefs(t, s, "project@"+rootID(good)+":x.md")
	if r := s.Roots()[0]; r.State != memory.StateError || r.Reason != "not a directory" {
		t.Errorf("status %+v", r)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, path, "y.md", "y")
	if err := b.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantRefs(t, b.ready(), "project:y.md", "project@"+rootID(good)+":x.md")
}

func TestSetRoots(t *testing.T) {
	a, c := tempDir(t), tempDir(t)
	write(t, a, "x.md", "of a")
	write(t, c, "x.md", "of c")
	write(t, c, "y.md", "of c")
	b := open(t, a, nil)
	b.settled()
	of := b.fakes.last()
	opens := b.opens.Load()

	// Nothing new is no new revision.
	before := b.Snapshot()
	if err := b.SetRoots(t.Context(), []memory.RootConfig{project(a)}); err != nil {
		t.Fatal(err)
	}
	if b.Snapshot() != before {
		t.Error("the same roots made a snapshot")
	}

	// A root in front takes the short prefix; what is known stays known.
	if err := b.SetRoots(t.Context(), []memory.RootConfig{project(c), project(a)}); err != nil {
		t.Fatal(err)
	}
	if s := b.Snapshot(); s.Revision <= before.Revision {
		t.Error("the revision does not tell of the roots")
	} else if d, ok := s.Get("project@" + rootID(a) + ":x.md"); !ok || d.Text != "of a" || d.Root.Order != 1 {
		t.Errorf("%+v", d)
	}
	b.ready()
	s := b.sync()
	wantRefs(t, s, "project:x.md", "project:y.md", "project@"+rootID(a)+":x.md")
	if d, _ := before.Get("project:x.md"); d.Text != "of a" || d.Root.Order != 0 {
		t.Errorf("an old snapshot changed: %+v", d)
	}
	if got := b.opens.Load() - opens; got != 2 {
		t.Errorf("%d opens for two new files", got)
	}

	// Two roots change places, and with them their refs.
	drain(b.changes)
	if err := b.SetRoots(t.Context(), []memory.RootConfig{project(a), project(c)}); err != nil {
		t.Fatal(err)
	}
	s = b.Snapshot()
	checkSnapshot(t, s)
	wantRefs(t, s, "project:x.md", "project@"+rootID(c)+":x.md", "project@"+rootID(c)+":y.md")
	if d, _ := s.Get("project:x.md"); d.Text != "of a" {
		t.Errorf("%+v", d)
	}
	b.sync()
	sets := drain(b.changes)
	if len(sets) != 1 || !slices.Equal(sets[0].Updated, []string{"project:x.md"}) || len(sets[0].Added) != 2 || len(sets[0].Removed) != 2 {
		t.Errorf("changes %+v", sets)
	}

	// A root that goes releases its watcher and its documents.
	if err := b.SetRoots(t.Context(), []memory.RootConfig{project(c)}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-of.ended:
	default:
		t.Error("the watcher still runs")
	}
	s = b.sync()
	wantRefs(t, s, "project:x.md", "project:y.md")
	if len(s.Roots()) != 1 || s.Loading() {
		t.Errorf("roots %+v", s.Roots())
	}
	if err := b.SetRoots(t.Context(), []memory.RootConfig{{Scope: "nobody", Path: a}}); err == nil {
		t.Error("an unknown scope")
	}
	if err := b.SetRoots(t.Context(), nil); err != nil || b.Snapshot().Len() != 0 {
		t.Errorf("%v, %d documents", err, b.Snapshot().Len())
	}
}

func TestSetRootsBeforeRun(t *testing.T) {
	dir := tempDir(t)
	c, err := memory.NewCatalog(memory.CatalogOptions{Watch: (&fakes{}).factory})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetRoots(t.Context(), []memory.RootConfig{project(dir)}); err != nil {
		t.Fatal(err)
	}
	if r := c.Snapshot().Roots(); len(r) != 1 || !strings.HasPrefix(dir, r[0].Root.Real) {
		t.Errorf("roots %+v", r)
	}
}

// TestStoresThatMakeTheirStateAtOnce: a directory that another process makes
// while it is looked for is no broken link.
func TestStoresThatMakeTheirStateAtOnce(t *testing.T) {
	for range 50 {
		state := filepath.Join(t.TempDir(), "a", "b", "state")
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := os.MkdirAll(state, 0o700); err != nil {
				t.Error(err)
			}
		})
		for range 3 {
			wg.Go(func() {
				_, err := memory.NewStore(memory.StoreOptions{State: state, Roots: func() []*memory.Root { return nil }})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}
