package memory_test

import (
	"strings"
	"testing"

	"github.com/memls/memls/memory"
)

// What somebody wrote about a file in its index goes with the file and comes back
// with it, word for word and in its place, also when nothing else stood there, and
// after another start.
func TestUndoBringsBackWhatWasWrittenInTheIndex(t *testing.T) {
	for _, index := range []string{
		"# Mine\n\n- [One](one.md) — in my words\n  that go on\n- a fact\n- [Two](two.md): the other\n", "- [One](one.md) — in my words\n- [Two](two.md) — about Two\n",
		"1. [Two](two.md): the other\r\n2. `one.md`: mine\r\n",
	} {
		s := openStore(t, keeping)
		s.write(0, "one.md", titled("One", "first"))
		s.write(0, "two.md", titled("Two", "second"))
		s.write(0, "MEMORY.md", index)
		forgotten := s.do(s.remove(0, "one.md"))
		if got := s.read(0, "MEMORY.md"); strings.Contains(got, "one.md") || !strings.Contains(got, "two.md") {
			t.Errorf("after forgetting: %q", got)
		}
		undone, err := s.again(keeping).Undo(t.Context(), forgotten.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.read(0, "MEMORY.md"); got != index {
			t.Errorf("%q came back as %q", index, got)
		}
		// And away again, and back.
		again, err := s.Undo(t.Context(), undone.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.read(0, "MEMORY.md"); strings.Contains(got, "one.md") {
			t.Errorf("after undoing the undoing: %q", got)
		}
		if _, err := s.Undo(t.Context(), again.ID); err != nil {
			t.Fatal(err)
		}
		if got := s.read(0, "MEMORY.md"); got != index {
			t.Errorf("%q came back the second time as %q", index, got)
		}
	}
}

// What an operation keeps of an index is purged with the rest.
func TestPurgeLeavesNoEntryOfAnIndex(t *testing.T) {
	const words = "the vault opens with seven turns"
	s := openStore(t, keeping)
	s.write(0, "one.md", titled("One", "first"))
	s.write(0, "MEMORY.md", "# Mine\n\n- [One](one.md) — "+words+"\n")
	d := s.doc(0, "one.md")
	s.do(memory.Draft{Kind: memory.KindPin, Edits: []memory.Edit{{Action: memory.ActionUpdate, Doc: d, Text: strings.Replace(d.Text, "first", "second", 1)}}})
	op := s.apply(s.propose(s.remove(0, "one.md")), memory.ApplyOptions{Purge: true})
	if !op.Purged {
		t.Errorf("%+v", op)
	}
	s.nowhere(words, s.state, s.dirs[0])
}
