package memory

import (
	"slices"
	"strings"
)

// nestColumns is how much further than an entry a line is indented that stands
// under it. CommonMark asks for the width of the list mark, three columns below
// "1. "; two are what people type, and are never less than one level.
const nestColumns = 2

// blockScanner goes once through the lines of a body and gathers its entries and
// the stretches of text between code, comments and block marks.
//
// Inv: each line that shows something is given to the open entry, or closes it
// and is a heading, a rule, a link's definition or the "no entries yet" line.
type blockScanner struct {
	text    string // the document's up to the end of the body
	outline bool   // entries are not wanted
	entries []Entry
	runs    []Span // the stretches of text, in order
	// headings and fences are those of the body, in order.
	headings []Heading
	fences   []Span
	defined  []Span // the definitions of links, in order

	cutRun      bool // the next text begins a stretch
	fence       openFence
	commentEnd  int // behind the comment that the scanner is in
	lastComment int // where the last --> stands, or -1
	closers     []fenceCloser
	haveClosers bool

	open bool
	cur  openEntry
}

// openEntry is an entry whose end has not been met.
type openEntry struct {
	span   Span
	column int
	item   bool // begun by a list mark
	quoted bool // begun by a quote mark
	first  Span // the text of its first line
	// lines counts the lines of an entry that is nothing but a paragraph so far;
	// 0 otherwise.
	lines  int
	pieces [pieces]Span // Start is -1 until begun
	at     piece        // what the next text continues
	label  openLabel
	gap    bool // blank lines stand before the present one
	closed bool // a fence or a comment ended: text below it is a new block
}

type openLabel struct {
	column int
	bullet bool
	list   bool // a list that is not indented belongs to it
}

// openFence is the code fence that the scanner is in; none when mark is empty.
type openFence struct {
	mark string
	// column is what its item's content is indented to, 0 outside of items. A
	// line left of it ends the item, and the fence with it, unless the fence is
	// closed further down and the line merely has lost its indentation.
	column   int
	closable bool
}

// scanBlocks reads the body of a document, for the stretches of text alone if
// outline is set. Its cost is linear in the body.
func scanBlocks(d *Document, outline bool) *blockScanner {
	b := &blockScanner{text: d.Text[:d.Body.End], outline: outline, cutRun: true}
	b.lastComment = strings.LastIndex(b.text, "-->")
	for pos := d.Body.Start; pos < len(b.text); {
		line, next := lineAt(b.text, pos)
		b.line(line)
		pos = next
	}
	b.finish()
	return b
}

func (b *blockScanner) line(span Span) {
	if blank(b.text[span.Start:span.End]) {
		b.cur.gap, b.cutRun = true, true
		return
	}
	l := readBlockLine(b.text, span)
	l.under = b.open && l.column >= b.cur.column+nestColumns
	switch {
	case b.inComment(l), b.inFence(l):
	case b.structure(l), b.definition(l), b.fenceAt(l, l.at), b.comment(l):
	case b.labelled(l), b.listed(l):
	default:
		b.words(l)
	}
}

// begin opens an entry with l, whose text begins at the given offset.
func (b *blockScanner) begin(l blockLine, at int) {
	b.finish()
	b.open = true
	b.cur = openEntry{span: l.Span, column: l.column, first: Span{at, l.End}, at: noPiece}
	for i := range b.cur.pieces {
		b.cur.pieces[i].Start = -1
	}
}

// take gives l to the open entry.
func (b *blockScanner) take(l blockLine) {
	b.cur.span.End = l.End
	b.cur.gap, b.cur.closed = false, false
}

// extend lets the current piece reach from a place, unless it has begun before,
// to another.
func (b *blockScanner) extend(from, to int) {
	if b.cur.at == noPiece {
		return
	}
	p := &b.cur.pieces[b.cur.at]
	if p.Start < 0 {
		p.Start = from
	}
	p.End = to
}

func (b *blockScanner) begun() bool { return b.cur.at != noPiece && b.cur.pieces[b.cur.at].Start >= 0 }

// run notes text in which links may stand.
func (b *blockScanner) run(from, to int, fresh bool) {
	if n := len(b.runs); n > 0 && !fresh && !b.cutRun {
		b.runs[n-1].End = to
		return
	}
	b.runs = append(b.runs, Span{from, to})
	b.cutRun = false
}

// structure takes the lines that belong to no entry and end one.
func (b *blockScanner) structure(l blockLine) bool {
	if l.column > maxMarkColumn || l.under && b.cur.item {
		return false
	}
	mark := underline(l.content)
	// Below one line "---" makes a heading of it. Below several, Markdown would
	// call the whole paragraph a heading, and its author would call this a rule.
	if b.open && !b.cur.gap && (mark == '=' && b.cur.lines > 0 || mark == '-' && b.cur.lines == 1) {
		b.underlined(l, mark)
		b.open, b.cutRun = false, true
		return true
	}
	heading := isHeading(l.content)
	if !heading && !isRule(l.content) && !isNoEntries(l.content) {
		return false
	}
	b.finish()
	if heading {
		b.run(l.at, l.End, true)
		level := len(l.content) - len(strings.TrimLeft(l.content, "#"))
		b.headings = append(b.headings, Heading{Span: l.Span, Level: level, Text: clipLine(atxHeading(strings.TrimSpace(l.content)))})
	}
	b.cutRun = true
	return true
}

