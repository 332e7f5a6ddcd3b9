package memory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"
)

const (
	// maxLogged is how many operations of a root are listed after they can no
	// longer be undone.
	maxLogged = 1000
	// expireEvery is how often a root is looked through for operations whose time
	// to be undone is over.
	expireEvery = 10 * time.Minute
)

// Operations are the newest operations of the served roots, newest first; all of
// them when limit is 0. more says that there are further ones.
func (s *Store) Operations(limit int) (ops []Operation, more bool, err error) {
	found, err := s.recordNames()
	if err != nil {
		return nil, false, err
	}
	for _, n := range found {
		if limit > 0 && len(ops) == limit {
			return ops, true, nil
		}
		r, err := s.loadHeader(n)
		if errors.Is(err, fs.ErrNotExist) {
			continue // erased a moment ago
		}
		if err != nil {
			s.opt.Log.Error("the record of an operation cannot be read", "operation", n.id, "error", err)
			continue
		}
		ops = append(ops, s.shown(r))
	}
	return ops, false, nil
}

// shown is an operation as it is listed now.
func (s *Store) shown(r *recordHeader) Operation {
	op := r.Operation
	if !s.opt.Now().Before(op.UndoUntil) {
		op.UndoUntil = time.Time{}
	}
	return op
}

// recordName is where the record of an operation lies.
type recordName struct {
	id, suffix string
	root       *Root
}

// recordNames are the records of all served roots, newest first.
func (s *Store) recordNames() ([]recordName, error) {
	var found []recordName
	for _, r := range s.opt.Roots() {
		state, err := s.openState(r)
		if err != nil {
			return nil, refuseIO(err, nil, "opening the state of a root")
		}
		if state == nil {
			continue
		}
		names, err := recordsIn(state, r)
		state.close()
		if err != nil {
			return nil, refuseIO(err, nil, "listing operations")
		}
		found = append(found, names...)
	}
	slices.SortFunc(found, func(a, b recordName) int { return cmp.Compare(b.id, a.id) })
	// A crash while contents are erased leaves both.
	return slices.CompactFunc(found, func(a, b recordName) bool { return a.id == b.id }), nil
}

func recordsIn(state *folder, r *Root) ([]recordName, error) {
	var found []recordName
	for _, suffix := range []string{loggedSuffix, recordSuffix} {
		ids, err := listState(state, stateOperations, suffix)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			found = append(found, recordName{id, suffix, r})
		}
	}
	return found, nil
}

func (s *Store) loadRaw(n recordName) ([]byte, error) {
	state, err := s.openState(n.root)
	if err != nil {
		return nil, err
	}
	if state == nil {
		return nil, fs.ErrNotExist
	}
	defer state.close()
	return getState(state, stateOperations, n.id+n.suffix)
}

func (s *Store) loadHeader(n recordName) (*recordHeader, error) {
	raw, err := s.loadRaw(n)
	if err != nil {
		return nil, err
	}
	return decodeHeader(raw)
}

func decodeHeader(raw []byte) (*recordHeader, error) {
	header, _, _ := bytes.Cut(raw, []byte("\n"))
	r := &recordHeader{}
	if err := json.Unmarshal(header, r); err != nil {
		return nil, fmt.Errorf("operation record: %w", err)
	}
	return r, r.check()
}

// Undo takes an operation back: every file that it changed becomes what it was,
// if each is still what the operation made of it. It is an operation itself and
// can be undone.
func (s *Store) Undo(ctx context.Context, id string) (*Operation, error) {
	r, err := s.undoable(id)
	if err != nil {
		return nil, err
	}
	j := job{kind: KindUndo, undoes: id, stale: RefusedConflict, former: map[string]*FormerEntry{}, back: r.indexes.Done}
	for i := range r.Files {
		f, c := &r.Files[i], &r.contents[i]
		ref := r.root(f.Root)
		root := s.root(f.Root, ref.Real)
		if root == nil {
			return nil, refuse(RefusedNotFound, []string{f.Ref}, "a root that the operation changed is not served here")
		}
		t := goal{root: root, rel: f.Rel, ref: encodeRef(root.Prefix, f.Rel), base: f.To, mode: f.Mode, index: f.Rel == IndexName}
		if f.Action != ActionCreate {
			t.next = func([]byte) ([]byte, error) { return append([]byte{}, c.Before...), nil }
			j.former[f.Root+":"+f.Rel] = c.Entry
		}
		j.files = append(j.files, t)
	}
	j.check = func(*locked) error {
		_, err := s.undoable(id)
		return err
	}
	j.done = func(_ *locked, _ *record) error { return s.removeMade(r) }
	return s.commit(ctx, j)
}

