package lsp

import (
	"context"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/memls/memls/memory"
)

// methodShowDocument asks the client to show a document.
const methodShowDocument = "window/showDocument"

// showDocumentParams are LSP's ShowDocumentParams.
type showDocumentParams struct {
	URI       uri.URI         `json:"uri"`
	TakeFocus bool            `json:"takeFocus"`
	Selection *protocol.Range `json:"selection,omitzero"`
}

type showDocumentResult struct {
	Success bool `json:"success"`
}

// show serves memory/show: what a client runs as a command, from a lens say, to
// have a memory in front of the person.
func (f *features) show(ctx context.Context, q *ShowParams) (*ShowResult, error) {
	ref, err := memory.ParseRef(q.Ref)
	if err != nil {
		return nil, InvalidParam("ref", "%v", err)
	}
	snap, err := f.loaded(ctx)
	if err != nil {
		return nil, err
	}
	d, ok := snap.Get(ref.File())
	if !ok {
		return nil, about(q.Ref, KindNotFound, "there is no memory "+short(q.Ref))
	}
	p, ok := f.pageFor(snap, d)
	if !ok {
		return nil, about(q.Ref, KindConflict, "the text of "+d.Ref+" is not known")
	}
	result := &ShowResult{URI: p.uri}
	if !f.support().ShowDocument {
		return result, nil
	}
	params := showDocumentParams{URI: uri.URI(p.uri), TakeFocus: true}
	if ref.Entry != memory.NoEntry {
		entries := memory.Entries(p.doc)
		if ref.Entry >= len(entries) {
			return nil, about(q.Ref, KindNotFound, "there is no such entry")
		}
		r := p.rangeOf(entries[ref.Entry].Span)
		params.Selection = &r
	}
	var shown showDocumentResult
	if err := f.s.Request(ctx, methodShowDocument, &params, &shown); err != nil {
		return nil, err
	}
	result.Shown = shown.Success
	return result, nil
}
