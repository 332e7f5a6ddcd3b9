package memory

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The measures of a generated index, in characters.
const (
	maxIndexText = 120 // a title, a description
	maxIndexLine = 150 // a line, unless its link alone is longer
)

// indexNotice begins the line that says that an index is not complete.
const indexNotice = "> WARNING: MEMORY.md is too large"

// IndexOptions say how an index is made.
type IndexOptions struct {
	// Team groups files that say the same, and keeps files by path and not by age
	// when there are too many: what every clone of a repository has alike.
	Team bool
	Now  time.Time // decides what has expired
	// Former are entries, by the path of their file, with which files come back
	// into an index that somebody wrote.
	Former map[string]FormerEntry
}

// GeneratedIndex is the text of an index and what became of each document.
type GeneratedIndex struct {
	Text    string
	Omitted []string // the paths for which there was no room, in order
}

// GenerateIndex makes the MEMORY.md of documents of one root: one entry for each,
// by path, in the form that the programs whose layouts memls knows read. When
// there is not room for all, pinned ones are kept first and then the newest (of a
// team, the first by path); the others are counted in a last line. Superseded,
// expired and empty ones have no entry.
//
// Inv: it depends on the documents and the options alone, not on their order;
// entries are whole, no link is cut, and the text is within MaxIndexLines and
// MaxIndexBytes.
func GenerateIndex(docs []*Document, opt IndexOptions) GeneratedIndex {
	entries := indexEntries(docs, opt)
	slices.SortFunc(entries, func(a, b indexEntry) int { return opt.keepOrder(a.docs[0], b.docs[0]) })
	kept := fitting(entries, MaxIndexLines, MaxIndexBytes)
	if kept < len(entries) {
		// Two lines and the longest notice that there can be.
		kept = fitting(entries, MaxIndexLines-2, MaxIndexBytes-len(notice(len(docs), len(docs))))
	}
	var g GeneratedIndex
	for _, e := range entries[kept:] {
		for _, d := range e.docs {
			g.Omitted = append(g.Omitted, d.Rel)
		}
	}
	slices.Sort(g.Omitted)
	listed := entries[:kept]
	slices.SortFunc(listed, func(a, b indexEntry) int { return strings.Compare(a.docs[0].Rel, b.docs[0].Rel) })
	var b strings.Builder
	total := len(g.Omitted)
	for _, e := range listed {
		total += len(e.docs)
		b.WriteString(e.line)
		b.WriteByte('\n')
	}
	if len(g.Omitted) > 0 {
		b.WriteString(notice(len(g.Omitted), total))
	}
	g.Text = b.String()
	return g
}

func notice(omitted, total int) string {
	return fmt.Sprintf("\n%s; %d of %d memories are not listed here. They are recalled all the same.\n", indexNotice, omitted, total)
}

// fitting is how many of the first entries are within the bounds. An entry that
// is larger than the rest of the room ends it, so that what is kept is a rule.
func fitting(entries []indexEntry, lines, bytes int) int {
	for i, e := range entries {
		bytes -= len(e.line) + 1
		if i == lines || bytes < 0 {
			return i
		}
	}
	return len(entries)
}

// keepOrder is the order in which documents are kept when there are too many.
func (o IndexOptions) keepOrder(a, b *Document) int {
	if a.Pinned != b.Pinned {
		if a.Pinned {
			return -1
		}
		return 1
	}
	if !o.Team {
		if c := b.Fact().Compare(a.Fact()); c != 0 {
			return c
		}
	}
	return strings.Compare(a.Rel, b.Rel)
}

// indexEntry is a line and the documents that it names.
type indexEntry struct {
	docs []*Document
	line string
}

// Active tells whether a document should have an entry: it is not empty, and it
// holds at the time of the options.
func (o IndexOptions) Active(d *Document) bool {
	return !d.Empty() && d.Status == StatusActive && (o.Now.IsZero() || d.ActiveAt(o.Now))
}

