package memory_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memls/memls/memory"
)

// shop is a store over some roots, without a catalog.
type shop struct {
	*memory.Store
	t     testing.TB
	state string
	dirs  []string
	roots []*memory.Root
}

// openStore makes a store over a project root, a user root and a team root.
func openStore(t testing.TB, tune func(*memory.StoreOptions)) *shop {
	t.Helper()
	return openStoreIn(t, memoryDir(t), tune)
}

func openStoreIn(t testing.TB, base string, tune func(*memory.StoreOptions)) *shop {
	t.Helper()
	s := &shop{t: t, state: filepath.Join(base, "state")}
	var configs []memory.RootConfig
	for _, scope := range []memory.Scope{memory.ScopeProject, memory.ScopeUser, memory.ScopeTeam} {
		dir := filepath.Join(base, string(scope))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		s.dirs = append(s.dirs, dir)
		configs = append(configs, memory.RootConfig{Scope: scope, Path: dir})
	}
	roots, err := memory.ResolveRoots(configs)
	if err != nil {
		t.Fatal(err)
	}
	s.roots = roots
	s.Store = s.again(tune)
	return s
}

// memoryDir is a temporary directory in memory, where there is one: a thousand
// syncs of a disk take minutes.
func memoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "memls-") //nolint:usetesting // that of t lies on a disk
	if err != nil {
		return tempDir(t)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// again makes another store over the same roots and state, as another process
// or the next start would.
func (s *shop) again(tune func(*memory.StoreOptions)) *memory.Store {
	s.t.Helper()
	opt := memory.StoreOptions{State: s.state, Roots: func() []*memory.Root { return s.roots }, Index: noIndex}
	if tune != nil {
		tune(&opt)
	}
	store, err := memory.NewStore(opt)
	if err != nil {
		s.t.Fatal(err)
	}
	return store
}

// noIndex leaves indexes as they are.
func noIndex(memory.IndexUpdate) ([]byte, bool, error) { return nil, false, nil }

// doc parses a file of a root as a catalog would.
func (s *shop) doc(root int, rel string) *memory.Document {
	s.t.Helper()
	raw := s.read(root, rel)
	d := memory.Parse([]byte(raw))
	d.Root, d.Rel = s.roots[root], rel
	d.Ref = memory.Ref{Scope: d.Root.Scope, Rel: rel, Entry: memory.NoEntry}.String()
	d.Version = memory.VersionOf([]byte(raw))
	return d
}

func (s *shop) write(root int, rel, text string) { write(s.t, s.dirs[root], rel, text) }

func (s *shop) read(root int, rel string) string {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.dirs[root], rel))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(raw)
}

func (s *shop) gone(root int, rel string) {
	s.t.Helper()
	if _, err := os.Lstat(filepath.Join(s.dirs[root], rel)); !errors.Is(err, os.ErrNotExist) {
		s.t.Errorf("%s is there: %v", rel, err)
	}
}

// wantRefusal fails unless err is a refusal of a kind.
func wantRefusal(t testing.TB, err error, kind memory.RefusalKind) *memory.Refusal {
	t.Helper()
	r, ok := errors.AsType[*memory.Refusal](err)
	if !ok || r.Kind != kind {
		t.Fatalf("got %v, want a refusal of kind %s", err, kind)
	}
	return r
}

// tree is every file below a directory with its content.
func tree(t testing.TB, dirs ...string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			if err != nil || e.IsDir() {
				return err
			}
			if e.Type()&os.ModeSymlink != 0 {
				to, err := os.Readlink(path)
				files[path] = "-> " + to
				return err
			}
			raw, err := os.ReadFile(path)
			files[path] = string(raw)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestPlanApplyUndo(t *testing.T) {
	s := openStore(t, nil)
	s.write(0, "keep.md", "---\nname: Keep\n---\n\n- one\n- two\n- three\n")
	s.write(0, "old.md", "old\n")
	d := s.doc(0, "keep.md")
	at := strings.Index(d.Text, "- two\n")
	plan, err := s.Propose(t.Context(), memory.Draft{Kind: memory.KindForget, Edits: []memory.Edit{
		{Action: memory.ActionUpdate, Doc: d, Replace: []memory.Replacement{{Span: memory.Span{Start: at, End: at + 6}}}},
		{Action: memory.ActionDelete, Doc: s.doc(0, "old.md")},
		{Action: memory.ActionCreate, Root: s.roots[1], Rel: "sub/new.md", Text: "new\n"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.read(0, "keep.md"); got != d.Text {
		t.Errorf("planning changed the file: %q", got)
	}
	op, err := s.Apply(t.Context(), plan.ID, memory.ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.read(0, "keep.md"); got != "---\nname: Keep\n---\n\n- one\n- three\n" {
		t.Errorf("updated: %q", got)
	}
	s.gone(0, "old.md")
	if got := s.read(1, "sub/new.md"); got != "new\n" {
		t.Errorf("created: %q", got)
	}
	wantRefusal(t, func() error { _, err := s.Apply(t.Context(), plan.ID, memory.ApplyOptions{}); return err }(), memory.RefusedNotFound)
	undo, err := s.Undo(t.Context(), op.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.read(0, "keep.md"); got != d.Text {
		t.Errorf("undone: %q", got)
	}
	if got := s.read(0, "old.md"); got != "old\n" {
		t.Errorf("undone: %q", got)
	}
	s.gone(1, "sub")
	if _, err := s.Undo(t.Context(), op.ID); err == nil {
		t.Error("undone twice")
	} else {
		wantRefusal(t, err, memory.RefusedStale)
	}
	if _, err := s.Undo(t.Context(), undo.ID); err != nil {
		t.Fatal(err)
	}
	s.gone(0, "old.md")
	ops, more, err := s.Operations(0)
	if err != nil || more || len(ops) != 3 {
		t.Errorf("%d operations, more %v, %v", len(ops), more, err)
	}
	for path := range tree(t, s.dirs...) {
		if strings.Contains(filepath.Base(path), ".tmp") {
			t.Errorf("left behind: %s", path)
		}
	}
}
