package recall

import (
	"context"
	"math"
	"slices"

	"github.com/memls/memls/memory"
)

// poolSlack is how many candidates beyond the limit are ranked exactly, so that
// what the caller holds, tool noise and older versions can be passed over.
const poolSlack = 64

// fastReread bounds the bytes of bodies that are read again before a fast result
// stands, to find out whether a memory of which the caller holds one passage has
// another one on the query. A long session holds so many long memories that
// reading them all would take longer than the fast result may: the rest waits
// until it is on its way.
const fastReread = 128 << 10

// Rank answers q over the index. It reads no file, takes no lock and changes
// nothing; it fails only when ctx ends.
func (ix *Index) Rank(ctx context.Context, q Query) (*Ranking, error) {
	return ix.RankWith(ctx, q, DefaultParams())
}

// RankWith is Rank with other constants, for evaluation.
func (ix *Index) RankWith(ctx context.Context, q Query, p Params) (*Ranking, error) {
	r, err := ix.rank(ctx, &q, p, nil)
	if err != nil {
		return nil, err
	}
	r.Complete()
	return r, nil
}

// Explain is [Index.Rank] with a trace, which also says what decided about d, a
// document of the index; nil asks about none. It weighs every candidate to its end,
// so that the rank of d is told wherever it is.
func (ix *Index) Explain(ctx context.Context, q Query, d *memory.Document) (*Ranking, error) {
	q.Trace = true
	r, err := ix.rank(ctx, &q, DefaultParams(), d)
	if err != nil {
		return nil, err
	}
	r.Complete()
	return r, nil
}

// RankFast is Rank that stops when the hits of the fast result stand. The rest
// of the ranking, refs in Held and the trace included, is made by
// [Ranking.Complete], when the fast result is on its way.
func (ix *Index) RankFast(ctx context.Context, q Query) (*Ranking, error) {
	r, err := ix.rank(ctx, &q, DefaultParams(), nil)
	if err != nil {
		return nil, err
	}
	r.advance(min(r.limit, MaxFastDocs), fastReread)
	return r, nil
}

func (ix *Index) rank(ctx context.Context, q *Query, p Params, asked *memory.Document) (*Ranking, error) {
	s := newScorer(ix, q, p)
	defer s.close()
	if q.Trace {
		s.inquiry = newInquiry(asked)
	}
	r := &Ranking{Searchable: len(s.terms) > 0, scorer: s, limit: q.Limit, noise: toolNoise(q.RecentTools)}
	if r.limit <= 0 {
		r.limit = MaxRelevantDocs
	}
	want := max(r.limit+poolSlack, maxLexical) + r.passedOver(q)
	if asked != nil {
		want = max(want, ix.Len())
	}
	cands, total, err := s.run(ctx, want)
	if err != nil {
		return nil, err
	}
	r.Total, r.pool, r.near = total, cands, len(cands)
	if !q.Loose {
		r.near = len(relative(cands, p.Relative))
	}
	s.rerank(cands[:r.near])
	r.cross()
	cands = r.pool
	byFeedback(cands, q.Feedback)
	if r.Trace = newTrace(s); r.Trace != nil {
		r.lexical = ranksOf(cands)
	}
	ix.newestFirst(cands[:r.near])
	return r, nil
}

// cross lets documents follow that speak of the same things in other words, while
// there is room for them: a few where something was met directly. Inv: they stand
// below every direct match, and what was far below the best stays behind them.
func (r *Ranking) cross() {
	s := r.scorer
	if r.near >= r.limit || !s.p.has(SignalConcepts) {
		return
	}
	direct, rest := r.pool[:r.near], r.pool[r.near:]
	want := r.limit
	if len(direct) > 0 {
		want = min(want-len(direct), s.p.ConceptFill)
	}
	crossed := s.bridge(want, direct)
	if len(crossed) == 0 {
		return
	}
	if len(direct) > 0 {
		if best, last := crossed[0].score, direct[len(direct)-1].score/2; best > last {
			for i := range crossed {
				crossed[i].score *= last / best
			}
		}
	}
	r.crossed = make(map[*memory.Document]bool, len(crossed))
	for _, c := range crossed {
		r.crossed[c.doc] = true
	}
	rest = slices.DeleteFunc(slices.Clone(rest), func(c candidate) bool { return r.crossed[c.doc] })
	r.Total += len(crossed) + len(direct) + len(rest) - len(r.pool)
	r.pool = slices.Concat(direct, crossed, rest)
	r.near += len(crossed)
}

