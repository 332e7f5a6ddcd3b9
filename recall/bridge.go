package recall

import (
	"math"
	"slices"

	"github.com/memls/memls/recall/concept"
	"github.com/memls/memls/recall/text"
)

// crossing is a concept that the query names, and where the index speaks of it.
type crossing struct {
	words  []int // of the query
	weight float64
	docs   int         // that speak of it and that the query may see
	found  [][]crossed // by view
}

// crossed is a document that speaks of a concept.
type crossed struct {
	doc     uint32
	head    bool // in a field of the head
	foreign bool // in no word of the query's language
}

// bridge answers the documents that speak of the concepts that the query names, in
// whatever words and language. It is asked when nothing of the query was met in a
// way that proves anything, and so stands below every direct match.
//
// A document passes when it speaks of two things that the query is about, of which
// one is a concept, or of one concept that few documents speak of, and when that is
// enough of the query's weight. Words of the query that it holds count with the
// concepts; words that no concept and no document has count as missed.
func (s *scorer) bridge(want int, direct []candidate) []candidate {
	crossings := s.crossings()
	if len(crossings) == 0 {
		return nil
	}
	covered := make([]bool, len(s.terms))
	var total weight
	for i := range crossings {
		for _, w := range crossings[i].words {
			covered[w] = true
		}
		total.known += crossings[i].weight
	}
	for t := range s.terms {
		if !covered[t] {
			if w := max(s.expected(t), s.missed(t, covered)); s.df[t] > 0 {
				total.known += w
			} else {
				total.unknown += w
			}
		}
	}
	top := topList{want: want}
	for v := range s.ix.views {
		s.cross(v, crossings, covered, total, func(c candidate) {
			if !slices.ContainsFunc(direct, func(d candidate) bool { return d.doc == c.doc }) {
				top.offer(c)
			}
		})
	}
	return top.sorted()
}

// weight is that of a query, apart by whether any document has the words.
type weight struct{ known, unknown float64 }

// in is the weight that a document is measured by. Words that no document has count
// less where the document is written in another language than the query: in that
// language they could not be met.
func (w weight) in(foreign bool, p *Params) float64 {
	if foreign {
		return w.known + p.ConceptForeign*w.unknown
	}
	return w.known + w.unknown
}

// missedGram is what a gram that no document has counts against a word that none
// has, where concepts are asked: of a word of two characters one gram is its own,
// and half of those between words are not.
const missedGram = 0.4

// missed is what a gram of the query counts that no document has and no concept
// accounts for: without it a long sentence would be about the one word in it that
// is known.
func (s *scorer) missed(t int, covered []bool) float64 {
	q := &s.terms[t]
	if q.kind < text.Bigram || q.kind == text.Unigram || q.kind == text.Cluster2 || q.topic != text.Content || s.df[t] > 0 {
		return 0
	}
	for c := range s.terms {
		if covered[c] && q.start < s.terms[c].end && s.terms[c].start < q.end {
			return 0
		}
	}
	return missedGram * s.idf[t]
}

// crossings are the concepts that the query names and some document speaks of or,
// without documents, could.
func (s *scorer) crossings() []crossing {
	var asked []concept.Asked
	var terms []int
	for t := range s.terms {
		q := &s.terms[t]
		if q.kind == text.Unigram || q.kind == text.Cluster2 {
			continue
		}
		asked = append(asked, concept.Asked{Text: q.term, Plain: q.plain, Stems: q.stems})
		terms = append(terms, t)
	}
	var out []crossing
	named := map[*concept.Concept]int{} // place in out
	for _, m := range concept.Default().Find(asked) {
		if at, ok := named[m.Concept]; ok { // said twice, it is one thing
			for _, i := range m.Words {
				out[at].words = append(out[at].words, terms[i])
			}
			continue
		}
		c := crossing{found: make([][]crossed, len(s.ix.views))}
		telling := false
		for _, i := range m.Words {
			c.words = append(c.words, terms[i])
			telling = telling || s.terms[terms[i]].topic == text.Content
		}
		if !telling {
			continue
		}
		for v := range s.ix.views {
			c.found[v] = s.speaking(v, &m, c.words[0])
			c.docs += len(c.found[v])
		}
		d, n := float64(max(c.docs, 1)), float64(s.census.docs)
		c.weight = math.Log(1 + (n-d+0.5)/(d+0.5))
		if c.docs > 0 && n >= minCommonDocs && d >= s.p.ConceptCommon*n {
			continue // so many speak of it that it tells nothing, and it is not missed either
		}
		named[m.Concept] = len(out)
		out = append(out, c)
	}
	return out
}

