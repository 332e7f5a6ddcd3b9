package concept_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/memls/memls/recall/concept"
	"github.com/memls/memls/recall/text"
)

const (
	leastConcepts  = 400
	leastLanguages = 10
)

func lexicon(t *testing.T) *concept.Lexicon {
	t.Helper()
	l, err := concept.Parse(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestFormOfTheLexicon holds what the lexicon promises of every concept.
func TestFormOfTheLexicon(t *testing.T) {
	l := lexicon(t)
	if n := len(l.Concepts); n < leastConcepts {
		t.Errorf("%d concepts, want %d", n, leastConcepts)
	}
	if n := len(concept.Default().Concepts); n != len(l.Concepts) {
		t.Errorf("the program carries %d concepts of %d", n, len(l.Concepts))
	}
	names := map[string]string{}
	for i := range l.Concepts {
		c := &l.Concepts[i]
		if file, ok := names[c.Name]; ok {
			t.Errorf("%s: %q stands in %s, too", c.File, c.Name, file)
		}
		names[c.Name] = c.File
		if i > 0 && l.Concepts[i-1].File == c.File && l.Concepts[i-1].Name >= c.Name {
			t.Errorf("%s: %q does not come after %q", c.File, c.Name, l.Concepts[i-1].Name)
		}
		checkTerms(t, c)
	}
}

func checkTerms(t *testing.T, c *concept.Concept) {
	t.Helper()
	order := concept.Languages()
	var langs []string
	seen := map[string]bool{}
	for _, term := range c.Terms {
		if n := len(langs); n == 0 || langs[n-1] != term.Lang {
			langs = append(langs, term.Lang)
		}
		s := term.Text
		switch {
		case s == "" || strings.TrimSpace(s) != s || strings.Contains(s, "  ") || strings.ContainsAny(s, ",\t"):
			t.Errorf("%s: %s: %s term %q is not trimmed", c.File, c.Name, term.Lang, s)
		case !norm.NFC.IsNormalString(s):
			t.Errorf("%s: %s: %q is not normalised", c.File, c.Name, s)
		case len(term.Words) == 0:
			t.Errorf("%s: %s: nothing of %q can be looked for", c.File, c.Name, s)
		case !telling(&term):
			t.Errorf("%s: %s: %q holds general words only", c.File, c.Name, s)
		case seen[term.Lang+s]:
			t.Errorf("%s: %s: %q stands twice", c.File, c.Name, s)
		}
		seen[term.Lang+s] = true
	}
	if len(langs) < leastLanguages {
		t.Errorf("%s: %s: %d languages, want %d", c.File, c.Name, len(langs), leastLanguages)
	}
	if !slices.IsSortedFunc(langs, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) }) || len(slices.Compact(slices.Sorted(slices.Values(langs)))) != len(langs) {
		t.Errorf("%s: %s: languages in the order %v", c.File, c.Name, langs)
	}
}

// telling tells whether a term holds a word that is about something. One character
// of a script that writes words in one or two is about too much.
func telling(term *concept.Term) bool {
	return slices.ContainsFunc(term.Words, func(w concept.Word) bool { return text.TopicOf(w.Text) == text.Content })
}

// TestTermsOfOneConcept holds that a word leads to one concept, unless the file of
// shared terms says why it leads to several.
func TestTermsOfOneConcept(t *testing.T) {
	l := lexicon(t)
	of := map[string][]string{}
	text := map[string]string{}
	for i := range l.Concepts {
		for _, term := range l.Concepts[i].Terms {
			k := term.Key()
			if !slices.Contains(of[k], l.Concepts[i].Name) {
				of[k] = append(of[k], l.Concepts[i].Name)
			}
			text[k] = term.Text
		}
	}
	for k, names := range of {
		if len(names) > 1 && l.Shared[k] == "" {
			t.Errorf("%q stands in %q, and shared.txt gives no reason", text[k], names)
		}
	}
	for k, reason := range l.Shared {
		if len(of[k]) < 2 || len(reason) < 10 {
			t.Errorf("shared.txt: %q stands in %q, reason %q", k, of[k], reason)
		}
	}
}
