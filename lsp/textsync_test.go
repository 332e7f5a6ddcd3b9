package lsp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/memls/memls/memory"
)

// plainOffset is the offset of a position, found the slow and obvious way.
func plainOffset(text string, at Position, encoding string) int {
	line, start := 0, 0
	for i := 0; i < len(text) && line < int(at.Line); i++ {
		if text[i] == '\n' || text[i] == '\r' && !strings.HasPrefix(text[i+1:], "\n") {
			line, start = line+1, i+1
		}
	}
	if line < int(at.Line) {
		return len(text)
	}
	offset, left := start, int(at.Character)
	for offset < len(text) && text[offset] != '\n' && text[offset] != '\r' {
		r, size := utf8.DecodeRuneInString(text[offset:])
		units := size
		if encoding == encodingUTF16 {
			units = len(utf16.Encode([]rune{r}))
		}
		if left -= units; left < 0 {
			return offset
		}
		offset += size
	}
	return offset
}

func drawText(t *rapid.T, label string, most int) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "é", "中", "😀", "\n", "\r", "\r\n", " "}), 0, most).Draw(t, label), "")
}

func drawPosition(t *rapid.T, label string) Position {
	return Position{
		Line: uint32(rapid.IntRange(0, 8).Draw(t, label+" line")), Character: uint32(rapid.IntRange(0, 8).Draw(t, label+" character")),
	}
}

// Whatever an editor sends in one notification, the text becomes what it would
// if each change were applied by itself.
func TestChangesApplyOneAfterTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		encoding := rapid.SampledFrom([]string{encodingUTF8, encodingUTF16}).Draw(t, "encoding")
		text := drawText(t, "text", 24)
		want := text
		var changes []contentChange
		for range rapid.IntRange(1, 5).Draw(t, "changes") {
			with := drawText(t, "with", 4)
			if rapid.IntRange(0, 9).Draw(t, "whole") == 0 {
				changes, want = append(changes, contentChange{Text: with}), with
				continue
			}
			r := Range{drawPosition(t, "start"), drawPosition(t, "end")}
			start, end := plainOffset(want, r.Start, encoding), plainOffset(want, r.End, encoding)
			if start > end {
				r, start, end = Range{r.End, r.Start}, end, start
			}
			changes, want = append(changes, contentChange{Range: &r, Text: with}), want[:start]+with+want[end:]
		}
		got, lost, err := applyChanges(&buffer{text: text}, changes, encoding)
		if err != nil || lost || got != want {
			t.Fatalf("%q after %+v: %q, want %q (lost %v, %v)", text, changes, got, want, lost, err)
		}
	})
}

// A position leads to the offset that it was made of.
func TestPositionsThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawText(t, "text", 32)
		for _, encoding := range []string{encodingUTF8, encodingUTF16} {
			for _, skip := range []string{"", byteOrderMark} {
				there, back := newPositions(text, encoding), newPositions(text, encoding)
				there.skip, back.skip = skip, skip
				for i := range text {
					if strings.HasPrefix(text[i:], "\n") && strings.HasSuffix(text[:i], "\r") {
						continue
					}
					if got := back.offset(there.at(i)); got != i {
						t.Fatalf("%s %q: %d became %d by %+v", encoding, text, i, got, there.at(i))
					}
				}
			}
		}
	})
}

// After a change that makes no sense nothing is known of a text until all of it
// is sent again.
func TestTextThatIsLostComesBackWhole(t *testing.T) {
	backwards := contentChange{Range: &Range{Start: Position{Line: 1}, End: Position{}}, Text: "x"}
	text, lost, err := applyChanges(&buffer{text: "a\nb"}, []contentChange{backwards, {Range: &Range{}, Text: "y"}}, encodingUTF16)
	if err == nil || !lost {
		t.Errorf("%q, lost %v, %v", text, lost, err)
	}
	text, lost, err = applyChanges(&buffer{text: text, lost: true}, []contentChange{{Range: &Range{}, Text: "y"}, {Text: "whole"}}, encodingUTF16)
	if err != nil || lost || text != "whole" {
		t.Errorf("%q, lost %v, %v", text, lost, err)
	}
}

