package recall

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/model"
)

// SelectorCeiling is the longest that a recall waits for a model.
const SelectorCeiling = 30 * time.Second

// The strategies of a selection.
const (
	StrategyNone      = "none"
	StrategyHeuristic = "heuristic"
	StrategyHybrid    = "hybrid" // by words and by meaning
	StrategyModel     = "model"
)

// The statuses of a settled recall.
const (
	StatusDelivered        = "delivered"
	StatusAlreadyDelivered = "already_delivered"
	StatusNoRelevant       = "no_relevant_results"
	StatusCancelled        = "cancelled"
	StatusTimedOut         = "timed_out"
	StatusFailed           = "failed"
)

// The reasons why a result is less than it could be.
const (
	DegradedLoading          = "catalog_loading"
	DegradedWatch            = "watch_degraded"
	DegradedRoot             = "root_unavailable"
	DegradedModelUnavailable = "model_unavailable"
	DegradedModelTimeout     = "model_timeout"
	DegradedModelInvalid     = "model_invalid"
	DegradedEmbedding        = "embedding_unavailable"
	DegradedBudget           = "budget_exhausted"
	DegradedTruncated        = "truncated"
)

// Degraded is one such reason with a detail that a person can read.
type Degraded struct{ Reason, Detail string }

// Model answers one structured question. [*model.Client] is one.
type Model interface {
	Complete(ctx context.Context, r model.Request) (json.RawMessage, model.Usage, error)
}

// Source gives the newest snapshot. [*memory.Catalog] is one.
type Source interface{ Snapshot() *memory.Snapshot }

// Engine carries a recall from its ranking to its selection.
type Engine struct {
	source  Source
	model   Model   // nil without one
	meaning Meaning // nil without one
	timeout time.Duration
}

// NewEngine returns an engine over source. m may be nil; timeout bounds one
// question to the model, at most SelectorCeiling, which 0 means.
func NewEngine(source Source, m Model, timeout time.Duration) *Engine {
	if timeout <= 0 || timeout > SelectorCeiling {
		timeout = SelectorCeiling
	}
	return &Engine{source: source, model: m, timeout: timeout}
}

// WithMeaning is the engine with a search by meaning, which nil is none. It has a part
// in what is settled, and none in a fast result.
func (e *Engine) WithMeaning(m Meaning) *Engine {
	with := *e
	with.meaning = m
	return &with
}

// Fast is the part of a ranking that goes out at once.
func (r *Ranking) Fast(limit int) []Hit {
	if limit <= 0 {
		limit = MaxRelevantDocs
	}
	return r.Hits[:min(len(r.Hits), limit, MaxFastDocs)]
}

// Selection is the settled result of a recall.
type Selection struct {
	Hits     []Hit // less what fast carried
	Strategy string
	Status   string
	Held     []string // refs that matched and that the session has from earlier recalls
	Retract  []string // refs of fast that the model left out
	// Chosen is what the model named, in its order; nil without a model's choice.
	Chosen   []*memory.Document
	Degraded []Degraded
	// Ranking is what it was chosen from, with the trace that was asked for.
	Ranking *Ranking
}

// Settle chooses the refined result of a recall whose ranking stands and whose
// first documents, fast, have gone out. With a model it is asked once; whatever
// goes wrong there, the deterministic rest is the answer and says why. The only
// error is that ctx ended.
func (e *Engine) Settle(ctx context.Context, snap *memory.Snapshot, q Query, r *Ranking, fast []Hit) (Selection, error) {
	return e.settle(ctx, snap, q, r, fast, fast)
}

// SettleWhole is [Engine.Settle] for a recall of which nothing need have gone
// out: the selection stands for all of it. The model is shown the passages of
// shown.
func (e *Engine) SettleWhole(ctx context.Context, snap *memory.Snapshot, q Query, r *Ranking, shown []Hit) (Selection, error) {
	return e.settle(ctx, snap, q, r, shown, nil)
}

// Asks tells whether settling q will ask a model, for a choice or for a vector, and so
// may take a while.
func (e *Engine) Asks(q Query) bool { return (e.model != nil || e.meaning != nil) && !Trivial(q.Text) }

