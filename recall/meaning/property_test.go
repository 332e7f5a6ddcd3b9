package meaning_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/meaning"
)

// now is when every query of these tests is asked.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// item is one memory of a generated store with its vector.
type item struct {
	doc    *memory.Document
	vector []float32
}

var scopes = []memory.Scope{memory.ScopeProject, memory.ScopeUser, memory.ScopeTeam}

func rootOf(scope memory.Scope) *memory.Root {
	return &memory.Root{ID: fmt.Sprintf("%08x", 0xa0+slices.Index(scopes, scope)), Scope: scope, Prefix: string(scope), Order: slices.Index(scopes, scope)}
}

var roots = map[memory.Scope]*memory.Root{memory.ScopeProject: rootOf("project"), memory.ScopeUser: rootOf("user"), memory.ScopeTeam: rootOf("team")}

// document is a memory whose words nothing asks for unless the test does.
func document(scope memory.Scope, name, kind, body string, edit ...func(*memory.Document)) *memory.Document {
	d := memory.Parse([]byte(fmt.Sprintf("---\nname: %s\ntype: %s\n---\n%s\n", name, kind, body)))
	d.Root, d.Rel = roots[scope], name+".md"
	d.Ref = string(scope) + ":" + d.Rel
	d.ModTime = now.AddDate(0, 0, -1)
	for _, e := range edit {
		e(d)
	}
	return d
}

// angle is a unit vector in the plane; those of few angles make equals likely.
func angle(degrees float64) []float32 {
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	return []float32{float32(cos), float32(sin)}
}

// items draws a store: every scope, type and state, and many equal vectors.
func items(t *rapid.T, most int) []item {
	n := rapid.IntRange(0, most).Draw(t, "n")
	out := make([]item, n)
	for i := range out {
		scope := rapid.SampledFrom(scopes).Draw(t, "scope")
		kind := rapid.SampledFrom([]string{"user", "project", "reference"}).Draw(t, "type")
		state := rapid.SampledFrom([]string{"active", "active", "active", "superseded", "expired", "past", "at this moment", "tomorrow"}).Draw(t, "state")
		out[i] = item{document(scope, fmt.Sprintf("m%03d", i), kind, "text", func(d *memory.Document) {
			switch state {
			case "superseded":
				d.Status = memory.StatusSuperseded
			case "expired":
				d.Status = memory.StatusExpired
			case "past":
				d.ExpiresAt = now.Add(-time.Hour)
			case "at this moment":
				d.ExpiresAt = now
			case "tomorrow":
				d.ExpiresAt = now.Add(24 * time.Hour)
			}
		}), angle(float64(rapid.IntRange(0, 18).Draw(t, "angle")) * 10)}
	}
	return out
}

