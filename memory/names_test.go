package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/memls/memls/memory"
)

// What leads to a document is what resolves to it, however files, titles and
// targets resemble each other; and each revision answers for its own documents.
func TestBacklinksAreWhatResolves(t *testing.T) {
	names := []string{"a.md", "A.MD", "a.md.md", "b.md", "x/a.md", "x/b c.md", "x/y/a.md", "straße.md", "100%25.md", "user:a.md"}
	targets := []string{
		"a", "a.md", "A", "x/a", "x/a.md", "../a", "../../a.md", "./b", "/a", "b%20c", "x/b c.md", "STRASSE", "100%2525.md", "100%25",
		"project:a.md", "user:a.md", "project:x/y/a.md", "..", "x/..", "Title One", "title  one", "x/y/../a", "%61", "a.md.md", " a ",
	}
	titles := []string{"a", "Title One", "b", "..", "x", "100%25", ""}
	rapid.Check(t, func(rt *rapid.T) {
		dir := tempDir(t)
		for round := range 2 {
			for _, name := range names {
				if rapid.Bool().Draw(rt, fmt.Sprint("write ", round, name)) {
					write(t, dir, name, randomLinks(rt, titles, targets))
				}
			}
			b := open(t, dir, nil)
			compareBacklinks(rt, b.sync())
		}
	})
}

func randomLinks(rt *rapid.T, titles, targets []string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "---\nname: %q\n---\n", rapid.SampledFrom(titles).Draw(rt, "title"))
	for _, target := range rapid.SliceOfN(rapid.SampledFrom(targets), 0, 4).Draw(rt, "targets") {
		fmt.Fprintf(&text, "- [[%s]]\n", target)
	}
	return text.String()
}

// compareBacklinks looks at every pair of documents.
func compareBacklinks(rt *rapid.T, s *memory.Snapshot) {
	for to := range s.All() {
		var want []string
		for from := range s.All() {
			leads := func(l memory.Link) bool {
				d, ok := memory.Resolve(s, from, l.Target)
				return ok && d.Ref == to.Ref
			}
			if from.Ref != to.Ref && slices.ContainsFunc(memory.Links(from), leads) {
				want = append(want, from.Ref)
			}
		}
		slices.Sort(want)
		if got := memory.Backlinks(s, to); !slices.Equal(got, want) {
			rt.Errorf("links to %s: %q, want %q", to.Ref, got, want)
		}
		for _, in := range s.Incoming(to) {
			if d, ok := memory.Resolve(s, in.From, in.Link.Target); !ok || d.Ref != to.Ref {
				rt.Errorf("%s: %q leads elsewhere", in.From.Ref, in.Link.Target)
			}
		}
	}
}

// A snapshot that somebody holds keeps its names when the files change.
func TestNamesBelongToTheirRevision(t *testing.T) {
	dir := tempDir(t)
	write(t, dir, "a.md", "---\nname: First\n---\n[[second]]\n")
	b := open(t, dir, nil)
	before := b.ready()
	from, _ := before.Get("project:a.md")
	if _, ok := memory.Resolve(before, from, "second"); ok {
		t.Fatal("a link to nothing resolves")
	}
	write(t, dir, "b.md", "---\nname: Second\n---\n[[first]]\n")
	after := b.sync()
	if d, ok := memory.Resolve(after, from, "second"); !ok || d.Rel != "b.md" {
		t.Errorf("resolves to %v", d)
	}
	if _, ok := memory.Resolve(before, from, "second"); ok {
		t.Error("the old snapshot knows the new file")
	}
	to, _ := after.Get("project:b.md")
	if got := memory.Backlinks(after, to); !slices.Equal(got, []string{"project:a.md"}) {
		t.Errorf("links to b.md: %q", got)
	}
	if got := memory.Backlinks(before, from); got != nil {
		t.Errorf("links to a.md in the old snapshot: %q", got)
	}
}
