package lsp

import (
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/memls/memls/memory"
)

// indexOptions are those of a root's index at this moment.
func (f *features) indexOptions(root *memory.Root) memory.IndexOptions {
	return memory.IndexOptions{Team: root.Scope == memory.ScopeTeam, Now: f.opt.Now()}
}

// indexFile is the page of an index as the functions of an index take it: its
// ranges are those of the page's text.
func (p *page) indexFile() *memory.IndexFile { return memory.ParseIndex([]byte(p.doc.Text)) }

// listed are the refs of the memories that an index leads to.
func (p *page) listed() map[string]bool {
	out := map[string]bool{}
	for _, l := range p.links() {
		if d, ok := p.resolve(l); ok {
			out[d.Ref] = true
		}
	}
	return out
}

// indexTitleOf is the title of a memory as its entry in a generated index has it;
// empty for one that has no entry.
func indexTitleOf(d *memory.Document) string {
	line := strings.TrimPrefix(indexEntryOf(d), "[")
	title, _, _ := strings.Cut(line, "](")
	return title
}

// indexEntryOf is the entry of a memory in a generated index, without its mark;
// empty for one that is to have none.
func indexEntryOf(d *memory.Document) string {
	line := memory.GenerateIndex([]*memory.Document{d}, memory.IndexOptions{}).Text
	return strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "- ")
}

func allBut(docs []*memory.Document, gone ...*memory.Document) []*memory.Document {
	return slices.DeleteFunc(slices.Clone(docs), func(d *memory.Document) bool {
		return slices.ContainsFunc(gone, func(g *memory.Document) bool { return g.Ref == d.Ref })
	})
}

// listingActions bring a memory into the index of its root, or out of it; a root
// without one gets one.
func (f *features) listingActions(p *page) ([]action, error) {
	if p.saved == nil {
		return nil, nil
	}
	index, err := f.indexPage(p.snap, p.Root)
	if err != nil {
		return nil, err
	}
	docs, opt := p.snap.Of(p.Root), f.indexOptions(p.Root)
	if index == nil {
		return f.firstIndex(p, docs, opt)
	}
	var change memory.IndexChange
	a := action{id: "list", title: "Add to " + memory.IndexName, kind: protocol.CodeActionKindQuickFix}
	if index.listed()[p.saved.Ref] {
		a = action{id: "unlist", title: "Remove from " + memory.IndexName, kind: protocol.CodeActionKindRefactor}
		change = memory.UpdateIndex(index.indexFile(), docs, allBut(docs, p.saved), opt)
	} else {
		change = memory.UpdateIndex(index.indexFile(), allBut(docs, p.saved), docs, opt)
	}
	if len(change.Replace) == 0 {
		return nil, nil // there is no room, or it is to have no entry
	}
	a.edit = index.changes(change.Replace)
	return []action{a}, nil
}

// firstIndex makes an index for a root that has none.
func (f *features) firstIndex(p *page, docs []*memory.Document, opt memory.IndexOptions) ([]action, error) {
	at := memory.Place{Root: p.Root, Rel: memory.IndexName, Index: true}
	free, err := f.free(p.snap, at)
	text := memory.GenerateIndex(docs, opt).Text
	if err != nil || !free || text == "" || !f.support().CreateFiles {
		return nil, err
	}
	return []action{{id: "index", title: "Create " + memory.IndexName, kind: protocol.CodeActionKindSource, edit: func(w *workspaceEdit) error {
		w.create(at.Path(), text)
		return nil
	}}}, nil
}

// indexActions bring an index and the files of its root together.
func (f *features) indexActions(p *page, at memory.Span) ([]action, error) {
	if p.Rel != memory.IndexName {
		return nil, nil // of a folder: it is nobody's index
	}
	x, docs, opt := p.indexFile(), p.snap.Of(p.Root), f.indexOptions(p.Root)
	drift := x.Drift(docs, opt.Active)
	problems := x.Problems(drift)
	out, dead := p.lineActions(at, problems)
	if len(dead) > 0 {
		title := fmt.Sprintf("Remove %d entries that lead nowhere", len(dead))
		if len(dead) == 1 {
			title = "Remove the entry that leads nowhere"
		}
		out = append(out, action{id: "dead", title: title, kind: protocol.CodeActionKindQuickFix, mends: coded(problems, memory.ProblemIndexMissing), edit: p.changes(dead)})
	}
	add := func(id, title string, kind protocol.CodeActionKind, change memory.IndexChange, mends []memory.Problem) {
		if len(change.Replace) > 0 {
			out = append(out, action{id: id, title: title, kind: kind, mends: mends, edit: p.changes(change.Replace)})
		}
	}
	if missing := drift.Unlisted; len(missing) > 0 {
		title := fmt.Sprintf("Add the %d memories that it does not list", len(missing))
		if len(missing) == 1 {
			title = "Add the memory that it does not list"
		}
		add("missing", title, protocol.CodeActionKindQuickFix, memory.UpdateIndex(x, allBut(docs, missing...), docs, opt), coded(problems, memory.ProblemIndexUnlisted))
	}
	add("rebuild", "Rebuild "+memory.IndexName, protocol.CodeActionKindSource, memory.RebuildIndex(x, docs, opt), nil)
	return out, nil
}

// coded are the problems with a code.
func coded(problems []memory.Problem, code string) []memory.Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(m memory.Problem) bool { return m.Code != code })
}

// lineActions take out the entry of an index that a selection touches. dead are
// the removals of all entries that have links of which none leads anywhere.
func (p *page) lineActions(at memory.Span, problems []memory.Problem) (out []action, dead []memory.Replacement) {
	links := p.links()
	for i, e := range memory.Entries(p.doc) {
		found, leads := false, false
		for _, l := range links {
			if l.Span.Start >= e.Span.Start && l.Span.Start < e.Span.End {
				_, ok := p.resolve(l)
				found, leads = true, leads || ok
			}
		}
		if !found {
			continue
		}
		removal := p.removal(e)
		if !leads {
			dead = append(dead, removal)
		}
		if e.Span.Start <= at.End && at.Start <= e.Span.End {
			out = append(out, action{
				id: fmt.Sprint("entry ", i), title: "Remove this entry", kind: protocol.CodeActionKindQuickFix,
				mends: slices.DeleteFunc(slices.Clone(problems), func(m memory.Problem) bool {
					return m.Code == memory.ProblemIndexUnlisted || m.Span.Start < e.Span.Start || m.Span.Start >= e.Span.End
				}),
				preferred: !leads, edit: p.changes([]memory.Replacement{removal}),
			})
		}
	}
	return out, dead
}

func (p *page) removal(e memory.Entry) memory.Replacement {
	return memory.Replacement{Span: e.Removal(p.doc)}
}
