package memory

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
)

// Secret is a place in a text that looks like a credential. It names the rule
// that found it and never carries the value: a message made of it can be shown
// and logged.
type Secret struct {
	Rule string // as "github-token"; stable, clients may match it
	Span Span   // in the text that was searched
}

// FindSecrets finds what looks like a credential in a text, in order, at most
// one for a place. Its cost is linear in the text.
//
// A file is written by a person, who knows better than a pattern: rules are made
// so that prose, code, hashes and placeholders pass, and miss rather a secret
// in a shape of its own than refuse an ordinary note.
func FindSecrets(text string) []Secret {
	rules := secretRules()
	var found []Secret
	// A credential that is known by its surroundings stands on their line; one
	// that is marked may be wrapped. Lower case decides only which rules are
	// worth their time: it may shift places.
	lower := strings.ToLower(text)
	var onLines []*secretRule
	for i := range rules {
		switch r := &rules[i]; {
		case !r.hinted(lower):
		case r.line:
			onLines = append(onLines, r)
		default:
			found = r.find(found, text, Span{0, len(text)})
		}
	}
	for pos := 0; pos < len(text) && len(onLines) > 0; {
		line, next := lineAt(text, pos)
		lower := strings.ToLower(text[line.Start:line.End])
		var last *string // the hints that were looked for last; rules share them
		said := false
		for _, r := range onLines {
			if h := &r.hints[0]; h != last {
				last, said = h, r.hinted(lower)
			}
			if said {
				found = r.find(found, text, line)
			}
		}
		pos = next
	}
	slices.SortStableFunc(found, func(a, b Secret) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	kept, end := found[:0], 0
	for _, s := range found {
		if s.Span.Start >= end {
			kept, end = append(kept, s), s.Span.End
		}
	}
	return kept
}

// AddedSecrets finds the credentials in after that before does not hold already:
// what stood in a file stays its author's business, wherever in it it is moved.
func AddedSecrets(before, after string) []Secret {
	found := FindSecrets(after)
	return slices.DeleteFunc(found, func(s Secret) bool {
		return strings.Contains(before, after[s.Span.Start:s.Span.End])
	})
}

// SecretRules are the names of the rules that found something, each once and
// sorted.
func SecretRules(found []Secret) []string {
	var names []string
	for _, s := range found {
		names = append(names, s.Rule)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// secretRule is one kind of credential.
type secretRule struct {
	name string
	// hints are lower-case texts of which every match holds one.
	hints   []string
	pattern *regexp.Regexp
	value   int // the group of the pattern that is the credential; 0 is all of it
	line    bool
	// check looks closer at a match; nil takes all.
	check func(secretMatch) bool
	// scan finds what no pattern does, in a part of the text; then there is no
	// pattern.
	scan func(text string, within Span) []Span
}

func (r *secretRule) hinted(lower string) bool {
	return len(r.hints) == 0 || slices.ContainsFunc(r.hints, func(h string) bool { return strings.Contains(lower, h) })
}

// find appends the credentials that the rule finds within a part of the text.
func (r *secretRule) find(found []Secret, text string, within Span) []Secret {
	if r.scan != nil {
		for _, s := range r.scan(text, within) {
			found = append(found, Secret{Rule: r.name, Span: s})
		}
		return found
	}
	for _, at := range r.pattern.FindAllStringSubmatchIndex(text[within.Start:within.End], -1) {
		for i := range at {
			if at[i] >= 0 {
				at[i] += within.Start
			}
		}
		m := secretMatch{text: text, at: at}
		if s := m.span(r.value); s.Len() > 0 && m.alone(s) && (r.check == nil || r.check(m)) {
			found = append(found, Secret{Rule: r.name, Span: s})
		}
	}
	return found
}

// secretMatch is a match of a rule's pattern.
type secretMatch struct {
	text string
	at   []int
}

// group is the text of a group of the pattern; empty when it took no part.
func (m secretMatch) group(i int) string {
	s := m.span(i)
	return m.text[s.Start:s.End]
}

// next is the byte behind a group; 0 at the end.
func (m secretMatch) next(i int) byte {
	if end := m.span(i).End; end < len(m.text) {
		return m.text[end]
	}
	return 0
}

// span is where a group stands.
func (m secretMatch) span(i int) Span {
	if 2*i+1 >= len(m.at) || m.at[2*i] < 0 {
		return Span{}
	}
	return Span{m.at[2*i], m.at[2*i+1]}
}

// alone tells whether a value is no piece of a longer word: the middle of a
// base64 text can look like anything.
func (m secretMatch) alone(s Span) bool {
	before := s.Start == 0 || !wordLike(m.text[s.Start-1])
	after := s.End == len(m.text) || !wordLike(m.text[s.End])
	return before && after
}

func wordLike(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

// entropy is the Shannon entropy of the bytes of s, in bits a byte.
func entropy(s string) float64 {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	sum, n := 0.0, float64(len(s))
	for i := range counts {
		if counts[i] > 0 {
			p := float64(counts[i]) / n
			sum -= p * math.Log2(p)
		}
	}
	return sum
}

// classes counts the kinds of characters in a text: lower-case, upper-case,
// digits, others.
type classes struct{ lower, upper, digit, other int }

func classesOf(s string) (c classes) {
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z':
			c.lower++
		case r >= 'A' && r <= 'Z':
			c.upper++
		case r >= '0' && r <= '9':
			c.digit++
		default:
			c.other++
		}
	}
	return c
}

// kinds is how many kinds of characters there are.
func (c classes) kinds() int {
	n := 0
	for _, v := range []int{c.lower, c.upper, c.digit, c.other} {
		if v > 0 {
			n++
		}
	}
	return n
}
