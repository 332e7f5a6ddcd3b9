package memory

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// offsets relates offsets in the text of a file to offsets in its bytes.
type offsets struct {
	raw  []byte
	enc  Encoding
	head int  // bytes of the byte order mark
	flat bool // text and bytes differ by head only
}

func newOffsets(raw []byte) offsets {
	d := decode(raw, false)
	o := offsets{raw: raw, enc: d.encoding, flat: d.encoding == UTF8 && d.bad < 0}
	switch {
	case d.encoding != UTF8:
		o.head = 2
	case d.bom:
		o.head = 3
	}
	return o
}

// raws gives the places in the bytes of increasing places in the text. A place
// inside a character, or inside a run of undecodable bytes, has none.
func (o offsets) raws(at []int) ([]int, error) {
	out := make([]int, len(at))
	if o.flat {
		for i, t := range at {
			if t < 0 || t > len(o.raw)-o.head {
				return nil, errors.New("a place outside the text")
			}
			out[i] = t + o.head
		}
		return out, nil
	}
	text, pos := 0, o.head
	for i, t := range at {
		for text < t && pos < len(o.raw) {
			n, shown := o.next(pos)
			pos += n
			text += shown
		}
		if text != t {
			return nil, errors.New("a place that is not between two characters")
		}
		out[i] = pos
	}
	return out, nil
}

// next is how many bytes the character at pos takes in the file, and in the
// text. It mirrors decode.
func (o offsets) next(pos int) (raw, text int) {
	rest := o.raw[pos:]
	if o.enc == UTF8 {
		if r, n := utf8.DecodeRune(rest); r != utf8.RuneError || n != 1 {
			return n, n
		}
		// A run of undecodable bytes is shown as one replacement character.
		n := 1
		for n < len(rest) {
			if r, m := utf8.DecodeRune(rest[n:]); r != utf8.RuneError || m != 1 {
				break
			}
			n++
		}
		return n, utf8.RuneLen(utf8.RuneError)
	}
	if len(rest) < 2 {
		return len(rest), utf8.RuneLen(utf8.RuneError)
	}
	u := rune(o.order().Uint16(rest))
	if !utf16.IsSurrogate(u) {
		return 2, utf8.RuneLen(u)
	}
	if len(rest) >= 4 {
		if r := utf16.DecodeRune(u, rune(o.order().Uint16(rest[2:]))); r != utf8.RuneError {
			return 4, utf8.RuneLen(r)
		}
	}
	return 2, utf8.RuneLen(utf8.RuneError)
}

func (o offsets) order() interface {
	binary.ByteOrder
	binary.AppendByteOrder
} {
	if o.enc == UTF16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// encode spells text as the file does, without a byte order mark.
func (o offsets) encode(text string) []byte {
	if o.enc == UTF8 {
		return []byte(text)
	}
	out := make([]byte, 0, 2*len(text))
	for _, u := range utf16.Encode([]rune(text)) {
		out = o.order().AppendUint16(out, u)
	}
	return out
}

// splices turns replacements in the text of a file into splices of its bytes.
func (o offsets) splices(reps []Replacement) ([]Splice, error) {
	reps = slices.Clone(reps)
	slices.SortStableFunc(reps, func(a, b Replacement) int { return a.Start - b.Start })
	at := make([]int, 0, 2*len(reps))
	last := 0
	for _, r := range reps {
		if r.Start < last || r.End < r.Start {
			return nil, fmt.Errorf("replacements overlap at %d", r.Start)
		}
		last = r.End
		at = append(at, r.Start, r.End)
	}
	raws, err := o.raws(at)
	if err != nil {
		return nil, err
	}
	out := make([]Splice, len(reps))
	for i, r := range reps {
		if !utf8.ValidString(r.New) {
			return nil, errors.New("text that is not valid UTF-8")
		}
		out[i] = Splice{Start: raws[2*i], End: raws[2*i+1], New: o.encode(r.New)}
	}
	return out, nil
}

// rewrite is the splices that make the text of a file another one, line by line.
func (o offsets) rewrite(text string) ([]Splice, error) {
	old := decode(o.raw, false).text
	text = strings.TrimPrefix(text, "\uFEFF")
	var reps []Replacement
	for _, e := range udiff.Lines(old, text) {
		reps = append(reps, Replacement{Span{e.Start, e.End}, e.New})
	}
	return o.splices(reps)
}

// splice applies splices that are in order and do not overlap.
//
// Inv: bytes outside the replaced ranges are those of raw.
func splice(raw []byte, splices []Splice) ([]byte, error) {
	out := make([]byte, 0, len(raw))
	last := 0
	for _, s := range splices {
		if s.Start < last || s.End < s.Start || s.End > len(raw) {
			return nil, fmt.Errorf("splice %d..%d does not fit", s.Start, s.End)
		}
		out = append(out, raw[last:s.Start]...)
		out = append(out, s.New...)
		last = s.End
	}
	return append(out, raw[last:]...), nil
}

// mergeSplices puts the splices of several changes of one file in order. The
// same splice proposed twice counts once; other overlaps contradict each other.
func mergeSplices(all ...[]Splice) ([]Splice, error) {
	merged := slices.Concat(all...)
	slices.SortStableFunc(merged, func(a, b Splice) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return a.End - b.End
	})
	out := merged[:0]
	for _, s := range merged {
		if n := len(out); n > 0 {
			last := out[n-1]
			if s.End > s.Start && last.Start == s.Start && last.End == s.End && bytes.Equal(last.New, s.New) {
				continue
			}
			if s.Start < last.End {
				return nil, errors.New("two changes of one place")
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// unified is a change as a diff for people. An absent file is nil.
func unified(ref string, old, next []byte) string {
	from, to := "a/"+ref, "b/"+ref
	if old == nil {
		from = "/dev/null"
	}
	if next == nil {
		to = "/dev/null"
	}
	return udiff.Unified(from, to, decode(old, false).text, decode(next, false).text)
}

// addedText is what a change adds: the lines of next that old lacks. Absent
// files are nil.
func addedText(old, next []byte) string {
	var b strings.Builder
	before := decode(old, false).text
	for _, e := range udiff.Lines(before, decode(next, false).text) {
		b.WriteString(e.New)
		if !strings.HasSuffix(e.New, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// removedText is what a change takes away, likewise.
func removedText(old, next []byte) string { return addedText(next, old) }

// VersionOf is the version of a file of at most [MaxFileBytes] bytes.
func VersionOf(raw []byte) string { return digest(raw) }
