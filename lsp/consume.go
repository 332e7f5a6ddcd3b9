package lsp

import (
	"context"
	"time"
)

// The points of a turn at which a host may add to its request, and what else
// telemetry calls a point of delivery.
const (
	pointInitial    = "initial"
	pointToolResult = "tool_result"
	pointPush       = "push"
	pointDiscarded  = "discarded"
)

// initialWait is how long a host is kept waiting at the start of its turn.
const initialWait = 100 * time.Millisecond

// consume serves memory/consume. It runs on the read loop until it has to wait.
func (f *features) consume(ctx context.Context, p *ConsumeParams) (*RecallResult, error) {
	for _, name := range []struct{ field, value string }{{"session", p.Session}, {"token", p.Token}} {
		if err := checkName(name.field, name.value); err != nil {
			return nil, err
		}
	}
	if err := oneOf("point", p.Point, pointInitial, pointToolResult); err != nil {
		return nil, err
	}
	r, err := f.consumable(p)
	if err != nil || r == nil {
		return nil, err
	}
	if p.Point == pointInitial {
		if !r.ask(true) {
			return nil, nil
		}
		if err := f.awaitInitial(ctx, r); err != nil {
			r.ask(false) // nothing was taken: the host may ask again
			return nil, err
		}
	}
	return f.take(r, p.Point), nil
}

// consumable is the recall of a token that a host may take from; nil when it has
// ended.
func (f *features) consumable(p *ConsumeParams) (*pendingRecall, error) {
	unknown := Fail(KindNotFound, "this session has no recall %q", short(p.Token))
	s := f.sessions.find(p.Session)
	if s == nil {
		return nil, unknown
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.named(p.Token)
	switch {
	case t == nil:
		return nil, unknown
	case t.recall != nil && t.recall.pull == nil:
		return nil, InvalidParam("token", "the results of %q are pushed", short(p.Token))
	}
	return t.recall, nil
}

// ask notes that the host asks at the start of its turn, or that this came to
// nothing. It is false when the host has asked before.
func (r *pendingRecall) ask(now bool) bool {
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	first := r.pull.asked != now
	r.pull.asked = now
	return first
}

// awaitInitial waits until there is something to take, the recall has ended, or
// a turn should begin without it. The error is that the request was cancelled.
func (f *features) awaitInitial(ctx context.Context, r *pendingRecall) error {
	select {
	case <-r.done:
		return nil
	case <-r.pull.fastReady:
		return nil
	default:
	}
	ceiling := f.opt.After(initialWait)
	Release(ctx)
	select {
	case <-r.done:
	case <-r.pull.fastReady:
	case <-ceiling:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
