package recall

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/memls/memls/memory"
)

// Trace says how a ranking came about: what the query was taken for, and about each
// of the best candidates why it was returned or why it was not.
//
// Inv: it is made of documents that passed the filters of the query, and of the one
// that the caller asked about by its name.
type Trace struct {
	Terms      []TraceTerm
	Candidates []TraceCandidate // the ranked ones in their order, then what came near the gate
	Truncated  bool             // more candidates were weighed than are listed
	// Asked is about the document that [Index.Explain] was asked about; nil otherwise.
	Asked *TraceCandidate

	verdicts map[*memory.Document]string
	reread   int // bytes of texts that may still be read for reasons
}

// TraceTerm is one word of the query as the scorer understood it.
type TraceTerm struct {
	Term      string
	Weight    float64 // inverse document frequency times what the term may raise
	Documents int     // that an admitting variant of it met
	Evidence  bool    // may make a document a candidate
}

// TraceCandidate is one document with what decided about it.
type TraceCandidate struct {
	Doc     *memory.Document
	Rank    int     // from 0; Unranked when it passed no gate
	Score   float64 // comparable within one trace
	Signals []TraceSignal
	// Share is how much of the weight of the query's content words it meets, and
	// Needed how much the gate asked for; 0 for a document that no list has.
	Share, Needed float64
	Why           []Why
	Verdict       string // one of the verdicts below
	Detail        string // the verdict in a sentence for a person; may be empty
	// Feedback is what the verdicts of people on it come to; it decided between
	// candidates of this very score.
	Feedback int
}

// Unranked is the rank of a candidate that passed no gate.
const Unranked = -1

// TraceSignal is the place of a document in one of the lists that make up a ranking.
type TraceSignal struct {
	Name  string
	Rank  int // from 0; Unranked when the list does not have it
	Score float64
}

// The lists that make up a ranking, as in [TraceSignal].
const (
	ListLexical = "lexical"
	ListConcept = "concept" // by other words for the same, below every match of words
	ListVector  = "vector"  // by meaning; its scores are cosines
	ListModel   = "model"   // the order in which a model named them; it has no scores
)

// The verdicts of a trace.
const (
	VerdictReturned = "returned"
	VerdictHeld     = "held"     // the session has it already
	VerdictNoise    = "noise"    // only documents a tool in use
	VerdictRelative = "relative" // far below the best match
	VerdictLimit    = "limit"    // others are better
	VerdictGate     = "gate"     // too little of the query is met
	VerdictNoMatch  = "no_match" // nothing of the query is met
	VerdictFloor    = "floor"    // nothing is met, and its meaning is not near enough
	VerdictModel    = "model"    // the model left it out
	VerdictBudget   = "budget"   // the prompt has no room for it

	// What a filter of the query left out.
	VerdictEmpty      = "empty" // says nothing
	VerdictSuperseded = "superseded"
	VerdictExpired    = "expired"
	VerdictExcluded   = "excluded" // by its ref
	VerdictScope      = "scope"    // another scope, or another folder
	VerdictType       = "type"
)

const (
	// maxTraced bounds the candidates of a trace, maxRefused those of them that
	// the gate refused.
	maxTraced  = 50
	maxRefused = 10
	// traceReread bounds the bytes of texts that are read again for the reasons of
	// candidates which were not returned; of the others the head alone is.
	traceReread = 1 << 20
)

// inquiry gathers for a trace what the scorer found in documents. A nil one
// gathers nothing.
type inquiry struct {
	asked    *memory.Document // nil: nobody asked about one
	sums     map[*memory.Document]sum
	refused  topList
	refusals map[*memory.Document]string // in sentences
}

func newInquiry(asked *memory.Document) *inquiry {
	return &inquiry{
		asked: asked, sums: map[*memory.Document]sum{}, refused: topList{want: maxRefused}, refusals: map[*memory.Document]string{},
	}
}

// admit notes what was met in a document that passes the gate.
func (q *inquiry) admit(c candidate, a *sum) {
	if q != nil {
		q.sums[c.doc] = *a
	}
}

// refuse notes what was met in a document that does not, and why.
//
// Inv: what the caller may not see is not even counted: it was never scored.
func (q *inquiry) refuse(c candidate, a *sum, why string) {
	if c.doc != q.asked && !q.refused.wants(c) {
		return
	}
	q.sums[c.doc], q.refusals[c.doc] = *a, why
	q.refused.offer(c)
}

