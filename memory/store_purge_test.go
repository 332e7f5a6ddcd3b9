package memory_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/memory"
)

// nowhere fails when a file below the directories, or its name, holds a text,
// plainly or in base64.
func (s *shop) nowhere(text string, dirs ...string) {
	s.t.Helper()
	for path, content := range tree(s.t, dirs...) {
		if holdsText(content, text) || strings.Contains(path, text) {
			s.t.Errorf("%s holds %q", path, text)
		}
	}
}

func holdsText(content, text string) bool {
	if strings.Contains(content, text) {
		return true
	}
	for lead := range 3 {
		enc := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00", lead) + text))
		// The first and the last characters depend on what stands beside.
		if strings.Contains(content, enc[(lead*8+5)/6:len(enc)-4]) {
			return true
		}
	}
	return false
}

func TestNowhereFindsWhatIsThere(t *testing.T) {
	for lead := range 5 {
		raw := strings.Repeat("x", lead) + "the text that is looked for" + strings.Repeat("y", lead)
		if !holdsText(base64.StdEncoding.EncodeToString([]byte(raw)), "the text that is looked for") {
			t.Errorf("not found behind %d bytes", lead)
		}
	}
}

func TestPurgeLeavesNoTrace(t *testing.T) {
	const secret = "the vault opens with seven turns"
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var told memory.Forgotten
	s := openStore(t, func(o *memory.StoreOptions) {
		o.Index = listing
		o.Now = func() time.Time { now = now.Add(time.Second); return now }
		o.Purge = func(_ context.Context, f memory.Forgotten) error { told = f; return nil }
	})
	// It was written, changed, moved to another root, proposed to be changed again,
	// and removed and brought back.
	s.do(s.create(0, "vault.md", "---\nname: Vault\ntype: user\n---\n\n"+secret+"\n"))
	s.do(memory.Draft{Kind: memory.KindExtract, Edits: []memory.Edit{
		{Action: memory.ActionUpdate, Doc: s.doc(0, "vault.md"), Text: "---\nname: Vault\ntype: user\n---\n\n" + secret + "\n\nand a half\n"},
	}})
	move, err := s.MoveDraft(s.doc(0, "vault.md"), s.roots[1])
	if err != nil {
		t.Fatal(err)
	}
	s.apply(s.propose(move), memory.ApplyOptions{})
	gone := s.do(s.remove(1, "vault.md"))
	if _, err := s.Undo(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	s.propose(memory.Draft{Kind: memory.KindDream, Edits: []memory.Edit{
		{Action: memory.ActionUpdate, Doc: s.doc(1, "vault.md"), Text: "shorter\n"},
	}})
	quoting := s.propose(memory.Draft{Kind: memory.KindExtract, Edits: []memory.Edit{
		{Action: memory.ActionCreate, Root: s.roots[2], Rel: "other.md", Text: "somebody said that " + secret + "\n"},
	}})
	// Something of its own that has to stay undoable.
	other := s.do(s.create(1, "other.md", "---\nname: Other\ntype: user\n---\n\nnothing to do with it\n"))
	if !holdsText(fmt.Sprint(tree(t, s.state)), secret) {
		t.Fatal("there is nothing to purge")
	}

	op := s.apply(s.propose(s.remove(1, "vault.md")), memory.ApplyOptions{Purge: true})
	if !op.Purged {
		t.Error("the operation does not say so")
	}
	all := slices.Concat(s.dirs, []string{s.state})
	s.nowhere(secret, all...)
	s.nowhere("and a half", all...)
	s.nowhere("vault", all...)
	ops, _, err := s.Operations(0)
	if err != nil || len(ops) != 7 {
		t.Errorf("%d operations are listed, %v", len(ops), err)
	}
	for _, o := range ops {
		if o.ID == other.ID {
			continue
		}
		s.refused(string(o.Kind), memory.RefusedStale, func() error { _, err := s.Undo(t.Context(), o.ID); return err })
	}
	if _, err := s.Undo(t.Context(), other.ID); err != nil {
		t.Errorf("an operation that had nothing to do with it: %v", err)
	}
	plans, err := s.Plans()
	if err != nil || len(plans) != 0 {
		t.Errorf("%d plans are left, %v", len(plans), err)
	}
	s.refused("plan", memory.RefusedNotFound, func() error { _, err := s.Apply(t.Context(), quoting.ID, memory.ApplyOptions{}); return err })
	if !strings.Contains(fmt.Sprint(told.Texts), secret) || len(told.Refs) != 1 || told.Refs[0] != "user:vault.md" {
		t.Errorf("others were told %+v", told)
	}
	places := tree(t, all...)
	t.Logf("searched for the text in %d files below %s", len(places), strings.Join(parts(filepath.Dir(s.state), all), ", "))
}

func parts(base string, dirs []string) []string {
	var out []string
	for _, d := range dirs {
		rel, _ := filepath.Rel(base, d)
		out = append(out, rel)
	}
	return out
}

func TestPurgeOfAnEntryLeavesTheOthers(t *testing.T) {
	s := openStore(t, nil)
	s.write(0, "a.md", "# A\n\n- the first thing to know\n- the second thing to know\n")
	d := s.doc(0, "a.md")
	e := memory.Entries(d)[0]
	n := 0
	p := s.propose(memory.Draft{Kind: memory.KindForget, Edits: []memory.Edit{
		{Action: memory.ActionUpdate, Doc: d, Entry: &n, DropEmpty: true, Replace: []memory.Replacement{{Span: e.Removal(d)}}},
	}})
	s.apply(p, memory.ApplyOptions{Purge: true})
	s.nowhere("the first thing", append(s.dirs, s.state)...)
	if got := s.read(0, "a.md"); got != "# A\n\n- the second thing to know\n" {
		t.Errorf("left is %q", got)
	}
	ops, _, err := s.Operations(0)
	if err != nil || ops[0].Changes[0].Ref != "project:a.md" {
		t.Errorf("operations %+v, %v", ops, err)
	}
}

func TestPurgeThatFailsForgetsNothing(t *testing.T) {
	s := openStore(t, func(o *memory.StoreOptions) {
		o.Purge = func(context.Context, memory.Forgotten) error { return fmt.Errorf("the cache is on fire") }
	})
	s.write(0, "a.md", "something to forget\n")
	before := tree(t, s.dirs...)
	p := s.propose(s.remove(0, "a.md"))
	s.refused("purge", memory.RefusedByIO, func() error { _, err := s.Apply(t.Context(), p.ID, memory.ApplyOptions{Purge: true}); return err })
	if !maps.Equal(tree(t, s.dirs...), before) {
		t.Error("a file changed")
	}
}
