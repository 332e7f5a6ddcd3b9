package eval

import (
	"context"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/meaning"
)

// MemlsHybridName is the name in reports of our ranker with a search by meaning.
const MemlsHybridName = "memls-hybrid"

// evalTries is how often in a row an endpoint may fail before the figures are those
// without it: with the pauses between them, half a minute.
const evalTries = 6

// Hybrid is our ranker with a search by meaning. What the embedding model could not do
// is kept in its faults: a figure without them would be one of something else.
type Hybrid struct {
	ctx      context.Context
	embedder meaning.Embedder
	faults   map[string]int
}

// NewHybrid returns a ranker that makes vectors with an embedding model for as long as
// ctx allows. Nothing is kept.
func NewHybrid(ctx context.Context, e meaning.Embedder) *Hybrid {
	return &Hybrid{ctx: ctx, embedder: e, faults: map[string]int{}}
}

// Faults are what went wrong, with how often.
func (h *Hybrid) Faults() map[string]int { return h.faults }

// New is the [Factory].
func (h *Hybrid) New(docs []Doc) Ranker {
	r := &hybridRanker{hybrid: h, words: newMemlsRanker(docs, recall.DefaultParams())}
	all := make([]*memory.Document, 0, len(r.words.ids))
	for d := range r.words.ids {
		all = append(all, d)
	}
	snap := (&memory.Snapshot{}).Imagine(nil, all)
	r.service = meaning.New(meaning.Options{Embedder: h.embedder, Snapshot: func() *memory.Snapshot { return snap }})
	if err := r.service.Fill(h.ctx, evalTries); err != nil {
		h.faults["vectors: "+err.Error()]++
	}
	return r
}

type hybridRanker struct {
	hybrid  *Hybrid
	words   *memlsRanker
	service *meaning.Service
}

// Rank implements [Ranker].
func (r *hybridRanker) Rank(query string, k int) []string {
	q := recall.Query{Text: query, Limit: k, Now: time.Now()}
	ranking, err := r.words.index.Rank(r.hybrid.ctx, q)
	if err != nil {
		return nil
	}
	if !recall.Trivial(query) {
		near := r.service.Near(r.hybrid.ctx, q.Meaning())
		if near.Degraded != nil {
			r.hybrid.faults[near.Degraded.Detail]++
		}
		ranking = ranking.With(near)
	}
	out := make([]string, len(ranking.Hits))
	for i, h := range ranking.Hits {
		out[i] = r.words.ids[h.Doc]
	}
	return out
}
