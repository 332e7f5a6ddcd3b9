package memory

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decoded is the text of a file with what is needed to relate it to its bytes.
type decoded struct {
	text     string
	encoding Encoding
	bom      bool
	// bad is where the first undecodable byte was replaced, -1 when none was.
	bad int
}

// decode turns the bytes of a file into valid UTF-8. A byte order mark decides
// the encoding, as it does for every editor that writes one; without it the file
// is UTF-8. cut says that raw is only the head of a file, whose last character
// may therefore be incomplete: that is no fault of the file.
func decode(raw []byte, cut bool) decoded {
	switch {
	case len(raw) >= 3 && raw[0] == 0xEF && raw[1] == 0xBB && raw[2] == 0xBF:
		d := decodeUTF8(raw[3:], cut)
		d.bom = true
		return d
	case len(raw) >= 2 && raw[0] == 0xFF && raw[1] == 0xFE:
		return decodeUTF16(raw[2:], binary.LittleEndian, UTF16LE, cut)
	case len(raw) >= 2 && raw[0] == 0xFE && raw[1] == 0xFF:
		return decodeUTF16(raw[2:], binary.BigEndian, UTF16BE, cut)
	}
	return decodeUTF8(raw, cut)
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
	d := decoded{encoding: enc, bom: true, bad: -1}
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
