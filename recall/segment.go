package recall

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/text"
)

// field bits of a posting.
const (
	bitTitle uint8 = 1 << iota
	bitDescription
	bitKeywords
	bitScenarios
)

// segment is an immutable inverted index over some documents. Terms are sorted,
// so that a term, a prefix and a key are found by binary search and nothing but
// flat arrays is kept.
type segment struct {
	docs     []*memory.Document
	local    map[*memory.Document]uint32
	body     []uint8 // length codes of the body, by document,
	head     []uint8 // and of title, description, keywords and scenarios together
	sketch   []sketch
	inactive bitset            // documents that their header calls superseded or expired
	expiring []uint32          // documents that have a date from which on they are expired
	roots    []rootRun         // where the documents lie
	usage    map[uint32]string // usage texts, of the few documents that have one

	blob  string   // all terms, one after the other, in ascending order
	offs  []uint32 // offs[i] is where term i starts; one more at the end
	first []uint32 // first[i] is where the postings of term i start; one more at the end
	doc   []uint32 // postings: document,
	tf    []uint8  // occurrences in the body (saturating),
	bits  []uint8  // fields of the head

	runes []uint8  // code points of a term that has grams, else 0
	folds keyTable // accent-free spelling -> accented term
	stems keyTable // stem key -> term
	grams gramTable
}

// rootRun is a run of neighbours that lie in one root: those before end that are in
// no earlier run.
type rootRun struct {
	end  uint32
	root *memory.Root
}

// admit appends a document without its postings.
func (s *segment) admit(d *memory.Document, sk sketch) uint32 {
	id := uint32(len(s.docs))
	s.docs = append(s.docs, d)
	s.local[d] = id
	s.sketch = append(s.sketch, sk)
	if n := len(s.roots); n > 0 && s.roots[n-1].root == d.Root {
		s.roots[n-1].end = id + 1
	} else {
		s.roots = append(s.roots, rootRun{id + 1, d.Root})
	}
	if d.Empty() {
		return id
	}
	if inactive(d) {
		s.inactive.add(id)
	}
	if !d.ExpiresAt.IsZero() {
		s.expiring = append(s.expiring, id)
	}
	return id
}

// keyTable maps strings to terms. Keys are sorted, each stands there once, and all
// lie one after the other in blob.
type keyTable struct {
	blob  string
	offs  []uint32 // offs[i] is where key i starts; one more at the end
	first []uint32 // first[i] is where its terms start; one more at the end
	ids   []uint32
}

func (k *keyTable) keys() int { return max(0, len(k.offs)-1) }

func (k *keyTable) key(i int) string { return k.blob[k.offs[i]:k.offs[i+1]] }

func (k *keyTable) find(key string) []uint32 {
	i := sort.Search(k.keys(), func(i int) bool { return k.key(i) >= key })
	if i == k.keys() || k.key(i) != key {
		return nil
	}
	return k.ids[k.first[i]:k.first[i+1]]
}

// keyPairs gathers what becomes a keyTable.
type keyPairs []keyPair

type keyPair struct {
	key string
	id  uint32
}

func (p keyPairs) table() keyTable {
	slices.SortFunc(p, func(a, b keyPair) int { return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.id, b.id)) })
	var k keyTable
	var blob strings.Builder
	for i, pair := range p {
		if i == 0 || pair.key != p[i-1].key {
			k.offs = append(k.offs, uint32(blob.Len()))
			k.first = append(k.first, uint32(i))
			blob.WriteString(pair.key)
		}
		k.ids = append(k.ids, pair.id)
	}
	k.offs = slices.Clip(append(k.offs, uint32(blob.Len())))
	k.first, k.ids = slices.Clip(append(k.first, uint32(len(p)))), slices.Clip(k.ids)
	k.blob = strings.Clone(blob.String())
	return k
}

