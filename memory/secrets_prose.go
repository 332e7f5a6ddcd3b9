package memory

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Bounds of how far from its name a credential stands in prose: "the password
// for the staging database is …", "… is the password".
const (
	maxBetweenRunes = 48
	maxBetweenWords = 8
	maxBehindRunes  = 24 // of a name that stands behind its value
)

// A text looks drawn when it changes between lower case, upper case, digits and
// signs this often, as a share of its neighbours, and when no more of it than that
// can be read as words. Of texts drawn from letters and digits 62 in 100
// neighbours differ, and 10 to 20 in 100 characters happen to make words.
const (
	leastTurns = 0.35
	mostWords  = 0.4
)

// proseNames finds names of secrets in prose: words of any language, and
// identifiers that end in one.
var proseNames = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)[a-z0-9_.-]*(?:` + strings.Join(secretWords, "|") + `)(\pL*)([_-][a-z0-9_-]+)?`)
})

// ASCII in which a credential can be written, without what encloses one.
var proseValue = regexp.MustCompile(`[!#$%&*+./0-9:=?@A-Z\\^_a-z~-]{8,}`)

// otherwise are words after which a value that looks drawn is something else than
// the secret that the sentence speaks of.
var otherwise = wordSet(`commit commits hash hashes sha sha1 sha256 md5 digest checksum fingerprint id ids uuid guid ulid version revision rev file path url link
	see issue ticket ref branch tag image build model name called named format like pattern example e.g regex class function method test video card prefix column
	not kein keine pas no non nie niet inte ikke не ні 不 没 ない 않 commit-hash datei fichier archivo arquivo plik soubor файл коммит хеш хэш номер версия
	提交 哈希 版本 文件 コミット ハッシュ ファイル バージョン 커밋 해시 파일 버전`)

// inProse finds credentials that stand in the same sentence as the name of one,
// without a sign of assignment: in tables, in back-quotes, behind any verb of any
// language. What it takes for one must look drawn, beyond doubt.
func inProse(text string, line Span) []Span {
	s := text[line.Start:line.End]
	var found []Span
	for _, at := range proseNames().FindAllStringSubmatchIndex(s, -1) {
		// A script that is written without spaces goes over into the value.
		name, tail, end := s[at[0]:at[2]], s[at[2]:at[3]], at[2]
		if latin(tail) {
			name, end = s[at[0]:at[1]], at[1]
		}
		if latin(tail) && len(tail) > longestEnding || notSecret(name) {
			continue
		}
		password := passwordNamed(strings.ToLower(name))
		value, ok := valueAfter(s, end, password)
		if !ok {
			value, ok = valueBefore(s, at[0], password)
		}
		if !ok && strings.Trim(s[end:], " \t*_`\"':：") == "" && strings.ContainsAny(s[end:], ":：") {
			if next, found := nextLine(text, line.End); found {
				value, ok = alone(text[next.Start:next.End], password)
				value.Start, value.End = value.Start+next.Start-line.Start, value.End+next.Start-line.Start
			}
		}
		if ok {
			found = append(found, Span{line.Start + value.Start, line.Start + value.End})
		}
	}
	return found
}

// longestEnding is how many Latin letters behind the word of a secret may be an
// ending of it: a tokenizer is no token.
const longestEnding = 3

func latin(s string) bool {
	return strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz") == ""
}

// valueAfter is what looks like a credential behind a name, in its sentence.
func valueAfter(s string, from int, password bool) (Span, bool) {
	for _, at := range proseValue.FindAllStringIndex(s[from:], -1) {
		between := s[from : from+at[0]]
		if !near(between, maxBetweenRunes) {
			return Span{}, false
		}
		if v := trimmedValue(s, Span{from + at[0], from + at[1]}); drawn(s[v.Start:v.End], password) {
			return v, true
		}
	}
	return Span{}, false
}

// valueBefore is the same in front of a name.
func valueBefore(s string, to int, password bool) (Span, bool) {
	all := proseValue.FindAllStringIndex(s[:to], -1)
	if len(all) == 0 || !password {
		return Span{}, false
	}
	last := all[len(all)-1]
	v := trimmedValue(s, Span{last[0], last[1]})
	if !near(s[v.End:to], maxBehindRunes) || !drawn(s[v.Start:v.End], password) {
		return Span{}, false
	}
	return v, true
}

// near tells whether what stands between a name and a value keeps them together:
// a few words of one sentence, none of which says that the value is another thing.
func near(between string, most int) bool {
	if utf8.RuneCountInString(between) > most || strings.ContainsAny(between, "。！？；;!?\n") || strings.Contains(between, ". ") {
		return false
	}
	n := 0
	for w := range strings.FieldsFuncSeq(strings.ToLower(between), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '-'
	}) {
		if n++; n > maxBetweenWords || otherwise[w] {
			return false
		}
		if r, _ := utf8.DecodeRuneInString(w); unsegmented(r) || unicode.Is(unicode.Hangul, r) {
			for other := range otherwise {
				if r, _ := utf8.DecodeRuneInString(other); r >= 0x1100 && strings.Contains(w, other) {
					return false
				}
			}
		}
	}
	return true
}

// trimmedValue is a value without the marks of Markdown and of the sentence around
// it.
func trimmedValue(s string, v Span) Span {
	for v.Start < v.End && strings.IndexByte("*_=:.", s[v.Start]) >= 0 {
		v.Start++
	}
	for v.Start < v.End && strings.IndexByte(".:?*_", s[v.End-1]) >= 0 {
		v.End--
	}
	return v
}

