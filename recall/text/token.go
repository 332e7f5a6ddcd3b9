// Package text turns the words of queries and memories into comparable terms:
// folding, segmentation by script, identifiers whole and in parts, stems, and
// the words that carry no topic. It knows nothing of documents or scores.
package text

import "unicode/utf8"

// Kind says how a token came to be, and with it what it may do: only some kinds
// can make a document a candidate.
type Kind uint8

const (
	// Word is a run of letters and digits of a script that writes spaces.
	Word Kind = iota
	// Part is a piece of an identifier (retry, budget of retryBudget).
	Part
	// Whole is an identifier of several pieces joined without its punctuation
	// (retrybudget); between digits the dot stays (1.26.8).
	Whole
	// Symbol is a short name with a sign that belongs to it (c++, c#).
	Symbol
	// Bigram is a pair of neighbouring Han, Kana or Hangul characters.
	Bigram
	// Lone is a Han, Kana or Hangul character that is a run by itself.
	Lone
	// Unigram is one such character inside a longer run. Its term starts with
	// the byte 0x01, so that it never equals a Lone.
	Unigram
	// Cluster3 is three neighbouring grapheme clusters of Thai, Lao, Khmer,
	// Myanmar or Tibetan, or the whole of a run that is shorter.
	Cluster3
	// Cluster2 is two neighbouring clusters inside a longer run (0x02 leads).
	Cluster2
)

// Token is one term with its place in the source text.
type Token struct {
	Term       []byte // valid only during the callback
	Start, End int    // byte offsets in the source
	Kind       Kind
	Ident      bool // looks like a name: has a digit, or is written all in capitals
	Short      bool // one or two letters: matched only where names stand
}

// maxChunk bounds how many code points are looked at as one unit; longer runs
// without white space are cut, so that no input makes a token unbounded.
const maxChunk = 256

// MaxTerm bounds a term, in code points; what is longer is cut.
const MaxTerm = 64

// Tokenizer holds the scratch space of one tokenisation at a time. The zero
// value is ready; it is not safe for concurrent use.
type Tokenizer struct {
	atoms []atom
	buf   []byte
	subs  []sub
}

// sub is a piece of a chunk: atoms[from:to] of one run.
type sub struct {
	from, to int
	run      int // index of the run (between joiners) that the piece belongs to
}

// Each calls emit for every token of s, in order of their start.
func (t *Tokenizer) Each(s string, emit func(Token)) {
	for i := 0; i < len(s); {
		j := chunkEnd(s, i)
		if j == i {
			_, n := utf8.DecodeRuneInString(s[i:])
			i += n
			continue
		}
		t.atoms = atoms(t.atoms[:0], s, i, j)
		t.chunk(t.atoms, emit)
		i = j
	}
}

// chunkEnd returns the end of the stretch without white space or ASCII
// separators that starts at i; i itself when s[i] is such a separator.
func chunkEnd(s string, i int) int {
	n, start := 0, i
	for i < len(s) && n < maxChunk {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, w := utf8.DecodeRuneInString(s[i:])
			if r == 0x3000 || r == 0xA0 || r == 0x2028 || (r == utf8.RuneError && w == 1) {
				return i
			}
			i += w
			n++
			continue
		}
		if classOf(rune(c)) == classNone {
			return i
		}
		i++
		n++
	}
	// Inv: a cut inside a long stretch falls on a code point boundary, never
	// between a base and its marks.
	for i < len(s) && i > start {
		r, w := utf8.DecodeRuneInString(s[i:])
		if r < 0x300 || !isMark(r) {
			break
		}
		i += w
	}
	return i
}

// chunk splits atoms into stretches held together by joiners and emits each.
func (t *Tokenizer) chunk(as []atom, emit func(Token)) {
	for i := 0; i < len(as); {
		switch as[i].class {
		case classNone, classJoiner:
			i++
		case classCJK:
			j := runEnd(as, i, classCJK)
			t.cjk(as[i:j], emit)
			i = j
		case classSEA:
			j := runEnd(as, i, classSEA)
			t.clusters(as[i:j], emit)
			i = j
		default:
			j := compoundEnd(as, i)
			t.compound(as[i:j], emit)
			j = t.symbol(as, i, j, emit)
			i = j
		}
	}
}

