package lsp

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/memls/memls/memory"
)

// positions turns byte offsets of a text into positions of the negotiated
// encoding. Lines end with LF, CRLF or CR, as LSP has it. Not for concurrent use.
type positions struct {
	text    string
	utf8    bool
	lines   []int // where the lines begin, as far as the text was read
	scanned int   // no line that begins at or before it is missing in lines
	// skip is what the client's text has in front of text: the byte order mark of
	// a client that keeps it.
	skip string
}

// scanStep is how much of a text is read at a time in search of a line.
const scanStep = 4 << 10

func newPositions(text, encoding string) *positions {
	return &positions{text: text, utf8: encoding == encodingUTF8, lines: []int{0}}
}

// rangeOf is the range of a span of the text.
func (p *positions) rangeOf(s memory.Span) Range {
	return Range{Start: p.at(s.Start), End: p.at(s.End)}
}

// at is the position of a byte offset. One inside a code point or a line end
// counts as what it is inside of.
func (p *positions) at(offset int) Position {
	offset = min(max(offset, 0), len(p.text))
	for offset < len(p.text) && offset > 0 && !utf8.RuneStart(p.text[offset]) {
		offset--
	}
	if offset > 0 && offset < len(p.text) && p.text[offset] == '\n' && p.text[offset-1] == '\r' {
		offset--
	}
	p.scan(offset)
	line := p.lineOf(offset)
	units := p.units(p.text[p.lines[line]:offset])
	if line == 0 {
		units += p.units(p.skip)
	}
	return Position{Line: uint32(line), Character: uint32(units)}
}

// offset is the byte offset of a position. One behind the end of its line counts
// as that end, one behind the last line as the end of the text, and one inside a
// character as its beginning.
func (p *positions) offset(at Position) int {
	line := int(at.Line)
	for len(p.lines) <= line+1 && p.scanned < len(p.text) {
		p.scan(min(p.scanned+scanStep, len(p.text)))
	}
	if line >= len(p.lines) {
		return len(p.text)
	}
	start, end := p.lines[line], len(p.text)
	if line+1 < len(p.lines) {
		end = p.lines[line+1]
	}
	s := strings.TrimRight(p.text[start:end], "\r\n")
	want := int(at.Character)
	if line == 0 {
		want -= p.units(p.skip)
	}
	return start + p.bytes(s, want)
}

// cut shortens the text.
func (p *positions) cut(end int) {
	p.text = p.text[:end]
	// A line that began at the end may have been ended by what was cut off.
	for len(p.lines) > 1 && p.lines[len(p.lines)-1] >= end {
		p.lines = p.lines[:len(p.lines)-1]
	}
	p.scanned = min(p.scanned, p.lines[len(p.lines)-1])
}

// bytes is how many bytes of s the first units of it take.
func (p *positions) bytes(s string, units int) int {
	if p.utf8 {
		n := min(max(units, 0), len(s))
		for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
			n--
		}
		return n
	}
	for i, r := range s {
		if units -= utf16.RuneLen(r); units < 0 {
			return i
		}
	}
	return len(s)
}

// scan finds the lines that begin at or before offset.
func (p *positions) scan(offset int) {
	i := p.scanned
	for ; i < offset; i++ {
		switch p.text[i] {
		case '\n':
			p.lines = append(p.lines, i+1)
		case '\r':
			if i+1 == len(p.text) || p.text[i+1] != '\n' {
				p.lines = append(p.lines, i+1)
			}
		}
	}
	p.scanned = i
}

// lineOf is the last line that begins at or before offset.
func (p *positions) lineOf(offset int) int {
	lo, hi := 0, len(p.lines)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; p.lines[mid] <= offset {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// units is the length of s in code units of the encoding.
func (p *positions) units(s string) int {
	if p.utf8 {
		return len(s)
	}
	n := 0
	for _, r := range s {
		if n++; r >= 0x10000 {
			n++
		}
	}
	return n
}
