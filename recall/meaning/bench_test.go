package meaning_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/meaning"
)

// random are vectors of a length, of random directions with something in common, as
// those of real models have.
func random(seed uint64, dim int) func() []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	return func() []float32 {
		v := make([]float32, dim)
		for i := range v {
			v[i] = float32(r.NormFloat64() + 0.6)
		}
		return v
	}
}

func filled(tb testing.TB, n, dim int) *meaning.Exact {
	tb.Helper()
	x, next := meaning.NewExact("m"), random(7, dim)
	one := document("project", "a", "project", "text")
	for i := range n {
		d := *one
		d.Ref = fmt.Sprintf("project:m%06d.md", i)
		if _, err := x.Add(&d, d.Body, next()); err != nil {
			tb.Fatal(err)
		}
	}
	return x
}

func BenchmarkNearest(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		for _, dim := range []int{384, 768, 1024} {
			b.Run(fmt.Sprintf("%dx%d", n, dim), func(b *testing.B) {
				x, next := filled(b, n, dim), random(9, dim)
				q := recall.Query{Now: now}
				m := q.Meaning()
				b.ReportMetric(float64(x.Bytes())/float64(n), "B/vector")
				for b.Loop() {
					_, err := x.Nearest(context.Background(), meaning.Search{Model: "m", Vector: next(), Visible: m.Visible, Floor: 0.6, Limit: 100})
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkHybrid is what meaning adds to a recall that has its query's vector: the
// search and the merging, over 10,000 memories.
func BenchmarkHybrid(b *testing.B) {
	const n, dim = 10_000, 768
	next := random(7, dim)
	docs := make([]*memory.Document, n)
	for i := range docs {
		docs[i] = document("project", fmt.Sprintf("m%05d", i), "project", fmt.Sprintf("kestrel %d and gull %d near the quay", i%97, i%89))
	}
	e := knowing(space())
	e.answer = func(texts []string) ([][]float32, error) {
		out := make([][]float32, len(texts))
		for i := range out {
			out[i] = next()
		}
		return out, nil
	}
	s := open(b, e, docs...).fill()
	ix := recall.NewIndexer().Update(nil, nil, docs).(*recall.Index)
	for i := 0; b.Loop(); i++ {
		q := recall.Query{Text: fmt.Sprintf("kestrel %d", i%64), Now: now}
		r, err := ix.Rank(context.Background(), q)
		if err != nil {
			b.Fatal(err)
		}
		r.With(s.Near(context.Background(), q.Meaning()))
	}
}

// Vectors in 8 bits keep their places: of the ten nearest by the vectors themselves nearly
// all are the ten nearest, and no cosine is off by as much as the documents say.
func TestEightBitsAreEnough(t *testing.T) {
	for _, dim := range []int{384, 1024} {
		const n = 2000
		x, next, asked := meaning.NewExact("m"), random(7, dim), random(9, dim)
		vectors := map[string][]float32{}
		one := document("project", "a", "project", "text")
		for i := range n {
			d := *one
			d.Ref = fmt.Sprintf("project:m%06d.md", i)
			vectors[d.Ref] = next()
			if _, err := x.Add(&d, d.Body, vectors[d.Ref]); err != nil {
				t.Fatal(err)
			}
		}
		q := recall.Query{Now: now}
		same, worst := 0, 0.0
		for range 20 {
			v := asked()
			hits := nearest(t, x, &q, v, -1, n)
			exact := make([]string, 0, n)
			cos := map[string]float64{}
			for ref, w := range vectors {
				cos[ref] = cosine(v, w)
				exact = append(exact, ref)
			}
			slices.SortFunc(exact, func(a, b string) int {
				if cos[a] > cos[b] {
					return -1
				}
				return 1
			})
			for i, h := range hits {
				worst = max(worst, math.Abs(h.Cosine-cos[h.Doc.Ref]))
				if i < 10 && slices.Contains(exact[:10], h.Doc.Ref) {
					same++
				}
			}
		}
		t.Logf("%d numbers: %d of 200 places, cosines off by at most %.5f", dim, same, worst)
		if same < 190 || worst > 0.005 {
			t.Errorf("%d numbers: %d of 200 places, cosines off by %.5f", dim, same, worst)
		}
	}
}
