package eval

import (
	"slices"
	"strings"

	"github.com/memls/memls/recall/text"
)

// SharesWord tells whether a relevant document of the case holds a word of its query that is about something, in the same or
// another inflection: whether a ranker that knows words only can answer it. Unanswerable cases share none.
func (s *Set) SharesWord(c *Case) bool {
	asked := contentKeys(c.Query)
	for i := range s.Docs {
		d := &s.Docs[i]
		if !slices.Contains(c.Relevant, d.ID) {
			continue
		}
		fields := append([]string{d.Title, d.Description, d.Body}, d.Keywords...)
		for key := range contentKeys(strings.Join(fields, "\n")) {
			if asked[key] {
				return true
			}
		}
	}
	return false
}

// contentKeys are the folded content words of s and their stems. Single characters of scripts without spaces count only
// where they stand alone: inside a run nearly every text shares some.
func contentKeys(s string) map[string]bool {
	keys := map[string]bool{}
	var t text.Tokenizer
	var stems []string
	t.Each(s, func(tok text.Token) {
		switch tok.Kind {
		case text.Unigram, text.Cluster2:
			return
		case text.Word:
			if text.TopicOf(string(tok.Term)) != text.Content {
				return
			}
		}
		term := string(tok.Term)
		keys[term], keys[text.StripAccents(term)] = true, true
		stems = text.Stems(stems[:0], term)
		for _, stem := range stems {
			keys["\x03"+stem] = true
		}
	})
	return keys
}
