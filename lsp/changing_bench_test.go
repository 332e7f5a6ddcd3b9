package lsp_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/memls/memls/lsp"
)

// From the request to apply the forgetting of a memory until the answer, behind
// which nothing finds it; with 1,000 other memories. The figures beside ns/op are
// of single applies.
func BenchmarkForgetUntilGone(b *testing.B) {
	for _, files := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			all := map[string]string{}
			for i := range files {
				all[fmt.Sprintf("f%d.md", i)] = note(fmt.Sprintf("Note %d", i), "notes", fmt.Sprintf("word%d talks to port %d", i%311, i))
			}
			for i := range b.N {
				all[fmt.Sprintf("fish%d.md", i)] = note(fmt.Sprintf("Fish %d", i), "fish", fmt.Sprintf("zebrafish%d swims", i))
			}
			office := furnish(b, all, nil)
			took := make([]time.Duration, 0, b.N)
			b.ResetTimer()
			for i := range b.N {
				ref := fmt.Sprintf("project:fish%d.md", i)
				plan := asks[lsp.Plan](office.desk, "memory/forget", lsp.ForgetParams{Refs: []lsp.MemoryTarget{{Ref: ref}}})
				began := time.Now()
				asks[lsp.Operation](office.desk, "memory/apply", lsp.ApplyParams{Plan: plan.ID})
				took = append(took, time.Since(began))
				b.StopTimer()
				if found := asks[lsp.SearchResult](office.desk, "memory/search", lsp.SearchParams{Query: fmt.Sprintf("zebrafish%d", i)}); slices.Contains(refs(found.Documents), ref) {
					b.Fatalf("%s is found after it was forgotten", ref)
				}
				b.StartTimer()
			}
			b.StopTimer()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2])/1e6, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100])/1e6, "p99-ms")
		})
	}
}
