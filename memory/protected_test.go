package memory_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memls/memls/memory"
)

// protect takes the right to write to a file away, and gives it back in the end.
func (s *shop) protect(root int, rel string) {
	s.t.Helper()
	path := filepath.Join(s.dirs[root], rel)
	if err := os.Chmod(path, 0o444); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { os.Chmod(path, 0o644) }) // elsewhere it could not be removed
}

// A file that may not be written to is left alone by everything that changes
// memories, and the reason is said.
func TestWriteProtectedFilesStay(t *testing.T) {
	h := keep(t, map[string]string{"user/a.md": "---\nname: Tides\n---\n- high at six\n- low at noon\n", "user/b.md": "- high water at six\n"}, nil)
	op := h.apply(h.forgetRefs("user:b.md"), memory.ApplyOptions{})
	h.write(1, "b.md", "- high water at six\n")
	planned := h.forgetRefs("user:a.md#0")
	h.protect(1, "a.md")
	h.protect(1, "b.md")
	files := h.files()
	for what, f := range map[string]func() error{
		"remember": func() error {
			_, err := h.Remember(t.Context(), memory.Remember{Text: "calm at nine", Name: "Tides"}, true)
			return err
		},
		"forget": func() error {
			_, err := h.Forget(t.Context(), memory.Forget{Targets: []memory.Target{h.target("user:a.md")}})
			return err
		},
		"query": func() error { _, err := h.Forget(t.Context(), memory.Forget{Query: "high"}); return err },
		"apply": func() error {
			_, err := h.Keeper.Apply(t.Context(), planned.ID, memory.ApplyOptions{})
			return err
		},
		"pin": func() error { _, err := h.Pin(t.Context(), h.target("user:a.md"), true); return err },
		"move": func() error {
			_, err := h.Move(t.Context(), h.target("user:a.md"), memory.ScopeProject, "")
			return err
		},
	} {
		if r := h.refused(memory.RefusedReadOnly, f()); !strings.Contains(r.Detail, "write-protected (mode 0444)") {
			t.Errorf("%s: %q", what, r.Detail)
		}
	}
	h.wantFiles("protected", files)
	// What is back under another content is a conflict as ever.
	_, err := h.Undo(t.Context(), op.ID)
	h.refused(memory.RefusedReadOnly, err)
}

// An index that may not be written to stays as it is, and the memory is made.
func TestWriteProtectedIndexStays(t *testing.T) {
	h := keep(t, map[string]string{"user/a.md": "one\n", "user/MEMORY.md": "* [A](a.md)\n"}, nil)
	h.protect(1, "MEMORY.md")
	kept := h.remember(memory.Remember{Text: "tides are high"})
	if w := strings.Join(kept.Operation.Warnings, "\n"); !strings.Contains(w, "MEMORY.md") || !strings.Contains(w, "write-protected") {
		t.Errorf("warnings %q", w)
	}
	if got := h.read(1, "MEMORY.md"); got != "* [A](a.md)\n" {
		t.Errorf("the index is %q", got)
	}
}

// Of what a query means, files that cannot be changed now are left out by name,
// and the others are found, also in their places.
func TestForgetLeavesOutWhatCannotBeChanged(t *testing.T) {
	unsaved := map[string]bool{"open.md": true}
	h := keep(t, map[string]string{
		"user/open.md": "kestrel one\n", "user/locked.md": "kestrel two\n", "user/large.md": "kestrel\n" + strings.Repeat("x", memory.MaxFileBytes),
		"user/a.md": "kestrel three\n", "user/b.md": "- kestrel four\n- other\n",
	}, func(o *memory.StoreOptions) {
		o.Unsaved = func(_ *memory.Root, rel string) bool { return unsaved[rel] }
	})
	h.protect(1, "locked.md")
	p := h.forget(memory.Forget{Query: "kestrel", Limit: 2})
	got := planRefs(p)
	slices.Sort(got)
	if !slices.Equal(got, []string{"user:a.md", "user:b.md#0"}) {
		t.Errorf("candidates %q", got)
	}
	all := strings.Join(p.Warnings, "\n")
	for _, want := range []string{
		"user:open.md is left out: the file has unsaved changes in an editor", "user:locked.md is left out: the file is write-protected", "user:large.md is left out: user:large.md has more than",
	} {
		if strings.Count(all, want) != 1 {
			t.Errorf("no %q in %q", want, all)
		}
	}
	h.apply(p, memory.ApplyOptions{Only: []string{"c1", "c2"}})
	// When only such files are left, it is said why nothing can be done.
	_, err := h.Forget(t.Context(), memory.Forget{Query: "one"})
	if r := h.refused(memory.RefusedConflict, err); !strings.Contains(r.Detail, "unsaved") || !slices.Equal(r.Refs, []string{"user:open.md"}) {
		t.Errorf("%+v", r)
	}
	// Who names the file is told, too.
	_, err = h.Forget(t.Context(), memory.Forget{Targets: []memory.Target{h.target("user:open.md")}})
	h.refused(memory.RefusedConflict, err)
}

