package memory

import "strings"

// lineAt is the line of text that begins at pos, without its line end, and where
// the next one begins. LF, CRLF and CR end a line.
func lineAt(text string, pos int) (line Span, next int) {
	i := strings.IndexAny(text[pos:], "\r\n")
	if i < 0 {
		return Span{pos, len(text)}, len(text)
	}
	end := pos + i
	next = end + 1
	if text[end] == '\r' && next < len(text) && text[next] == '\n' {
		next++
	}
	return Span{pos, end}, next
}

// trimBlank narrows s to what stands between its blank edges: leading blank
// lines go whole, so that the first line keeps its indentation, and trailing
// white space goes.
func trimBlank(text string, s Span) Span {
	s.End = s.Start + len(strings.TrimRight(text[s.Start:s.End], whitespace))
	for s.Start < s.End {
		line, next := lineAt(text[:s.End], s.Start)
		if strings.TrimLeft(text[line.Start:line.End], whitespace) != "" {
			break
		}
		s.Start = next
	}
	return s
}

// whitespace is what blank edges consist of, the stray byte order mark and
// zero-width space of copied text included.
const whitespace = " \t\r\n\f\v\u00A0\u2028\u2029\uFEFF\u200B"

// blank tells whether a line shows nothing.
func blank(line string) bool { return strings.Trim(line, whitespace) == "" }

// indented is the number of blanks that line begins with.
func indented(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }
