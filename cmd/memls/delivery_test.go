package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/delivery"
	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/eval"
)

// TestDeliveryIsCompleteWhateverTheModelTakes puts every fifth case of the
// project's set to real servers whose model is quick or slow. The first request
// may wait four seconds here, so that a busy machine decides nothing: the quick
// model answers long before, the slow one long after.
func TestDeliveryIsCompleteWhateverTheModelTakes(t *testing.T) {
	t.Parallel()
	set, err := eval.Load(filepath.Join("..", "..", "testdata", "eval", "core"))
	if err != nil {
		t.Fatal(err)
	}
	cases, dir, err := deliverySet(set)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(filepath.Dir(dir)) })
	some := cases[:0]
	for i := range cases {
		if i%5 == 0 {
			some = append(some, cases[i])
		}
	}
	quick, slow := 40*time.Millisecond, 6*time.Second
	report, err := delivery.Run(t.Context(), delivery.Options{
		Dir: dir, Cases: some, Latencies: []time.Duration{quick, slow}, Connections: 8, InitialWait: 4 * time.Second,
		Setup: func() func(*lsp.Server) error {
			return lsp.Memory(lsp.MemoryOptions{Watch: func(bool) memory.WatchFactory { return scanners(slog.New(slog.DiscardHandler)) }})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Rows) != 12 || report.Cases != len(some) || len(report.Missed) > 0 {
		t.Fatalf("%d rows, %d cases, missed %q", len(report.Rows), report.Cases, report.Missed)
	}
	for _, r := range report.Rows {
		if r.Duplicates != 0 || r.Overlap != 0 || r.Silent != 1 {
			t.Errorf("something came twice, or where nothing fits: %+v", r)
		}
		late := r.LatencyMs == slow.Milliseconds()
		if first := r.Path == "fast" || !late; (r.FirstTurn == 1) != first {
			t.Errorf("in the first request: %+v", r)
		}
		if any := r.Tools || !late && r.Path == "single"; any && r.Any != 1 {
			t.Errorf("in any request: %+v", r)
		}
	}
}
