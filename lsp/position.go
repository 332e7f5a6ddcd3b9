package lsp

import (
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
}

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
	return Position{Line: uint32(line), Character: uint32(p.units(p.text[p.lines[line]:offset]))}
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
