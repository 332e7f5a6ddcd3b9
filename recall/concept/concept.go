// Package concept is a lexicon of what developers speak of: a concept (deploy) with
// the words for it in many languages (rollout, Bereitstellung, 部署, деплой). Recall
// crosses it when a query shares no word with a memory. The files in lexicon are
// its only source; their form is described in docs/retrieval.md.
package concept

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/memls/memls/recall/text"
)

//go:embed lexicon/*.txt
var files embed.FS

// Concept is one thing with the words for it.
type Concept struct {
	Name  string
	File  string // where it stands
	Terms []Term
}

// Term is one word for a concept, or a few that belong together.
type Term struct {
	Lang  string // BCP 47
	Text  string
	Words []Word // what must be met, all of it; function words are left out
}

// Word is one word of a term as an index holds it.
type Word struct {
	Text  string // folded
	Plain string // without accents
	Stem  string // its stem key by the endings of its language, "" where it has none
}

// Lexicon is an immutable set of concepts.
type Lexicon struct {
	Concepts []Concept
	// Shared holds the terms that stand in several concepts on purpose, with the
	// reason.
	Shared map[string]string

	uses map[string][]use // by word, plain word and stem key
}

// use is a word of a term of a concept.
type use struct{ concept, term, word int }

// Default answers the lexicon that comes with the program. It is read when first
// asked for.
func Default() *Lexicon { return load().lexicon }

type loaded struct {
	lexicon *Lexicon
	err     error
}

// load reads the embedded files once. Inv: they parse; the tests of this package
// hold it, and a lexicon that did not would be empty.
var load = sync.OnceValue(func() loaded {
	l, err := Parse(files)
	if err != nil {
		return loaded{&Lexicon{}, err}
	}
	return loaded{l, nil}
})

// sharedFile lists terms that several concepts have.
const sharedFile = "shared.txt"

// Languages are those of the lexicon, in the order in which a concept lists them.
func Languages() []string {
	return []string{"en", "de", "fr", "es", "pt", "ru", "zh", "ja", "ko", "ar", "hi", "tr"}
}

// Parse reads a lexicon from the folder "lexicon" of fsys: files of paragraphs, the
// first line of which names a concept, and every other line of which gives a
// language and the terms of it, separated by commas. Lines that begin with "#" are
// for people. Errors name file and line.
func Parse(fsys fs.FS) (*Lexicon, error) {
	names, err := fs.Glob(fsys, "lexicon/*.txt")
	if err != nil {
		return nil, err
	}
	l := &Lexicon{Shared: map[string]string{}}
	var faults []error
	for _, name := range names {
		raw, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(name, "/"+sharedFile) {
			faults = append(faults, l.parseShared(name, string(raw)))
			continue
		}
		faults = append(faults, l.parse(name, string(raw)))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	l.index()
	return l, nil
}

func (l *Lexicon) parse(file, raw string) error {
	var c *Concept
	number := 0
	for line := range strings.Lines(raw) {
		number++
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "#"):
		case line == "":
			c = nil
		case c == nil:
			l.Concepts = append(l.Concepts, Concept{Name: line, File: file})
			c = &l.Concepts[len(l.Concepts)-1]
		default:
			lang, list, ok := strings.Cut(line, " ")
			if !ok || !slices.Contains(Languages(), lang) {
				return fmt.Errorf("%s:%d: %q does not begin with a language of the lexicon and a space", file, number, line)
			}
			for _, t := range strings.Split(list, ", ") {
				c.Terms = append(c.Terms, newTerm(lang, t))
			}
		}
	}
	return nil
}

func (l *Lexicon) parseShared(file, raw string) error {
	number := 0
	for line := range strings.Lines(raw) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		term, reason, ok := strings.Cut(line, ": ")
		if !ok {
			return fmt.Errorf("%s:%d: %q is no term with a reason", file, number, line)
		}
		l.Shared[newTerm("", term).Key()] = reason
	}
	return nil
}