// definition takes a line "[label]: target" that stands by itself: it says where
// the links of entries lead, and nothing of its own.
func (b *blockScanner) definition(l blockLine) bool {
	if l.content[0] != '[' || l.column > maxMarkColumn || l.under || b.open && !b.cur.gap && !b.cur.closed {
		return false
	}
	in := inlineScanner{text: b.text}
	if _, _, ok := in.definition(l.Span); !ok {
		return false
	}
	b.finish()
	b.run(l.at, l.End, true)
	b.defined = append(b.defined, l.Span)
	b.cutRun = true
	return true
}

// underlined notes the heading that l makes of the open paragraph.
func (b *blockScanner) underlined(l blockLine, mark byte) {
	level := 1
	if mark == '-' {
		level = 2
	}
	text := b.text[b.cur.first.Start:b.cur.span.End]
	b.headings = append(b.headings, Heading{Span: Span{b.cur.span.Start, l.End}, Level: level, Text: clipLine(unmark(strings.TrimSpace(text)))})
}

// fenceAt takes a line that opens a code fence at the given offset: with the
// entry that it stands under, or as one of its own.
func (b *blockScanner) fenceAt(l blockLine, at int) bool {
	mark := opensFence(b.text[at:l.End])
	if mark == "" {
		return false
	}
	b.fence = openFence{mark: mark}
	b.fences = append(b.fences, l.Span)
	if !b.open {
		b.begin(l, at)
		b.cur.at = pieceSummary
	} else if b.cur.item && l.column >= b.cur.column+nestColumns || at > l.at {
		b.fence.column = b.cur.column + nestColumns
		b.fence.closable = b.closerAhead(mark, l.End)
	}
	b.take(l)
	b.cur.lines, b.cutRun = 0, true
	switch {
	case b.cur.at.isLabel():
		b.extend(at, l.End)
	case b.begun():
		b.cur.at = noPiece
	}
	return true
}

func (b *blockScanner) inFence(l blockLine) bool {
	f := b.fence
	if f.mark == "" {
		return false
	}
	closes := closesFence(l.content, f.mark)
	if !closes && l.column < f.column && (!f.closable || readListMark(l.content).width > 0) {
		b.fence, b.cur.closed = openFence{}, true
		return false
	}
	b.take(l)
	b.fences[len(b.fences)-1].End = l.End
	if b.cur.at.isLabel() || !closes {
		b.extend(l.at, l.End)
	}
	if !b.cur.at.isLabel() && (closes || b.begun()) {
		b.cur.at = noPiece
	}
	if closes {
		b.fence, b.cur.closed = openFence{}, true
	}
	return true
}

// fenceCloser is a line that can close a fence.
type fenceCloser struct {
	at      int
	longest [2]int // of this and all later ones, of backticks and of tildes
}

// closerAhead tells whether a line behind pos closes the fence of this mark.
func (b *blockScanner) closerAhead(mark string, pos int) bool {
	if !b.haveClosers {
		b.closers, b.haveClosers = fenceClosers(b.text, pos), true
	}
	i, _ := slices.BinarySearchFunc(b.closers, pos, func(c fenceCloser, pos int) int { return c.at - pos })
	return i < len(b.closers) && b.closers[i].longest[fenceKind(mark)] >= len(mark)
}

func fenceKind(mark string) int {
	if mark[0] == '`' {
		return 0
	}
	return 1
}

func fenceClosers(text string, pos int) []fenceCloser {
	var out []fenceCloser
	for pos < len(text) {
		line, next := lineAt(text, pos)
		s := strings.Trim(text[line.Start:line.End], " \t")
		if mark := fenceMark(s); mark != "" && mark == s {
			c := fenceCloser{at: line.Start}
			c.longest[fenceKind(mark)] = len(mark)
			out = append(out, c)
		}
		pos = next
	}
	for i := len(out) - 2; i >= 0; i-- {
		for k := range out[i].longest {
			out[i].longest[k] = max(out[i].longest[k], out[i+1].longest[k])
		}
	}
	return out
}

// comment takes a line that begins an HTML comment which ends somewhere. It goes
// with the entry that it stands directly or indented under.
func (b *blockScanner) comment(l blockLine) bool {
	const mark = "<!--"
	from := l.at + len("<!")
	if !strings.HasPrefix(l.content, mark) || b.lastComment < from {
		return false
	}
	b.commentEnd = from + strings.Index(b.text[from:], "-->") + len("-->")
	switch {
	case !b.open || !l.under && b.cur.gap:
		b.begin(l, l.at)
		b.cur.at = pieceSummary
	case b.cur.at == pieceSummary && b.begun():
		b.cur.at = noPiece
	}
	b.cur.lines, b.cutRun = 0, true
	b.commented(l)
	return true
}

