package lsp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

const (
	// fastWait is how long a fast result waits for a first scan. With what
	// ranking then takes it stays within the 100 ms of the contract.
	fastWait = 90 * time.Millisecond
	// fastHead is how long a refinement leaves the processors to the writing of
	// the fast result; a client that reads slower than that delays it no further.
	fastHead = 5 * time.Millisecond
	// sweptWait is how long a refinement waits for it.
	sweptWait = 5 * time.Second
	// sweepAge is how old the last look at a root may be before a recall asks
	// for a new one.
	sweepAge = 2 * time.Second
)

// pendingRecall is one recall from its start to its end.
//
// It settles when its selection stands, which is when its request is answered,
// and ends when nothing more of it will be delivered. With push delivery the two
// are one; with pull it may wait for its host in between.
//
// Inv: what is delivered of it is delivered while session.mu is held and ended is
// false; so nothing of it follows its terminal event, and its predecessor's
// terminal event precedes all of it.
type pendingRecall struct {
	session *session
	turn    *turn
	pull    *pull // nil with push delivery
	token   string
	number  heldBy // in the session, from 1
	began   time.Time
	limit   int
	query   recall.Query
	request context.Context // of the request; tells whether the client has cancelled it
	ctx     context.Context // of the work; ends with the recall
	cancel  context.CancelFunc

	matched  atomic.Int64  // memories that match
	done     chan struct{} // closed when it has settled or ended: what its answer is made of is final
	answered chan struct{} // closed when its answer has entered the outbox

	settled bool // guarded by session.mu, as all below
	ended   bool
	// What the answer is made of.
	outcome string
	reason  string
	refusal error // why the request is answered with an error; nil if it is not
	fast    FastSummary
	refined RefinedSummary
}

// fast ranks over snap and sends the fast result. ok is false when the recall
// has ended meanwhile.
func (f *features) fast(r *pendingRecall, snap *memory.Snapshot) (ranking *recall.Ranking, sent []recall.Hit, ok bool) {
	rank := recall.IndexOf(snap).RankFast
	if r.query.Trace {
		rank = recall.IndexOf(snap).Rank
	}
	ranking, err := rank(r.ctx, r.query)
	if err != nil {
		f.unranked(r, err)
		return nil, nil, false
	}
	r.matched.Store(int64(ranking.Total))
	if r.pull != nil {
		fast := ranking.Fast(r.limit)
		return ranking, fast, f.holdFast(r, snap, ranking, fast)
	}
	result, hits := f.compose(r, phaseFast, snap, ranking.Fast(r.limit))
	result.Strategy = recall.StrategyNone
	if len(ranking.Hits) > 0 || len(ranking.Held) > 0 {
		result.Strategy = recall.StrategyHeuristic
	}
	result.AlreadyDelivered = ranking.Held
	result.Trace = traceOf(ranking).unfit(ranking.Fast(r.limit), hits)
	return ranking, hits, f.sendFast(r, result, hits)
}

// unranked ends a recall that could not be ranked, unless it has ended anyway.
func (f *features) unranked(r *pendingRecall, err error) {
	if r.ctx.Err() == nil {
		f.s.log.Error("recall failed", "err", err)
		f.fail(r)
	}
}

// sendFast sends the fast result unless the recall has ended.
func (f *features) sendFast(r *pendingRecall, result *RecallResult, hits []recall.Hit) bool {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.ended {
		return false
	}
	if f.deliverLocked(r, NotifyRecallFast, result, hits) && len(hits) > 0 {
		f.observe(r, delivery{phase: phaseFast, point: pointPush, strategy: result.Strategy, hits: hits})
	}
	r.fast = FastSummary{Refs: refsOf(hits), Strategy: result.Strategy, LatencyMs: result.LatencyMs}
	return true
}

// deliverLocked sends a result and enters what it carries into the ledger. A
// document is delivered when its frame has entered the outbox; false says that it
// has not. Inv: the session's mu is held.
func (f *features) deliverLocked(r *pendingRecall, method string, result *RecallResult, hits []recall.Hit) bool {
	if err := f.s.Notify(method, result); err != nil {
		f.s.log.Debug("recall not delivered", "method", method, "err", err)
		return false
	}
	for i := range hits {
		r.session.ledger.deliver(&hits[i], r.number)
	}
	return true
}

// whileLoading carries a recall through that came before the first scan was
// over: the fast result waits for it a moment, the refined one longer.
func (f *features) whileLoading(r *pendingRecall) {
	defer f.rescue(r)
	f.ready(r.ctx, fastWait)
	snap := f.catalog().Snapshot()
	ranking, sent, ok := f.fast(r, snap)
	if !ok {
		return
	}
	if snap.Loading() {
		f.ready(r.ctx, sweptWait)
		snap = f.catalog().Snapshot()
		var err error
		if ranking, err = recall.IndexOf(snap).Rank(r.ctx, r.query); err != nil {
			f.unranked(r, err)
			return
		}
		r.matched.Store(int64(ranking.Total))
	}
	f.choose(r, snap, ranking, sent)
}

