package eval

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/memls/memls/recall"
)

// Variant is one configuration of our own scorer.
type Variant struct {
	Name   string
	About  string // what differs from the scorer in use
	Params recall.Params
}

// Comparison is how variants of the scorer do on the cases of one set.
type Comparison struct {
	Set       string          `json:"set"`
	Documents int             `json:"documents"`
	Cases     int             `json:"cases"`
	Search    bool            `json:"search"` // ranked as a search does, without the gate's share
	Variants  []VariantReport `json:"variants"`
}

// VariantReport is how one variant did, and how far from the first one, which is
// the scorer in use.
type VariantReport struct {
	RankerReport
	About       string       `json:"about"`
	Differences []Difference `json:"differences"` // from the first variant; of that one none
}

// Compare puts the cases of a set to every variant. The first is what the others
// are measured against. It uses all processors.
func Compare(ctx context.Context, set *Set, search bool, variants []Variant) (*Comparison, error) {
	c := &Comparison{Set: set.Name, Documents: len(set.Docs), Cases: len(set.Cases), Search: search}
	pools := map[string]*memlsRanker{}
	for i := range set.Cases {
		scope := set.Cases[i].Scope
		if pools[scope] == nil {
			pools[scope] = newMemlsRanker(set.Pool(scope), recall.DefaultParams())
		}
	}
	for _, v := range variants {
		answers, err := putAll(ctx, set, pools, search, v.Params)
		if err != nil {
			return nil, fmt.Errorf("evaluate %s: variant %q: %w", set.Name, v.Name, err)
		}
		r := VariantReport{RankerReport: summarise(set, v.Name, answers), About: v.About, Differences: []Difference{}}
		if len(c.Variants) > 0 {
			r.Differences = compare(&r.RankerReport, &c.Variants[0].RankerReport)
		}
		c.Variants = append(c.Variants, r)
	}
	return c, nil
}

// putAll asks one variant all cases, on as many goroutines as there are processors:
// the index is safe for that.
func putAll(ctx context.Context, set *Set, pools map[string]*memlsRanker, search bool, p recall.Params) ([]Answer, error) {
	answers := make([]Answer, len(set.Cases))
	workers := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(set.Cases) && ctx.Err() == nil; i += workers {
				c := &set.Cases[i]
				m := *pools[c.Scope]
				m.search, m.params = search, p
				ranked := m.Rank(c.Query, Depth)
				answers[i] = answerTo(c, append([]string{}, ranked...), Measure(c, ranked))
			}
		})
	}
	wg.Wait()
	return answers, ctx.Err()
}

// WriteComparisons writes comparisons of the same variants as a person reads them:
// a table for every set and, when there are several, one that has the sets side by
// side.
func WriteComparisons(w io.Writer, cs []*Comparison) error {
	var b strings.Builder
	for i, c := range cs {
		if i > 0 {
			b.WriteByte('\n')
		}
		c.write(&b)
	}
	if len(cs) > 1 {
		overview(cs).write(&b)
	}
	if len(cs) > 0 {
		b.WriteByte('\n')
		for _, v := range cs[0].Variants {
			fmt.Fprintf(&b, "%s: %s\n", v.Name, v.About)
		}
		b.WriteString(comparisonLegend)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

const comparisonLegend = `
Figures in percent, differences in points from the first row; in brackets where 95 % of resampled
sets lie: a span that holds 0 is no difference that this set can show.
`

func (c *Comparison) write(b *strings.Builder) {
	mode := "as recall ranks"
	if c.Search {
		mode = "as search ranks"
	}
	s := &c.Variants[0].Overall
	fmt.Fprintf(b, "%s: %d documents, %d cases (%d answerable, %d not), %s\n", c.Set, c.Documents, c.Cases, s.Answerable, s.Unanswerable, mode)
	t := table{header: []string{"scorer", "Recall@5", "", "nDCG@5", "", "quiet-R"}}
	for i := range c.Variants {
		v := &c.Variants[i]
		row := []string{v.Name, v.Overall.Recall5.String(), "", v.Overall.NDCG5.String(), "", v.Overall.NoResultRecall.String()}
		for _, d := range v.Differences {
			at := 2
			if d.Metric == "ndcg5" {
				at = 4
			}
			if d.Mean.Known() {
				row[at] = fmt.Sprintf("%s [%s, %s]", signed(d.Mean), signed(d.Low), signed(d.High))
			}
		}
		t.rows = append(t.rows, row)
	}
	t.write(b)
}

// overview has one row a variant and one column a set: the figures of the first
// variant, then what each other one adds to its Recall@5 and nDCG@5.
func overview(cs []*Comparison) *table {
	t := &table{header: []string{"Recall@5 / nDCG@5"}}
	for _, c := range cs {
		t.header = append(t.header, c.Set)
	}
	for i := range cs[0].Variants {
		row := []string{cs[0].Variants[i].Name}
		for _, c := range cs {
			v := &c.Variants[i]
			r, n := v.Overall.Recall5, v.Overall.NDCG5
			if i == 0 {
				row = append(row, r.String()+" / "+n.String())
				continue
			}
			first := &c.Variants[0].Overall
			row = append(row, signed(r-first.Recall5)+" / "+signed(n-first.NDCG5))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// Part answers the set with the k-th of n parts of its cases, k from 1, chosen by a
// hash of their ids: constants are chosen on one part and judged on another.
func (s *Set) Part(k, n int) *Set {
	part := &Set{Name: fmt.Sprintf("%s %d/%d", s.Name, k, n), Docs: s.Docs}
	for i := range s.Cases {
		if partOf(s.Cases[i].ID, n) == k {
			part.Cases = append(part.Cases, s.Cases[i])
		}
	}
	return part
}

// partOf hashes an id with FNV-1a, mixed so that ids that differ in their last
// digit spread.
func partOf(id string, n int) int {
	h := uint64(0xcbf29ce484222325)
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * 0x100000001b3
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	return 1 + int(h%uint64(n))
}

// Choose answers the first of variants and those of the given names, in the order
// of variants.
func Choose(variants []Variant, names []string) ([]Variant, error) {
	out := slices.Clone(variants[:1])
	for _, name := range names {
		if !slices.ContainsFunc(variants, func(v Variant) bool { return v.Name == name }) {
			var known []string
			for _, v := range variants[1:] {
				known = append(known, v.Name)
			}
			return nil, fmt.Errorf("there is no scorer %q; known are %s", name, strings.Join(known, ", "))
		}
	}
	for _, v := range variants[1:] {
		if slices.Contains(names, v.Name) {
			out = append(out, v)
		}
	}
	return out, nil
}
