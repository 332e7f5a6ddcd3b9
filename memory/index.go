package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// IndexUpdate is what the new MEMORY.md of a root is made from.
type IndexUpdate struct {
	Root *Root
	// Current is the present index, nil when there is none.
	Current []byte
	// Removed and Added are the documents before and after the change: a changed
	// one is in both.
	Removed, Added []*Document
	// Documents are all documents of the root after the change.
	Documents func() ([]*Document, error)
	// Former are the entries, by the path of their file, that the index had before
	// the operation which is undone; a zero one is a file that it had none about.
	Former map[string]FormerEntry
	// Merged is Current with what that operation did to it taken back, as far as
	// that can still be told; nil when there is nothing of the kind.
	Merged []byte
	// back is what the operation did that is undone, nil when none is.
	back *indexEdit
}

// IndexFunc answers the new content of a root's MEMORY.md, and whether it is to
// be written at all.
type IndexFunc func(IndexUpdate) (next []byte, write bool, err error)

// reindex brings the indexes of the roots of an operation up to date, and
// answers what went wrong. The operation stands regardless: an index says
// nothing that the files do not, and is made again from them. note is told what
// becomes of an index before it does; it may be nil.
func (s *Store) reindex(b *bases, r *record, note func(indexEdit) error) []string {
	var warnings []string
	for i := range r.Roots {
		u, root := s.indexUpdate(b, r, &r.Roots[i])
		if len(u.Removed)+len(u.Added) == 0 {
			continue
		}
		if err := s.writeIndex(b, root, u, note); err != nil {
			s.opt.Log.Warn("the index of a root was not brought up to date", "root", root.Real, "error", err)
			warnings = append(warnings, fmt.Sprintf("%s of the %s root was not brought up to date: %s", IndexName, root.Prefix, reason(err)))
		}
	}
	return warnings
}

// indexUpdate is what an operation changed in one root.
func (s *Store) indexUpdate(b *bases, r *record, ref *rootRef) (IndexUpdate, *rootRef) {
	root := s.root(ref.ID, ref.Real)
	if root == nil {
		root = &Root{ID: ref.ID, Real: ref.Real, Path: ref.Real, Prefix: ref.Prefix, Scope: ref.Scope}
	}
	u := IndexUpdate{Root: root, Former: map[string]FormerEntry{}}
	for i, f := range r.Files {
		if f.Root != ref.ID || f.Rel == IndexName {
			continue
		}
		c := &r.contents[i]
		if c.Before != nil {
			u.Removed = append(u.Removed, documentOf(root, f.Rel, c.Before))
		}
		if c.After != nil {
			u.Added = append(u.Added, documentOf(root, f.Rel, c.After))
		}
		switch {
		case c.Former != nil:
			u.Former[f.Rel] = *c.Former
		case r.Kind == KindUndo && c.Before == nil:
			u.Former[f.Rel] = FormerEntry{}
		}
	}
	u.back = r.back(ref.ID)
	u.Documents = func() ([]*Document, error) { return s.documents(b, root) }
	return u, ref
}

// noteEntries notes what the indexes say of the files that an operation is to
// change, so that undoing it can have them say the same again. An index that
// cannot be read now says nothing.
func (s *Store) noteEntries(b *bases, r *record) {
	if s.opt.Index == nil {
		return
	}
	for i := range r.Roots {
		root := &r.Roots[i]
		base, err := b.folder(root, false)
		if err != nil {
			continue
		}
		raw, _, err := base.read(IndexName)
		if err != nil {
			continue
		}
		x := ParseIndex(raw)
		for k, f := range r.Files {
			if c := &r.contents[k]; f.Root == root.ID && f.Rel != IndexName && c.Before != nil {
				c.Entry = x.EntryOf(f.Rel)
			}
		}
	}
}

func documentOf(root *Root, rel string, raw []byte) *Document {
	d := Parse(raw)
	d.Version = digest(raw)
	return finish(d, root, rel)
}

// writeIndex writes the index of a root, unless somebody else does so at the
// same moment: then it is made again from what they wrote.
func (s *Store) writeIndex(b *bases, ref *rootRef, u IndexUpdate, note func(indexEdit) error) error {
	const tries = 3
	base, err := b.folder(ref, false)
	if err != nil {
		return err
	}
	for range tries {
		var w *work
		w, err = s.indexWork(base, u, ref.IndexTemp)
		if err != nil || w == nil {
			return err
		}
		w.in = base
		if note != nil {
			if err := note(newIndexEdit(ref.ID, w.Before, w.After)); err != nil {
				return err
			}
		}
		err = w.stage()
		if err == nil {
			err = errors.Join(w.swap(), base.remove(w.Temp))
		}
		if err == nil {
			return base.sync()
		}
		if !errors.Is(err, errChanged) && !errors.Is(err, errWriting) {
			return err
		}
	}
	return err
}

