package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memls/memls/memory"
)

// realistic has the size of the median real memory.
func realistic(i int) string {
	return fmt.Sprintf("---\nname: memory %d\ndescription: \"What was decided about part %d, and why\"\nmetadata: \n  node_type: memory\n  type: project\n  originSessionId: 0000-%d\n---\n\n# Decision %d\n\n%s\n**Why:** it was measured.\n", i, i, i, i,
		strings.Repeat("The queue is drained before the switch, and nobody writes meanwhile.\n", 28))
}

func BenchmarkParse(b *testing.B) {
	for name, file := range map[string]string{
		"yaml":     realistic(1),
		"tolerant": strings.Replace(realistic(1), "name: ", "name: a: ", 1),
		"plain":    strings.Repeat("A line of a plain note without a header.\n", 60),
	} {
		b.Run(name, func(b *testing.B) {
			raw := []byte(file)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				memory.Parse(raw)
			}
		})
	}
}

// The corpus with the deviations of real files, read one after the other.
func BenchmarkParseRealFiles(b *testing.B) {
	files := corpus(b)
	size := 0
	for _, m := range files {
		size += len(m.text)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, m := range files {
			memory.Parse([]byte(m.text))
		}
	}
}

// What hostile inputs cost, each of them: the worst is the bound.
func BenchmarkParseHostile(b *testing.B) {
	for name, s := range hostile() {
		b.Run(fmt.Sprintf("%s-%dKiB", name, len(s)>>10), func(b *testing.B) {
			raw := []byte(s)
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				d := memory.Parse(raw)
				memory.Keys(d)
				memory.Entries(d)
				memory.Links(d)
			}
		})
	}
}

// What one changed file costs beside n others, from the watcher's report to the
// published snapshot; the write itself is not timed.
func BenchmarkCatalogUpdate(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := tempDir(b)
			for i := range n {
				write(b, dir, fmt.Sprintf("%d/%d.md", i%50, i), realistic(i))
			}
			c := open(b, dir, func(o *memory.CatalogOptions) { o.Index, o.OnChange = nil, nil })
			c.ready()
			w := c.fakes.last()
			change := memory.FileChange{Changed: []string{"7/7.md"}}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				write(b, dir, "7/7.md", realistic(n+i))
				b.StartTimer()
				w.emit(b, change)
			}
			if got := c.Snapshot().Len(); got != n {
				b.Fatalf("%d documents", got)
			}
		})
	}
}

func BenchmarkFirstScan(b *testing.B) {
	const n = 10_000
	dir := tempDir(b)
	for i := range n {
		write(b, dir, fmt.Sprintf("%d/%d.md", i%50, i), realistic(i))
	}
	b.ReportAllocs()
	for b.Loop() {
		c := open(b, dir, func(o *memory.CatalogOptions) { o.Index, o.OnChange = nil, nil })
		if c.ready().Len() != n {
			b.Fatal("incomplete")
		}
	}
}