// removeMade removes the directories that an operation which was undone made.
func (s *Store) removeMade(r *record) error {
	for _, f := range r.Files {
		if len(f.Dirs) == 0 {
			continue
		}
		base, err := s.disk.openBase(r.root(f.Root).Real, false)
		if err != nil {
			return err
		}
		err = base.removeDirs(f.Dirs)
		base.close()
		if err != nil {
			return fmt.Errorf("removing the folder %s: %w", path.Base(f.Dirs[0]), err)
		}
	}
	return nil
}

// undoable is the record of an operation that can be undone.
func (s *Store) undoable(id string) (*record, error) {
	names, err := s.recordNames()
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(names, func(n recordName) bool { return n.id == id })
	if at < 0 {
		return nil, refuse(RefusedNotFound, nil, "there is no such operation")
	}
	for _, later := range names[:at] {
		h, err := s.loadHeader(later)
		if err != nil {
			// What cannot be read is reported where operations are listed.
			continue
		}
		if h.Undoes == id {
			return nil, refuse(RefusedStale, h.refs(), "the operation has been undone")
		}
	}
	raw, err := s.loadRaw(names[at])
	if err != nil {
		return nil, refuseIO(err, nil, "reading an operation")
	}
	r, err := decodeRecord(raw)
	if err != nil {
		return nil, refuseIO(err, nil, "reading an operation")
	}
	if r.contents == nil || !s.opt.Now().Before(r.UndoUntil) {
		return nil, refuse(RefusedStale, r.refs(), "the operation can no longer be undone")
	}
	return r, nil
}

func (r *recordHeader) refs() []string {
	refs := make([]string, len(r.Files))
	for i, f := range r.Files {
		refs[i] = f.Ref
	}
	return refs
}

// expire erases the contents of operations that can no longer be undone, and the
// oldest of those that are only listed. The root is locked.
func (s *Store) expire(state *rootState) error {
	now := s.opt.Now()
	s.mu.Lock()
	due := now.Sub(s.expired[state.ID]) >= expireEvery
	if due {
		s.expired[state.ID] = now
	}
	s.mu.Unlock()
	if !due {
		return nil
	}
	ids, err := listState(state.folder, stateOperations, recordSuffix)
	if err != nil {
		return err
	}
	for _, id := range ids {
		raw, err := state.get(stateOperations, id+recordSuffix)
		if err != nil {
			return err
		}
		h, err := decodeHeader(raw)
		if err != nil {
			if err := s.quarantine(state, stateOperations, id+recordSuffix, err); err != nil {
				return err
			}
			continue
		}
		if now.Before(h.UndoUntil) {
			continue
		}
		if err := state.strip(h); err != nil {
			return err
		}
	}
	logged, err := listState(state.folder, stateOperations, loggedSuffix)
	if err != nil {
		return err
	}
	for _, id := range logged[:max(0, len(logged)-maxLogged)] {
		if err := state.drop(stateOperations, id+loggedSuffix); err != nil {
			return err
		}
	}
	return s.expirePlans(state)
}

// strip erases the contents of an operation and keeps that it was.
func (s *rootState) strip(h *recordHeader) error {
	h.UndoUntil = time.Time{}
	raw, err := (&record{recordHeader: *h}).encode()
	if err != nil {
		return err
	}
	if err := s.put(stateOperations, h.ID+loggedSuffix, raw); err != nil {
		return err
	}
	return s.drop(stateOperations, h.ID+recordSuffix)
}
