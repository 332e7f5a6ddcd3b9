package lsp

import (
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/protocol"

	"github.com/memls/memls/memory"
)

// codeActionParams are the params of textDocument/codeAction.
type codeActionParams struct {
	TextDocument textDocument `json:"textDocument"`
	Range        Range        `json:"range"`
	Context      struct {
		Diagnostics []jsontext.Value `json:"diagnostics"`
		Only        []string         `json:"only"`
	} `json:"context"`
}

func (p *codeActionParams) where() string { return p.TextDocument.URI }

// action is one thing that can be done with a page.
type action struct {
	id        string // tells it from the other ones of the page, for resolving
	title     string
	kind      protocol.CodeActionKind
	mends     []memory.Problem // the diagnostics that it does away with
	preferred bool
	edit      func(*workspaceEdit) error
}

// actionData is what an action that has no edit yet keeps for codeAction/resolve.
type actionData struct {
	URI   string `json:"uri"`
	Range Range  `json:"range"`
	ID    string `json:"id"`
}

// codeActions serves textDocument/codeAction. A client that asks for edits when
// they are chosen gets none here.
func (f *features) codeActions(ctx context.Context, p *page, q *codeActionParams) (any, error) {
	out := []protocol.CodeAction{}
	if !f.support().CodeActions {
		return out, nil
	}
	actions, err := f.actionsFor(p, p.span(q.Range))
	if err != nil {
		return nil, err
	}
	for _, a := range actions {
		if !wanted(a.kind, q.Context.Only) {
			continue
		}
		c := protocol.CodeAction{Title: a.title, Kind: &a.kind, Diagnostics: p.mended(a, q.Context.Diagnostics)}
		if a.preferred {
			c.IsPreferred = &a.preferred
		}
		if f.support().ResolvesEdits {
			data, err := encode(actionData{URI: p.uri, Range: q.Range, ID: a.id})
			if err != nil {
				return nil, err
			}
			c.Data = protocol.LSPAny(data)
		} else if c.Edit, err = f.editOf(a); err != nil {
			// It turns out that it cannot be done; the others can.
			f.s.Log().Info("code action left out", "action", a.title, "err", err)
			continue
		}
		if c.Edit != nil || c.Data != nil {
			out = append(out, c)
		}
	}
	commands, err := f.changeActions(p, p.span(q.Range))
	if err != nil {
		return nil, err
	}
	for _, c := range commands {
		if wanted(*c.Kind, q.Context.Only) {
			out = append(out, c)
		}
	}
	return out, ctx.Err()
}

// span is where a range of the client lies in the text.
func (p *page) span(r Range) memory.Span {
	s := memory.Span{Start: p.at.offset(r.Start), End: p.at.offset(r.End)}
	s.End = max(s.Start, s.End)
	return s
}

// wanted tells whether a kind is among those that a client asks for, which stand
// for all below them.
func wanted(kind protocol.CodeActionKind, only []string) bool {
	return len(only) == 0 || slices.ContainsFunc(only, func(k string) bool {
		return k == "" || string(kind) == k || strings.HasPrefix(string(kind), k+".")
	})
}

// mended are the diagnostics of the client that an action does away with.
func (p *page) mended(a action, all []jsontext.Value) []protocol.Diagnostic {
	var out []protocol.Diagnostic
	for _, raw := range all {
		d := capability[diagnostic](raw)
		if d.Source != diagnosticSource || !slices.ContainsFunc(a.mends, func(m memory.Problem) bool {
			return d.Code == m.Code && d.Range == p.at.rangeOf(m.Span)
		}) {
			continue
		}
		severity := protocol.DiagnosticSeverity(d.Severity)
		out = append(out, protocol.Diagnostic{
			Range: protocolRange(d.Range), Severity: severity, Code: protocol.String(d.Code),
			Source: protocol.NewOptional(d.Source), Message: protocol.String(d.Message),
		})
	}
	return out
}

func (f *features) editOf(a action) (*protocol.WorkspaceEdit, error) {
	w := f.newEdit(a.title)
	if err := a.edit(w); err != nil {
		return nil, err
	}
	return w.result(), nil
}

// resolveAction serves codeAction/resolve: the edit is made of the files as they
// are now. An action that makes no sense any more is refused.
func (f *features) resolveAction(ctx context.Context, item *looseObject) (looseObject, error) {
	data := capability[actionData]((*item)["data"])
	path, ok := filePathOf(data.URI)
	if !ok {
		return nil, InvalidParam("data", "is none that this server gave")
	}
	b := f.overlays.get(path)
	Release(ctx)
	p, ok, err := f.pageOf(ctx, data.URI, path, b)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, Fail(KindNotFound, "the file is no memory any more")
	}
	actions, err := f.actionsFor(p, p.span(data.Range))
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(actions, func(a action) bool { return a.id == data.ID })
	if i < 0 {
		return nil, Fail(KindConflict, "the file has changed: there is nothing to do any more")
	}
	edit, err := f.editOf(actions[i])
	if err != nil {
		return nil, err
	}
	raw, err := encode(edit)
	if err != nil {
		return nil, err
	}
	(*item)["edit"] = jsontext.Value(raw)
	return *item, nil
}

// actionsFor are the actions for a selection of a page. In a root that is read
// only there is nothing to do.
func (f *features) actionsFor(p *page, at memory.Span) ([]action, error) {
	if p.Root.ReadOnly {
		return nil, nil
	}
	if p.Index {
		return f.indexActions(p, at)
	}
	out := f.repairs(p, at)
	out = append(out, p.headerActions()...)
	listing, err := f.listingActions(p)
	if err != nil {
		return nil, err
	}
	out = append(out, listing...)
	out = append(out, f.supersedeActions(p)...)
	return append(out, f.splitActions(p, at)...), nil
}

// supersedeActions put the page's memory in the place of one that says nearly the
// same.
func (f *features) supersedeActions(p *page) []action {
	var out []action
	for _, d := range f.duplicates(p) {
		if d.Root.Real != p.Root.Real || len(out) == maxDuplicates {
			continue
		}
		name, ok := wikiName(p, d)
		if !ok || slices.Contains(p.doc.Supersedes, name) {
			continue
		}
		mine, err := memory.SetKeys(p.doc, memory.KeyChange{Key: "supersedes", List: append(slices.Clone(p.doc.Supersedes), name)})
		if err != nil {
			continue
		}
		other, ok := f.pageFor(p.snap, d)
		if !ok {
			continue
		}
		theirs, err := memory.SetKeys(other.doc, memory.KeyChange{Key: "status", Text: memory.StatusSuperseded})
		if err != nil {
			continue
		}
		out = append(out, action{
			id: "supersede " + d.Ref, title: "Supersede “" + clip(d.Title, maxSymbolRunes) + "” by this memory", kind: protocol.CodeActionKindRefactor,
			edit: func(w *workspaceEdit) error {
				w.text(p, mine...)
				w.text(other, theirs...)
				return nil
			},
		})
	}
	return out
}

// changes is the edit of an action that only changes its page.
func (p *page) changes(reps []memory.Replacement) func(*workspaceEdit) error {
	return func(w *workspaceEdit) error {
		w.text(p, reps...)
		return nil
	}
}
