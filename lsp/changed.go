package lsp

import (
	"context"
	"sync"
	"time"

	"github.com/memls/memls/memory"
)

// changedPause is the shortest time between two memory/changed: ten a second.
const changedPause = 100 * time.Millisecond

// changes gathers what the catalog reports until it may be sent.
type changes struct {
	mu      sync.Mutex
	pending *ChangedParams
	wake    chan struct{} // of capacity one
}

func newChanges() *changes { return &changes{wake: make(chan struct{}, 1)} }

// add takes a revision. The catalog's writer calls it.
func (c *changes) add(set memory.ChangeSet) {
	next := &ChangedParams{
		Revision: set.Revision, Added: set.Added, Updated: set.Updated, Removed: set.Removed, Truncated: set.Truncated,
	}
	c.mu.Lock()
	if c.pending != nil {
		next = mergeChanged(c.pending, next)
	}
	c.pending = next
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *changes) take() *ChangedParams {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.pending
	c.pending = nil
	return next
}

// reportChanges sends memory/changed until ctx ends.
func (f *features) reportChanges(ctx context.Context) {
	for {
		select {
		case <-f.changes.wake:
		case <-ctx.Done():
			return
		}
		if next := f.changes.take(); next != nil {
			f.notify(NotifyChanged, next)
		}
		select {
		case <-f.opt.After(changedPause):
		case <-ctx.Done():
			return
		}
	}
}

// catalogChanged takes a new revision. The catalog's writer calls it.
func (f *features) catalogChanged(set memory.ChangeSet) {
	f.embeddings.changed()
	f.changes.add(set)
	f.filesChanged()
	f.publisher.files(set)
	f.anchors.files(set)
}

// statusChanged sends memory/statusChanged. The catalog's writer calls it.
func (f *features) statusChanged() {
	f.embeddings.changed()
	f.publisher.everything()
	f.anchors.everything()
	params := &StatusChangedParams{}
	roots := f.catalog().Snapshot().Roots()
	f.rootLog.note(f.s.Log(), roots)
	for _, r := range roots {
		params.Roots = append(params.Roots, RootState{
			ID: r.Root.ID, Scope: string(r.Root.Scope), Path: r.Root.Path, State: string(r.State), Reason: r.Reason,
		})
	}
	f.notify(NotifyStatusChanged, params)
	f.activity.look()
}

func (f *features) notify(method string, params any) {
	if err := f.s.Notify(method, params); err != nil {
		f.s.Log().Debug("notification not sent", "method", method, "err", err)
	}
}
