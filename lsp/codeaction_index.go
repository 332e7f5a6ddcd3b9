package lsp

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/memls/memls/memory"
)

// indexOptions are those of a root's index at this moment.
func (f *features) indexOptions(root *memory.Root) memory.IndexOptions {
	return memory.IndexOptions{Team: root.Scope == memory.ScopeTeam, Now: f.opt.Now()}
}

// indexFile is the page of an index as the functions of an index take it.
func (p *page) indexFile() *memory.IndexFile { return memory.NewIndexFile(p.doc) }

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
	refs := make(map[string]bool, len(gone))
	for _, d := range gone {
		refs[d.Ref] = true
	}
	return slices.DeleteFunc(slices.Clone(docs), func(d *memory.Document) bool { return refs[d.Ref] })
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
	opt := f.indexOptions(p.Root)
	switch {
	case index == nil:
		return f.firstIndex(p, opt)
	case index.listed()[p.saved.Ref]:
		return []action{{id: "unlist", title: "Remove from " + memory.IndexName, kind: protocol.CodeActionKindRefactor, edit: index.updating(func(docs []*memory.Document) memory.IndexChange {
			return memory.UpdateIndex(index.indexFile(), docs, allBut(docs, p.saved), opt)
		})}}, nil
	case opt.Active(p.saved):
		return []action{{id: "list", title: "Add to " + memory.IndexName, kind: protocol.CodeActionKindQuickFix, edit: index.updating(func(docs []*memory.Document) memory.IndexChange {
			return memory.UpdateIndex(index.indexFile(), allBut(docs, p.saved), docs, opt)
		})}}, nil
	}
	return nil, nil
}

// updating is the edit of an index that is made when the action is chosen: it
// costs what the root has of memories.
func (p *page) updating(change func(docs []*memory.Document) memory.IndexChange) func(*workspaceEdit) error {
	return func(w *workspaceEdit) error {
		c := change(p.snap.Of(p.Root))
		if len(c.Replace) == 0 {
			if len(c.Omitted) > 0 {
				return Fail(KindTooLarge, "there is no room in %s: programs would cut it off", memory.IndexName)
			}
			return Fail(KindConflict, "there is nothing to change in %s", memory.IndexName)
		}
		w.text(p, c.Replace...)
		return nil
	}
}

// firstIndex makes an index for a root that has none.
func (f *features) firstIndex(p *page, opt memory.IndexOptions) ([]action, error) {
	at := memory.Place{Root: p.Root, Rel: memory.IndexName, Index: true}
	free, err := f.free(p.snap, at)
	if err != nil || !free || !opt.Active(p.saved) || !f.support().CreateFiles {
		return nil, err
	}
	return []action{{id: "index", title: "Create " + memory.IndexName, kind: protocol.CodeActionKindSource, edit: func(w *workspaceEdit) error {
		w.create(at.Path(), memory.GenerateIndex(p.snap.Of(p.Root), opt).Text)
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
	if missing := drift.Unlisted; len(missing) > 0 {
		title := fmt.Sprintf("Add the %d memories that it does not list", len(missing))
		if len(missing) == 1 {
			title = "Add the memory that it does not list"
		}
		out = append(out, action{
			id: "missing", title: title, kind: protocol.CodeActionKindQuickFix, mends: coded(problems, memory.ProblemIndexUnlisted),
			edit: p.updating(func(docs []*memory.Document) memory.IndexChange {
				return memory.UpdateIndex(x, allBut(docs, missing...), docs, opt)
			}),
		})
	}
	return append(out, action{
		id: "rebuild", title: "Rebuild " + memory.IndexName, kind: protocol.CodeActionKindSource,
		edit: p.updating(func(docs []*memory.Document) memory.IndexChange { return memory.RebuildIndex(x, docs, opt) }),
	}), nil
}

// coded are the problems with a code.
func coded(problems []memory.Problem, code string) []memory.Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(m memory.Problem) bool { return m.Code != code })
}

// lineActions take out the entry of an index that a selection touches. dead are
// the removals of all entries that have links of which none leads anywhere.
func (p *page) lineActions(at memory.Span, problems []memory.Problem) (out []action, dead []memory.Replacement) {
	links := p.links()
	for i, line := range p.indexFile().Lines {
		if line.Kind != memory.IndexEntry {
			continue // prose, headings and facts are nobody's to take out
		}
		whole := wholeLine(p.doc.Text, line.Span.Start)
		if line.Mark.Len() > 0 {
			whole.End = wrappedEnd(p.doc.Text, whole.End)
		}
		found, leads := false, false
		for _, l := range links {
			if l.Span.Start >= whole.Start && l.Span.Start < whole.End {
				_, ok := p.resolve(l)
				found, leads = true, leads || ok
			}
		}
		if !found {
			continue
		}
		removal := memory.Replacement{Span: memory.Span{Start: whole.Start, End: min(nextLine(p.doc.Text, whole.End), len(p.doc.Text))}}
		if !leads {
			dead = append(dead, removal)
		}
		if whole.Start <= at.End && at.Start <= whole.End {
			out = append(out, action{
				id: fmt.Sprint("entry ", i), title: "Remove this entry", kind: protocol.CodeActionKindQuickFix,
				mends: slices.DeleteFunc(slices.Clone(problems), func(m memory.Problem) bool {
					return m.Code == memory.ProblemIndexUnlisted || m.Span.Start < whole.Start || m.Span.Start >= whole.End
				}),
				preferred: !leads, edit: p.changes([]memory.Replacement{removal}),
			})
		}
	}
	return out, dead
}

// wrappedEnd is where a list item ends whose line ends at end: behind the lines
// that are indented under it and are no items themselves.
func wrappedEnd(text string, end int) int {
	for end < len(text) {
		line := wholeLine(text, min(nextLine(text, end), len(text)))
		s := strings.TrimLeft(text[line.Start:line.End], " \t")
		if s == "" || line.Start+len(s) == line.End || listItem.MatchString(s) {
			break
		}
		end = line.End
	}
	return end
}

// listItem is how an item of a list begins.
var listItem = regexp.MustCompile(`^(?:[-*+]|\d+[.)])(?:\s|$)`)

func (p *page) removal(e memory.Entry) memory.Replacement {
	return memory.Replacement{Span: e.Removal(p.doc)}
}
