package lsp

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/memls/memls/memory"
)

// indexEntry is an entry of an index with where its links lead.
type indexEntry struct {
	memory.Entry
	to     []*memory.Document
	broken bool // it has links, and none of them leads anywhere
}

// indexEntries are the entries of an index that have links.
func (p *page) indexEntries() []indexEntry {
	var out []indexEntry
	links := p.links()
	for _, e := range memory.Entries(p.doc) {
		x := indexEntry{Entry: e, broken: true}
		found := false
		for _, l := range links {
			if l.Span.Start < e.Span.Start || l.Span.Start >= e.Span.End {
				continue
			}
			found = true
			if d, ok := p.resolve(l); ok {
				x.to, x.broken = append(x.to, d), false
			}
		}
		if found {
			out = append(out, x)
		}
	}
	return out
}

// lists tells whether an entry leads to a memory, and only that it does.
func (e indexEntry) lists(d *memory.Document) (lists, only bool) {
	only = true
	for _, to := range e.to {
		lists = lists || to.Ref == d.Ref
		only = only && to.Ref == d.Ref
	}
	return lists, lists && only
}

func (p *page) removal(e memory.Entry) memory.Replacement {
	return memory.Replacement{Span: e.Removal(p.doc)}
}

// addition puts lines for memories into an index: each behind the last entry that
// leads into its folder, else behind the last entry of all.
func (p *page) addition(entries []indexEntry, docs []*memory.Document) []memory.Replacement {
	eol := memory.LineEnd(p.doc.Text)
	var out []memory.Replacement
	for i, d := range docs {
		line := eol + indexLine(d)
		at := p.doc.Body.End
		if len(entries) > 0 {
			at = entries[len(entries)-1].Span.End
		}
		for _, e := range entries {
			if slices.ContainsFunc(e.to, func(to *memory.Document) bool { return path.Dir(to.Rel) == path.Dir(d.Rel) }) {
				at = e.Span.End
			}
		}
		switch {
		case len(entries) > 0 || i > 0:
		case p.doc.Body.Len() == 0:
			line = indexLine(d)
		default:
			line = eol + line
		}
		out = append(out, memory.Replacement{Span: memory.Span{Start: at, End: at}, New: line})
	}
	return out
}

// listingActions bring a memory into the index of its root, or out of it.
func (f *features) listingActions(p *page) ([]action, error) {
	if p.saved == nil {
		return nil, nil
	}
	index, err := f.indexPage(p.snap, p.Root)
	if err != nil || index == nil {
		return nil, err
	}
	entries := index.indexEntries()
	var lines []memory.Replacement
	listed := false
	for _, e := range entries {
		lists, only := e.lists(p.saved)
		listed = listed || lists
		if only {
			lines = append(lines, index.removal(e.Entry))
		}
	}
	switch {
	case !listed:
		reps := index.addition(entries, []*memory.Document{p.doc})
		return []action{{id: "list", title: "Add to " + memory.IndexName, kind: protocol.CodeActionKindQuickFix, edit: index.changes(reps)}}, nil
	case len(lines) > 0:
		return []action{{id: "unlist", title: "Remove from " + memory.IndexName, kind: protocol.CodeActionKindRefactor, edit: index.changes(lines)}}, nil
	}
	return nil, nil
}

// indexActions bring an index and the files of its root together.
func (f *features) indexActions(p *page, at memory.Span) ([]action, error) {
	if p.Rel != memory.IndexName {
		return nil, nil // of a folder: it is nobody's index
	}
	entries := p.indexEntries()
	listed := map[string]bool{}
	var out []action
	var dead []memory.Replacement
	for i, e := range entries {
		for _, d := range e.to {
			listed[d.Ref] = true
		}
		if e.Span.Start <= at.End && at.Start <= e.Span.End {
			out = append(out, action{
				id: fmt.Sprint("line ", i), title: "Remove this line", kind: protocol.CodeActionKindQuickFix,
				preferred: e.broken, edit: p.changes([]memory.Replacement{p.removal(e.Entry)}),
			})
		}
		if e.broken {
			dead = append(dead, p.removal(e.Entry))
		}
	}
	if len(dead) > 0 {
		out = append(out, action{
			id: "dead", title: fmt.Sprintf("Remove %s that lead nowhere", plural(len(dead), "line")), kind: protocol.CodeActionKindQuickFix, edit: p.changes(dead),
		})
	}
	var missing []*memory.Document
	for d := range p.snap.All() {
		if d.Root.Prefix == p.Root.Prefix && !listed[d.Ref] && !d.Empty() {
			missing = append(missing, d)
		}
	}
	slices.SortFunc(missing, func(a, b *memory.Document) int { return cmp.Compare(a.Rel, b.Rel) })
	if len(missing) > 0 {
		out = append(out, action{
			id: "missing", title: "Add " + plural(len(missing), "memory") + " that it does not list", kind: protocol.CodeActionKindQuickFix,
			edit: func(w *workspaceEdit) error {
				w.text(p, p.addition(entries, missing)...)
				return nil
			},
		})
	}
	return out, nil
}

// plural is a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, ok := strings.CutSuffix(thing, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