// newTrace starts the trace of a ranking whose query asked for one; a nil trace
// takes everything and keeps nothing.
func newTrace(s *scorer) *Trace {
	if s.inquiry == nil {
		return nil
	}
	t := &Trace{Terms: []TraceTerm{}, Candidates: []TraceCandidate{}, verdicts: map[*memory.Document]string{}, reread: traceReread}
	for i := range s.terms {
		q := &s.terms[i]
		t.Terms = append(t.Terms, TraceTerm{
			Term: strings.TrimLeft(q.term, "\x01\x02"), Weight: s.idf[i] * float64(q.raise),
			Documents: s.df[i], Evidence: s.evident(i),
		})
	}
	return t
}

// add notes a verdict.
func (t *Trace) add(cs []candidate, verdict string) {
	if t == nil {
		return
	}
	for _, c := range cs {
		t.verdicts[c.doc] = verdict
	}
}

// again is the trace as it was before verdicts, for a ranking made of the same query.
func (t *Trace) again() *Trace {
	if t == nil {
		return nil
	}
	return &Trace{Terms: t.Terms, Candidates: []TraceCandidate{}, verdicts: map[*memory.Document]string{}, reread: traceReread}
}

// ranked are the candidates in the order of the ranking.
func (r *Ranking) ranked() []candidate {
	if r.order == nil {
		return r.pool
	}
	at := make(map[*memory.Document]candidate, len(r.pool))
	for _, c := range r.pool {
		at[c.doc] = c
	}
	out := make([]candidate, 0, len(r.order)+len(r.pool)-r.near)
	for _, d := range r.order {
		c := at[d]
		c.doc = d
		out = append(out, c)
		delete(at, d)
	}
	for _, c := range r.pool[r.near:] {
		if _, left := at[c.doc]; left {
			r.Trace.add([]candidate{c}, VerdictRelative)
			out = append(out, c)
		}
	}
	return out
}

// explain completes the trace of a ranking whose verdicts stand.
func (r *Ranking) explain() {
	t, s := r.Trace, r.scorer
	if t == nil {
		return
	}
	hits := make(map[*memory.Document]*Hit, len(r.Hits))
	for i := range r.Hits {
		hits[r.Hits[i].Doc] = &r.Hits[i]
	}
	all := r.ranked()
	for i, c := range all {
		listed := len(t.Candidates) < maxTraced-maxRefused
		if !listed && c.doc != s.inquiry.asked {
			continue
		}
		tc := r.traced(c, hits[c.doc])
		tc.Rank, tc.Verdict = i, t.verdicts[c.doc]
		tc.Detail = r.sentence(&tc)
		if listed {
			t.Candidates = append(t.Candidates, tc)
		}
		if c.doc == s.inquiry.asked {
			t.Asked = &tc
		}
	}
	t.Truncated = len(all) > len(t.Candidates)
	refused := s.inquiry.refused
	for _, c := range refused.sorted() {
		if _, near := r.meaning[c.doc]; near || r.crossed[c.doc] { // its words were not enough, and something else was
			continue
		}
		tc := r.traced(c, nil)
		tc.Verdict, tc.Detail = VerdictGate, refusalSentence(s.inquiry.refusals[c.doc], &tc)
		t.Candidates = append(t.Candidates, tc)
	}
	t.Truncated = t.Truncated || refused.total > maxRefused
	r.explainAsked()
}

// explainAsked completes what is said of the document that was asked about, when no
// list has it.
func (r *Ranking) explainAsked() {
	t, s := r.Trace, r.scorer
	d := s.inquiry.asked
	if d == nil || t.Asked != nil {
		return
	}
	c := candidate{doc: d}
	a, met := s.inquiry.sums[d]
	if met {
		c.score = float64(a.score) + s.typeCue(d)
	}
	tc := r.traced(c, nil)
	switch verdict := filtered(s.q, d); {
	case verdict != "":
		tc.Verdict, tc.Detail = verdict, filterSentence(verdict, d)
	case met:
		tc.Verdict, tc.Detail = VerdictGate, refusalSentence(s.inquiry.refusals[d], &tc)
		if r.askedNear != nil {
			tc.Detail += "; " + r.nearSentence()
		}
	case r.askedNear != nil:
		tc.Verdict, tc.Detail = VerdictFloor, "no word of the query is met in it, and "+r.nearSentence()
		if *r.askedNear >= r.floor {
			tc.Verdict, tc.Detail = VerdictRelative, "no word of the query is met in it, and others are much nearer in meaning"
		}
	default:
		tc.Verdict, tc.Detail = VerdictNoMatch, "no word of the query is met in it, in any form"
	}
	t.Asked = &tc
}

