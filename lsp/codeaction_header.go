package lsp

import (
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/memls/memls/memory"
)

// headerActions change keys of the header, or add one. A header that is not valid
// YAML offers its repair alone.
func (p *page) headerActions() []action {
	var out []action
	set := func(id, title string, kind protocol.CodeActionKind, changes ...memory.KeyChange) {
		reps, err := memory.SetKeys(p.doc, changes...)
		if err == nil && len(reps) > 0 {
			out = append(out, action{id: id, title: title, kind: kind, edit: p.changes(reps)})
		}
	}
	if missing := p.missingKeys(); len(missing) > 0 {
		names := make([]string, len(missing))
		for i, c := range missing {
			names[i] = c.Key
		}
		title := "Add " + enumerate(names) + " to the header"
		if len(memory.Keys(p.doc)) == 0 {
			title = "Add a header"
		}
		set("header", title, protocol.CodeActionKindQuickFix, missing...)
		if n := len(out); n > 0 {
			out[n-1].mends = incomplete(p.doc)
		}
	}
	_, given := keyOf(p.doc, "pinned")
	switch {
	case !p.doc.Pinned:
		set("pin", "Pin this memory", protocol.CodeActionKindRefactorRewrite, memory.KeyChange{Key: "pinned", Text: "true"})
	case given:
		set("unpin", "Unpin this memory", protocol.CodeActionKindRefactorRewrite, memory.KeyChange{Key: "pinned"})
	}
	if p.doc.Status == memory.StatusActive {
		set("superseded", "Mark as superseded", protocol.CodeActionKindRefactorRewrite, memory.KeyChange{Key: "status", Text: memory.StatusSuperseded})
		set("expired", "Mark as expired", protocol.CodeActionKindRefactorRewrite, memory.KeyChange{Key: "status", Text: memory.StatusExpired})
	} else {
		set("active", "Mark as active", protocol.CodeActionKindRefactorRewrite, memory.KeyChange{Key: "status"})
	}
	return out
}

// keyOf is the key of a name, or the one that stands for it in the metadata map.
func keyOf(d *memory.Document, name string) (memory.Key, bool) {
	keys := memory.Keys(d)
	for _, want := range []string{name, "metadata." + name} {
		if i := slices.IndexFunc(keys, func(k memory.Key) bool { return k.Name == want }); i >= 0 {
			return keys[i], true
		}
	}
	return memory.Key{}, false
}

func enumerate(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// missingKeys are the keys that every memory should have, with what the text says
// for them.
func (p *page) missingKeys() []memory.KeyChange {
	var out []memory.KeyChange
	d := p.doc
	if _, ok := keyOf(d, "name"); !ok && !meant(d, "name") && !meant(d, "title") {
		if _, ok := keyOf(d, "title"); !ok {
			out = append(out, memory.KeyChange{Key: "name", Text: d.Title})
		}
	}
	if d.Description == "" && !meant(d, "description") {
		if about := p.about(); about != "" {
			out = append(out, memory.KeyChange{Key: "description", Text: about})
		}
	}
	if !d.TypeGiven && !meant(d, "type") {
		out = append(out, memory.KeyChange{Key: "type", Text: p.kind()})
	}
	return out
}

// kind is the type of a memory, or the one that fits the scope of its root when it
// has none.
func (p *page) kind() string {
	switch {
	case p.doc.Type != "":
		return p.doc.Type
	case p.Root.Scope == memory.ScopeUser:
		return memory.TypeUser
	}
	return memory.TypeProject
}

// maxAbout bounds a description that is taken from the text; the longest of real
// ones has some 740 characters, most a line.
const maxAbout = 150

// about is what the first entry of the body says that says anything.
func (p *page) about() string {
	for _, e := range memory.Entries(p.doc) {
		if s := clip(p.statement(e), maxAbout); s != "" {
			return s
		}
	}
	return ""
}
