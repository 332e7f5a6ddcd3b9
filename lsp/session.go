package lsp

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/memls/memls/memory"
)

const (
	// maxSessions bounds the sessions of a connection that are kept while no
	// recall of theirs is pending. An agent host has one for each conversation
	// that is open.
	maxSessions = 1024
	// maxTurns is how many turns of a session are remembered beside the one
	// whose recall is pending.
	maxTurns = 64
	// maxTools is how many distinct tool names of a session are remembered.
	maxTools = 20
	// sessionAge is how long a session is kept that is not used: longer than a
	// person is away from a conversation that is still open on the screen.
	sessionAge = 24 * time.Hour
	// sessionRound is how often sessions that are too old are looked for.
	sessionRound = time.Hour
	// maxName bounds a session, a token and the name of a tool, in bytes.
	maxName = 256
)

// session is one conversation of the client: what its context holds, the tools
// it uses, and at most one recall that is pending.
type session struct {
	name string
	used uint64    // when it was used last, in the order of uses; guarded by sessions.mu
	at   time.Time // the same by the clock

	mu      sync.Mutex
	pending *pendingRecall // nil, or not ended
	// last is closed when the answer to the recall that was started last has
	// entered the outbox; nil before the first.
	last    <-chan struct{}
	started heldBy   // how many were started
	turns   []*turn  // the newest last
	turned  uint64   // how many turns there were
	tools   []string // the newest last
	folder  string   // of the first recall, when bound
	bound   bool
	ledger  ledger
}

// sessions are those of one connection.
type sessions struct {
	log *slog.Logger
	now func() time.Time
	end func(*session) // gives up what is pending of a session that is forgotten

	mu    sync.Mutex
	table map[string]*session
	uses  uint64
}

func newSessions(log *slog.Logger, now func() time.Time, end func(*session)) *sessions {
	return &sessions{log: log, now: now, end: end, table: map[string]*session{}}
}

// get returns the session of a name, new or not.
func (t *sessions) get(name string) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.table[name]
	if s == nil {
		s = &session{name: name}
		t.table[name] = s
	}
	t.use(s)
	if len(t.table) > maxSessions {
		t.evict()
	}
	return s
}

// use notes that a session is in use. Inv: mu is held.
func (t *sessions) use(s *session) {
	t.uses++
	s.used, s.at = t.uses, t.now()
}

// find returns the session of a name, or nil.
func (t *sessions) find(name string) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.table[name]
	if s != nil {
		t.use(s)
	}
	return s
}

// evict forgets the session that was not used for the longest time and has no
// recall pending. Inv: mu is held.
func (t *sessions) evict() {
	var oldest *session
	for _, s := range t.table {
		if s.used != t.uses && (oldest == nil || s.used < oldest.used) && s.idle() {
			oldest = s
		}
	}
	if oldest == nil {
		return // all are at work; how many can be is bounded by the connection
	}
	t.forget(oldest)
	t.log.Info("a session was forgotten, what it holds may be delivered again", "kept", maxSessions)
}

// forget forgets a session. Inv: mu is held.
func (t *sessions) forget(s *session) {
	delete(t.table, s.name)
	t.end(s)
}

// expire forgets sessions that have not been used for too long.
func (t *sessions) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.now().Add(-sessionAge)
	for _, s := range t.table {
		if !s.at.After(before) && s.idle() {
			t.forget(s)
		}
	}
}

// expireSessions looks for old sessions until ctx ends.
func (f *features) expireSessions(ctx context.Context) {
	for {
		select {
		case <-f.opt.After(sessionRound):
			f.sessions.expire()
		case <-ctx.Done():
			return
		}
	}
}

// idle tells whether no work goes on for a session; a selection may wait for its
// host.
func (s *session) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending == nil || s.pending.settled
}

// each calls f for every session.
func (t *sessions) each(f func(*session)) {
	t.mu.Lock()
	all := make([]*session, 0, len(t.table))
	for _, s := range t.table {
		all = append(all, s)
	}
	t.mu.Unlock()
	for _, s := range all {
		f(s)
	}
}

// toolUsed records a finished call of a tool.
func (s *session) toolUsed(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = slices.DeleteFunc(s.tools, func(t string) bool { return t == name })
	s.tools = append(s.tools, name)
	if len(s.tools) > maxTools {
		s.tools = slices.Delete(s.tools, 0, 1)
	}
}

// held is what a session's context holds, without what one recall delivered to
// it. It implements [recall.Held].
type held struct {
	session *session
	but     heldBy
}

// Delivered implements [recall.Held].
func (h held) Delivered(d *memory.Document) (passages []memory.Span, older bool) {
	h.session.mu.Lock()
	defer h.session.mu.Unlock()
	return h.session.ledger.delivered(d, h.but)
}

// Len implements [recall.Held].
func (h held) Len() int {
	h.session.mu.Lock()
	defer h.session.mu.Unlock()
	return len(h.session.ledger.refs)
}

// checkName checks a session, a token or the name of a tool.
func checkName(field, value string) error {
	switch {
	case value == "":
		return InvalidParam(field, "must not be empty")
	case len(value) > maxName:
		return InvalidParam(field, "is longer than %d bytes", maxName)
	}
	return nil
}

// toolUsed serves memory/toolUsed.
func (f *features) toolUsed(p *ToolUsedParams) error {
	if err := checkName("session", p.Session); err != nil {
		return err
	}
	if err := checkName("tool", p.Tool); err != nil {
		return err
	}
	if err := oneOf("status", p.Status, "ok", "error", "cancelled"); err != nil {
		return err
	}
	if p.Status != "cancelled" {
		f.sessions.get(p.Session).toolUsed(p.Tool)
	}
	return nil
}

// resetSession serves memory/resetSession. A client that has withdrawn some
// memories names them and no reason.
func (f *features) resetSession(_ context.Context, p *ResetSessionParams) (*ResetSessionResult, error) {
	if err := checkName("session", p.Session); err != nil {
		return nil, err
	}
	if p.Refs == nil || p.Reason != "" {
		if err := oneOf("reason", p.Reason, "reset", "compacted"); err != nil {
			return nil, err
		}
	}
	if err := checkRefs("refs", p.Refs); err != nil {
		return nil, err
	}
	s := f.sessions.find(p.Session)
	if s == nil {
		return &ResetSessionResult{}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Reason == reasonReset && s.pending != nil {
		f.cancelLocked(s.pending, reasonReset)
	}
	s.ledger.forget(p.Refs)
	return &ResetSessionResult{}, nil
}
