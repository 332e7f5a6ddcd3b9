package recall_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/eval"
)

// corpus makes n memories of about 2 KB.
func corpus(tb testing.TB, n int) []*memory.Document {
	tb.Helper()
	root := &memory.Root{ID: "bench", Scope: memory.ScopeProject, Prefix: "project"}
	set := eval.Synthetic(n, 7)
	docs := make([]*memory.Document, n)
	for i := range docs {
		raw, err := set.Docs[i].Markdown()
		if err != nil {
			tb.Fatal(err)
		}
		d := memory.Parse(raw)
		d.Root, d.Rel = root, set.Docs[i].ID+".md"
		d.Ref = "project:" + d.Rel
		docs[i] = d
	}
	return docs
}

func build(docs []*memory.Document) *recall.Index {
	return recall.NewIndexer().Update(nil, nil, docs).(*recall.Index)
}

func BenchmarkRank(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		docs := corpus(b, n)
		ix := build(docs)
		var queries []string
		for i := range 64 {
			d := docs[i*len(docs)/64]
			f := strings.Fields(d.BodyText())
			slices.SortStableFunc(f, func(a, b string) int { return len(b) - len(a) })
			queries = append(queries, fmt.Sprintf("how do we handle %s %s when the %s of %s meets record%d", f[0], f[2], f[20], f[60], i*len(docs)/64))
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			lat := make([]time.Duration, 0, 1<<16)
			i := 0
			for b.Loop() {
				t := time.Now()
				r, err := ix.Rank(b.Context(), recall.Query{Text: queries[i%len(queries)], Now: t})
				if err != nil || len(r.Hits) == 0 {
					b.Fatalf("%v, %d hits for %q", err, len(r.Hits), queries[i%len(queries)])
				}
				lat = append(lat, time.Since(t))
				i++
			}
			reportPercentiles(b, lat)
		})
	}
}

func reportPercentiles(b *testing.B, lat []time.Duration) {
	slices.Sort(lat)
	b.ReportMetric(float64(lat[len(lat)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(lat[len(lat)*99/100].Microseconds()), "p99-µs")
}

func BenchmarkBuild(b *testing.B) {
	docs := corpus(b, 1_000)
	b.ReportAllocs()
	for b.Loop() {
		build(docs)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(docs)), "µs/doc")
}

// BenchmarkBodyOfMatches ranks bodies that are nothing but what is asked for: the
// time should grow with the body and no faster.
func BenchmarkBodyOfMatches(b *testing.B) {
	for _, n := range []int{2_000, 10_000} {
		ix := indexOf(b, note{name: "all", body: strings.Repeat("迁移", n)}, note{name: "x", body: "other"})
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if got := ask(b, ix, "迁移"); len(got) != 1 {
					b.Fatal(got)
				}
			}
		})
	}
}

func BenchmarkUpdateOne(b *testing.B) {
	docs := corpus(b, 10_000)
	fresh := corpus(b, 10_001)[10_000:]
	in := recall.NewIndexer()
	ix := in.Update(nil, nil, docs)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		old := docs[i%len(docs)]
		c := *fresh[0]
		ix = in.Update(ix, []*memory.Document{old}, []*memory.Document{&c})
		docs[i%len(docs)] = &c
	}
}
