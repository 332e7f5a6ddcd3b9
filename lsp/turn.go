package lsp

import "slices"

// The kinds of turns. Only a user's own starts a recall.
const (
	turnUser     = "user"
	turnRetry    = "retry"
	turnContinue = "continue"
	turnRestore  = "restore"
	turnRuntime  = "runtime"
)

func turns() []string { return []string{turnUser, turnRetry, turnContinue, turnRestore, turnRuntime} }

// turn is one turn of a session, as memory/recall announced it. All but the
// token is guarded by the session's mu.
type turn struct {
	token   string
	kind    string
	number  uint64         // in the session, from 1
	started bool           // its recall was
	recall  *pendingRecall // until it has ended; nil when it was not started
	outcome string         // of the recall, once it has ended or was not started
	reason  string

	finished *FinishResult // what memory/finish answered
}

// enter adds a turn. Its token may have named an earlier one that started no
// recall. Inv: mu is held.
func (s *session) enter(t *turn) {
	s.turned++
	t.number = s.turned
	s.turns = slices.DeleteFunc(s.turns, func(old *turn) bool { return old.token == t.token && t.token != "" })
	s.turns = append(s.turns, t)
	s.trim()
}

// trim forgets the oldest turns beyond the bound. Inv: mu is held.
func (s *session) trim() {
	ended := 0
	for _, t := range s.turns {
		if t.recall == nil {
			ended++
		}
	}
	s.turns = slices.DeleteFunc(s.turns, func(t *turn) bool {
		drop := ended > maxTurns && t.recall == nil
		if drop {
			ended--
		}
		return drop
	})
}

// passed notes a turn that starts no recall. The token of a recall goes on
// naming that, also when a turn that continues it repeats the token.
func (s *session) passed(p *RecallParams, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := &turn{token: p.Token, kind: either(p.Turn, turnUser), outcome: outcomeNotStarted, reason: reason}
	if t := s.named(p.Token); t != nil && t.started {
		next.token = ""
	}
	s.enter(next)
}

// named finds the turn of a token, or nil. Inv: mu is held.
func (s *session) named(token string) *turn {
	if i := slices.IndexFunc(s.turns, func(t *turn) bool { return t.token == token }); i >= 0 {
		return s.turns[i]
	}
	return nil
}

// latest is the turn that began last, or nil. Inv: mu is held.
func (s *session) latest() *turn {
	if len(s.turns) == 0 {
		return nil
	}
	return s.turns[len(s.turns)-1]
}

// closed notes how the recall of a turn ended. Inv: mu is held.
func (s *session) closed(t *turn, outcome, reason string) {
	t.recall, t.outcome, t.reason = nil, outcome, reason
	s.trim()
}
