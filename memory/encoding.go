package memory

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// decoded is the text of a file with what is needed to relate it to its bytes.
type decoded struct {
	text     string
	encoding Encoding
	bom      bool
	head     int // bytes of the byte order mark
	// bad is where the first undecodable byte was replaced, -1 when none was.
	bad int
}

// decode turns the bytes of a file into valid UTF-8. A byte order mark decides
// the encoding, as it does for every editor that writes one; without it the file
// is UTF-8, unless it is plainly UTF-16. cut says that raw is only the head of a
// file, whose last character may therefore be incomplete: that is no fault of
// the file.
func decode(raw []byte, cut bool) decoded {
	marked := func(d decoded, head int) decoded {
		d.bom, d.head = true, head
		return d
	}
	switch {
	case len(raw) >= 3 && raw[0] == 0xEF && raw[1] == 0xBB && raw[2] == 0xBF:
		return marked(decodeUTF8(raw[3:], cut), 3)
	case len(raw) >= 2 && raw[0] == 0xFF && raw[1] == 0xFE:
		return marked(decodeUTF16(raw[2:], binary.LittleEndian, UTF16LE, cut), 2)
	case len(raw) >= 2 && raw[0] == 0xFE && raw[1] == 0xFF:
		return marked(decodeUTF16(raw[2:], binary.BigEndian, UTF16BE, cut), 2)
	}
	switch unmarked(raw) {
	case UTF16LE:
		return decodeUTF16(raw, binary.LittleEndian, UTF16LE, cut)
	case UTF16BE:
		return decodeUTF16(raw, binary.BigEndian, UTF16BE, cut)
	}
	return decodeUTF8(raw, cut)
}

// UndecodableError is a text that is in no encoding of Unicode.
type UndecodableError struct {
	At   int    // the place of the first byte that is no part of a character, in the decoded text
	Text string // what can be read of it, with U+FFFD in the place of the rest
}

// Error implements error.
func (e *UndecodableError) Error() string {
	return fmt.Sprintf("it is no UTF-8 or UTF-16 text (after %s): convert it first", plural(utf8.RuneCountInString(e.Text[:e.At]), "character"))
}

// DecodeText reads a text that came from outside as a file is read: UTF-8, or
// UTF-16 by its mark or its looks. The error is an [*UndecodableError].
func DecodeText(raw []byte) (string, error) {
	d := decode(raw, false)
	if d.bad >= 0 {
		return "", &UndecodableError{At: d.bad, Text: d.text}
	}
	return d.text, nil
}

// sniffed bounds how much of a file is looked at to tell UTF-16 without a mark.
const sniffed = 4 << 10

// unmarked is the encoding of a text without a byte order mark. UTF-16 gives
// itself away by its NULs: every ASCII character, and so every blank and line
// end, has one, all of them at even offsets or all at odd ones. In Latin text
// they are most of the bytes there. Where they are fewer, the bytes must also
// make no sense as UTF-8 and all sense as UTF-16: a stray NUL in a text makes
// nothing else of it.
func unmarked(raw []byte) Encoding {
	raw = raw[:min(len(raw), sniffed)&^1]
	var nuls [2]int          // at even and at odd offsets
	controls, blanks := 0, 0 // controls that no text holds, and those that no text holds so many of
	for i, c := range raw {
		switch {
		case c == 0:
			nuls[i&1]++
		case c == '\t' || c == '\n' || c == '\r' || c == '\f':
			blanks++
		case c < ' ':
			controls++
		}
	}
	enc, order, n, stray := UTF16BE, binary.ByteOrder(binary.BigEndian), nuls[0], nuls[1]
	if nuls[1] > nuls[0] {
		enc, order, n, stray = UTF16LE, binary.LittleEndian, nuls[1], nuls[0]
	}
	units := len(raw) / 2
	switch {
	case n < 2:
		return UTF8
	case n*2 > units && stray*20 <= n:
		return enc
	case controls*4 < units && blanks*2 < units && utf8.Valid(raw):
		return UTF8
	}
	if d := decodeUTF16(raw, order, enc, true); d.bad < 0 && readable(d.text) {
		return enc
	}
	return UTF8
}

// readable tells whether a text holds nothing but characters that are shown, and
// blanks.
func readable(text string) bool {
	for _, r := range text {
		if !unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) {
			return false
		}
	}
	return true
}

func decodeUTF8(raw []byte, cut bool) decoded {
	if cut {
		raw = raw[:len(raw)-incompleteTail(raw)]
	}
	d := decoded{encoding: UTF8, bad: -1}
	if utf8.Valid(raw) {
		d.text = string(raw)
		return d
	}
	d.bad = firstInvalid(raw)
	d.text = strings.ToValidUTF8(string(raw), "\uFFFD")
	return d
}

// firstInvalid is the offset of the first byte that is not part of a character.
// It is the same offset in the replaced text, which is equal up to there.
func firstInvalid(raw []byte) int {
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// incompleteTail is how many bytes at the end begin a character without ending
// it.
func incompleteTail(raw []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(raw); n++ {
		tail := raw[len(raw)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

func decodeUTF16(raw []byte, order binary.ByteOrder, enc Encoding, cut bool) decoded {
	d := decoded{encoding: enc, bad: -1}
	var b strings.Builder
	b.Grow(len(raw) + len(raw)/2)
	flaw := func() {
		if d.bad < 0 {
			d.bad = b.Len()
		}
		b.WriteRune(utf8.RuneError)
	}
	for len(raw) >= 2 {
		u := rune(order.Uint16(raw))
		raw = raw[2:]
		if !utf16.IsSurrogate(u) {
			b.WriteRune(u)
			continue
		}
		if len(raw) < 2 && cut && u < 0xDC00 {
			break
		}
		if len(raw) >= 2 {
			if r := utf16.DecodeRune(u, rune(order.Uint16(raw))); r != utf8.RuneError {
				b.WriteRune(r)
				raw = raw[2:]
				continue
			}
		}
		flaw()
	}
	if len(raw) == 1 && !cut {
		flaw()
	}
	d.text = b.String()
	return d
}