func indexed(t rapid.TB, list []item) *meaning.Exact {
	x := meaning.NewExact("m")
	for _, it := range list {
		if _, err := x.Add(it.doc, it.doc.Body, it.vector); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// query draws the filters of a query.
func query(t *rapid.T) recall.Query {
	q := recall.Query{Now: now, Text: "something"}
	q.Scopes = rapid.SliceOfNDistinct(rapid.SampledFrom(scopes), 0, 3, rapid.ID[memory.Scope]).Draw(t, "scopes")
	if rapid.Bool().Draw(t, "typed") {
		q.Types = []string{rapid.SampledFrom([]string{"user", "project", "reference"}).Draw(t, "type")}
	}
	if rapid.Bool().Draw(t, "excluding") {
		q.Exclude = map[string]bool{"project:m000.md": true, "user:m001.md": true, "team:m002.md": true}
	}
	return q
}

// admits says what a filter of the query means, in words of its own.
func admits(q *recall.Query, d *memory.Document) bool {
	if d.Status != memory.StatusActive || !d.ExpiresAt.IsZero() && !d.ExpiresAt.After(q.Now) || q.Exclude[d.Ref] {
		return false
	}
	return (len(q.Scopes) == 0 || slices.Contains(q.Scopes, d.Root.Scope)) && (len(q.Types) == 0 || slices.Contains(q.Types, d.Type))
}

func nearest(t rapid.TB, x meaning.Index, q *recall.Query, v []float32, floor float64, limit int) []meaning.Hit {
	m := q.Meaning()
	hits, err := x.Nearest(context.Background(), meaning.Search{Model: "m", Vector: v, Visible: m.Visible, Floor: floor, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

func refsOf(hits []meaning.Hit) []string {
	out := []string{}
	for _, h := range hits {
		out = append(out, h.Doc.Ref)
	}
	return out
}

// P1, P10, P11, P12: what a query may not see is as if it were not there, whatever the
// limit: the answer is that of a store which never had it.
func TestHiddenVectorsAreNotThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, q := items(t, 40), query(t)
		v := angle(float64(rapid.IntRange(0, 18).Draw(t, "asked")) * 10)
		limit := rapid.IntRange(1, 6).Draw(t, "limit")
		var visible []item
		for _, it := range list {
			if admits(&q, it.doc) {
				visible = append(visible, it)
			}
		}
		all := recall.Query{Now: now}
		got, want := nearest(t, indexed(t, list), &q, v, 0.3, limit), nearest(t, indexed(t, visible), &all, v, 0.3, limit)
		if !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// P1, the case that ranking before filtering fails.
func TestForeignNeighboursDoNotUseUpTheLimit(t *testing.T) {
	var list []item
	for i := range 25 {
		list = append(list, item{document(memory.ScopeTeam, fmt.Sprintf("other%02d", i), "project", "text"), angle(0)})
	}
	list = append(list, item{document(memory.ScopeProject, "own", "project", "text"), angle(25)})
	q := recall.Query{Now: now, Scopes: []memory.Scope{memory.ScopeProject}}
	if got := refsOf(nearest(t, indexed(t, list), &q, angle(0), 0.5, 20)); !slices.Equal(got, []string{"project:own.md"}) {
		t.Errorf("got %v", got)
	}
	// P11: of types likewise.
	list = list[:0]
	for i := range 30 {
		list = append(list, item{document(memory.ScopeProject, fmt.Sprintf("p%02d", i), "user", "text"), angle(0)})
	}
	list = append(list, item{document(memory.ScopeProject, "fact", "project", "text"), angle(25)})
	q = recall.Query{Now: now, Types: []string{"project"}}
	if got := refsOf(nearest(t, indexed(t, list), &q, angle(0), 0.5, 20)); !slices.Equal(got, []string{"project:fact.md"}) {
		t.Errorf("got %v", got)
	}
}

// P2: the nearest is found however old it is, however many are newer, and wherever in
// the store it stands.
func TestNoWindow(t *testing.T) {
	var others []item
	for i := range 1200 { // more than one piece of memory holds
		others = append(others, item{document(memory.ScopeProject, fmt.Sprintf("m%04d", i), "project", "text"), angle(90)})
	}
	for _, at := range []int{0, 1199} {
		list := slices.Clone(others)
		list[at] = item{document(memory.ScopeProject, "target", "project", "text", func(d *memory.Document) { d.ModTime = now.AddDate(-9, 0, 0) }), angle(11)}
		q := recall.Query{Now: now}
		if got := refsOf(nearest(t, indexed(t, list), &q, angle(0), 0.5, 1)); !slices.Equal(got, []string{"project:target.md"}) {
			t.Errorf("at %d: %v", at, got)
		}
	}
}

// P3: what is below the floor is no hit, what is exactly at it is one, and any number
// of documents below it changes nothing.
func TestFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := items(t, 30)
		q := recall.Query{Now: now}
		v := angle(float64(rapid.IntRange(0, 18).Draw(t, "asked")) * 10)
		all := nearest(t, indexed(t, list), &q, v, -1, 1000)
		if len(all) == 0 {
			return
		}
		floor := rapid.SampledFrom(all).Draw(t, "floor").Cosine
		want := []string{}
		for _, h := range all {
			if h.Cosine >= floor {
				want = append(want, h.Doc.Ref)
			}
		}
		got := nearest(t, indexed(t, list), &q, v, floor, 1000)
		if !slices.Equal(refsOf(got), want) {
			t.Fatalf("floor %v: got %v, want %v", floor, refsOf(got), want)
		}
		more := slices.Clone(list)
		for i := range rapid.IntRange(1, 50).Draw(t, "more") {
			far := item{document(memory.ScopeProject, fmt.Sprintf("far%02d", i), "project", "text"), []float32{-v[0], -v[1]}}
			more = append(more, far)
		}
		if floor > -0.99 {
			if again := nearest(t, indexed(t, more), &q, v, floor, 1000); !reflect.DeepEqual(got, again) {
				t.Fatalf("with others below the floor: %v, want %v", again, got)
			}
		}
	})
}

// P8: never more than the limit; none asked for is none.
func TestLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := items(t, 30)
		q := recall.Query{Now: now}
		limit := rapid.IntRange(-1, 10).Draw(t, "limit")
		all := nearest(t, indexed(t, list), &q, angle(0), -1, 1000)
		got := nearest(t, indexed(t, list), &q, angle(0), -1, limit)
		if want := all[:min(len(all), max(0, limit))]; !slices.Equal(refsOf(got), refsOf(want)) {
			t.Fatalf("limit %d: %v of %v", limit, refsOf(got), refsOf(all))
		}
	})
}

