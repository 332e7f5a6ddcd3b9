package meaning

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/memory/vectors"
)

// sync takes over the newest snapshot: documents that have gone lose their vectors,
// new ones get those of equal texts, and wait for the others.
func (s *Service) sync() {
	snap := s.opt.Snapshot()
	s.mu.Lock()
	defer s.mu.Unlock()
	if snap == s.snap && s.synced {
		return
	}
	for _, status := range snap.Roots() {
		if s.roots[status.Root.ID] == nil {
			s.load(status.Root)
		}
	}
	var gone []*memory.Document
	for d := range s.docs {
		if now, ok := snap.Get(d.Ref); !ok || now != d {
			gone = append(gone, d)
		}
	}
	came := false
	for d := range snap.All() {
		if s.docs[d] == nil {
			s.add(d)
			came = true
		}
	}
	// Inv: only now, so that a text that stays finds the vector that it had.
	for _, d := range gone {
		s.drop(d)
	}
	s.snap, s.synced = snap, !snap.Loading()
	if s.synced {
		for _, r := range s.roots {
			r.dirty = r.dirty || len(r.stored) > 0
			r.stored = nil
		}
	}
	if came {
		s.sortQueue()
	}
}

// load reads what was kept of a root that is new here.
func (s *Service) load(of *memory.Root) *root {
	r := &root{of: of}
	s.roots[of.ID] = r
	if s.opt.Files == nil || of.Untrusted {
		return r
	}
	f, err := s.opt.Files.Load(of.ID, s.opt.Embedder.ID())
	switch _, dim := s.index.Len(); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		s.opt.Log.Warn("vectors are made anew", "root", of.Prefix, "err", err)
		r.dirty = true
	case dim != 0 && dim != f.Dimension:
		r.dirty = true
	default:
		r.sample, r.sampled = f.Sample, f.Sampled
		if s.reference == nil {
			s.reference = f.Reference
		}
		r.stored = make(map[key]vectors.Row, len(f.Rows))
		for _, row := range f.Rows {
			r.stored[key(row.Key)] = row
		}
	}
	return r
}

// add takes a document in. Inv: mu is held, as in all below.
func (s *Service) add(d *memory.Document) {
	e := &entry{}
	s.docs[d] = e
	r := s.rootOf(d)
	r.total++
	for _, p := range passagesOf(d) {
		k := p.key()
		row := waiting
		switch stored, ok := r.stored[k]; {
		case !s.opt.Embedder.Local() && len(memory.FindSecrets(p.text)) > 0:
			row = withheld
		case ok:
			row = s.put(d, p.span, k, stored.Numbers, stored.Inverse)
		default:
			if same, ok := s.byKey[k]; ok {
				numbers, inverse := s.index.at(same)
				row = s.put(d, p.span, k, numbers, inverse)
				r.dirty = true
			}
		}
		delete(r.stored, k)
		e.keys, e.rows = append(e.keys, k), append(e.rows, row)
		s.count(row, 1)
	}
	s.wanted += len(e.keys)
	if hasVector(e) {
		r.docs++
	}
}

// put adds a vector to the index, or answers that the passage waits for another.
func (s *Service) put(d *memory.Document, span memory.Span, k key, numbers []int8, inverse float32) int {
	row, err := s.index.add(d, span, numbers, inverse)
	if err != nil {
		return waiting
	}
	s.byKey[k] = row
	return row
}

func (s *Service) count(row, n int) {
	if row < 0 {
		s.counts[-row] += n
	} else {
		s.counts[0] += n
	}
}

func (s *Service) rootOf(d *memory.Document) *root {
	if r := s.roots[d.Root.ID]; r != nil {
		return r
	}
	return s.load(d.Root)
}

func hasVector(e *entry) bool {
	return slices.ContainsFunc(e.rows, func(row int) bool { return row >= 0 })
}

// drop lets go of a document and its vectors.
func (s *Service) drop(d *memory.Document) {
	e := s.docs[d]
	delete(s.docs, d)
	r := s.rootOf(d)
	r.total--
	if hasVector(e) {
		r.docs--
	}
	for i, row := range e.rows {
		s.count(row, -1)
		s.free(e.keys[i], row)
	}
	s.wanted -= len(e.keys)
	r.dirty = true
}