func runEnd(as []atom, i int, c class) int {
	for i < len(as) && (as[i].class == c || isMark(as[i].r) && as[i].r < 0x370) {
		i++
	}
	return i
}

// compoundEnd returns the end of the word runs from i that single joiners hold
// together. Apostrophes hold nothing together: they end an elided article.
func compoundEnd(as []atom, i int) int {
	for i < len(as) {
		if as[i].class == classWord {
			i++
			continue
		}
		if as[i].class == classJoiner && !apostrophe(as[i].r) && i+1 < len(as) && as[i+1].class == classWord {
			i++
			continue
		}
		break
	}
	return i
}

func apostrophe(r rune) bool { return r == '\'' || r == 0x2019 || r == 0x02BC }

// compound emits the pieces of one stretch of word runs and joiners, and the
// joined whole when there are several pieces.
func (t *Tokenizer) compound(as []atom, emit func(Token)) {
	t.subs = t.subs[:0]
	run := 0
	for i := 0; i < len(as); {
		if as[i].class == classJoiner {
			run++
			i++
			continue
		}
		j := pieceEnd(as, i)
		t.subs = append(t.subs, sub{i, j, run})
		i = j
	}
	subs := t.subs
	kind := Word
	if len(subs) > 1 {
		kind = Part
	}
	for k, p := range subs {
		t.word(as[p.from:p.to], kind, emit)
		if k+1 < len(subs) && subs[k+1].run == p.run && (k == 0 || subs[k-1].run != p.run) && oneScript(as[p.from:]) {
			t.camelWhole(as, subs, k, emit)
		}
	}
	if run > 0 && len(subs) <= 8 {
		t.whole(as, emit)
	}
}

// oneScript tells whether the run at the start of as is written in one script.
// Where scripts change nothing was joined by a person.
func oneScript(as []atom) bool {
	sc := scriptAny
	for _, a := range as {
		if a.class != classWord {
			break
		}
		s := scriptOf(a.r)
		if s != scriptAny && sc != scriptAny && s != sc {
			return false
		}
		if s != scriptAny {
			sc = s
		}
	}
	return true
}

// camelWhole emits the run that holds piece k when it has several pieces.
func (t *Tokenizer) camelWhole(as []atom, subs []sub, k int, emit func(Token)) {
	end := k
	for end+1 < len(subs) && subs[end+1].run == subs[k].run {
		end++
	}
	t.whole(as[subs[k].from:subs[end].to], emit)
}

// pieceEnd returns the end of the piece that starts at i: a change of case from
// lower to upper, the last capital before a lower-case letter, or a change of
// script ends it. Digits belong to the letters around them (v2, p99, utf8).
func pieceEnd(as []atom, i int) int {
	sc := scriptOf(as[i].r)
	j := i + 1
	for j < len(as) && as[j].class == classWord {
		s := scriptOf(as[j].r)
		if s != scriptAny && sc != scriptAny && s != sc {
			return j
		}
		if sc == scriptAny {
			sc = s
		}
		if as[j].upper {
			prevLower := !as[j-1].upper && !digit(as[j-1].r)
			nextLower := j+1 < len(as) && as[j+1].class == classWord && !as[j+1].upper && !digit(as[j+1].r)
			if prevLower || (as[j-1].upper && nextLower && j+2 < len(as) && as[j+2].class == classWord && !as[j+2].upper) {
				return j
			}
		}
		j++
	}
	return j
}

func digit(r rune) bool { return r >= '0' && r <= '9' }

func (t *Tokenizer) word(as []atom, kind Kind, emit func(Token)) {
	if len(as) == 0 {
		return
	}
	n, hasDigit, upper := 0, false, true
	t.buf = t.buf[:0]
	for _, a := range as {
		if n < MaxTerm {
			t.buf = utf8.AppendRune(t.buf, a.r)
		}
		n++
		if digit(a.r) {
			hasDigit = true
		} else if !a.upper {
			upper = false
		}
	}
	onlyDigits := hasDigit && upper && allDigits(as)
	emit(Token{
		Term: t.buf, Start: int(as[0].start), End: int(as[len(as)-1].end), Kind: kind,
		Ident: (hasDigit && !onlyDigits) || (upper && !hasDigit),
		Short: n <= 2,
	})
}

