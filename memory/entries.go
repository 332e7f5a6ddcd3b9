package memory

import (
	"slices"
	"strings"
)

// Bounds of what an Entry shows in one line; the whole is in its spans. A text
// that is cut ends in "…".
const (
	maxSummaryRunes = 512
	maxReasonRunes  = 4096
)

// Entry is one remembered thing in a body: what can be forgotten by itself.
type Entry struct {
	// Span is the whole entry in Document.Text, from the beginning of its first
	// line to the end of its last one without the line end: with its labels,
	// nested lists, code and the blank lines between them.
	Span Span
	// Summary is what it says, as one displayable line: its first paragraph
	// without the list or quote mark, or the first line of its code.
	Summary     string
	SummarySpan Span
	// Why and HowToApply are what its labels say, as one displayable line each;
	// empty, with an empty span, when there is no such label. Of equal labels the
	// first one counts.
	Why, HowToApply  string
	WhySpan, HowSpan Span
}

// Entries are the entries of a body in order.
//
// A list item that is not nested is an entry, and so is a paragraph, quote,
// table, comment or code block outside of lists. What is indented below an entry
// by two columns or more belongs to it, and so do a code fence and the lines
// "Why:" and "How to apply:" wherever they follow it, the latter with their own
// text and, when they stand below a paragraph, the list that they announce.
// Headings, rules, the definitions of links and the "no entries yet" line are no
// entries and end one; list items without any text are none.
//
// Inv: entries do not overlap and consist of whole lines of the body; every line
// that says something lies in exactly one, or is one of those that end one.
func Entries(d *Document) []Entry { return scanBlocks(d, false).entries }

// Removal is what has to go from Document.Text to forget the entry: its lines
// with the end of the last one. All other bytes stay.
func (e Entry) Removal(d *Document) Span {
	_, next := lineAt(d.Text, e.Span.End)
	return Span{e.Span.Start, next}
}

// Definitions are the lines outside of entries that say where links lead which an
// entry names by a label: without them these are none.
func (e Entry) Definitions(d *Document) []Span {
	all := scanBlocks(d, true).defined
	if len(all) == 0 {
		return nil
	}
	in := inlineScanner{text: d.Text, end: e.Span.End}
	wanted := map[string]bool{}
	for at := e.Span.Start; at < e.Span.End; at++ {
		if d.Text[at] != '[' {
			continue
		}
		if text, _, ok := in.label(at); ok {
			wanted[labelKey(text)] = true
		}
	}
	return slices.DeleteFunc(all, func(s Span) bool {
		label, _, _ := in.definition(s)
		if !wanted[label] {
			return true
		}
		wanted[label] = false // the first one counts
		return false
	})
}

// finish ends the open entry, if there is one.
func (b *blockScanner) finish() {
	if !b.open {
		return
	}
	b.open = false
	if b.outline {
		return
	}
	c := &b.cur
	if c.item && says(b.text[c.span.Start:c.span.End]) == "" {
		return
	}
	if c.pieces[pieceSummary].Start < 0 {
		c.pieces[pieceSummary] = c.first
	}
	e := Entry{Span: c.span}
	e.Summary, e.SummarySpan = b.show(pieceSummary, maxSummaryRunes)
	e.Why, e.WhySpan = b.show(pieceWhy, maxReasonRunes)
	e.HowToApply, e.HowSpan = b.show(pieceHow, maxReasonRunes)
	b.entries = append(b.entries, e)
}

// says is what a list item consists of but for its marks and those below it.
func says(item string) string {
	item = strings.Trim(item, whitespace+"-*+•")
	if mark := strings.TrimLeft(item, "0123456789"); mark == "." || mark == ")" {
		return ""
	}
	if item == "[ ]" || item == "[" || item == "]" {
		return ""
	}
	return item
}

// show is a piece of the open entry as one line, and where it stands.
func (b *blockScanner) show(p piece, runes int) (string, Span) {
	s := b.cur.pieces[p]
	if s.Start < 0 {
		return "", Span{}
	}
	text := strings.TrimRight(b.text[s.Start:s.End], whitespace)
	s.End = s.Start + len(text)
	// A rune has at most four bytes and blanks may go: cutting here only keeps
	// the cleaning of a hostile text short.
	text, long := clipRunes(text, 8*runes)
	if b.cur.quoted {
		text = unquoteLines(text)
	}
	text = CleanLine(text)
	if cut, longer := clipRunes(text, runes); longer || long {
		cut, _ = clipRunes(cut, runes-1)
		text = strings.TrimRight(cut, " ") + "…"
	}
	return text, s
}

// unquoteLines drops the quote marks of all lines.
func unquoteLines(s string) string {
	var b strings.Builder
	for pos := 0; pos < len(s); {
		line, next := lineAt(s, pos)
		text := s[line.Start:line.End]
		text = text[indented(text):]
		b.WriteString(text[quotePrefix(text):])
		b.WriteByte('\n')
		pos = next
	}
	return b.String()
}