// traced says of a candidate what does not depend on its verdict. h is the hit that
// it became, or nil.
func (r *Ranking) traced(c candidate, h *Hit) TraceCandidate {
	s := r.scorer
	tc := TraceCandidate{Doc: c.doc, Rank: Unranked, Score: c.score, Signals: []TraceSignal{}}
	if s.q.Feedback != nil {
		tc.Feedback = s.q.Feedback(c.doc.Ref)
	}
	if rank, ok := r.lexical[c.doc]; ok {
		list := ListLexical
		if r.crossed[c.doc] {
			list = ListConcept
		}
		tc.Signals = append(tc.Signals, TraceSignal{list, rank, c.score})
	}
	if sum, ok := r.sums[c.doc]; ok {
		tc.Score = sum
	} else if r.order != nil {
		tc.Score = 0
	}
	if n, ok := r.meaning[c.doc]; ok {
		tc.Signals = append(tc.Signals, TraceSignal{ListVector, n.rank, n.Cosine})
	} else if c.doc == s.inquiry.asked && r.askedNear != nil {
		tc.Signals = append(tc.Signals, TraceSignal{ListVector, Unranked, *r.askedNear})
	}
	if a, ok := s.inquiry.sums[c.doc]; ok && s.total > 0 {
		tc.Share, tc.Needed = float64(a.evidence)/s.total, s.needed(&a)
	}
	if h != nil {
		tc.Why = h.Why
		return tc
	}
	body := c.doc.SearchedBody()
	if n := body.Len(); n <= r.Trace.reread {
		r.Trace.reread -= n
	} else {
		body = memory.Span{}
	}
	tc.Why = s.reasons(c.doc, body)
	return tc
}

// wordScore is the score of a candidate in the list of words.
func (r *Ranking) wordScore(tc *TraceCandidate) float64 {
	for _, s := range tc.Signals {
		if s.Name == ListLexical {
			return s.Score
		}
	}
	return tc.Score
}

// sentence words the verdict on a ranked candidate.
func (r *Ranking) sentence(tc *TraceCandidate) string {
	switch tc.Verdict {
	case VerdictHeld:
		return "the session holds all of it that the query is about"
	case VerdictNoise:
		return "it only describes how a tool in use is called"
	case VerdictRelative:
		if len(r.pool) == 0 {
			return ""
		}
		return fmt.Sprintf("its score is %s of the best, %s is asked for", percent(r.wordScore(tc)/r.pool[0].score), percent(r.scorer.p.Relative))
	case VerdictLimit:
		return fmt.Sprintf("%d are returned, and others are better", r.limit)
	}
	if rank, ok := r.lexical[tc.Doc]; ok && rank > tc.Rank {
		return "it stands before an older version of what it says"
	}
	return ""
}

func refusalSentence(refusal string, tc *TraceCandidate) string {
	if refusal != refusedShare {
		return refusal
	}
	return fmt.Sprintf("%s: %s of the %s asked for", refusal, percent(tc.Share), percent(tc.Needed))
}

// filterSentence words what a filter left out.
func filterSentence(verdict string, d *memory.Document) string {
	switch verdict {
	case VerdictEmpty:
		return "it says nothing"
	case VerdictSuperseded:
		return "its header says that another memory has taken its place"
	case VerdictExpired:
		if d.ExpiresAt.IsZero() {
			return "its header says that it has expired"
		}
		return "it expired at " + d.ExpiresAt.UTC().Format("2006-01-02 15:04 UTC")
	case VerdictExcluded:
		return "the caller excluded it"
	case VerdictScope:
		return fmt.Sprintf("the caller did not ask for %s memory", d.Root.Scope)
	case VerdictType:
		if d.Type == "" {
			return "the caller did not ask for memories without a type"
		}
		return "the caller did not ask for memories of type " + memory.CleanLine(d.Type)
	}
	return ""
}

// filtered is the verdict of the filters of a query, in the order in which they are
// asked; empty for a document that competes.
func filtered(q *Query, d *memory.Document) string {
	switch {
	case d.Empty():
		return VerdictEmpty
	case !q.Inactive && !d.ActiveAt(q.Now):
		if d.Status == memory.StatusSuperseded {
			return VerdictSuperseded
		}
		return VerdictExpired
	case q.Exclude[d.Ref]:
		return VerdictExcluded
	case !q.reaches(d.Root):
		return VerdictScope
	case len(q.Types) > 0 && !slices.Contains(q.Types, d.Type):
		return VerdictType
	}
	return ""
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", math.Floor(100*share+0.01)) }