// P9: vectors of another model, or of another length, are never compared.
func TestOtherModels(t *testing.T) {
	x := indexed(t, []item{{document(memory.ScopeProject, "a", "project", "text"), angle(0)}})
	hits, err := x.Nearest(t.Context(), meaning.Search{Model: "other", Vector: angle(0), Floor: -1, Limit: 5})
	if err != nil || len(hits) != 0 {
		t.Errorf("another model: %v %v", hits, err)
	}
	for _, v := range [][]float32{{1}, {1, 0, 0}} {
		hits, err = x.Nearest(t.Context(), meaning.Search{Model: "m", Vector: v, Floor: -1, Limit: 5})
		if err == nil || len(hits) != 0 {
			t.Errorf("another length: %v %v", hits, err)
		}
	}
	if _, err := x.Add(document(memory.ScopeProject, "b", "project", "text"), memory.Span{}, []float32{1, 0, 0}); err == nil {
		t.Error("a vector of another length was taken")
	}
}

// E1: the parallel search over 8-bit numbers answers what reckoning with the vectors
// themselves, one after the other, does: nothing is out of order by more than the
// rounding, equals stand by their refs, and a document stands there once, by its
// nearest passage.
func TestExactSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const dim = 24
		number := rapid.Float32Range(-1, 1)
		draw := func(name string) []float32 {
			v := rapid.SliceOfN(number, dim, dim).Draw(t, name)
			v[0] += 1.5
			return v
		}
		x := meaning.NewExact("m")
		best := map[string]float64{}
		asked := draw("asked")
		for i := range rapid.IntRange(1, 60).Draw(t, "documents") {
			d := document(memory.ScopeProject, fmt.Sprintf("m%03d", i), "project", "text")
			for j := range rapid.IntRange(1, 3).Draw(t, "passages") {
				v := draw("vector")
				if _, err := x.Add(d, memory.Span{Start: j, End: j + 1}, v); err != nil {
					t.Fatal(err)
				}
				if c, ok := best[d.Ref]; !ok || cosine(asked, v) > c {
					best[d.Ref] = cosine(asked, v)
				}
			}
		}
		q := recall.Query{Now: now}
		hits := nearest(t, x, &q, asked, -1, 1000)
		if len(hits) != len(best) {
			t.Fatalf("%d hits of %d documents", len(hits), len(best))
		}
		limit := rapid.IntRange(1, 8).Draw(t, "limit")
		if first := nearest(t, x, &q, asked, -1, limit); !reflect.DeepEqual(first, hits[:min(len(hits), limit)]) {
			t.Fatalf("the first %d: %v of %v", limit, first, hits)
		}
		for i, h := range hits {
			if math.Abs(h.Cosine-best[h.Doc.Ref]) > 0.01 {
				t.Fatalf("%s: %v, by the vectors themselves %v", h.Doc.Ref, h.Cosine, best[h.Doc.Ref])
			}
			if i > 0 && (h.Cosine > hits[i-1].Cosine || h.Cosine == hits[i-1].Cosine && h.Doc.Ref < hits[i-1].Doc.Ref) {
				t.Fatalf("out of order: %v before %v", hits[i-1], h)
			}
		}
	})
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab, aa, bb = ab+float64(a[i])*float64(b[i]), aa+float64(a[i])*float64(a[i]), bb+float64(b[i])*float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

