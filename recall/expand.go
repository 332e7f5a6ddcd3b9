package recall

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/memls/memls/recall/text"
)

const (
	// minPrefixRunes is how long a word must be to meet longer words that begin
	// with it; minInfixRunes, to meet words that hold it.
	minPrefixRunes = 4
	minInfixRunes  = 5
	// maxPrefixTail is how many code points a longer word may add.
	maxPrefixTail = 8
	// minGramRunes is how long a word must be to have near spellings.
	minGramRunes = 3
	// minGramShare is the Dice coefficient of trigrams from which two words
	// count as near spellings.
	minGramShare = 0.45
)

// The share of a term's occurrences that counts, by how the query's word met
// it: whole words before inflections before beginnings before insides. The
// order is the contract; the values were chosen on the labelled sets.
const (
	shareExact  = 1.0
	shareFold   = 0.9
	shareStem   = 0.8
	sharePrefix = 0.5
	shareInfix  = 0.35
	shareGram   = 0.6 // times the Dice coefficient
)

// variant is a term of a segment that a query word meets.
type variant struct {
	term  uint32
	share float32
	match string
	// admits tells whether the meeting may make a document a candidate, and
	// how far it counts as evidence.
	admits float32
}

// expansion gathers the variants of one query word in one segment.
type expansion struct {
	*segment
	q    *queryTerm
	p    *Params
	out  []variant
	work *scratch
}

func (x *expansion) add(id uint32, share float32, match string, admits float32) {
	x.out = append(x.out, variant{id, share, match, admits})
}

// expand returns the variants of q in s, each term once by its best meeting, in
// the order of the terms. Near spellings come along when near is set. The result
// is at the end of the variants in w.
func (s *segment) expand(q *queryTerm, near bool, p *Params, w *scratch) []variant {
	from := len(w.variants)
	x := expansion{s, q, p, w.variants, w}
	if id, ok := s.lookup(q.term); ok {
		x.add(id, shareExact, MatchExact, 1)
	}
	switch {
	case q.kind >= text.Symbol || q.short || !q.word:
		x.completions()
	default:
		x.spellings()
		x.longer()
		if near && q.runes >= minGramRunes {
			x.near()
		}
	}
	vs := bestMeetings(x.out[from:])
	w.variants = x.out[:from+len(vs)]
	return vs
}

// bestMeetings keeps each term's meeting with the greatest share.
func bestMeetings(vs []variant) []variant {
	if len(vs) < 2 {
		return vs
	}
	slices.SortFunc(vs, func(a, b variant) int {
		return cmp.Or(cmp.Compare(a.term, b.term), cmp.Compare(b.share, a.share))
	})
	return slices.CompactFunc(vs, func(a, b variant) bool { return a.term == b.term })
}

// completions adds what begins with a short or unspelled word that is being typed.
func (x *expansion) completions() {
	if !x.q.open {
		return
	}
	for i := x.lower(x.q.term); int(i) < x.terms() && strings.HasPrefix(x.term(i), x.q.term); i++ {
		x.add(i, sharePrefix, MatchPrefix, 1)
	}
}

// spellings adds the same word with other accents and its inflections.
func (x *expansion) spellings() {
	if x.p.has(SignalAccents) {
		x.accents()
	}
	if !x.p.has(SignalStems) {
		return
	}
	for _, key := range x.q.stems {
		for _, id := range x.stems.find(key) {
			x.add(id, shareStem, MatchPrefix, 1)
		}
	}
}

func (x *expansion) accents() {
	if id, ok := x.lookup(x.q.plain); ok {
		x.add(id, shareFold, MatchFold, 1)
	}
	for _, id := range x.folds.find(x.q.plain) {
		x.add(id, shareFold, MatchFold, 1)
	}
}

// longer adds words that begin with the word.
func (x *expansion) longer() {
	q := x.q
	if !q.open && (q.runes < minPrefixRunes || !x.p.has(SignalBeginnings)) {
		return
	}
	for i := x.lower(q.term); int(i) < x.terms(); i++ {
		t := x.term(i)
		if !strings.HasPrefix(t, q.term) {
			break
		}
		if q.open || utf8.RuneCountInString(t[len(q.term):]) <= maxPrefixTail {
			x.add(i, sharePrefix, MatchPrefix, 0.7)
		}
	}
}

// near adds words that share most of their trigrams with the word, and words
// that hold it as a whole. Near spellings admit nothing.
func (x *expansion) near() {
	counts := x.work.counters(x.terms())
	touched := x.work.touched[:0]
	for _, c := range x.q.grams {
		for _, id := range x.grams.find(c) {
			if counts[id] == 0 {
				touched = append(touched, id)
			}
			counts[id]++
		}
	}
	for _, id := range touched {
		x.addNear(id, int(counts[id]))
		counts[id] = 0
	}
	x.work.touched = touched
}

func (x *expansion) addNear(id uint32, shared int) {
	// Inv: a term of r code points has at most r trigrams, its ends marked. A term
	// that holds the word shares all but its two end trigrams.
	q, runes := x.q, int(x.runes[id])
	if q.runes >= minInfixRunes && shared >= len(q.grams)-2 && runes > q.runes && isPart(x.term(id), q.term) {
		x.add(id, shareInfix, MatchPart, 0.5)
		return
	}
	if dice := 2 * float32(shared) / float32(len(q.grams)+runes); dice >= minGramShare {
		x.add(id, shareGram*dice, MatchGram, 0)
	}
}

// shortHeads are the Latin prefixes of one or two letters. Before other words so
// few letters are no word of their own: the otter in a plotter is none.
const shortHeads = " a ab an be bi co de e en er ge im in on re um un up "

// isPart tells whether part is a word inside the longer word whole.
func isPart(whole, part string) bool {
	i := strings.LastIndex(whole, part)
	return i == 0 || i > 2 || i > 0 && (whole[0] >= utf8.RuneSelf || strings.Contains(shortHeads, " "+whole[:i]+" "))
}
