package recall

import (
	"math"
	"slices"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/text"
)

const (
	// rerankDocs is how many of the best candidates get a second look.
	rerankDocs = 30
	// rerankBody bounds what is read of one body, rerankBytes of all together: what
	// it costs depends on neither the store nor the longest memory in it.
	rerankBody, rerankBytes = 8 << 10, 64 << 10
	// meanHead is what the fields of the head count for the length of a text, in
	// tokens. Inv: it is the same for all, so that texts of one length whose matches
	// are the same stay equal, and what decides between equals decides.
	meanHead = 12
	// maxSequences bounds the letters that are taken from either end of a query.
	maxSequences = 512
)

// rerank raises the best candidates by the sequences of three letters that they
// share with the query, across words and inside them: so do inflections that no
// stem knows, compounds, and words that stand in the same order. They raise and
// never admit. The score is BM25's over the sequences; how rare one is, only the
// candidates say. The best of them gains the share [Params.Sequences] of the best
// score.
//
// Inv: a candidate that is not looked at has a lower score than all that are.
func (s *scorer) rerank(cs []candidate) {
	n := min(rerankDocs, len(cs))
	if n < 2 || s.p.Sequences <= 0 {
		return
	}
	q := newSequences(s.q.Text)
	if len(q.held) == 0 {
		return
	}
	read := 0
	for i := range cs[:n] {
		if read >= rerankBytes {
			n = i
			break
		}
		read += q.look(cs[i].doc)
		q.length = append(q.length, meanHead+codedLength(s.ix.views[cs[i].view].body[cs[i].id]))
	}
	scores, best := q.scores(&s.p)
	if best == 0 {
		return
	}
	unit := s.p.Sequences * cs[0].score / best
	for i := range cs[:n] {
		cs[i].score += unit * scores[i]
	}
	slices.SortFunc(cs[:n], better)
}

// sequences are those of a query and what the documents looked at have of them.
type sequences struct {
	slots  []sequenceSlot // open addressing, a power of two
	held   []int          // by sequence: documents that have it
	has    []bool         // by document, then sequence
	length []float64      // by document, in tokens: as long as the scorer holds it to be
	runes  []rune
}

type sequenceSlot struct {
	code  uint64
	place int // 1 + its place in held; 0 is free
}

func newSequences(query string) *sequences {
	q := &sequences{}
	q.runes = text.Letters(nil, query)
	rs := q.runes
	if len(rs) > 2*maxSequences {
		rs = slices.Concat(rs[:maxSequences], []rune{text.Gap}, rs[len(rs)-maxSequences:])
	}
	size := 64
	for size < 4*len(rs) {
		size *= 2
	}
	q.slots = make([]sequenceSlot, size)
	for i := 0; i+3 <= len(rs); i++ {
		if rs[i] == text.Gap || rs[i+1] == text.Gap || rs[i+2] == text.Gap {
			continue
		}
		code := gramCode(rs[i], rs[i+1], rs[i+2])
		if at := q.slot(code); at.place == 0 {
			q.held = append(q.held, 0)
			*at = sequenceSlot{code, len(q.held)}
		}
	}
	return q
}

// slot is where a sequence is, or the free slot where it belongs.
func (q *sequences) slot(code uint64) *sequenceSlot {
	mask := uint64(len(q.slots) - 1)
	for i := code * 0x9E3779B97F4A7C15 >> 32; ; i++ {
		at := &q.slots[i&mask]
		if at.place == 0 || at.code == code {
			return at
		}
	}
}

// look notes the sequences of one document and answers how many bytes it read.
func (q *sequences) look(d *memory.Document) (read int) {
	at := len(q.has)
	q.has = append(q.has, make([]bool, len(q.held))...)
	body := d.SearchedBody()
	stretch := d.Text[body.Start:min(body.End, body.Start+rerankBody)]
	for _, field := range [...]string{d.Title, d.Description, stretch} {
		q.mark(q.has[at:], field)
	}
	return len(d.Title) + len(d.Description) + len(stretch)
}

// mark notes which sequences s has. Inv: one that comes again counts no more: texts
// that match alike stay equal, whatever else accidentally has the same letters.
func (q *sequences) mark(has []bool, s string) {
	q.runes = text.Letters(q.runes[:0], s)
	rs := q.runes
	for i := 0; i+3 <= len(rs); i++ {
		if at := q.slot(gramCode(rs[i], rs[i+1], rs[i+2])); at.place > 0 && !has[at.place-1] {
			has[at.place-1] = true
			q.held[at.place-1]++
		}
	}
}

// scores are BM25's, by document, and the best of them.
func (q *sequences) scores(p *Params) (scores []float64, best float64) {
	n, total := float64(len(q.length)), 0.0
	for _, l := range q.length {
		total += l
	}
	idf := make([]float64, len(q.held))
	for i, df := range q.held {
		idf[i] = math.Log(1 + (n-float64(df)+0.5)/(float64(df)+0.5))
	}
	scores = make([]float64, len(q.length))
	for i, l := range q.length {
		k := p.K1 * (1 - p.B + p.B*l*n/max(total, 1))
		for j, has := range q.has[i*len(idf) : (i+1)*len(idf)] {
			if has {
				scores[i] += idf[j] * (p.K1 + 1) / (1 + k)
			}
		}
		best = max(best, scores[i])
	}
	return scores, best
}
