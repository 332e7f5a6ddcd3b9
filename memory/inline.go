package memory

import (
	"strings"
	"unicode/utf8"
)

// Bounds of CommonMark: of a reference label in bytes, and of the nested
// parentheses in a target.
const (
	maxLabelBytes  = 999
	maxTargetDepth = 32
)

// inlineScanner finds the links in stretches of text. Its cost is linear: no
// text is looked at again once a bracket, a backtick or a "<" has been passed,
// beyond the bounds above.
type inlineScanner struct {
	text string
	defs map[string]Span // the targets of reference definitions by label
	out  []Link
	// codes are the contents of the code spans, when they are wanted.
	wantCodes bool
	codes     []Span

	end   int // of the stretch
	open  []opener
	ticks map[int]int // where the last run of so many backticks begins; nil until needed
	// unclosed: no comment ends in the rest of the stretch.
	unclosed bool
}

// opener is a bracket that has not been closed.
type opener struct {
	at    int
	image bool
	inner bool // another bracket stands inside: it is no reference label
}

// define notes the reference definitions that a stretch begins with and gives
// the rest of it.
func (in *inlineScanner) define(run Span) Span {
	for run.Start < run.End {
		line, next := lineAt(in.text[:run.End], run.Start)
		label, target, ok := in.definition(line)
		if !ok {
			break
		}
		if in.defs == nil {
			in.defs = map[string]Span{}
		}
		if _, ok := in.defs[label]; !ok {
			in.defs[label] = target
		}
		run.Start = next
	}
	return run
}

// definition reads "[label]: target" with an optional title. Footnotes are none.
func (in *inlineScanner) definition(line Span) (label string, target Span, ok bool) {
	in.end = line.End
	at := line.Start + indented(in.text[line.Start:line.End])
	if at >= line.End || in.text[at] != '[' {
		return "", Span{}, false
	}
	text, end, ok := in.label(at)
	if !ok || strings.HasPrefix(text, "^") || end >= line.End || in.text[end] != ':' {
		return "", Span{}, false
	}
	label = labelKey(text)
	target, at, ok = in.target(in.blanks(end + 1))
	if !ok || label == "" || target.Len() == 0 {
		return "", Span{}, false
	}
	return label, target, in.title(at) == line.End
}

// scan adds the links of one stretch.
func (in *inlineScanner) scan(run Span) {
	in.end, in.open, in.ticks, in.unclosed = run.End, in.open[:0], nil, false
	for at := run.Start; at < in.end; {
		switch in.text[at] {
		case '\\':
			at += 2
		case '`':
			at = in.code(at)
		case '<':
			at = in.angle(at)
		case '[':
			at = in.bracket(at)
		case ']':
			at = in.closing(at)
		default:
			// The next byte that means something.
			n := strings.IndexAny(in.text[at+1:in.end], "\\`<[]")
			if n < 0 {
				return
			}
			at += 1 + n
		}
	}
}

// code is where the code span ends that begins at a backtick, or the backticks
// do if it is none.
func (in *inlineScanner) code(at int) int {
	if in.ticks == nil {
		in.ticks = map[int]int{}
		for i := at; i < in.end; {
			if in.text[i] != '`' {
				next := strings.IndexByte(in.text[i:in.end], '`')
				if next < 0 {
					break
				}
				i += next
			}
			n := in.tickRun(i)
			in.ticks[n] = i
			i += n
		}
	}
	n := in.tickRun(at)
	last, ok := in.ticks[n]
	if !ok || last <= at {
		return at + n
	}
	for i := at + n; ; {
		i += strings.IndexByte(in.text[i:in.end], '`')
		m := in.tickRun(i)
		i += m
		if m != n {
			continue
		}
		if in.wantCodes {
			in.codes = append(in.codes, Span{at + n, i - n})
		}
		return i
	}
}

func (in *inlineScanner) tickRun(at int) int {
	s := in.text[at:in.end]
	return len(s) - len(strings.TrimLeft(s, "`"))
}

// angle is where the autolink or the comment ends that begins at a "<", or the
// "<" does if it is neither.
func (in *inlineScanner) angle(at int) int {
	s := in.text[at:in.end]
	if !in.unclosed && strings.HasPrefix(s, "<!--") {
		if i := strings.Index(s[len("<!"):], "-->"); i >= 0 {
			return at + len("<!") + i + len("-->")
		}
		in.unclosed = true
	}
	n := 1 + strings.IndexAny(s[1:], "<> \t\r\n")
	if n == 0 || s[n] != '>' || !foreign(s[1:n]) {
		return at + 1
	}
	return at + n + 1
}

// bracket takes a wikilink whole, or notes an opening bracket.
func (in *inlineScanner) bracket(at int) int {
	if end, ok := in.wiki(at); ok {
		return end
	}
	image := at > 0 && in.text[at-1] == '!' && (at < 2 || in.text[at-2] != '\\')
	if n := len(in.open); n > 0 {
		in.open[n-1].inner = true
	}
	in.open = append(in.open, opener{at: at, image: image})
	return at + 1
}

