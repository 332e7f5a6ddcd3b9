package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// stateBackground is the part of the state directory that belongs to no root:
// the tasks and the budget of background work, which all processes of a person
// share.
const stateBackground = "background"

// holdBackground opens that part, which is made when needed, and keeps other
// processes out of it until it is released.
func (s *Store) holdBackground(ctx context.Context) (*rootState, error) {
	in, err := s.openBackground(true)
	if err != nil {
		return nil, refuseIO(err, nil, "opening the state of background work")
	}
	held := &rootState{folder: in}
	if held.lock, err = in.openLock("lock"); err != nil {
		held.release()
		return nil, refuseIO(err, nil, "opening the lock of background work")
	}
	deadline := time.Now().Add(s.opt.LockWait)
	for {
		err := tryLock(held.lock)
		if err == nil {
			return held, nil
		}
		if !errors.Is(err, errHeld) {
			held.release()
			return nil, refuseIO(err, nil, "locking the state of background work")
		}
		if !time.Now().Before(deadline) {
			held.release()
			return nil, refuse(RefusedLocked, nil, "another process is changing the tasks of background work; waited %v", s.opt.LockWait)
		}
		select {
		case <-time.After(lockPoll):
		case <-ctx.Done():
			held.release()
			return nil, fmt.Errorf("waiting for the tasks of background work: %w", ctx.Err())
		}
	}
}

// openBackground opens that part for reading; nil when there is none and create
// is not set.
func (s *Store) openBackground(create bool) (*folder, error) {
	base, err := s.disk.openBase(s.opt.State, create)
	if !create && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer base.close()
	in, _, err := base.enter(stateBackground, create)
	if !create && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return in, err
}
