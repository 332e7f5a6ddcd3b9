package lsp

import (
	"slices"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/memls/memls/memory"
)

// workspaceEdit gathers changes of files that the client makes itself: they are
// the editor's own, with its undo, and pass through no plan.
type workspaceEdit struct {
	support Support
	// label says what the edit does, beside each of its changes, where the client
	// shows that.
	label   string
	confirm bool // the client asks the person first
	changes []protocol.DocumentChange
	texts   map[uri.URI][]protocol.TextEdit
	// lacking: the client cannot do all of it.
	lacking bool
}

// annotation is the one that all changes of an edit refer to.
const annotation = "memls"

func (f *features) newEdit(label string) *workspaceEdit {
	return &workspaceEdit{support: f.support(), label: label, texts: map[uri.URI][]protocol.TextEdit{}}
}

// text changes the text of a page. A page may come up once.
func (w *workspaceEdit) text(p *page, reps ...memory.Replacement) {
	if len(reps) == 0 {
		return
	}
	reps = slices.Clone(reps)
	slices.SortStableFunc(reps, func(a, b memory.Replacement) int { return a.Start - b.Start })
	edits := make([]protocol.TextEdit, len(reps))
	for i, r := range reps {
		edits[i] = protocol.TextEdit{Range: p.rangeOf(r.Span), NewText: r.New}
	}
	var version *int32
	if p.open {
		version = &p.version
	}
	w.edit(uri.URI(p.uri), version, edits)
}

func (w *workspaceEdit) edit(to uri.URI, version *int32, edits []protocol.TextEdit) {
	w.texts[to] = append(w.texts[to], edits...)
	change := &protocol.TextDocumentEdit{Edits: make([]protocol.TextDocumentEditElement, len(edits))}
	change.TextDocument.URI, change.TextDocument.Version = to, version
	for i := range edits {
		if !w.support.Annotations {
			change.Edits[i] = &edits[i]
			continue
		}
		change.Edits[i] = &protocol.AnnotatedTextEdit{TextEdit: edits[i], AnnotationID: annotation}
	}
	w.changes = append(w.changes, change)
}

// create makes a new file. The client refuses the whole if there is one.
func (w *workspaceEdit) create(path, text string) {
	if w.lacking = w.lacking || !w.support.CreateFiles; w.lacking {
		return
	}
	to := uri.File(path)
	c := &protocol.CreateFile{Kind: "create", URI: to}
	c.AnnotationID = w.annotation()
	w.changes = append(w.changes, c)
	w.edit(to, nil, []protocol.TextEdit{{NewText: text}})
}

// rename renames a file. The client refuses the whole if the new name is taken.
func (w *workspaceEdit) rename(p *page, path string) {
	if w.lacking = w.lacking || !w.support.RenameFiles; w.lacking {
		return
	}
	r := &protocol.RenameFile{Kind: "rename", OldURI: uri.URI(p.uri), NewURI: uri.File(path)}
	r.AnnotationID = w.annotation()
	w.changes = append(w.changes, r)
}

func (w *workspaceEdit) annotation() protocol.ChangeAnnotationIdentifier {
	if w.support.Annotations {
		return annotation
	}
	return ""
}

// empty tells whether there is nothing to change.
func (w *workspaceEdit) empty() bool { return len(w.changes) == 0 && !w.lacking }

// result is the edit in the form that the client takes; nil when it cannot do it.
func (w *workspaceEdit) result() *protocol.WorkspaceEdit {
	switch {
	case w.lacking:
		return nil
	case !w.support.DocumentChanges:
		return &protocol.WorkspaceEdit{Changes: w.texts}
	}
	e := &protocol.WorkspaceEdit{DocumentChanges: w.changes}
	if e.DocumentChanges == nil {
		e.DocumentChanges = []protocol.DocumentChange{}
	}
	if w.support.Annotations {
		a := protocol.ChangeAnnotation{Label: w.label}
		if w.confirm {
			a.NeedsConfirmation = &w.confirm
		}
		e.ChangeAnnotations = map[protocol.ChangeAnnotationIdentifier]protocol.ChangeAnnotation{annotation: a}
	}
	return e
}
