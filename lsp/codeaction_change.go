package lsp

import (
	"sync"

	"go.lsp.dev/protocol"

	"github.com/memls/memls/memory"
)

// The kinds of the code actions that are commands: they change memories through
// a plan, and not by an edit that the client makes.
const (
	kindForget protocol.CodeActionKind = protocol.CodeActionKindRefactor + ".forget"
	kindUndo   protocol.CodeActionKind = protocol.CodeActionKindRefactor + ".undo"
)

// maxRecent bounds the memories of which the last operation is remembered.
const maxRecent = 1000

// recent remembers the last operation on each memory.
type recent struct {
	mu    sync.Mutex
	of    map[string]memory.Operation // by ref of the file
	order []string                    // refs, the oldest first
}

// note takes an operation that was made. It is called in the order of time.
func (r *recent) note(op *memory.Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[string]memory.Operation{}
	}
	for _, c := range op.Changes {
		if _, known := r.of[c.Ref]; !known {
			r.order = append(r.order, c.Ref)
		}
		r.of[c.Ref] = *op
	}
	for len(r.order) > maxRecent {
		delete(r.of, r.order[0])
		r.order = r.order[1:]
	}
}

// on is the last operation on a memory.
func (r *recent) on(ref string) (memory.Operation, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	op, ok := r.of[ref]
	return op, ok
}

// changeActions are the code actions of a page that are commands. A page that the
// editor has not saved has none: they would be refused.
func (f *features) changeActions(p *page, at memory.Span) ([]protocol.CodeAction, error) {
	c := f.changer.Load()
	if c == nil || c.store == nil || p.Index || p.Root.ReadOnly || p.saved == nil || p.open && !holds(p.saved, p.doc.Text) {
		return nil, nil
	}
	var out []protocol.CodeAction
	add := func(kind protocol.CodeActionKind, title, command string, argument any) error {
		raw, err := encode(argument)
		if err != nil {
			return err
		}
		out = append(out, protocol.CodeAction{Title: title, Kind: &kind, Command: protocol.Command{
			Title: title, Command: commandPrefix + command, Arguments: []protocol.LSPAny{protocol.LSPAny(raw)},
		}})
		return nil
	}
	ref := memory.Ref{Scope: p.Root.Scope, Rel: p.Rel, Entry: memory.NoEntry}
	if whole, err := memory.ParseRef(p.saved.Ref); err == nil {
		ref = whole
	}
	// Inv: the text is that of the file, and so are the entries.
	entries := memory.Entries(p.doc)
	for i, e := range entries {
		if len(entries) > 1 && e.Span.Start <= at.Start && at.Start <= e.Span.End {
			one := ref
			one.Entry = i
			if err := add(kindForget, "Forget this entry…", "confirmForget", ConfirmForgetParams{Ref: one.String(), Version: p.saved.Version}); err != nil {
				return nil, err
			}
			break
		}
	}
	if err := add(kindForget, "Forget this memory…", "confirmForget", ConfirmForgetParams{Ref: p.saved.Ref, Version: p.saved.Version}); err != nil {
		return nil, err
	}
	if op, ok := f.recent.on(p.saved.Ref); ok && f.undoes(op, p.saved) {
		if err := add(kindUndo, "Undo: "+string(op.Kind), "undo", UndoParams{Operation: op.ID}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// undoes tells whether an operation can still be taken back, as far as this
// memory is concerned.
func (f *features) undoes(op memory.Operation, d *memory.Document) bool {
	if op.UndoUntil.IsZero() || !f.opt.Now().Before(op.UndoUntil) {
		return false
	}
	for _, c := range op.Changes {
		if c.Ref == d.Ref {
			return c.To == d.Version
		}
	}
	return false
}
