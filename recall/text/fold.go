package text

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// atom is one folded code point with its place in the source.
type atom struct {
	r          rune
	start, end int32 // byte offsets in the source of the segment that it came from
	class      class
	upper      bool // the source showed an upper-case or title-case letter
}

// class groups code points by how runs of them become tokens.
type class uint8

const (
	classNone   class = iota
	classWord         // letters, digits and marks of scripts that put spaces between words
	classCJK          // Han, Hiragana, Katakana, Hangul
	classSEA          // Thai, Lao, Khmer, Myanmar, Tibetan: no spaces, marks stack on a base
	classJoiner       // punctuation that holds identifiers together
)

// script is the coarse script of a word-class letter; a change of it ends a run.
type script uint8

const (
	scriptAny script = iota // digits, marks and letters of scripts not told apart
	scriptLatin
	scriptGreek
	scriptCyrillic
	scriptArabic
	scriptHebrew
	scriptDevanagari
)

// inert reports that r is unchanged by NFKC and never composes with what stands
// before it, so that it may skip the normaliser when no mark follows.
func inert(r rune) bool {
	switch {
	case r < 0x80, r >= 0x4E00 && r <= 0x9FFF:
		return true
	case r >= 0x0410 && r <= 0x044F, r >= 0x0391 && r <= 0x03C9 && r != 0x03A2:
		return true
	case r >= 0x3041 && r <= 0x3094, r >= 0x30A1 && r <= 0x30FC && r != 0x30FB:
		return true
	case r >= 0xAC00 && r <= 0xD7A3:
		return true
	}
	return false
}

// atoms appends the folded code points of s[from:], each with its byte span in s.
// Folding is NFKC, then full case folding, then the letter unifications of
// [unify]. Invalid bytes are separators.
func atoms(dst []atom, s string, from, to int) []atom {
	for i := from; i < to; {
		c := s[i]
		if c < utf8.RuneSelf && (i+1 >= len(s) || s[i+1] < utf8.RuneSelf) {
			dst = append(dst, asciiAtom(c, i))
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if inert(r) && plainAhead(s[i+n:]) {
			dst = appendFolded(dst, r, i, i+n)
			i += n
			continue
		}
		n = norm.NFKC.NextBoundaryInString(s[i:], true)
		if n <= 0 {
			n = 1
		}
		if seg := s[i : i+n]; norm.NFKC.IsNormalString(seg) {
			for _, r := range seg {
				dst = appendFolded(dst, r, i, i+n)
			}
		} else {
			for _, r := range norm.NFKC.String(seg) {
				dst = appendFolded(dst, r, i, i+n)
			}
		}
		i += n
	}
	return dst
}

// plainAhead reports that what follows cannot compose with the code point before.
func plainAhead(s string) bool {
	if s == "" {
		return true
	}
	r, _ := utf8.DecodeRuneInString(s)
	return inert(r)
}

func asciiAtom(c byte, i int) atom {
	a := atom{r: rune(c), start: int32(i), end: int32(i + 1)}
	switch {
	case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		a.class = classWord
	case 'A' <= c && c <= 'Z':
		a.r, a.class, a.upper = rune(c+'a'-'A'), classWord, true
	default:
		a.class = classOf(rune(c))
	}
	return a
}

func appendFolded(dst []atom, r rune, start, end int) []atom {
	up := unicode.IsUpper(r) || unicode.IsTitle(r)
	a := atom{start: int32(start), end: int32(end), upper: up}
	switch r {
	case 'ß', 'ẞ':
		a.r, a.class = 's', classWord
		return append(dst, a, a)
	case 'İ':
		a.r, a.class = 'i', classWord
		return append(dst, a)
	case 0x0307: // the dot that lower-casing İ leaves behind
		if n := len(dst); n > 0 && dst[n-1].r == 'i' {
			return dst
		}
	}
	r = unify(unicode.ToLower(r))
	if r < 0 {
		return dst
	}
	a.r, a.class = r, classOf(r)
	return append(dst, a)
}

// unify maps letters that one script writes in several ways to one of them, and
// drops what carries no letter (-1). It holds for whole scripts, so that neither
// form is "more exact": Greek final sigma; Arabic alef, yeh and teh marbuta
// forms, tatweel and harakat; Hebrew final letters and points; Devanagari nukta
// and candrabindu; Cyrillic yo; joiners and variation selectors.
func unify(r rune) rune {
	switch {
	case r < 0x300:
		if r == 0xAD {
			return -1
		}
		return r
	case r == 'ς':
		return 'σ'
	case r == 'ё':
		return 'е'
	case r >= 0x0590 && r <= 0x05FF:
		return unifyHebrew(r)
	case r >= 0x0600 && r <= 0x06FF:
		return unifyArabic(r)
	case r == 0x093C, r == 0x09BC, r == 0x0A3C:
		return -1
	case r == 0x0901:
		return 0x0902
	case r >= 0x200B && r <= 0x200F, r == 0x2060, r == 0xFEFF, r >= 0xFE00 && r <= 0xFE0F,
		r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
		return -1
	}
	return r
}

func unifyHebrew(r rune) rune {
	switch r {
	case 'ך':
		return 'כ'
	case 'ם':
		return 'מ'
	case 'ן':
		return 'נ'
	case 'ף':
		return 'פ'
	case 'ץ':
		return 'צ'
	}
	if r < 0x05D0 && unicode.Is(unicode.Mn, r) {
		return -1
	}
	return r
}

func unifyArabic(r rune) rune {
	switch r {
	case 0x0640, 0x0670: // tatweel, superscript alef
		return -1
	case 'أ', 'إ', 'آ', 'ٱ':
		return 'ا'
	case 'ى', 'ی':
		return 'ي'
	case 'ة':
		return 'ه'
	case 'ک':
		return 'ك'
	case 'ؤ':
		return 'و'
	case 'ئ':
		return 'ي'
	}
	if unicode.Is(unicode.Mn, r) {
		return -1
	}
	if r >= 0x0660 && r <= 0x0669 { // Arabic-Indic digits
		return '0' + r - 0x0660
	}
	if r >= 0x06F0 && r <= 0x06F9 {
		return '0' + r - 0x06F0
	}
	return r
}

func classOf(r rune) class {
	if r < utf8.RuneSelf {
		switch r {
		case '_', '-', '.', '/', ':', '@', '\\', '\'', '+', '#':
			return classJoiner
		}
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return classWord
		}
		return classNone
	}
	switch {
	case r >= 0x4E00 && r <= 0x9FFF, r >= 0xAC00 && r <= 0xD7A3:
		return classCJK
	case r == 0x2019 || r == 0x02BC:
		return classJoiner
	case r == 0x30FC || r == 0x3005 || r == 0x3006 || r == 0x3007:
		return classCJK
	case !unicode.In(r, unicode.L, unicode.N, unicode.M):
		return classNone
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return classCJK
	case unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan):
		return classSEA
	}
	return classWord
}

