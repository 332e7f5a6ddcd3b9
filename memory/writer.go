package memory

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// writer owns all that changes in a catalog. Inv: it is used by one goroutine at
// a time: by the catalog's owner until Run begins, and by Run from then on.
type writer struct {
	c       *Catalog
	running bool
	sources []*source
	docs    docSet
	index   any
	part    any // of an image, while its documents are taken
	rev     uint64

	seq     uint64             // numbers the reads that are made again
	retries map[uint64]*source // those under way
	waiting []waiter
}

// waiter waits for the reads again that were under way when it came, and for
// those that follow from them.
type waiter struct {
	left map[uint64]*source
	done chan struct{}
}

// change collects what one message does to the documents: parallel lists of old
// and new values, nil where there is none.
type change struct{ removed, added []*Document }

func newWriter(c *Catalog) *writer {
	w := &writer{c: c, retries: map[uint64]*source{}}
	if c.opt.Index != nil {
		w.index = c.opt.Index.Update(nil, nil, nil)
	}
	c.cur.Store(&published{snap: &Snapshot{index: w.index, names: &names{}}, next: make(chan struct{})})
	return w
}

func (w *writer) run(ctx context.Context) {
	w.running = true
	for _, src := range w.sources {
		src.start()
	}
	tick := time.NewTicker(w.c.opt.Recheck)
	defer tick.Stop()
	var joined <-chan struct{}
	if j, ok := w.c.opt.Index.(Joiner); ok {
		joined = j.Joined()
		defer j.Wait()
	}
	for {
		select {
		case <-ctx.Done():
			for _, src := range w.sources {
				src.stop()
			}
			for _, src := range w.sources {
				<-src.done
			}
			return
		case f := <-w.c.in:
			f(w)
		case <-joined:
			w.index = w.c.opt.Index.Update(w.index, nil, nil)
			w.publish()
		case <-tick.C:
			w.recheck()
		}
	}
}

// setRoots takes over sources whose directory stays, makes the others, and
// returns those that were stopped.
func (w *writer) setRoots(roots []resolvedRoot) (gone []*source) {
	old := w.sources
	w.sources = nil
	var c change
	news := len(roots) != len(old)
	for i, r := range roots {
		at := slices.IndexFunc(old, func(s *source) bool { return s != nil && s.serves(r) })
		if at < 0 {
			news = true
			src := newSource(w.c, r)
			if w.running {
				src.start()
			}
			w.sources = append(w.sources, src)
			continue
		}
		w.sources = append(w.sources, old[at])
		news = old[at].reroot(r.Root, &c) || news || at != i
		old[at] = nil
	}
	for _, src := range old {
		if src == nil {
			continue
		}
		for _, e := range src.state.files {
			src.state.put(&c, e.doc, nil)
		}
		w.release(src)
		gone = append(gone, src)
	}
	if news {
		w.rev++
	}
	w.commit(c)
	return gone
}

// serves tells whether an existing source is what r needs.
func (s *source) serves(r resolvedRoot) bool {
	if s.real != r.Real || !slices.Equal(s.inner, r.inner) {
		return false
	}
	if s.watch == nil {
		return *s.root.Load() == *r.Root && s.state.fault == r.fault
	}
	return s.state.watchErr == "" && !r.closed() && (r.fault == "" || r.missing)
}

// reroot gives the documents of a source their new root, under which they may
// have other refs. It tells whether the root is another one.
func (s *source) reroot(root *Root, c *change) bool {
	if *s.root.Load() == *root {
		return false
	}
	s.root.Store(root)
	for _, e := range s.state.files {
		if e.doc == nil {
			continue
		}
		d := *e.doc
		d.Root, d.Ref = root, encodeRef(root.Prefix, d.Rel)
		s.state.put(c, e.doc, &d)
		e.doc = &d
	}
	return true
}

func (w *writer) release(src *source) {
	src.stop()
	for seq, s := range w.retries {
		if s == src {
			w.settle(seq, 0)
		}
	}
}

// revive replaces a source that could not be served by one that may be.
func (w *writer) revive(src *source) {
	i := slices.Index(w.sources, src)
	if i < 0 || src.watch != nil {
		return
	}
	w.release(src)
	next := newSource(w.c, resolvedRoot{Root: src.root.Load(), inner: src.inner})
	w.sources[i] = next
	next.start()
	w.commit(change{})
}

func (w *writer) watchEnded(src *source, err error) {
	src.state.watchErr = "the watcher ended: " + err.Error()
	w.commit(change{})
}

// apply takes what a source read.
func (w *writer) apply(u update) {
	s := &u.src.state
	if s.stopped {
		return
	}
	var c change
	if u.missing {
		for rel, e := range s.files {
			s.drop(&c, rel, e)
		}
		s.skips, s.stale = nil, true
		s.dropIndex()
		s.swept, s.openFault = false, ""
	}
	for _, rel := range u.removed {
		if rel == IndexName {
			s.dropIndex()
		}
		if e := s.files[rel]; e != nil {
			s.drop(&c, rel, e)
		}
	}
	s.hasIndex = s.hasIndex || u.index
	for _, rel := range u.listed {
		if rel != IndexName {
			s.add(rel)
		}
	}
	for _, res := range u.results {
		w.take(u.src, res, &c)
	}
	if u.skipsKnown {
		w.skips(u.src, u.skips)
	}
	if u.opened {
		s.openFault = u.openFault
	}
	if u.last {
		s.missing = u.missing
		if !u.missing && (u.full || s.everSwept) {
			s.swept, s.everSwept = true, true
		}
	}
	w.commit(c)
}

