package memory

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ErrReplace is what every refused replacement wraps.
var ErrReplace = errors.New("replacement refused")

const byteOrderMark = "\uFEFF"

// Replacement puts New in the place of a range of a document's text. With an
// empty range it inserts.
type Replacement struct {
	Span
	New string
}

// Replace makes replacements in the bytes of a file: raw is the file, the spans
// are those of the Document.Text that [Parse] makes of it, also when that is only
// the head of raw. What is inserted is written in the file's encoding. They may
// come in any order; insertions at one place stay in theirs. Errors wrap
// [ErrReplace].
//
// Inv: the bytes outside the spans stay identical, and the result decodes to the
// text with the replacements. One that cannot keep both, since it splits a
// character or joins stray bytes to another one, is refused.
func Replace(raw []byte, reps ...Replacement) ([]byte, error) {
	// The head of a file decodes to the head of its text.
	d := decode(raw, false)
	sorted, err := sortReplacements(d.text, reps)
	if err != nil {
		return nil, err
	}
	at := newByteMap(raw, d)
	out := make([]byte, 0, len(raw)+64)
	done := 0
	for _, r := range sorted {
		from, okFrom := at.offset(r.Start)
		to, okTo := at.offset(r.End)
		if !okFrom || !okTo {
			return nil, fmt.Errorf("%w: %d to %d splits a character", ErrReplace, r.Start, r.End)
		}
		out = append(out, raw[done:from]...)
		out = d.encoding.append(out, r.New)
		done = to
	}
	out = append(out, raw[done:]...)
	want := replaced(d.text, sorted)
	if strings.HasPrefix(want, byteOrderMark) && !strings.HasPrefix(d.text, byteOrderMark) {
		return nil, fmt.Errorf("%w: it would put a byte order mark in front of the text", ErrReplace)
	}
	if again := decode(out, false); again.encoding != d.encoding || again.bom != d.bom || again.text != want {
		return nil, fmt.Errorf("%w: it would change the characters around it", ErrReplace)
	}
	return out, nil
}

// ReplaceText is the text with the replacements, as [Replace] leaves it.
func ReplaceText(text string, reps ...Replacement) (string, error) {
	sorted, err := sortReplacements(text, reps)
	if err != nil {
		return "", err
	}
	return replaced(text, sorted), nil
}

// sortReplacements puts them in the order of their places and refuses those that
// no text can have.
func sortReplacements(text string, reps []Replacement) ([]Replacement, error) {
	sorted := slices.Clone(reps)
	slices.SortStableFunc(sorted, func(a, b Replacement) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return a.End - b.End
	})
	end := 0
	for _, r := range sorted {
		switch {
		case r.Start < 0 || r.End < r.Start || r.End > len(text):
			return nil, fmt.Errorf("%w: %d to %d is no range of %d bytes", ErrReplace, r.Start, r.End, len(text))
		case r.Start < end:
			return nil, fmt.Errorf("%w: two replacements overlap at %d", ErrReplace, r.Start)
		case !utf8.ValidString(r.New):
			return nil, fmt.Errorf("%w: the new text is not UTF-8", ErrReplace)
		}
		end = r.End
	}
	return sorted, nil
}

func replaced(text string, sorted []Replacement) string {
	var b strings.Builder
	done := 0
	for _, r := range sorted {
		b.WriteString(text[done:r.Start])
		b.WriteString(r.New)
		done = r.End
	}
	b.WriteString(text[done:])
	return b.String()
}

// append adds text in the encoding.
func (e Encoding) append(out []byte, text string) []byte {
	var order binary.AppendByteOrder
	switch e {
	case UTF16LE:
		order = binary.LittleEndian
	case UTF16BE:
		order = binary.BigEndian
	default:
		return append(out, text...)
	}
	for _, u := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, u)
	}
	return out
}

// byteMap relates offsets in a decoded text to offsets in its bytes. It is asked
// in ascending order.
type byteMap struct {
	raw       []byte
	d         decoded
	text, pos int // a boundary of characters in both
}

func newByteMap(raw []byte, d decoded) *byteMap {
	return &byteMap{raw: raw, d: d, pos: d.head}
}

// offset is where the character at an offset of the text begins in the bytes; ok
// is false when none does.
func (m *byteMap) offset(text int) (pos int, ok bool) {
	if m.d.encoding == UTF8 && m.d.bad < 0 {
		return m.pos + text, text == len(m.d.text) || utf8.RuneStart(m.d.text[text])
	}
	for m.text < text && m.pos < len(m.raw) {
		inText, inRaw := m.next()
		m.text, m.pos = m.text+inText, m.pos+inRaw
	}
	return m.pos, m.text == text
}

// next is the length of the next character in the text and in the bytes.
func (m *byteMap) next() (inText, inRaw int) {
	_, inText = utf8.DecodeRuneInString(m.d.text[m.text:])
	if m.d.encoding != UTF8 {
		if inText == utf8.UTFMax {
			return inText, 4
		}
		return inText, min(2, len(m.raw)-m.pos)
	}
	if r, n := utf8.DecodeRune(m.raw[m.pos:]); r != utf8.RuneError || n > 1 {
		return inText, n
	}
	// A run of bytes that are no characters was replaced as one.
	for m.pos+inRaw < len(m.raw) {
		if r, n := utf8.DecodeRune(m.raw[m.pos+inRaw:]); r != utf8.RuneError || n > 1 {
			break
		}
		inRaw++
	}
	return inText, inRaw
}

// LineEnd is how the first line of a text ends: with LF, CRLF or CR; LF when
// there is only one line.
func LineEnd(text string) string {
	line, next := lineAt(text, 0)
	if line.End == next {
		return "\n"
	}
	return text[line.End:next]
}
