package lsp

import (
	"context"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"

	"github.com/memls/memls/memory"
)

// maxSkipped bounds the skipped entries that are listed of one root.
const maxSkipped = 200

// status serves memory/status. It waits for nothing.
func (f *features) status(context.Context, *StatusParams) (*StatusResult, error) {
	r := &StatusResult{Model: ModelStatus{State: "none"}, Embeddings: ModelStatus{State: "none"}, Process: f.process()}
	for _, root := range f.catalog().Status() {
		r.Roots = append(r.Roots, rootStatus(root))
	}
	r.Discovered, r.Notes = f.discovered()
	if m := f.models.current(); m != nil {
		r.Model = m.status()
		if m.options.EmbeddingName != "" {
			r.Embeddings.Detail = "model.embeddingName is not used by this version"
		}
	}
	return r, nil
}

func rootStatus(r memory.RootStatus) RootStatus {
	s := RootStatus{
		ID: r.Root.ID, Scope: string(r.Root.Scope), Path: r.Root.Path, ReadOnly: r.Root.ReadOnly, Profile: r.Root.Profile,
		State: string(r.State), Reason: r.Reason, OnDisk: r.OnDisk, Catalogued: r.Catalogued,
		SkippedTotal: len(r.Skipped), LastEventAt: r.LastEventAt.UTC(), Revision: r.Revision,
		Watch: WatchStatus{Mode: r.Watch.Mode, Reason: r.Watch.Reason, Since: r.Watch.Since.UTC()},
	}
	s.Folders = slices.Collect(r.Root.Folders.All())
	for _, k := range r.Skipped[:min(len(r.Skipped), maxSkipped)] {
		s.Skipped = append(s.Skipped, SkippedFile{Path: k.Path, Reason: k.Reason})
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
