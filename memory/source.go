package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// firstChunk and maxChunk bound the files between two snapshots of a first
	// scan; the chunks double, so that readers see something at once and a large
	// scan is not slowed down by publishing.
	firstChunk = 64
	maxChunk   = 2048
	// retryAfter and maxAttempts govern reading a file again that was found half
	// written or could not be read.
	retryAfter  = 50 * time.Millisecond
	maxAttempts = 3
)

// source serves one root: its watcher reports to sink, which reads what changed
// and hands it to the writer.
type source struct {
	c     *Catalog
	real  string
	inner []innerRoot
	watch Watcher // nil when the root is not served
	root  atomic.Pointer[Root]

	ctx    context.Context // ends with the source
	cancel context.CancelFunc
	// watching ends with the watcher's Run, at the latest with ctx.
	watching context.Context
	ceased   context.CancelFunc
	// wg counts its goroutines. Only the writer adds to it, and waits only after
	// it has added the last.
	wg   sync.WaitGroup
	done chan struct{} // closed when all have ended, after it was stopped

	// imaged are the documents that came from an image, until the first full walk has
	// been compared with them. Its own goroutines, one after the other.
	imaged []*Document

	state sourceState // the writer's alone
}

// sourceState is what the writer knows of a source.
type sourceState struct {
	stopped   bool
	files     map[string]*entry // every .md file that the watcher lists, without the index
	documents int
	hasIndex  bool
	index     *IndexFile
	indexFile entry             // how reading the index went; it has no document
	skips     []Skip            // those of the watcher
	failures  map[string]string // files that could not be read, and why
	skipped   []Skip            // both, and the roots inside this one, by path
	stale     bool              // skipped and skippedMD are to be made again
	skippedMD int               // those of skips that are Markdown files
	fault     string            // why the root cannot be served at all
	openFault string            // why it could not be opened last
	watchErr  string            // why its watcher ended
	missing   bool
	swept     bool // a full walk has been applied since it was missing
	everSwept bool
	probing   bool
	revision  uint64
}

// put notes that a document takes the place of another; either may be nil.
func (s *sourceState) put(c *change, old, new *Document) {
	if old == nil && new == nil {
		return
	}
	if old == nil {
		s.documents++
	}
	if new == nil {
		s.documents--
	}
	c.removed = append(c.removed, old)
	c.added = append(c.added, new)
}

// add lists a file that is not listed yet.
func (s *sourceState) add(rel string) *entry {
	e := s.files[rel]
	if e == nil {
		e = &entry{}
		s.files[rel] = e
		s.stale = s.stale || len(s.skips) > 0
	}
	return e
}

// entry is what is known of a file, or of the index; nil for one that is not
// listed.
func (s *sourceState) entry(rel string) *entry {
	if rel == IndexName {
		return &s.indexFile
	}
	return s.files[rel]
}

// drop forgets a file.
func (s *sourceState) drop(c *change, rel string, e *entry) {
	s.put(c, e.doc, nil)
	s.fail(rel, "")
	delete(s.files, rel)
	s.stale = s.stale || len(s.skips) > 0
}

// fail notes why a file has no document; empty when it has one. It tells whether
// that is news.
func (s *sourceState) fail(rel, why string) bool {
	if s.failures[rel] == why {
		return false
	}
	s.stale = true
	if why == "" {
		delete(s.failures, rel)
	} else {
		s.failures[rel] = why
	}
	return true
}

// entry is one file. It has a document, or a failure, or is still to be read.
type entry struct {
	doc    *Document
	retry  uint64 // the read that is under way again, 0 for none
	failed bool   // why it has no document may pass
}

