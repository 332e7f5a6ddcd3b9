package recall

import (
	"strings"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/text"
)

// maxReasons bounds how many reasons a hit carries.
const maxReasons = 16

// reasons lists which words of the document met the query, field by field, each
// word of the query once a field, a passage standing for the body.
func (s *scorer) reasons(d *memory.Document, passage memory.Span) []Why {
	why := []Why{}
	type place struct {
		field string
		term  int
	}
	at := map[place]int{}
	best := map[place]float32{}
	scan := func(field, body string, bit uint8) {
		s.tok.Each(body, func(t text.Token) {
			m, ok := s.met[string(t.Term)]
			if !ok || !indexed(t, bit) || t.Kind == text.Unigram || t.Kind == text.Cluster2 {
				return
			}
			w := Why{Field: field, Term: body[t.Start:t.End], Match: m.match}
			if w.Match == MatchExact && t.Kind == text.Part {
				w.Match = MatchPart
			}
			p := place{field, m.term}
			i, seen := at[p]
			switch {
			case seen && m.share > best[p]:
				why[i], best[p] = w, m.share
			case !seen && len(why) < maxReasons:
				at[p], best[p] = len(why), m.share
				why = append(why, w)
			}
		})
	}
	scan(FieldTitle, d.Title, bitTitle)
	scan(FieldDescription, d.Description, bitDescription)
	scan(FieldKeywords, strings.Join(d.Keywords, "\n"), bitKeywords)
	scan(FieldScenarios, strings.Join(d.Scenarios, "\n"), bitScenarios)
	scan(FieldBody, d.Text[passage.Start:passage.End], 0)
	return why
}
