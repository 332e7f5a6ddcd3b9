package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/text"
)

// spot is a place in a body where a word of the query was met.
type spot struct {
	start, end int
	from, to   int // the same in code points, from any origin; set by window
	term       int
	weight     float64
	admits     bool
}

// countRunes sets where spots stand in code points. It reads what lies between them
// once, since a body may be nothing but matches. Inv: spots is not empty.
func countRunes(s string, spots []spot) {
	at, n := spots[0].start, 0
	to := func(offset int) int {
		if offset >= at {
			n += utf8.RuneCountInString(s[at:offset])
		} else { // the parts of a word stand behind the whole
			n -= utf8.RuneCountInString(s[offset:at])
		}
		at = offset
		return n
	}
	for i := range spots {
		spots[i].from, spots[i].to = to(spots[i].start), to(spots[i].end)
	}
}

// passage sets the passage of h: the stretch of at most PassageRunes code points
// in which most of the query's weight was met, the start of the body when
// nothing was, and never one that overlaps a taken one. It answers false when
// no untaken stretch has a match.
//
// Inv: when a word met in the body is what admitted the document, at least one
// such word stands in the passage.
func (s *scorer) passage(h *Hit, taken []memory.Span) bool {
	d := h.Doc
	body := d.Body
	if body.Len() == 0 {
		return len(taken) == 0
	}
	if len(taken) == 0 && fits(d.BodyText()) {
		h.Passage = body
		return true
	}
	spots := s.spots(d)
	if len(taken) > 0 {
		spots = untaken(spots, taken)
		if len(spots) == 0 {
			return false
		}
	}
	h.Passage = window(d, body, spots, taken)
	h.Truncated = h.Passage != body
	return true
}

func fits(s string) bool { return len(s) <= PassageRunes || utf8.RuneCountInString(s) <= PassageRunes }

// spots returns where the words of the query were met in the scored body.
func (s *scorer) spots(d *memory.Document) []spot {
	var out []spot
	sp := d.SearchedBody()
	s.tok.Each(d.Text[sp.Start:sp.End], func(t text.Token) {
		m, ok := s.met[string(t.Term)]
		if !ok || !indexed(t, 0) {
			return
		}
		w := s.idf[m.term] * float64(s.terms[m.term].raise) * float64(m.share)
		out = append(out, spot{start: sp.Start + t.Start, end: sp.Start + t.End, term: m.term, weight: w, admits: m.admit})
	})
	return out
}

func untaken(spots []spot, taken []memory.Span) []spot {
	out := spots[:0]
	for _, x := range spots {
		free := x.admits
		for _, t := range taken {
			if x.start < t.End && t.Start < x.end {
				free = false
			}
		}
		if free {
			out = append(out, x)
		}
	}
	return out
}

// window picks the best stretch: over all stretches that start at a match, the
// one with the greatest sum of the weights of the distinct words in it; the
// first of equals. A word that comes again adds a little.
func window(d *memory.Document, body memory.Span, spots []spot, taken []memory.Span) memory.Span {
	if len(spots) == 0 {
		return cut(d.Text, body, body.Start)
	}
	const width = PassageRunes * 3 / 4 // room for the sentence that the first match stands in
	countRunes(d.Text, spots)
	count := map[int]int{}
	best, bestAt, bestAdmits := 0.0, 0, false
	sum, j := 0.0, 0
	admits := 0
	for i := range spots {
		for j < len(spots) && spots[j].to-spots[i].from <= width {
			sum += gain(count[spots[j].term]) * spots[j].weight
			count[spots[j].term]++
			if spots[j].admits {
				admits++
			}
			j++
		}
		ok := admits > 0
		if i == 0 || ok && !bestAdmits || ok == bestAdmits && sum > best+1e-9 {
			best, bestAt, bestAdmits = sum, i, ok
		}
		if j > i {
			count[spots[i].term]--
			sum -= gain(count[spots[i].term]) * spots[i].weight
			if spots[i].admits {
				admits--
			}
		} else {
			j = i + 1
		}
	}
	return cutFree(d.Text, body, spots[bestAt].start, taken)
}

// gain is what the n-th further occurrence of a word adds.
func gain(n int) float64 {
	if n == 0 {
		return 1
	}
	return 0.1 / float64(n)
}

// cutFree is cut within the stretch between the taken spans around at.
func cutFree(s string, body memory.Span, at int, taken []memory.Span) memory.Span {
	free := body
	for _, t := range taken {
		if t.End <= at {
			free.Start = max(free.Start, t.End)
		}
		if t.Start > at {
			free.End = min(free.End, t.Start)
		}
	}
	return trimSpan(s, cut(s, free, at))
}

