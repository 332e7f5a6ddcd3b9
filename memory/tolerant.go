package memory

import (
	"slices"
	"strings"
)

const (
	// maxTolerantLines bounds the lines of a header that are read one by one.
	maxTolerantLines = 20_000
	maxKeyBytes      = 64
)

// quality tells how much of a text the line reader understood.
type quality struct {
	keys, known, other int // lines in the first column: keys, those that fill fields, and no keys
	begun, firstIsKey  bool
	cut                bool      // lines beyond maxTolerantLines were not read
	flaws              []Problem // lines that YAML reads otherwise or not at all
	repeated           []repeatedKey
}

// repeatedKey is a key that stands in a header again.
type repeatedKey struct {
	key string
	at  Span
}

// header tells whether what was read is a header at all, and not prose between
// two rules.
func (q quality) header() bool {
	return q.firstIsKey && q.known > 0 && q.keys >= q.other
}

// readTolerant reads a header line by line: "key: value" with the value as it
// stands, quoted or not, lists, block texts, and the metadata map. It accepts
// what people write and YAML does not.
// strange is told of unknown keys.
func readTolerant(text string, content Span, strange func(key string, at Span)) (header, quality) {
	t := tolerant{text: text, h: header{}, strange: strange}
	t.read(content)
	return t.h, t.q
}

func (t *tolerant) read(content Span) {
	text := t.text
	var lines []Span
	for pos := content.Start; pos < content.End; {
		line, next := lineAt(text[:content.End], pos)
		pos = next
		if len(lines) == maxTolerantLines {
			t.q.cut = true
			break
		}
		lines = append(lines, line)
	}
	t.block(lines, "")
	if t.stray == "" {
		return
	}
	// It is said in the header, and to be found like what is described there.
	f, ok := t.h["description"]
	if ok && f.shape == shapeText {
		f.text = strings.TrimSpace(f.text + " " + t.stray)
	} else if !ok {
		f = field{text: t.stray, span: content}
	}
	t.h["description"] = f
}

// leadingKeys is the part of content before its first line that is neither a
// key nor what belongs to one.
func leadingKeys(text string, content Span) Span {
	end, list := content.Start, false // list: the last key waits for one
	for pos, n := content.Start, 0; pos < content.End && n < maxTolerantLines; n++ {
		line, next := lineAt(text[:content.End], pos)
		s := strings.TrimRight(text[line.Start:line.End], whitespace)
		_, value, key := splitKey(s)
		child := end > content.Start && (indented(s) > 0 || list && isItem(s))
		if blank(s) || !key && !child {
			break
		}
		if key {
			list = value == ""
		}
		pos, end = next, next
	}
	return Span{content.Start, end}
}

type tolerant struct {
	text    string
	h       header
	q       quality
	strange func(key string, at Span) // nil when nobody asks
	list    bool                      // the places of keys are wanted
	keys    []Key
	stray   string // what stands in lines that belong to no key
}

func (t *tolerant) line(s Span) string { return strings.TrimRight(t.text[s.Start:s.End], whitespace) }

func (t *tolerant) flaw(at Span, msg string) {
	// One more than is shown, so that it is known that some were left out; and one
	// of a line.
	if len(t.q.flaws) > maxProblems || slices.ContainsFunc(t.q.flaws, func(f Problem) bool { return at.Start < f.Span.End && f.Span.Start < at.End }) {
		return
	}
	t.q.flaws = append(t.q.flaws, Problem{Span: at, Message: msg})
}

// block reads keys that stand in one column, each with the lines that belong to
// it. prefix is empty, or that of the metadata map.
func (t *tolerant) block(lines []Span, prefix string) {
	column, last := -1, ""
	for i := 0; i < len(lines); {
		at := lines[i]
		s := t.line(at)
		i++
		if s == "" || strings.HasPrefix(strings.TrimLeft(s, " \t"), "#") {
			continue
		}
		if column < 0 {
			column = indented(s)
		}
		key, value, ok := splitKey(strings.TrimLeft(s, " \t"))
		if t.count(at, prefix, key, ok); !ok {
			// What begins with % is a directive to the reader of YAML, and no text.
			if wraps(prefix+last) && !isItem(strings.TrimLeft(s, " \t")) && !strings.HasPrefix(s, "%") {
				t.wrap(prefix+last, s)
				t.extendKey(prefix, at)
			} else if prefix == "" && len(t.stray)+len(s) < maxWrapped {
				t.stray = strings.TrimSpace(t.stray + " " + strings.TrimLeft(s, "- \t"))
			}
			continue
		}
		if rest := t.text[at.Start+indented(s)+nameLen(strings.TrimLeft(s, " \t")) : at.End]; value != "" && strings.HasPrefix(rest, ":") && strings.IndexByte(" \t", rest[1]) < 0 {
			t.flaw(at, "a blank belongs behind the colon of a key")
		}
		last = key
		first := i
		for i < len(lines) && t.belongs(lines[i], column, value) && !t.strayKey(lines[i], value) {
			i++
		}
		if t.list {
			t.place(at, prefix, key, value, lines[first:i])
		}
		t.value(at, prefix, key, value, lines[first:i])
	}
}

