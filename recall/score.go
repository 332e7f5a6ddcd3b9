package recall

import (
	"context"
	"math"
	"slices"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/text"
)

// entry is what one query term found in one document.
type entry struct {
	doc    uint32
	weight float32 // weighted, length-normalised occurrences
	admits float32 // how far it counts as evidence, 0 for near spellings
	named  bool    // met in title, keywords or scenarios
	head   bool    // met in any field of the head
	exact  bool    // met as it is written, accents and case apart
}

// stretch is where the entries of one term and view lie in the scratch space.
type stretch struct{ from, to int }

// sum is what all query terms found in one document.
type sum struct {
	score    float32
	evidence float32
	terms    uint8 // content terms met that count as evidence,
	grams    uint8 // those of them that are three clusters
	named    bool
	seen     bool
	head     bool  // a term stands in a field of the head
	exact    bool  // a term stands there as it is written
	term     uint8 // the last term met; of a query's at most 64
}

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
	visible  func(*memory.Document) bool
	// Inv: the statistics are those of the groups that the query may see, so that
	// nothing else shows in scores or decides at the gate.
	census     census
	shown      []bitset     // by view, for a query whose filters no group knows of
	everywhere bool         // the query may look into all roots
	root       *memory.Root // the last root asked about, and whether it may look there
	reached    bool
	seen       []int              // by term: see visibleDocs
	met        map[string]meeting // terms of documents -> how the query met them
	order      []uint32           // scratch: documents touched
	work       *scratch
	tok        text.Tokenizer // for the hits
	inquiry    *inquiry       // nil unless a trace is made
	tables     *lengthTables
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
	s.found = make([]stretch, len(s.terms)*len(ix.views))
	s.work.entries = s.work.entries[:0]
	s.idf = make([]float64, len(s.terms))
	s.df = make([]int, len(s.terms))
	s.visible = visibility(q)
	if len(q.Types)+len(q.Exclude) > 0 {
		s.show()
	} else {
		s.census, s.everywhere = ix.census(q)
	}
	return s
}

// show looks at every document, for a query that is about few of them.
func (s *scorer) show() {
	s.shown = make([]bitset, len(s.ix.views))
	for i := range s.ix.views {
		v := &s.ix.views[i]
		for j, d := range v.docs {
			if id := uint32(j); !v.dead.has(id) && s.visible(d) {
				s.shown[i].add(id)
				s.census = s.census.plus(v.census(id))
			}
		}
	}
}

// sees tells whether the query may see a document of a view, as far as its group
// decides. Documents of one root stand together, so that a root is mostly the one
// that was asked about before.
func (s *scorer) sees(v int, id uint32) bool {
	view := &s.ix.views[v]
	switch {
	case s.shown != nil:
		return s.shown[v].has(id)
	case !s.q.Inactive && view.inactive.has(id):
		return false
	case s.everywhere:
		return true
	}
	if root := view.docs[id].Root; root != s.root {
		s.root, s.reached = root, s.q.reaches(root)
	}
	return s.reached
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
	s.weigh()
	top := topList{want: want}
	for v := range s.ix.views {
		s.collect(v, &top)
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
	if s.p.has(SignalSpellings) && q.word && !q.short && float64(df) <= max(3, rareShare*n) && len(s.terms) <= maxQueryTokens/2 {
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
	df := 0
	if near && len(s.ix.views) > 0 { // what was gathered without them is at the end and is gathered again
		s.work.entries = s.work.entries[:s.found[t*len(s.ix.views)].from]
	}
	for v := range s.ix.views {
		view := &s.ix.views[v]
		vs := view.expand(&s.terms[t], near, &s.p, s.work)
		s.note(t, view.segment, vs, all)
		from := len(s.work.entries)
		df += s.merge(v, vs)
		s.found[t*len(s.ix.views)+v] = stretch{from, len(s.work.entries)}
	}
	return df
}

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

// merge adds up the postings of variants by document: the living documents and
// how many of them an admitting variant met. Inv: the variants of a document are
// added in the order of their terms, so that a sum does not depend on how the
// documents are spread over segments.
func (s *scorer) merge(at int, vs []variant) int {
	v := &s.ix.views[at]
	from := len(s.work.entries)
	es := s.work.entries
	slots, tab := s.work.places(len(v.docs)), s.tables
	for _, x := range vs {
		for p := v.first[x.term]; p < v.first[x.term+1]; p++ {
			id := v.doc[p]
			if v.dead.has(id) || !s.sees(at, id) {
				continue
			}
			if slots[id] == 0 {
				es = append(es, entry{doc: id})
				slots[id] = uint32(len(es))
			}
			e := &es[slots[id]-1]
			e.weight += x.share * (tab.fields[v.bits[p]]*tab.head[v.head[id]] + float32(v.tf[p])*tab.body[v.body[id]])
			e.admits = max(e.admits, x.admits)
			e.head = e.head || x.admits > 0 && v.bits[p] != 0
			e.exact = e.exact || x.share >= shareFold
			e.named = e.named || x.admits > 0 && v.bits[p]&(bitTitle|bitKeywords|bitScenarios) != 0
		}
	}
	df := 0
	for i := range es[from:] {
		e := &es[from+i]
		slots[e.doc] = 0
		if e.admits > 0 {
			df++
		}
	}
	s.work.entries = es
	return df
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

func (s *scorer) entriesOf(i int) []entry { return s.work.entries[s.found[i].from:s.found[i].to] }

// weigh turns the entries' occurrences into scores.
func (s *scorer) weigh() {
	nv := len(s.ix.views)
	k1 := float32(s.p.K1)
	for t := range s.terms {
		f := float32(s.idf[t]) * s.terms[t].raise * (k1 + 1)
		for v := range nv {
			es := s.entriesOf(t*nv + v)
			for i := range es {
				es[i].weight = f * es[i].weight / (es[i].weight + k1)
			}
		}
	}
}

// collect sums the terms of one view and offers what passes the gate.
func (s *scorer) collect(v int, top *topList) {
	view := &s.ix.views[v]
	nv := len(s.ix.views)
	sums := s.work.totals(len(view.docs))
	s.order = s.order[:0]
	for t := range s.terms {
		counts := s.evident(t)
		es := s.entriesOf(t*nv + v)
		for i := range es {
			e := &es[i]
			a := &sums[e.doc]
			if !a.seen {
				a.seen = true
				s.order = append(s.order, e.doc)
			}
			a.score += e.weight
			if counts && e.admits > 0 {
				a.evidence += e.admits * float32(s.idf[t])
				a.terms++
				if s.terms[t].kind == text.Cluster3 {
					a.grams++
				}
				a.named = a.named || e.named
				a.head, a.exact, a.term = a.head || e.head, a.exact || e.exact, uint8(t)
			}
		}
	}
	for _, id := range s.order {
		a := sums[id]
		sums[id] = sum{}
		d := view.docs[id]
		c := candidate{d, v, id, float64(a.score) + s.typeCue(d)}
		if a.terms == 0 || !s.admitted(&a) || !s.visible(d) {
			s.inquiry.refuse(s, c, &a)
			continue
		}
		s.inquiry.admit(c, &a)
		top.offer(c)
	}
}

// visibility is the conjunction of a query's filters. It holds before ranking:
// what may not be seen influences neither counts nor order.
func visibility(q *Query) func(*memory.Document) bool {
	return func(d *memory.Document) bool { return filtered(q, d) == "" }
}
