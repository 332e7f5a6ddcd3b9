package memory_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/memory"
)

// refused calls f and fails unless it is refused with a kind and touches nothing.
func (s *shop) refused(what string, kind memory.RefusalKind, f func() error) *memory.Refusal {
	s.t.Helper()
	before := tree(s.t, s.dirs...)
	err := f()
	r, ok := errors.AsType[*memory.Refusal](err)
	if !ok || r.Kind != kind {
		s.t.Errorf("%s: %v, want a refusal of kind %s", what, err, kind)
		return &memory.Refusal{}
	}
	if now := tree(s.t, s.dirs...); !maps.Equal(now, before) {
		s.t.Errorf("%s: refused, and something changed", what)
	}
	return r
}

// create is a draft of one new file.
func (s *shop) create(root int, rel, text string) memory.Draft {
	return memory.Draft{Kind: memory.KindRemember, Edits: []memory.Edit{
		{Action: memory.ActionCreate, Root: s.roots[root], Rel: rel, Text: text},
	}}
}

// remove is a draft that removes a file.
func (s *shop) remove(root int, rel string) memory.Draft {
	return memory.Draft{Kind: memory.KindForget, Edits: []memory.Edit{{Action: memory.ActionDelete, Doc: s.doc(root, rel)}}}
}

func (s *shop) propose(d memory.Draft) *memory.Plan {
	s.t.Helper()
	p, err := s.Propose(s.t.Context(), d)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func (s *shop) do(d memory.Draft) *memory.Operation {
	s.t.Helper()
	op, err := s.Do(s.t.Context(), d)
	if err != nil {
		s.t.Fatal(err)
	}
	return op
}

func (s *shop) apply(p *memory.Plan, o memory.ApplyOptions) *memory.Operation {
	s.t.Helper()
	op, err := s.Apply(s.t.Context(), p.ID, o)
	if err != nil {
		s.t.Fatal(err)
	}
	return op
}

func TestSEC_02_NamesThatLeadElsewhereAreNotWritten(t *testing.T) {
	s := openStore(t, nil)
	outside := filepath.Dir(s.state)
	for _, rel := range []string{
		"../escape.md", "../escape", "/etc/cron.d/x", "/etc/cron.d/x.md", `..\x`, `..\x.md`, "%2e%2e/x", "a/./../../b.md", "a/../b.md",
		"a\x00.md", strings.Repeat("x", 300) + ".md", strings.Repeat("y/", 3000) + "z.md", "", ".", "..", "a//b.md", "a/b.md/",
		"MEMORY.md", "sub/MEMORY.md", ".hidden.md", ".git/hooks.md", "a.txt", "a.tmp.md", "~a.md", ".md",
	} {
		before := tree(t, outside)
		s.refused(rel, memory.RefusedEscape, func() error { _, err := s.Propose(t.Context(), s.create(0, rel, "x\n")); return err })
		s.refused(rel, memory.RefusedEscape, func() error { _, err := s.Do(t.Context(), s.create(0, rel, "x\n")); return err })
		if _, err := s.FreeName(s.roots[0], rel); err == nil {
			t.Errorf("%q is a free name", rel)
		}
		if now := tree(t, outside); !maps.Equal(now, before) {
			t.Errorf("%q: something was made outside", rel)
		}
		if _, err := os.Stat(filepath.Join(s.dirs[0], "a")); err == nil {
			t.Errorf("%q: a directory was made", rel)
		}
	}
	// Nor does a file in a folder that is a root of its own belong to the outer one.
	inner := filepath.Join(s.dirs[0], "inner")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	roots, err := memory.ResolveRoots([]memory.RootConfig{{Scope: memory.ScopeProject, Path: s.dirs[0]}, {Scope: memory.ScopeTeam, Path: inner}})
	if err != nil {
		t.Fatal(err)
	}
	s.roots = roots
	s.refused("inner root", memory.RefusedEscape, func() error { _, err := s.Do(t.Context(), s.create(0, "inner/x.md", "x\n")); return err })
}

func TestSEC_04_PlantedSymlinksAreNotFollowed(t *testing.T) {
	s := openStore(t, func(o *memory.StoreOptions) { o.Index = listing })
	base := filepath.Dir(s.state)
	victim := write(t, base, "victim", "precious\n")
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(s.dirs[0], name)); err != nil {
			t.Fatal(err)
		}
	}
	// The index leads to a file of the person's: the operation goes through, the
	// index does not, and this is said.
	link(victim, "MEMORY.md")
	link(victim, "a.md.tmp")
	op := s.do(s.create(0, "a.md", "a\n"))
	if len(op.Warnings) != 1 || !strings.Contains(op.Warnings[0], "symlink") {
		t.Errorf("warnings %q", op.Warnings)
	}
	// A name of a memory, and a folder of memories, that lead elsewhere.
	link(victim, "b.md")
	link(base, "folder")
	s.refused("file", memory.RefusedEscape, func() error { _, err := s.Do(t.Context(), s.create(0, "b.md", "b\n")); return err })
	s.refused("folder", memory.RefusedEscape, func() error { _, err := s.Do(t.Context(), s.create(0, "folder/c.md", "c\n")); return err })
	if got, err := os.ReadFile(victim); err != nil || string(got) != "precious\n" {
		t.Errorf("the victim is %q, %v", got, err)
	}
}

