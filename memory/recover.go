package memory

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Recovery is what became of an operation that was interrupted.
type Recovery struct {
	Operation string
	Kind      PlanKind
	Refs      []string
	// Finished says that it was carried through; otherwise it was rolled back.
	Finished bool
}

// Recover finishes or rolls back what a crash interrupted in the served roots,
// and removes what it left behind. It is called at the start; every change does
// the same for its roots before it begins. A root that another process is
// writing to is left to that process.
func (s *Store) Recover(ctx context.Context) ([]Recovery, error) {
	var all []Recovery
	var errs []error
	for _, r := range s.opt.Roots() {
		if r.Untrusted || r.ReadOnly {
			continue
		}
		found, err := s.recoverRoot(ctx, r)
		all = append(all, found...)
		if refusal, ok := errors.AsType[*Refusal](err); ok && refusal.Kind == RefusedLocked {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("recovering the %s root: %w", r.Prefix, err))
		}
	}
	return all, errors.Join(errs...)
}

func (s *Store) recoverRoot(ctx context.Context, r *Root) ([]Recovery, error) {
	known, err := s.hasState(r)
	if err != nil || !known {
		return nil, err
	}
	// Who has the lock recovers by itself: there is nothing to wait for.
	l, found, err := s.lockRecovered(ctx, []*Root{r}, 0)
	if err != nil {
		return found, err
	}
	defer l.unlock()
	return found, s.tidy(l)
}

// hasState tells whether memls has ever changed anything in a root.
func (s *Store) hasState(r *Root) (bool, error) {
	base, err := s.disk.openBase(s.opt.State, false)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer base.close()
	return base.exists(r.ID)
}

// lockClean locks roots and recovers what was interrupted in them.
func (s *Store) lockClean(ctx context.Context, roots []*Root) (*locked, error) {
	l, _, err := s.lockRecovered(ctx, roots, s.opt.LockWait)
	return l, err
}

// lockRecovered is lockClean with what was recovered. An interrupted operation
// may concern further roots, which have to be locked too, in order. wait is how
// long each attempt may take.
func (s *Store) lockRecovered(ctx context.Context, roots []*Root, wait time.Duration) (_ *locked, all []Recovery, err error) {
	const rounds = 8
	want := roots
	for range rounds {
		l, err := s.lockWithin(ctx, want, wait)
		if err != nil {
			return nil, all, err
		}
		more, found, err := s.recoverLocked(ctx, l)
		all = append(all, found...)
		if err != nil {
			l.unlock()
			return nil, all, refuseIO(err, nil, "recovering an interrupted change")
		}
		if more == nil && len(want) == len(roots) {
			return l, all, nil
		}
		l.unlock()
		want = roots
		if more != nil {
			want = append(append([]*Root(nil), roots...), more...)
		}
	}
	return nil, all, refuse(RefusedLocked, nil, "interrupted changes of many roots at once")
}

// recoverLocked recovers what concerns the locked roots alone. more are roots
// that have to be locked for the rest.
func (s *Store) recoverLocked(ctx context.Context, l *locked) (more []*Root, found []Recovery, err error) {
	for _, state := range l.states {
		homes, err := s.pending(state)
		if err != nil {
			return nil, found, err
		}
		for _, p := range homes {
			r, err := s.loadPending(l, state, p)
			if errors.Is(err, errCorrupt) {
				at := state
				if p.home != nil {
					at = l.state(p.home.ID)
				}
				if err := s.quarantine(at, stateJournal, p.id+recordSuffix, err); err != nil {
					return nil, found, err
				}
				continue
			}
			if err != nil {
				return nil, found, err
			}
			if r == nil {
				continue
			}
			missing := unlocked(l, r)
			if r.Purge {
				missing = append(missing, s.unlockedOwn(l)...)
			}
			if missing != nil {
				more = append(more, missing...)
				continue
			}
			done, err := s.settle(ctx, l, r)
			if err != nil {
				return nil, found, err
			}
			found = append(found, done)
		}
	}
	return more, found, nil
}

// unlocked are the roots of a record that are not locked.
func unlocked(l *locked, r *record) []*Root {
	var more []*Root
	for _, ref := range r.Roots {
		if l.state(ref.ID) == nil {
			more = append(more, &Root{ID: ref.ID, Real: ref.Real, Path: ref.Real, Prefix: ref.Prefix, Scope: ref.Scope})
		}
	}
	return more
}

// pendingRecord is an entry of a journal.
type pendingRecord struct {
	id   string
	home *rootRef // where the record is; nil when it is here
}