// E7: the order in which vectors came does not matter, nor that others came and went.
func TestOrderOfInsertionDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := items(t, 40)
		q := recall.Query{Now: now}
		want := nearest(t, indexed(t, list), &q, angle(20), -1, 10)
		shuffled := rapid.Permutation(list).Draw(t, "order")
		x := meaning.NewExact("m")
		for i, it := range shuffled {
			row, err := x.Add(document(memory.ScopeUser, fmt.Sprintf("gone%d", i), "user", "text"), memory.Span{}, angle(20))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := x.Add(it.doc, it.doc.Body, it.vector); err != nil {
				t.Fatal(err)
			}
			x.Remove(row)
		}
		if n, _ := x.Len(); n != len(list) {
			t.Fatalf("%d vectors of %d", n, len(list))
		}
		if got := nearest(t, x, &q, angle(20), -1, 10); !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// ranked is what words say of a query over documents.
func ranked(t rapid.TB, docs []*memory.Document, q recall.Query) *recall.Ranking {
	ix := recall.NewIndexer().Update(nil, nil, docs).(*recall.Index)
	r, err := ix.Rank(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fusion draws documents, some of which words find and some of which are near.
func fusion(t *rapid.T) (docs []*memory.Document, near []recall.Near, q recall.Query) {
	n := rapid.IntRange(1, 30).Draw(t, "n")
	for i := range n {
		body := "other things"
		if rapid.Bool().Draw(t, "by words") {
			body = strings.Repeat("kestrel ", rapid.IntRange(1, 40).Draw(t, "times")) + "bird"
		}
		docs = append(docs, document(memory.ScopeProject, fmt.Sprintf("m%02d", i), "project", body))
	}
	// Unrelated memories, so that the word is rare enough to mean something.
	for i := range 60 {
		docs = append(docs, document(memory.ScopeProject, fmt.Sprintf("z%02d", i), "project", "nothing of it"))
	}
	for _, i := range rapid.Permutation(seq(n)).Draw(t, "near")[:rapid.IntRange(0, n).Draw(t, "how many near")] {
		near = append(near, recall.Near{Doc: docs[i], Passage: docs[i].Body, Cosine: 0.9 - 0.01*float64(len(near))})
	}
	q = recall.Query{Text: "kestrel", Now: now, Trace: true, Limit: 5}
	return docs, near, q
}

func seq(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func traced(r *recall.Ranking) (order []string) {
	for _, c := range r.Trace.Candidates {
		if c.Rank >= 0 {
			order = append(order, c.Doc.Ref)
		}
	}
	return order
}

// P4, P5, P6: the fused order is exactly what either list has, once each; by the sum of
// reciprocal ranks, and where sums are equal words go first; it depends on ranks alone.
func TestFusion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs, near, q := fusion(t)
		r := ranked(t, docs, q)
		words := traced(r)
		var meant []string
		for _, n := range near {
			meant = append(meant, n.Doc.Ref)
		}
		sum := map[string]float64{}
		var want []string
		for _, list := range [][]string{words, meant} {
			for rank, ref := range list {
				if _, ok := sum[ref]; !ok {
					want = append(want, ref)
				}
				sum[ref] += 1 / float64(60+rank)
			}
		}
		slices.SortStableFunc(want, func(a, b string) int {
			switch {
			case sum[a] > sum[b]:
				return -1
			case sum[a] < sum[b]:
				return 1
			}
			return 0
		})
		got := r.With(recall.Nearness{Near: near, Floor: 0.5})
		if !slices.Equal(traced(got), want) {
			t.Fatalf("words %v, near %v: fused %v, want %v", words, meant, traced(got), want)
		}
		if got.Total != len(want) {
			t.Fatalf("total %d of %d", got.Total, len(want))
		}
		var hits []string
		for _, h := range got.Hits {
			hits = append(hits, h.Doc.Ref)
		}
		if !slices.Equal(hits, want[:min(len(want), 5)]) {
			t.Fatalf("hits %v of %v", hits, want)
		}
		other := slices.Clone(near)
		for i := range other {
			other[i].Cosine = other[i].Cosine * other[i].Cosine * other[i].Cosine
		}
		if again := r.With(recall.Nearness{Near: other, Floor: 0.5}); !slices.Equal(traced(again), want) {
			t.Fatalf("with other cosines of the same ranks: %v, want %v", traced(again), want)
		}
	})
}