func TestSEC_04_SymlinkSwappedInBetweenPlanAndApply(t *testing.T) {
	for _, what := range []string{"file", "folder", "root"} {
		t.Run(what, func(t *testing.T) {
			s := openStore(t, nil)
			s.write(0, "sub/a.md", "a\n")
			p := s.propose(s.remove(0, "sub/a.md"))
			elsewhere := filepath.Join(filepath.Dir(s.state), "elsewhere")
			at := map[string]string{
				"file": filepath.Join(s.dirs[0], "sub", "a.md"), "folder": filepath.Join(s.dirs[0], "sub"), "root": s.dirs[0],
			}[what]
			if err := os.Rename(at, elsewhere); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(elsewhere, at); err != nil {
				t.Fatal(err)
			}
			before := tree(t, elsewhere)
			s.refused(what, memory.RefusedEscape, func() error { _, err := s.Apply(t.Context(), p.ID, memory.ApplyOptions{}); return err })
			if !maps.Equal(tree(t, elsewhere), before) {
				t.Error("what the link leads to changed")
			}
		})
	}
}

func TestFORGET_06_StalePlanAndDoubleApply(t *testing.T) {
	s := openStore(t, nil)
	s.write(0, "a.md", "a\n")
	s.write(0, "b.md", "b\n")
	d := s.remove(0, "a.md")
	d.Edits = append(d.Edits, s.remove(0, "b.md").Edits...)
	p := s.propose(d)
	s.write(0, "b.md", "b, edited\n")
	r := s.refused("stale", memory.RefusedStale, func() error { _, err := s.Apply(t.Context(), p.ID, memory.ApplyOptions{}); return err })
	if len(r.Refs) != 1 || r.Refs[0] != "project:b.md" {
		t.Errorf("stale are %q", r.Refs)
	}
	// The part that is as it was can be applied; then the plan is closed.
	s.apply(p, memory.ApplyOptions{Only: []string{"c1"}})
	s.refused("double apply", memory.RefusedNotFound, func() error { _, err := s.Apply(t.Context(), p.ID, memory.ApplyOptions{}); return err })
	s.refused("discard", memory.RefusedNotFound, func() error { return s.Discard(t.Context(), p.ID) })

	p = s.propose(s.remove(0, "b.md"))
	if err := os.Remove(filepath.Join(s.dirs[0], "b.md")); err != nil {
		t.Fatal(err)
	}
	s.refused("gone", memory.RefusedStale, func() error { _, err := s.Apply(t.Context(), p.ID, memory.ApplyOptions{}); return err })
	p = s.propose(s.create(0, "c.md", "c\n"))
	s.write(0, "c.md", "somebody else's\n")
	s.refused("taken", memory.RefusedStale, func() error { _, err := s.Apply(t.Context(), p.ID, memory.ApplyOptions{}); return err })
	s.refused("unknown", memory.RefusedNotFound, func() error { _, err := s.Apply(t.Context(), "p-1", memory.ApplyOptions{}); return err })
	for _, id := range []string{"", "..", "../plans/x", "a/b", "\x00"} {
		s.refused("id", memory.RefusedNotFound, func() error { _, err := s.Apply(t.Context(), id, memory.ApplyOptions{}); return err })
		s.refused("id", memory.RefusedNotFound, func() error { _, err := s.Undo(t.Context(), id); return err })
	}
}