// passedOver is how many candidates at most will be passed over, because the caller
// holds them or they are tool noise. Inv: the pool is larger by as many, so that
// however much a session holds, what it does not hold can surface.
func (r *Ranking) passedOver(q *Query) (n int) {
	if q.Held != nil {
		n = q.Held.Len()
	}
	if r.noise != nil {
		for i := range r.scorer.ix.views {
			n += len(r.scorer.ix.views[i].usage)
		}
	}
	return n
}

// Complete makes the hits up to the limit: after those that stand, first what was
// put off. Calling it again does nothing.
func (r *Ranking) Complete() {
	if r.complete || r.scorer == nil {
		return
	}
	r.complete = true
	for i, c := range r.later {
		if len(r.Hits) == r.limit {
			r.Trace.add(r.later[i:], VerdictLimit)
			break
		}
		r.take(c, r.scorer.holding(c.doc))
	}
	r.advance(r.limit, math.MaxInt)
	r.Trace.add(r.pool[r.next:r.near], VerdictLimit)
	r.Trace.add(r.pool[r.near:], VerdictRelative)
	r.explain()
}

// ranksOf are the places of candidates in their list.
func ranksOf(cs []candidate) map[*memory.Document]int {
	ranks := make(map[*memory.Document]int, len(cs))
	for i, c := range cs {
		ranks[c.doc] = i
	}
	return ranks
}

// advance goes on through the pool until want hits stand. When it has read as many
// bytes of bodies again as reread says, it puts off what it would have to read.
func (r *Ranking) advance(want, reread int) {
	for ; r.next < r.near && len(r.Hits) < want; r.next++ {
		c := r.pool[r.next]
		if r.noise != nil && r.noise(r.scorer.ix.views[c.view].usage[c.id]) {
			r.Total--
			r.Trace.add(r.pool[r.next:r.next+1], VerdictNoise)
			continue
		}
		of := r.scorer.holding(c.doc)
		n := of.rereads(c.doc)
		if n > 0 && reread <= 0 {
			r.later = append(r.later, c)
			continue
		}
		reread -= n
		r.take(c, of)
	}
}

// take makes a hit of a candidate, unless the caller holds it already.
func (r *Ranking) take(c candidate, of holding) {
	h, held := r.scorer.hit(c, of)
	if held {
		r.Held = append(r.Held, c.doc.Ref)
		r.Trace.add([]candidate{c}, VerdictHeld)
		return
	}
	r.Hits = append(r.Hits, h)
	r.Trace.add([]candidate{c}, VerdictReturned)
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

// holding is what the caller holds of one document.
type holding struct {
	passages []memory.Span // of its present text
	older    bool          // an older text
}

func (s *scorer) holding(d *memory.Document) (of holding) {
	if s.q.Held != nil {
		of.passages, of.older = s.q.Held.Delivered(d)
	}
	return of
}

// all tells whether the whole body is held.
func (of holding) all(d *memory.Document) bool { return slices.Contains(of.passages, d.Body) }

// rereads is how many bytes must be read to tell whether all that a query is about
// is held; 0 when that is known without.
func (of holding) rereads(d *memory.Document) int {
	if len(of.passages) == 0 || of.all(d) {
		return 0
	}
	return d.SearchedBody().Len()
}

// hit turns a candidate into a hit, or tells that the caller holds it already.
func (s *scorer) hit(c candidate, of holding) (Hit, bool) {
	h := Hit{Doc: c.doc, Score: c.score, State: StateNew}
	switch {
	case of.all(c.doc):
		return h, true
	case len(of.passages) > 0:
		h.State = StateMore
	case of.older:
		h.State = StateUpdated
	}
	ok := s.passage(&h, of.passages)
	if len(of.passages) > 0 && !ok {
		return h, true
	}
	h.Why = s.reasons(h.Doc, h.Passage)
	return h, false
}

// holds tells whether the caller holds all of d that the query is about.
func (r *Ranking) holds(d *memory.Document) bool {
	of := r.scorer.holding(d)
	return len(of.passages) > 0 && (of.all(d) || !r.scorer.passage(&Hit{Doc: d}, of.passages))
}

// candidates are the documents of the ranking's pool, the best first, and what is near
// among them.
func (r *Ranking) candidates() []*memory.Document {
	if r.order == nil {
		return docsOf(r.pool)
	}
	return slices.Concat(r.order, slices.DeleteFunc(docsOf(r.pool[r.near:]), func(d *memory.Document) bool {
		_, near := r.meaning[d]
		return near
	}))
}

func docsOf(cs []candidate) []*memory.Document {
	out := make([]*memory.Document, len(cs))
	for i, c := range cs {
		out[i] = c.doc
	}
	return out
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
	h, held := s.hit(candidate{doc: d}, s.holding(d))
	return h, !held
}
