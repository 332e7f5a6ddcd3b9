package memory

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxStrange bounds the unknown keys of one header that are compared with the
// known ones.
const maxStrange = 64

// strangeKey is a key of a header that fills nothing.
type strangeKey struct {
	name string // canonical
	span Span
}

// strange notes an unknown key.
func (p *parser) strange(name string, at Span) {
	if len(p.unknown) < maxStrange {
		p.unknown = append(p.unknown, strangeKey{name, at})
	}
}

// misspelt reports the unknown keys that are most likely meant as a known one
// which the header lacks. Others belong to other programs and are nobody's
// mistake.
func (p *parser) misspelt(h header) {
	for _, k := range p.unknown {
		near := NearestKey(k.name)
		if near == "" {
			continue
		}
		if _, there := h.get(near); there {
			continue
		}
		p.problem(k.span, ProblemKey, SeverityInfo, fmt.Sprintf("the key %s is not read; did you mean %s?", CleanLine(k.name), near))
	}
}

// NearestKey is the key of the header that a name is most likely a misspelling of, or
// empty.
func NearestKey(name string) string {
	if name == "created" {
		return "" // many programs write it, and here it would decide nothing
	}
	joined := strings.ReplaceAll(strings.ReplaceAll(name, "_", ""), " ", "")
	best, least := "", 3
	for _, known := range slices.Sorted(maps.Keys(knownKeys)) {
		plain := strings.ReplaceAll(known, "_", "")
		switch {
		case joined == plain, strings.TrimSuffix(known, "_at") == name:
			return known
		}
		n := utf8.RuneCountInString(plain)
		if n < 4 || utf8.RuneCountInString(joined) > n+2 {
			continue
		}
		if d := editDistance(joined, plain); d < least && (d == 1 && (n > 4 || len(joined) != n || sameLetters(joined, plain)) || d == 2 && n >= 8) {
			best, least = known, d
		}
	}
	return best
}

// sameLetters tells whether two words differ only in the order of their letters.
// Of words as short as "name" and "type" one letter more makes another word.
func sameLetters(a, b string) bool {
	x, y := []rune(a), []rune(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// editDistance is how many letters must be added, dropped, exchanged or swapped
// with their neighbour to make one word of the other.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
