package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// goneWait bounds the look into the workspace: who asks waits for it. A workspace
// that takes longer says nothing.
const goneWait = 300 * time.Millisecond

// markGone notes with hits what they name of the workspace that is not there. Only
// a workspace that is trusted is looked into, and only for memories that were
// found for it.
func (o *opened) markGone(ctx context.Context, log *slog.Logger, lists ...[]recall.Hit) {
	if o.found == nil || !o.found.trusted {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, goneWait)
	defer cancel()
	var skip []string
	for _, r := range o.snap.Roots() {
		skip = append(skip, r.Root.Path, r.Root.Real)
	}
	w := memory.NewWorkspace(o.found.project, skip, time.Now)
	for _, hits := range lists {
		for i := range hits {
			note, err := o.gone(ctx, w, hits[i].Doc)
			if err != nil {
				log.Info("the places that memories name were not looked up", "folder", o.found.project, "err", err)
				return
			}
			hits[i].Gone = note
		}
	}
}

// gone is what a memory names that is not in the workspace.
func (o *opened) gone(ctx context.Context, w *memory.Workspace, d *memory.Document) (string, error) {
	anchors := memory.Anchors(d)
	if len(anchors) == 0 || d.Root.Scope == memory.ScopeUser || !d.ActiveAt(time.Now()) {
		return "", nil
	}
	verdicts, err := w.Check(ctx, anchors)
	if err != nil {
		return "", err
	}
	var whys []string
	for i, v := range verdicts {
		if v.Dead && !memory.LeadsToMemory(o.snap, d, anchors[i]) {
			whys = append(whys, v.Why)
		}
	}
	return memory.GoneNote(whys), nil
}