// settle chooses, with the passages of shown before the model, and leaves out
// what was sent.
func (e *Engine) settle(ctx context.Context, snap *memory.Snapshot, q Query, r *Ranking, shown, sent []Hit) (s Selection, err error) {
	r.Complete()
	near := e.near(ctx, &q, nil)
	if err := ctx.Err(); err != nil {
		return Selection{}, err
	}
	r = r.hybrid(near, sent)
	defer func() {
		s.Ranking = r
		if near.Degraded != nil {
			s.Degraded = append(s.Degraded, *near.Degraded)
		}
	}()
	if e.model == nil || Trivial(q.Text) {
		return e.rest(q, r, sent), ctx.Err()
	}
	docs, excerpts := e.candidates(snap, q, r, shown)
	if len(docs) == 0 {
		return e.rest(q, r, sent), nil
	}
	chosen, seen, fault := e.ask(ctx, q, docs, excerpts)
	if err := ctx.Err(); err != nil {
		return Selection{}, err
	}
	if fault != nil {
		s := e.rest(q, r, sent)
		s.Degraded = append(s.Degraded, *fault)
		if len(s.Hits) == 0 {
			s.Status = StatusFailed
			if fault.Reason == DegradedModelTimeout {
				s.Status = StatusTimedOut
			}
		}
		return s, nil
	}
	return e.accept(ctx, snap, q, r, sent, chosen, seen)
}

func limitOf(q Query) int {
	if q.Limit <= 0 || q.Limit > MaxRelevantDocs {
		return MaxRelevantDocs
	}
	return q.Limit
}

// rest is the deterministic selection: the ranks after fast, up to the limit.
func (e *Engine) rest(q Query, r *Ranking, fast []Hit) Selection {
	s := Selection{Strategy: StrategyHeuristic, Held: r.Held}
	if r.Hybrid() {
		s.Strategy = StrategyHybrid
	}
	s.Hits = e.Current(q, r.Hits[min(len(fast), len(r.Hits)):min(len(r.Hits), limitOf(q))])
	switch {
	case len(s.Hits) > 0:
		s.Status = StatusDelivered
	case len(fast) > 0 || len(r.Held) > 0:
		s.Status = StatusAlreadyDelivered
	default:
		s.Status, s.Strategy = StatusNoRelevant, StrategyNone
	}
	return s
}

// Current drops hits whose document is gone or no longer to be seen, and shows
// those anew whose document has changed: nothing is sent stale.
func (e *Engine) Current(q Query, hits []Hit) []Hit {
	snap := e.source.Snapshot()
	visible := visibility(&q)
	var out []Hit
	for _, h := range hits {
		d, ok := snap.Get(h.Doc.Ref)
		if !ok || !visible(d) {
			continue
		}
		if d != h.Doc {
			fresh, ok := IndexOf(snap).explainHit(q, d)
			if !ok {
				continue
			}
			fresh.Score = h.Score
			h = fresh
		}
		out = append(out, h)
	}
	return out
}

// candidates are what the model chooses from: the deterministic ranking's best
// interleaved with the most recent memories, less what the session holds.
func (e *Engine) candidates(snap *memory.Snapshot, q Query, r *Ranking, fast []Hit) ([]*memory.Document, map[*memory.Document]string) {
	lexical := r.candidates()
	noise, ix := toolNoise(q.RecentTools), IndexOf(snap)
	visible := visibility(&q)
	ok := func(d *memory.Document) bool {
		if !visible(d) || noise != nil && noise(ix.usageOf(d)) {
			return false
		}
		if r.scorer == nil || slices.ContainsFunc(fast, func(h Hit) bool { return h.Doc.Ref == d.Ref }) {
			return true
		}
		return !r.holds(d)
	}
	lexical = slices.DeleteFunc(lexical, func(d *memory.Document) bool { return !ok(d) })
	lexical = lexical[:min(len(lexical), maxLexical)]
	// Inv: what went out is before the model, however a later scan ranks it.
	excerpts := map[*memory.Document]string{}
	for _, h := range slices.Backward(fast) {
		d, there := snap.Get(h.Doc.Ref)
		if !there || !ok(d) {
			continue
		}
		if !slices.Contains(lexical, d) {
			lexical = slices.Insert(lexical, 0, d)
		}
		excerpts[d] = h.Doc.Text[h.Passage.Start:h.Passage.End]
	}
	listed := make(map[*memory.Document]bool, len(lexical))
	for _, d := range lexical {
		listed[d] = true
	}
	recent := mostRecent(snap, maxCandidates-len(lexical), func(d *memory.Document) bool { return !listed[d] && ok(d) })
	return interleave(lexical, recent), excerpts
}

