package lsptest

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text is a text as an editor has it, with the positions of one encoding. It
// counts them in the slow and obvious way.
type Text struct {
	S    string
	UTF8 bool // positions are bytes, not UTF-16 code units
}

// Position is LSP's.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Range is LSP's.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// Lines are the lines with their ends.
func (t Text) Lines() []string {
	var lines []string
	start := 0
	for i := 0; i < len(t.S); i++ {
		if t.S[i] == '\n' || t.S[i] == '\r' && !strings.HasPrefix(t.S[i+1:], "\n") {
			lines, start = append(lines, t.S[start:i+1]), i+1
		}
	}
	return append(lines, t.S[start:])
}

func (t Text) units(s string) int {
	if t.UTF8 {
		return len(s)
	}
	return len(utf16.Encode([]rune(s)))
}

// Position is that of a byte offset.
func (t Text) Position(offset int) Position {
	lines := Text{S: t.S[:offset], UTF8: t.UTF8}.Lines()
	if strings.HasSuffix(t.S[:offset], "\r") && strings.HasPrefix(t.S[offset:], "\n") {
		lines = lines[:len(lines)-1]
	}
	last := len(lines) - 1
	return Position{Line: last, Character: t.units(lines[last])}
}

// Offset is the byte offset of a position; an error when there is no such place,
// in the middle of a character for instance.
func (t Text) Offset(p Position) (int, error) {
	lines := t.Lines()
	if p.Line < 0 || p.Line >= len(lines) {
		return 0, fmt.Errorf("there is no line %d in a text of %d", p.Line, len(lines))
	}
	offset := 0
	for _, line := range lines[:p.Line] {
		offset += len(line)
	}
	line := strings.TrimRight(lines[p.Line], "\r\n")
	for i := 0; ; {
		switch n := t.units(line[:i]); {
		case n == p.Character:
			return offset + i, nil
		case n > p.Character || i == len(line):
			return 0, fmt.Errorf("line %d, %q, has no place at character %d", p.Line, line, p.Character)
		}
		_, size := utf8.DecodeRuneInString(line[i:])
		i += size
	}
}

// Slice is the text in a range.
func (t Text) Slice(r Range) (string, error) {
	start, err := t.Offset(r.Start)
	if err != nil {
		return "", err
	}
	end, err := t.Offset(r.End)
	if err != nil {
		return "", err
	}
	if end < start {
		return "", fmt.Errorf("the range %+v ends before it begins", r)
	}
	return t.S[start:end], nil
}

// Show is a range for a person, the same in every encoding: from one, in
// characters, with the text in it.
func (t Text) Show(r Range) string {
	within, err := t.Slice(r)
	if err != nil {
		return fmt.Sprintf("BAD RANGE: %v", err)
	}
	const most = 60
	if runes := []rune(within); len(runes) > most {
		within = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%s-%s %q", t.ShowPosition(r.Start), t.ShowPosition(r.End), within)
}

// ShowPosition is a position for a person.
func (t Text) ShowPosition(p Position) string {
	offset, err := t.Offset(p)
	if err != nil {
		return fmt.Sprintf("BAD POSITION: %v", err)
	}
	lines := Text{S: t.S[:offset]}.Lines()
	return fmt.Sprintf("%d:%d", p.Line+1, utf8.RuneCountInString(lines[len(lines)-1])+1)
}