func TestPlanOfARootThatIsNotServed(t *testing.T) {
	s := openStore(t, nil)
	s.write(1, "a.md", "a\n")
	p := s.propose(s.remove(1, "a.md"))
	op := s.do(s.create(1, "b.md", "b\n"))
	s.roots = s.roots[:1]
	s.refused("plan", memory.RefusedNotFound, func() error { _, err := s.Apply(t.Context(), p.ID, memory.ApplyOptions{}); return err })
	s.refused("operation", memory.RefusedNotFound, func() error { _, err := s.Undo(t.Context(), op.ID); return err })
}

func TestWhatMayNotBeWritten(t *testing.T) {
	s := openStore(t, nil)
	s.write(0, "a.md", "a\n")
	readOnly, untrusted := *s.roots[0], *s.roots[0]
	readOnly.ReadOnly, untrusted.Untrusted = true, true
	for kind, root := range map[memory.RefusalKind]*memory.Root{memory.RefusedReadOnly: &readOnly, memory.RefusedUntrusted: &untrusted} {
		d := s.doc(0, "a.md")
		d.Root = root
		s.refused(string(kind), kind, func() error {
			_, err := s.Do(t.Context(), memory.Draft{Kind: memory.KindForget, Edits: []memory.Edit{{Action: memory.ActionDelete, Doc: d}}})
			return err
		})
		// Also when it became so after the plan was made.
		p := s.propose(s.remove(0, "a.md"))
		was := s.roots[0]
		s.roots[0] = root
		s.refused(string(kind), kind, func() error { _, err := s.Apply(t.Context(), p.ID, memory.ApplyOptions{}); return err })
		s.roots[0] = was
	}
	s.write(0, "big.md", strings.Repeat("x", memory.MaxFileBytes+1))
	s.refused("too large", memory.RefusedTooLarge, func() error { _, err := s.Propose(t.Context(), s.remove(0, "big.md")); return err })
	s.refused("too large", memory.RefusedTooLarge, func() error {
		_, err := s.Do(t.Context(), s.create(0, "new.md", strings.Repeat("x", memory.MaxFileBytes+1)))
		return err
	})

	unsaved := s.again(func(o *memory.StoreOptions) {
		o.Unsaved = func(root *memory.Root, rel string) bool { return root == s.roots[0] && rel == "a.md" }
	})
	s.refused("unsaved", memory.RefusedConflict, func() error { _, err := unsaved.Do(t.Context(), s.remove(0, "a.md")); return err })

	strict := s.again(func(o *memory.StoreOptions) {
		o.Secrets = func(before, after string) []string {
			if strings.Count(after, "hunter2") > strings.Count(before, "hunter2") {
				return []string{"password"}
			}
			return nil
		}
	})
	r := s.refused("secret", memory.RefusedSecret, func() error {
		_, err := strict.Propose(t.Context(), s.create(0, "s.md", "it is hunter2\n"))
		return err
	})
	if strings.Contains(r.Error(), "hunter2") || !strings.Contains(r.Detail, "password") {
		t.Errorf("the refusal is %q", r)
	}
	// What stood there before is none of the scan's business.
	s.write(0, "old.md", "hunter2\nmore\n")
	d := s.doc(0, "old.md")
	op, err := strict.Do(t.Context(), memory.Draft{Kind: memory.KindForget, Edits: []memory.Edit{{Action: memory.ActionUpdate, Doc: d, Text: "hunter2\n"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := strict.Undo(t.Context(), op.ID); err != nil {
		t.Error(err)
	}
	p, err := strict.Propose(t.Context(), memory.Draft{Kind: memory.KindExtract, Edits: []memory.Edit{{Action: memory.ActionUpdate, Doc: d, Text: "hunter2\nand\n"}}})
	if err != nil {
		t.Fatal(err)
	}
	s.refused("edited", memory.RefusedSecret, func() error {
		_, err := strict.Apply(t.Context(), p.ID, memory.ApplyOptions{Edits: map[string]string{"c1": "hunter2\nhunter2 again\n"}})
		return err
	})
}

func TestFORGET_03_AQueryOfManyNeedsAChoice(t *testing.T) {
	s := openStore(t, nil)
	s.write(0, "a.md", "a\n")
	s.write(0, "b.md", "b\n")
	d := s.remove(0, "a.md")
	d.Edits = append(d.Edits, s.remove(0, "b.md").Edits...)
	d.Query = true
	p := s.propose(d)
	r := s.refused("no choice", memory.RefusedInput, func() error { _, err := s.Apply(t.Context(), p.ID, memory.ApplyOptions{}); return err })
	if r.Field != "only" {
		t.Errorf("the field is %q", r.Field)
	}
	s.refused("unknown change", memory.RefusedInput, func() error {
		_, err := s.Apply(t.Context(), p.ID, memory.ApplyOptions{Only: []string{"c9"}})
		return err
	})
	s.refused("edit of none", memory.RefusedInput, func() error {
		_, err := s.Apply(t.Context(), p.ID, memory.ApplyOptions{Only: []string{"c1"}, Edits: map[string]string{"c2": "x"}})
		return err
	})
	s.apply(p, memory.ApplyOptions{Only: []string{"c2"}})
	s.gone(0, "b.md")
	if got := s.read(0, "a.md"); got != "a\n" {
		t.Errorf("the other is %q", got)
	}
}

func TestUndoIsRefusedWhole(t *testing.T) {
	s := openStore(t, nil)
	s.write(0, "a.md", "a\n")
	s.write(1, "b.md", "b\n")
	d := s.remove(0, "a.md")
	d.Edits = append(d.Edits, memory.Edit{Action: memory.ActionUpdate, Doc: s.doc(1, "b.md"), Text: "b\nmore\n"})
	op := s.do(d)
	s.write(1, "b.md", "b\nmore\nand more\n")
	r := s.refused("changed since", memory.RefusedConflict, func() error { _, err := s.Undo(t.Context(), op.ID); return err })
	if len(r.Refs) != 1 || r.Refs[0] != "user:b.md" {
		t.Errorf("in the way are %q", r.Refs)
	}
	s.write(1, "b.md", "b\nmore\n")
	s.write(0, "a.md", "a new one\n")
	s.refused("taken since", memory.RefusedConflict, func() error { _, err := s.Undo(t.Context(), op.ID); return err })
}

func TestUndoEnds(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := openStore(t, func(o *memory.StoreOptions) { o.Now = func() time.Time { return now } })
	s.write(0, "a.md", "the old text\n")
	op := s.do(s.remove(0, "a.md"))
	if got := op.UndoUntil.Sub(now); got != 24*time.Hour {
		t.Errorf("undo for %v", got)
	}
	now = now.Add(24 * time.Hour)
	s.refused("over", memory.RefusedStale, func() error { _, err := s.Undo(t.Context(), op.ID); return err })
	if _, err := s.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.nowhere("the old text", s.state)
	ops, _, err := s.Operations(0)
	if err != nil || len(ops) != 1 || !ops[0].UndoUntil.IsZero() {
		t.Errorf("operations %+v, %v", ops, err)
	}
}
