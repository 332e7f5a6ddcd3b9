package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/memls/memls/memory"
)

func TestOutline(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string // headings as level text, with the lines of their sections; then fences
	}{
		{"nested", "---\nname: n\n---\n# A\n\na\n\n## B\nb\n\n## C ##\n\n# D\nd\n",
			[]string{"1 A 4-11", "2 B 8-9", "2 C 11-11", "1 D 13-14"}},
		{"text before, levels skipped", "x\n\n### A\na\n\n# B\n", []string{"3 A 3-4", "1 B 6-6"}},
		{"underlined", "A\n===\na\n\n**B** b\n---\nb\n", []string{"1 A 1-7", "2 **B** b 5-7"}},
		{"over two lines", "A\nb\n===\n\nc\n", []string{"1 A b 1-5"}},
		{"without a text", "#\na\n", []string{"1  1-2"}},
		{"not in code, comments, lists", "```\n# A\n```\n<!--\n# B\n-->\n- c\n  # D\n", []string{"fence 1-3"}},
		{"code under an item, never closed", "- a\n  ```go\n  x\n  ```\n\n~~~\ny", []string{"fence 2-4", "fence 6-7"}},
		{"CR LF, at once the end", "## A\r\n\r\na\r\n```\r\nx\r\n```", []string{"2 A 1-6", "fence 4-6"}},
		{"nothing", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := memory.Parse([]byte(tt.text))
			checkOutline(t, d)
			o := memory.OutlineOf(d)
			var got []string
			for _, h := range o.Headings {
				got = append(got, fmt.Sprintf("%d %s %s", h.Level, h.Text, lineRange(d, h.Section)))
			}
			for _, f := range o.Fences {
				got = append(got, "fence "+lineRange(d, f))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("outline\n%q, want\n%q", got, tt.want)
			}
		})
	}
}

// lineRange tells the first and last line of a span, from 1.
func lineRange(d *memory.Document, s memory.Span) string {
	text := strings.ReplaceAll(d.Text, "\r\n", " \n")
	return fmt.Sprintf("%d-%d", 1+strings.Count(text[:s.Start], "\n"), 1+strings.Count(text[:s.End], "\n"))
}

// checkOutline holds what is true of the outline of every document.
func checkOutline(t testing.TB, d *memory.Document) {
	t.Helper()
	o := memory.OutlineOf(d)
	if !slices.Equal(o.Entries, memory.Entries(d)) {
		t.Fatal("the outline has other entries")
	}
	last := d.Body.Start
	for i, h := range o.Headings {
		if h.Span.Start < last || h.Span.Len() < 1 || h.Level < 1 || h.Level > 6 || memory.CleanLine(h.Text) != h.Text {
			t.Fatalf("heading %d %+v", i, h)
		}
		if h.Section.Start != h.Span.Start || h.Section.End < h.Span.End || h.Section.End > d.Body.End {
			t.Fatalf("heading %d %+v: its section", i, h)
		}
		if i+1 < len(o.Headings) && o.Headings[i+1].Level <= h.Level && h.Section.End > o.Headings[i+1].Span.Start {
			t.Fatalf("heading %d %+v reaches over its sibling", i, h)
		}
		last = h.Span.End
	}
	last = d.Body.Start
	for i, f := range o.Fences {
		if f.Start < last || f.Len() < 3 || f.End > d.Body.End {
			t.Fatalf("fence %d %+v", i, f)
		}
		last = f.End
	}
}

func FuzzOutline(f *testing.F) {
	for _, s := range hostileUnits {
		f.Add([]byte(strings.Repeat(s, 5)))
	}
	for _, s := range []string{"# A\n## B\n\n- c\n  ```\n  d\n", "A\n===\nB\n---\n", "```\n```\n~~~\n\n- ~~~\n- x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { checkOutline(t, memory.Parse(raw)) })
}