func interleave(a, b []*memory.Document) []*memory.Document {
	out := make([]*memory.Document, 0, len(a)+len(b))
	for i := range max(len(a), len(b)) {
		if i < len(a) {
			out = append(out, a[i])
		}
		if i < len(b) {
			out = append(out, b[i])
		}
	}
	return out
}

// mostRecent returns the n documents with the newest facts for which ok holds.
func mostRecent(snap *memory.Snapshot, n int, ok func(*memory.Document) bool) []*memory.Document {
	if n <= 0 {
		return nil
	}
	top := topList{want: n}
	for d := range snap.All() {
		// Inv: whether it is recent enough is asked first, since that is cheap.
		if c := (candidate{doc: d}); top.wants(c) && ok(d) {
			top.offer(c)
		}
	}
	cs := top.sorted()
	out := make([]*memory.Document, len(cs))
	for i, c := range cs {
		out[i] = c.doc
	}
	return out
}

// ask puts one question to the model. The fault says why there is no choice from
// what it has seen.
func (e *Engine) ask(ctx context.Context, q Query, docs []*memory.Document, excerpts map[*memory.Document]string) (chosen []*memory.Document, seen manifest, fault *Degraded) {
	var nonce [8]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return nil, seen, &Degraded{DegradedModelUnavailable, err.Error()}
	}
	limit := limitOf(q)
	m := newManifest(docs, excerpts, q.Now)
	bounded, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	raw, _, err := e.model.Complete(bounded, model.Request{
		System: fmt.Sprintf(selectorSystem, limit), User: selectorPrompt(&q, m, hex.EncodeToString(nonce[:])),
		SchemaName: "memory_selection", Schema: json.RawMessage(fmt.Sprintf(selectorSchema, limit)),
		MaxTokens: 256, Purpose: "recall",
		Check: func(raw json.RawMessage) error { _, err := parseIDs(raw); return err },
	})
	if err != nil {
		return nil, m, modelFault(err)
	}
	ids, err := parseIDs(raw)
	if err != nil {
		return nil, m, &Degraded{DegradedModelInvalid, err.Error()}
	}
	chosen, unknown := m.choose(ids, limit)
	if len(chosen) == 0 && unknown > 0 {
		return nil, m, &Degraded{DegradedModelInvalid, namedUnknown(unknown)}
	}
	return chosen, m, nil
}

func namedUnknown(n int) string {
	if n == 1 {
		return "the model named one memory, and that is not in its list"
	}
	return fmt.Sprintf("the model named %d memories, and none of them is in its list", n)
}

func modelFault(err error) *Degraded {
	var me *model.Error
	switch {
	case errors.As(err, &me):
		return &Degraded{me.Kind.Reason(), me.Detail}
	case errors.Is(err, context.DeadlineExceeded):
		return &Degraded{DegradedModelTimeout, "no answer in time"}
	}
	return &Degraded{DegradedModelUnavailable, memory.CleanLine(err.Error())}
}

// accept turns the model's choice into a selection.
func (e *Engine) accept(ctx context.Context, snap *memory.Snapshot, q Query, r *Ranking, fast []Hit, chosen []*memory.Document, seen manifest) (Selection, error) {
	s := Selection{Strategy: StrategyModel, Held: r.Held, Chosen: append([]*memory.Document{}, chosen...)}
	inFast := func(d *memory.Document) bool {
		return slices.ContainsFunc(fast, func(h Hit) bool { return h.Doc.Ref == d.Ref })
	}
	var hits []Hit
	ix := IndexOf(snap)
	for _, d := range chosen {
		if inFast(d) {
			continue
		}
		h, ok := r.chosen(ix, q, d)
		if ok {
			hits = append(hits, h)
		}
	}
	s.Hits = e.Current(q, hits)
	if len(chosen) < limitOf(q) {
		for _, h := range fast {
			left := !slices.ContainsFunc(chosen, func(d *memory.Document) bool { return d.Ref == h.Doc.Ref })
			if left && seen.lists(h.Doc.Ref) {
				s.Retract = append(s.Retract, h.Doc.Ref)
			}
		}
	}
	switch {
	case len(s.Hits) > 0:
		s.Status = StatusDelivered
	case len(chosen) > 0 || len(r.Held) > 0:
		s.Status = StatusAlreadyDelivered
	default:
		s.Status = StatusNoRelevant
	}
	return s, ctx.Err()
}
