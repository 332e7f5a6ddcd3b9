package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// job is what an operation is to do.
type job struct {
	kind    PlanKind
	plan    string
	undoes  string
	undoFor time.Duration
	purge   bool
	usage   Usage
	origin  origin
	// scan has what is added looked through for secrets: what an undo brings back
	// stood there before.
	scan  bool
	stale RefusalKind // of a file that is not the expected one
	files []goal
	also  []*Root // locked as well
	// former are the entries that an index is to have again, by root and path.
	former map[string]*FormerEntry
	// back is what is to be taken back of indexes.
	back []indexEdit
	// check is asked once the roots are locked, done told before they are
	// released.
	check func(*locked) error
	done  func(*locked, *record) error
	// late makes the job once the roots are locked; without files there is nothing
	// to do.
	late func(context.Context) (job, error)
}

// goal is one file of a job.
type goal struct {
	root *Root
	rel  string
	ref  string
	base string // the version that must be there; empty when there must be no file
	// next makes the content from the present one; nil when the file goes.
	next func(raw []byte) ([]byte, error)
	mode fs.FileMode // of a new file; 0600 when zero
	// index says that it is the index of its root, and no memory.
	index bool
}

const defaultUndo = 24 * time.Hour

// commit makes the changes of a job: all of them, or none.
func (s *Store) commit(ctx context.Context, j job) (*Operation, error) {
	if err := s.admit(j.files); err != nil {
		return nil, err
	}
	roots := slices.Clone(j.also)
	for _, t := range j.files {
		roots = append(roots, t.root)
	}
	if j.purge {
		roots = append(roots, s.ownRoots()...)
	}
	op, err := s.commitLocked(ctx, j, roots)
	if err != nil || op == nil {
		return nil, err
	}
	if s.opt.Applied != nil {
		s.opt.Applied(op)
	}
	return op, nil
}

// admit refuses what may not be written at all, before any lock is taken or
// directory made.
func (s *Store) admit(files []goal) error {
	for _, t := range files {
		if err := writable(t.root, []string{t.ref}); err != nil {
			return err
		}
		if !t.index {
			if err := s.memoryName(t.root, t.rel); err != nil {
				return err
			}
		}
		if s.opt.Unsaved != nil && s.opt.Unsaved(t.root, t.rel) {
			return refuse(RefusedConflict, []string{t.ref}, "the file has unsaved changes in an editor")
		}
	}
	return nil
}

func (s *Store) commitLocked(ctx context.Context, j job, roots []*Root) (*Operation, error) {
	l, err := s.lockClean(ctx, roots)
	if err != nil {
		return nil, err
	}
	defer l.unlock()
	if j.check != nil {
		if err := j.check(l); err != nil {
			return nil, err
		}
	}
	if j.late != nil {
		if j, err = s.decided(ctx, l, j); err != nil || len(j.files) == 0 {
			return nil, err
		}
	}
	b := &bases{disk: s.disk, open: map[string]*folder{}}
	defer b.close()
	r, err := s.prepare(j, b)
	if err != nil {
		return nil, err
	}
	works := s.works(l, r)
	defer closeAll(works)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("before anything was changed: %w", err)
	}
	op := r.Operation
	op.Purged = j.purge
	warnings, err := s.carryOut(ctx, l, b, r, works)
	if err != nil {
		return nil, err
	}
	op.Warnings = slices.Concat(r.notes, warnings)
	if j.done != nil {
		if err := j.done(l, r); err != nil {
			op.Warnings = append(op.Warnings, err.Error())
		}
	}
	for _, state := range l.states {
		if err := s.expire(state); err != nil {
			s.opt.Log.Warn("old operations stay", "root", state.Real, "error", err)
		}
	}
	return &op, nil
}

// decided is the job that is made under the lock.
func (s *Store) decided(ctx context.Context, l *locked, j job) (job, error) {
	j, err := j.late(ctx)
	if err != nil {
		return j, err
	}
	for _, t := range j.files {
		if l.state(t.root.ID) == nil {
			return j, fmt.Errorf("a change of the %s root was decided under the lock of another", t.root.Prefix)
		}
	}
	return j, s.admit(j.files)
}