// indexWork is the change of an index; nil when it stays as it is.
func (s *Store) indexWork(base *folder, u IndexUpdate, temp string) (*work, error) {
	raw, info, err := base.read(IndexName)
	if errors.Is(err, fs.ErrNotExist) {
		raw, info, err = nil, nil, nil
	}
	if err != nil {
		return nil, err
	}
	if u.Current = raw; info != nil && raw == nil {
		u.Current = []byte{}
	}
	next, write, err := s.nextIndex(u)
	if err != nil || !write {
		return nil, err
	}
	if next == nil {
		w := newWork(&fileRecord{Rel: IndexName, Action: ActionDelete, Base: digest(raw), Mode: info.Mode().Perm(), Temp: temp}, &content{Before: u.Current})
		w.info = info
		return w, nil
	}
	f := &fileRecord{Rel: IndexName, Action: ActionCreate, To: digest(next), Mode: 0o600, Temp: temp}
	if info != nil {
		f.Action, f.Base, f.Mode = ActionUpdate, digest(raw), info.Mode().Perm()
		if f.Base == f.To {
			return nil, nil
		}
		if err := base.protected(IndexName, info); err != nil {
			return nil, err
		}
	}
	w := newWork(f, &content{Before: u.Current, After: next})
	w.info = info
	return w, nil
}

// nextIndex is the index that a root is to have; nil when it is to have none. One
// that nobody has touched since the operation which is undone becomes what it was.
func (s *Store) nextIndex(u IndexUpdate) (next []byte, write bool, err error) {
	if u.back != nil {
		if next, err = u.back.exact(u.Current); err == nil {
			return next, next != nil || u.Current != nil, nil
		}
		u.Merged = u.back.merged(u.Current)
	}
	return s.opt.Index(u)
}

// documents are those that a root has now. What a snapshot has of them, and no
// file has changed since, is not read again.
func (s *Store) documents(b *bases, root *Root) ([]*Document, error) {
	base, err := b.folder(&rootRef{ID: root.ID, Real: root.Real}, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	known := map[string]*Document{}
	if s.opt.Snapshot != nil {
		for d := range s.opt.Snapshot().All() {
			if d.Root.Real == root.Real {
				known[d.Rel] = d
			}
		}
	}
	docs := []*Document{}
	err = s.walk(base, root, "", known, &docs)
	return docs, err
}

// maxWalkDepth bounds how deep folders are followed, as the watcher does.
const maxWalkDepth = 64

func (s *Store) walk(base *folder, root *Root, dir string, known map[string]*Document, docs *[]*Document) error {
	if strings.Count(dir, "/") > maxWalkDepth {
		return nil
	}
	in, _, err := base.enter(dir, false)
	if err != nil {
		return err
	}
	defer in.close()
	names, err := in.list()
	if err != nil {
		return err
	}
	for _, n := range names {
		rel := path.Join(dir, n)
		info, err := in.root.Lstat(n)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case info.IsDir():
			if keepName(rel, true) {
				if err := s.walk(base, root, rel, known, docs); err != nil {
					return err
				}
			}
		case info.Mode().IsRegular() && s.memoryName(root, rel) == nil:
			if d := known[rel]; d != nil && d.Size == info.Size() && d.ModTime.Equal(info.ModTime()) {
				*docs = append(*docs, d)
				continue
			}
			raw, _, err := in.read(n)
			if _, refused := errors.AsType[*Refusal](err); refused || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				continue // too large or not ours to read: in no index either
			}
			if err != nil {
				return err
			}
			d := documentOf(root, rel, raw)
			d.ModTime = info.ModTime()
			*docs = append(*docs, d)
		}
	}
	return nil
}

// RebuildIndex makes the MEMORY.md of a root anew from its memories. It is an
// operation, unless the index is what it should be: then there are no changes
// and no id.
func (s *Store) RebuildIndex(ctx context.Context, root *Root) (*Operation, error) {
	ref := encodeRef(root.Prefix, IndexName)
	if err := writable(root, []string{ref}); err != nil {
		return nil, err
	}
	b := &bases{disk: s.disk, open: map[string]*folder{}}
	defer b.close()
	base, err := b.folder(&rootRef{ID: root.ID, Real: root.Real}, false)
	if err != nil {
		return nil, refuseIO(err, []string{ref}, "opening the root")
	}
	w, err := s.indexWork(base, IndexUpdate{
		Root: root, Documents: func() ([]*Document, error) { return s.documents(b, root) },
	}, "")
	if err != nil {
		return nil, refuseIO(err, []string{ref}, "reading the index")
	}
	if w == nil {
		return &Operation{Kind: KindIndex, At: s.opt.Now().UTC()}, nil
	}
	return s.commit(ctx, job{kind: KindIndex, stale: RefusedConflict, files: []goal{{
		root: root, rel: IndexName, ref: ref, base: w.Base, mode: w.Mode, index: true,
		next: func([]byte) ([]byte, error) { return w.After, nil },
	}}})
}
