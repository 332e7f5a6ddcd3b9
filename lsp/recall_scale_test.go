package lsp_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/memory"
)

// scanned is a watcher that reports what it is told, and looks at nothing.
type scanned struct {
	found <-chan memory.FileChange
	sink  func(memory.FileChange)
}

func (w scanned) Run(ctx context.Context) error {
	for {
		select {
		case c := <-w.found:
			w.sink(c)
		case <-ctx.Done():
			return nil
		}
	}
}

func (scanned) Poke()                      {}
func (scanned) Sync(context.Context) error { return nil }
func (scanned) Status() memory.WatchStatus { return memory.WatchStatus{Mode: "fsnotify"} }

func scanning(found <-chan memory.FileChange) func(bool) memory.WatchFactory {
	return func(bool) memory.WatchFactory {
		return func(_ string, _ func(string, bool) bool, sink func(memory.FileChange)) memory.Watcher {
			return scanned{found, sink}
		}
	}
}

// PERF-01: a recall reads nothing from the disk, however many memories there are,
// and finds the one that it is about.
func TestPERF_01_RecallReadsNothingAtAnyScale(t *testing.T) {
	s := newStore(t, nil)
	var opened, asked atomic.Int64
	found := make(chan memory.FileChange)
	d := sit(t, lsp.MemoryOptions{
		Open:  func(dir *os.Root, name string) (*os.File, error) { opened.Add(1); return memory.OpenFile(dir, name) },
		Lstat: func(path string) (os.FileInfo, error) { asked.Add(1); return os.Lstat(path) },
		Watch: scanning(found),
	}, serving(s))
	text := strings.Repeat("routine entry on dashboards, alerts and rotas. ", 42) // 2 KB
	total := 0
	for _, n := range []int{1_000, 5_000, 20_000} {
		var names []string
		for ; total < n; total++ {
			name := fmt.Sprintf("d%d/n%d.md", total%50, total)
			s.write(name, note(fmt.Sprintf("Note %d", total), "d", fmt.Sprintf("harbour%dlight. %s", total, text)))
			names = append(names, name)
		}
		found <- memory.FileChange{Changed: names, Full: true}
		d.until(fmt.Sprint(n, " memories"), func(lsp.ListResult) bool { return d.status().Roots[0].Catalogued == n })
		if got := opened.Load(); got != int64(n) {
			t.Fatalf("%d memories: %d files opened by the scans", n, got)
		}
		for i := range 100 {
			k := i * (n / 100)
			r := d.recall(lsp.RecallParams{Session: fmt.Sprint(n, i), Query: fmt.Sprintf("where is harbour%dlight", k)})
			wantRefs(t, fmt.Sprintf("%d memories, of %d", k, n), r.all(), fmt.Sprintf("project:d%d/n%d.md", k%50, k))
		}
		// Only of what goes out it is asked whether it is still there.
		if opened.Load() != int64(n) || asked.Swap(0) > 100*5 {
			t.Errorf("%d memories: recalls opened %d files and asked for %d", n, opened.Load()-int64(n), asked.Load())
		}
	}
}