func allDigits(as []atom) bool {
	for _, a := range as {
		if !digit(a.r) {
			return false
		}
	}
	return true
}

// whole emits as without its joiners; the dot between two digits stays, so that
// 1.26 and 12.6 differ.
func (t *Tokenizer) whole(as []atom, emit func(Token)) {
	t.buf = t.buf[:0]
	n := 0
	for i, a := range as {
		if a.class == classJoiner {
			if a.r == '.' && i > 0 && i+1 < len(as) && digit(as[i-1].r) && digit(as[i+1].r) {
				t.buf = append(t.buf, '.')
			}
			continue
		}
		if n++; n > MaxTerm {
			return
		}
		t.buf = utf8.AppendRune(t.buf, a.r)
	}
	if n >= 2 {
		emit(Token{Term: t.buf, Start: int(as[0].start), End: int(as[len(as)-1].end), Kind: Whole, Ident: true, Short: n <= 2})
	}
}

// symbol emits names such as c++ and c# that end at j, and returns where to go on.
func (t *Tokenizer) symbol(as []atom, i, j int, emit func(Token)) int {
	k := j
	for k < len(as) && (as[k].r == '+' || as[k].r == '#') && k-j < 2 {
		k++
	}
	if k == j || j-i > 2 || (k < len(as) && as[k].class == classWord) || as[j].r == '+' && k-j != 2 {
		return j
	}
	t.buf = t.buf[:0]
	for _, a := range as[i:k] {
		t.buf = utf8.AppendRune(t.buf, a.r)
	}
	emit(Token{Term: t.buf, Start: int(as[i].start), End: int(as[k-1].end), Kind: Symbol, Ident: true})
	return k
}

func (t *Tokenizer) cjk(as []atom, emit func(Token)) {
	if len(as) == 1 {
		t.buf = utf8.AppendRune(t.buf[:0], as[0].r)
		emit(Token{Term: t.buf, Start: int(as[0].start), End: int(as[0].end), Kind: Lone, Short: true})
		return
	}
	for i, a := range as {
		t.buf = append(t.buf[:0], 1)
		t.buf = utf8.AppendRune(t.buf, a.r)
		emit(Token{Term: t.buf, Start: int(a.start), End: int(a.end), Kind: Unigram})
		if i+1 < len(as) {
			t.buf = utf8.AppendRune(t.buf[:0], a.r)
			t.buf = utf8.AppendRune(t.buf, as[i+1].r)
			emit(Token{Term: t.buf, Start: int(a.start), End: int(as[i+1].end), Kind: Bigram})
		}
	}
}

// clusters emits overlapping groups of three clusters, a base with the marks
// that stand on it, and of two inside longer runs.
func (t *Tokenizer) clusters(as []atom, emit func(Token)) {
	t.subs = t.subs[:0]
	for i := 0; i < len(as); {
		j := i + 1
		for j < len(as) && isMark(as[j].r) {
			j++
		}
		t.subs = append(t.subs, sub{from: i, to: j})
		i = j
	}
	n := len(t.subs)
	if n <= 3 {
		t.gram(as, Cluster3, nil, emit)
	}
	if n < 3 {
		return
	}
	for k := 0; k+2 <= n; k++ {
		if n > 3 && k+3 <= n {
			t.gram(as[t.subs[k].from:t.subs[k+2].to], Cluster3, nil, emit)
		}
		t.gram(as[t.subs[k].from:t.subs[k+1].to], Cluster2, []byte{2}, emit)
	}
}

func (t *Tokenizer) gram(as []atom, k Kind, lead []byte, emit func(Token)) {
	t.buf = append(t.buf[:0], lead...)
	for _, a := range as {
		t.buf = utf8.AppendRune(t.buf, a.r)
	}
	emit(Token{Term: t.buf, Start: int(as[0].start), End: int(as[len(as)-1].end), Kind: k})
}
