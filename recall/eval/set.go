package eval

import (
	"strings"
	"time"
)

// Doc is one document of a labelled set.
type Doc struct {
	ID          string
	Title       string
	Description string
	Type        string // "user", "feedback", "project", "reference", or whatever the set says; may be empty
	Body        string
	Keywords    []string
	Status      string    // "active", "superseded" or "expired"; empty means active
	UpdatedAt   time.Time // zero when the set gives none
	Scope       string    // a partition of the set: a case with a scope searches only documents of that scope
}

// Active says whether a recall may return the document at all: it is neither superseded nor expired.
func (d *Doc) Active() bool { return d.Status == "" || d.Status == "active" }

// Case is one query with its answer.
type Case struct {
	ID       string
	Query    string
	Relevant []string // ids of the documents that answer the query; empty: nothing should be returned
	Lang     string   // language of the query, a BCP 47 tag
	Slice    string   // what the case probes, "" when the set does not slice
	Top      string   // the one document that belongs at the first place, "" when any relevant one will do
	Scope    string
}

// Answerable says whether any document of the set answers the case.
func (c *Case) Answerable() bool { return len(c.Relevant) > 0 }

// Set is a labelled set. A set that comes from [Load] is consistent: ids are unique, and every relevant id names a document
// that the case's scope admits.
type Set struct {
	Name  string
	Docs  []Doc
	Cases []Case
}

// Pool answers the documents that a case of the given scope searches, in the order of the set. The empty scope searches all.
func (s *Set) Pool(scope string) []Doc {
	if scope == "" {
		return s.Docs
	}
	var pool []Doc
	for i := range s.Docs {
		if s.Docs[i].Scope == scope {
			pool = append(pool, s.Docs[i])
		}
	}
	return pool
}

// Ranker answers ids of documents for a query, best first, at most k of them, each once. An empty answer is silence.
// A Ranker is used by one goroutine at a time.
type Ranker interface {
	Rank(query string, k int) []string
}

// Factory builds a ranker over the documents of one pool. It must not keep or change the slice itself.
type Factory func([]Doc) Ranker

// Contender is a ranker under its name in reports.
type Contender struct {
	Name string
	New  Factory
}

// Valid values of a document's status, as in a memory file's header.
func validStatus(s string) bool {
	switch s {
	case "", "active", "superseded", "expired":
		return true
	}
	return false
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
