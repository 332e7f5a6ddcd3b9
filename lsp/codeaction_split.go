package lsp

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/memls/memls/memory"
)

// maxSplit bounds the files that one action makes.
const maxSplit = 100

// splitActions make memories of their own of the entries of one that holds
// several: of the selected ones, or of all but the first.
func (f *features) splitActions(p *page, at memory.Span) []action {
	entries := memory.Entries(p.doc)
	if len(entries) < 2 || len(entries) > maxSplit || p.doc.Truncated || p.doc.Lossy || !f.support().CreateFiles {
		return nil
	}
	var chosen []memory.Entry
	for _, e := range entries {
		if e.Span.Start <= at.End && at.Start <= e.Span.End {
			chosen = append(chosen, e)
		}
	}
	var out []action
	if n := len(chosen); n > 0 && n < len(entries) {
		title := "Move this entry to a memory of its own"
		if n > 1 {
			title = fmt.Sprintf("Move these %d entries to memories of their own", n)
		}
		out = append(out, action{id: "extract", title: title, kind: protocol.CodeActionKindRefactorExtract, edit: f.splitting(p, chosen)})
	}
	return append(out, action{
		id: "split", title: fmt.Sprintf("Split into %d memories", len(entries)), kind: protocol.CodeActionKindRefactorExtract, edit: f.splitting(p, entries[1:]),
	})
}

// splitting moves entries to new files beside the page's own, with lines in the
// index if there is one.
func (f *features) splitting(p *page, entries []memory.Entry) func(*workspaceEdit) error {
	return func(w *workspaceEdit) error {
		index, err := f.indexPage(p.snap, p.Root)
		if err != nil {
			return err
		}
		taken := map[string]bool{}
		var made []*memory.Document
		var gone []memory.Replacement
		for _, e := range entries {
			place, err := f.freePlace(p, p.statement(e), taken)
			if err != nil {
				return err
			}
			text, err := p.entryFile(e)
			if err != nil {
				return err
			}
			w.create(place.Path(), text)
			made, gone = append(made, place.Parse([]byte(text))), append(gone, p.removal(e))
		}
		w.text(p, gone...)
		if index != nil {
			docs := p.snap.Of(p.Root)
			w.text(index, memory.UpdateIndex(index.indexFile(), docs, slices.Concat(docs, made), f.indexOptions(p.Root)).Replace...)
		}
		return nil
	}
}

// freePlace is a place for a new memory beside the page's that no file has, nor
// one of those that are taken already.
func (f *features) freePlace(p *page, name string, taken map[string]bool) (memory.Place, error) {
	slug := memory.Slug(name)
	for n := 1; ; n++ {
		at := memory.Place{Root: p.Root, Rel: path.Join(path.Dir(p.Rel), slug+".md")}
		if n > 1 {
			at.Rel = path.Join(path.Dir(p.Rel), fmt.Sprintf("%s-%d.md", slug, n))
		}
		free, err := f.free(p.snap, at)
		if err != nil {
			return at, err
		}
		if key := strings.ToLower(at.Rel); free && !taken[key] {
			taken[key] = true
			return at, nil
		}
	}
}

// entryFile is the text of a memory that says what an entry of the page does,
// with the keys that hold for each of its entries.
func (p *page) entryFile(e memory.Entry) (string, error) {
	d, eol, says := p.doc, memory.LineEnd(p.doc.Text), p.statement(e)
	changes := []memory.KeyChange{{Key: "name", Text: clip(says, maxEntryName)}, {Key: "description", Text: clip(says, maxAbout)}}
	add := func(key, value string) {
		if value != "" {
			changes = append(changes, memory.KeyChange{Key: key, Text: value})
		}
	}
	add("type", p.kind())
	if len(d.Keywords) > 0 {
		changes = append(changes, memory.KeyChange{Key: "keywords", List: d.Keywords})
	}
	add("category", d.Category)
	if d.Pinned {
		add("pinned", "true")
	}
	if d.Status != memory.StatusActive {
		add("status", d.Status)
	}
	for _, key := range []string{"expires_at", "created_at", "updated_at", "last_verified_at"} {
		if k, ok := keyOf(d, key); ok {
			add(key, strings.Trim(d.Text[k.ValueSpan.Start:k.ValueSpan.End], `"'`))
		}
	}
	body := withoutMark(d.Text[e.Span.Start:e.Span.End]) + eol + p.definitions(e, eol)
	reps, err := memory.SetKeys(memory.Parse([]byte(body)), changes...)
	if err != nil {
		return "", err
	}
	return memory.ReplaceText(body, reps...)
}

// definitions are the lines that say where the links of an entry lead which name
// their target by a label; with a blank line in front.
func (p *page) definitions(e memory.Entry, eol string) string {
	var b strings.Builder
	for _, line := range e.Definitions(p.doc) {
		b.WriteString(p.doc.Text[line.Start:line.End] + eol)
	}
	if b.Len() == 0 {
		return ""
	}
	return eol + b.String()
}

// statement is what an entry says in one line, without marks of links and of
// emphasis; empty for one of code or the like.
func (p *page) statement(e memory.Entry) string {
	var b strings.Builder
	at := e.SummarySpan.Start
	for _, l := range p.links() {
		if l.Span.Start >= at && l.Span.End <= e.SummarySpan.End {
			b.WriteString(p.doc.Text[at:l.Span.Start] + l.Text)
			at = l.Span.End
		}
	}
	b.WriteString(p.doc.Text[at:max(at, e.SummarySpan.End)])
	return memory.CleanLine(strings.NewReplacer("**", "", "__", "", "`", "").Replace(b.String()))
}

// maxEntryName bounds a name that is taken from an entry.
const maxEntryName = 72

var itemMark = regexp.MustCompile(`^(?:[-*+•]|[0-9]{1,9}[.)])[ \t]+`)

// withoutMark is an entry without its list mark, and its further lines without
// the indentation that the mark asked for.
func withoutMark(entry string) string {
	width := len(entry) - len(strings.TrimLeft(entry, " \t"))
	if m := itemMark.FindString(entry[width:]); m != "" {
		width += len(m)
	} else {
		return entry
	}
	var b strings.Builder
	b.WriteString(entry[width:wholeLine(entry, width).End])
	for pos := wholeLine(entry, width).End; pos < len(entry); {
		next := nextLine(entry, pos)
		b.WriteString(entry[pos:min(next, len(entry))])
		line := wholeLine(entry, min(next, len(entry)))
		s := entry[line.Start:line.End]
		n := 0
		for n < width && n < len(s) && (s[n] == ' ' || s[n] == '\t') {
			n++
		}
		b.WriteString(s[n:])
		pos = line.End
	}
	return b.String()
}
