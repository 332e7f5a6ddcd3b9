package recall_test

import (
	"fmt"
	"os"
	"runtime"
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

// askedOf are queries of three kinds, in turn, that each ask about one of the
// documents: by words that all of it may share with others, by two of the title
// and a name that nothing else has, and by words that are mostly rare. They are
// found by what prompts consist of, and none is left out for being slow.
func askedOf(docs []*memory.Document, n int) []string {
	out := make([]string, 0, n)
	for i := range n {
		k := i * len(docs) / n
		d := docs[k]
		body := strings.Fields(strings.ReplaceAll(d.BodyText(), ".", ""))
		title := strings.Fields(d.Title)
		switch i % 3 {
		case 0:
			out = append(out, fmt.Sprintf("how do we handle %s %s when the %s of %s meets %s", body[0], body[17], body[40], body[77], body[120]))
		case 1:
			out = append(out, fmt.Sprintf("how do we handle %s and %s for record%d", title[0], title[1], k))
		case 2:
			slices.SortStableFunc(body, func(a, b string) int { return len(b) - len(a) })
			out = append(out, fmt.Sprintf("how do we handle %s %s when the %s of %s meets record%d", body[0], body[2], body[20], body[60], k))
		}
	}
	return out
}

// sizes are the stores that benchmarks rank over: those that take minutes to make
// only when they are asked for.
func sizes() []int {
	if os.Getenv("MEMLS_BENCH_LARGE") != "" {
		return []int{100, 1_000, 10_000, 100_000, 1_000_000}
	}
	return []int{100, 1_000, 10_000, 100_000}
}

// BenchmarkRank is the fast path in the process, and the space that it needs.
func BenchmarkRank(b *testing.B) {
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			empty := heap()
			docs := corpus(b, n)
			parsed := heap()
			began := time.Now()
			ix := build(docs)
			took := time.Since(began)
			indexed := heap()
			queries := askedOf(docs, 300)
			lat := make([]time.Duration, 0, 1<<16)
			answered := 0
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; b.Loop(); i++ {
				t := time.Now()
				r, err := ix.RankFast(b.Context(), recall.Query{Text: queries[i%len(queries)], Now: t})
				lat = append(lat, time.Since(t))
				if err != nil {
					b.Fatal(err)
				}
				if len(r.Hits) > 0 {
					answered++
				}
			}
			reportPercentiles(b, lat)
			b.ReportMetric(100*float64(answered)/float64(len(lat)), "answered-%")
			b.ReportMetric(float64(took.Microseconds())/float64(n), "build-µs/doc")
			b.ReportMetric((parsed-empty)/float64(n), "documents-B/doc")
			b.ReportMetric((indexed-parsed)/float64(n), "index-B/doc")
			runtime.KeepAlive(docs)
		})
	}
}

// heap is what is in use on the heap.
func heap() float64 {
	runtime.GC()
	runtime.GC() // what finalisers and pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
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