// maxWrapped bounds a text that goes on in lines which are not indented.
const maxWrapped = 4 << 10

// wrap appends a line to the text of the key above it: what people get who break
// a long value without indenting.
func (t *tolerant) wrap(key, line string) {
	if f, ok := t.h[key]; ok && f.shape == shapeText && f.text != "" && len(f.text)+len(line) < maxWrapped {
		f.text += " " + strings.TrimLeft(line, " \t")
		t.h[key] = f
	}
}

// wraps tells whether the value of a key is prose that may go on in a next line.
func wraps(key string) bool {
	switch strings.TrimPrefix(key, metadataKey+".") {
	case "name", "title", "description":
		return true
	}
	return !known(key)
}

// belongs tells whether a line continues the value of a key in the given column.
// Items in that column do so only where the key waits for a list.
func (t *tolerant) belongs(at Span, column int, value string) bool {
	s := t.line(at)
	return s == "" || indented(s) > column || value == "" && indented(s) == column && isItem(strings.TrimLeft(s, " \t"))
}

// strayKey tells whether a line that is indented under a text is a key that
// slipped to the right.
func (t *tolerant) strayKey(at Span, value string) bool {
	if value == "" || isBlockMark(value) || strings.IndexByte("\"'[{", value[0]) >= 0 {
		return false
	}
	key, _, ok := splitKey(strings.TrimLeft(t.line(at), " \t"))
	if !ok || !known(key) {
		return false
	}
	t.flaw(at, "this key must not be indented")
	return true
}

// count keeps the quality; a line that is no key where a key should be is a flaw.
func (t *tolerant) count(at Span, prefix, key string, ok bool) {
	if prefix != "" {
		return
	}
	// "The meeting: we agreed" is more often prose than a key; it counts as
	// neither.
	vague := ok && strings.Contains(key, " ")
	if !t.q.begun {
		t.q.begun, t.q.firstIsKey = true, ok && !vague
	}
	if vague {
		return
	}
	if !ok {
		t.q.other++
		t.flaw(at, "this line of the header is not key: value")
		return
	}
	t.q.keys++
	if known(key) || key == metadataKey {
		t.q.known++
	}
}

func isItem(s string) bool { return s == "-" || strings.HasPrefix(s, "- ") }

// splitKey parts "key: value" at the first colon that a blank or the end
// follows. Only letters, digits and a few marks make a key, so that prose with a
// colon is none.
func splitKey(s string) (key, value string, ok bool) {
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		end := strings.IndexByte(s[1:], s[0])
		if end < 0 || end > maxKeyBytes || !strings.HasPrefix(s[end+2:], ":") {
			return "", "", false
		}
		return canonicalKey(s[1 : end+1]), strings.Trim(s[end+3:], " \t"), true
	}
	i := strings.IndexByte(s[:min(len(s), maxKeyBytes)], ':')
	if i <= 0 {
		return "", "", false
	}
	name := strings.TrimRight(s[:i], " \t")
	for j := range len(name) {
		c := name[j]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
		if !letter && (j == 0 || (c < '0' || c > '9') && strings.IndexByte("_-. ", c) < 0) {
			return "", "", false
		}
	}
	key = canonicalKey(name)
	rest := s[i+1:]
	// "name:value" is a key when nothing else it could be makes sense.
	if rest != "" && rest[0] != ' ' && rest[0] != '\t' && (!known(key) || strings.HasPrefix(rest, "/")) {
		return "", "", false
	}
	return key, strings.Trim(rest, " \t"), true
}

// value reads what follows a key, on its line and on those that belong to it.
func (t *tolerant) value(at Span, prefix, key, value string, children []Span) {
	f := field{span: at}
	for _, c := range children {
		if strings.HasPrefix(t.text[c.Start:c.End], "\t") {
			t.flaw(c, "YAML does not allow a tab here")
		}
	}
	if value != "" {
		// It is the end of its line but for blanks.
		f.span.End = at.Start + len(t.line(at))
		f.span.Start = f.span.End - len(value)
	}
	switch {
	case key == metadataKey && prefix == "" && value == "":
		t.block(children, metadataKey+".")
		return
	case isBlockMark(value):
		f.text = t.join(children, "\n")
	case value == "" && t.isList(children):
		f.shape = shapeList
		for _, c := range children {
			if item := strings.TrimLeft(t.line(c), " \t"); isItem(item) && len(f.list) <= maxListItems {
				f.list = append(f.list, unquote(strings.TrimSpace(item[1:])))
			}
		}
	default:
		more := t.join(children, " ")
		if more != "" {
			value = strings.TrimSpace(value + " " + more)
		}
		if f.span.Len() > 0 && f.span != at || more == "" {
			t.check(f.span, value)
		}
		f.text = unquote(value)
		if items, ok := flowList(value); ok {
			f.shape, f.list, f.text = shapeList, items, value
		}
	}
	if !known(key) {
		if t.strange != nil {
			from := at.Start + indented(t.line(at))
			t.strange(key, Span{from, from + nameLen(t.text[from:at.End])})
		}
		return
	}
	if _, ok := t.h[prefix+key]; ok && len(t.q.repeated) <= maxProblems {
		t.q.repeated = append(t.q.repeated, repeatedKey{key, at})
	}
	t.h.add(prefix+key, f)
}

