package text

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Gap stands in [Letters] for a character of a script that says much in one, of
// which three in a row are no smaller unit than two: Han and Kana.
const Gap rune = 0

// Letters appends the letters and digits of s to dst, folded,
// with one space for whatever stands between two words and one at either end. It
// folds character by character, which is coarser than what tokens are made of and
// several times faster: of a character of several letters only the first counts, and
// of accents those that are one code point with their letter. Invalid bytes are spaces.
func Letters(dst []rune, s string) []rune {
	fold := letterFolds()
	dst = append(dst, ' ')
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		i += n
		if int(r) < len(fold) {
			r = rune(fold[r])
		} else {
			r = letterFold(r)
		}
		if r < 0 || r == ' ' && dst[len(dst)-1] == ' ' {
			continue
		}
		dst = append(dst, r)
	}
	if dst[len(dst)-1] != ' ' {
		dst = append(dst, ' ')
	}
	return dst
}

// letterFolds holds the folds of the code points of alphabets, which are made when
// first needed.
var letterFolds = sync.OnceValue(func() *[0x2000]int16 {
	var t [0x2000]int16
	for r := range rune(len(t)) {
		t[r] = int16(slowLetterFold(r))
	}
	return &t
})

// letterFold is the fold of a code point beyond the alphabets.
func letterFold(r rune) rune {
	switch {
	case r >= 0xAC00 && r <= 0xD7A3: // Hangul syllables
		return r
	case r >= 0x4E00 && r <= 0x9FFF, r >= 0x3041 && r <= 0x30FF && r != 0x30FB, r == 0x3005:
		return Gap
	case r >= 0xFF01 && r <= 0xFF5E: // the ASCII of full width
		return slowLetterFold(r - 0xFEE0)
	case r == 0xFEFF || r >= 0xFE00 && r <= 0xFE0F:
		return -1
	case r != utf8.RuneError && unicode.In(r, unicode.L, unicode.N, unicode.M):
		return r
	}
	return ' '
}

// slowLetterFold is the first letter of what r is in tokens, -1 when it is nothing,
// a space when it is none.
func slowLetterFold(r rune) rune {
	if r >= 0x300 && r <= 0x36F {
		return -1
	}
	as := appendFolded(nil, firstOf(norm.NFKC.String(string(r))), 0, 0)
	switch {
	case len(as) == 0:
		return -1
	case as[0].class == classNone || as[0].class == classJoiner:
		return ' '
	}
	return as[0].r
}

func firstOf(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}
