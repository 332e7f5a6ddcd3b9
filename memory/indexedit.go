package memory

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
)

// IndexChange is how a MEMORY.md becomes another one.
type IndexChange struct {
	// Text is the whole new text, Replace the same as ranges of the present one.
	Text    string
	Replace []Replacement
	// Generated says that the index is made of the documents alone, and nothing in
	// it was written by hand.
	Generated bool
	// Omitted are the paths of memories for which there is no room, Unlinked what
	// names of missing files were made plain text.
	Omitted, Unlinked []string
}

// Bytes are those of the changed file; raw are the present ones, nil if there is
// no index. Errors wrap [ErrReplace].
func (c IndexChange) Bytes(raw []byte) ([]byte, error) {
	if raw == nil {
		return []byte(c.Text), nil
	}
	return Replace(raw, c.Replace...)
}

// UpdateIndex brings the index of a root up to date with a change of its
// documents: x is the present one, nil if there is none. An index that a
// generator made of the documents before, or none, is made anew. In one that
// somebody wrote, entries of files that have gone are taken out and those that
// came are added, beside their like and in their form; an entry that still says
// what the file said is brought up to date; a file that was only renamed keeps its
// line. All else, and what has nothing to do with the change, stays.
//
// Inv: no entry is added that programs would cut off; it is Omitted instead.
func UpdateIndex(x *IndexFile, before, after []*Document, opt IndexOptions) IndexChange {
	if x == nil || x.GeneratedFrom(before) && !opt.formerWords(after) {
		return regenerated(x, after, opt)
	}
	e := newIndexEditor(x, before, after, opt)
	if x.Doc.Truncated {
		e.omitAll()
		return e.change
	}
	e.follow()
	return e.done()
}

// RebuildIndex makes an index agree with the documents of its root: one that a
// generator made is made anew; in another all files that are missing in it are
// added, and links to files that are not there become plain text.
func RebuildIndex(x *IndexFile, docs []*Document, opt IndexOptions) IndexChange {
	if x == nil || x.GeneratedFrom(docs) {
		return regenerated(x, docs, opt)
	}
	e := newIndexEditor(x, docs, docs, opt)
	if x.Doc.Truncated {
		e.omitAll()
		return e.change
	}
	e.unlink()
	for _, d := range x.Drift(docs, opt.Active).Unlisted {
		e.add(d)
	}
	return e.done()
}

func regenerated(x *IndexFile, docs []*Document, opt IndexOptions) IndexChange {
	g := GenerateIndex(docs, opt)
	c := IndexChange{Text: g.Text, Generated: true, Omitted: g.Omitted}
	if x != nil && x.Doc.Text != g.Text {
		c.Replace = []Replacement{{Span{0, len(x.Doc.Text)}, g.Text}}
	}
	return c
}

// indexEditor edits one index line by line.
type indexEditor struct {
	x             *IndexFile
	text          string
	eol           string
	before, after indexNames
	old           []*Document
	docs          []*Document
	opt           IndexOptions
	gone          map[int]bool    // lines that are taken out
	renamed       map[string]bool // paths that a line has been made to name
	reps          []Replacement
	added         map[int]int // how many entries were added behind a line
	bytes, lines  int         // what the index will have
	change        IndexChange
}

func newIndexEditor(x *IndexFile, before, after []*Document, opt IndexOptions) *indexEditor {
	return &indexEditor{
		x: x, text: x.Doc.Text, eol: LineEnd(x.Doc.Text), before: newIndexNames(before), after: newIndexNames(after),
		old: before, docs: after, opt: opt, gone: map[int]bool{}, renamed: map[string]bool{}, added: map[int]int{},
		bytes: len(x.Doc.Text), lines: x.lineCount(), change: IndexChange{Text: x.Doc.Text},
	}
}

func (e *indexEditor) omitAll() {
	for _, d := range e.docs {
		if e.before.rels[d.Rel] == nil && e.opt.Active(d) {
			e.change.Omitted = append(e.change.Omitted, d.Rel)
		}
	}
}

func (e *indexEditor) done() IndexChange {
	e.change.Replace = apart(e.reps)
	e.change.Text = replaced(e.text, e.change.Replace)
	return e.change
}

// apart puts replacements in order and leaves out those inside others: two links
// may share a definition, which may be taken out.
func apart(reps []Replacement) []Replacement {
	slices.SortStableFunc(reps, func(a, b Replacement) int {
		switch {
		case a.Start != b.Start:
			return a.Start - b.Start
		case (a.Len() == 0) != (b.Len() == 0):
			return a.Len() - b.Len()
		}
		return b.Len() - a.Len()
	})
	out, end := reps[:0], 0
	for _, r := range reps {
		if r.Start >= end {
			out, end = append(out, r), r.End
		}
	}
	return out
}

