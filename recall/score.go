package recall

import (
	"context"
	"math"
	"slices"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/text"
)

// stretch is where the variants of one term and view lie in the scratch space.
type stretch struct{ from, to int }

// scorer ranks one query over one index.
type scorer struct {
	ix       *Index
	p        Params
	q        *Query
	terms    []queryTerm
	sentence bool      // the query was not typed as keywords
	found    []stretch // by term, then view: found[t*len(views)+v]
	idf      []float64
	df       []int   // documents that an admitting variant of a term met
	clusters int     // terms that are three clusters
	total    float64 // the weight of the query's content terms
	// Inv: the statistics are those of the groups that the query may see, so that
	// nothing else shows in scores or decides at the gate.
	census  census
	hidden  []bitset           // by view: documents that have gone or that a filter leaves out,
	expired []bitset           // and those that have expired by their date
	seen    []int              // by term: see visibleDocs
	maxCue  float64            // what typeCue adds at most
	met     map[string]meeting // terms of documents -> how the query met them
	work    *scratch
	tok     text.Tokenizer // for the hits
	inquiry *inquiry       // nil unless a trace is made
	tables  *lengthTables
}

// meeting is how a term of the vocabulary was met.
type meeting struct {
	term  int // index of the query term
	match string
	share float32
	admit bool
}

// candidate is a document that passed the gate.
type candidate struct {
	doc   *memory.Document
	view  int
	id    uint32
	score float64
}

func newScorer(ix *Index, q *Query, p Params) *scorer {
	s := &scorer{ix: ix, p: p, q: q, met: map[string]meeting{}, work: ix.borrow()}
	s.terms, s.sentence = parseQuery(q.Text, q.Prefix)
	if !p.has(SignalCharacters) {
		s.terms = slices.DeleteFunc(s.terms, func(t queryTerm) bool { return t.kind == text.Unigram || t.kind == text.Cluster2 })
	}
	s.raise()
	s.found = make([]stretch, len(s.terms)*len(ix.views))
	s.work.variants = s.work.variants[:0]
	s.idf = make([]float64, len(s.terms))
	s.df = make([]int, len(s.terms))
	s.maxCue = s.mostCue()
	s.hidden, s.expired = make([]bitset, len(ix.views)), make([]bitset, len(ix.views))
	if len(q.Types)+len(q.Exclude) > 0 {
		s.show(visibility(q))
		return s
	}
	var everywhere bool
	s.census, everywhere = ix.census(q)
	for v := range ix.views {
		s.hidden[v], s.expired[v] = ix.views[v].unseen(q, everywhere)
	}
	return s
}

// raise sets what the terms count that only raise. Names keep what they were given.
func (s *scorer) raise() {
	for i := range s.terms {
		q := &s.terms[i]
		switch {
		case q.kind == text.Unigram:
			q.raise = float32(s.p.Unigram)
		case q.topic == text.Weak && (q.kind == text.Bigram || q.kind == text.Cluster3):
			q.raise = float32(s.p.Masked)
		case q.topic == text.Weak && q.kind != text.Cluster2:
			q.raise = float32(s.p.Weak)
		}
	}
}

// show looks at every document, for a query that is about few of them.
func (s *scorer) show(visible func(*memory.Document) bool) {
	for i := range s.ix.views {
		v := &s.ix.views[i]
		for j, d := range v.docs {
			switch id := uint32(j); {
			case v.dead.has(id):
			case visible(d):
				s.census = s.census.plus(v.census(id))
				continue
			}
			s.hidden[i].add(uint32(j))
		}
	}
}

// unseen are the documents that a query does not see: those that have gone, are
// called inactive, or lie where it may not look, and apart from them those that
// have expired by their date, which still count in how rare a word is.
func (v *view) unseen(q *Query, everywhere bool) (hidden, expired bitset) {
	hidden = v.dead
	if !q.Inactive {
		hidden = hidden.or(v.inactive)
		for _, id := range v.expiring {
			if d := v.docs[id]; !d.ActiveAt(q.Now) {
				expired.add(id)
			}
		}
	}
	if everywhere {
		return hidden, expired
	}
	from := uint32(0)
	hidden = slices.Clone(hidden)
	for _, r := range v.roots {
		if !q.reaches(r.root) {
			hidden.fill(from, r.end)
		}
		from = r.end
	}
	return hidden, expired
}

// close gives the scratch space back: nothing can be scored after it, but hits
// can still be made.
func (s *scorer) close() {
	s.ix.pool.Put(s.work)
	s.work, s.found = nil, nil
}

