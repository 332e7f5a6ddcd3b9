package lsp

import (
	"context"

	"go.lsp.dev/protocol"

	"github.com/memls/memls/memory"
)

// hover serves textDocument/hover: on a link the memory that it leads to, on a
// key of the header what the key means.
func (f *features) hover(_ context.Context, p *page, q *positionParams) (any, error) {
	at := p.at.offset(q.Position)
	m := newMarkup(f.support().HoverMarkdown)
	if l, ok := p.link(at); ok {
		if d, ok := p.resolve(l); ok {
			f.card(m, f.seen(p.snap, d))
		} else {
			m.own("There is no memory ")
			m.code(l.Target)
			m.own(" here.")
		}
		return f.hoverOf(p, m, l.Span), nil
	}
	for _, k := range memory.Keys(p.doc) {
		if at < k.NameSpan.Start || at > k.NameSpan.End {
			continue
		}
		if about, ok := findHeaderKey(k.Name); ok {
			about.explain(m)
			return f.hoverOf(p, m, k.NameSpan), nil
		}
	}
	return nil, nil
}

// seen is a memory as the client has it open, else as it is saved.
func (f *features) seen(snap *memory.Snapshot, d *memory.Document) *memory.Document {
	if p, ok := f.pageFor(snap, d); ok {
		return p.doc
	}
	return d
}

func (f *features) hoverOf(p *page, m *markup, s memory.Span) *protocol.Hover {
	r := p.rangeOf(s)
	return &protocol.Hover{Contents: m.content(), Range: &r}
}

// explain writes what a key means and the values that it can have.
func (k headerKey) explain(m *markup) {
	m.bold(k.name)
	m.paragraph()
	m.own(k.meaning)
	if k.name == "category" {
		return
	}
	for i, v := range k.values {
		if i == 0 {
			m.WriteByte('\n')
		}
		m.own("\n- `" + v.name + "`: " + v.meaning)
	}
}
