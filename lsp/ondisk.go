package lsp

import (
	"context"
	"slices"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

const (
	// lookWait is how long the files of a result are looked at before it goes out:
	// a directory that does not answer keeps no recall waiting.
	lookWait = 20 * time.Millisecond
	// catchUpWait is how long a result waits for the catalog when a file turns out
	// not to be what was read.
	catchUpWait = 50 * time.Millisecond
)

// present drops hits whose files are gone, and shows those that another program
// has changed as they are now. What it changes reaches the catalog by events, some
// milliseconds later; what it has just erased must not be served in between. The
// cost is one lstat for each document. The snapshot is the one that the hits are
// of.
func (f *features) present(ctx context.Context, snap *memory.Snapshot, q recall.Query, hits []recall.Hit) (*memory.Snapshot, []recall.Hit) {
	if len(hits) == 0 {
		return snap, nil
	}
	changed := f.changedOnDisk(snap, hits)
	if !slices.Contains(changed, true) {
		return snap, slices.Clone(hits)
	}
	if !snap.Loading() {
		ctx, cancel := context.WithTimeout(ctx, catchUpWait)
		defer cancel()
		if f.catalog().Sync(ctx) == nil {
			return f.catalog().Snapshot(), f.engine().Current(q, hits)
		}
	}
	var left []recall.Hit
	for i := range hits {
		if !changed[i] {
			left = append(left, hits[i])
		}
	}
	return snap, left
}

// changedOnDisk tells which hits are not, any more, what was read. Those that
// cannot be looked at in time count as they were, as all do while an earlier look
// has not come back.
func (f *features) changedOnDisk(snap *memory.Snapshot, hits []recall.Hit) []bool {
	unknown := make([]bool, len(hits))
	if f.stuck.Load() > 0 {
		return unknown
	}
	loading := map[string]bool{}
	for _, root := range snap.Roots() {
		loading[root.Root.Real] = root.State == memory.StateLoading
	}
	docs := make([]*memory.Document, len(hits))
	for i := range hits {
		docs[i] = hits[i].Doc
	}
	looked := make(chan []bool)
	late := make(chan struct{})
	go func() {
		changed := make([]bool, len(docs))
		for i, d := range docs {
			changed[i] = f.changed(d, loading[d.Root.Real])
		}
		select {
		case looked <- changed:
		case <-late:
			f.stuck.Add(-1)
		}
	}()
	wait := time.NewTimer(lookWait)
	defer wait.Stop()
	select {
	case changed := <-looked:
		return changed
	case <-wait.C:
		f.stuck.Add(1)
		close(late)
		return unknown
	}
}

// changed tells whether a file is not what was read. Inv: in a root that was
// swept, a new time alone is no change: it publishes nothing, so that the document
// may bear the old one for ever.
func (f *features) changed(d *memory.Document, loading bool) bool {
	info, err := f.opt.Lstat(pathOf(d, d.Root.Real))
	return err != nil || !info.Mode().IsRegular() || info.Size() != d.Size || loading && !info.ModTime().Equal(d.ModTime)
}