// choose settles a recall in the way in which it is delivered.
func (f *features) choose(r *pendingRecall, snap *memory.Snapshot, ranking *recall.Ranking, fast []recall.Hit) {
	if r.pull != nil {
		f.settleHeld(r, snap, ranking, fast)
		return
	}
	f.settle(r, snap, ranking, fast)
}

// ready waits for the first scan, no longer than most.
func (f *features) ready(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	scanned := make(chan struct{})
	go func() {
		defer close(scanned)
		// An error means that ctx or the catalog has ended.
		_ = f.catalog().Ready(ctx)
	}()
	select {
	case <-scanned:
	case <-f.opt.After(most):
		cancel()
		<-scanned
	}
}

// settle chooses and sends the refined result.
func (f *features) settle(r *pendingRecall, snap *memory.Snapshot, ranking *recall.Ranking, fast []recall.Hit) {
	defer f.rescue(r)
	f.s.awaitWritten(r.ctx, f.opt.After(fastHead))
	selection, err := f.engine().Settle(r.ctx, snap, r.query, fastFirst(ranking, fast, r.limit), fast)
	if err != nil {
		f.unranked(r, err)
		return
	}
	result, hits := f.compose(r, phaseRefined, f.catalog().Snapshot(), selection.Hits)
	result.Strategy, result.Status, result.Retract = selection.Strategy, selection.Status, selection.Retract
	result.AlreadyDelivered = without(selection.Held, fast)
	if len(hits) == 0 && result.Status == recall.StatusDelivered {
		result.Status = recall.StatusNoRelevant
		if len(fast) > 0 || len(result.AlreadyDelivered) > 0 {
			result.Status = recall.StatusAlreadyDelivered
		}
	}
	for _, d := range selection.Degraded {
		result.Degraded = append(result.Degraded, DegradedReason{Reason: d.Reason, Detail: d.Detail})
	}
	result.Trace = traceOf(selection.Ranking)
	result.Trace.chosen(&selection)
	result.Trace = result.Trace.unfit(selection.Hits, hits)
	f.sendRefined(r, result, hits, outcomeSettled)
}

// fastFirst is the ranking with what fast carried in front: it counts towards
// the limit wherever a newer ranking has it, and is not delivered again.
func fastFirst(ranking *recall.Ranking, fast []recall.Hit, limit int) *recall.Ranking {
	r := *ranking
	r.Hits = slices.Clone(fast)
	for i := range ranking.Hits {
		if len(r.Hits) == limit {
			break
		}
		if !carries(fast, ranking.Hits[i].Doc.Ref) {
			r.Hits = append(r.Hits, ranking.Hits[i])
		}
	}
	return &r
}

func carries(hits []recall.Hit, ref string) bool {
	return slices.ContainsFunc(hits, func(h recall.Hit) bool { return h.Doc.Ref == ref })
}

func without(refs []string, fast []recall.Hit) []string {
	return slices.DeleteFunc(slices.Clone(refs), func(ref string) bool { return carries(fast, ref) })
}

// sendRefined sends the terminal event and ends the recall, unless it has ended.
func (f *features) sendRefined(r *pendingRecall, result *RecallResult, hits []recall.Hit, outcome string) {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.ended {
		f.endLocked(r, result, hits, outcome)
	}
}

// endLocked sends the terminal event and ends the recall. Inv: the session's mu
// is held, and the recall has not ended.
func (f *features) endLocked(r *pendingRecall, result *RecallResult, hits []recall.Hit, outcome string) {
	end := delivery{phase: phaseRefined, point: pointDiscarded, strategy: result.Strategy, reason: result.Reason}
	if r.settled {
		end.strategy = r.refined.Strategy
	}
	switch {
	case r.pull == nil && f.deliverLocked(r, NotifyRecallRefined, result, hits) && len(hits) > 0:
		end.point, end.hits = pointPush, hits
	case outcome == outcomeSettled:
		end.reason = nothingToDeliver(result.Status, len(r.fast.Refs) > 0)
	}
	answer := f.settleLocked(r, outcome, result.Reason, RefinedSummary{
		Refs: refsOf(hits), Status: result.Status, Strategy: result.Strategy,
		Retract: result.Retract, LatencyMs: result.LatencyMs,
	})
	f.retireLocked(r, outcome, result.Reason, end)
	answer()
}

// retireLocked notes that nothing more of the recall will be delivered after end.
// Inv: the session's mu is held.
//
// Inv: it is called once for a recall, and so is the terminal event.
func (f *features) retireLocked(r *pendingRecall, outcome, reason string, end delivery) {
	r.ended = true
	f.observe(r, end)
	r.session.closed(r.turn, outcome, reason)
	if r.session.pending == r {
		r.session.pending = nil
	}
}

// settleLocked notes what was selected, unless that has been done. answer lets
// the request be answered and the work end: what is told of the recall before it
// comes before the answer. Inv: the session's mu is held.
func (f *features) settleLocked(r *pendingRecall, outcome, reason string, refined RefinedSummary) (answer func()) {
	if r.settled {
		return func() {}
	}
	r.settled, r.outcome, r.reason, r.refined = true, outcome, reason, refined
	if outcome == outcomeSettled {
		f.observeSelection(r)
	}
	if r.fast.Strategy == "" { // it ended before its fast result
		r.fast.Strategy = recall.StrategyNone
	}
	return func() {
		r.cancel()
		close(r.done)
	}
}

