package lsp

import (
	"slices"
	"sync"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// pull is what a recall with pull delivery holds for its host.
type pull struct {
	// fastReady is closed when a fast result that is not empty may be taken
	// without waiting for more.
	fastReady chan struct{}

	// taking is held by whoever prepares a result for the host. It comes before
	// session.mu.
	taking sync.Mutex

	// Guarded by session.mu.
	asked     bool         // the host has asked at the start of its turn
	fast      []recall.Hit // nil until it stands
	held      []string     // what the fast ranking passed over
	sent      []recall.Hit // of fast, once the host has them
	selection recall.Selection
	trace     *RecallTraceTable // of the newest ranking
}

// holdFast keeps the fast result for the host. It is false when the recall has
// ended.
func (f *features) holdFast(r *pendingRecall, snap *memory.Snapshot, ranking *recall.Ranking, fast []recall.Hit) bool {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.ended {
		return false
	}
	r.pull.fast, r.pull.held, r.pull.trace = fast, slices.Clone(ranking.Held), traceOf(ranking)
	r.fast = FastSummary{Refs: refsOf(fast), Strategy: recall.StrategyNone, LatencyMs: f.since(r)}
	if len(ranking.Hits) > 0 || len(ranking.Held) > 0 {
		r.fast.Strategy = recall.StrategyHeuristic
	}
	// A selection that asks nobody stands a moment later, and is the better
	// answer to a host that asks now.
	if len(fast) > 0 && (snap.Loading() || f.engine().Asks(r.query)) {
		close(r.pull.fastReady)
	}
	return true
}

// settleHeld chooses the selection of a recall with pull delivery and keeps it
// for the host.
func (f *features) settleHeld(r *pendingRecall, snap *memory.Snapshot, ranking *recall.Ranking, fast []recall.Hit) {
	defer f.rescue(r)
	selection, err := f.engine().SettleWhole(r.ctx, snap, r.query, ranking, fast)
	if err != nil {
		f.unranked(r, err)
		return
	}
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.ended {
		return
	}
	r.pull.selection, r.pull.trace = selection, traceOf(selection.Ranking)
	r.pull.trace.chosen(&selection)
	left := r.left()
	summary := RefinedSummary{Refs: refsOf(left), Strategy: selection.Strategy, Status: selection.Status, LatencyMs: f.since(r)}
	if len(left) == 0 && summary.Status == recall.StatusDelivered {
		summary.Status = statusOfRest(selection.Degraded)
	}
	defer f.settleLocked(r, outcomeSettled, "", summary)()
	if len(left) == 0 {
		f.retireLocked(r, outcomeSettled, "", delivery{
			phase: phaseRefined, point: pointDiscarded, strategy: selection.Strategy,
			reason: nothingToDeliver(summary.Status, len(r.pull.sent) > 0),
		})
	}
}

// statusOfRest is the status of a selection all of which the host has taken as
// its fast result.
func statusOfRest(degraded []recall.Degraded) string {
	for _, d := range degraded {
		switch d.Reason {
		case recall.DegradedModelTimeout:
			return recall.StatusTimedOut
		case recall.DegradedModelInvalid, recall.DegradedModelUnavailable:
			return recall.StatusFailed
		}
	}
	return recall.StatusAlreadyDelivered
}

// left is what the selection holds beyond what the host has of it. Inv: the
// session's mu is held.
func (r *pendingRecall) left() []recall.Hit {
	sent := r.pull.sent
	left := slices.DeleteFunc(slices.Clone(r.pull.selection.Hits), func(h recall.Hit) bool { return carries(sent, h.Doc.Ref) })
	if r.pull.selection.Strategy != recall.StrategyModel && len(left) > 0 {
		// What was sent counts towards the limit, wherever a newer ranking has it.
		left = left[:max(0, min(len(left), r.limit-len(sent)))]
	}
	return left
}

// offer is what a host that asks at point may have now: a phase, which is empty
// for nothing, and its hits. Inv: the session's mu is held.
func (r *pendingRecall) offer(point string) (phase string, hits []recall.Hit) {
	switch {
	case r.ended:
	case r.settled:
		return phaseRefined, r.left()
	case point == pointInitial && len(r.pull.fast) > 0 && len(r.pull.sent) == 0:
		return phaseFast, r.pull.fast
	}
	return "", nil
}

// take gives the host what it may have at point, or nil.
func (f *features) take(r *pendingRecall, point string) *RecallResult {
	r.pull.taking.Lock()
	defer r.pull.taking.Unlock()
	for {
		r.session.mu.Lock()
		phase, hits := r.offer(point)
		r.session.mu.Unlock()
		if phase == "" {
			return nil
		}
		hits = f.engine().Current(r.query, hits)
		offered := hits
		result, hits := f.compose(r, phase, f.catalog().Snapshot(), hits)
		if f.handOver(r, point, result, hits) {
			result.Trace = result.Trace.unfit(offered, hits)
			if len(hits) == 0 {
				return nil
			}
			return result
		}
	}
}

// handOver counts a result as delivered. It is false when something else must
// be offered, since the recall has settled or ended meanwhile. Inv: taking is
// held.
func (f *features) handOver(r *pendingRecall, point string, result *RecallResult, hits []recall.Hit) bool {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if now, _ := r.offer(point); now != result.Phase {
		return false
	}
	for i := range hits {
		s.ledger.deliver(&hits[i], r.number)
	}
	if result.Phase == phaseFast {
		result.Strategy, result.AlreadyDelivered, result.Trace = r.fast.Strategy, r.pull.held, r.pull.trace
		r.pull.sent = hits
		if len(hits) > 0 {
			f.observe(r, delivery{phase: phaseFast, point: point, strategy: result.Strategy, hits: hits})
		}
		return true
	}
	selection := &r.pull.selection
	result.Strategy, result.Status = selection.Strategy, recall.StatusDelivered
	result.AlreadyDelivered, result.Trace = selection.Held, r.pull.trace
	for _, d := range selection.Degraded {
		result.Degraded = append(result.Degraded, DegradedReason{Reason: d.Reason, Detail: d.Detail})
	}
	end := delivery{phase: phaseRefined, point: point, strategy: result.Strategy, hits: hits}
	if len(hits) == 0 { // all of it has been forgotten since
		end.point, end.reason = pointDiscarded, recall.StatusNoRelevant
	}
	f.retireLocked(r, outcomeSettled, "", end)
	return true
}

// since is how long ago a recall was asked for, in milliseconds.
func (f *features) since(r *pendingRecall) int64 { return f.opt.Now().Sub(r.began).Milliseconds() }