// P7: merging changes neither the ranking that it is given, nor what is near, not even
// behind the ends of their lists.
func TestFusionChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs, near, q := fusion(t)
		r := ranked(t, docs, q)
		r.Hits = append(make([]recall.Hit, 0, 16), r.Hits...)
		near = append(make([]recall.Near, 0, 32), near...)
		for i := range r.Hits {
			r.Hits[i].Why = append(make([]recall.Why, 0, 16), r.Hits[i].Why...)
		}
		behind := func() string {
			var b strings.Builder
			for _, h := range r.Hits[:cap(r.Hits)] {
				ref := ""
				if h.Doc != nil {
					ref = h.Doc.Ref
				}
				fmt.Fprintln(&b, ref, h.Score, h.State, h.Passage, h.Why[:cap(h.Why)])
			}
			for _, n := range near[:cap(near)] {
				if n.Doc != nil {
					fmt.Fprintln(&b, n.Doc.Ref, n.Passage, n.Cosine)
				}
			}
			fmt.Fprintln(&b, traced(r), r.Total, r.Held)
			return b.String()
		}
		before := behind()
		r.With(recall.Nearness{Near: near, Floor: 0.5})
		if after := behind(); after != before {
			t.Fatalf("before:\n%s\nafter:\n%s", before, after)
		}
	})
}

// P6: with nothing near the ranking is that of words.
func TestNothingNearChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs, _, q := fusion(t)
		r := ranked(t, docs, q)
		if got := r.With(recall.Nearness{Floor: 0.5, Degraded: &recall.Degraded{Reason: recall.DegradedEmbedding}}); got != r {
			t.Fatalf("another ranking: %v", traced(got))
		}
	})
}

// P8: a hit that the prompt has no room for is passed over, and later ones are not;
// what is reported is what is rendered (E4).
func TestRenderingSkipsAndDoesNotStop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var hits []recall.Hit
		for i := range rapid.IntRange(1, 12).Draw(t, "n") {
			d := document(memory.ScopeProject, fmt.Sprintf("m%02d", i), "project", strings.Repeat("x\n", rapid.SampledFrom([]int{5, 100, 600, 1199}).Draw(t, "length")))
			hits = append(hits, recall.Hit{Doc: d, Passage: d.Body})
		}
		b, err := recall.Render(hits, now)
		if err != nil {
			t.Fatal(err)
		}
		if n := len([]rune(b.Text)); n > recall.RenderBudget || len(b.Hits)+b.Left != len(hits) {
			t.Fatalf("%d characters, %d and %d of %d", n, len(b.Hits), b.Left, len(hits))
		}
		in := map[string]bool{}
		for _, h := range b.Hits {
			in[h.Doc.Ref] = true
		}
		used := len([]rune(b.Text))
		for _, h := range hits {
			if strings.Contains(b.Text, "### "+h.Doc.Title+" ") != in[h.Doc.Ref] {
				t.Fatalf("%s: reported %v", h.Doc.Ref, in[h.Doc.Ref])
			}
			// One that was left out would not have fitted beside the others.
			if alone, err := recall.Render([]recall.Hit{h}, now); err != nil || !in[h.Doc.Ref] && used+len([]rune(alone.Text))-frame(t) <= recall.RenderBudget {
				t.Fatalf("%s would have fitted", h.Doc.Ref)
			}
		}
	})
}

// frame is what a block has of its own, about: the least of what rendering two hits
// together saves.
func frame(t *rapid.T) int {
	a := document(memory.ScopeProject, "a", "project", "x")
	one, err := recall.Render([]recall.Hit{{Doc: a, Passage: a.Body}}, now)
	if err != nil {
		t.Fatal(err)
	}
	two, err := recall.Render([]recall.Hit{{Doc: a, Passage: a.Body}, {Doc: a, Passage: a.Body}}, now)
	if err != nil {
		t.Fatal(err)
	}
	return 2*len([]rune(one.Text)) - len([]rune(two.Text))
}
