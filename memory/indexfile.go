package memory

import (
	"slices"
	"strings"
)

// IndexLineKind is what a line of a MEMORY.md is.
type IndexLineKind string

// The kinds of lines. Blank ones are not listed.
const (
	IndexEntry   IndexLineKind = "entry"   // a list item or table row that names a file
	IndexFact    IndexLineKind = "fact"    // one that names none: something that only the index says
	IndexHeading IndexLineKind = "heading" // of a section
	IndexText    IndexLineKind = "text"    // prose, also what goes on with an entry
	IndexQuote   IndexLineKind = "quote"
	IndexNotice  IndexLineKind = "notice" // what a generator says about the index itself
	IndexCode    IndexLineKind = "code"   // in a code fence
)

// IndexTarget is a file that a line of an index names.
type IndexTarget struct {
	// Span is all of it in the text, as the brackets and parentheses of a link,
	// NameSpan the name alone.
	Span, NameSpan Span
	TextSpan       Span // what is shown for a link as it is written, else empty
	// Target is the name as Link has it: without backslashes in front of
	// punctuation, still percent-encoded.
	Target string
	// Text is what is shown for it; empty for a bare name.
	Text string
	Form IndexForm
}

// IndexForm is how a file is named.
type IndexForm string

// The forms that are found in the wild.
const (
	IndexLink IndexForm = "link" // [Title](file.md)
	IndexWiki IndexForm = "wiki" // [[file]]
	IndexMono IndexForm = "code" // `file.md`
	IndexBare IndexForm = "bare" // file.md
)

// IndexLine is one line of an index that shows something.
type IndexLine struct {
	Kind IndexLineKind
	Span Span // without the line end
	// Column is how far it is indented, Mark the list mark with the blanks behind
	// it, empty outside of lists.
	Column int
	Mark   Span
	// Targets are the files that it names. The first one of an entry is what the
	// line is about; the others are mentioned.
	Targets []IndexTarget
	// Hook is what an entry says behind the name of its file, without the
	// separator, which is Separator.
	Hook, Separator Span
}

// IndexFile is a MEMORY.md. Inv: immutable.
type IndexFile struct {
	// Doc is the file as a document, for its text, encoding and problems. It is no
	// memory and has no ref.
	Doc   *Document
	Lines []IndexLine

	end int // where entries can be added: the end, or in front of a fence that is never closed
}

// ParseIndex reads the bytes of a MEMORY.md. Like [Parse] it never fails; its cost
// is linear in the bytes, of which it looks at MaxFileBytes at most.
func ParseIndex(raw []byte) *IndexFile { return NewIndexFile(Parse(raw)) }

// NewIndexFile reads the text of a document as that of an index.
func NewIndexFile(d *Document) *IndexFile {
	x := &IndexFile{Doc: d}
	links := slices.DeleteFunc(slices.Clone(Links(d)), func(l Link) bool { return l.Kind == LinkSupersedes })
	fence, opened := "", 0
	for pos := d.Body.Start; pos < d.Body.End; {
		span, next := lineAt(d.Text, pos)
		pos = next
		span.End = min(span.End, d.Body.End)
		if blank(d.Text[span.Start:span.End]) {
			continue
		}
		b := readBlockLine(d.Text, span)
		line := IndexLine{Span: span, Column: b.column}
		switch {
		case fence != "":
			line.Kind = IndexCode
			if closesFence(b.content, fence) {
				fence = ""
			}
		case opensFence(b.content) != "":
			line.Kind, fence, opened = IndexCode, opensFence(b.content), span.Start
		default:
			line.read(d.Text, b, &links)
		}
		x.Lines = append(x.Lines, line)
	}
	if x.end = len(d.Text); fence != "" {
		x.end = opened
	}
	return x
}

// read finds out what a line outside of code is. links are those that have not
// been passed.
func (l *IndexLine) read(text string, b blockLine, links *[]Link) {
	for len(*links) > 0 && (*links)[0].Span.Start < l.Span.End {
		// A link that goes on in the next line is text.
		if k := (*links)[0]; k.Span.Start >= l.Span.Start && k.Span.End <= l.Span.End {
			l.Targets = append(l.Targets, linkTarget(k))
		}
		*links = (*links)[1:]
	}
	item := false
	switch mark := readListMark(b.content); {
	case isHeading(b.content), isRule(b.content):
		l.Kind = IndexHeading
	case strings.HasPrefix(b.content, indexNotice):
		l.Kind = IndexNotice
	case b.content[0] == '>':
		l.Kind = IndexQuote
	case mark.width > 0:
		item = true
		l.Mark = Span{b.at, b.at + mark.width}
	case b.content[0] == '|':
		item = strings.Trim(b.content, "|-: \t") != ""
	}
	if !item {
		if l.Kind == "" {
			l.Kind = IndexText
		}
		return
	}
	from := max(b.at, l.Mark.End)
	if len(l.Targets) == 0 {
		l.Targets = namedFiles(text, Span{from, l.Span.End})
	}
	l.Kind = IndexFact
	if len(l.Targets) > 0 {
		l.Kind = IndexEntry
		l.hook(text)
	}
}

func linkTarget(k Link) IndexTarget {
	t := IndexTarget{Span: k.Span, NameSpan: k.TargetSpan, TextSpan: k.TextSpan, Target: k.Target, Text: k.Text, Form: IndexLink}
	if k.Kind == LinkWiki {
		t.Form = IndexWiki
	}
	return t
}

// namedFiles are the names of Markdown files that an item without links has in
// code font, or bare at its beginning.
func namedFiles(text string, at Span) []IndexTarget {
	var out []IndexTarget
	s := text[at.Start:at.End]
	for i := 0; i < len(s); {
		open := strings.IndexByte(s[i:], '`')
		if open < 0 {
			break
		}
		open += i
		end := strings.IndexByte(s[open+1:], '`')
		if end < 0 {
			break
		}
		end += open + 1
		if name := s[open+1 : end]; isFileName(name) {
			out = append(out, IndexTarget{
				Span: Span{at.Start + open, at.Start + end + 1}, NameSpan: Span{at.Start + open + 1, at.Start + end}, Target: name, Form: IndexMono,
			})
		}
		i = end + 1
	}
	if len(out) > 0 {
		return out
	}
	lead := len(s) - len(strings.TrimLeft(s, "*_ \t[]x"))
	name := s[lead:]
	if i := strings.IndexAny(name, " \t*|"); i >= 0 {
		name = name[:i]
	}
	name = strings.TrimRight(name, ":_,;")
	if !isFileName(name) {
		return nil
	}
	span := Span{at.Start + lead, at.Start + lead + len(name)}
	return []IndexTarget{{Span: span, NameSpan: span, Target: name, Form: IndexBare}}
}

// isFileName tells whether a word is the path of a Markdown file.
func isFileName(s string) bool {
	return len(s) <= maxTargetBytes && isMarkdown(s) && !strings.ContainsAny(s, "*?<>|\"\t") && !foreign(s)
}

// hook finds what stands behind the first file of an entry.
func (l *IndexLine) hook(text string) {
	from := l.Targets[0].Span.End
	s := text[from:l.Span.End]
	at := len(s) - len(strings.TrimLeft(s, "*_ \t"))
	mark := len(s[at:]) - len(strings.TrimLeft(s[at:], "—–―-:|→"))
	rest := s[at+mark:]
	lead := len(rest) - len(strings.TrimLeft(rest, " \t"))
	hook := strings.TrimRight(rest[lead:], " \t|")
	start := from + at + mark + lead
	l.Separator = Span{from, start}
	l.Hook = Span{start, start + len(hook)}
}