// run returns the candidates in rank order, at most want, and how many there are.
func (s *scorer) run(ctx context.Context, want int) ([]candidate, int, error) {
	s.tables = newLengthTables(s.census, &s.p)
	for t := range s.terms {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		s.gather(t)
	}
	top := topList{want: want}
	leading := s.leading()
	for v := range s.ix.views {
		if err := s.sweep(ctx, v, leading, &top); err != nil {
			return nil, 0, err
		}
	}
	return top.sorted(), top.total, nil
}

// rareShare is the share of the documents up to which a word is rare enough for
// its near spellings to tell something.
const rareShare = 0.005

// gather finds the documents of term t in every view and sets its idf.
func (s *scorer) gather(t int) {
	q := &s.terms[t]
	df := s.gatherVariants(t, false, true)
	n := float64(s.census.docs)
	if s.p.has(SignalSpellings) && q.word && !q.short && !q.digit && float64(df) <= max(3, rareShare*n) && len(s.terms) <= maxQueryTokens/2 {
		df = s.gatherVariants(t, true, df == 0)
	}
	d := float64(max(df, 1))
	s.idf[t] = math.Log(1 + (n-d+0.5)/(d+0.5))
	s.df[t] = df
	s.total += s.expected(t)
	if q.kind == text.Cluster3 {
		s.clusters++
	}
}

// gatherVariants finds the documents of one term and answers how many an
// admitting variant met. Near spellings are remembered as reasons only when they
// are all that was met: otherwise they are many and say little.
func (s *scorer) gatherVariants(t int, near, all bool) int {
	df, nv := 0, len(s.ix.views)
	if near && nv > 0 { // what was gathered without them is at the end and is gathered again
		s.work.variants = s.work.variants[:s.found[t*nv].from]
	}
	for v := range s.ix.views {
		view := &s.ix.views[v]
		from := len(s.work.variants)
		vs := view.expand(&s.terms[t], near, &s.p, s.work)
		s.note(t, view.segment, vs, all)
		df += s.count(v, vs, nil)
		s.found[t*nv+v] = stretch{from, len(s.work.variants)}
	}
	return df
}

// variantsOf are the variants of a term in a view, by their place in found.
func (s *scorer) variantsOf(i int) []variant { return s.work.variants[s.found[i].from:s.found[i].to] }

// note remembers how the terms of vs were met, for passages and reasons.
func (s *scorer) note(t int, seg *segment, vs []variant, all bool) {
	for _, v := range vs {
		if v.admits == 0 && !all {
			continue
		}
		name := seg.term(v.term)
		if m, ok := s.met[name]; ok && m.share >= v.share {
			continue
		}
		s.met[name] = meeting{t, v.match, v.share, v.admits > 0 && s.terms[t].topic == text.Content}
	}
}

// lengthTables hold, for one query, what BM25F (Zaragoza et al. 2004) needs of a
// posting: the weights of the fields of the head that its bits name, and by length
// code what an occurrence in the head and in the body counts.
type lengthTables struct {
	fields     [16]float32
	head, body [256]float32
}

func newLengthTables(c census, p *Params) *lengthTables {
	avgBody := max(1, float64(c.body)/max(1, float64(c.docs)))
	avgHead := max(1, float64(c.head)/max(1, float64(c.docs)))
	t := &lengthTables{}
	for bits := range t.fields {
		w := 0.0
		for i, f := range [...]float64{p.Title, p.Description, p.Keywords, p.Scenarios} {
			if bits&(1<<i) != 0 {
				w += f
			}
		}
		t.fields[bits] = float32(w)
	}
	for code := range t.head {
		n := codedLength(uint8(code))
		t.head[code] = float32(1 / (1 - p.HeadB + p.HeadB*n/avgHead))
		t.body[code] = float32(p.Body / (1 - p.B + p.B*n/avgBody))
	}
	return t
}

// lengthCode keeps a length in a byte: eighths of octaves, so that it is within
// 5 % of the truth, which length normalisation does not feel.
func lengthCode(n int) uint8 {
	return uint8(min(255, math.Round(8*math.Log2(float64(n+1)))))
}

func codedLength(c uint8) float64 { return codedLengths[c] }

// codedLengths are the lengths that codes stand for.
var codedLengths = func() (t [256]float64) {
	for c := range t {
		t[c] = math.Exp2(float64(c)/8) - 1
	}
	return t
}()

// visibility is the conjunction of a query's filters. It holds before ranking:
// what may not be seen influences neither counts nor order.
func visibility(q *Query) func(*memory.Document) bool {
	return func(d *memory.Document) bool { return filtered(q, d) == "" }
}
