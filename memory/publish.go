package memory

import "slices"

// commit applies a change to the documents and publishes a snapshot, unless it
// would equal the last one.
func (w *writer) commit(c change) {
	set := w.changeDocs(c)
	before := w.c.cur.Load()
	roots := make([]RootStatus, len(w.sources))
	for i, src := range w.sources {
		roots[i] = src.status()
	}
	same := func(f func(a, b RootStatus) bool) bool {
		return slices.EqualFunc(roots, before.snap.roots, f)
	}
	if before.snap.Revision == w.rev && same(RootStatus.same) {
		return
	}
	named := before.snap.names
	if before.snap.Revision != w.rev {
		named = &names{docs: w.docs}
	}
	w.c.cur.Store(&published{
		snap: &Snapshot{Revision: w.rev, docs: w.docs, roots: roots, index: w.index, names: named},
		next: make(chan struct{}),
		live: slices.Clone(w.sources),
	})
	close(before.next)
	if !w.running {
		return // nobody has the catalog yet to be called back about
	}
	if set != nil && w.c.opt.OnChange != nil {
		w.c.opt.OnChange(*set)
	}
	if w.c.opt.OnStatus != nil && !same(RootStatus.sameState) {
		w.c.opt.OnStatus()
	}
}

// publish makes a snapshot that differs from the last one only in its index.
func (w *writer) publish() {
	before := w.c.cur.Load()
	next := *before.snap
	next.index = w.index
	w.c.cur.Store(&published{snap: &next, next: make(chan struct{}), live: before.live})
	close(before.next)
}

// changeDocs makes the next revision of the documents and of the index; nil when
// nothing changed.
func (w *writer) changeDocs(c change) *ChangeSet {
	if len(c.added) == 0 {
		return nil
	}
	w.rev++
	edit := w.docs.edit()
	removed := make([]*Document, 0, len(c.removed))
	added := make([]*Document, 0, len(c.added))
	// All that goes goes first: with the roots, a ref may pass to another file.
	for i, old := range c.removed {
		if old != nil {
			removed = append(removed, old)
			if c.added[i] == nil || c.added[i].Ref != old.Ref {
				edit.remove(old.Ref)
			}
			w.touch(old.Root)
		}
	}
	for _, d := range c.added {
		if d != nil {
			added = append(added, d)
			edit.put(d)
			w.touch(d.Root)
		}
	}
	w.docs = edit.done()
	switch index := w.c.opt.Index.(type) {
	case nil:
	case PartIndexer:
		if w.part != nil {
			w.index = index.Join(w.index, w.part)
			break
		}
		w.index = index.Update(w.index, removed, added)
	default:
		w.index = index.Update(w.index, removed, added)
	}
	return changeSet(w.rev, removed, added)
}

func (w *writer) touch(root *Root) {
	for _, src := range w.sources {
		if src.root.Load() == root {
			src.state.revision = w.rev
			return
		}
	}
}

// changeSet names what changed: a ref on both sides was updated.
func changeSet(rev uint64, removed, added []*Document) *ChangeSet {
	set := &ChangeSet{Revision: rev}
	n := 0
	note := func(list *[]string, ref string) {
		if n++; n > maxChangeRefs {
			set.Truncated = true
			return
		}
		*list = append(*list, ref)
	}
	old := make(map[string]bool, len(removed))
	for _, d := range removed {
		old[d.Ref] = true
	}
	for _, d := range added {
		if old[d.Ref] {
			delete(old, d.Ref)
			note(&set.Updated, d.Ref)
		} else {
			note(&set.Added, d.Ref)
		}
	}
	for _, d := range removed {
		if old[d.Ref] {
			note(&set.Removed, d.Ref)
		}
	}
	return set
}

// status is the state of one root as it is published.
func (s *source) status() RootStatus {
	st := &s.state
	root := s.root.Load()
	r := RootStatus{Root: root, Revision: st.revision, HasIndex: st.hasIndex, Index: st.index}
	if st.stale {
		s.listSkips()
	}
	r.Skipped = st.skipped
	r.OnDisk = len(st.files) + st.skippedMD
	r.Catalogued = st.documents
	r.State, r.Reason = st.verdict(root)
	if s.watch != nil {
		r = r.watched(s.watch.Status())
	}
	return r
}

func (s *sourceState) verdict(root *Root) (RootState, string) {
	// A skip of the root itself is the watcher's way to say that it cannot look.
	shut := slices.IndexFunc(s.skips, func(k Skip) bool { return k.Path == "." || k.Path == "" })
	switch {
	case root.Untrusted:
		return StateUntrusted, "the workspace is not trusted"
	case s.fault != "":
		return StateError, s.fault
	case s.missing:
		return StateMissing, "does not exist"
	case s.openFault != "":
		return StateError, s.openFault
	case shut >= 0 && len(s.files) == 0:
		return StateError, s.skips[shut].Reason
	case !s.swept && s.watchErr != "":
		return StateError, s.watchErr
	case !s.swept:
		return StateLoading, ""
	case s.watchErr != "":
		return StateDegraded, s.watchErr
	}
	if shut >= 0 {
		return StateDegraded, s.skips[shut].Reason
	}
	return StateReady, ""
}

// listSkips makes the list of what is not catalogued. A new one each time: the
// old one may be in a snapshot.
func (s *source) listSkips() {
	st := &s.state
	st.stale, st.skippedMD = false, 0
	list := slices.Clone(st.skips)
	owner := resolvedRoot{inner: s.inner}
	for _, k := range st.skips {
		if _, listed := st.files[k.Path]; !listed && owner.owns(k.Path) && !isIndex(k.Path) {
			st.skippedMD++
		}
	}
	for rel, why := range st.failures {
		list = append(list, Skip{rel, why})
	}
	for _, in := range s.inner {
		list = append(list, Skip{in.rel, "a root of its own, " + in.prefix})
	}
	slices.SortFunc(list, compareSkips)
	st.skipped = slices.CompactFunc(list, func(a, b Skip) bool { return a.Path == b.Path })
}