// skips takes the list of what the watcher does not watch, and logs what is new
// in it.
func (w *writer) skips(src *source, skips []Skip) {
	skips = slices.Clone(skips)
	slices.SortFunc(skips, compareSkips)
	old := src.state.skips
	if slices.Equal(old, skips) {
		return
	}
	src.state.skips, src.state.stale = skips, true
	for _, k := range skips {
		if _, ok := slices.BinarySearchFunc(old, k, compareSkips); !ok {
			w.c.opt.Log.Warn("memory skipped", "root", src.real, "path", k.Path, "reason", k.Reason)
		}
	}
}

func compareSkips(a, b Skip) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Reason, b.Reason))
}

// take applies what reading one file came to.
func (w *writer) take(src *source, res result, c *change) {
	s := &src.state
	if res.rel == IndexName {
		w.takeIndex(src, res)
		return
	}
	e := s.add(res.rel)
	e.retry = 0
	switch res.outcome {
	case outcomeRead:
		d := finish(res.doc, src.root.Load(), res.rel)
		s.put(c, e.doc, d)
		e.doc = d
	case outcomeSame:
		// What it was compared with may have been replaced by a read that began
		// earlier and came in later.
		if e.doc == nil || e.doc.Version != res.version {
			w.retry(src, res.rel, e, 1, retryAfter)
			return
		}
	case outcomeHalf:
		w.retry(src, res.rel, e, 1, retryAfter)
		return
	case outcomeGone, outcomeFailed:
		// It may be on its way back, as it was, and then nothing announces it.
		if res.attempt < maxAttempts {
			w.retry(src, res.rel, e, res.attempt+1, retryAfter)
			return
		}
		if res.outcome == outcomeGone {
			s.drop(c, res.rel, e)
			return
		}
		s.put(c, e.doc, nil)
		e.doc = nil
	case outcomeRefused:
		s.put(c, e.doc, nil)
		e.doc = nil
	}
	e.failed = res.outcome == outcomeFailed
	if s.fail(res.rel, res.reason) && res.reason != "" {
		w.c.opt.Log.Warn("memory skipped", "root", src.real, "path", res.rel, "reason", res.reason)
	}
}

// retry reads a file again while what is catalogued of it stays.
func (w *writer) retry(src *source, rel string, e *entry, attempt int, wait time.Duration) {
	w.seq++
	seq := w.seq
	e.retry = seq
	w.retries[seq] = src
	src.again(rel, attempt, wait, func(w *writer, res result, openFault string) {
		next := w.retried(src, seq, res, openFault)
		w.settle(seq, next)
	})
}

// retried applies a read that was made again, and gives the number of the one
// that follows it, or 0.
func (w *writer) retried(src *source, seq uint64, res result, openFault string) uint64 {
	e := src.state.entry(res.rel)
	// Whatever the watcher reported in the meantime is newer.
	if src.state.stopped || e == nil || e.retry != seq {
		return 0
	}
	src.state.openFault = openFault
	var c change
	w.take(src, res, &c)
	w.commit(c)
	return e.retry
}

// settle notes that a read again is done, and which one follows, if any.
func (w *writer) settle(seq, next uint64) {
	src := w.retries[seq]
	delete(w.retries, seq)
	w.waiting = slices.DeleteFunc(w.waiting, func(wait waiter) bool {
		if _, ok := wait.left[seq]; ok {
			delete(wait.left, seq)
			if next != 0 {
				wait.left[next] = src
			}
		}
		if len(wait.left) > 0 {
			return false
		}
		close(wait.done)
		return true
	})
}

// whenSettled closes done when no file that is being read again now still is.
func (w *writer) whenSettled(done chan struct{}) {
	if len(w.retries) == 0 {
		close(done)
		return
	}
	w.waiting = append(w.waiting, waiter{maps.Clone(w.retries), done})
}

// recheck looks at what nobody announces: the mode of a watcher, files that
// could not be read, roots that were no directories.
func (w *writer) recheck() {
	for _, src := range w.sources {
		if src.watch == nil {
			w.probe(src)
			continue
		}
		for rel := range src.state.failures {
			if e := src.state.entry(rel); e.failed && e.retry == 0 {
				w.retry(src, rel, e, maxAttempts, 0)
			}
		}
	}
	w.commit(change{})
}

// probe looks beside the writer, since a dead mount answers late.
func (w *writer) probe(src *source) {
	if src.state.probing || src.root.Load().closed() {
		return
	}
	src.state.probing = true
	src.wg.Go(func() {
		fault, _ := directoryFault(src.real)
		src.send(func(w *writer) {
			src.state.probing = false
			if fault == "" && !src.state.stopped {
				w.revive(src)
			}
		})
	})
}

// finish gives a parsed document its place. It is not shared yet.
func finish(d *Document, root *Root, rel string) *Document {
	d.Root, d.Rel, d.Ref = root, rel, encodeRef(root.Prefix, rel)
	name := path.Base(rel)
	stem := name[:len(name)-len(path.Ext(name))]
	if d.Title == "" {
		d.Title = CleanLine(strings.ToValidUTF8(stem, "\uFFFD"))
	}
	if d.Title == "" {
		d.Title = d.Ref
	}
	folder, _, nested := strings.Cut(rel, "/")
	if nested && strings.EqualFold(folder, "pinned") {
		d.Pinned = true
	}
	if d.TypeGiven {
		return d
	}
	// The layouts that name a type elsewhere do so by folder or by file name.
	if nested {
		d.Type = knownType(folder)
	}
	if word, _, ok := strings.Cut(stem, "_"); ok && d.Type == "" {
		d.Type = knownType(word)
	}
	return d
}