// replace notes one replacement.
func (e *indexEditor) replace(r Replacement) {
	e.reps = append(e.reps, r)
	e.bytes += len(r.New) - r.Len()
}

// follow does for the lines what was done to the files.
func (e *indexEditor) follow() {
	listed := e.listed(e.old)
	moved := map[string]*Document{}
	for _, d := range e.old {
		if e.after.rels[d.Rel] == nil {
			if to := e.movedTo(d); to != nil {
				moved[d.Rel] = to
			}
		}
	}
	for i := range e.x.Lines {
		if !e.gone[i] {
			e.followLine(i, moved)
		}
	}
	now := e.listed(e.docs)
	sorted := slices.Clone(e.docs)
	slices.SortFunc(sorted, func(a, b *Document) int { return strings.Compare(a.Rel, b.Rel) })
	for _, d := range sorted {
		old := e.before.rels[d.Rel]
		came := old == nil || !e.opt.Active(old)
		if !now[d.Rel] && !e.renamed[d.Rel] && e.opt.Active(d) && (came || listed[d.Rel]) {
			e.add(d)
		}
	}
}

// listed are the paths of documents that lines which stay name.
func (e *indexEditor) listed(docs []*Document) map[string]bool {
	names := newIndexNames(docs)
	out := map[string]bool{}
	for i, line := range e.x.Lines {
		if e.gone[i] {
			continue
		}
		for _, t := range line.Targets {
			if d, place := names.find(t); place == placeDocument {
				out[d.Rel] = true
			}
		}
		for _, rel := range alsoNamed(e.text, line) {
			out[rel] = true
		}
	}
	return out
}

// movedTo is the document that has the content of one that is gone.
func (e *indexEditor) movedTo(d *Document) *Document {
	for _, o := range e.docs {
		if o.Version == d.Version && e.before.rels[o.Rel] == nil {
			return o
		}
	}
	return nil
}

// followLine does for one line what was done to the files that it names.
func (e *indexEditor) followLine(i int, moved map[string]*Document) {
	line := e.x.Lines[i]
	for j, t := range line.Targets {
		old, place := e.before.find(t)
		if place != placeDocument {
			continue
		}
		now := e.after.rels[old.Rel]
		about := j == 0 && line.Kind == IndexEntry
		switch to := moved[old.Rel]; {
		case to != nil:
			e.replace(Replacement{t.NameSpan, e.nameOf(to, t)})
			e.renamed[to.Rel] = true
		case about && e.stale(line, old, now):
			if now == nil || !e.opt.Active(now) {
				e.takeOut(i)
				return
			}
			e.replace(Replacement{Span{line.Mark.End, line.Span.End}, strings.TrimPrefix(entryLine(now), "- ")})
			return
		case about && now == nil:
			e.takeOut(i)
			return
		case now == nil:
			e.plain(t)
		}
	}
	e.followAlso(line)
}

// stale tells whether an entry is generated and the file says something else now.
func (e *indexEditor) stale(line IndexLine, old, now *Document) bool {
	if !generatedEntry(e.text, line, e.before) || len(alsoNamed(e.text, line)) > 0 {
		return false
	}
	return now == nil || !e.opt.Active(now) || entryLine(now) != entryLine(old)
}

// followAlso takes files that have gone out of those that an entry names in words.
func (e *indexEditor) followAlso(line IndexLine) {
	var rest []string
	all := alsoNamed(e.text, line)
	for _, rel := range all {
		if e.after.rels[rel] != nil || e.before.rels[rel] == nil {
			rest = append(rest, escapeRel(rel))
		}
	}
	if len(rest) == len(all) {
		return
	}
	from := line.Span.Start + strings.LastIndex(e.text[line.Span.Start:line.Span.End], alsoMark)
	also := ""
	if len(rest) > 0 {
		also = alsoMark + strings.Join(rest, ", ") + ")"
	}
	e.replace(Replacement{Span{from, line.Span.End}, also})
}

// takeOut removes a line with what goes on below it.
func (e *indexEditor) takeOut(i int) {
	last := e.blockEnd(i)
	for k := i; k <= last; k++ {
		e.gone[k] = true
	}
	_, next := lineAt(e.text, e.x.Lines[last].Span.End)
	e.replace(Replacement{Span: Span{e.x.Lines[i].Span.Start, next}})
	e.lines -= last - i + 1
}

// eolBefore is the line end in front of a line.
func (e *indexEditor) eolBefore(at int) string {
	for _, eol := range []string{"\r\n", "\n", "\r"} {
		if strings.HasSuffix(e.text[:at], eol) {
			return eol
		}
	}
	return ""
}

