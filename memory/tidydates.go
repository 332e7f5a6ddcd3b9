package memory

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// relativeDays are words that mean one day seen from another, and nothing else, in
// the languages that memories are written in, folded. Words that mean something
// else, too (Spanish mañana, German morgen, Hindi कल), are none of them, nor is
// "today", which often means "these days".
var relativeDays = map[string]int{
	"yesterday": -1, "tomorrow": 1,
	"gestern": -1, "vorgestern": -2, "übermorgen": 2,
	"hier": -1, "avant-hier": -2, "après-demain": 2,
	"ayer": -1, "anteayer": -2,
	"ontem": -1, "anteontem": -2,
	"ieri": -1, "dopodomani": 2,
	"gisteren": -1, "eergisteren": -2, "overmorgen": 2,
	"вчера": -1, "позавчера": -2, "послезавтра": 2,
	"вчора": -1, "позавчора": -2, "післязавтра": 2,
	"wczoraj": -1, "przedwczoraj": -2, "pojutrze": 2,
	"dün": -1, "昨天": -1, "昨日": -1, "前天": -2, "明天": 1, "后天": 2, "後天": 2, "一昨日": -2, "明後日": 2,
	"어제": -1, "그저께": -2, "내일": 1, "모레": 2,
	"kemarin": -1, "أمس": -1, "אתמול": -1, "שלשום": -2, "מחרתיים": 2,
}

// unsegmentedDays are those of scripts that write no spaces, the longest first, so
// that one within another is not taken for it.
var unsegmentedDays = []string{"一昨日", "明後日", "昨天", "昨日", "前天", "明天", "后天", "後天"}

// days writes days that are told from another day as dates, where the memory says
// on which day it was written: it has one date, or all of its dates are one day.
func (t *tidier) days(d *Document) {
	day, ok := writtenOn(d)
	if !ok {
		return
	}
	var reps []Replacement
	for _, e := range Entries(d) {
		reps = append(reps, absoluteDays(d.Text, e.Span, day)...)
	}
	if len(reps) == 0 {
		return
	}
	t.out = append(t.out, tidied{edit: Edit{
		Action: ActionUpdate, Doc: d, Replace: reps, Reason: "it was written on " + day.Format(time.DateOnly) + ": days are written as dates",
	}})
}

// writtenOn is the one day on which a memory was written, by its own header.
func writtenOn(d *Document) (time.Time, bool) {
	c, u := d.CreatedAt, d.UpdatedAt
	switch {
	case c.IsZero() && u.IsZero():
		return time.Time{}, false
	case c.IsZero():
		return u, true
	case u.IsZero() || u.Format(time.DateOnly) == c.Format(time.DateOnly):
		return c, true
	}
	return time.Time{}, false
}

// absoluteDays finds the words of one entry that are to become dates. Code and
// what stands between quotation marks stay as they were said.
func absoluteDays(text string, in Span, day time.Time) []Replacement {
	var reps []Replacement
	q := quoting{}
	s := text[in.Start:in.End]
	for i := 0; i < len(s); {
		if n := q.skip(s[i:], i == 0 || s[i-1] == '\n'); n > 0 {
			i += n
			continue
		}
		n, shift := dayAt(s, i)
		if n == 0 {
			i += max(wordLength(s[i:]), 1)
			continue
		}
		at := in.Start + i
		reps = append(reps, Replacement{Span{at, at + n}, day.AddDate(0, 0, shift).Format(time.DateOnly)})
		i += n
	}
	return reps
}

// dayAt is the length of the day word that begins at s[i], which is the beginning
// of a word; 0 when there is none.
func dayAt(s string, i int) (n, shift int) {
	r, _ := utf8.DecodeRuneInString(s[i:])
	if unsegmented(r) {
		for _, w := range unsegmentedDays {
			if strings.HasPrefix(s[i:], w) {
				return len(w), relativeDays[w]
			}
		}
		return 0, 0
	}
	end := i
	for end < len(s) {
		r, m := utf8.DecodeRuneInString(s[end:])
		if (!wordRune(r) || unsegmented(r)) && (r != '-' || end == i) {
			break
		}
		end += m
	}
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[end:])
	// Names of files and identifiers, and "yesterday's", are none.
	if i > 0 && strings.ContainsRune("_./\\@#-", before) || end < len(s) && (strings.ContainsRune("_/\\@", after) || apostrophe(after) || fileEnding(s[end:])) {
		return 0, 0
	}
	shift, ok := relativeDays[foldWords(s[i:end])]
	if !ok {
		return 0, 0
	}
	return end - i, shift
}

// quotations are the marks around code, quotations and targets of links.
var quotations = []struct{ open, end string }{
	{"`", "`"}, {"\"", "\""}, {"“", "”"}, {"„", "“"}, {"«", "»"}, {"「", "」"}, {"『", "』"}, {"](", ")"}, {"[[", "]]"},
}

// quoting keeps where code and quotations are.
type quoting struct{ fence string }

// skip is how much of s to pass over: code, quotations, addresses.
func (q *quoting) skip(s string, lineStart bool) int {
	if lineStart {
		line, _, _ := strings.Cut(s, "\n")
		trimmed := strings.TrimSpace(line)
		for _, f := range []string{"```", "~~~"} {
			if strings.HasPrefix(trimmed, f) && (q.fence == "" || q.fence == f) {
				if q.fence == "" {
					q.fence = f
				} else {
					q.fence = ""
				}
				return len(line)
			}
		}
		if q.fence != "" || strings.HasPrefix(trimmed, ">") {
			return max(len(line), 1)
		}
	}
	if q.fence != "" {
		return max(strings.IndexByte(s, '\n'), 1)
	}
	for _, q := range quotations {
		if !strings.HasPrefix(s, q.open) {
			continue
		}
		line, _, _ := strings.Cut(s[len(q.open):], "\n")
		if n := strings.Index(line, q.end); n >= 0 {
			return len(q.open) + n + len(q.end)
		}
	}
	if r, _ := utf8.DecodeRuneInString(s); unicode.IsLetter(r) {
		word, _, _ := strings.Cut(s, "\n")
		if f := strings.IndexFunc(word, unicode.IsSpace); f >= 0 {
			word = word[:f]
		}
		if strings.Contains(word, "://") {
			return len(word)
		}
	}
	return 0
}

// fileEnding tells whether s begins with the ending of a file name.
func fileEnding(s string) bool {
	if s[0] != '.' {
		return false
	}
	r, _ := utf8.DecodeRuneInString(s[1:])
	return wordRune(r)
}

// wordLength is the length of what s begins with: a whole word where words are
// separated, else one character.
func wordLength(s string) int {
	n := strings.IndexFunc(s, func(r rune) bool { return !wordRune(r) || unsegmented(r) })
	switch {
	case n < 0:
		return len(s)
	case n == 0:
		_, n = utf8.DecodeRuneInString(s)
	}
	return n
}
