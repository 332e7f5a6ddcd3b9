package recall

import (
	"unicode"
	"unicode/utf8"
)

// graphemeStart moves i back to where a user-perceived character begins, so that
// a cut at i splits none: not before a combining mark, a variation selector, an
// emoji modifier or a joiner, not after a joiner, not inside CR LF, and not
// between the two halves of a flag. What goes on for more than maxGrapheme code
// points is no character, and may be cut anywhere.
func graphemeStart(s string, i int) int {
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	at := i
	for range maxGrapheme {
		if at <= 0 || at >= len(s) || begins(s, at) {
			return at
		}
		_, w := utf8.DecodeLastRuneInString(s[:at])
		at -= w
	}
	return i
}

// graphemeAfter is graphemeStart to the other side: the first place from i on where
// a character begins.
func graphemeAfter(s string, i int) int {
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	at := i
	for range maxGrapheme {
		if at <= 0 || at >= len(s) || begins(s, at) {
			return at
		}
		_, w := utf8.DecodeRuneInString(s[at:])
		at += w
	}
	return i
}

// maxGrapheme is more than any character has: families of emoji have 11 code points,
// flags of regions 7, letters with all their accents 10.
const maxGrapheme = 64

// begins tells whether a character begins at i, where a code point does. Inv: i is
// within s, at neither end.
func begins(s string, i int) bool {
	r, _ := utf8.DecodeRuneInString(s[i:])
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	return !extends(r) && before != zwj && (r != '\n' || before != '\r') && (!regional(r) || flagStart(s, i)) && !jamo(before, r)
}

const zwj = 0x200D

func extends(r rune) bool {
	return r == zwj || r == 0x200C || r >= 0xFE00 && r <= 0xFE0F || r >= 0x1F3FB && r <= 0x1F3FF ||
		r >= 0xE0020 && r <= 0xE007F || r >= 0x300 && unicode.Is(unicode.M, r)
}

func regional(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }

// jamo reports conjoining Hangul letters of one syllable.
func jamo(a, b rune) bool { return a >= 0x1100 && a <= 0x11FF && b >= 0x1160 && b <= 0x11FF }

// flagStart tells whether an even number of regional indicators stands before i.
func flagStart(s string, i int) bool {
	n := 0
	for i > 0 {
		r, w := utf8.DecodeLastRuneInString(s[:i])
		if !regional(r) {
			break
		}
		n++
		i -= w
	}
	return n%2 == 0
}