func newSource(c *Catalog, r resolvedRoot) *source {
	s := &source{c: c, real: r.Real, inner: r.inner, done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.watching, s.ceased = context.WithCancel(s.ctx)
	s.root.Store(r.Root)
	s.state = sourceState{
		files: map[string]*entry{}, failures: map[string]string{}, fault: r.fault, missing: r.missing, stale: true,
	}
	if r.missing {
		s.state.fault = ""
	}
	if !r.closed() && s.state.fault == "" {
		s.watch = c.opt.Watch(r.Real, r.keeper(), s.sink)
	}
	return s
}

// start runs the watcher. Only the writer calls it.
func (s *source) start() {
	if s.watch == nil {
		return
	}
	s.wg.Go(func() {
		defer s.ceased()
		s.restore()
		err := s.watch.Run(s.ctx)
		if s.ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errors.New("ended early")
		}
		s.c.opt.Log.Error("watcher ended", "root", s.real, "error", err)
		s.send(func(w *writer) { w.watchEnded(s, err) })
	})
}

// stop ends the source without waiting for it. Only the writer calls it.
func (s *source) stop() {
	s.state.stopped = true
	s.cancel()
	go func() {
		s.wg.Wait()
		close(s.done)
	}()
}

// send has the writer call f, unless the source ends first.
func (s *source) send(f func(*writer)) bool {
	select {
	case s.c.in <- f:
		return true
	case <-s.ctx.Done():
		return false
	}
}

func (s *source) sync(ctx context.Context) error {
	if s.watch == nil {
		s.revive(ctx)
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.watching, cancel)()
	err := s.watch.Sync(ctx)
	if err == nil || s.ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("sweeping %s: %w", s.real, err)
}

// revive takes a root into service that was no directory and is one now.
func (s *source) revive(ctx context.Context) {
	if s.root.Load().closed() {
		return
	}
	if fault, _ := directoryFault(s.real); fault == "" {
		// An error only means that the catalog or the caller ends.
		_ = s.c.do(ctx, func(w *writer) { w.revive(s) })
	}
}

// update is one message to the writer.
type update struct {
	src     *source
	listed  []string // files that are there and will be read
	index   bool     // the index was seen
	removed []string
	results []result

	skips      []Skip
	skipsKnown bool
	full       bool
	missing    bool
	opened     bool // whether openFault says something
	openFault  string
	last       bool // the findings are complete with this one
}

// sink takes the findings of the watcher, reads what changed, and returns when
// it is published. Inv: when a walk has been handed to the sink and a message
// sent afterwards reaches the writer, all of the walk has been applied.
func (s *source) sink(fc FileChange) {
	u := update{src: s, skips: fc.Skipped, skipsKnown: fc.SkipsKnown, full: fc.Full, missing: fc.Missing, last: true}
	changed := s.sort(fc, &u)
	if fc.Missing {
		changed = nil
	}
	var root *os.Root
	var openErr error
	if len(changed) > 0 {
		root, openErr = openRoot(s.real)
		u.opened, u.openFault = true, openFault(openErr)
		if openErr == nil {
			defer root.Close()
		}
	}
	chunk := maxChunk
	if fc.Full && s.c.Snapshot().Loading() {
		chunk = firstChunk
	}
	// The size of the work is known before any of it is done.
	if len(changed) > chunk && !s.hand(update{src: s, listed: changed}) {
		return
	}
	for ; len(changed) > chunk; chunk = min(2*chunk, maxChunk) {
		part := update{src: s, removed: u.removed, results: s.read(root, openErr, changed[:chunk])}
		u.removed, changed = nil, changed[chunk:]
		if !s.hand(part) {
			return
		}
	}
	u.results = s.read(root, openErr, changed)
	applied := make(chan struct{})
	if s.send(func(w *writer) { defer close(applied); w.apply(u) }) {
		<-applied
	}
}

// hand gives an update to the writer without waiting for it to be applied, so
// that reading goes on meanwhile.
func (s *source) hand(u update) bool {
	return s.send(func(w *writer) { w.apply(u) })
}