// A file that has become something else since it was read does not keep a query
// from the others.
func TestForgetByQueryGoesOnWithoutAFileThatCannotBeRead(t *testing.T) {
	h := keep(t, map[string]string{"user/a.md": "kestrel one\n", "user/b.md": "kestrel two\n"}, nil)
	path := filepath.Join(h.dirs[1], "a.md")
	h.swapForLink(path)
	p := h.forget(memory.Forget{Query: "kestrel"})
	if got := planRefs(p); !slices.Equal(got, []string{"user:b.md"}) || len(p.Warnings) != 1 {
		t.Errorf("candidates %q, warnings %q", got, p.Warnings)
	}
}

// swapForLink puts a link to the file in its place.
func (s *shop) swapForLink(path string) {
	s.t.Helper()
	elsewhere := filepath.Join(s.t.TempDir(), "elsewhere.md")
	if err := os.Rename(path, elsewhere); err != nil {
		raw, rerr := os.ReadFile(path)
		if rerr != nil {
			s.t.Fatal(err, rerr)
		}
		write(s.t, filepath.Dir(elsewhere), "elsewhere.md", string(raw))
		if err := os.Remove(path); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := os.Symlink(elsewhere, path); err != nil {
		s.t.Skip("no symbolic links here:", err)
	}
}

// A file with several names gets one of its own: plan and operation say so, and
// that the text stays under the others.
func TestHardLinksAreSaid(t *testing.T) {
	h := keep(t, map[string]string{"user/a.md": "- high at six\n- low at noon\n", "user/b.md": "calm\n"}, nil)
	other := filepath.Join(filepath.Dir(h.dirs[1]), "elsewhere")
	if err := os.Link(filepath.Join(h.dirs[1], "a.md"), other); err != nil {
		t.Skip("no hard links here:", err)
	}
	p := h.forgetRefs("user:a.md#0")
	const want = "user:a.md has 1 more name (hard links): a change gives this name a file of its own, and the others keep the old text"
	if !slices.Contains(p.Warnings, want) {
		t.Errorf("the plan warns %q", p.Warnings)
	}
	op, err := h.Keeper.Apply(t.Context(), p.ID, memory.ApplyOptions{})
	if err != nil || !slices.Contains(op.Warnings, want) {
		t.Errorf("the operation warns %+v, %v", op, err)
	}
	if got, err := os.ReadFile(other); err != nil || string(got) != "- high at six\n- low at noon\n" {
		t.Errorf("the other name: %q, %v", got, err)
	}
	if p := h.forgetRefs("user:a.md"); len(p.Warnings) != 0 {
		t.Errorf("one name is left: %q", p.Warnings)
	}
	if err := os.Link(filepath.Join(h.dirs[1], "b.md"), other+"2"); err != nil {
		t.Fatal(err)
	}
	if p := h.forgetRefs("user:b.md"); len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "the text stays under the others") {
		t.Errorf("the whole file: %q", p.Warnings)
	}
}

// The plan for the last entry of a file says that the file goes, and nothing
// that then is not so.
func TestTheLastEntryIsTheFile(t *testing.T) {
	h := keep(t, map[string]string{
		"user/one.md":    "---\nname: high water at six\ndescription: high water at six\n---\n\n- high water at six\n",
		"user/two.md":    "# Two\n\n- first thing\n- second thing\n",
		"user/broken.md": "---\nname: \"a \"b\" c\"\nx: [\n---\n- only thing\n",
		"user/link.md":   "See [[high water at six]].\n",
	}, nil)
	p := h.forgetRefs("user:one.md#0")
	if c := p.Changes[0]; c.Action != memory.ActionDelete || c.Ref != "user:one.md" || !strings.Contains(c.Reason, "last entry") || !strings.Contains(c.Diff, "/dev/null") {
		t.Errorf("%+v", c)
	}
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "user:link.md links to") {
		t.Errorf("warnings %q", p.Warnings)
	}
	h.apply(p, memory.ApplyOptions{})
	h.gone(1, "one.md")
	// Of several that are all named, each is an entry, and together they are the file.
	p = h.forgetRefs("user:two.md#0", "user:two.md#1")
	if p.Changes[0].Action != memory.ActionUpdate || !slices.Contains(p.Warnings, "user:two.md goes with its entries when all of them go") {
		t.Errorf("%+v", p)
	}
	h.apply(p, memory.ApplyOptions{})
	h.gone(1, "two.md")
	// A file that does not parse stays.
	p = h.forgetRefs("user:broken.md#0")
	if c := p.Changes[0]; c.Action != memory.ActionUpdate {
		t.Errorf("%+v", c)
	}
	h.apply(p, memory.ApplyOptions{})
	h.read(1, "broken.md")
}
