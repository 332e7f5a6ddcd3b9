package memory_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/memls/memls/memory"
)

// FuzzIndex holds, for every text of an index, that its places are in order and
// inside one another, and that a change of the files changes it into one that has
// settled, whose bytes elsewhere are what they were.
func FuzzIndex(f *testing.F) {
	for i, s := range []string{
		"# M\r\n- [A](a.md) — x\r\n  more\r\n1. `sub/b.md`: y\r\n| [C](c%20d.md) | z |\r\n", "- [[a|T]] (also: sub/b.md, c d.md)\n```\n- [x](a.md)\n", "\uFEFF- a.md\r- **[A](a.md)**, [B](sub/b.md)",
		"> WARNING: MEMORY.md is too large\n[ref]: a.md\n- [x][ref] [ref]\n", "- \xff[A](a.md)\xfe\n", "---\nname: x\n---\n- [A](a.md)\n\n\t- [B](sub/b.md)\n",
		"[r]: gone.md\n[s]: a.md\n\n- [*x*][r] and [y][s]\n- [s][]\n", "- [*x*][t] [t]\n\n[t]: <gone.md>\n",
	} {
		f.Add([]byte(s), uint8(3*i))
		f.Add(utf16Bytes(s, binary.LittleEndian), uint8(7*i))
	}
	names := []string{"a.md", "sub/b.md", "c d.md", "ü.md"}
	f.Fuzz(func(t *testing.T, raw []byte, pick uint8) {
		if len(raw) > 1<<15 {
			return
		}
		x := memory.ParseIndex(raw)
		checkIndex(t, x)
		side := func(bits uint8) (docs []*memory.Document) {
			for i, name := range names {
				if bits&(1<<i) != 0 {
					docs = append(docs, about(t, name, "Title of "+name, "what it says", "user"))
				}
			}
			return docs
		}
		before, after := side(pick), side(pick>>4)
		for _, p := range x.Problems(x.Drift(before, nil)) {
			if p.Span.Start < 0 || p.Span.End < p.Span.Start || p.Span.End > len(x.Doc.Text) {
				t.Fatalf("%+v in %q", p, x.Doc.Text)
			}
		}
		for _, c := range []memory.IndexChange{memory.UpdateIndex(x, before, after, memory.IndexOptions{}), memory.RebuildIndex(x, after, memory.IndexOptions{Team: true})} {
			out, err := c.Bytes(raw)
			if err != nil {
				if !errors.Is(err, memory.ErrReplace) {
					t.Fatal(err)
				}
				continue
			}
			next := memory.ParseIndex(out)
			checkIndex(t, next)
			if next.Doc.Text != c.Text || next.Doc.Encoding != x.Doc.Encoding {
				t.Fatalf("%q became %q, should be %q", raw, next.Doc.Text, c.Text)
			}
		}
	})
}

func checkIndex(t *testing.T, x *memory.IndexFile) {
	t.Helper()
	within := func(in, out memory.Span) bool {
		return in.Start >= out.Start && in.Start <= in.End && in.End <= out.End
	}
	end := 0
	for _, l := range x.Lines {
		if !within(l.Span, memory.Span{Start: end, End: len(x.Doc.Text)}) || l.Span.Len() == 0 || l.Kind == "" {
			t.Fatalf("%+v in %q", l, x.Doc.Text)
		}
		end = l.Span.End
		if l.Kind != memory.IndexEntry {
			continue
		}
		if len(l.Targets) == 0 || !within(l.Hook, l.Span) || !within(l.Separator, l.Span) || !within(l.Targets[0].Span, l.Span) {
			t.Fatalf("%+v in %q", l, x.Doc.Text)
		}
		if !slices.IsSortedFunc(l.Targets, func(a, b memory.IndexTarget) int { return a.Span.Start - b.Span.Start }) {
			t.Fatalf("%+v in %q", l, x.Doc.Text)
		}
	}
}
