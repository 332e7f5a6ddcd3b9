package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	zwnj = '\u200C'
	zwj  = '\u200D'
)

// CleanLine makes one displayable line of any text: runs of white space become
// one space, and control characters, bidirectional overrides and marks,
// zero-width characters and tag characters go, since they let a title show
// something else than what it says. The joiners stay inside words and emoji,
// which Persian, Indic scripts and composed emoji are spelled with.
func CleanLine(s string) string {
	if plainLine(s) {
		return strings.Clone(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	space := false
	last := utf8.RuneError // the last rune written
	for i, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case (r == zwj || r == zwnj) && !space && joins(last) && joins(nextRune(s[i+3:])):
		case invisible(r):
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
		last = r
	}
	return b.String()
}

// plainLine tells whether s is printable ASCII in single spaces already: the
// usual case.
func plainLine(s string) bool {
	prev := byte(' ')
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c >= 0x7F || c == ' ' && prev == ' ' {
			return false
		}
		prev = c
	}
	return s == "" || prev != ' '
}

func nextRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// joins tells whether a joiner beside r can be part of the spelling.
func joins(r rune) bool {
	return r != utf8.RuneError && r > unicode.MaxASCII &&
		(unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsSymbol(r))
}

// invisible tells whether r shows nothing of its own or changes how its
// neighbours show.
func invisible(r rune) bool {
	switch {
	case unicode.IsControl(r):
		return true
	case r == 0x00AD, r == 0x061C, r == 0x180E, r == 0xFEFF:
		return true
	case r >= 0x200B && r <= 0x200F, // zero-width space, joiners, direction marks
		r >= 0x202A && r <= 0x202E, // embeddings and overrides
		r >= 0x2060 && r <= 0x206F, // word joiner, invisible operators, isolates
		r >= 0xFFF9 && r <= 0xFFFB, // interlinear annotations
		r >= 0xE0000 && r <= 0xE007F:
		return true
	}
	return false
}

// clipRunes cuts s after n runes and tells whether it had to.
func clipRunes(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	for i := range s {
		if n == 0 {
			return s[:i], true
		}
		n--
	}
	return s, false
}