// free gives up the vector of a passage.
func (s *Service) free(k key, row int) {
	if row < 0 {
		return
	}
	if s.byKey[k] == row {
		delete(s.byKey, k)
	}
	s.index.Remove(row)
}

// sortQueue lists the documents that wait, those with the newest facts first.
func (s *Service) sortQueue() {
	s.queue = s.queue[:0]
	for d, e := range s.docs {
		if slices.Contains(e.rows, waiting) {
			s.queue = append(s.queue, d)
		}
	}
	slices.SortFunc(s.queue, func(a, b *memory.Document) int {
		return cmp.Or(b.Fact().Compare(a.Fact()), strings.Compare(a.Ref, b.Ref))
	})
}

// reset gives up all vectors: those that come are of another length, so that another
// model goes by the same name. It is false when that has happened too often.
func (s *Service) reset() bool {
	if s.resets++; s.resets > maxResets {
		return false
	}
	for _, e := range s.docs {
		for i, row := range e.rows {
			if row >= 0 {
				s.free(e.keys[i], row)
				s.count(row, -1)
				s.count(waiting, 1)
				e.rows[i] = waiting
			}
		}
	}
	for _, r := range s.roots {
		*r = root{of: r.of, total: r.total, dirty: true}
	}
	s.reference = nil
	s.asked.forget()
	s.sortQueue()
	return true
}

// Forget gives up the vectors of the files that refs name, and makes no new ones of
// the texts that they have now.
func (s *Service) Forget(refs []string) {
	gone := make(map[string]bool, len(refs))
	for _, ref := range refs {
		gone[ref] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for d, e := range s.docs {
		if !gone[d.Ref] {
			continue
		}
		r := s.rootOf(d)
		if hasVector(e) {
			r.docs--
		}
		for i, row := range e.rows {
			s.count(row, -1)
			s.free(e.keys[i], row)
			e.rows[i] = forgotten
			s.count(forgotten, 1)
		}
		r.dirty = true
	}
	s.asked.forget()
}

// save keeps what has changed. Between batches it does so only now and then.
//
// Inv: what is saved are the vectors of documents that are there; so what a file holds
// of a memory that has gone, goes.
func (s *Service) save(ctx context.Context, idle bool) {
	if s.opt.Files == nil {
		return
	}
	s.mu.Lock()
	now := s.opt.Now()
	if !s.synced || !idle && now.Sub(s.saved) < savePause {
		s.mu.Unlock()
		return
	}
	s.saved = now
	files := s.changed()
	s.mu.Unlock()
	for _, f := range files {
		if err := s.opt.Files.Save(ctx, f); err != nil {
			s.opt.Log.Warn("vectors are not kept", "root", f.Root, "err", err)
			s.mu.Lock()
			if r := s.roots[f.Root]; r != nil {
				r.dirty = true
			}
			s.mu.Unlock()
		}
	}
}

// changed are the files of the roots that have changed since they were saved.
func (s *Service) changed() []*vectors.File {
	files := map[string]*vectors.File{}
	for id, r := range s.roots {
		if r.dirty {
			r.dirty = false
			_, dim := s.index.Len()
			files[id] = &vectors.File{Root: id, Model: s.opt.Embedder.ID(), Dimension: dim, Sample: r.sample, Sampled: r.sampled, Reference: s.reference}
		}
	}
	if len(files) == 0 {
		return nil
	}
	for d, e := range s.docs {
		f := files[d.Root.ID]
		if f == nil {
			continue
		}
		file := vectors.FileOf(d.Ref)
		for i, row := range e.rows {
			if row >= 0 {
				numbers, inverse := s.index.at(row)
				f.Rows = append(f.Rows, vectors.Row{Key: vectors.Key(e.keys[i]), File: file, Inverse: inverse, Numbers: slices.Clone(numbers)})
			}
		}
	}
	out := make([]*vectors.File, 0, len(files))
	for _, f := range files {
		slices.SortFunc(f.Rows, func(a, b vectors.Row) int {
			return cmp.Or(slices.Compare(a.Key[:], b.Key[:]), cmp.Compare(a.File, b.File))
		})
		out = append(out, f)
	}
	return out
}