// blockEnd is the last line of an entry: what is indented below it and names no
// file belongs to it.
func (e *indexEditor) blockEnd(i int) int {
	last := i
	for k := i + 1; k < len(e.x.Lines); k++ {
		line := e.x.Lines[k]
		_, next := lineAt(e.text, e.x.Lines[last].Span.End)
		if line.Span.Start != next || line.Column <= e.x.Lines[i].Column || len(line.Targets) > 0 || line.Kind != IndexText && line.Kind != IndexFact {
			break
		}
		last = k
	}
	return last
}

// plain makes a link plain text.
func (e *indexEditor) plain(t IndexTarget) {
	if t.Form != IndexLink && t.Form != IndexWiki {
		return
	}
	text := e.text[t.TextSpan.Start:t.TextSpan.End]
	e.replace(Replacement{t.Span, cmp.Or(text, t.Target)})
	e.change.Unlinked = append(e.change.Unlinked, t.Target)
}

// unlink takes out entries of missing files that say nothing, and makes the links
// of others plain text: what they say may stand nowhere else.
func (e *indexEditor) unlink() {
	for i, line := range e.x.Lines {
		if e.gone[i] {
			continue
		}
		for j, t := range line.Targets {
			if _, place := e.before.find(t); place != placeMissing {
				continue
			}
			if j == 0 && len(line.Targets) == 1 && line.Kind == IndexEntry && line.Hook.Len() == 0 && e.blockEnd(i) == i {
				e.takeOut(i)
				e.change.Unlinked = append(e.change.Unlinked, t.Target)
				break
			}
			e.plain(t)
		}
	}
}

// nameOf names a document in the form of a target.
func (e *indexEditor) nameOf(d *Document, t IndexTarget) string {
	switch t.Form {
	case IndexWiki:
		return wikiName(d)
	case IndexLink:
		return escapeRel(d.Rel)
	}
	return d.Rel
}

// readsAs tells whether a name in the form of a target is read as such.
func readsAs(form IndexForm, d *Document) bool {
	switch form {
	case IndexWiki:
		return !strings.ContainsAny(wikiName(d), "[]|#") && len(d.Rel) <= maxWikiRunes
	case IndexMono:
		return !strings.Contains(d.Rel, "`") && isFileName(d.Rel)
	case IndexBare:
		return !strings.ContainsAny(d.Rel, " \t`*|_[]") && isFileName(d.Rel)
	}
	return true
}

func wikiName(d *Document) string { return strings.TrimSuffix(d.Rel, path.Ext(d.Rel)) }

// FormerEntry is what an index said of a file: the lines of its entry, and which
// line of the index the first of them was, from 0. It is zero when there was none.
type FormerEntry struct {
	Line int    `json:"line"`
	Text string `json:"text"` // without the end of the last line
}

// formerWords tells whether an entry comes back that somebody wrote.
func (o IndexOptions) formerWords(docs []*Document) bool {
	return slices.ContainsFunc(docs, func(d *Document) bool {
		f, ok := o.Former[d.Rel]
		return ok && f.Text != "" && f.Text != entryLine(d) && f.Text != qwenLine(d)
	})
}

// EntryOf is the entry about a file, nil if there is none. A file that several are
// about has the first.
func (x *IndexFile) EntryOf(rel string) *FormerEntry {
	names := newIndexNames([]*Document{{Rel: rel}})
	for i, line := range x.Lines {
		if line.Kind != IndexEntry {
			continue
		}
		if _, place := names.find(line.Targets[0]); place == placeDocument {
			last := newIndexEditor(x, nil, nil, IndexOptions{}).blockEnd(i)
			span := Span{line.Span.Start, x.Lines[last].Span.End}
			return &FormerEntry{Line: lineNumber(x.Doc.Text, span.Start), Text: x.Doc.Text[span.Start:span.End]}
		}
	}
	return nil
}

// lineNumber is how many lines end in front of a place.
func lineNumber(text string, at int) int {
	n := 0
	for pos := 0; pos < at; n++ {
		_, pos = lineAt(text, pos)
	}
	return n
}

// restore puts an entry back where it was, as it was.
func (e *indexEditor) restore(f FormerEntry) {
	pos := 0
	for range f.Line {
		if pos == len(e.text) {
			break
		}
		_, pos = lineAt(e.text, pos)
	}
	text := f.Text + e.eol
	if pos == len(e.text) && pos > 0 && e.eolBefore(pos) == "" {
		text = e.eol + f.Text
	}
	e.lines += 1 + strings.Count(f.Text, e.eol)
	e.replace(Replacement{Span{pos, pos}, text})
}

