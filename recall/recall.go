// Package recall finds the memories that a query is about: it keeps an inverted
// index beside the catalog's snapshots, ranks over it without touching a file,
// picks the passage that matched, and renders what was chosen for a prompt.
//
// The deterministic scorer is a field-weighted BM25 over terms that a query
// word expands to in the vocabulary (itself, its accents, its inflections,
// longer words that begin with it or hold it, near spellings). What may make a
// document a candidate, and what may only raise one, is decided in gate.go.
package recall

import (
	"time"

	"github.com/memls/memls/memory"
)

const (
	// MaxFastDocs is how many documents the fast result carries at most.
	MaxFastDocs = 2
	// MaxRelevantDocs is how many documents one delivery carries at most.
	MaxRelevantDocs = 5
	// PassageRunes bounds the passage of a body that is delivered, in code points.
	PassageRunes = 1200
	// maxQueryTokens bounds the distinct tokens of a query: the first and the
	// last half of this many are used.
	maxQueryTokens = 64
	// maxQueryBytes bounds how much of either end of a query is read.
	maxQueryBytes = 64 << 10
)

// The fields of a document, as named in Why.Field.
const (
	FieldTitle       = "title"
	FieldDescription = "description"
	FieldKeywords    = "keywords"
	FieldScenarios   = "usage_scenarios"
	FieldBody        = "body"
)

// The ways in which a query word meets a word of a document, as in Why.Match.
const (
	MatchExact   = "exact"
	MatchFold    = "fold"    // equal but for accents
	MatchPart    = "part"    // a piece of an identifier, or inside a longer word
	MatchPrefix  = "prefix"  // an inflection, or the beginning of a longer word
	MatchGram    = "gram"    // shared character sequences only
	MatchConcept = "concept" // another word for the same, or the word in another language
	// MatchSemantic is a nearness in meaning, of no word in particular: Why.Term is empty.
	MatchSemantic = "semantic"
)

// Query is one question to the index. The zero values of its filters admit all.
type Query struct {
	Text        string
	Limit       int // at most this many hits; 0 means MaxRelevantDocs
	Scopes      []memory.Scope
	Types       []string
	Folder      string // with a folder, project and team roots of other folders are out
	Exclude     map[string]bool
	RecentTools []string
	Now         time.Time // decides expiry; required
	Prefix      bool      // the last word may be unfinished (people type)
	Inactive    bool      // superseded and expired memories too
	Trace       bool
	// Loose admits every document that one content word meets: for a person who
	// searches and looks through a list, not for an agent.
	Loose bool
	// Feedback answers what the verdicts on a memory come to, by ref: above zero for
	// it, below against it. It decides between equal scores only. Nil: none.
	Feedback func(ref string) int
	// Held says what the caller's context already holds; nil holds nothing.
	Held Held
}

// Held is the caller's record of what was delivered before. For a document it
// answers the passages delivered of its present text, and whether an earlier
// text of it was delivered. Len is how many documents it holds anything of, at
// most.
type Held interface {
	Delivered(d *memory.Document) (passages []memory.Span, older bool)
	Len() int
}

// State says why a document that was delivered before comes again.
type State string

// The states of a hit.
const (
	StateNew     State = "new"
	StateUpdated State = "updated" // its text has changed since it was delivered
	StateMore    State = "more"    // another passage of a delivered memory
)

// Why is one reason for a hit: a word of the query and where it was met.
type Why struct {
	Field string
	Term  string // the word as the document has it
	Match string
}

// Hit is one ranked document.
type Hit struct {
	Doc       *memory.Document
	Score     float64
	State     State
	Passage   memory.Span // in Doc.Text; empty when the body is
	Truncated bool        // the body goes on before or after the passage
	Why       []Why
	// Gone says what the memory names that is not there any more, as the caller
	// knows it; empty when nothing is known.
	Gone string
}

// Ranking is the answer to a Query.
type Ranking struct {
	Hits []Hit
	// Held are the refs of documents that matched and were left out because the
	// caller holds them already.
	Held []string
	// Total counts the documents that passed the gate, before any limit.
	Total int
	// Searchable is false when the query holds no word that could match.
	Searchable bool
	// Trace is set when the query asked for it.
	Trace *Trace

	pool     []candidate               // what was weighed, for hits and for a model to choose from
	crossed  map[*memory.Document]bool // those of the pool that speak of the same things in other words
	near     int                       // how many of the pool score well enough for hits
	next     int                       // the first of the pool that was not made a hit or passed over
	later    []candidate               // before it, what a fast result had no time for
	limit    int
	complete bool
	lexical  map[*memory.Document]int // ranks by score alone; with a trace only
	// What meaning adds, in a ranking in which it takes part.
	order     []*memory.Document           // of words and meaning together; nil without
	sums      map[*memory.Document]float64 // what order is by
	meaning   map[*memory.Document]nearness
	floor     float64
	askedNear *float64                // how near the document is that was asked about
	scorer    *scorer                 // Inv: closed; only its hits are asked for
	noise     func(usage string) bool // nil when no tool is in use
}