// gramTable maps character trigrams of words to the terms that hold them.
type gramTable struct {
	codes []uint64
	first []uint32
	ids   []uint32
}

func (g gramTable) find(code uint64) []uint32 {
	i, ok := slices.BinarySearch(g.codes, code)
	if !ok {
		return nil
	}
	return g.ids[g.first[i]:g.first[i+1]]
}

func (s *segment) term(i uint32) string { return s.blob[s.offs[i]:s.offs[i+1]] }

func (s *segment) terms() int { return len(s.offs) - 1 }

// lower returns the first term that is not less than t.
func (s *segment) lower(t string) uint32 {
	return uint32(sort.Search(s.terms(), func(i int) bool { return s.term(uint32(i)) >= t }))
}

func (s *segment) lookup(t string) (uint32, bool) {
	i := s.lower(t)
	return i, int(i) < s.terms() && s.term(i) == t
}

// termGrams calls f with each distinct trigram of the word t, its ends marked.
func termGrams(t string, f func(code uint64)) int {
	var rs [text.MaxTerm + 2]rune
	n := 0
	rs[n] = '^'
	n++
	for _, r := range t {
		if n == len(rs)-1 {
			break
		}
		rs[n] = r
		n++
	}
	rs[n] = '$'
	n++
	count := 0
	for i := 0; i+3 <= n; i++ {
		c := gramCode(rs[i], rs[i+1], rs[i+2])
		dup := false
		for j := range i {
			if gramCode(rs[j], rs[j+1], rs[j+2]) == c {
				dup = true
				break
			}
		}
		if !dup {
			f(c)
			count++
		}
	}
	return count
}

func gramCode(a, b, c rune) uint64 { return uint64(a)<<42 | uint64(b)<<21 | uint64(c) }

// spelled reports that t is a word with letters that spelling variants make
// sense for: neither a gram of a script without spaces nor a bare number.
func spelled(t string) bool {
	if t == "" || t[0] < '0' {
		return false
	}
	r, _ := utf8.DecodeRuneInString(t)
	return r < 0xE00 || r >= 0x10A0 && r < 0x1780 || r >= 0x1E00 && r < 0x2000 || r >= 0xA000 && r < 0xAC00
}

func number(t string) bool {
	return strings.IndexFunc(t, func(r rune) bool { return (r < '0' || r > '9') && r != '.' }) < 0
}

// finish derives the vocabulary tables from the sorted terms.
func (s *segment) finish() {
	grams := map[uint64][]uint32{}
	var folds, stems keyPairs
	var keys []string
	s.runes = make([]uint8, s.terms())
	n := 0
	for i := range uint32(s.terms()) {
		t := s.term(i)
		if !spelled(t) || number(t) {
			continue
		}
		if p := text.StripAccents(t); p != t {
			folds = append(folds, keyPair{p, i})
		}
		keys = text.Stems(keys[:0], t)
		for k, key := range keys {
			if !slices.Contains(keys[:k], key) {
				stems = append(stems, keyPair{key, i})
			}
		}
		if r := utf8.RuneCountInString(t); r >= minGramRunes {
			s.runes[i] = uint8(min(r, text.MaxTerm))
			n += termGrams(t, func(c uint64) { grams[c] = append(grams[c], i) })
		}
	}
	s.folds, s.stems = folds.table(), stems.table()
	s.grams = flatGrams(grams, n)
}

func flatGrams(m map[uint64][]uint32, n int) gramTable {
	g := gramTable{codes: make([]uint64, 0, len(m)), first: make([]uint32, 0, len(m)+1), ids: make([]uint32, 0, n)}
	for c := range m {
		g.codes = append(g.codes, c)
	}
	slices.Sort(g.codes)
	for _, c := range g.codes {
		g.first = append(g.first, uint32(len(g.ids)))
		g.ids = append(g.ids, m[c]...)
	}
	g.first = append(g.first, uint32(len(g.ids)))
	return g
}
