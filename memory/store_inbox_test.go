package memory_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/memory"
)

// extracted is a draft for the inbox that creates files.
func (s *shop) extracted(rels ...string) memory.Draft {
	d := memory.Draft{Kind: memory.KindExtract}
	for _, rel := range rels {
		d.Edits = append(d.Edits, memory.Edit{Action: memory.ActionCreate, Root: s.roots[0], Rel: rel, Text: rel + "\n", Evidence: []string{"m1"}})
	}
	return d
}

func TestInboxSurvivesRestartsAndIsAppliedInParts(t *testing.T) {
	pokes := 0
	s := openStore(t, func(o *memory.StoreOptions) { o.PlansChanged = func() { pokes++ } })
	p := s.propose(s.extracted("a.md", "b.md", "c.md"))
	s.propose(s.create(0, "talk.md", "of a conversation\n"))
	again := s.again(nil)
	plans, err := again.Plans()
	if err != nil || len(plans) != 1 || plans[0].ID != p.ID || len(plans[0].Changes) != 3 || plans[0].Changes[0].Evidence[0] != "m1" {
		t.Fatalf("pending %+v, %v", plans, err)
	}
	if !strings.Contains(plans[0].Changes[1].Diff, "+b.md") {
		t.Errorf("the diff is %q", plans[0].Changes[1].Diff)
	}
	op, err := again.Apply(t.Context(), p.ID, memory.ApplyOptions{Only: []string{"c2"}, Edits: map[string]string{"c2": "B, as I want it\n"}})
	if err != nil || op.Plan != p.ID {
		t.Fatalf("%+v, %v", op, err)
	}
	if got := s.read(0, "b.md"); got != "B, as I want it\n" {
		t.Errorf("b is %q", got)
	}
	// The rest stays, here as well.
	if _, err := s.Apply(t.Context(), p.ID, memory.ApplyOptions{Only: []string{"c1"}}); err != nil {
		t.Fatal(err)
	}
	s.refused("applied before", memory.RefusedInput, func() error {
		_, err := s.Apply(t.Context(), p.ID, memory.ApplyOptions{Only: []string{"c1"}})
		return err
	})
	if err := s.Discard(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	if plans, err := s.Plans(); err != nil || len(plans) != 0 {
		t.Errorf("%d pending, %v", len(plans), err)
	}
	s.gone(0, "c.md")
	if pokes != 3 {
		t.Errorf("told %d times that the plans changed", pokes)
	}
	if plans, err := s.Plans(memory.KindDream); err != nil || len(plans) != 0 {
		t.Errorf("%d pending dreams, %v", len(plans), err)
	}
}

func TestChangesOfOneFileCompose(t *testing.T) {
	const text = "\uFEFF---\r\nname: A\r\n---\r\n\r\n- one\r\n- two\r\n- three\r\n- four\r\n"
	s := openStore(t, nil)
	s.write(0, "a.md", text)
	d := s.doc(0, "a.md")
	draft := memory.Draft{Kind: memory.KindDream}
	for n, e := range memory.Entries(d) {
		draft.Edits = append(draft.Edits, memory.Edit{
			Action: memory.ActionUpdate, Doc: d, Entry: &n, DropEmpty: true, Replace: []memory.Replacement{{Span: e.Removal(d)}},
		})
	}
	p := s.propose(draft)
	if p.Changes[2].Ref != "project:a.md#2" || p.Changes[2].Base != p.Changes[0].Base {
		t.Errorf("change %+v", p.Changes[2])
	}
	// One, then two others: what stays pending follows the file.
	s.apply(p, memory.ApplyOptions{Only: []string{"c2"}})
	if got, want := s.read(0, "a.md"), strings.Replace(text, "- two\r\n", "", 1); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.apply(p, memory.ApplyOptions{Only: []string{"c1", "c4"}})
	if got, want := s.read(0, "a.md"), "\uFEFF---\r\nname: A\r\n---\r\n\r\n- three\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// The last entry takes the file along, and all of it comes back.
	op := s.apply(p, memory.ApplyOptions{})
	s.gone(0, "a.md")
	if _, err := s.Undo(t.Context(), op.ID); err != nil {
		t.Fatal(err)
	}
	ops, _, err := s.Operations(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range ops[2:] {
		if _, err := s.Undo(t.Context(), o.ID); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.read(0, "a.md"); got != text {
		t.Errorf("after undoing all: %q", got)
	}
}

func TestTwoChangesOfOnePlaceContradict(t *testing.T) {
	s := openStore(t, nil)
	s.write(0, "a.md", "one two three\n")
	d := s.doc(0, "a.md")
	edit := func(from, to int, text string) memory.Edit {
		return memory.Edit{Action: memory.ActionUpdate, Doc: d, Replace: []memory.Replacement{{Span: memory.Span{Start: from, End: to}, New: text}}}
	}
	p := s.propose(memory.Draft{Kind: memory.KindDream, Edits: []memory.Edit{edit(4, 7, "2"), edit(0, 7, "1 2")}})
	s.refused("both", memory.RefusedConflict, func() error { _, err := s.Apply(t.Context(), p.ID, memory.ApplyOptions{}); return err })
	s.refused("edited both", memory.RefusedInput, func() error {
		_, err := s.Apply(t.Context(), p.ID, memory.ApplyOptions{Edits: map[string]string{"c1": "x"}})
		return err
	})
	s.apply(p, memory.ApplyOptions{Only: []string{"c1"}})
	// The other has lost its place, and stays to be seen.
	s.refused("the other", memory.RefusedStale, func() error { _, err := s.Apply(t.Context(), p.ID, memory.ApplyOptions{}); return err })
	if plans, err := s.Plans(); err != nil || len(plans) != 1 {
		t.Errorf("%d pending, %v", len(plans), err)
	}
}

func TestInboxIsBounded(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := openStore(t, func(o *memory.StoreOptions) { o.Now = func() time.Time { return now } })
	for n := range 100 {
		s.propose(s.extracted(fmt.Sprintf("f%d.md", n)))
	}
	s.refused("full", memory.RefusedBudget, func() error { _, err := s.Propose(t.Context(), s.extracted("more.md")); return err })
	// What a person asks for is not in its way.
	s.propose(s.create(0, "asked.md", "x\n"))
	now = now.Add(30 * 24 * time.Hour)
	if plans, err := s.Plans(); err != nil || len(plans) != 0 {
		t.Errorf("%d pending after their time, %v", len(plans), err)
	}
	s.propose(s.extracted("more.md"))
	if _, err := s.again(func(o *memory.StoreOptions) { o.Now = func() time.Time { return now } }).Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(tree(t, s.state)); n > 5 {
		t.Errorf("%d files of state are left", n)
	}
}

func TestCorruptStateIsPutAsideAndInNobodysWay(t *testing.T) {
	s := openStore(t, nil)
	good := s.propose(s.extracted("a.md"))
	bad := s.propose(s.extracted("b.md"))
	op := s.do(s.create(0, "c.md", "c\n"))
	lost := s.do(s.create(0, "d.md", "d\n"))
	for path := range tree(t, s.state) {
		if strings.Contains(path, bad.ID) || strings.Contains(path, lost.ID) || filepath.Base(path) == "root.json" {
			write(t, "/", path, "{ half of")
		}
	}
	journal := filepath.Join(s.state, s.roots[0].ID, "journal")
	write(t, journal, "o-1.json", "{ half of")
	write(t, journal, "o-2.link", "{ half of")
	plans, err := s.Plans()
	if err != nil || len(plans) != 1 || plans[0].ID != good.ID {
		t.Errorf("pending %v, %v", plans, err)
	}
	next := s.again(nil)
	if found, err := next.Recover(t.Context()); err != nil || len(found) != 0 {
		t.Errorf("recovered %v, %v", found, err)
	}
	corrupt := tree(t, filepath.Join(s.state, s.roots[0].ID, "corrupt"))
	if len(corrupt) != 4 {
		t.Errorf("put aside: %v", corrupt)
	}
	if _, err := next.Apply(t.Context(), good.ID, memory.ApplyOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := next.Undo(t.Context(), op.ID); err != nil {
		t.Error(err)
	}
	s.gone(0, "c.md")
}

func TestMoveBetweenRoots(t *testing.T) {
	s := openStore(t, func(o *memory.StoreOptions) { o.Index = listing })
	const text = "\uFEFF---\r\nname: \"A\" # a comment\r\n---\r\nbody\r\n"
	s.write(0, "sub/a.md", text)
	s.write(1, "sub/A.md", "taken\n")
	d, err := s.MoveDraft(s.doc(0, "sub/a.md"), s.roots[1])
	if err != nil {
		t.Fatal(err)
	}
	p := s.propose(d)
	if len(p.Warnings) != 1 {
		t.Errorf("warnings %q", p.Warnings)
	}
	op := s.apply(p, memory.ApplyOptions{})
	s.gone(0, "sub/a.md")
	if got := s.read(1, "sub/a-2.md"); got != text {
		t.Errorf("moved: %q", got)
	}
	if got := s.read(1, "MEMORY.md"); got != "sub/A.md\nsub/a-2.md\n" {
		t.Errorf("index %q", got)
	}
	if got := s.read(0, "MEMORY.md"); got != "" {
		t.Errorf("index %q", got)
	}
	// Of a project only its own store knows; both roots list the operation once.
	ops, _, err := s.Operations(0)
	if err != nil || len(ops) != 1 || ops[0].ID != op.ID {
		t.Errorf("operations %+v, %v", ops, err)
	}
	if _, err := s.Undo(t.Context(), op.ID); err != nil {
		t.Fatal(err)
	}
	if got := s.read(0, "sub/a.md"); got != text {
		t.Errorf("moved back: %q", got)
	}
	if _, err := s.MoveDraft(s.doc(0, "sub/a.md"), s.roots[0]); err == nil {
		t.Error("moved to where it is")
	}
}

func TestRebuildIndexOfARoot(t *testing.T) {
	s := openStore(t, func(o *memory.StoreOptions) { o.Index = listing })
	s.write(0, "a.md", "a\n")
	s.write(0, ".hidden.md", "no\n")
	s.write(0, "MEMORY.md", "gone.md\n")
	op, err := s.RebuildIndex(t.Context(), s.roots[0])
	if err != nil || len(op.Changes) != 1 {
		t.Fatalf("%+v, %v", op, err)
	}
	if got := s.read(0, "MEMORY.md"); got != "a.md\n" {
		t.Errorf("index %q", got)
	}
	if again, err := s.RebuildIndex(t.Context(), s.roots[0]); err != nil || len(again.Changes) != 0 {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := s.Undo(t.Context(), op.ID); err != nil {
		t.Fatal(err)
	}
	if got := s.read(0, "MEMORY.md"); got != "gone.md\n" {
		t.Errorf("index %q", got)
	}
}
