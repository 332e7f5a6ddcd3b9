package recall

import (
	"context"
	"slices"

	"github.com/memls/memls/memory"
)

// poolSlack is how many candidates beyond the limit are ranked exactly, so that
// what the caller holds, tool noise and older versions can be passed over.
const poolSlack = 64

// Rank answers q over the index. It reads no file, takes no lock and changes
// nothing; it fails only when ctx ends.
func (ix *Index) Rank(ctx context.Context, q Query) (*Ranking, error) {
	r, err := ix.rank(ctx, &q, DefaultParams())
	if err != nil {
		return nil, err
	}
	return r, nil
}

// RankWith is Rank with other constants, for evaluation.
func (ix *Index) RankWith(ctx context.Context, q Query, p Params) (*Ranking, error) {
	return ix.rank(ctx, &q, p)
}

func (ix *Index) rank(ctx context.Context, q *Query, p Params) (*Ranking, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = MaxRelevantDocs
	}
	s := newScorer(ix, q, p)
	defer s.close()
	r := &Ranking{Searchable: len(s.terms) > 0}
	cands, total, err := s.run(ctx, limit+poolSlack)
	if err != nil {
		return nil, err
	}
	r.Total = total
	near := cands
	if !q.Loose {
		near = relative(cands, p.Relative)
	}
	ix.newestFirst(near)
	trace := newTrace(s)
	noise := toolNoise(q.RecentTools)
	for i, c := range near {
		if len(r.Hits) == limit {
			trace.add(near[i:], VerdictLimit)
			break
		}
		if noise != nil && noise(c.doc) {
			r.Total--
			trace.add(near[i:i+1], VerdictNoise)
			continue
		}
		h, held := s.hit(c)
		if held {
			r.Held = append(r.Held, c.doc.Ref)
			trace.add(near[i:i+1], VerdictHeld)
			continue
		}
		r.Hits = append(r.Hits, h)
		trace.add(near[i:i+1], VerdictReturned)
	}
	trace.add(cands[len(near):], VerdictRelative)
	r.Trace = trace
	return r, nil
}

// relative drops what scores far below the best.
func relative(cs []candidate, share float64) []candidate {
	for i, c := range cs {
		if c.score < share*cs[0].score {
			return cs[:i]
		}
	}
	return cs
}

// newestFirst lets no older version of a memory stand before a newer one: the
// newer moves to the place of the older, everything between shifts by one.
func (ix *Index) newestFirst(cs []candidate) {
	for j := 1; j < len(cs) && j < poolSlack; j++ {
		for i := range j {
			if ix.outdates(cs[j], cs[i]) {
				c := cs[j]
				copy(cs[i+1:j+1], cs[i:j])
				cs[i] = c
				break
			}
		}
	}
}

// outdates tells whether a is a newer version of what b says.
func (ix *Index) outdates(a, b candidate) bool {
	if supersedes(a.doc, b.doc) {
		return true
	}
	if supersedes(b.doc, a.doc) || !a.doc.Fact().After(b.doc.Fact()) {
		return false
	}
	return alike(&ix.views[a.view].sketch[a.id], &ix.views[b.view].sketch[b.id])
}

func supersedes(a, b *memory.Document) bool {
	return a.Root.Prefix == b.Root.Prefix && slices.ContainsFunc(a.Supersedes, func(s string) bool { return s == b.Rel || s == b.Ref || s+".md" == b.Rel })
}

// hit turns a candidate into a hit, or tells that the caller holds it already.
func (s *scorer) hit(c candidate) (Hit, bool) {
	h := Hit{Doc: c.doc, Score: c.score, State: StateNew}
	var taken []memory.Span
	if s.q.Held != nil {
		spans, older := s.q.Held.Delivered(c.doc)
		taken = spans
		if older {
			h.State = StateUpdated
		}
		if len(spans) > 0 {
			h.State = StateMore
		}
	}
	ok := s.passage(&h, taken)
	if len(taken) > 0 && !ok {
		return h, true
	}
	h.Why = s.reasons(&h)
	return h, false
}

// candidates returns the documents of the first n candidates, without passages.
func (ix *Index) candidates(ctx context.Context, q Query, n int) ([]*memory.Document, error) {
	s := newScorer(ix, &q, DefaultParams())
	defer s.close()
	cs, _, err := s.run(ctx, n)
	if err != nil {
		return nil, err
	}
	ix.newestFirst(cs)
	out := make([]*memory.Document, len(cs))
	for i, c := range cs {
		out[i] = c.doc
	}
	return out, nil
}

// explainHit makes a hit of a document that something else than the ranking
// chose: with the passage and the reasons that the query finds in it. It answers
// false when the caller holds all of it that the query is about.
func (ix *Index) explainHit(q Query, d *memory.Document) (Hit, bool) {
	s := newScorer(ix, &q, DefaultParams())
	defer s.close()
	if _, _, err := s.run(context.Background(), 0); err != nil {
		return Hit{}, false
	}
	h, held := s.hit(candidate{doc: d})
	return h, !held
}
