package recall

import (
	"slices"
	"strings"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/text"
)

// admitted is the gate: whether what was met proves that the document is about
// the query. Silence is better than a memory that shares a word by accident.
func (s *scorer) admitted(a *sum) bool { return s.refusal(a) == "" }

// refusal is why the gate refuses what was met in a document, in a sentence for a
// person; empty when it does not.
func (s *scorer) refusal(a *sum) string {
	switch {
	case a.terms == 0:
		return "it meets only words that prove nothing: general ones, near spellings, or what nearly all memories hold"
	case s.q.Loose:
		return ""
	case a.terms == 1 && !a.head && s.widespread(int(a.term), a.exact):
		// A word that many texts use in passing makes none of them about it.
		return "the only word that it meets stands in its text alone, as in those of many others"
	case a.grams == 1 && a.terms == 1 && !a.named && s.clusters > 2:
		// One trigram out of the middle of unsegmented text is an accident.
		return "it meets only three letters out of the middle of a text without spaces"
	case float64(a.evidence) < (s.needed(a)-shareSlack)*s.total:
		return refusedShare
	}
	return ""
}

// refusedShare is a refusal that says more with the shares.
const refusedShare = "it meets too little of the query"

// needed is the share of the query's weight that a document must meet, of which so
// much was met.
func (s *scorer) needed(a *sum) float64 {
	if s.q.Loose {
		return 0
	}
	need := &s.p.Cover
	if a.named {
		need = &s.p.CoverNamed
	}
	return need[min(max(int(a.terms), 1), len(need))-1]
}

// shareSlack is taken off the share that must be met, which is often met exactly,
// as by one of two words that are as rare: evidence is summed in single precision,
// and how that rounds must decide nothing.
const shareSlack = 1e-4

// minCommonDocs is how many documents make "nearly all" mean something.
const minCommonDocs = 4

// evident tells whether meeting term t proves anything: it must be a content
// word, and not one that nearly every document has.
func (s *scorer) evident(t int) bool {
	if s.terms[t].topic != text.Content {
		return false
	}
	return s.q.Loose || s.census.docs < minCommonDocs || float64(s.df[t]) < s.p.Common*float64(s.census.docs)
}

// In stores of at least minSpreadStore documents so many may use the only word that
// a sentence has for its topic, as it is written or in another form, and their
// texts still be about it; in large stores the share [Params.Spread].
const (
	minSpreadStore = 20
	fewDocs        = 5
	fewOtherForms  = 3
)

// widespread tells whether more than a few of the documents that the caller may
// see use term t, and it is neither a name nor typed as a keyword.
func (s *scorer) widespread(t int, exact bool) bool {
	few := fewOtherForms
	if exact {
		few = fewDocs
	}
	few = max(few, int(s.p.Spread*float64(s.census.docs)))
	return s.sentence && !s.terms[t].name && s.census.docs >= minSpreadStore && s.df[t] > few && s.visibleDocs(t) > few
}

// visibleDocs is how many of the documents that the caller may see an admitting
// variant of term t met. It is counted when it is first asked for.
func (s *scorer) visibleDocs(t int) int {
	if s.seen == nil {
		s.seen = make([]int, len(s.terms))
	}
	if s.seen[t] == 0 {
		nv := len(s.ix.views)
		for v := range nv {
			s.seen[t] += s.count(v, s.variantsOf(t*nv+v), s.expired[v])
		}
	}
	return s.seen[t]
}

// expected is what term t adds to the weight that a document should meet. The
// joined form of an identifier and the grams that hold an inflecting ending add
// to it only when they are met.
func (s *scorer) expected(t int) float64 {
	q := &s.terms[t]
	switch {
	case q.topic != text.Content, s.df[t] > 0 && !s.evident(t):
		return 0
	case s.df[t] > 0:
		return s.idf[t]
	case q.optional || q.kind == text.Whole:
		return 0
	case q.kind >= text.Bigram:
		return s.idf[t] * s.p.UnknownGram
	}
	return s.idf[t] * s.p.UnknownWord
}

// typeCues are words that name a kind of memory.
var typeCues = map[string][]string{
	memory.TypeUser:      strings.Fields("preference preferences prefer background role habit"),
	memory.TypeFeedback:  strings.Fields("feedback rule rules avoid style convention"),
	memory.TypeProject:   strings.Fields("project goal goals incident deadline release decision"),
	memory.TypeReference: strings.Fields("reference dashboard ticket docs doc link url"),
}

// cueScore is what one cue word adds, maxCues how many count. They decide between
// near equals only.
const (
	cueScore = 0.05
	maxCues  = 2
)

// typeCue is what the query's cue words add to a document of their type, two
// words at most.
func (s *scorer) typeCue(d *memory.Document) float64 {
	n := 0
	for i := range s.terms {
		if slices.Contains(typeCues[d.Type], s.terms[i].term) {
			n++
		}
	}
	return cueScore * float64(min(n, maxCues))
}

// mostCue is what typeCue adds at most.
func (s *scorer) mostCue() float64 {
	for i := range s.terms {
		for _, words := range typeCues {
			if slices.Contains(words, s.terms[i].term) {
				return cueScore * maxCues
			}
		}
	}
	return 0
}