func TestTextOfAnEditorAndOfAFile(t *testing.T) {
	for _, c := range []struct {
		file, editor string
		same         bool
	}{
		{"a\nb\n", "a\nb\n", true},
		{"a\r\nb\r\n", "a\nb\n", true},
		{"a\rb\r\nc", "a\nb\nc", true},
		{"a\r\nb", "a\nb\n", false},
		{"a\r\nb", "a\nc", false},
		{"a\r\n\r\nb", "a\nb", false},
		{"a", "b", false},
		{"\uFEFFa", "a", true},
		{"a", "\uFEFFa", true},
		{strings.Repeat("x", memory.MaxFileBytes+5), strings.Repeat("x", memory.MaxFileBytes+5), true},
		{strings.Repeat("x", memory.MaxFileBytes+5), strings.Repeat("x", memory.MaxFileBytes+4), false},
	} {
		if got := holds(memory.Parse([]byte(c.file)), c.editor); got != c.same {
			t.Errorf("%.20q and %.20q: %v", c.file, c.editor, got)
		}
	}
}

// An editor that is told to show what was written counts as unsaved at no time.
func TestWhatIsUnsaved(t *testing.T) {
	o := newOverlays()
	file := func(text string) func(string) bool {
		d := memory.Parse([]byte(text))
		return func(buffer string) bool { return holds(d, buffer) }
	}
	edit := func(text string) {
		if _, err := o.change("/r/a.md", func(b *buffer) *buffer { return &buffer{path: b.path, text: text} }); err != nil {
			t.Fatal(err)
		}
	}
	want := func(step string, changed bool) {
		t.Helper()
		if got := o.changed("/r/a.md"); got != changed {
			t.Errorf("%s: changed %v", step, got)
		}
	}
	want("not open", false)
	o.put(&buffer{path: "/r/a.md", text: "restored"})
	want("open with what an editor kept of an earlier day", true)
	edit("one")
	o.meet("/r/a.md", file("one"))
	want("taken back", false)
	edit("two")
	want("typed", true)
	o.saved("/r/a.md")
	want("saved before the catalog has seen it", false)
	o.meet("/r/a.md", file("one"))
	want("compared with a file that is not read yet", false)
	o.meet("/r/a.md", file("three"))
	want("the file was written behind the editor", false)
	edit("three")
	o.meet("/r/a.md", file("three"))
	want("the editor has read it", false)
	o.remove("/r/a.md")
	want("closed", false)
}

// A writer asks by the place of a file; without a document in the catalog, such
// as for an index, the file itself is compared.
func TestWritersAreToldWhatIsUnsaved(t *testing.T) {
	dir := t.TempDir()
	catalog, err := memory.NewCatalog(memory.CatalogOptions{
		Roots: []memory.RootConfig{{Scope: memory.ScopeProject, Path: dir}},
		Watch: func(string, func(string, bool) bool, func(memory.FileChange)) memory.Watcher { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	f := &features{editing: editing{overlays: newOverlays()}}
	f.running.Store(catalog)
	path := filepath.Join(dir, "MEMORY.md")
	at, ok := catalog.Snapshot().Locate(path)
	if !ok || !at.Index {
		t.Fatalf("%+v, %v", at, ok)
	}
	want := func(step string, unsaved bool) {
		t.Helper()
		if got := f.unsaved(at); got != unsaved {
			t.Errorf("%s: unsaved %v", step, got)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want("not open", false)
	f.overlays.put(&buffer{path: path, text: "one\n"})
	want("open and on no disk", true)
	write("one\r\n")
	want("as on disk", false)
	write("two\n")
	want("other than on disk", true)
	f.overlays.saved(path)
	want("saved", false)
	f.overlays.put(&buffer{path: path, text: "two\n", lost: true})
	want("not known", true)
}