// wiki reads [[target#heading|text]]. ok is also true for one that is no link to
// a memory, but is one in brackets.
func (in *inlineScanner) wiki(at int) (end int, ok bool) {
	const mark = "[["
	if !strings.HasPrefix(in.text[at:in.end], mark) {
		return 0, false
	}
	from := at + len(mark)
	n := strings.IndexAny(in.text[from:in.end], "[]\r\n")
	if n <= 0 || !strings.HasPrefix(in.text[from+n:in.end], "]]") {
		return 0, false
	}
	end = from + n + len("]]")
	in.open = in.open[:0]
	name, shown, alias := strings.Cut(in.text[from:from+n], "|")
	// Inside a table the bar is escaped.
	name = strings.TrimRight(strings.TrimSuffix(name, `\`), " \t")
	from += indented(name)
	name = name[indented(name):]
	target, heading, ok := wikiTarget(in.text, Span{from, from + len(name)})
	if !ok || utf8.RuneCountInString(in.text[target.Start:target.End]) > maxWikiRunes {
		return end, true
	}
	text := Span{from, from + len(name)}
	if alias {
		text.End = end - len("]]")
		text.Start = text.End - len(strings.TrimLeft(shown, " \t"))
		text.End = text.Start + len(strings.Trim(shown, " \t"))
	} else {
		shown = name
	}
	in.out = append(in.out, Link{
		Kind: LinkWiki, Span: Span{at, end}, TargetSpan: target, TextSpan: text, Target: in.text[target.Start:target.End],
		Heading: clipLine(heading), Text: clipLine(shown),
	})
	return end, true
}

// closing takes a closing bracket: the end of a link's text, or nothing.
func (in *inlineScanner) closing(at int) int {
	n := len(in.open)
	if n == 0 {
		return at + 1
	}
	o := in.open[n-1]
	in.open = in.open[:n-1]
	dest, end, ok := in.destination(at + 1)
	if !ok {
		dest, end, ok = in.reference(o, at)
	}
	switch {
	case !ok:
		return at + 1
	case o.image:
		return end
	}
	// A link has no link in its text.
	in.open = in.open[:0]
	target, heading, ok := pathTarget(in.text, dest)
	if ok {
		in.out = append(in.out, Link{
			Kind: LinkMarkdown, Span: Span{o.at, end}, TargetSpan: target, TextSpan: Span{o.at + 1, at},
			Target: unescape(in.text[target.Start:target.End]), Heading: clipLine(heading), Text: clipLine(unescape(in.text[o.at+1 : at])),
		})
	}
	return end
}

// destination reads the "(target "title")" of an inline link.
func (in *inlineScanner) destination(at int) (dest Span, end int, ok bool) {
	if at >= in.end || in.text[at] != '(' {
		return Span{}, 0, false
	}
	dest, at, ok = in.target(in.blanks(at + 1))
	if !ok {
		return Span{}, 0, false
	}
	at = in.title(at)
	if at >= in.end || in.text[at] != ')' {
		return Span{}, 0, false
	}
	return dest, at + 1, true
}

// reference looks up [text][label], [label][] and [label], whose text ends at
// the closing bracket.
func (in *inlineScanner) reference(o opener, at int) (dest Span, end int, ok bool) {
	if in.defs == nil {
		return Span{}, 0, false
	}
	label, end := in.text[o.at+1:at], at+1
	if end < in.end && in.text[end] == '[' {
		inside, after, ok := in.label(end)
		switch {
		case ok && inside != "":
			dest, ok = in.defs[labelKey(inside)]
			return dest, after, ok
		case ok:
			end = after
		}
	}
	if o.inner || len(label) > maxLabelBytes {
		return Span{}, 0, false
	}
	dest, ok = in.defs[labelKey(label)]
	return dest, end, ok
}

// labelKey makes the spellings of one label equal.
func labelKey(label string) string { return foldName(CleanLine(label)) }

// label reads what stands between a bracket at the given place and the next one.
func (in *inlineScanner) label(at int) (text string, end int, ok bool) {
	s := in.text[at+1 : min(in.end, at+2+maxLabelBytes)]
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '[':
			return "", 0, false
		case ']':
			return s[:i], at + 1 + i + 1, true
		}
	}
	return "", 0, false
}

// target reads a link's target, which may be in angle brackets or be empty.
func (in *inlineScanner) target(at int) (span Span, end int, ok bool) {
	s := in.text[at:min(in.end, at+maxTargetBytes+1)]
	if strings.HasPrefix(s, "<") {
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case '<', '\n', '\r':
				return Span{}, 0, false
			case '>':
				return Span{at + 1, at + i}, at + i + 1, true
			}
		}
		return Span{}, 0, false
	}
	depth, i := 0, 0
scan:
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && punctuation(s[i+1]):
			i++
		case c <= ' ' || c == 0x7F:
			break scan
		case c == '(':
			if depth++; depth > maxTargetDepth {
				return Span{}, 0, false
			}
		case c == ')':
			if depth == 0 {
				break scan
			}
			depth--
		}
	}
	i = min(i, len(s))
	if depth > 0 || i > maxTargetBytes {
		return Span{}, 0, false
	}
	return Span{at, at + i}, at + i, true
}

// title passes an optional title and the blanks around it.
func (in *inlineScanner) title(at int) (end int) {
	from := in.blanks(at)
	if from == at || from >= in.end {
		return from
	}
	var closer byte
	switch in.text[from] {
	case '"', '\'':
		closer = in.text[from]
	case '(':
		closer = ')'
	default:
		return from
	}
	for i := from + 1; i < in.end; i++ {
		switch in.text[i] {
		case '\\':
			i++
		case closer:
			return in.blanks(i + 1)
		case '(':
			if closer == ')' {
				return from
			}
		}
	}
	return from
}

// blanks is where the blanks and line ends end that begin at the given place.
func (in *inlineScanner) blanks(at int) int {
	s := in.text[at:in.end]
	return at + len(s) - len(strings.TrimLeft(s, " \t\r\n"))
}

// clipLine is a bounded displayable line of s.
func clipLine(s string) string {
	s, _ = clipRunes(s, 8*maxTitleRunes)
	s, _ = clipRunes(CleanLine(s), maxTitleRunes)
	return s
}
