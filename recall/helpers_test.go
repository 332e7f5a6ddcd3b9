package recall_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// now is when every test's query is asked.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// note is a memory in short: a name, a description and a body; header lines may
// stand between --- lines in front of the body.
type note struct {
	name, desc, body string
	header           []string
	scope            memory.Scope
	days             int // age
}

func (n note) doc(t testing.TB) *memory.Document {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "---\nname: %q\ndescription: %q\ntype: project\n", n.name, n.desc)
	for _, h := range n.header {
		b.WriteString(h + "\n")
	}
	b.WriteString("---\n" + n.body + "\n")
	d := memory.Parse([]byte(b.String()))
	for _, p := range d.Problems {
		if strings.HasPrefix(p.Code, "frontmatter-") {
			t.Fatalf("note %q: %s", n.name, p.Message)
		}
	}
	scope := n.scope
	if scope == "" {
		scope = memory.ScopeProject
	}
	order := map[memory.Scope]int{memory.ScopeProject: 0, memory.ScopeUser: 1, memory.ScopeTeam: 2}[scope]
	d.Root = &memory.Root{Scope: scope, Prefix: string(scope), Order: order}
	d.Rel = strings.ReplaceAll(n.name, " ", "-") + ".md"
	d.Ref = string(scope) + ":" + d.Rel
	d.ModTime = now.AddDate(0, 0, -n.days)
	return d
}

func indexOf(t testing.TB, notes ...note) *recall.Index {
	t.Helper()
	var docs []*memory.Document
	for _, n := range notes {
		docs = append(docs, n.doc(t))
	}
	return build(docs)
}

// ask returns the names of the hits for a query, in order.
func ask(t testing.TB, ix *recall.Index, query string, edit ...func(*recall.Query)) []string {
	t.Helper()
	return names(rank(t, ix, query, edit...))
}

func rank(t testing.TB, ix *recall.Index, query string, edit ...func(*recall.Query)) *recall.Ranking {
	t.Helper()
	q := recall.Query{Text: query, Now: now}
	for _, e := range edit {
		e(&q)
	}
	r, err := ix.Rank(t.Context(), q)
	if err != nil {
		t.Fatalf("rank %q: %v", query, err)
	}
	return r
}

func names(r *recall.Ranking) []string {
	out := []string{}
	for _, h := range r.Hits {
		out = append(out, h.Doc.Title)
	}
	return out
}

func wantNames(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// filler is text of n words that no query of a test asks for.
func filler(n int) string {
	return strings.TrimSpace(strings.Repeat("Lorem ipsum dolor sit amet consectetur. ", n/6+1))
}

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Error(err)
	}
}

func removeFile(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Error(err)
	}
}