// prepare reads what there is and compares it with what is expected. It makes
// the record of the operation, without the files that would stay the same.
func (s *Store) prepare(j job, b *bases) (*record, error) {
	now := s.opt.Now().UTC()
	undoFor := cmp.Or(j.undoFor, defaultUndo)
	r := &record{recordHeader: recordHeader{
		Operation: Operation{
			ID: s.newID("o"), Kind: j.kind, At: now, Plan: j.plan, Undoes: j.undoes, Usage: j.usage, Origin: j.origin,
			UndoUntil: now.Add(undoFor),
		},
		Purge: j.purge,
	}, indexes: indexEdits{Back: j.back}}
	var stale []string
	for _, t := range j.files {
		f, c, err := s.prepareFile(j, t, b)
		if errors.Is(err, errChanged) {
			stale = append(stale, t.ref)
			continue
		}
		if err != nil {
			return nil, refuseIO(err, []string{t.ref}, "reading "+t.ref)
		}
		if f == nil {
			continue
		}
		r.addRoot(t.root)
		if f.note != "" {
			r.notes = append(r.notes, f.note)
		}
		if c.After != nil {
			c.Former = j.former[f.Root+":"+f.Rel]
		}
		r.Files = append(r.Files, *f)
		r.contents = append(r.contents, *c)
		r.Changes = append(r.Changes, Applied{Ref: t.ref, Action: f.Action, From: f.Base, To: f.To})
	}
	if stale != nil {
		what := "a file that is to be changed is not as it was"
		if len(stale) > 1 {
			what = fmt.Sprintf("%d of the files that are to be changed are not as they were", len(stale))
		}
		return nil, refuse(j.stale, stale, "%s: %s", what, strings.Join(stale[:min(len(stale), maxLeftOut)], ", "))
	}
	if r.Files == nil {
		return nil, refuse(cmp.Or(j.stale, RefusedConflict), nil, "there is nothing left to change")
	}
	slices.SortFunc(r.Roots, func(x, y rootRef) int { return cmp.Compare(x.ID, y.ID) })
	s.noteEntries(b, r)
	return r, nil
}

func (r *record) addRoot(root *Root) {
	if r.root(root.ID) == nil {
		r.Roots = append(r.Roots, rootRef{
			ID: root.ID, Real: root.Real, Prefix: root.Prefix, Scope: root.Scope, IndexTemp: tempName(),
		})
	}
}

// prepareFile is what becomes of one file; nil when it stays as it is.
func (s *Store) prepareFile(j job, t goal, b *bases) (*fileRecord, *content, error) {
	raw, info, err := b.readToChange(t.root, t.rel, t.ref)
	absent := errors.Is(err, fs.ErrNotExist)
	if err != nil && !absent {
		return nil, nil, err
	}
	if absent != (t.base == "") || !absent && digest(raw) != t.base {
		return nil, nil, errChanged
	}
	f := &fileRecord{
		Ref: t.ref, Root: t.root.ID, Rel: t.rel, Base: t.base, Mode: cmp.Or(t.mode, 0o600), Temp: tempName(),
	}
	c := &content{Before: raw}
	if t.next != nil {
		if c.After, err = t.next(raw); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case t.next == nil || c.After == nil:
		f.Action = ActionDelete
		if absent {
			return nil, nil, nil
		}
	case absent:
		f.Action, f.To = ActionCreate, digest(c.After)
		if f.Dirs, err = b.missing(t.root, path.Dir(t.rel)); err != nil {
			return nil, nil, err
		}
	default:
		f.Action, f.To = ActionUpdate, digest(c.After)
	}
	if info != nil {
		f.Mode = info.Mode().Perm()
	}
	if f.Base == f.To {
		return nil, nil, nil
	}
	if info != nil {
		f.note = linked(t.ref, info, f.Action)
	}
	if len(c.After) > MaxFileBytes {
		return nil, nil, refuse(RefusedTooLarge, []string{t.ref}, "the file would be larger than %d bytes", MaxFileBytes)
	}
	return f, c, s.scanAdded(j, t, c)
}

// scanAdded refuses a change that adds a secret.
func (s *Store) scanAdded(j job, t goal, c *content) error {
	if !j.scan || s.opt.Secrets == nil || c.After == nil {
		return nil
	}
	return secretsIn(s.opt.Secrets, t.ref, c.Before, c.After)
}

// secretsIn refuses what adds a secret. Inv: a new file is not named: its name may
// be made of the secret.
func secretsIn(find func(before, after string) []string, ref string, before, after []byte) error {
	if rules := find(decode(before, false).text, decode(after, false).text); len(rules) > 0 {
		var refs []string
		if before != nil {
			refs = []string{ref}
		}
		return refuse(RefusedSecret, refs, "what would be written holds a secret: %s", strings.Join(rules, ", "))
	}
	return nil
}

// carryOut writes the record, changes the files, brings the indexes after them,
// and makes the record that of an operation that was made. On an error everything
// is as it was, unless the refusal says that recovery is left to the next start.
//
// Inv: while the record is in the journal, an index that a crash left behind is
// made again.
func (s *Store) carryOut(ctx context.Context, l *locked, b *bases, r *record, works []*work) (warnings []string, err error) {
	if err := s.begin(l, r); err != nil {
		return nil, s.undone(l, b, r, works, refuseIO(err, nil, "writing the journal"))
	}
	if err := s.changeFiles(b, r, works); err != nil {
		return nil, s.undone(l, b, r, works, err)
	}
	warnings = s.reindex(b, r, s.noting(l, r))
	err = dropIndexTemps(b, r)
	if err == nil {
		err = s.finish(ctx, l, r)
	}
	if err != nil {
		err = s.undone(l, b, r, works, err)
		s.reindex(b, r.reversed(), nil)
		return nil, err
	}
	return warnings, nil
}