func (b *blockScanner) inComment(l blockLine) bool {
	if l.Start >= b.commentEnd {
		return false
	}
	b.commented(l)
	return true
}

// commented gives a line of a comment to the entry.
func (b *blockScanner) commented(l blockLine) {
	b.take(l)
	b.extend(l.at, l.End)
	if b.commentEnd <= l.End {
		b.cur.closed = true
		if b.cur.at == pieceSummary {
			b.cur.at = noPiece
		}
	}
}

// labelled takes a "Why:" or "How to apply:" line, also one that is a list item
// or quoted: with the open entry, however it is indented, or as the beginning of
// one that says nothing else.
func (b *blockScanner) labelled(l blockLine) bool {
	at := l.at + quotePrefix(l.content)
	if at == l.End {
		return false
	}
	mark := readListMark(b.text[at:l.End])
	at += mark.width
	p, value, ok := readLabel(b.text[at:l.End])
	if !ok {
		return false
	}
	if !b.open {
		b.begin(l, at)
		b.cur.item = mark.width > 0
	}
	b.take(l)
	b.cur.lines, b.cur.at = 0, p
	b.cur.label = openLabel{column: l.column, bullet: mark.width > 0}
	b.run(at, l.End, true)
	switch {
	case b.begun():
		b.cur.at = noPiece // said twice: the first one counts, both belong to the entry
	case value.Len() > 0:
		b.extend(at+value.Start, at+value.End)
	}
	return true
}

// labelGoesOn tells whether a block that begins with l is still what the last
// label says: it follows directly, is indented below it, or the label announced
// it.
func (b *blockScanner) labelGoesOn(l blockLine) bool {
	c := &b.cur
	switch {
	case !c.at.isLabel():
		return false
	case !b.begun(), l.column > c.label.column, c.label.list:
		return true
	case c.label.bullet:
		return false
	}
	p := c.pieces[c.at]
	return !c.gap || strings.HasSuffix(strings.TrimRight(b.text[p.Start:p.End], "*_ \t"), ":")
}

// listed takes a line that begins a list item.
func (b *blockScanner) listed(l blockLine) bool {
	mark := readListMark(l.content)
	if mark.width == 0 {
		return false
	}
	// A wrapped line that happens to begin with a year, or a dash alone, begins
	// no list inside a paragraph.
	if b.open && !l.under && !b.cur.gap && b.cur.lines > 0 && (mark.empty || mark.later) {
		return false
	}
	at := l.at + mark.width
	goesOn := b.labelGoesOn(l)
	switch {
	case l.under && goesOn:
		b.extend(l.at, l.End)
	case l.under:
		b.cur.at = noPiece
	case b.open && !b.cur.item && goesOn:
		b.extend(l.at, l.End)
		b.cur.label.list = true
	default:
		b.begin(l, at)
		b.cur.item, b.cur.at = true, pieceSummary
		if b.fenceAt(l, at) {
			return true
		}
		if !mark.empty {
			b.extend(at, l.End)
		}
	}
	b.take(l)
	b.cur.lines = 0
	if opensFence(b.text[at:l.End]) != "" {
		return b.fenceAt(l, at)
	}
	b.run(at, l.End, true)
	return true
}

// words takes any other line.
func (b *blockScanner) words(l blockLine) {
	fresh := !b.open || b.cur.gap || b.cur.closed
	quote := l.content[0] == '>'
	code := fresh && l.column > maxMarkColumn && (!b.open || !b.cur.item)
	switch {
	case fresh && l.under:
		b.cur.lines = 0
		if b.begun() && !b.labelGoesOn(l) {
			b.cur.at = noPiece
		}
		b.extend(l.at, l.End)
	case !fresh:
		b.continued(l, quote)
	case b.open && b.cur.at.isLabel() && !b.begun():
		b.cur.lines = 0
		b.extend(l.at, l.End)
	default:
		at := l.at + quotePrefix(l.content)
		b.begin(l, at)
		b.cur.at, b.cur.quoted = pieceSummary, quote
		if code {
			b.cur.column = tabStop - nestColumns // its further lines are those of four columns
		}
		if strings.IndexByte(">|<", l.content[0]) < 0 && !code {
			b.cur.lines = 1
		}
		if at < l.End {
			b.extend(at, l.End)
		}
	}
	b.take(l)
	if !code {
		b.run(l.at, l.End, fresh)
	}
}

// continued is a line that goes on with the block above it.
func (b *blockScanner) continued(l blockLine, quote bool) {
	c := &b.cur
	bare := quote && quotePrefix(l.content) == len(l.content)
	if c.at == pieceSummary && b.begun() && quote && (!c.quoted || bare) {
		c.at = noPiece
	}
	if quote {
		c.lines = 0
	}
	if c.lines > 0 {
		c.lines++
	}
	if !bare {
		b.extend(l.at, l.End)
	}
}