// speaking are the documents of a view that hold a term of the concept, each once,
// in their order. The terms become reasons for the query's word at.
func (s *scorer) speaking(v int, m *concept.Match, at int) []crossed {
	var out []crossed
	places := map[uint32]int{}
	foreign := false
	add := func(id uint32, head bool) {
		i, ok := places[id]
		if !ok {
			i = len(out)
			places[id] = i
			out = append(out, crossed{doc: id, foreign: true})
		}
		x := &out[i]
		x.head, x.foreign = x.head || head, x.foreign && foreign
	}
	for i := range m.Concept.Terms {
		t := &m.Concept.Terms[i]
		foreign = t.Lang != m.Lang
		s.holders(v, t, at, add)
	}
	slices.SortFunc(out, func(a, b crossed) int { return int(a.doc) - int(b.doc) })
	return out
}

// holders calls add with the living, visible documents that hold all words of a
// term: head tells that all of them stand in the head.
func (s *scorer) holders(v int, t *concept.Term, at int, add func(id uint32, head bool)) {
	view := &s.ix.views[v]
	ids := make([][]uint32, len(t.Words))
	for i := range t.Words {
		if ids[i] = view.forms(&t.Words[i]); len(ids[i]) == 0 {
			return
		}
	}
	type holding struct {
		words int
		head  bool
	}
	held := map[uint32]holding{}
	for i, forms := range ids {
		for _, term := range forms {
			for p := view.first[term]; p < view.first[term+1]; p++ {
				id := view.doc[p]
				h := held[id]
				switch {
				case i == 0 && h.words == 0:
					if s.hidden[v].has(id) || s.expired[v].has(id) {
						continue
					}
					h = holding{1, view.bits[p] != 0}
				case i > 0 && h.words == i:
					h = holding{i + 1, h.head && view.bits[p] != 0}
				case h.words == i+1 && view.bits[p] != 0:
					h.head = true
				default:
					continue
				}
				held[id] = h
			}
		}
	}
	for id, h := range held {
		if h.words == len(t.Words) {
			add(id, h.head)
		}
	}
	for _, forms := range ids {
		for _, term := range forms {
			if name := view.term(term); s.met[name].share == 0 {
				s.met[name] = meeting{at, MatchConcept, shareConcept, true}
			}
		}
	}
}

// forms are the terms of a segment that are the word, with other accents or in
// another form of its language.
func (s *segment) forms(w *concept.Word) []uint32 {
	var out []uint32
	add := func(ids ...uint32) {
		for _, id := range ids {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	if id, ok := s.lookup(w.Text); ok {
		add(id)
	}
	if w.Plain != w.Text {
		if id, ok := s.lookup(w.Plain); ok {
			add(id)
		}
	}
	add(s.folds.find(w.Plain)...)
	if w.Stem != "" {
		add(s.stems.find(w.Stem)...)
	}
	return out
}

// shareConcept is what meeting a concept counts against meeting the word itself,
// where passages are chosen.
const shareConcept = 0.3

// rareConcept is how many documents of a small store speak of what is rare; in
// large ones [Params.ConceptRare] of them do.
const rareConcept = 3

// met is what was met in one document.
type met struct {
	score, evidence float64
	things          int
	rare, foreign   bool
}

// direct is what meeting term t itself proves of those of the documents that hold it.
func (s *scorer) direct(v, t int, docs map[uint32]met) map[uint32]float64 {
	view := &s.ix.views[v]
	out := map[uint32]float64{}
	for _, x := range s.variantsOf(t*len(s.ix.views) + v) {
		if x.admits == 0 {
			continue
		}
		first := view.first[x.term]
		list := view.doc[first:view.first[x.term+1]]
		for id := range docs {
			at, ok := slices.BinarySearch(list, id)
			if !ok {
				continue
			}
			w := float64(x.admits) * s.idf[t]
			if view.bits[first+uint32(at)] == 0 {
				w *= s.p.ConceptBody
			}
			out[id] = max(out[id], w)
		}
	}
	return out
}

// cross offers the documents of one view that pass.
func (s *scorer) cross(v int, crossings []crossing, covered []bool, total weight, offer func(candidate)) {
	docs := map[uint32]met{}
	few := max(rareConcept, int(s.p.ConceptRare*float64(s.census.docs)))
	for i := range crossings {
		c := &crossings[i]
		for _, x := range c.found[v] {
			m, again := docs[x.doc]
			m.foreign = x.foreign && (m.foreign || !again)
			w := c.weight
			if !x.head {
				w *= s.p.ConceptBody
			}
			m.evidence += w
			m.score += w
			m.things++
			m.rare = m.rare || c.docs <= few
			docs[x.doc] = m
		}
	}
	view := &s.ix.views[v]
	for t := range s.terms {
		if covered[t] || !s.evident(t) {
			continue
		}
		for id, e := range s.direct(v, t, docs) {
			m := docs[id]
			m.evidence += e
			m.score += e
			m.things++
			docs[id] = m
		}
	}
	for id, m := range docs {
		need := s.p.ConceptAlone
		switch {
		case m.things >= 2:
			need = s.p.ConceptAgree
		case !m.rare:
			continue
		}
		if d := view.docs[id]; m.evidence >= (need-shareSlack)*total.in(m.foreign, &s.p) {
			offer(candidate{d, v, id, s.p.ConceptScore * m.score})
		}
	}
}
