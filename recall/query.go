package recall

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/memls/memls/recall/text"
)

// queryTerm is one distinct word of a query.
type queryTerm struct {
	term     string
	plain    string   // without accents
	stems    []string // stem keys
	grams    []uint64 // trigrams of a word
	kind     text.Kind
	runes    int
	word     bool // has letters, so that it inflects
	short    bool // one or two letters: met as a whole only
	digit    bool // has a digit: what is spelled nearly so is something else
	name     bool // looks like one: has a digit, or is all in capitals
	open     bool // unfinished: any longer word completes it
	optional bool // not missed when no document has it
	// topic says whether a meeting may admit; raise is what it counts.
	topic      text.Topic
	raise      float32
	start, end int // where it last stood in the query
}

// Weights of the terms that only raise, against a whole word.
const (
	raiseCluster = 0.3 // two clusters of a longer run
	raiseWhole   = 0.6 // the joined form beside the parts of an identifier
)

// parseQuery returns the distinct terms that count, in the order of the query.
// Of a longer query the first and the last 32 are kept; the characters and
// clusters that only raise come with the runs that were kept. sentence tells that
// function words stand between them: that the query was not typed as keywords.
func parseQuery(q string, open bool) (terms []queryTerm, sentence bool) {
	p := queryParser{seen: map[string]int{}}
	if len(q) > 2*maxQueryBytes {
		p.read(q[:runeStart(q, maxQueryBytes)])
		p.read(q[runeStart(q, len(q)-maxQueryBytes):])
	} else {
		p.read(q)
	}
	terms = p.bounded()
	if open {
		markOpen(terms, p.base)
	}
	return terms, p.function
}

// runeStart moves i down to the start of a code point of s.
func runeStart(s string, i int) int {
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

type queryParser struct {
	tok   text.Tokenizer
	main  []queryTerm
	minor []queryTerm
	seen  map[string]int // term -> index in main, for the last place it stood
	base  int            // where the next piece begins: how much has been read, composed

	function bool // a function word stood in the query
}

// read takes a piece of the query. Its function words are listed composed, and so
// must be what they are looked for in.
func (p *queryParser) read(q string) {
	q = text.Compose(q)
	mask := text.Mask(q)
	p.tok.Each(q, func(t text.Token) {
		qt := queryTerm{term: string(t.Term), kind: t.Kind, start: p.base + t.Start, end: p.base + t.End, raise: 1, short: t.Short, name: t.Ident}
		if !classify(&qt, t, mask) {
			p.function = p.function || t.Kind == text.Word && text.TopicOf(qt.term) == text.Function
			return
		}
		if t.Kind == text.Unigram || t.Kind == text.Cluster2 {
			p.minor = append(p.minor, qt)
			return
		}
		p.keep(qt)
	})
	p.base += len(q)
}

// keep adds a term, or moves one of the tail to the end when it comes again.
func (p *queryParser) keep(qt queryTerm) {
	const half = maxQueryTokens / 2
	if i, ok := p.seen[qt.term]; ok {
		if i < half {
			return
		}
		p.main[i].term = "" // Inv: an emptied slot is dropped in bounded
	}
	p.seen[qt.term] = len(p.main)
	p.main = append(p.main, qt)
}

// bounded cuts to the first and last 32 terms and adds the minor ones.
func (p *queryParser) bounded() []queryTerm {
	const half = maxQueryTokens / 2
	kept := p.main[:0]
	for _, t := range p.main {
		if t.term != "" {
			kept = append(kept, t)
		}
	}
	cutFrom, cutTo := -1, -1
	if len(kept) > maxQueryTokens {
		cutFrom, cutTo = kept[half].start, kept[len(kept)-half].start
		kept = append(kept[:half:half], kept[len(kept)-half:]...)
	}
	seen := map[string]bool{}
	for _, t := range p.minor {
		if len(seen) >= 2*maxQueryTokens {
			break
		}
		if !seen[t.term] && (t.start < cutFrom || t.start >= cutTo) {
			seen[t.term] = true
			kept = append(kept, t)
		}
	}
	for i := range kept {
		kept[i].prepare()
	}
	return kept
}

func (t *queryTerm) prepare() {
	t.runes = utf8.RuneCountInString(t.term)
	t.word = t.kind <= text.Whole && spelled(t.term) && !number(t.term)
	t.digit = strings.ContainsAny(t.term, "0123456789")
	t.plain = t.term
	if t.word && !t.short {
		t.plain = text.StripAccents(t.term)
		t.stems = text.Stems(nil, t.term)
		if t.runes >= minGramRunes {
			termGrams(t.term, func(c uint64) { t.grams = append(t.grams, c) })
		}
	}
}

// classify decides what a token of the query may do; false drops it.
func classify(q *queryTerm, t text.Token, mask [][2]int) bool {
	switch t.Kind {
	case text.Unigram:
		q.topic = text.Weak
		return !masked(t, mask)
	case text.Cluster2:
		q.topic, q.raise = text.Weak, raiseCluster
		return !masked(t, mask)
	case text.Bigram, text.Cluster3:
		if masked(t, mask) {
			q.topic = text.Weak
		}
		q.optional = text.HasKana(q.term) || text.Joins(q.term)
		return true
	case text.Lone:
		return !masked(t, mask)
	case text.Whole:
		q.raise = raiseWhole
		return true
	case text.Symbol:
		return true
	}
	named := t.Ident && t.Short
	if len(q.term) == 1 && (!t.Ident || t.Kind == text.Part) {
		return false
	}
	switch text.TopicOf(q.term) {
	case text.Function:
		return named && t.Kind == text.Part
	case text.Weak:
		q.topic = text.Weak
	}
	return true
}

// masked tells whether one of the spans, which are in order, overlaps a token.
func masked(t text.Token, mask [][2]int) bool {
	i, _ := slices.BinarySearchFunc(mask, t.Start, func(m [2]int, at int) int {
		if m[1] <= at {
			return -1
		}
		return 1
	})
	return i < len(mask) && mask[i][0] < t.End
}

// markOpen marks the last word as unfinished when nothing follows it: of an
// identifier the joined whole, which its next letters would lengthen.
func markOpen(terms []queryTerm, end int) {
	last := -1
	for i, t := range terms {
		if t.kind <= text.Whole && t.end == end && (last < 0 || t.kind == text.Whole) {
			last = i
		}
	}
	if last >= 0 {
		terms[last].open = true
	}
}
