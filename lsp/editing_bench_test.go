package lsp_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
)

// BenchmarkDiagnosticsAfterKeystroke measures what a person waits for: from
// sending one typed character to having the diagnostics of that version, in a
// memory of 64 KiB with links, code and other scripts, beside 500 others.
func BenchmarkDiagnosticsAfterKeystroke(b *testing.B) {
	s := newStore(b, nil)
	for i := range 500 {
		s.write(fmt.Sprintf("n%d.md", i), note(fmt.Sprintf("Note %d", i), "one of many", "Text."))
	}
	var body strings.Builder
	for i := 0; body.Len() < 64<<10; i++ {
		fmt.Fprintf(&body, "- Rule %d, 港口 😀: [[n%d]] and [text](n%d.md), `src/pkg%d/file.go` calls `someHelper%d`.\n  **Why:** it was so.\n", i, i%600, i%500, i, i)
	}
	text := note("Large", "a large memory", body.String())
	s.write("large.md", text)
	settings := serving(s)
	s.write("work/main.go", "package main\n")
	d := sit(b, lsp.MemoryOptions{}, settings, memoryClient{Folders: []string{s.path("work")}}).settled()
	uri := "file://" + s.path("large.md")
	d.open(s.path("large.md"), text)
	at := lsp.Position{Line: 40}
	seq, took := 0, make([]time.Duration, 0, b.N)
	version := 1
	await := func() {
		m, err := d.client.Await(b.Context(), seq, func(m lsptest.Message) bool {
			if m.Method != "textDocument/publishDiagnostics" {
				return false
			}
			var p struct{ Version int }
			return json.Unmarshal(m.Params, &p) == nil && p.Version == version
		})
		if err != nil {
			b.Fatal(err)
		}
		seq = m.Seq + 1
	}
	await()
	b.ResetTimer()
	for b.Loop() {
		version++
		began := time.Now()
		d.notify("textDocument/didChange", map[string]any{
			"textDocument":   map[string]any{"uri": uri, "version": version},
			"contentChanges": []any{map[string]any{"range": lsp.Range{Start: at, End: at}, "text": "x"}},
		})
		await()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	ms := func(p float64) float64 {
		return float64(took[min(len(took)-1, int(p*float64(len(took))))].Microseconds()) / 1000
	}
	b.ReportMetric(ms(0.5), "p50-ms")
	b.ReportMetric(ms(0.99), "p99-ms")
	b.ReportMetric(took[0].Seconds()*1000, "min-ms")
}
