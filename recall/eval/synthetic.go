package eval

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// syntheticWords is how many different words [Synthetic] writes with.
const syntheticWords = 40_000

// Synthetic makes n documents of about 2 KB, from words that are as unevenly common as those of prose (Zipf's law), and at
// most 100 cases, evenly spread, each about one document that has the name record<i> for itself. It is for measuring time and
// space; it says nothing about quality. The same n and seed make the same set.
func Synthetic(n int, seed uint64) *Set {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	zipf := rand.NewZipf(r, 1.15, 6, syntheticWords)
	word := func() string { return syntheticWord(zipf.Uint64() + 40) }
	set := &Set{Name: fmt.Sprintf("synthetic-%d", n), Docs: make([]Doc, n)}
	every := max(1, n/100)
	for i := range set.Docs {
		one, two := word(), word()
		var body strings.Builder
		for j := range 280 {
			body.WriteString(word())
			if j%12 == 11 {
				body.WriteString(".\n")
			} else {
				body.WriteByte(' ')
			}
		}
		set.Docs[i] = Doc{
			ID: fmt.Sprintf("m%d", i), Title: fmt.Sprintf("%s %s record%d", one, two, i), Type: "project",
			Description: strings.Join([]string{word(), word(), word(), word()}, " "), Body: body.String(),
			UpdatedAt: writtenAt.Add(time.Duration(i) * time.Second),
		}
		if i%every == 0 && len(set.Cases) < 100 {
			set.Cases = append(set.Cases, Case{
				ID: fmt.Sprintf("q%d", i), Query: fmt.Sprintf("how do we handle %s and %s for record%d", one, two, i),
				Relevant: []string{set.Docs[i].ID},
			})
		}
	}
	return set
}

// syntheticWord spells a number in syllables. 14 onsets, 6 vowels and 9 codas give words whose letters follow each other about
// as variedly as those of a language.
func syntheticWord(k uint64) string {
	onsets := [14]string{"b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "st"}
	codas := [9]string{"", "n", "r", "s", "l", "t", "nd", "ck", "m"}
	const vowels = "aeiouy"
	const syllables = uint64(len(onsets) * len(vowels) * len(codas))
	var w strings.Builder
	for ; k > 0; k /= syllables {
		w.WriteString(onsets[k%14])
		w.WriteByte(vowels[k/14%6])
		w.WriteString(codas[k/84%9])
	}
	return w.String()
}
