package lsp

import (
	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// The types of telemetry events.
const (
	eventRecall   = "memory.recall"
	eventDelivery = "memory.recall.delivery"
	eventExtract  = "memory.extract"
	eventApply    = "memory.apply"
)

// delivery is one thing that became of a recall: something was delivered, or the
// rest of it was discarded.
type delivery struct {
	phase    string
	point    string // of a turn, push or discarded
	reason   string // why it was discarded
	strategy string
	hits     []recall.Hit
}

// nothingToDeliver is why a selection that has settled is discarded.
func nothingToDeliver(status string, sent bool) string {
	all := status == recall.StatusAlreadyDelivered || sent && (status == recall.StatusTimedOut || status == recall.StatusFailed)
	if all {
		return recall.StatusAlreadyDelivered
	}
	return recall.StatusNoRelevant
}

// observe tells what became of a recall. Inv: the session's mu is held.
func (f *features) observe(r *pendingRecall, d delivery) {
	f.activity.note(r, d)
	f.tell(&TelemetryEvent{
		Type: eventDelivery, Phase: d.phase, DeliveryPoint: d.point, DiscardReason: d.reason,
		Strategy: d.strategy, Documents: len(d.hits), LatencyMs: f.since(r),
	})
}

// observeSelection tells that a selection was made. Inv: the session's mu is held.
func (f *features) observeSelection(r *pendingRecall) {
	e := &TelemetryEvent{
		Type: eventRecall, Strategy: r.refined.Strategy, Status: r.refined.Status, Delivery: deliveryPush,
		Documents: len(r.refined.Refs), Candidates: int(r.matched.Load()), LatencyMs: r.refined.LatencyMs,
	}
	if r.pull != nil {
		e.Delivery = deliveryPull
	}
	f.tell(e)
}

// observeApply tells that memories were changed.
func (f *features) observeApply(op *memory.Operation) {
	f.tell(&TelemetryEvent{Type: eventApply, Kind: string(op.Kind), Documents: len(op.Changes), Tokens: op.Usage.Tokens()})
}

// tell sends a telemetry event, if it is wanted.
func (f *features) tell(e *TelemetryEvent) {
	if f.s.Settings().Telemetry {
		f.notify(notifyTelemetry, e)
	}
}
