package recall

// Params are the constants of the scorer. Nil in a [Query] means
// [DefaultParams]; evaluation compares others with them.
type Params struct {
	// K1 and B are BM25's saturation and length normalisation; 1.2 and 0.75 are
	// its usual values, and beat 0.9 and 0.4 on every set measured.
	K1, B float64
	// Weights of an occurrence in the title, description, keywords, usage
	// scenarios and body.
	Title, Description, Keywords, Scenarios, Body float64
	// HeadB normalises the fields of the head by their joint length.
	HeadB float64
	// Without leaves signals out, to find out what each is worth.
	Without Signal
	// Cover[n-1] is the share of the query's weight that a document must meet
	// when n words of it count as evidence (the last for more); CoverNamed the
	// same when one of them stands in a title, keyword or scenario.
	Cover, CoverNamed [4]float64
	// UnknownWord and UnknownGram are what a word or a gram of the query that no
	// document has counts in that share.
	UnknownWord, UnknownGram float64
	// Common is the share of the documents from which on a word proves nothing.
	Common float64
	// Spread is the share of the documents above which the only word that a
	// sentence has for its topic proves nothing where it stands in a text alone.
	Spread float64
	// Relative is the share of the best score that a hit must reach.
	Relative float64
	// Sequences is the share of the best score that the best match of three-letter
	// sequences gains.
	Sequences float64
	// ConceptAgree is the share of the query's weight that a document must meet which
	// speaks of two things that the query is about, one of them in other words;
	// ConceptAlone the same when it is one, of which at most the share ConceptRare of
	// the documents speaks. A concept of which the share ConceptCommon speaks proves
	// nothing. ConceptScore is what a concept counts against a word.
	ConceptAgree, ConceptAlone, ConceptRare, ConceptCommon, ConceptScore float64
	// ConceptBody is what speaking of a concept in the body alone counts against
	// speaking of it in the head. ConceptFill is how many such documents at most
	// follow where something was met directly.
	ConceptBody float64
	// ConceptForeign is what a word of the query that no document has counts where
	// the document speaks of the concept in another language.
	ConceptForeign float64
	ConceptFill    int
	// Unigram is what one character of a longer run counts against a whole word, Weak
	// a general word (use, want), Masked a gram that touches a function word.
	Unigram, Weak, Masked float64
}

// DefaultParams are the constants that the labelled sets decided.
func DefaultParams() Params {
	return Params{
		K1: 1.2, B: 0.75,
		Title: 4, Description: 3, Keywords: 4, Scenarios: 3, Body: 1, HeadB: 0.5,
		Cover: [4]float64{0.5, 0.25, 0.15, 0.1}, CoverNamed: [4]float64{0.4, 0.2, 0.12, 0.08},
		UnknownWord: 1, UnknownGram: 0, Common: 0.8, Spread: 0.03,
		Relative: 0.15, Sequences: 0.25,
		ConceptAgree: 0.4, ConceptAlone: 0.6, ConceptRare: 0.01, ConceptCommon: 0.2, ConceptScore: 0.3, ConceptBody: 0.5, ConceptFill: 2, ConceptForeign: 0.5,
		Unigram: 0.25, Weak: 0.5, Masked: 0.35,
	}
}

// Signal is a set of ways in which the scorer finds or tells apart documents,
// beyond equal words.
type Signal uint32

// The signals, each of which [Params.Without] can leave out.
const (
	SignalAccents    Signal = 1 << iota // words equal but for accents
	SignalStems                         // inflections
	SignalBeginnings                    // longer words that begin with the word
	SignalSpellings                     // near spellings, and longer words that hold the word
	SignalConcepts                      // other words for the same, when nothing else is met
	SignalCharacters                    // single characters and pairs of clusters of scripts without spaces
)

// has tells whether a signal is in use.
func (p *Params) has(s Signal) bool { return p.Without&s == 0 }
