package recall_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// corpus makes n memories of about 2 KB from a vocabulary whose words are as
// unevenly common as those of prose (Zipf), each with a few words of its own.
func corpus(n int) []*memory.Document {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	zipf := rand.NewZipf(r, 1.1, 4, 30_000)
	// Syllables of 14 onsets, 6 vowels and 9 codas give words whose letters follow
	// each other about as variedly as those of a language.
	word := func() string {
		var b strings.Builder
		for k := zipf.Uint64() + 40; k > 0; k /= 756 {
			b.WriteString(onsets[k%14])
			b.WriteByte("aeiouy"[k/14%6])
			b.WriteString(codas[k/84%9])
		}
		return b.String()
	}
	root := &memory.Root{ID: "bench", Scope: memory.ScopeProject, Prefix: "project"}
	docs := make([]*memory.Document, n)
	for i := range docs {
		var b strings.Builder
		fmt.Fprintf(&b, "---\nname: %s %s topic%d\ndescription: %s %s %s %s\ntype: project\n---\n", word(), word(), i, word(), word(), word(), word())
		for j := range 280 {
			b.WriteString(word())
			if j%12 == 11 {
				b.WriteString(".\n")
			} else {
				b.WriteByte(' ')
			}
		}
		d := memory.Parse([]byte(b.String()))
		d.Root, d.Rel = root, fmt.Sprintf("m%d.md", i)
		d.Ref = "project:" + d.Rel
		docs[i] = d
	}
	return docs
}

var (
	onsets = strings.Fields("b d f g k l m n p r s t v st")
	codas  = []string{"", "n", "r", "s", "l", "t", "nd", "ck", "m"}
)

func build(docs []*memory.Document) *recall.Index {
	return recall.NewIndexer().Update(nil, nil, docs).(*recall.Index)
}

func BenchmarkRank(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		docs := corpus(n)
		ix := build(docs)
		var queries []string
		for i := range 64 {
			d := docs[i*len(docs)/64]
			f := strings.Fields(d.BodyText())
			slices.SortStableFunc(f, func(a, b string) int { return len(b) - len(a) })
			queries = append(queries, fmt.Sprintf("how do we handle %s %s when the %s of %s meets topic%d", f[0], f[2], f[20], f[60], i*len(docs)/64))
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
	docs := corpus(1_000)
	b.ReportAllocs()
	for b.Loop() {
		build(docs)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(docs)), "µs/doc")
}

func BenchmarkUpdateOne(b *testing.B) {
	docs := corpus(10_000)
	fresh := corpus(10_001)[10_000:]
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
