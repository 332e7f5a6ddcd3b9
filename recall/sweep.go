package recall

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/memls/memls/recall/text"
)

// windowDocs is how many neighbouring documents are scored at a time: what is summed
// for them stays in the processor's cache. A multiple of 64.
const windowDocs = 2048

// noDoc is where a cursor stands that has no posting left.
const noDoc = math.MaxUint32

// cursor goes through the postings of one variant in one view.
type cursor struct {
	next          uint32 // the document of the posting at, or noDoc
	at, end       uint32
	share, admits float32
}

// seek moves the cursor to the first posting of a document not before id, in
// steps that double, so that a short way costs little and a long one few steps.
func (c *cursor) seek(docs []uint32, id uint32) {
	if c.next >= id {
		return
	}
	lo, step := c.at, uint32(1)
	for lo+step < c.end && docs[lo+step] < id {
		lo += step
		step *= 2
	}
	// Inv: docs[lo] < id, and what lies at lo+step, if anything, is not.
	hi := min(lo+step, c.end)
	for lo+1 < hi {
		if mid := lo + (hi-lo)/2; docs[mid] < id {
			lo = mid
		} else {
			hi = mid
		}
	}
	c.set(docs, hi)
}

func (c *cursor) set(docs []uint32, at uint32) {
	c.at, c.next = at, noDoc
	if at < c.end {
		c.next = docs[at]
	}
}

// entry is what one query term found in one document.
type entry struct {
	weight float32 // weighted, length-normalised occurrences
	admits float32 // how far it counts as evidence, 0 for near spellings
	named  bool    // met in title, keywords or scenarios
	head   bool    // met in any field of the head
	exact  bool    // met as it is written, accents and case apart
	seen   bool
}

// sum is what all query terms found in one document.
type sum struct {
	score    float32
	evidence float32
	terms    uint8 // content terms met that count as evidence,
	grams    uint8 // those of them that are three clusters
	named    bool
	head     bool  // a term stands in a field of the head
	exact    bool  // a term stands there as it is written
	term     uint8 // the last term met; of a query's at most 64
}

// sweep scores the documents of one view, window by window, and offers what
// passes the gate. Only documents that a leading term meets are looked at.
//
// Inv: the variants of a document are added in the order of their terms, and the
// terms in the order of the query, so that a sum does not depend on how documents
// are spread over segments and windows.
func (s *scorer) sweep(ctx context.Context, v int, leading []bool, top *topList) error {
	view, w := &s.ix.views[v], s.work
	s.place(v, leading)
	for n := 0; ; n++ {
		if n%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		first := uint32(noDoc)
		for i := range w.leads {
			first = min(first, w.leads[i].next)
		}
		if first == noDoc {
			return nil
		}
		base := first - first%windowDocs
		if !s.mark(v, base) {
			continue
		}
		for t := range s.terms {
			s.addTerm(view.segment, t, base)
		}
		for _, l := range w.marked {
			a := w.sums[l]
			w.sums[l] = sum{}
			s.offer(v, base+uint32(l), &a, top)
		}
	}
}

// place sets the cursors of a view to its first documents.
func (s *scorer) place(v int, leading []bool) {
	view, w := &s.ix.views[v], s.work
	nv := len(s.ix.views)
	w.cursors, w.leads, w.ends = w.cursors[:0], w.leads[:0], w.ends[:0]
	for t := range s.terms {
		for _, x := range s.variantsOf(t*nv + v) {
			c := cursor{end: view.first[x.term+1], share: x.share, admits: x.admits}
			c.set(view.doc, view.first[x.term])
			w.cursors = append(w.cursors, c)
			if leading[t] && (x.admits > 0 || s.inquiry != nil) {
				w.leads = append(w.leads, c)
			}
		}
		w.ends = append(w.ends, len(w.cursors))
	}
}

// mark notes which documents of the window at base a leading term meets and the
// query may return, and tells whether there are any.
func (s *scorer) mark(v int, base uint32) bool {
	docs, w := s.ix.views[v].doc, s.work
	clear(w.bits[:])
	for i := range w.leads {
		c := &w.leads[i]
		if c.next >= base+windowDocs {
			continue
		}
		at := c.at
		for ; at < c.end && docs[at] < base+windowDocs; at++ {
			l := docs[at] - base
			w.bits[l/64] |= 1 << (l % 64)
		}
		c.set(docs, at)
	}
	w.marked = w.marked[:0]
	for i, word := range w.bits {
		at := int(base)/64 + i
		word &^= s.hidden[v].word(at) | s.expired[v].word(at)
		w.bits[i] = word
		for ; word != 0; word &= word - 1 {
			w.marked = append(w.marked, uint16(i*64+bits.TrailingZeros64(word)))
		}
	}
	return len(w.marked) > 0
}

// addTerm adds what term t met in the marked documents of a window.
func (s *scorer) addTerm(seg *segment, t int, base uint32) {
	w := s.work
	from := 0
	if t > 0 {
		from = w.ends[t-1]
	}
	w.meets = w.meets[:0]
	for i := from; i < w.ends[t]; i++ {
		c := &w.cursors[i]
		if c.next >= base+windowDocs {
			continue
		}
		c.seek(seg.doc, base)
		if c.next >= base+windowDocs {
			continue
		}
		// How many postings lie in the window, if they are spread evenly.
		if per := uint64(c.end-c.at) * windowDocs / uint64(len(seg.docs)-int(base)); per > 8*uint64(len(w.marked)) {
			s.addSparse(seg, c, base)
		} else {
			s.addDense(seg, c, base)
		}
	}
	s.weigh(t)
}

