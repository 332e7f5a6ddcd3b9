package lsp

import (
	"context"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"

	"github.com/memls/memls/memory"
)

// Bounds of what is listed of one root.
const (
	maxSkipped = 200
	maxDrift   = 50
)

// status serves memory/status. It waits for nothing.
func (f *features) status(context.Context, *StatusParams) (*StatusResult, error) {
	r := &StatusResult{Model: ModelStatus{State: "none"}, Embeddings: f.embeddingStatus(), Plans: f.pending(), Tasks: f.runningTasks(), Process: f.process()}
	var twice []string
	snap := f.catalog().Snapshot()
	for _, root := range f.catalog().Status() {
		s := rootStatus(root)
		s.Index = f.indexStatus(snap, root)
		r.Roots = append(r.Roots, s)
		if note := root.Root.Twice(); note != "" {
			twice = append(twice, note)
		}
	}
	r.Discovered, r.Notes = f.discovered()
	r.Notes = slices.Concat(r.Notes, twice)
	if m := f.models.current(); m != nil {
		r.Model = m.status()
	}
	return r, nil
}

// watchNone is the mode of a root that is not opened.
const watchNone = "none"

func rootStatus(r memory.RootStatus) RootStatus {
	s := RootStatus{
		ID: r.Root.ID, Scope: string(r.Root.Scope), Path: r.Root.Path, ReadOnly: r.Root.ReadOnly, Profile: r.Root.Profile,
		State: string(r.State), Reason: r.Reason, OnDisk: r.OnDisk, Catalogued: r.Catalogued,
		SkippedTotal: len(r.Skipped), LastEventAt: r.LastEventAt.UTC(), Revision: r.Revision,
		Watch: WatchStatus{Mode: either(r.Watch.Mode, watchNone), Reason: r.Watch.Reason, Since: r.Watch.Since.UTC()},
	}
	s.Folders = slices.Collect(r.Root.Folders.All())
	for _, k := range r.Skipped[:min(len(r.Skipped), maxSkipped)] {
		s.Skipped = append(s.Skipped, SkippedFile{Path: k.Path, Reason: k.Reason})
	}
	return s
}

// indexStatus compares the index of a root with its documents; nil when there is
// none that can be read.
func (f *features) indexStatus(snap *memory.Snapshot, r memory.RootStatus) *IndexStatus {
	if r.Index == nil {
		return nil
	}
	options := memory.IndexOptions{Now: f.opt.Now()}
	drift := r.Index.Drift(snap.Of(r.Root), options.Active)
	s := &IndexStatus{
		Listed: drift.Listed, MissingTotal: len(drift.Missing), UnlistedTotal: len(drift.Unlisted), Repeated: len(drift.Repeated),
		Lines: drift.Lines, Bytes: drift.Bytes, TooLarge: drift.TooLarge,
	}
	at := newPositions(r.Index.Doc.Text, f.s.Client().PositionEncoding)
	for _, m := range drift.Missing[:min(len(drift.Missing), maxDrift)] {
		s.Missing = append(s.Missing, IndexedName{Target: memory.CleanLine(m.Target.Target), Line: int(at.rangeOf(m.Target.NameSpan).Start.Line)})
	}
	for _, d := range drift.Unlisted[:min(len(drift.Unlisted), maxDrift)] {
		s.Unlisted = append(s.Unlisted, d.Ref)
	}
	return s
}

func (f *features) process() ProcessStatus {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	p := ProcessStatus{
		PID: os.Getpid(), Version: f.s.opt.Version, StartedAt: f.started.UTC(),
		UptimeMs: f.opt.Now().Sub(f.started).Milliseconds(), Goroutines: runtime.NumGoroutine(),
	}
	if heap[0].Value.Kind() == metrics.KindUint64 {
		p.HeapBytes = heap[0].Value.Uint64()
	}
	return p
}
