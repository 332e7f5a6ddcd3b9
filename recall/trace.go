package recall

import "strings"

// Trace says how a ranking came about. It never names a document that the
// caller may not see: it is made of candidates that passed the filters.
type Trace struct {
	Terms      []TraceTerm      `json:"terms"`
	Candidates []TraceCandidate `json:"candidates"`
	Truncated  bool             `json:"truncated,omitempty"` // more candidates were weighed than are listed

	feedback func(ref string) int
}

// TraceTerm is one word of the query as the scorer understood it.
type TraceTerm struct {
	Term      string  `json:"term"`
	Weight    float64 `json:"weight"` // inverse document frequency times what the term may raise
	Documents int     `json:"documents"`
	Evidence  bool    `json:"evidence"` // may make a document a candidate
}

// TraceCandidate is one document that was weighed.
type TraceCandidate struct {
	Ref     string  `json:"ref"`
	Rank    int     `json:"rank"` // from 0
	Score   float64 `json:"score"`
	Verdict string  `json:"verdict"`
	// Feedback is what the verdicts of people on it come to; it decided between
	// candidates of this very score.
	Feedback int `json:"feedback,omitempty"`
}

// The verdicts of a trace.
const (
	VerdictReturned = "returned"
	VerdictHeld     = "held"     // the session has it already
	VerdictNoise    = "noise"    // only documents a tool in use
	VerdictRelative = "relative" // far below the best match
	VerdictLimit    = "limit"
)

// maxTraced bounds the candidates of a trace.
const maxTraced = 50

// newTrace starts the trace of a ranking whose query asked for one; a nil trace
// takes everything and keeps nothing.
func newTrace(s *scorer) *Trace {
	if !s.q.Trace {
		return nil
	}
	t := &Trace{Terms: []TraceTerm{}, Candidates: []TraceCandidate{}, feedback: s.q.Feedback}
	for i := range s.terms {
		q := &s.terms[i]
		t.Terms = append(t.Terms, TraceTerm{
			Term: strings.TrimLeft(q.term, "\x01\x02"), Weight: s.idf[i] * float64(q.raise),
			Documents: s.df[i], Evidence: s.evident(i),
		})
	}
	return t
}

func (t *Trace) add(cs []candidate, verdict string) {
	if t == nil {
		return
	}
	for _, c := range cs {
		if len(t.Candidates) == maxTraced {
			t.Truncated = true
			return
		}
		traced := TraceCandidate{Ref: c.doc.Ref, Rank: len(t.Candidates), Score: c.score, Verdict: verdict}
		if t.feedback != nil {
			traced.Feedback = t.feedback(c.doc.Ref)
		}
		t.Candidates = append(t.Candidates, traced)
	}
}