// addDense goes through the postings of the window.
func (s *scorer) addDense(seg *segment, c *cursor, base uint32) {
	w, at := s.work, c.at
	for ; at < c.end && seg.doc[at] < base+windowDocs; at++ {
		if l := seg.doc[at] - base; w.bits[l/64]&(1<<(l%64)) != 0 {
			s.addPosting(seg, c, at, uint16(l))
		}
	}
	c.set(seg.doc, at)
}

// addSparse looks the marked documents up among the postings.
func (s *scorer) addSparse(seg *segment, c *cursor, base uint32) {
	for _, l := range s.work.marked {
		id := base + uint32(l)
		c.seek(seg.doc, id)
		if c.next == id {
			s.addPosting(seg, c, c.at, l)
		}
	}
}

func (s *scorer) addPosting(seg *segment, c *cursor, p uint32, l uint16) {
	w, tab, id := s.work, s.tables, seg.doc[p]
	e := &w.entries[l]
	if !e.seen {
		e.seen = true
		w.meets = append(w.meets, l)
	}
	e.weight += c.share * (tab.fields[seg.bits[p]]*tab.head[seg.head[id]] + float32(seg.tf[p])*tab.body[seg.body[id]])
	e.admits = max(e.admits, c.admits)
	e.head = e.head || c.admits > 0 && seg.bits[p] != 0
	e.exact = e.exact || c.share >= shareFold
	e.named = e.named || c.admits > 0 && seg.bits[p]&(bitTitle|bitKeywords|bitScenarios) != 0
}

// weigh turns the occurrences of term t into scores and adds them to the sums.
func (s *scorer) weigh(t int) {
	w, k1 := s.work, float32(s.p.K1)
	f := float32(s.idf[t]) * s.terms[t].raise * (k1 + 1)
	counts := s.evident(t)
	for _, l := range w.meets {
		e, a := &w.entries[l], &w.sums[l]
		a.score += f * e.weight / (e.weight + k1)
		if counts && e.admits > 0 {
			a.evidence += e.admits * float32(s.idf[t])
			a.terms++
			if s.terms[t].kind == text.Cluster3 {
				a.grams++
			}
			a.named = a.named || e.named
			a.head, a.exact, a.term = a.head || e.head, a.exact || e.exact, uint8(t)
		}
		*e = entry{}
	}
}

// offer gives a document that passes the gate to the list of the best. The document
// itself is looked at only when it may be among them.
func (s *scorer) offer(v int, id uint32, a *sum, top *topList) {
	if s.inquiry == nil {
		if a.terms == 0 || !s.admitted(a) {
			return
		}
		if !top.reaches(float64(a.score) + s.maxCue) {
			top.total++
			return
		}
	}
	d := s.ix.views[v].docs[id]
	c := candidate{d, v, id, float64(a.score)}
	if s.maxCue > 0 {
		c.score += s.typeCue(d)
	}
	if s.inquiry != nil {
		if !s.admitted(a) {
			s.inquiry.refuse(c, a, s.refusal(a))
			return
		}
		s.inquiry.admit(c, a)
	}
	top.offer(c)
}

// leading tells which terms a document must meet one of to pass the gate.
//
// Inv: what meets only other terms amounts, for every number of terms, to less
// than the share that so many must meet. So the common words of a query, whose
// postings are most of all, need not be gone through. A trace tells of what the gate
// refused, too: for one, every term leads.
func (s *scorer) leading() []bool {
	leads := make([]bool, len(s.terms))
	if s.inquiry != nil {
		for t := range leads {
			leads[t] = true
		}
		return leads
	}
	var order []int
	for t := range s.terms {
		if s.df[t] > 0 && s.evident(t) {
			leads[t] = true
			order = append(order, t)
		}
	}
	if s.q.Loose {
		return leads
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.idf[a], s.idf[b]) })
	for n := range order {
		least := 0.0 // what the n+1 commonest terms amount to, the rarest of them first
		for k := range n + 1 {
			least += s.idf[order[n-k]]
			i := min(k, len(s.p.Cover)-1)
			need := min(s.p.Cover[i], s.p.CoverNamed[i])
			// shareSlack twice: the other one is for how evidence rounds.
			if least >= (need-2*shareSlack)*s.total {
				return leads
			}
		}
		leads[order[n]] = false
	}
	return leads
}

// count is how many documents an admitting variant of vs meets in view v, those
// that the query may not see, and those of without, left out.
func (s *scorer) count(v int, vs []variant, without bitset) int {
	view := &s.ix.views[v]
	hidden := s.hidden[v]
	admitting, last := 0, variant{}
	for _, x := range vs {
		if x.admits > 0 {
			admitting++
			last = x
		}
	}
	switch {
	case admitting == 0:
		return 0
	case admitting == 1 && len(hidden) == 0 && len(without) == 0:
		return int(view.first[last.term+1] - view.first[last.term])
	}
	met := s.work.members(len(view.docs))
	for _, x := range vs {
		if x.admits == 0 {
			continue
		}
		for _, id := range view.doc[view.first[x.term]:view.first[x.term+1]] {
			met[id/64] |= 1 << (id % 64)
		}
	}
	n := 0
	for i, word := range met {
		n += bits.OnesCount64(word &^ (hidden.word(i) | without.word(i)))
	}
	clear(met)
	return n
}