// cancelLocked ends a recall without documents, unless it has ended. A client
// that has cancelled the request itself is told so. Inv: the session's mu is
// held.
func (f *features) cancelLocked(r *pendingRecall, reason string) {
	if r.ended {
		return
	}
	switch {
	case r.settled: // and answered, which has ended the request's context
	case errors.Is(context.Cause(r.request), ErrCancelled):
		reason, r.refusal = reasonAbort, ErrCancelled
	case r.request.Err() != nil || reason == reasonShutdown:
		reason, r.refusal = reasonShutdown, ErrShutdown
	}
	result, _ := f.compose(r, phaseRefined, f.catalog().Snapshot(), nil)
	result.Degraded = nil // nothing was looked for
	result.Strategy, result.Status, result.Reason = recall.StrategyNone, recall.StatusCancelled, reason
	f.endLocked(r, result, nil, outcomeCancelled)
}

// fail ends a recall that met a fault of the server's own.
func (f *features) fail(r *pendingRecall) {
	result, _ := f.compose(r, phaseRefined, f.catalog().Snapshot(), nil)
	result.Strategy, result.Status = recall.StrategyNone, recall.StatusFailed
	f.sendRefined(r, result, nil, outcomeSettled)
}

// rescue ends a recall whose work panics: its request would wait for ever.
func (f *features) rescue(r *pendingRecall) {
	if v := recover(); v != nil {
		f.fail(r)
		panic(v)
	}
}

// endAll ends every pending recall when the connection closes.
func (f *features) endAll(context.Context) {
	if f.running.Load() == nil {
		return
	}
	f.sessions.each(func(s *session) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.pending != nil {
			f.cancelLocked(s.pending, reasonShutdown)
		}
	})
}

// giveUp ends what is pending of a session that is forgotten.
func (f *features) giveUp(s *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending != nil {
		f.cancelLocked(s.pending, reasonNoSafePoint)
	}
}

// compose makes a result of hits, and says which of them it carries.
func (f *features) compose(r *pendingRecall, phase string, snap *memory.Snapshot, hits []recall.Hit) (*RecallResult, []recall.Hit) {
	now := r.query.Now
	snap, hits = f.present(r.ctx, snap, r.query, hits)
	result := &RecallResult{
		Token: r.token, Session: r.session.name, Phase: phase,
		CatalogRevision: snap.Revision, Degraded: degradedBy(snap, &r.query),
	}
	for i := range hits {
		hits[i].Gone = f.deadNote(hits[i].Doc)
	}
	block, err := recall.Render(hits, now)
	if err != nil {
		f.s.log.Error("memories not rendered", "err", err)
	}
	if left := len(hits) - len(block.Hits); left > 0 {
		result.Degraded = append(result.Degraded, DegradedReason{
			Reason: recall.DegradedTruncated, Detail: fmt.Sprintf("%d more had no room in the prompt", left),
		})
	}
	result.Prompt = block.Text
	words := documents{now: now, encoding: f.s.Client().PositionEncoding}
	for i := range block.Hits {
		result.Documents = append(result.Documents, words.hit(&block.Hits[i]))
	}
	result.LatencyMs = f.opt.Now().Sub(r.began).Milliseconds()
	return result, block.Hits
}

// degradedBy says what is wrong with the roots that a query looks into.
func degradedBy(snap *memory.Snapshot, q *recall.Query) []DegradedReason {
	var out []DegradedReason
	for _, root := range snap.Roots() {
		if !looksInto(q, root.Root) {
			continue
		}
		switch root.State {
		case memory.StateLoading:
			out = append(out, DegradedReason{
				Reason: recall.DegradedLoading,
				Detail: fmt.Sprintf("%s: %d memories read so far", root.Root.Prefix, root.Catalogued),
			})
		case memory.StateDegraded:
			out = append(out, DegradedReason{Reason: recall.DegradedWatch, Detail: root.Root.Prefix + ": " + root.Reason})
		case memory.StateError:
			out = append(out, DegradedReason{Reason: recall.DegradedRoot, Detail: root.Root.Prefix + ": " + root.Reason})
		}
	}
	return out
}

// looksInto tells whether a query may return memories of a root.
func looksInto(q *recall.Query, root *memory.Root) bool {
	return (len(q.Scopes) == 0 || slices.Contains(q.Scopes, root.Scope)) &&
		root.Folders.Has(q.Folder)
}

// sweepSoon asks for a look at the roots when the last one is old. It runs after
// the answer, so that no recall waits for it.
func (f *features) sweepSoon() {
	now := f.opt.Now()
	for _, root := range f.catalog().Status() {
		if at := root.Watch.LastSweep; !at.IsZero() && now.Sub(at) > sweepAge {
			f.catalog().Poke()
			return
		}
	}
}
