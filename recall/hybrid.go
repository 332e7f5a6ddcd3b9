package recall

import (
	"context"
	"fmt"
	"slices"

	"github.com/memls/memls/memory"
)

// near asks what is near to a query in meaning. It is asked for no query that words
// answer with nothing on purpose: thanks and bare commands.
func (e *Engine) near(ctx context.Context, q *Query, asked *memory.Document) Nearness {
	if e.meaning == nil || Trivial(q.Text) {
		return Nearness{}
	}
	m := q.Meaning()
	m.Asked = asked
	return e.meaning.Near(ctx, m)
}

// Meaning is the query as a search by meaning gets it, with the same filters.
func (q *Query) Meaning() MeaningQuery {
	return MeaningQuery{Text: q.Text, Visible: visibility(q), Reaches: q.reaches, Limit: maxNear}
}

// With is the ranking in which what is near in meaning takes part. The receiver, whose
// hits stand, stays as it is.
func (r *Ranking) With(n Nearness) *Ranking { return r.hybrid(n, nil) }

// Explain is [Index.Explain] over the newest documents, with what meaning adds.
func (e *Engine) Explain(ctx context.Context, snap *memory.Snapshot, q Query, d *memory.Document) (*Ranking, *Degraded, error) {
	r, err := IndexOf(snap).Explain(ctx, q, d)
	if err != nil {
		return nil, nil, err
	}
	n := e.near(ctx, r.scorer.q, d)
	return r.hybrid(n, nil), n.Degraded, ctx.Err()
}

// Hybrid tells whether meaning has a part in the ranking.
func (r *Ranking) Hybrid() bool { return len(r.meaning) > 0 }

// hybrid is the ranking in which what is near in meaning takes part, by reciprocal
// rank. What has gone out, first, stays in front of it. The receiver stays as it is.
//
// Inv: without anything near it is the receiver.
func (r *Ranking) hybrid(n Nearness, first []Hit) *Ranking {
	if r.scorer == nil || len(n.Near) == 0 && n.Asked == nil {
		return r
	}
	out := *r
	out.Trace = r.Trace.again()
	out.floor, out.askedNear = n.Floor, n.Asked
	if len(n.Near) > 0 {
		out.fuse(n.Near, first)
	}
	out.explain()
	return &out
}

// fuse merges the words' candidates and what is near, and makes hits of the first.
func (r *Ranking) fuse(near []Near, first []Hit) {
	lexical := make([]*memory.Document, 0, r.near)
	named := make(map[string]*memory.Document, r.near)
	at := make(map[*memory.Document]candidate, r.near)
	for _, c := range r.pool[:r.near] {
		lexical = append(lexical, c.doc)
		named[c.doc.Ref], at[c.doc] = c.doc, c
	}
	r.meaning = make(map[*memory.Document]nearness, len(near))
	vector := make([]*memory.Document, 0, len(near))
	for i, n := range near {
		// A document that changed since the words were ranked competes as it was then;
		// before it is sent, it is looked at again.
		d := n.Doc
		if old := named[d.Ref]; old != nil && old != d {
			d, n.Passage = old, memory.Span{}
		}
		if _, twice := r.meaning[d]; !twice {
			r.meaning[d] = nearness{n, i}
			vector = append(vector, d)
		}
	}
	r.order, r.sums = fused(lexical, vector)
	made := make(map[*memory.Document]Hit, len(r.Hits))
	for _, h := range r.Hits {
		made[h.Doc] = h
	}
	r.Hits, r.Held = slices.Clone(first), slices.Clone(r.Held)
	r.Total += len(r.order) - len(lexical)
	for _, c := range r.pool[r.near:] {
		if _, near := r.meaning[c.doc]; near {
			r.Total-- // it has been counted
		}
	}
	for _, d := range r.order {
		r.pick(d, at, made, first)
	}
}

// pick makes a hit of a document of the fused order, when there is room for one.
func (r *Ranking) pick(d *memory.Document, at map[*memory.Document]candidate, made map[*memory.Document]Hit, first []Hit) {
	c, byWords := at[d]
	if !byWords {
		c = candidate{doc: d}
	}
	one := []candidate{c}
	switch {
	case slices.ContainsFunc(first, func(h Hit) bool { return h.Doc.Ref == d.Ref }):
		r.Trace.add(one, VerdictReturned)
		return
	case r.noise != nil && r.noise(r.scorer.ix.usageOf(d)):
		r.Trace.add(one, VerdictNoise)
		if !byWords {
			r.Total--
		}
		return
	case len(r.Hits) >= r.limit:
		r.Trace.add(one, VerdictLimit)
		return
	}
	h, ok := made[d]
	held := false
	if !ok {
		if byWords {
			h, held = r.scorer.hit(c, r.scorer.holding(d))
		} else {
			h, held = r.nearHit(d)
		}
	}
	if held {
		if !slices.Contains(r.Held, d.Ref) {
			r.Held = append(r.Held, d.Ref)
		}
		r.Trace.add(one, VerdictHeld)
		return
	}
	if _, near := r.meaning[d]; near && byWords {
		// Inv: the reasons of a hit that has gone out are never written to.
		h.Why = slices.Concat(h.Why, []Why{{Field: FieldBody, Match: MatchSemantic}})
	}
	r.Hits = append(r.Hits, h)
	r.Trace.add(one, VerdictReturned)
}

// nearness is a document that is near, with its rank.
type nearness struct {
	Near
	rank int
}

// nearHit makes a hit of a document that is near, with the passage that is, or tells
// that the caller holds that already.
func (r *Ranking) nearHit(d *memory.Document) (Hit, bool) {
	s := r.scorer
	of := s.holding(d)
	h := Hit{Doc: d, State: StateNew, Passage: r.meaning[d].Passage, Score: 0}
	if fits(d.BodyText()) {
		h.Passage = d.Body
	}
	switch {
	case of.all(d):
		return h, true
	case len(of.passages) > 0:
		h.State = StateMore
	case of.older:
		h.State = StateUpdated
	}
	for _, held := range of.passages {
		if h.Passage.Len() == 0 || held.Start < h.Passage.End && h.Passage.Start < held.End {
			return h, true
		}
	}
	h.Truncated = h.Passage != d.Body
	h.Why = append(s.reasons(d, h.Passage), Why{Field: FieldBody, Match: MatchSemantic})
	return h, false
}

// chosen makes a hit of a document that a model chose: with the passage that words
// find, else with the one that is near. It answers false when the caller holds it.
func (r *Ranking) chosen(ix *Index, q Query, d *memory.Document) (Hit, bool) {
	h, ok := ix.explainHit(q, d)
	inBody := func(w Why) bool { return w.Field == FieldBody }
	if _, near := r.meaning[d]; !near || ok && slices.ContainsFunc(h.Why, inBody) {
		return h, ok
	}
	h, held := r.nearHit(d)
	return h, !held
}

// nearSentence says how near the document that was asked about is.
func (r *Ranking) nearSentence() string {
	return fmt.Sprintf("its meaning is %.2f near to the query, and %.2f is asked for", *r.askedNear, r.floor)
}