// add inserts an entry, or notes that there is no room for it. One that was there
// before comes back as it was, and of one that had none before nothing is said.
func (e *indexEditor) add(d *Document) {
	if f, ok := e.opt.Former[d.Rel]; ok {
		if f.Text != "" {
			e.restore(f)
		}
		return
	}
	if e.bytes >= MaxIndexBytes || e.lines >= MaxIndexLines {
		e.change.Omitted = append(e.change.Omitted, d.Rel)
		return
	}
	at := e.likeOf(d)
	entry := "- " + strings.TrimPrefix(entryLine(d), "- ")
	place := Span{e.x.end, e.x.end}
	if at >= 0 {
		entry = e.inFormOf(e.x.Lines[at], d, e.added[at])
		place.Start = e.x.Lines[e.blockEnd(at)].Span.End
		place.End = place.Start
		entry = e.eol + entry
	} else {
		entry = e.below() + entry + e.eol
		if e.x.end < len(e.text) {
			entry += e.eol
		}
	}
	lines := 1
	if at < 0 && e.added[at] == 0 && e.text != "" {
		lines = 2
	}
	if e.bytes+len(entry) > MaxIndexBytes || e.lines+lines > MaxIndexLines {
		e.change.Omitted = append(e.change.Omitted, d.Rel)
		return
	}
	e.lines += lines
	e.added[at]++
	e.replace(Replacement{place, entry})
}

// below parts the first entry of an index from the text in front of it.
func (e *indexEditor) below() string {
	switch {
	case e.added[-1] > 0 || e.x.end == 0:
		return ""
	case e.eolBefore(e.x.end) == "":
		return e.eol + e.eol
	case e.eolBefore(e.x.end-len(e.eolBefore(e.x.end))) == "":
		return e.eol
	}
	return ""
}

// likeOf is the entry behind which one for d belongs: the last one of its type if
// the index has sections, else the last one; -1 when there is none.
func (e *indexEditor) likeOf(d *Document) int {
	last, like, sections := -1, -1, 0
	for i, line := range e.x.Lines {
		if line.Kind == IndexHeading {
			sections++
		}
		if e.gone[i] || line.Kind != IndexEntry || last >= 0 && line.Column > e.x.Lines[last].Column && i > last {
			continue
		}
		last = i
		if about, place := e.before.find(line.Targets[0]); place == placeDocument && about.Type == d.Type {
			like = i
		}
	}
	if sections > 1 && like >= 0 {
		return like
	}
	return last
}

// inFormOf words an entry as a neighbour is worded. n is how many have been added
// behind that one.
func (e *indexEditor) inFormOf(like IndexLine, d *Document, n int) string {
	indent := e.text[like.Span.Start:max(like.Mark.Start, like.Span.Start)]
	if like.Mark.Len() == 0 {
		return e.row(like, d)
	}
	mark := nextMark(e.text[like.Mark.Start:like.Mark.End], n+1)
	t := like.Targets[0]
	line := entryLine(d)
	if t.Form == IndexLink && e.dash(like) == indexDash {
		return indent + mark + strings.TrimPrefix(line, "- ")
	}
	name := "[" + indexTitle(d) + "](" + escapeRel(d.Rel) + ")"
	form := t.Form
	if !readsAs(form, d) {
		form = IndexLink
	}
	switch form {
	case IndexWiki:
		name = "[[" + wikiName(d) + "]]"
		if title := indexTitle(d); t.Text != t.Target && title != wikiName(d) && !strings.ContainsAny(title, "[]|") {
			name = "[[" + wikiName(d) + "|" + title + "]]"
		}
	case IndexMono:
		name = "`" + d.Rel + "`"
	case IndexBare:
		name = d.Rel
	}
	if hook := indexHook(d); hook != "" {
		name += e.dash(like) + hook
	}
	return indent + mark + name
}

// dash is what parts the name of a file from its hook in an entry.
func (e *indexEditor) dash(like IndexLine) string {
	s := e.text[like.Separator.Start:like.Separator.End]
	for _, mark := range []string{"—", "–", "―", "->", "→", "-", ":"} {
		switch {
		case !strings.Contains(s, mark):
		case mark == ":":
			return ": "
		default:
			return " " + mark + " "
		}
	}
	return indexDash
}

// row is an entry in a table, with as many cells as its neighbour has.
func (e *indexEditor) row(like IndexLine, d *Document) string {
	cells := max(2, strings.Count(strings.Trim(e.text[like.Span.Start:like.Span.End], " \t|"), "|")+1)
	cell := func(s string) string { return strings.ReplaceAll(s, "|", "/") }
	row := "| [" + cell(indexTitle(d)) + "](" + escapeRel(d.Rel) + ") | " + cell(indexHook(d)) + " |"
	return row + strings.Repeat("  |", cells-2)
}

// nextMark is a list mark, counted on if it is a number.
func nextMark(mark string, n int) string {
	digits := len(mark) - len(strings.TrimLeft(mark, "0123456789"))
	if digits == 0 {
		return mark
	}
	first, err := strconv.Atoi(mark[:digits])
	if err != nil {
		return mark // Inv: a mark has nine digits at most
	}
	return strconv.Itoa(first+n) + mark[digits:]
}
