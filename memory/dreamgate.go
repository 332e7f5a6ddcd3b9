package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"time"
)

// The gates of consolidation that follows turns.
const (
	dreamInterval    = 24 * time.Hour
	dreamThrottle    = 10 * time.Minute
	dreamMinSessions = 5

	stateDream  = "dream"
	dreamFile   = "record.json"
	dreamLock   = "running.lock"
	maxSessions = 100
)

// dreamRecord is when a root was consolidated, and who used it since.
type dreamRecord struct {
	Done time.Time `json:"done"` // the end of the last whole run
	// Looked is when the sessions were last counted, by whichever process.
	Looked time.Time `json:"looked"`
	// Sessions are digests of those that had a turn since Done.
	Sessions []string `json:"sessions,omitempty"`
	Last     string   `json:"last,omitempty"` // digest of the session of the last run
}

// gate is the first reason not to run; nil for none. It notes the session, and
// when the gates were looked through; what is noted is to be kept either way. A
// clock that was set back opens no gate, and closes none for longer than it is
// meant to be closed: what lies in the future is taken for now.
func (r *dreamRecord) gate(q Dream, now time.Time) *Skipped {
	session := ""
	if q.Session != "" {
		session = sessionDigest(q.Session)
		if !slices.Contains(r.Sessions, session) && session != r.Last {
			r.Sessions = append(r.Sessions, session)
			r.Sessions = r.Sessions[max(0, len(r.Sessions)-maxSessions):]
		}
	}
	if !q.Force {
		if skip := r.closed(q, session, now.UTC()); skip != nil {
			return skip
		}
	}
	if session != "" {
		r.Last = session
	}
	return nil
}

// closed is the first gate of time and sessions that is closed.
func (r *dreamRecord) closed(q Dream, session string, now time.Time) *Skipped {
	for _, t := range []*time.Time{&r.Done, &r.Looked} {
		if t.After(now) {
			*t = now
		}
	}
	switch {
	case q.Automatic && session != "" && session == r.Last:
		return &Skipped{Reason: SkipSameSession, Detail: "this session was followed by a consolidation already"}
	case !r.Done.IsZero() && now.Sub(r.Done) < dreamInterval:
		return &Skipped{Reason: SkipMinHours, Detail: fmt.Sprintf("the last one was %v ago; the next one is due %v after it", now.Sub(r.Done).Round(time.Minute), dreamInterval)}
	case q.Automatic && !r.Looked.IsZero() && now.Sub(r.Looked) < dreamThrottle:
		return &Skipped{Reason: SkipScanThrottled, Detail: fmt.Sprintf("it was looked into %v ago", now.Sub(r.Looked).Round(time.Second))}
	}
	// Inv: a throttled look does not count as one, else turns that follow each
	// other fast would put it off for ever.
	r.Looked = now
	if len(r.Sessions) < dreamMinSessions {
		return &Skipped{Reason: SkipMinSessions, Detail: fmt.Sprintf("%d sessions since the last one, of %d that it takes", len(r.Sessions), dreamMinSessions)}
	}
	return nil
}

// holdDream keeps other processes from consolidating the same root, until the file
// is closed.
func (s *Store) holdDream(root *Root) (*os.File, error) {
	return s.holdPart(root, stateDream, dreamLock, "consolidation",
		&Skipped{Reason: SkipRunning, Detail: "the memory is being consolidated already, here or by another process"})
}

// holdForeign keeps the program whose root it is from consolidating it meanwhile.
func (s *Store) holdForeign(ctx context.Context, root *Root) (release func() error, err error) {
	if root.Profile != "qwen" || root.Scope != ScopeProject {
		return func() error { return nil }, nil
	}
	return s.HoldUpstream(ctx, root)
}

// dreamRecord reads the record. One that cannot be read is begun anew, which
// makes the next run come later, not sooner: without sessions none is due.
func (s *Store) dreamRecord(root *Root) (*dreamRecord, error) {
	return readRecord(s, root, stateDream, dreamFile, "the record of consolidation", "it is begun anew", func(*dreamRecord) bool { return true })
}

func (s *Store) setDreamRecord(ctx context.Context, root *Root, r *dreamRecord) error {
	return s.writeRecord(ctx, root, stateDream, dreamFile, "the record of consolidation", r, func(*rootState) {})
}

// sessionDigest stands for a session in the state: its name is the host's.
func sessionDigest(session string) string {
	sum := sha256.Sum256([]byte("dream\x00" + session))
	return hex.EncodeToString(sum[:8])
}
