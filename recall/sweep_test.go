package recall_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// TestWhatCannotPassIsLeftOutAndNothingElse compares a ranking, which goes through
// the postings of a query's rarer words and looks the others up, with one that makes
// a trace and therefore scores everything that any word meets: the counts, the hits
// and their scores are the same to the last bit, for every filter, over a store that
// spans many segments and windows and has lost some of its documents.
func TestWhatCannotPassIsLeftOutAndNothingElse(t *testing.T) {
	docs := corpus(t, 5_000)
	r := rand.New(rand.NewPCG(11, 12))
	other := &memory.Root{ID: "other", Scope: memory.ScopeUser, Prefix: "user", Order: 1}
	for i, d := range docs {
		switch r.IntN(12) {
		case 0:
			d.Root, d.Ref = other, "user:"+d.Rel
		case 1:
			d.Status = memory.StatusSuperseded
		case 2:
			d.ExpiresAt = now.AddDate(0, 0, i%21-10)
		case 3:
			d.Type = memory.TypeReference
		}
	}
	in := recall.NewIndexer()
	var ix any
	for rest := docs; len(rest) > 0; {
		n := min(len(rest), 1+r.IntN(1_500))
		ix = in.Update(ix, nil, rest[:n])
		rest = rest[n:]
	}
	gone := docs[100:160]
	ix = in.Update(ix, gone, nil)
	filters := []func(*recall.Query){
		func(*recall.Query) {},
		func(q *recall.Query) { q.Inactive = true },
		func(q *recall.Query) { q.Scopes = []memory.Scope{memory.ScopeUser} },
		func(q *recall.Query) { q.Types = []string{memory.TypeReference} },
		func(q *recall.Query) { q.Loose, q.Prefix = true, true },
	}
	answered := 0
	for i := range 400 {
		f := strings.Fields(docs[r.IntN(len(docs))].BodyText())
		words := []string{"how do we handle"}
		for range 1 + r.IntN(7) {
			words = append(words, strings.TrimSuffix(f[r.IntN(len(f))], "."))
		}
		if i%3 == 0 {
			words = append(words, fmt.Sprintf("record%d", r.IntN(len(docs))))
		}
		query, filter := strings.Join(words, " "), filters[i%len(filters)]
		got := rank(t, ix.(*recall.Index), query, filter)
		want := rank(t, ix.(*recall.Index), query, filter, func(q *recall.Query) { q.Trace = true })
		if g, w := outcome(got), outcome(want); g != w {
			t.Fatalf("%q, filter %d:\n got %s\nwant %s", query, i%len(filters), g, w)
		}
		if len(got.Hits) > 0 {
			answered++
		}
		for _, h := range got.Hits {
			for _, d := range gone {
				if h.Doc == d {
					t.Fatalf("%q answers %s, which has gone", query, d.Ref)
				}
			}
		}
	}
	if answered < 200 {
		t.Fatalf("only %d queries were answered: the comparison says little", answered)
	}
}

func outcome(r *recall.Ranking) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:", r.Total)
	for _, h := range r.Hits {
		fmt.Fprintf(&b, " %s=%b", h.Doc.Ref, h.Score)
	}
	return b.String()
}

// TestManyMemoriesOfOneName ranks 50,000 memories that have one title, which every
// word of the query meets and nothing tells apart, and changes one of them.
func TestManyMemoriesOfOneName(t *testing.T) {
	root := &memory.Root{ID: "r", Scope: memory.ScopeProject, Prefix: "project"}
	parsed := memory.Parse([]byte("---\nname: Gateway timeout\ntype: project\n---\nThe gateway gives up.\n"))
	docs := make([]*memory.Document, 50_000)
	for i := range docs {
		d := *parsed
		d.Root, d.Rel = root, fmt.Sprintf("n%05d.md", i)
		d.Ref, d.ModTime = "project:"+d.Rel, now.Add(-time.Duration(i)*time.Second)
		docs[i] = &d
	}
	in := recall.NewIndexer()
	ix := in.Update(nil, nil, docs)
	search := func(q *recall.Query) { q.Loose = true }
	for range 3 {
		found := rank(t, ix.(*recall.Index), "gateway timeout", search)
		if found.Total != len(docs) || len(found.Hits) == 0 || found.Hits[0].Doc.Rel != "n00000.md" {
			t.Fatalf("a search found %d, first %v", found.Total, names(found))
		}
	}
	if r := rank(t, ix.(*recall.Index), "gateway timeout of which nobody knows"); len(r.Hits) > 0 {
		t.Errorf("a word that every memory has proves nothing, and yet %d hits", len(r.Hits))
	}
	d := *docs[7]
	d.ModTime = now.Add(time.Hour)
	ix = in.Update(ix, docs[7:8], []*memory.Document{&d})
	if got := rank(t, ix.(*recall.Index), "gateway timeout", search); got.Total != len(docs) || got.Hits[0].Doc != &d {
		t.Errorf("after a change: %d found, first %s", got.Total, got.Hits[0].Doc.Rel)
	}
}
