package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// A record is one small JSON file of a part of a root's state, such as how far a
// conversation was gone through.

// holdPart takes a lock within a part of a root's state, which ends with its
// process. held is the error when another one has it. what names the lock in
// other errors.
func (s *Store) holdPart(root *Root, part, name, what string, held *Skipped) (*os.File, error) {
	state, err := s.stateFolder(root)
	if err != nil {
		return nil, refuseIO(err, nil, "opening the state of a root")
	}
	defer state.close()
	in, _, err := state.enter(part, true)
	if err != nil {
		return nil, refuseIO(err, nil, "opening the part "+part+" of the state of a root")
	}
	defer in.close()
	file, err := in.openLock(name)
	if err != nil {
		return nil, refuseIO(err, nil, "opening the lock of "+what)
	}
	if err := tryLock(file); err != nil {
		file.Close()
		if errors.Is(err, errHeld) {
			return nil, held
		}
		return nil, refuseIO(err, nil, "locking "+what)
	}
	return file, nil
}

// readRecord reads a record. When there is none, or none that valid accepts, it
// is the zero one; that is logged with consequence, since nobody would notice.
func readRecord[T any](s *Store, root *Root, part, name, what, consequence string, valid func(*T) bool) (*T, error) {
	state, err := s.openState(root)
	if err != nil || state == nil {
		return new(T), err
	}
	defer state.close()
	raw, err := getState(state, part, name)
	if errors.Is(err, fs.ErrNotExist) {
		return new(T), nil
	}
	if err != nil {
		return nil, refuseIO(err, nil, "reading "+what)
	}
	r := new(T)
	if err := json.Unmarshal(raw, r); err != nil || !valid(r) {
		s.opt.Log.Error(what+" cannot be read; "+consequence, "root", root.Real, "error", err)
		return new(T), nil
	}
	return r, nil
}

// writeRecord writes a record under the lock of its root, and then does what else
// is to be done under it.
func (s *Store) writeRecord(ctx context.Context, root *Root, part, name, what string, record any, then func(*rootState)) error {
	raw, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("writing %s: %w", what, err)
	}
	l, err := s.lock(ctx, []*Root{root})
	if err != nil {
		return err
	}
	defer l.unlock()
	if err := l.states[0].put(part, name, raw); err != nil {
		return refuseIO(err, nil, "writing "+what)
	}
	then(l.states[0])
	return nil
}
