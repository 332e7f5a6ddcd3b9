package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	// Looked is when the gates were last asked, by whichever process.
	Looked time.Time `json:"looked"`
	// Sessions are digests of those that had a turn since Done.
	Sessions []string `json:"sessions,omitempty"`
	Last     string   `json:"last,omitempty"` // digest of the session of the last run
}

// gate is the first reason not to run; nil for none. A clock that was set back
// opens no gate and closes none for good: what lies in the future counts as now.
func (r *dreamRecord) gate(q Dream, now time.Time) *Skipped {
	before := r.Looked
	session := ""
	if q.Session != "" {
		session = sessionDigest(q.Session)
		if !slices.Contains(r.Sessions, session) && session != r.Last {
			r.Sessions = append(r.Sessions, session)
			r.Sessions = r.Sessions[max(0, len(r.Sessions)-maxSessions):]
		}
	}
	if q.Force {
		r.Last = session
		return nil
	}
	since := func(t time.Time) time.Duration {
		if t.After(now) {
			return 0
		}
		return now.Sub(t)
	}
	switch {
	case q.Automatic && session != "" && session == r.Last:
		return &Skipped{Reason: SkipSameSession, Detail: "this session was followed by a consolidation already"}
	case !r.Done.IsZero() && since(r.Done) < dreamInterval:
		return &Skipped{Reason: SkipMinHours, Detail: fmt.Sprintf("the last one was %v ago; the next one is due %v after it", since(r.Done).Round(time.Minute), dreamInterval)}
	case q.Automatic && !before.IsZero() && since(before) < dreamThrottle:
		return &Skipped{Reason: SkipScanThrottled, Detail: fmt.Sprintf("it was looked into %v ago", since(before).Round(time.Second))}
	case len(r.Sessions) < dreamMinSessions:
		return &Skipped{Reason: SkipMinSessions, Detail: fmt.Sprintf("%d sessions since the last one, of %d that it takes", len(r.Sessions), dreamMinSessions)}
	}
	r.Last = session
	return nil
}

// holdDream keeps other processes from consolidating the same root. The lock ends
// with its process.
func (s *Store) holdDream(root *Root) (*os.File, error) {
	state, err := s.stateFolder(root)
	if err != nil {
		return nil, refuseIO(err, nil, "opening the state of a root")
	}
	defer state.close()
	in, _, err := state.enter(stateDream, true)
	if err != nil {
		return nil, refuseIO(err, nil, "opening the record of consolidation")
	}
	defer in.close()
	file, err := in.openLock(dreamLock)
	if err != nil {
		return nil, refuseIO(err, nil, "opening the lock of consolidation")
	}
	if err := tryLock(file); err != nil {
		file.Close()
		if errors.Is(err, errHeld) {
			return nil, &Skipped{Reason: SkipRunning, Detail: "the memory is being consolidated already, here or by another process"}
		}
		return nil, refuseIO(err, nil, "locking consolidation")
	}
	return file, nil
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
	state, err := s.openState(root)
	if err != nil || state == nil {
		return &dreamRecord{}, err
	}
	defer state.close()
	raw, err := getState(state, stateDream, dreamFile)
	if errors.Is(err, fs.ErrNotExist) {
		return &dreamRecord{}, nil
	}
	if err != nil {
		return nil, refuseIO(err, nil, "reading the record of consolidation")
	}
	r := &dreamRecord{}
	if err := json.Unmarshal(raw, r); err != nil {
		s.opt.Log.Error("the record of consolidation cannot be read and is begun anew", "root", root.Real, "error", err)
		return &dreamRecord{}, nil
	}
	return r, nil
}

func (s *Store) setDreamRecord(ctx context.Context, root *Root, r *dreamRecord) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("writing the record of consolidation: %w", err)
	}
	l, err := s.lock(ctx, []*Root{root})
	if err != nil {
		return err
	}
	defer l.unlock()
	if err := l.states[0].put(stateDream, dreamFile, raw); err != nil {
		return refuseIO(err, nil, "writing the record of consolidation")
	}
	return nil
}

// sessionDigest stands for a session in the state: its name is the host's.
func sessionDigest(session string) string {
	sum := sha256.Sum256([]byte("dream\x00" + session))
	return hex.EncodeToString(sum[:8])
}
