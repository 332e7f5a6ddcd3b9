package watcher_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/memls/memls/watcher"
)

func fill(b *testing.B, files int) string {
	root := newRoot(b)
	for i := range files {
		old(b, write(b, "x", root, fmt.Sprintf("d%d", i%max(1, files/100)), fmt.Sprintf("n%d.md", i)))
	}
	return root
}

// BenchmarkSweep is one walk that finds nothing, delivered.
func BenchmarkSweep(b *testing.B) {
	for _, files := range []int{1000, 10_000} {
		for _, mode := range []watcher.Mode{watcher.ModeEvents, watcher.ModePoll} {
			b.Run(fmt.Sprintf("%s/files=%d", mode, files), func(b *testing.B) {
				opt := watcher.Options{Sweep: never, Poll: mode == watcher.ModePoll}.WithPollInterval(never, never)
				w := watcher.New(fill(b, files), func() watcher.Options { opt.Keep = markdown; return opt }(), func(watcher.Batch) {})
				launch(b, w)
				if err := w.Sync(context.Background()); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if err := w.Sync(context.Background()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkWriteToBatch is the time from a write to the delivery of its batch.
func BenchmarkWriteToBatch(b *testing.B) {
	root := fill(b, 1000)
	path := filepath.Join(root, "d0", "n0.md")
	got := make(chan struct{}, 1)
	w := watcher.New(root, watcher.Options{Sweep: never, Keep: markdown}, func(bt watcher.Batch) {
		if _, ok := bt.Changed["d0/n0.md"]; ok {
			select {
			case got <- struct{}{}:
			default:
			}
		}
	})
	launch(b, w)
	<-got
	at := time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)
	var took []time.Duration
	for b.Loop() {
		at = at.Add(time.Second)
		start := time.Now()
		if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
			b.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			b.Fatal(err)
		}
		<-got
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
