package memory

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// words are what two texts are compared by: the words of a text in order,
// without case, width and sentence punctuation. Scripts without spaces count
// each character, with the marks on it, as a word. Signs that carry meaning are
// words of their own, so that "> 5" is not "< 5" and C is not C++.
func words(s string) []string {
	s = foldWords(s)
	var out []string
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case unsegmented(r):
			n += marksAt(s[i+n:])
			out = append(out, s[i:i+n])
		case wordRune(r):
			n = wordEnd(s[i:])
			out = append(out, strings.Map(joinedWord, s[i:i+n]))
		case !unicode.IsSpace(r) && !unicode.IsControl(r) && !softSign(s, i, r):
			out = append(out, s[i:i+n])
		}
		i += n
	}
	return out
}

// foldWords makes spellings of one text equal: compatibility forms, case.
func foldWords(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return norm.NFC.String(oneI.Replace(cases.Fold().String(norm.NFKC.String(s))))
		}
	}
	return strings.ToLower(s)
}

// oneI makes one letter of the four that Turkic languages have where others have
// two: İ folds to an i with a point, and a name is written without it elsewhere.
var oneI = strings.NewReplacer("i\u0307", "i", "ı", "i")

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

// unsegmented tells whether r is of a script that writes no spaces.
func unsegmented(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan) &&
		!unicode.IsMark(r)
}

func marksAt(s string) int {
	n := 0
	for _, r := range s {
		if !unicode.IsMark(r) && r != 0x30FC {
			break
		}
		n += utf8.RuneLen(r)
	}
	return n
}

// maxElided is how long a word is that an apostrophe leaves before the next one:
// l'eau, qu'il. In a longer one it stands for a letter: don't.
const maxElided = 2

// wordEnd is where the word ends that s begins with. Apostrophes, and points
// and commas between digits, stand inside a word; the signs of c++ and c# end
// one.
func wordEnd(s string) int {
	end := 0
	var last rune
	for i, r := range s {
		next, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		switch {
		case wordRune(r) && !unsegmented(r):
		case apostrophe(r) && unicode.IsLetter(next) && !unsegmented(next) && utf8.RuneCountInString(s[:i]) > maxElided:
		case (r == '.' || r == ',') && unicode.IsNumber(last) && unicode.IsNumber(next):
		case (r == '+' || r == '#') && (unicode.IsLetter(last) || last == r) && !wordRune(next):
		default:
			return end
		}
		end, last = i+utf8.RuneLen(r), r
	}
	return end
}

func apostrophe(r rune) bool { return r == '\'' || r == 0x2019 || r == 0x02BC }

func joinedWord(r rune) rune {
	if apostrophe(r) {
		return -1
	}
	return r
}

// softSign tells whether a sign at s[i] is punctuation, markup or a separator:
// what may differ between two spellings of one statement.
func softSign(s string, i int, r rune) bool {
	switch {
	case r == '-' || r == '+' || r == '#':
		// Before a digit they may be its sign or name.
		next, _ := utf8.DecodeRuneInString(s[i+1:])
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		return r != '+' && !unicode.IsDigit(next) || wordRune(before)
	case strings.ContainsRune("$%^&=<>|/\\@~", r):
		return r == '|' || r == '~' || r == '/'
	}
	return unicode.IsPunct(r) || unicode.Is(unicode.Sk, r) || unicode.Is(unicode.Cf, r)
}

// negations turn a statement into its opposite, in the languages that memories
// are written in, folded.
var negations = wordSet(`not no never nor neither none without dont doesnt didnt isnt arent wasnt werent wont cant cannot shouldnt mustnt avoid stop unless except
	nicht kein keine keinen keinem keiner nie niemals ohne ne pas jamais non sans aucun aucune nunca sin ningún ninguna ninguno não nunca sem mai senza niet geen nooit zonder
	inte ingen aldrig utan ikke aldri aldrig nie bez nikdy není değil yok asla ei eivät älä koskaan nem soha không đừng tidak jangan bukan
	не нет никогда без ні ніколи не δεν δε μη μην ποτέ όχι لا ليس لم لن لیس بدون לא אל אין ללא नहीं न मत ना 안 않 못 말고 없이
	不 没 沒 别 別 勿 莫 无 無 非 未 否 ず ぬ 禁`)

// negated tells whether a run of words may negate. Kana and Hangul negate by
// endings, which are looked for inside.
func negated(run []string) bool {
	joined := strings.Join(run, "")
	return slices.ContainsFunc(run, func(w string) bool { return negations[w] }) ||
		slices.ContainsFunc([]string{"ない", "なく", "ませ", "않", "못", "지말", "ไม่", "อย่า", "ห้าม"}, func(s string) bool { return strings.Contains(joined, s) })
}

// relation is how a new statement stands to one that is remembered.
type relation int

const (
	unrelated   relation = iota
	alreadySaid          // the old one says it, word for word
	saysMore             // the new one says the old one and more
)

// Bounds of what counts as saying more: fewer words than minSaid could be
// found in anything, and of the new statement the old one must be this share.
const (
	minSaid  = 3
	saidPart = 2 // one half
)

// relate compares two statements by their words.
func relate(old, now []string) relation {
	if len(now) == 0 || len(old) == 0 {
		return unrelated
	}
	if i := indexRun(old, now); i >= 0 && (len(old) == len(now) || len(now) >= minSaid && !negated(old[:i]) && !negated(old[i+len(now):]) && !digitsAround(old, i, len(now))) {
		return alreadySaid
	}
	if len(old) >= minSaid && len(now) > len(old) && len(now) <= saidPart*len(old) && subsequence(old, now) && negated(old) == negated(now) {
		return saysMore
	}
	return unrelated
}

// digitsAround tells whether a run of words within others stands beside a
// number or a sign, which belongs to what the run says.
func digitsAround(all []string, i, n int) bool {
	foreign := func(w string) bool {
		r, _ := utf8.DecodeRuneInString(w)
		return !unicode.IsLetter(r)
	}
	return i > 0 && foreign(all[i-1]) || i+n < len(all) && foreign(all[i+n])
}

// indexRun is where run stands in all, as neighbours; -1 where it does not.
func indexRun(all, run []string) int {
	for i := 0; i+len(run) <= len(all); i++ {
		if slices.Equal(all[i:i+len(run)], run) {
			return i
		}
	}
	return -1
}

// subsequence tells whether the words of part stand in all in that order.
func subsequence(part, all []string) bool {
	i := 0
	for _, w := range all {
		if i < len(part) && part[i] == w {
			i++
		}
	}
	return i == len(part)
}

// sameButNumbers tells whether two statements differ in numbers only: in the
// value of something, when both are of one memory.
func sameButNumbers(a, b []string) bool {
	if len(a) != len(b) || len(a) < 2 || slices.Equal(a, b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && (!numeric(a[i]) || !numeric(b[i])) {
			return false
		}
	}
	return true
}

func numeric(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.IsDigit(r)
}