// stemTables are the first letters of the stem keys of a language.
var stemTables = map[string]string{"en": "e", "de": "g", "fr": "r", "es": "r", "pt": "r", "ru": "c", "ar": "a", "hi": "d", "tr": "t"}

// leastStem is how many code points of a word must be left for its other forms to
// count: what a shorter stem has in common with others says little.
const leastStem = 4

func newTerm(lang, s string) Term {
	t := Term{Lang: lang, Text: s}
	var tok text.Tokenizer
	tok.Each(text.Compose(s), func(k text.Token) {
		switch k.Kind {
		case text.Whole, text.Unigram, text.Cluster2:
			return
		}
		w := Word{Text: string(k.Term)}
		if k.Kind <= text.Part && text.TopicOf(w.Text) == text.Function {
			return
		}
		w.Plain = text.StripAccents(w.Text)
		if k.Kind <= text.Part && !k.Short {
			for _, key := range text.Stems(nil, w.Text) {
				if table := stemTables[lang]; table != "" && strings.HasPrefix(key, table) && utf8.RuneCountInString(key) > leastStem {
					w.Stem = key
				}
			}
		}
		t.Words = append(t.Words, w)
	})
	return t
}

// Key is what makes two terms the same, in whatever language.
func (t Term) Key() string {
	words := make([]string, len(t.Words))
	for i, w := range t.Words {
		words[i] = w.Text
	}
	return strings.Join(words, " ")
}

// index fills the table of uses.
func (l *Lexicon) index() {
	l.uses = map[string][]use{}
	for c := range l.Concepts {
		for t := range l.Concepts[c].Terms {
			for w, word := range l.Concepts[c].Terms[t].Words {
				u := use{c, t, w}
				l.uses[word.Text] = append(l.uses[word.Text], u)
				if word.Plain != word.Text {
					l.uses[word.Plain] = append(l.uses[word.Plain], u)
				}
				if word.Stem != "" {
					l.uses["\x03"+word.Stem] = append(l.uses["\x03"+word.Stem], u)
				}
			}
		}
	}
}

// Asked is a word of a query.
type Asked struct {
	Text, Plain string
	Stems       []string
}

// Match is a concept that a query names, with the words that name it.
type Match struct {
	Concept *Concept
	Words   []int  // indices of the words asked, ascending
	Lang    string // the language of the term that they are
}

// Find answers the concepts that words name, each word for one concept: of terms
// that overlap the one of more words wins, then the one that stands first. A word
// whose term has further words which the query lacks names nothing by itself.
func (l *Lexicon) Find(words []Asked) []Match {
	type at struct{ concept, term int }
	met := map[at]map[int]int{} // word of the term -> word asked
	var order []at
	for i, a := range words {
		for _, u := range l.usesOf(a) {
			k := at{u.concept, u.term}
			if met[k] == nil {
				met[k] = map[int]int{}
				order = append(order, k)
			}
			if _, ok := met[k][u.word]; !ok {
				met[k][u.word] = i
			}
		}
	}
	order = slices.DeleteFunc(order, func(k at) bool { return len(met[k]) < len(l.Concepts[k.concept].Terms[k.term].Words) })
	slices.SortStableFunc(order, func(a, b at) int { return len(met[b]) - len(met[a]) })
	taken := map[int]bool{}
	var out []Match
	for _, k := range order {
		m := Match{Concept: &l.Concepts[k.concept], Lang: l.Concepts[k.concept].Terms[k.term].Lang}
		free := true
		for _, i := range met[k] {
			free = free && !taken[i]
			if !slices.Contains(m.Words, i) {
				m.Words = append(m.Words, i)
			}
		}
		if !free {
			continue
		}
		for _, i := range m.Words {
			taken[i] = true
		}
		slices.Sort(m.Words)
		out = append(out, m)
	}
	return out
}

func (l *Lexicon) usesOf(a Asked) []use {
	us := slices.Clone(l.uses[a.Text])
	if a.Plain != a.Text {
		us = append(us, l.uses[a.Plain]...)
	}
	for _, s := range a.Stems {
		us = append(us, l.uses["\x03"+s]...)
	}
	return us
}
