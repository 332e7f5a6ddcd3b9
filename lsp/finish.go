package lsp

import (
	"context"
)

// How a turn may end.
const (
	endTurn           = "end_turn"
	endCancelled      = "cancelled"
	endError          = "error"
	endLoopProtection = "loop_protection"
	endLimit          = "limit"
)

// States of background work, and why it was not scheduled.
const (
	workScheduled = "scheduled"
	workSkipped   = "skipped"

	reasonTurnNotSuccessful = "turn_not_successful"
	reasonNoHistory         = "no_history"
)

// FinishedTurn is a user's turn that ended well.
type FinishedTurn struct {
	Session string
	Folder  string // of the session, as [Folder.URI]; empty when it recalled nothing
	// Messages are the final history, or its tail from From.
	Messages []TurnMessage
	From     *MessageCursor
}

// finish serves memory/finish. It runs on the read loop.
func (f *features) finish(_ context.Context, p *FinishParams) (*FinishResult, error) {
	if err := checkFinish(p); err != nil {
		return nil, err
	}
	s := f.sessions.find(p.Session)
	if s == nil && p.Turn != "" && p.Token == "" {
		s = f.sessions.get(p.Session) // a turn without a recall
	}
	if s == nil {
		return nil, Fail(KindNotFound, "there is no session of this name")
	}
	t, err := s.finishing(p)
	if err != nil {
		return nil, err
	}
	if t.finished == nil {
		done := f.close(s, t, p)
		s.mu.Lock()
		t.finished = done
		s.mu.Unlock()
	}
	return t.finished, nil
}

func checkFinish(p *FinishParams) error {
	if err := checkName("session", p.Session); err != nil {
		return err
	}
	if p.Token != "" {
		if err := checkName("token", p.Token); err != nil {
			return err
		}
	}
	if p.Turn != "" {
		if err := oneOf("turn", p.Turn, turns()...); err != nil {
			return err
		}
	}
	if err := oneOf("outcome", p.Outcome, endTurn, endCancelled, endError, endLoopProtection, endLimit); err != nil {
		return err
	}
	return checkTail(p.Messages, p.MessagesFrom)
}

// checkTail checks a history, or its tail from a cursor.
func checkTail(messages []TurnMessage, from *MessageCursor) error {
	switch {
	case len(messages) > maxListed:
		return InvalidParam("messages", "has %d items, at most %d are taken", len(messages), maxListed)
	case from != nil && from.Offset < 0:
		return InvalidParam("messagesFrom.offset", "must not be negative")
	}
	return nil
}

// finishing finds the turn that is to be finished: that of the token, else the
// latest one. A turn that no recall announced begins here.
func (s *session) finishing(p *FinishParams) (*turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Token != "" {
		if t := s.named(p.Token); t != nil {
			return t, nil
		}
		return nil, Fail(KindNotFound, "this session has no turn %q", short(p.Token))
	}
	t := s.latest()
	switch {
	case p.Turn != "" && (t == nil || t.finished != nil):
		t = &turn{kind: p.Turn, outcome: outcomeNotStarted}
		s.enter(t)
	case t == nil:
		return nil, Fail(KindNotFound, "this session has no turn to finish")
	}
	return t, nil
}

// close ends what is pending of a turn and of those before it, and schedules what
// follows a good one.
func (f *features) close(s *session, t *turn, p *FinishParams) *FinishResult {
	s.mu.Lock()
	if r := s.pending; r != nil && r.turn.number <= t.number {
		reason := reasonNoSafePoint
		if p.Outcome == endCancelled {
			reason = reasonAbort
		}
		f.cancelLocked(r, reason)
	}
	result := &FinishResult{Recall: FinishedRecall{Outcome: t.outcome, Reason: t.reason}}
	done := FinishedTurn{Session: s.name, Folder: s.folder, Messages: p.Messages, From: p.MessagesFrom}
	s.mu.Unlock()

	skip := ""
	switch {
	case either(p.Turn, t.kind) != turnUser:
		skip = reasonNotUserTurn
	case p.Outcome != endTurn:
		skip = reasonTurnNotSuccessful
	}
	settings := f.s.Settings()
	learn := f.opt.Extract
	if learn == nil {
		learn = f.followTurn
	}
	result.Extract = schedule(learn, skip, settings.Extract, len(p.Messages) > 0, &done)
	dream := f.opt.Dream
	if dream == nil {
		dream = f.dreamAfter
	}
	result.Dream = schedule(dream, skip, settings.Dream, true, &done)
	return result
}

// schedule asks a task to follow a turn, unless something speaks against it.
func schedule(task func(FinishedTurn) ScheduledWork, skip string, enabled, material bool, t *FinishedTurn) ScheduledWork {
	switch {
	case skip != "":
	case !enabled || task == nil:
		skip = reasonDisabled
	case !material:
		skip = reasonNoHistory
	default:
		return task(*t)
	}
	return ScheduledWork{State: workSkipped, Reason: skip}
}
