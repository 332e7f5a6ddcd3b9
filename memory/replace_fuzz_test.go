package memory_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/memls/memls/memory"
)

// FuzzReplace holds, for every file and what is found in it, that a change
// through its place leaves all other bytes as they were, and that what was not
// meant is found again unchanged.
func FuzzReplace(f *testing.F) {
	for _, s := range hostile() {
		if len(s) < 4_000 {
			f.Add([]byte(s), uint16(1), "x")
		}
	}
	for i, s := range []string{
		"---\nname: a: b\nmetadata: \n  type: user\n---\n- one\n  **Why:** x\n- two [[a]] [b](c.md)\n\n# h\n", "\uFEFF---\r\ntype: user # c\r\nkeywords:\r\n  - a\r\n---\r\n\r\npara\r\n",
		"---\r# c\rname: >-\r  a\rid: 1\r---\rbody\r", "- a\xff\xfe\n- b\xe4\xb8\n- c", "---\n{name: x, type: user}\n---\nT\n===\n", "---\nfree text\n---\nx\n", "---\nname: n\nnever closed",
		"---\nname: &a \"x\"\nother: *a\nkeywords: [a, 'b, c']\n? y\n: z\n---\n",
	} {
		f.Add([]byte(s), uint16(i), "new: \"text\" # 中😀")
		f.Add(utf16Bytes(s, binary.LittleEndian), uint16(i), "new\r\ntext")
		f.Add(utf16Bytes(s, binary.BigEndian)[2:], uint16(i), "new: 中😀") // without a byte order mark
	}
	f.Fuzz(func(t *testing.T, raw []byte, pick uint16, value string) {
		if len(raw) > 1<<15 {
			return
		}
		d := memory.Parse(raw)
		checkKeys(t, d)
		var spans []memory.Span
		for _, k := range memory.Keys(d) {
			spans = append(spans, k.Span, k.ValueSpan)
		}
		for _, e := range memory.Entries(d) {
			spans = append(spans, e.Removal(d), e.SummarySpan)
		}
		for _, l := range memory.Links(d) {
			spans = append(spans, l.TargetSpan)
		}
		if len(spans) > 0 {
			replace(t, raw, d, memory.Replacement{Span: spans[int(pick)%len(spans)], New: value})
			replace(t, raw, d, memory.Replacement{Span: spans[int(pick)%len(spans)]})
		}
		setKeys(t, raw, d, value)
	})
}

// splice applies one edit and checks that nothing else has changed.
func replace(t *testing.T, raw []byte, d *memory.Document, e memory.Replacement) {
	out, err := memory.Replace(raw, e)
	if err != nil {
		if !errors.Is(err, memory.ErrReplace) {
			t.Fatal(err)
		}
		return
	}
	want, err := memory.ReplaceText(d.Text, e)
	after := memory.Parse(out)
	if err != nil || after.Text != want || after.BOM != d.BOM || after.Encoding != d.Encoding {
		t.Fatalf("%+v on %q: %q, want %q (%v)", e, raw, after.Text, want, err)
	}
	// The bytes in front of the range and those behind it.
	front, back := commonPrefix(raw, out), commonSuffix(raw, out)
	added := len(e.New)
	if d.Encoding != memory.UTF8 {
		added = len(utf16Bytes(e.New, binary.BigEndian)) - 2
	}
	if front+back+added < len(out) {
		t.Fatalf("%+v on %q changed other bytes: %q", e, raw, out)
	}
}

func commonPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// setKeys changes a key, adds one and takes it away again.
func setKeys(t *testing.T, raw []byte, d *memory.Document, value string) {
	set := func(raw []byte, c memory.KeyChange) ([]byte, *memory.Document, bool) {
		d := memory.Parse(raw)
		edits, err := memory.SetKeys(d, c)
		if err == nil {
			raw, err = memory.Replace(raw, edits...)
		}
		if err != nil {
			if !errors.Is(err, memory.ErrHeader) && !errors.Is(err, memory.ErrReplace) {
				t.Fatal(err)
			}
			return raw, d, false
		}
		return raw, memory.Parse(raw), true
	}
	if _, after, ok := set(raw, memory.KeyChange{Key: "type", Text: "project"}); ok {
		if after.Type != memory.TypeProject || after.BodyText() != d.BodyText() {
			t.Fatalf("type %q, body %q of %q from %q", after.Type, after.BodyText(), after.Text, raw)
		}
	}
	if _, after, ok := set(raw, memory.KeyChange{Key: "name", Text: value}); ok && value != "" {
		if want := memory.CleanLine(value); want != "" && len(want) < 512 && after.Title != want {
			t.Fatalf("title %q, want %q, of %q from %q", after.Title, want, after.Text, raw)
		}
	}
	const key = "x_key_of_ours"
	added, after, ok := set(raw, memory.KeyChange{Key: key, List: []string{value, "b"}})
	if !ok {
		return
	}
	back, _, ok := set(added, memory.KeyChange{Key: key})
	if !ok && bytes.IndexByte(raw, 0) >= 0 {
		return // NULs may make UTF-16 of what is left; then nothing is changed
	}
	if !ok || d.Header.Len() > 0 && !bytes.Equal(back, raw) {
		t.Fatalf("%q, added %q, and back %q", raw, after.Text, back)
	}
}

// A change in UTF-16 without a byte order mark leaves the rest as it is.
func TestReplaceInUnmarkedUTF16(t *testing.T) {
	const text = "---\nname: Größe\n---\nThe kestrel vault.\n"
	raw := utf16Bytes(text, binary.LittleEndian)[2:]
	d := memory.Parse(raw)
	at := strings.Index(d.Text, "kestrel")
	out, err := memory.Replace(raw, memory.Replacement{Span: memory.Span{Start: at, End: at + len("kestrel")}, New: "退款"})
	if want := utf16Bytes(strings.Replace(text, "kestrel", "退款", 1), binary.LittleEndian)[2:]; err != nil || !bytes.Equal(out, want) {
		t.Errorf("%q (%v)\nwant %q", out, err, want)
	}
}