func scriptOf(r rune) script {
	switch {
	case r >= '0' && r <= '9':
		return scriptAny
	case r < 0x80, r >= 0xC0 && r <= 0x24F, r >= 0x1E00 && r <= 0x1EFF:
		return scriptLatin
	case r >= 0x370 && r <= 0x3FF, r >= 0x1F00 && r <= 0x1FFF:
		return scriptGreek
	case r >= 0x400 && r <= 0x52F:
		return scriptCyrillic
	case r >= 0x5D0 && r <= 0x5FF:
		return scriptHebrew
	case r >= 0x620 && r <= 0x6FF:
		return scriptArabic
	case r >= 0x900 && r <= 0x97F:
		return scriptDevanagari
	}
	return scriptAny
}

// Compose joins letters with their marks, and Hangul letters to syllables, where
// Unicode has one code point for them (NFC): some systems take them apart.
func Compose(s string) string { return norm.NFC.String(s) }

// StripAccents returns term without the diacritics of Latin, Greek and Cyrillic
// letters (the letters й and ї stay, they are letters of their own), and with
// the Latin letters that do not decompose spelled plainly. Other scripts keep
// their marks: there they are vowels. It returns term itself when nothing changed.
func StripAccents(term string) string {
	plain := true
	for i := 0; i < len(term); i++ {
		if term[i] >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	if plain {
		return term
	}
	out := make([]byte, 0, len(term))
	changed := false
	for _, r := range term {
		if r < utf8.RuneSelf {
			out = append(out, byte(r))
			continue
		}
		if p, ok := plainLatin(r); ok {
			out, changed = append(out, p...), true
			continue
		}
		base := stripMark(r)
		changed = changed || base != r
		if base >= 0 {
			out = utf8.AppendRune(out, base)
		}
	}
	if !changed {
		return term
	}
	return string(out)
}

// stripMark returns the base letter of r, or -1 for a lone combining mark of
// the general block, which only decorates letters of these three scripts.
func stripMark(r rune) rune {
	if r >= 0x300 && r <= 0x36F {
		return -1
	}
	s := scriptOf(r)
	if (s != scriptLatin && s != scriptGreek && s != scriptCyrillic) || r == 'й' || r == 'ї' {
		return r
	}
	d := norm.NFD.PropertiesString(string(r)).Decomposition()
	if len(d) == 0 {
		return r
	}
	base, _ := utf8.DecodeRune(d)
	return base
}

func plainLatin(r rune) (string, bool) {
	switch r {
	case 'ø':
		return "o", true
	case 'đ', 'ð':
		return "d", true
	case 'ł':
		return "l", true
	case 'ı':
		return "i", true
	case 'æ':
		return "ae", true
	case 'œ':
		return "oe", true
	case 'þ':
		return "th", true
	}
	return "", false
}

// HasKana tells whether term holds a Hiragana letter: next to a Han character it
// is mostly an inflecting ending.
func HasKana(term string) bool {
	for _, r := range term {
		if r >= 0x3041 && r <= 0x309F {
			return true
		}
	}
	return false
}
