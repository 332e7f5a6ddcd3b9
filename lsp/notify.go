package lsp

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Names of what the server sends.
const (
	NotifyRecallFast    = "memory/recallFast"
	NotifyRecallRefined = "memory/recallRefined"
	NotifyChanged       = "memory/changed"
	NotifyStatusChanged = "memory/statusChanged"
	NotifyActivity      = "memory/activity"
	NotifyPlansChanged  = "memory/plansChanged"
	NotifyTaskChanged   = "memory/taskChanged"
	AskSecret           = "memory/secret"

	notifyTelemetry   = "telemetry/event"
	notifyShowMessage = "window/showMessage"
	notifyProgress    = "$/progress"
	askConfiguration  = "workspace/configuration"
)

// maxChangedRefs bounds the refs of one memory/changed, over its three lists.
const maxChangedRefs = 200

// announceOwn registers what every server may send.
func (s *Server) announceOwn() {
	s.outgoing[NotifyRecallFast] = NewOutgoing[RecallResult]()
	s.outgoing[NotifyRecallRefined] = NewOutgoing[RecallResult]()
	s.outgoing[NotifyChanged] = NewUnasked(nil, mergeChanged)
	s.outgoing[NotifyStatusChanged] = NewUnasked[StatusChangedParams](nil, nil)
	s.outgoing[notifyTelemetry] = NewOutgoing[TelemetryEvent]()
	s.outgoing[NotifyPlansChanged] = NewUnasked[PlansChangedParams](nil, nil)
	s.outgoing[NotifyTaskChanged] = NewUnasked(func(p *TaskChangedParams) string { return p.Task }, nil)
	s.outgoing[notifyProgress] = NewOutgoing[progressParams]()
	s.outgoing[notifyShowMessage] = NewOutgoing[showMessageParams]()
	s.asked[AskSecret] = NewAsked[SecretParams, SecretResult]()
	s.asked[askMessage] = NewAsked[messageRequestParams, *messageItem]()
	s.asked[askConfiguration] = NewAsked[configurationParams, []any]()
}

// heldNote is an unasked notification from before the end of the handshake.
type heldNote struct {
	method, key string
	params      any
}

// Notify sends an announced notification; params is the pointer type that was
// announced. A nil error means that its frame has entered the outbox, which
// is when a document counts as delivered; an error that it has not and never
// will. For an unasked notification nil may also mean that the client does
// not want it, or that it waits for the end of the handshake. Notify never
// blocks and may be called from anywhere, also under locks.
func (s *Server) Notify(method string, params any) error {
	o, ok := s.outgoing[method]
	if !ok {
		return fmt.Errorf("notification %s has not been announced", method)
	}
	if !o.Unasked {
		return s.peer.notify(method, params)
	}
	s.noteMu.Lock()
	defer s.noteMu.Unlock()
	if !s.ready {
		s.hold(o, method, params)
		return nil
	}
	return s.notifyUnasked(o, method, params)
}

// awaitWritten waits until everything sent so far has been written, no longer
// than until most fires or ctx ends.
func (s *Server) awaitWritten(ctx context.Context, most <-chan time.Time) {
	select {
	case <-s.peer.out.drained():
	case <-most:
	case <-ctx.Done():
	}
}

// hold keeps an unasked notification until the handshake is over: LSP forbids
// to send it earlier. Inv: noteMu is held.
func (s *Server) hold(o Outgoing, method string, params any) {
	key := o.key(params)
	i := slices.IndexFunc(s.held, func(n heldNote) bool { return n.method == method && n.key == key })
	if i < 0 {
		s.held = append(s.held, heldNote{method: method, key: key, params: params})
		return
	}
	s.held[i].params = o.merge(s.held[i].params, params)
}

func (s *Server) notifyUnasked(o Outgoing, method string, params any) error {
	if !s.Client().Memory {
		return nil
	}
	// The NUL keeps method and key apart; method names hold none.
	return s.peer.out.pushMerged(method+"\x00"+o.key(params), params, o.merge, func(v any) ([]byte, error) {
		return notificationFrame(method, v)
	})
}

// handshakeDone sends what was held. It is called with every message after
// initialize, the first of which shows that the client has its answer.
func (s *Server) handshakeDone() {
	s.noteMu.Lock()
	defer s.noteMu.Unlock()
	if s.ready {
		return
	}
	s.ready = true
	for _, n := range s.held {
		if err := s.notifyUnasked(s.outgoing[n.method], n.method, n.params); err != nil {
			s.log.Debug("held notification not sent", "method", n.method, "err", err)
		}
	}
	s.held = nil
}

// Request sends an expected request to the client, decodes its answer into
// result and waits for it until ctx ends. From an ordered method it must come
// after [Release]. Errors: [*ClientError] when the client refused, ctx's, or
// the connection's.
func (s *Server) Request(ctx context.Context, method string, params, result any) error {
	if _, ok := s.asked[method]; !ok {
		return fmt.Errorf("request %s has not been registered", method)
	}
	return s.peer.request(ctx, method, params, result)
}

// Secret asks the client for the value of a secret. The value is for use and
// must not be logged. A client without the memory capability is not asked.
func (s *Server) Secret(ctx context.Context, name string) (string, error) {
	if !s.Client().Memory {
		return "", fmt.Errorf("%s: the client does not declare experimental.memory", AskSecret)
	}
	var answer SecretResult
	if err := s.Request(ctx, AskSecret, &SecretParams{Name: name}, &answer); err != nil {
		return "", err
	}
	return answer.Value, nil
}

// mergeChanged joins two changes that follow each other: each ref is in the
// list that describes its way from before the first to after the second.
func mergeChanged(old, next *ChangedParams) *ChangedParams {
	const added, updated, removed, nothing = 'a', 'u', 'r', 'n'
	fate := map[string]byte{}
	var order []string
	note := func(refs []string, now byte) {
		for _, ref := range refs {
			before, seen := fate[ref]
			if !seen {
				order = append(order, ref)
			}
			switch {
			case before == added && now == removed:
				now = nothing
			case before == added && now == updated, before == nothing && now == added:
				now = added
			case before == removed && now == added:
				now = updated
			}
			fate[ref] = now
		}
	}
	for _, c := range []*ChangedParams{old, next} {
		note(c.Removed, removed)
		note(c.Added, added)
		note(c.Updated, updated)
	}
	merged := &ChangedParams{Revision: next.Revision, Truncated: old.Truncated || next.Truncated}
	n := 0
	for _, ref := range order {
		if fate[ref] == nothing {
			continue
		}
		if n == maxChangedRefs {
			merged.Truncated = true
			break
		}
		n++
		switch fate[ref] {
		case added:
			merged.Added = append(merged.Added, ref)
		case updated:
			merged.Updated = append(merged.Updated, ref)
		case removed:
			merged.Removed = append(merged.Removed, ref)
		}
	}
	return merged
}
