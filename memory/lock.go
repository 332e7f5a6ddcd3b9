package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// Holder is who has the lock of a root.
type Holder struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	// Upstream says that it is not a memls but a consolidation of Qwen Code.
	Upstream bool `json:"-"`
}

const (
	defaultLockWait = 2 * time.Second
	lockPoll        = 10 * time.Millisecond
)

// errHeld is a lock that somebody has.
var errHeld = errors.New("held")

// locked is the state of some roots, to which nobody else writes meanwhile.
type locked struct {
	states []*rootState // by root id
}

// rootState is a locked root with its state directory.
type rootState struct {
	*Root
	folder *folder  // its state
	lock   *os.File // in the state directory
	dir    *os.File // the root itself, when it exists; shared by memls of other state directories
}

func (l *locked) state(id string) *rootState {
	for _, s := range l.states {
		if s.ID == id {
			return s
		}
	}
	return nil
}

func (l *locked) unlock() {
	for _, s := range slices.Backward(l.states) {
		s.release()
	}
	l.states = nil
}

func (s *rootState) release() {
	// Closing the only descriptor of a locked file gives the lock back.
	if s.dir != nil {
		s.dir.Close()
	}
	if s.lock != nil {
		s.lock.Close()
	}
	s.folder.close()
}

// lock takes the locks of roots, in one order for everybody, so that no two
// wait for each other.
func (s *Store) lock(ctx context.Context, roots []*Root) (*locked, error) {
	return s.lockWithin(ctx, roots, s.opt.LockWait)
}

// lockWithin is lock with a bound of its own.
func (s *Store) lockWithin(ctx context.Context, roots []*Root, wait time.Duration) (*locked, error) {
	roots = slices.Clone(roots)
	slices.SortFunc(roots, func(a, b *Root) int { return cmp.Compare(a.ID, b.ID) })
	roots = slices.CompactFunc(roots, func(a, b *Root) bool { return a.ID == b.ID })
	l := &locked{}
	deadline := time.Now().Add(wait)
	for _, r := range roots {
		state, err := s.lockRoot(ctx, r, deadline)
		if err != nil {
			l.unlock()
			return nil, err
		}
		l.states = append(l.states, state)
	}
	return l, nil
}

func (s *Store) lockRoot(ctx context.Context, r *Root, deadline time.Time) (_ *rootState, err error) {
	folder, err := s.stateFolder(r)
	if err != nil {
		return nil, stateRefused(err, "opening the state of a root")
	}
	state := &rootState{Root: r, folder: folder}
	defer func() {
		if err != nil {
			state.release()
		}
	}()
	state.lock, err = folder.openLock("lock")
	if err != nil {
		return nil, stateRefused(at(err, folder.path), "opening the lock of a root")
	}
	if err := s.await(ctx, r, deadline, state.take); err != nil {
		return nil, err
	}
	return state, nil
}

// openLock opens a file whose only use is that it can be locked.
func (f *folder) openLock(name string) (*os.File, error) {
	return f.root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
}

// stateRefused is refuseIO for the state directory, which can be another one.
func stateRefused(err error, doing string) error {
	r := refuseIO(err, nil, doing)
	if r.Kind == RefusedReadOnly {
		r.Detail += ", or set XDG_STATE_HOME to keep the state elsewhere"
	}
	return r
}

// await tries until the lock is taken, the deadline is over or ctx ends.
func (s *Store) await(ctx context.Context, r *Root, deadline time.Time, take func(now time.Time) (*Holder, error)) error {
	begin := time.Now()
	for {
		holder, err := take(s.opt.Now())
		if err == nil {
			return nil
		}
		if !errors.Is(err, errHeld) {
			return refuseIO(err, nil, "locking a root")
		}
		if !time.Now().Before(deadline) {
			return s.lockedBy(r, holder, time.Since(begin))
		}
		select {
		case <-time.After(lockPoll):
		case <-ctx.Done():
			return fmt.Errorf("waiting for the lock of %s: %w", r.Prefix, ctx.Err())
		}
	}
}

func (s *Store) lockedBy(r *Root, holder *Holder, waited time.Duration) *Refusal {
	who := "another process"
	if holder != nil {
		switch {
		case holder.PID > 0:
			who = fmt.Sprintf("process %d", holder.PID)
		case holder.Upstream:
			who = "a process that is just beginning"
		}
		if holder.Upstream {
			who += " (a consolidation of Qwen Code)"
		}
		if age := s.opt.Now().Sub(holder.Since).Round(time.Second); age >= 0 {
			who += fmt.Sprintf(", for %v,", age)
		}
	}
	ref := refuse(RefusedLocked, nil, "%s is changing the %s memory; waited %v", who, r.Prefix, waited.Round(10*time.Millisecond))
	ref.Holder = holder
	return ref
}

// take tries once to take all that must be had to write to the root.
func (s *rootState) take(now time.Time) (*Holder, error) {
	if err := tryLock(s.lock); err != nil {
		return s.holder(), err
	}
	holder, err := s.takeRoot(now)
	if err != nil {
		return holder, errors.Join(err, unlock(s.lock))
	}
	s.note(now)
	return nil, nil
}

// takeRoot locks the directory of the root itself, where directories can be
// locked, against a memls that keeps its state elsewhere, and looks for the
// lock of Qwen Code.
func (s *rootState) takeRoot(now time.Time) (*Holder, error) {
	if holder, err := upstreamHolder(s.Real, now); holder != nil || err != nil {
		return holder, cmp.Or(err, errHeld)
	}
	root, err := openRoot(s.Real)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	if err := tryLock(dir); errors.Is(err, errHeld) {
		dir.Close()
		return nil, err
	}
	// Some file systems cannot lock directories: then the lock beside stands alone.
	s.dir = dir
	return nil, nil
}

// note writes into the lock file who has it. It only serves messages: nobody
// decides by it, so a failure changes nothing.
func (s *rootState) note(now time.Time) {
	raw, err := json.Marshal(Holder{PID: os.Getpid(), Since: now.UTC()})
	if err != nil {
		return
	}
	if s.lock.Truncate(0) == nil {
		_, _ = s.lock.WriteAt(raw, 0) // see above
	}
}

// holder reads who has the lock; nil when that is not known.
func (s *rootState) holder() *Holder {
	raw := make([]byte, 256)
	n, _ := s.lock.ReadAt(raw, 0) // short files end in an error
	var h Holder
	if json.Unmarshal(raw[:n], &h) != nil || h.PID <= 0 {
		return nil
	}
	return &h
}