func (s *Store) pending(state *rootState) ([]pendingRecord, error) {
	var out []pendingRecord
	ids, err := listState(state.folder, stateJournal, recordSuffix)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		out = append(out, pendingRecord{id: id})
	}
	links, err := listState(state.folder, stateJournal, linkSuffix)
	if err != nil {
		return nil, err
	}
	for _, id := range links {
		raw, err := state.get(stateJournal, id+linkSuffix)
		if err != nil {
			return nil, err
		}
		var p link
		if err := json.Unmarshal(raw, &p); err != nil {
			if err := s.quarantine(state, stateJournal, id+linkSuffix, err); err != nil {
				return nil, err
			}
			continue
		}
		out = append(out, pendingRecord{id: id, home: &p.Home})
	}
	return out, nil
}

// loadPending reads a record of the journal. A pointer whose record is gone is
// removed: that operation is over, or never began.
func (s *Store) loadPending(l *locked, state *rootState, p pendingRecord) (*record, error) {
	if p.home == nil {
		raw, err := state.get(stateJournal, p.id+recordSuffix)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil // settled through its pointer a moment ago
		}
		if err != nil {
			return nil, err
		}
		return pendingRecordOf(raw)
	}
	home := l.state(p.home.ID)
	if home == nil {
		return &record{recordHeader: recordHeader{Roots: []rootRef{*p.home}}}, nil
	}
	raw, err := home.get(stateJournal, p.id+recordSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, state.drop(stateJournal, p.id+linkSuffix)
	}
	if err != nil {
		return nil, err
	}
	return pendingRecordOf(raw)
}

func pendingRecordOf(raw []byte) (*record, error) {
	r, err := decodeRecord(raw)
	if err == nil && r.contents == nil {
		err = fmt.Errorf("%w record of an operation: it lacks its contents", errCorrupt)
	}
	return r, err
}

// settle finishes an interrupted operation, or rolls it back: when that had
// begun, or when somebody else has changed one of its files since.
func (s *Store) settle(ctx context.Context, l *locked, r *record) (Recovery, error) {
	done := Recovery{Operation: r.ID, Kind: r.Kind, Refs: r.refs()}
	b := &bases{disk: s.disk, open: map[string]*folder{}}
	defer b.close()
	works := s.works(l, r)
	defer closeAll(works)
	if err := dropIndexTemps(b, r); err != nil {
		return done, err
	}
	back, err := s.goesBack(l, b, r, works)
	if err != nil {
		return done, err
	}
	if back {
		err = s.rollBack(l, b, r, works)
	} else {
		err = s.rollForward(ctx, l, b, r, works)
	}
	if err != nil {
		return done, err
	}
	done.Finished = !back
	s.opt.Log.Warn("an interrupted change of memory was settled", "operation", r.ID, "kind", r.Kind, "finished", done.Finished)
	return done, nil
}

