package main

import (
	"cmp"
	"slices"

	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/text"
)

// marks finds the words in s that the reasons of a hit name, wherever they
// stand: spans in bytes, sorted and apart.
func marks(s string, why []recall.Why) [][2]int {
	met := map[string]bool{}
	var tok text.Tokenizer
	for _, w := range why {
		tok.Each(w.Term, func(t text.Token) {
			// A name as a whole, or what it is the only part of; the other parts
			// were not met.
			if !single(t.Kind) && t.End-t.Start == len(w.Term) {
				met[string(t.Term)] = true
			}
		})
	}
	var spans [][2]int
	tok.Each(s, func(t text.Token) {
		if !single(t.Kind) && met[string(t.Term)] {
			spans = append(spans, [2]int{t.Start, t.End})
		}
	})
	return joined(spans)
}

// single tells of characters inside a longer run: they would dot the text.
func single(k text.Kind) bool { return k == text.Unigram || k == text.Cluster2 }

// joined sorts spans and joins those that touch.
func joined(spans [][2]int) [][2]int {
	slices.SortFunc(spans, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	var out [][2]int
	for _, s := range spans {
		if n := len(out); n > 0 && s[0] <= out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], s[1])
			continue
		}
		out = append(out, s)
	}
	return out
}
