package memory_test

import (
	"strings"
	"testing"

	"github.com/memls/memls/memory"
)

func keeping(o *memory.StoreOptions) { o.Index = nil }

func titled(name, text string) string {
	return "---\nname: " + name + "\ndescription: about " + name + "\ntype: user\n---\n\n" + text + "\n"
}

func TestFORGET_04_TheIndexFollowsTheFiles(t *testing.T) {
	s := openStore(t, keeping)
	s.do(s.create(0, "one.md", titled("One", "first")))
	s.do(s.create(0, "two.md", titled("Two", "second")))
	if got := s.read(0, "MEMORY.md"); !strings.Contains(got, "(one.md)") || !strings.Contains(got, "(two.md)") {
		t.Fatalf("the index is %q", got)
	}
	full := s.read(0, "MEMORY.md")
	op := s.do(s.remove(0, "one.md"))
	if got := s.read(0, "MEMORY.md"); strings.Contains(got, "one.md") || !strings.Contains(got, "(two.md)") {
		t.Errorf("after forgetting: %q", got)
	}
	if _, err := s.Undo(t.Context(), op.ID); err != nil {
		t.Fatal(err)
	}
	if got := s.read(0, "MEMORY.md"); got != full {
		t.Errorf("after undoing: %q, was %q", got, full)
	}
}

func TestAWrittenIndexIsChangedLineByLine(t *testing.T) {
	const written = "# What I know\r\n\r\nRead this first.\r\n\r\n- [One](one.md) is what matters\r\n- [Two](two.md): the other\r\n\r\nBye.\r\n"
	s := openStore(t, keeping)
	s.write(0, "one.md", titled("One", "first"))
	s.write(0, "two.md", titled("Two", "second"))
	s.write(0, "MEMORY.md", written)
	op := s.do(s.remove(0, "two.md"))
	if got, want := s.read(0, "MEMORY.md"), strings.Replace(written, "- [Two](two.md): the other\r\n", "", 1); got != want {
		t.Errorf("after forgetting: %q, want %q", got, want)
	}
	// An edit of the index in between is in nobody's way.
	s.write(0, "MEMORY.md", strings.Replace(s.read(0, "MEMORY.md"), "Bye.", "So long.", 1))
	if _, err := s.Undo(t.Context(), op.ID); err != nil {
		t.Fatal(err)
	}
	got := s.read(0, "MEMORY.md")
	head, _, _ := strings.Cut(written, "- [Two]")
	if !strings.Contains(got, "(two.md)") || !strings.HasPrefix(got, head) || !strings.HasSuffix(got, "\r\n\r\nSo long.\r\n") {
		t.Errorf("after undoing: %q", got)
	}
}