// dropIndexTemps removes what was to become the index of a root.
func dropIndexTemps(b *bases, r *record) error {
	for i := range r.Roots {
		ref := &r.Roots[i]
		if ref.IndexTemp == "" {
			continue
		}
		base, err := b.folder(ref, false)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = base.remove(ref.IndexTemp)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// goesBack decides which way an interrupted operation goes.
func (s *Store) goesBack(l *locked, b *bases, r *record, works []*work) (bool, error) {
	aborted, err := listState(l.state(r.Roots[0].ID).folder, stateJournal, abortSuffix)
	if err != nil {
		return false, err
	}
	states := make([]state, len(works))
	begun := false
	for i, w := range works {
		there, err := enterWork(b, r, w)
		if err != nil {
			return false, err
		}
		if !there {
			if w.Action == ActionDelete {
				states[i] = stateNew
			}
			continue
		}
		if states[i], err = w.inspect(); err != nil {
			return false, err
		}
		// A file that is absent may have been removed by somebody else.
		begun = begun || states[i] == stateNew && (w.beside || w.Action != ActionDelete)
	}
	return decide(works, states, begun) || slices.Contains(aborted, r.ID), nil
}

// decide tells whether an operation has to go back, and notes what it had moved.
// begun says that it had begun to move files: everything was ready then, and what
// is not any more was removed by somebody else.
func decide(works []*work, states []state, begun bool) (back bool) {
	settled := begun && !slices.Contains(states, stateOld)
	for i, w := range works {
		back = back || states[i] == stateBare || states[i] == stateForeign
		switch states[i] {
		case stateNew:
			// As long as others are still to be moved, what was taken away stands
			// beside: if it does not, somebody else removed it.
			w.moved = w.Action != ActionDelete || settled || w.beside
		case stateForeign:
			w.moved = true
		case stateBare, stateOld:
			w.moved = false
		}
	}
	return back
}

// enterWork opens the directory of a file, if there is one.
func enterWork(b *bases, r *record, w *work) (bool, error) {
	base, err := b.folder(r.root(w.Root), false)
	if err == nil {
		err = w.open(base, false)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (s *Store) rollForward(ctx context.Context, l *locked, b *bases, r *record, works []*work) error {
	for _, w := range works {
		base, err := b.folder(r.root(w.Root), w.Action == ActionCreate)
		if err != nil {
			return err
		}
		if err := w.open(base, w.Action == ActionCreate); err != nil {
			return err
		}
		if err := w.forward(); err != nil {
			return err
		}
	}
	if err := settleDirs(works); err != nil {
		return err
	}
	s.reindex(b, r, s.noting(l, r)) // logs what goes wrong
	if err := dropIndexTemps(b, r); err != nil {
		return err
	}
	return s.finish(ctx, l, r)
}

// rollBack takes back what an operation did so far and removes it from the
// journal. Files that somebody else has changed since stay as they are.
func (s *Store) rollBack(l *locked, b *bases, r *record, works []*work) error {
	// The mark has a crash go on in this direction. A full disk may have no room
	// for it, and rolling back may make some.
	home := l.state(r.Roots[0].ID)
	marked := home.put(stateJournal, r.ID+abortSuffix, []byte("{}\n"))
	var errs []error
	for _, w := range slices.Backward(works) {
		if err := s.takeBack(b, r, w); err != nil {
			errs = append(errs, fmt.Errorf("taking back %s: %w", w.Ref, err))
		}
	}
	if errs != nil {
		return errors.Join(append(errs, marked)...)
	}
	return s.abandon(l, r)
}

func (s *Store) takeBack(b *bases, r *record, w *work) error {
	there, err := enterWork(b, r, w)
	if err != nil {
		return err
	}
	if there {
		if err := w.back(); err != nil {
			return err
		}
		if err := w.in.sync(); err != nil {
			return err
		}
	}
	if len(w.Dirs) == 0 {
		return nil
	}
	base, err := b.folder(r.root(w.Root), false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return base.removeDirs(w.Dirs)
}

// rescue keeps bytes that another program wrote and for which no place is left,
// beside the state of the root.
func (s *Store) rescue(state *rootState, name string, raw []byte) error {
	name = s.newID("r") + "-" + strings.Map(func(r rune) rune {
		if r < 0x80 && unreserved(byte(r)) {
			return r
		}
		return '_'
	}, name)
	if err := state.put(stateRescued, name, raw); err != nil {
		return err
	}
	s.opt.Log.Warn("another program's version of a file was kept aside", "root", state.Real,
		"file", joinRel(state.folder.path, stateRescued+"/"+name))
	return nil
}

// quarantine puts a file of state that cannot be read aside, so that it is in
// nobody's way and can be looked at. Inv: nothing overwrites it there.
func (s *Store) quarantine(state *rootState, part, name string, cause error) error {
	s.opt.Log.Error("a file of state cannot be read and was put aside", "state", state.folder.path, "part", part, "name", name, "error", cause)
	return state.moveAs(part, name, stateCorrupt, name+"."+strings.ToLower(rand.Text()[:8]))
}

// tidy removes temporary files that a crash left in the state of roots.
func (s *Store) tidy(l *locked) error {
	for _, state := range l.states {
		for _, part := range []string{"", stateJournal, stateOperations, statePlans, stateRescued, stateCorrupt, stateForgotten, stateFeedback} {
			if err := state.tidy(part); err != nil {
				return err
			}
		}
		if err := s.expire(state); err != nil {
			return err
		}
	}
	return nil
}

func (s *rootState) tidy(part string) error {
	in, _, err := s.folder.enter(part, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.close()
	names, err := in.list()
	if err != nil {
		return err
	}
	for _, n := range names {
		// The mark of an operation that was rolled back outlives it in a crash.
		id, isMark := strings.CutSuffix(n, abortSuffix)
		if strings.HasPrefix(n, tempPrefix) || isMark && !slices.Contains(names, id+recordSuffix) {
			if err := in.remove(n); err != nil {
				return err
			}
		}
	}
	return nil
}