// sort parts the findings into what is read, which it returns in order, what is
// gone, and the index.
func (s *source) sort(fc FileChange, u *update) []string {
	owner := resolvedRoot{inner: s.inner}
	changed := make([]string, 0, len(fc.Changed))
	again := make(map[string]bool, len(fc.Removed))
	for _, rel := range fc.Changed {
		switch {
		case rel == IndexName:
			u.index = true
			changed = append(changed, rel)
		case owner.owns(rel) && !isIndex(rel):
			changed = append(changed, rel)
		}
	}
	if len(fc.Removed) > 0 {
		for _, rel := range changed {
			again[rel] = true
		}
		for _, rel := range fc.Removed {
			if !again[rel] {
				u.removed = append(u.removed, rel)
			}
		}
	}
	if fc.Full && s.imaged != nil {
		u.removed = append(u.removed, s.unlisted(changed)...)
	}
	slices.Sort(changed)
	return slices.Compact(changed)
}

// unopened is the result for a file whose root cannot be opened. That may pass
// without the file changing, even when the root is gone: it may be on its way
// back. When it is not, the watcher says so.
func unopened(rel string, err error) result {
	return result{rel: rel, outcome: outcomeFailed, reason: "the root cannot be opened: " + reason(err)}
}

// openFault is why a root that exists cannot be opened, or empty.
func openFault(err error) string {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return reason(err)
}

// read reads files in parallel. The results are in the order of the names; they
// are incomplete when the source ends.
func (s *source) read(root *os.Root, openErr error, rels []string) []result {
	results := make([]result, len(rels))
	if openErr != nil {
		for i, rel := range rels {
			results[i] = unopened(rel, openErr)
		}
		return results
	}
	// A worker takes neighbours, which share a directory.
	const stride = 16
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(maxReaders, (len(rels)+stride-1)/stride) {
		wg.Go(func() {
			if !s.acquire() {
				return
			}
			defer s.release()
			r := reader{root: root, open: s.c.opt.Open, aged: s.c.opt.Images.Aged}
			defer r.close()
			for {
				start := int(next.Add(stride)) - stride
				for i := start; i < min(start+stride, len(rels)); i++ {
					if s.ctx.Err() != nil {
						return
					}
					results[i] = s.load(&r, rels[i], 0)
				}
				if start >= len(rels) {
					return
				}
			}
		})
	}
	wg.Wait()
	return results
}

func (s *source) acquire() bool {
	select {
	case s.c.readers <- struct{}{}:
		return true
	case <-s.ctx.Done():
		return false
	}
}

func (s *source) release() { <-s.c.readers }

func (s *source) load(r *reader, rel string, attempt int) result {
	if err := CheckRel(rel); err != nil {
		return result{rel: rel, outcome: outcomeRefused, reason: "cannot be named: " + err.Error()}
	}
	old, _ := s.c.Snapshot().Get(encodeRef(s.root.Load().Prefix, rel))
	if old != nil && old.Root != s.root.Load() {
		old = nil // of a root that bore the prefix before, or served it otherwise
	}
	res := r.load(rel, old, s.c.opt.Now())
	if rel == IndexName && res.doc != nil {
		res.index = NewIndexFile(res.doc)
	}
	res.attempt = attempt
	if attempt > 0 && res.outcome == outcomeHalf {
		res.outcome = outcomeRead
	}
	return res
}

// again reads one file once more after a while, in a goroutine of its own, so
// that no other file waits.
func (s *source) again(rel string, attempt int, wait time.Duration, then func(w *writer, res result, openFault string)) {
	s.wg.Go(func() {
		select {
		case <-s.c.opt.After(wait):
		case <-s.ctx.Done():
			return
		}
		if !s.acquire() {
			return
		}
		var res result
		root, err := openRoot(s.real)
		if err != nil {
			res = unopened(rel, err)
		} else {
			r := reader{root: root, open: s.c.opt.Open, aged: s.c.opt.Images.Aged}
			res = s.load(&r, rel, attempt)
			r.close()
			root.Close()
		}
		res.attempt = attempt
		s.release()
		s.send(func(w *writer) { then(w, res, openFault(err)) })
	})
}
