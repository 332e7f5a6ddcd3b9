package lsp

import (
	"context"
	"slices"
	"strings"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// explain serves memory/explain: why a memory ranks where it does for a query, or
// why it is not returned. No model is asked, and nothing is delivered.
func (f *features) explain(ctx context.Context, p *ExplainParams) (*ExplainResult, error) {
	limit, err := f.checkExplain(p)
	if err != nil {
		return nil, err
	}
	snap, err := f.loaded(ctx)
	if err != nil {
		return nil, err
	}
	q := recall.Query{
		Text: p.Query, Limit: limit, Scopes: scopesOf(p.Scopes), Types: p.Types, Folder: f.folder(p.Folder),
		Exclude: excluded(p.Exclude), RecentTools: p.RecentTools, Now: f.opt.Now(), Feedback: f.votes(),
	}
	if err := f.asSession(p, &q); err != nil {
		return nil, err
	}
	asked, err := askedAbout(snap, &q, p.Ref)
	if err != nil {
		return nil, err
	}
	ranking, lacks, err := f.engine().Explain(ctx, snap, q, asked)
	if err != nil {
		return nil, err
	}
	r := &ExplainResult{Query: p.Query, Revision: snap.Revision, Trace: *traceOf(ranking), Degraded: degradedBy(snap, &q)}
	if lacks != nil {
		r.Degraded = append(r.Degraded, DegradedReason{Reason: lacks.Reason, Detail: lacks.Detail})
	}
	if c := ranking.Trace.Asked; c != nil {
		words := wordCandidate(c)
		r.Candidate = &words
	}
	return r, nil
}

func (f *features) checkExplain(p *ExplainParams) (limit int, err error) {
	if limit, err = limitOf(p.Limit, recall.MaxRelevantDocs, recall.MaxRelevantDocs); err != nil {
		return 0, err
	}
	if strings.TrimSpace(p.Query) == "" {
		return 0, InvalidParam("query", "must not be empty")
	}
	if p.Session != "" {
		if err := checkName("session", p.Session); err != nil {
			return 0, err
		}
	}
	for _, list := range []struct {
		field string
		n     int
	}{{"recentTools", len(p.RecentTools)}, {"exclude", len(p.Exclude)}} {
		if list.n > maxListed {
			return 0, InvalidParam(list.field, "has %d items, at most %d are taken", list.n, maxListed)
		}
	}
	if err := checkRefs("exclude", p.Exclude); err != nil {
		return 0, err
	}
	return limit, checkFilter(p.Scopes, p.Types)
}

// asSession makes of q what a recall of a session would ask. A session that there is
// not holds nothing, and is not made.
func (f *features) asSession(p *ExplainParams, q *recall.Query) error {
	if p.Session == "" {
		return nil
	}
	s := f.sessions.find(p.Session)
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bound {
		if p.Folder != "" && q.Folder != s.folder {
			return InvalidParam("folder", "the session belongs to the folder of its first recall")
		}
		q.Folder = s.folder
	}
	if p.RecentTools == nil {
		q.RecentTools = append([]string(nil), s.tools...)
	}
	q.Held = held{session: s}
	return nil
}

// askedAbout is the memory that a ref names; nil without a ref. Inv: a memory of
// another folder is answered as one that there is not.
func askedAbout(snap *memory.Snapshot, q *recall.Query, given string) (*memory.Document, error) {
	if given == "" {
		return nil, nil
	}
	ref, err := memory.ParseRef(given)
	if err != nil {
		if memory.LeadsOut(given) {
			return nil, Fail(KindPathEscape, "%q leads out of its root", short(given))
		}
		return nil, InvalidParam("ref", "%v", err)
	}
	d, ok := snap.Get(ref.File())
	if !ok || !d.Root.Folders.Has(q.Folder) {
		return nil, about(given, KindNotFound, "there is no memory "+short(given))
	}
	return d, nil
}

// traceOf words the trace of a ranking; nil when none was asked for.
func traceOf(r *recall.Ranking) *RecallTraceTable {
	if r == nil || r.Trace == nil {
		return nil
	}
	t := &RecallTraceTable{Considered: r.Total, Terms: []TraceTerm{}, Candidates: []TraceCandidate{}, Truncated: r.Trace.Truncated}
	for _, term := range r.Trace.Terms {
		t.Terms = append(t.Terms, TraceTerm(term))
	}
	for i := range r.Trace.Candidates {
		t.Candidates = append(t.Candidates, wordCandidate(&r.Trace.Candidates[i]))
	}
	return t
}

func wordCandidate(c *recall.TraceCandidate) TraceCandidate {
	words := TraceCandidate{
		Ref: c.Doc.Ref, Title: c.Doc.Title, Rank: c.Rank + 1, Score: c.Score, Share: c.Share, Needed: c.Needed,
		Signals: []TraceSignal{}, Why: reasons(c.Why), Verdict: c.Verdict, Detail: c.Detail, Feedback: c.Feedback,
	}
	for _, s := range c.Signals {
		words.Signals = append(words.Signals, TraceSignal{Name: s.Name, Rank: s.Rank + 1, Score: s.Score})
	}
	return words
}

// candidate is the row of a memory, made when there is none.
func (t *RecallTraceTable) candidate(d *memory.Document) *TraceCandidate {
	for i := range t.Candidates {
		if t.Candidates[i].Ref == d.Ref {
			return &t.Candidates[i]
		}
	}
	t.Candidates = append(t.Candidates, TraceCandidate{Ref: d.Ref, Title: d.Title, Signals: []TraceSignal{}, Why: []WhyReason{}})
	return &t.Candidates[len(t.Candidates)-1]
}

// chosen puts into a trace what a model made of the ranking.
func (t *RecallTraceTable) chosen(s *recall.Selection) {
	if t == nil || s.Chosen == nil {
		return
	}
	for i := range t.Candidates {
		if c := &t.Candidates[i]; c.Verdict == recall.VerdictReturned || c.Verdict == recall.VerdictLimit {
			c.Verdict, c.Detail = recall.VerdictModel, "the model left it out, or did not get to see it"
		}
	}
	for i, d := range s.Chosen {
		c := t.candidate(d)
		c.Verdict, c.Detail = recall.VerdictReturned, ""
		c.Signals = append(c.Signals, TraceSignal{Name: recall.ListModel, Rank: i + 1})
	}
}

// unfit is the trace with a note which hits the prompt had no room for. Inv: the
// receiver stays as it is, since it may be on its way to the client.
func (t *RecallTraceTable) unfit(hits, rendered []recall.Hit) *RecallTraceTable {
	if t == nil || len(hits) == len(rendered) {
		return t
	}
	out := *t
	out.Candidates = slices.Clone(t.Candidates)
	for i := range hits {
		if !carries(rendered, hits[i].Doc.Ref) {
			c := out.candidate(hits[i].Doc)
			c.Verdict, c.Detail = recall.VerdictBudget, "the prompt has no room for it"
		}
	}
	return &out
}