// undone rolls back after an error, and answers with it.
func (s *Store) undone(l *locked, b *bases, r *record, works []*work, cause error) error {
	refs := r.refs()
	var refusal *Refusal
	switch {
	case errors.Is(cause, errChanged):
		refusal = refuse(RefusedConflict, refs, "a file was changed while it was about to be: %w", cause)
	case errors.Is(cause, errWriting):
		refusal = refuse(RefusedConflict, refs, "a file cannot be changed now: %w", cause)
	default:
		refusal = refuseIO(cause, refs, "changing memory")
	}
	if err := s.rollBack(l, b, r, works); err != nil {
		s.opt.Log.Error("rolling back a change of memory", "operation", r.ID, "error", err)
		refusal.Detail += "; taking it back failed as well and is left to the next start"
		refusal.Err = errors.Join(cause, err)
	}
	return refusal
}

// changeFiles stages every file, then puts each in its place.
func (s *Store) changeFiles(b *bases, r *record, works []*work) error {
	for _, w := range works {
		base, err := b.folder(r.root(w.Root), w.Action == ActionCreate)
		if err != nil {
			return err
		}
		if err := w.open(base, w.Action == ActionCreate); err != nil {
			return err
		}
		if w.info, err = w.in.stat(w.name); err != nil {
			return err
		}
		if err := w.stage(); err != nil {
			return err
		}
	}
	for _, w := range works {
		if err := w.swap(); err != nil {
			return err
		}
	}
	return settleDirs(works)
}

// settleDirs makes the new names last and removes what they displaced.
func settleDirs(works []*work) error {
	for _, w := range works {
		if err := w.in.sync(); err != nil {
			return err
		}
	}
	for _, w := range works {
		if err := w.in.discard(w.Temp, w.Base); err != nil {
			return err
		}
	}
	for _, w := range works {
		if err := w.in.sync(); err != nil {
			return err
		}
	}
	return nil
}

// bases keeps the directories of roots open during an operation.
type bases struct {
	disk *disk
	open map[string]*folder // by path
}

func (b *bases) close() {
	for _, f := range b.open {
		f.close()
	}
}

func (b *bases) folder(r *rootRef, create bool) (*folder, error) {
	if f := b.open[r.Real]; f != nil {
		return f, nil
	}
	f, err := b.disk.openBase(r.Real, create)
	if err != nil {
		return nil, err
	}
	b.open[r.Real] = f
	return f, nil
}

// readToChange reads a file of a root that is to be changed: one that is
// write-protected is refused.
func (b *bases) readToChange(root *Root, rel, ref string) ([]byte, fs.FileInfo, error) {
	return b.readAs(root, rel, func(in *folder, info fs.FileInfo) error { return in.protected(ref, info) })
}

// read reads a file of a root.
func (b *bases) read(root *Root, rel string) ([]byte, fs.FileInfo, error) {
	return b.readAs(root, rel, func(*folder, fs.FileInfo) error { return nil })
}

func (b *bases) readAs(root *Root, rel string, admit func(*folder, fs.FileInfo) error) ([]byte, fs.FileInfo, error) {
	base, err := b.folder(&rootRef{ID: root.ID, Real: root.Real}, false)
	if err != nil {
		return nil, nil, err
	}
	in, _, err := base.enter(path.Dir(rel), false)
	if err != nil {
		return nil, nil, err
	}
	defer in.close()
	raw, info, err := in.read(path.Base(rel))
	if err == nil {
		err = admit(in, info)
	}
	return raw, info, err
}

// missing are the directories on the way to dir that do not exist.
func (b *bases) missing(root *Root, dir string) ([]string, error) {
	base, err := b.folder(&rootRef{ID: root.ID, Real: root.Real}, false)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var missing []string
	for ; dir != "."; dir = path.Dir(dir) {
		if base == nil {
			missing = append(missing, dir)
			continue
		}
		in, _, err := base.enter(dir, false)
		if err == nil {
			in.close()
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		missing = append(missing, dir)
	}
	slices.Reverse(missing)
	return missing, nil
}

// exists tells whether there is a file in a root.
func (b *bases) exists(r *rootRef, rel string) (bool, error) {
	base, err := b.folder(r, false)
	if err == nil {
		var in *folder
		if in, _, err = base.enter(path.Dir(rel), false); err == nil {
			defer in.close()
			return in.exists(path.Base(rel))
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return false, err
}