func indexEntries(docs []*Document, opt IndexOptions) []indexEntry {
	sorted := slices.DeleteFunc(slices.Clone(docs), func(d *Document) bool { return !opt.Active(d) })
	slices.SortFunc(sorted, func(a, b *Document) int { return strings.Compare(a.Rel, b.Rel) })
	var out []indexEntry
	group := map[string]int{}
	for _, d := range sorted {
		if key := sameDescription(d.Description); opt.Team && key != "" {
			if i, ok := group[key]; ok {
				out[i].docs = append(out[i].docs, d)
				continue
			}
			group[key] = len(out)
		}
		out = append(out, indexEntry{docs: []*Document{d}})
	}
	for i := range out {
		out[i].line = indexLine(out[i].docs)
	}
	return out
}

// sameDescription makes descriptions equal that say the same in other spelling.
func sameDescription(s string) string {
	return strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(s), " ")), ".,;:!?)]}'\"`")
}

// entryLine is the entry that a generated index has for a document, without the
// line end.
func entryLine(d *Document) string { return indexLine([]*Document{d}) }

// indexLine is the entry of the first of some documents, which names the others.
func indexLine(docs []*Document) string {
	d := docs[0]
	also := ""
	if len(docs) > 1 {
		rels := make([]string, len(docs)-1)
		for i, o := range docs[1:] {
			rels[i] = escapeRel(o.Rel)
		}
		also = alsoMark + strings.Join(rels, ", ") + ")"
	}
	target := "](" + escapeRel(d.Rel) + ")"
	// The link is whole: what is too long is taken from the title, and the hook
	// gets what is left.
	room := maxIndexLine - utf8.RuneCountInString("- ["+target)
	title := ellipsis(indexTitle(d), max(room, minIndexTitle))
	line := "- [" + title + target
	hook := indexHook(d)
	if left := maxIndexLine - utf8.RuneCountInString(line+indexDash); left > 1 && hook != "" {
		line += indexDash + ellipsis(hook, left)
	}
	return line + also
}

const (
	indexDash     = " — "
	alsoMark      = " (also: "
	minIndexTitle = 12 // what is left of a title when its path is very long
)

// alsoNamed are the paths that a line names in words, as the index of a team does.
func alsoNamed(text string, l IndexLine) []string {
	if l.Kind != IndexEntry || !strings.HasSuffix(text[:l.Span.End], ")") {
		return nil
	}
	line := text[l.Span.Start:l.Span.End]
	i := strings.LastIndex(line, alsoMark)
	if i < 0 {
		return nil
	}
	var out []string
	for name := range strings.SplitSeq(line[i+len(alsoMark):len(line)-1], ", ") {
		if forms := targetPaths(name); len(forms) > 0 {
			out = append(out, forms[0])
		}
	}
	return out
}

// indexTitle is the title of a document as the text of a link.
func indexTitle(d *Document) string {
	s := indexText(d.Title)
	if !balanced(s) {
		s = strings.NewReplacer("[", "(", "]", ")").Replace(s)
	}
	// A backslash in front of the bracket would take it for text.
	s = strings.TrimRight(s, `\ `)
	if s == "" {
		s = "memory"
	}
	return s
}

// indexHook is what an entry says: the description, and nothing without one.
func indexHook(d *Document) string { return indexText(d.Description) }

// indexText is a text of a header as part of an entry: one line in which nothing
// begins code or ends a link.
func indexText(s string) string {
	s = strings.NewReplacer("`", "'", "](", "] (").Replace(CleanLine(s))
	return ellipsis(s, maxIndexText)
}

// ellipsis cuts s after n characters, the last of which says so.
func ellipsis(s string, n int) string {
	if cut, long := clipRunes(s, n); long {
		cut, _ = clipRunes(cut, n-1)
		return strings.TrimRight(cut, " ") + "…"
	}
	return s
}

// balanced tells whether every bracket has its other half.
func balanced(s string) bool {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '[':
			depth++
		case ']':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0
}

// escapeRel is a path as the target of a link.
func escapeRel(rel string) string { return strings.TrimPrefix(encodeRef("", rel), ":") }
