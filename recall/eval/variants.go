package eval

import "github.com/memls/memls/recall"

// Variants answers the scorer in use and, beside it, the same with each of its
// choices undone: what one is worth shows in how much worse the scorer is without.
func Variants() []Variant {
	vs := []Variant{{MemlsName, "the scorer in use", recall.DefaultParams()}}
	for _, c := range choices() {
		p := recall.DefaultParams()
		c.undo(&p)
		vs = append(vs, Variant{c.name, c.about, p})
	}
	return vs
}

type choice struct {
	name, about string
	undo        func(*recall.Params)
}

func without(name, about string, s recall.Signal) choice {
	return choice{name, about, func(p *recall.Params) { p.Without |= s }}
}

func choices() []choice {
	return []choice{
		without("no-accents", "words that differ in accents do not meet", recall.SignalAccents),
		without("no-stems", "inflections do not meet", recall.SignalStems),
		without("no-beginnings", "longer words that begin with a word of the query do not meet it", recall.SignalBeginnings),
		without("no-spellings", "neither near spellings nor longer words around a word of the query raise a score", recall.SignalSpellings),
		without("no-characters", "single characters, and pairs of clusters, of scripts without spaces do not raise a score", recall.SignalCharacters),
		without("no-concepts", "a query that shares no word with a memory stays without an answer", recall.SignalConcepts),
		{"no-sequences", "the best are not raised by the sequences of three letters that they share with the query", func(p *recall.Params) { p.Sequences = 0 }},
		{"no-general", "general words (use, want, new) do not raise a score", func(p *recall.Params) { p.Weak = 0 }},
		{"flat-fields", "an occurrence counts the same in every field", func(p *recall.Params) {
			p.Title, p.Description, p.Keywords, p.Scenarios = p.Body, p.Body, p.Body, p.Body
		}},
		{"no-lengths", "long texts are not held against their length", func(p *recall.Params) { p.B, p.HeadB = 0, 0 }},
		{"k1-low", "k1 0.9, b 0.4 instead of BM25's usual 1.2 and 0.75", func(p *recall.Params) { p.K1, p.B = 0.9, 0.4 }},
		{"no-shares", "one word of any weight proves that a document is about the query", func(p *recall.Params) {
			p.Cover, p.CoverNamed = [4]float64{}, [4]float64{}
		}},
		{"no-unknown", "words that no memory has do not count as missed", func(p *recall.Params) { p.UnknownWord = 0 }},
		{"no-common", "words that nearly all memories have prove something", func(p *recall.Params) { p.Common = 2 }},
		{"no-spread", "the only topical word of a sentence proves something however many texts use it", func(p *recall.Params) { p.Spread = 1 }},
		{"no-relative", "what scores far below the best stays", func(p *recall.Params) { p.Relative = 0 }},
	}
}
