package memory_test

import (
	"testing"

	"github.com/memls/memls/memory"
)

// A new file has a name that every system takes and that shows what it is.
func TestNewNamesArePortable(t *testing.T) {
	for _, rel := range []string{"a.md", "sub/a b.md", "中文.md", "é.md", "a-b_c.d.md", "computer.md", "com10.md", "x/con-x.md", "🔥.md"} {
		if err := memory.CheckPortable(rel); err != nil {
			t.Errorf("%q: %v", rel, err)
		}
	}
	s := openStore(t, keeping)
	for rel, free := range map[string]string{
		"a:b.md": "a-b.md", "CON.md": "note-con.md", "con.x.md": "con-x.md", "Lpt1.md": "note-lpt1.md", "a\u202eb.md": "ab.md", "a\u200bb.md": "ab.md", "a?.md": "a.md",
		"a\tb.md": "a-b.md", "e\u0301.md": "é.md", "a .md": "a.md", " a.md": "a.md", "aux/a.md": "note-aux/a.md", "a\u00a0b.md": "a-b.md", "x|y/a.md": "x-y/a.md",
	} {
		if err := memory.CheckPortable(rel); err == nil {
			t.Errorf("%q is taken for portable", rel)
		}
		got, err := s.FreeName(s.roots[0], rel)
		if err != nil || got != free {
			t.Errorf("%q becomes %q, want %q (%v)", rel, got, free, err)
		}
		if err := memory.CheckPortable(got); err != nil {
			t.Errorf("%q: %v", got, err)
		}
		if _, err := s.Propose(t.Context(), s.create(0, rel, "x\n")); err == nil {
			t.Errorf("%q was planned", rel)
		}
	}
	// What others have named is theirs, and comes back under its name.
	s.write(0, "a:b.md", titled("Odd", "text"))
	op := s.do(s.remove(0, "a:b.md"))
	if _, err := s.Undo(t.Context(), op.ID); err != nil || s.read(0, "a:b.md") != titled("Odd", "text") {
		t.Errorf("undone: %v", err)
	}
}
