package memory

import "strings"

// tabStop is how far apart the stops are that a tab in front of a line reaches:
// that of CommonMark, as is maxMarkColumn, beyond which a line is code and no
// heading or rule.
const (
	tabStop       = 4
	maxMarkColumn = 3
)

// blockLine is a line of a body that shows something.
type blockLine struct {
	Span         // without the line end
	at      int  // where the indentation ends
	column  int  // how far it reaches
	under   bool // it is indented below the entry that is open
	content string
}

func readBlockLine(text string, span Span) blockLine {
	l := blockLine{Span: span, at: span.Start}
	for ; l.at < span.End; l.at++ {
		switch text[l.at] {
		case ' ':
			l.column++
			continue
		case '\t':
			l.column += tabStop - l.column%tabStop
			continue
		}
		break
	}
	l.content = text[l.at:span.End]
	return l
}

// underline is '=' or '-' when the line can make a heading of the one above.
func underline(content string) byte {
	s := strings.TrimRight(content, " \t")
	if len(s) >= 3 && (strings.Trim(s, "=") == "" || strings.Trim(s, "-") == "") {
		return s[0]
	}
	return 0
}

// isRule tells whether a line is a thematic break.
func isRule(content string) bool {
	c, n := content[0], 0
	if c != '-' && c != '*' && c != '_' {
		return false
	}
	for i := range len(content) {
		switch content[i] {
		case c:
			n++
		case ' ', '\t':
		default:
			return false
		}
	}
	return n >= 3
}

// isHeading tells whether a line is a heading marked with #, also one without a
// text.
func isHeading(content string) bool {
	rest := strings.TrimLeft(content, "#")
	level := len(content) - len(rest)
	return level >= 1 && level <= 6 && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
}

// isNoEntries tells whether a line is what scaffolding programs write into a
// file that knows nothing yet.
func isNoEntries(content string) bool {
	return strings.EqualFold(strings.Trim(content, "_*. \t"), "no entries yet")
}

// opensFence is the mark of the code fence that a line opens, or empty. What
// follows a fence of backticks holds none, or the line is a code span.
func opensFence(content string) string {
	mark := fenceMark(content)
	if mark != "" && mark[0] == '`' && strings.Contains(content[len(mark):], "`") {
		return ""
	}
	return mark
}

// closesFence tells whether a line ends the fence that mark opened.
func closesFence(content, mark string) bool {
	run := fenceMark(content)
	return len(run) >= len(mark) && run[0] == mark[0] && strings.Trim(content[len(run):], " \t") == ""
}

// listMark is the beginning of a list item.
type listMark struct {
	width int // bytes of the mark and the blanks after it; 0: no item
	empty bool
	later bool // a number other than 1
}

// readListMark knows Markdown's marks and the bullet character, with which
// lines are pasted that nobody means as one paragraph.
func readListMark(content string) listMark {
	var m listMark
	var rest string
	switch {
	case strings.IndexByte("-*+", content[0]) >= 0:
		rest = content[1:]
	case strings.HasPrefix(content, "•"):
		rest = content[len("•"):]
	default:
		rest = strings.TrimLeft(content, "0123456789")
		digits := len(content) - len(rest)
		if digits == 0 || digits > 9 || rest == "" || rest[0] != '.' && rest[0] != ')' {
			return m
		}
		m.later = content[:digits] != "1"
		rest = rest[1:]
	}
	text := strings.TrimLeft(rest, " \t")
	if text != "" && len(text) == len(rest) {
		return listMark{}
	}
	m.width, m.empty = len(content)-len(text), text == ""
	return m
}

// quotePrefix is the number of bytes of block quote marks in front of content.
func quotePrefix(content string) int {
	if content == "" || content[0] != '>' {
		return 0
	}
	return len(content) - len(strings.TrimLeft(content, "> \t"))
}

// piece is a part of an entry.
type piece int

const (
	noPiece piece = iota - 1
	pieceSummary
	pieceWhy
	pieceHow
	pieces
)

// isLabel tells whether the piece has a label in front of it.
func (p piece) isLabel() bool { return p == pieceWhy || p == pieceHow }

// entryLabels are the labels of pieces; a blank stands for a blank, an
// underscore or a hyphen.
var entryLabels = []struct {
	words string
	piece piece
}{{"why", pieceWhy}, {"how to apply", pieceHow}}

// readLabel reads a "Why:" or "How to apply:" at the beginning of s, plain or
// emphasised, with the colon inside or outside the emphasis. value is the place
// of what follows in s.
func readLabel(s string) (p piece, value Span, ok bool) {
	emphasis := ""
	if s != "" && (s[0] == '*' || s[0] == '_') {
		emphasis = s[:len(s)-len(strings.TrimLeft(s, s[:1]))]
	}
	at := len(emphasis)
	p, n := labelWords(s[at:])
	if n == 0 || at > 3 {
		return noPiece, Span{}, false
	}
	at += n
	open := emphasis != ""
	if open && strings.HasPrefix(s[at:], emphasis) {
		at, open = at+len(emphasis), false
	}
	at += indented(s[at:])
	switch {
	case strings.HasPrefix(s[at:], ":"):
		at++
	case strings.HasPrefix(s[at:], "："):
		at += len("：")
	default:
		return noPiece, Span{}, false
	}
	if open && strings.HasPrefix(s[at:], emphasis) {
		at, open = at+len(emphasis), false
	}
	at += indented(s[at:])
	text := strings.TrimRight(s[at:], whitespace)
	if open {
		text = strings.TrimRight(strings.TrimSuffix(text, emphasis), whitespace)
	}
	return p, Span{at, at + len(text)}, true
}

// labelWords is the label that s begins with, and its length.
func labelWords(s string) (piece, int) {
	for _, l := range entryLabels {
		if len(s) < len(l.words) {
			continue
		}
		head := strings.Map(func(r rune) rune {
			if r == '_' || r == '-' {
				return ' '
			}
			return r
		}, s[:len(l.words)])
		if strings.EqualFold(head, l.words) {
			return l.piece, len(l.words)
		}
	}
	return noPiece, 0
}