// cut returns at most PassageRunes code points of span around the match at: from
// the start of its paragraph or sentence, to the end of a sentence where one
// ends late enough, never inside a grapheme.
func cut(s string, span memory.Span, at int) memory.Span {
	start := span.Start
	if at > span.Start {
		start = leadStart(s, span, at)
	}
	end, n := start, 0
	for end < span.End && n < PassageRunes {
		_, w := utf8.DecodeRuneInString(s[end:])
		end += w
		n++
	}
	if end >= span.End {
		// Inv: what is left of the budget goes to the text before.
		return memory.Span{Start: sentenceFrom(s, growBack(s, span.Start, start, PassageRunes-n), start), End: span.End}
	}
	return memory.Span{Start: start, End: sentenceEnd(s, max(start, at), end)}
}

// leadStart finds where to begin so that the match at is understood: at most a
// quarter of the passage before it, at the start of a paragraph, else of a
// sentence, else of a word.
func leadStart(s string, span memory.Span, at int) int {
	lo := growBack(s, span.Start, at, PassageRunes/4)
	if lo == span.Start {
		return lo
	}
	lead := s[lo:at]
	if i := strings.LastIndex(lead, "\n\n"); i >= 0 {
		return lo + i + 2
	}
	if i := strings.IndexByte(lead, '\n'); i >= 0 {
		return lo + i + 1
	}
	if i := firstSentence(lead); i > 0 {
		return lo + i
	}
	return wordFrom(s, lo, at)
}

// growBack returns the place at most n code points before from, not before lo.
func growBack(s string, lo, from, n int) int {
	at := from
	for n > 0 && at > lo {
		_, w := utf8.DecodeLastRuneInString(s[lo:at])
		at -= w
		n--
	}
	if at == lo {
		return lo
	}
	return min(graphemeAfter(s, at), from)
}

// sentenceFrom returns the first start of a line or sentence at or after from and
// not after to, or else of a word.
func sentenceFrom(s string, from, to int) int {
	before := strings.TrimRight(s[:from], " ")
	if before == "" || strings.HasSuffix(before, "\n") || len(before) < from && strings.ContainsAny(before[len(before)-1:], ".!?") {
		return from
	}
	lead := s[from:to]
	line, sentence := strings.IndexByte(lead, '\n')+1, max(firstSentence(lead), 0)
	switch {
	case line > 0 && (sentence == 0 || line < sentence):
		return from + line
	case sentence > 0:
		return from + sentence
	}
	return wordFrom(s, from, to)
}

// wordFrom returns the start of the first word at or after from and not after
// to, or from where no white space lies between: so do scripts without spaces.
func wordFrom(s string, from, to int) int {
	before, _ := utf8.DecodeLastRuneInString(s[:from])
	if from == 0 || unicode.IsSpace(before) {
		return from
	}
	if i := strings.IndexFunc(s[from:to], unicode.IsSpace); i >= 0 {
		_, w := utf8.DecodeRuneInString(s[from+i:])
		return from + i + w
	}
	return from
}

// sentenceEnd moves end back to the end of a sentence or line that lies in the
// last third of the passage, else to a word's end, else to a grapheme's.
func sentenceEnd(s string, at, end int) int {
	floor := at + (end-at)*2/3
	tail := s[floor:end]
	best := -1
	for i, r := range tail {
		switch r {
		case '.', '!', '?':
			if next := i + 1; next < len(tail) && (tail[next] == ' ' || tail[next] == '\n') {
				best = next
			}
		case '。', '！', '？', '।', '؟', '…':
			best = i + utf8.RuneLen(r)
		case '\n':
			best = i
		}
	}
	if best > 0 {
		return floor + best
	}
	if i := strings.LastIndexFunc(tail, unicode.IsSpace); i > 0 {
		return floor + i
	}
	return graphemeStart(s, end)
}

func firstSentence(s string) int {
	for i, r := range s {
		switch r {
		case '.', '!', '?':
			if i+1 < len(s) && s[i+1] == ' ' {
				return i + 2
			}
		case '。', '！', '？', '।', '؟':
			return i + utf8.RuneLen(r)
		}
	}
	return -1
}

// trimSpan takes white space off both ends.
func trimSpan(s string, p memory.Span) memory.Span {
	t := s[p.Start:p.End]
	p.Start += len(t) - len(strings.TrimLeftFunc(t, unicode.IsSpace))
	p.End = p.Start + len(strings.TrimSpace(t))
	return p
}
