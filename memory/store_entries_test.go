package memory_test

import (
	"maps"
	"strings"
	"testing"
	"unicode/utf16"

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

// An index that nobody has touched since comes back byte for byte, whatever the
// operation did to it: also one that never listed the file, that spoke of it in its
// prose, that another program made, or that there was not.
func TestUndoBringsTheIndexBackByteForByte(t *testing.T) {
	for what, index := range map[string]string{
		"not listed":       "# Mine\n\nRead the code.\n\n- [Two](two.md) — the other\n",
		"in prose":         "# Mine\n\nFirst of all [One *of* them](one.md), then [[one]] again.\n\n- [Two](two.md) — see [it](one.md)\n",
		"both":             "\ufeffSee [One](one.md).\r\n\r\n1. [One](one.md): mine\r\n   and more\r\n2. `two.md`",
		"by another":       "- [One](one.md) — about One\n- [Two](two.md) — about Two\n",
		"not UTF-8":        "- [One](one.md) caf\xe9\n- [Two](two.md)\n",
		"carriage returns": "# Mine\r\r- [One](one.md)\r- [Two](two.md)\r",
		"UTF-16":           utf16le("\ufeff# Mine\n\nSee [One](one.md).\n- [One](one.md)\n"),
		"definition":       "# Mine\n\nSee [one].\n\n[one]: one.md \"One\"\n",
		"empty":            "",
		"none":             "-",
	} {
		s := openStore(t, keeping)
		s.write(0, "one.md", titled("One", "first"))
		s.write(0, "two.md", titled("Two", "second"))
		if what != "none" {
			s.write(0, "MEMORY.md", index)
		}
		before := tree(t, s.dirs[0])
		forgotten := s.do(s.remove(0, "one.md"))
		gone := tree(t, s.dirs[0])
		undone, err := s.again(keeping).Undo(t.Context(), forgotten.ID)
		if err != nil {
			t.Fatal(err)
		}
		if now := tree(t, s.dirs[0]); !maps.Equal(now, before) {
			t.Errorf("%s: %s", what, difference(now, before, gone))
		}
		again, err := s.Undo(t.Context(), undone.ID)
		if err != nil {
			t.Fatal(err)
		}
		if now := tree(t, s.dirs[0]); !maps.Equal(now, gone) {
			t.Errorf("%s, away again: %s", what, difference(now, gone, before))
		}
		if _, err := s.Undo(t.Context(), again.ID); err != nil {
			t.Fatal(err)
		}
		if now := tree(t, s.dirs[0]); !maps.Equal(now, before) {
			t.Errorf("%s, the second time: %s", what, difference(now, before, gone))
		}
	}
}

func utf16le(s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// What somebody has done to an index since stays, and what the operation did is
// taken back beside it.
func TestUndoMergesWithWhatHappenedSince(t *testing.T) {
	const index = "# Mine\n\nFirst [One](one.md).\n\n- [One](one.md) — mine\n- a fact\n- [Two](two.md) — the other\n\nBye.\n"
	for what, c := range map[string]struct{ index, old, new, want string }{
		"another line": {index, "Bye.", "So long.", strings.Replace(index, "Bye.", "So long.", 1)},
		"a line above": {index, "# Mine\n", "# Mine\n\nNew.\n", strings.Replace(index, "# Mine\n", "# Mine\n\nNew.\n", 1)},
		"the very line": {index, "First One.", "One comes first.",
			strings.Replace(index, "First [One](one.md).", "One comes first.", 1)},
		"listed again": {index, "- a fact", "- [One](one.md) — anew\n- a fact",
			strings.Replace(index, "— mine", "— anew", 1)},
		"not listed":  {strings.Replace(index, "- [One](one.md) — mine\n", "", 1), "Bye.", "So long.", strings.NewReplacer("Bye.", "So long.", "- [One](one.md) — mine\n", "").Replace(index)},
		"emptied":     {index, "*", "", "- [One](one.md) — mine\n"},
		"last line":   {"# Mine\n\n- [Two](two.md)\n- [One](one.md)", "# Mine", "# Ours", "# Ours\n\n- [Two](two.md)\n- [One](one.md)"},
		"other order": {index, "- a fact\n- [Two](two.md) — the other\n", "- [Two](two.md) — the other\n- a fact\n", "# Mine\n\nFirst [One](one.md).\n\n- [One](one.md) — mine\n- [Two](two.md) — the other\n- a fact\n\nBye.\n"},
	} {
		s := openStore(t, keeping)
		s.write(0, "one.md", titled("One", "first"))
		s.write(0, "two.md", titled("Two", "second"))
		s.write(0, "MEMORY.md", c.index)
		forgotten := s.do(s.remove(0, "one.md"))
		now := s.read(0, "MEMORY.md")
		if c.old != "*" {
			if !strings.Contains(now, c.old) {
				t.Fatalf("%s: %q is not in %q", what, c.old, now)
			}
			now = strings.Replace(now, c.old, c.new, 1)
		} else {
			now = ""
		}
		s.write(0, "MEMORY.md", now)
		if _, err := s.again(keeping).Undo(t.Context(), forgotten.ID); err != nil {
			t.Fatal(err)
		}
		if got := s.read(0, "MEMORY.md"); got != c.want {
			t.Errorf("%s:\n%q, want\n%q", what, got, c.want)
		}
	}
}

// What later operations keep of an index goes with a purge, and they can still be
// undone.
func TestPurgeTakesTheIndexOutOfOtherOperations(t *testing.T) {
	const words = "the vault opens with seven turns"
	s := openStore(t, keeping)
	s.write(0, "one.md", titled("One", "first"))
	s.write(0, "two.md", titled("Two", "second"))
	s.write(0, "MEMORY.md", "# Mine\n\n[Two](two.md), and "+words+"\n\n- [One](one.md) — "+words+"\n")
	op := s.do(s.remove(0, "two.md"))
	if got := s.apply(s.propose(s.remove(0, "one.md")), memory.ApplyOptions{Purge: true}); !got.Purged {
		t.Errorf("%+v", got)
	}
	s.nowhere(words, s.state)
	if _, err := s.Undo(t.Context(), op.ID); err != nil {
		t.Fatal(err)
	}
	if got := s.read(0, "two.md"); got != titled("Two", "second") {
		t.Errorf("came back as %q", got)
	}
}