// check finds out why YAML would not read a value as it is meant.
func (t *tolerant) check(at Span, value string) {
	if value == "" {
		return
	}
	if value[0] == '"' || value[0] == '\'' {
		if _, ok := closedQuote(value); !ok {
			t.flaw(at, "the quotes of this value do not match")
		}
		return
	}
	_, list := flowList(value)
	switch {
	case list:
	case value[0] == '[' && !strings.Contains(value, "]"), value[0] == '{' && !strings.Contains(value, "}"):
		t.flaw(at, "what begins with "+value[:1]+" here is never closed")
	case strings.Contains(value, ": ") || strings.HasSuffix(value, ":"):
		t.flaw(at, "a value with a colon must be quoted")
	case strings.IndexByte("@`%*&!{}[],|>", value[0]) >= 0 || isItem(value):
		t.flaw(at, "a value that begins with "+value[:1]+" must be quoted")
	}
}

// isBlockMark tells whether a value only announces a block text: | or > with
// its modifiers.
func isBlockMark(s string) bool {
	return s != "" && (s[0] == '|' || s[0] == '>') && strings.Trim(s[1:], "+-0123456789") == ""
}

func (t *tolerant) isList(children []Span) bool {
	for _, c := range children {
		if s := strings.TrimLeft(t.line(c), " \t"); s != "" {
			return isItem(s)
		}
	}
	return false
}

func (t *tolerant) join(children []Span, sep string) string {
	var b strings.Builder
	for _, c := range children {
		if s := strings.TrimLeft(t.line(c), " \t"); s != "" {
			if b.Len() > 0 {
				b.WriteString(sep)
			}
			b.WriteString(s)
		}
	}
	return b.String()
}

// closedQuote is the content of a value that is one quoted text, with its
// escapes resolved; a comment may follow.
func closedQuote(s string) (string, bool) {
	quote := s[0]
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == quote && quote == '\'' && i+1 < len(s) && s[i+1] == quote:
			b.WriteByte(quote)
			i++
		case c == quote:
			rest := strings.TrimLeft(s[i+1:], " \t")
			return b.String(), rest == "" || rest[0] == '#' && len(rest) < len(s[i+1:])
		case c == '\\' && quote == '"' && i+1 < len(s):
			i++
			b.WriteString(escape(s[i]))
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

// escape is what a backslash and c stand for in a double-quoted text. What is no
// such escape, or names a character by number, keeps its backslash.
func escape(c byte) string {
	switch c {
	case '"', '\\', '/':
		return string(rune(c))
	case 'n', 't', 'r':
		return " "
	}
	if c < 0x80 {
		return `\` + string(rune(c))
	}
	// The first byte of a longer character: the others follow as they are.
	return `\` + string([]byte{c})
}

// unquote takes the quotes off a value: matching ones with their escapes, and a
// stray one at the start.
func unquote(s string) string {
	if s == "" || s[0] != '"' && s[0] != '\'' {
		return s
	}
	if inner, ok := closedQuote(s); ok {
		return inner
	}
	quote := s[:1]
	switch {
	case len(s) > 1 && strings.HasSuffix(s, quote) && !quotesPart(s):
		return strings.ReplaceAll(s[1:len(s)-1], `\`+quote, quote)
	case strings.Count(s, quote) == 1:
		return strings.TrimSpace(s[1:])
	}
	return s
}

// quotesPart tells whether the quote that a text begins with ends inside it, at the
// end of a word: as in "a" and "b", and not in "the "old" way".
func quotesPart(s string) bool {
	for i := 1; i < len(s)-1; i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return strings.IndexByte(" \t,;.:!?)", s[i+1]) >= 0 && strings.IndexByte(" \t(", s[i-1]) < 0
		}
	}
	return false
}

// flowList reads "[a, b]".
func flowList(s string) ([]string, bool) {
	if len(s) < 2 || s[0] != '[' || s[len(s)-1] != ']' || strings.HasPrefix(s, "[[") {
		return nil, false
	}
	return splitItems(s[1:len(s)-1], ","), true
}

// splitItems parts a list that stands on one line at any of the given
// separators outside quotes. It stops one item beyond what is kept.
func splitItems(s, separators string) []string {
	var items []string
	quote := rune(0)
	start := 0
	add := func(end int) {
		if item := unquote(strings.TrimSpace(s[start:end])); item != "" && len(items) <= maxListItems {
			items = append(items, item)
		}
	}
	for i, r := range s {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case (r == '"' || r == '\'') && strings.TrimSpace(s[start:i]) == "":
			quote = r
		case strings.ContainsRune(separators, r):
			add(i)
			start = i + len(string(r))
		}
	}
	add(len(s))
	return items
}