var (
	uuidLike  = regexp.MustCompile(`(?i)^\{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?$`)
	hexNumber = regexp.MustCompile(`(?i)(?:^|[^0-9a-z])0x[0-9a-f]+$`)
	emailLike = regexp.MustCompile(`^[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$`)
)

// drawn tells whether a text is a credential whatever stands around it: neither a
// word, a name or a path, nor an id, a hash or an address.
func drawn(v string, password bool) bool {
	least, piece := 16, 12
	if password {
		least, piece = 8, 6
	}
	if len(v) < least || len(v) > 128 || placeholder(v) || placeholders[strings.ToLower(v)] {
		return false
	}
	if uuidLike.MatchString(v) || emailLike.MatchString(v) || strings.ContainsAny(v, `/\`) || strings.Contains(v, "::") {
		return false
	}
	// What a name, a version or a date is made of stands apart.
	for part := range strings.FieldsFuncSeq(v, func(r rune) bool { return strings.ContainsRune("-_.:", r) }) {
		if hexNumber.MatchString(part) {
			continue
		}
		c := classesOf(part)
		mixed := c.lower > 0 && c.upper > 0 || strings.ContainsAny(part, "!#$%&*+=?@^~") && c.lower+c.upper > 1
		if len(part) >= piece && c.digit > 0 && mixed && turns(part) >= leastTurns && inWords(part) <= mostWords {
			return true
		}
	}
	return false
}

// wordRuns are what words look like in an identifier: in camel case, or capitals.
var wordRuns = regexp.MustCompile(`[A-Z]?[a-z]{2,}|[A-Z]{3,}`)

// shortWords are the words of three letters that identifiers are made of; any
// three others may as well be drawn.
var shortWords = wordSet(`get set put add new old url uri api key map max min sum avg net web app log tag job run dev env tmp src dst req res err ctx cfg doc pdf xml csv sql
	ssh tls ssl tcp udp dns www foo bar baz abc xyz pro air uhr usb gpu cpu ram ssd aws gcp iam oid jwt rsa dsa aes sha md5 utf hex bit bin int str arr obj ptr val var fun`)

// inWords is the share of a text that can be read as words.
func inWords(v string) float64 {
	n := 0
	for _, w := range wordRuns.FindAllString(v, -1) {
		switch {
		case len(w) == 3 && !shortWords[strings.ToLower(w)]:
		case len(w) > 2 && (strings.ContainsAny(w, "aeiouyAEIOUY") || strings.ToUpper(w) == w):
			n += len(w)
		}
	}
	return float64(n) / float64(len(v))
}

// turns is the share of neighbours in a text that are of different kinds.
func turns(v string) float64 {
	kind := func(c byte) int {
		switch {
		case c >= 'a' && c <= 'z':
			return 0
		case c >= 'A' && c <= 'Z':
			return 1
		case c >= '0' && c <= '9':
			return 2
		}
		return 3
	}
	n := 0
	for i := 1; i < len(v); i++ {
		if kind(v[i]) != kind(v[i-1]) {
			n++
		}
	}
	return float64(n) / float64(len(v)-1)
}

// nextLine is the first line behind a place that holds something other than the
// marks of a code block.
func nextLine(text string, at int) (Span, bool) {
	_, pos := lineAt(text, at)
	for range 3 {
		if pos >= len(text) {
			break
		}
		line, next := lineAt(text, pos)
		if s := text[line.Start:line.End]; !blank(s) && fenceMark(strings.TrimSpace(s)) == "" {
			return line, true
		}
		pos = next
	}
	return Span{}, false
}

// alone is a credential that is all that a line holds, beside marks.
func alone(line string, password bool) (Span, bool) {
	at := proseValue.FindStringIndex(line)
	if len(at) < 2 || strings.Trim(line[:at[0]]+line[at[1]:], " \t>*+-`\"'|,.") != "" {
		return Span{}, false
	}
	v := trimmedValue(line, Span{at[0], at[1]})
	return v, drawn(line[v.Start:v.End], password)
}

// inTables finds credentials in the columns of Markdown tables whose heads name
// one.
func inTables(text string) []Span {
	var found []Span
	var heads []string // of the table that the line is in
	last := Span{}     // the line before
	for pos := 0; pos < len(text); {
		line, next := lineAt(text, pos)
		s := text[line.Start:line.End]
		switch {
		case !strings.Contains(s, "|"):
			heads = nil
		case strings.Trim(s, " \t|:-") == "" && strings.Contains(s, "--"):
			heads = nil
			for _, c := range cells(text, last) {
				heads = append(heads, text[c.Start:c.End])
			}
		default:
			for i, c := range cells(text, line) {
				if i >= len(heads) || !proseNames().MatchString(heads[i]) || notSecret(heads[i]) {
					continue
				}
				if v, ok := alone(text[c.Start:c.End], passwordNamed(strings.ToLower(heads[i]))); ok {
					found = append(found, Span{c.Start + v.Start, c.Start + v.End})
				}
			}
		}
		last, pos = line, next
	}
	return found
}

// cells are the cells of a row of a table.
func cells(text string, line Span) []Span {
	s := text[line.Start:line.End]
	var out []Span
	from := 0
	for i := 0; i <= len(s); i++ {
		if i == len(s) || s[i] == '|' && (i == 0 || s[i-1] != '\\') {
			out = append(out, Span{line.Start + from, line.Start + i})
			from = i + 1
		}
	}
	if strings.HasPrefix(strings.TrimSpace(s), "|") {
		out = out[1:]
	}
	return slices.Clip(out)
}
