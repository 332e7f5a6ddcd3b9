package lsp

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/memls/memls/memory"
)

// linkCode is how some indexes name a file: in code font, or by its bare name.
const linkCode memory.LinkKind = "code"

// links are the links of the page's text, in order; of an index also the file
// names that it lists without a link.
func (p *page) links() []memory.Link {
	links := memory.Links(p.doc)
	if !p.Index {
		return links
	}
	out := slices.Clone(links)
	for _, line := range p.indexFile().Lines {
		for _, t := range line.Targets {
			if t.Form == memory.IndexMono || t.Form == memory.IndexBare {
				out = append(out, memory.Link{Kind: linkCode, Span: t.NameSpan, TargetSpan: t.NameSpan, Target: t.Target, Text: memory.CleanLine(t.Target)})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b memory.Link) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	return out
}

// indexPage is the index of a root, as the client has it open or as it is on
// disk at this moment, since edits have to fit it; nil when there is none.
func (f *features) indexPage(snap *memory.Snapshot, root *memory.Root) (*page, error) {
	at := memory.Place{Root: root, Rel: memory.IndexName, Index: true}
	if b := f.overlays.get(at.Path()); b != nil {
		if p, ok := f.pageIn(snap, b.uri, at.Path(), b); ok {
			return p, nil
		}
	}
	text, err := memory.ReadText(at, f.opt.Open)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p := &page{Place: at, uri: string(uri.File(at.Path())), snap: snap, doc: at.Parse([]byte(text))}
	p.at = newPositions(p.doc.Text, f.s.Client().PositionEncoding)
	return p, nil
}

// definition serves textDocument/definition: where a link leads.
func (f *features) definition(_ context.Context, p *page, q *positionParams) (any, error) {
	l, ok := p.link(p.at.offset(q.Position))
	if !ok {
		return nil, nil
	}
	d, ok := p.resolve(l)
	if !ok {
		return nil, nil
	}
	to, ok := f.pageFor(p.snap, d)
	if !ok {
		return nil, nil
	}
	at, whole := to.place(l.Heading)
	if !f.support().DefinitionLinks {
		return &protocol.Location{URI: uri.URI(to.uri), Range: to.rangeOf(at)}, nil
	}
	from := p.rangeOf(l.Span)
	return []protocol.LocationLink{{
		OriginSelectionRange: &from, TargetURI: uri.URI(to.uri), TargetRange: to.rangeOf(whole), TargetSelectionRange: to.rangeOf(at),
	}}, nil
}

// place is what a link to the page shows: the heading that it names, with its
// section, else the beginning of the text.
func (p *page) place(heading string) (at, whole memory.Span) {
	if heading != "" {
		for _, h := range memory.OutlineOf(p.doc).Headings {
			if strings.EqualFold(h.Text, heading) || headingSlug(h.Text) == headingSlug(heading) {
				return h.Span, h.Section
			}
		}
	}
	return memory.Span{}, memory.Span{End: len(p.doc.Text)}
}

// headingSlug is a heading as the anchors of web pages have it.
func headingSlug(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '-' || r == '_':
			return '-'
		case r < 0x80 && (r < '0' || r > '9') && (r < 'a' || r > 'z'):
			return -1
		}
		return r
	}, strings.ToLower(strings.TrimSpace(s)))
}

// reference is a link that leads to a memory, and the page that it stands in.
type reference struct {
	page *page
	link memory.Link
}

// referencesTo are all links that lead to a memory, those of the index first, the
// others by the ref of their file: as the client has the files open, else as they
// are saved.
func (f *features) referencesTo(snap *memory.Snapshot, d *memory.Document) ([]reference, error) {
	index, err := f.indexPage(snap, d.Root)
	if err != nil {
		return nil, err
	}
	var out []reference
	look := func(p *page) {
		for _, l := range p.links() {
			if to, ok := p.resolve(l); ok && to.Ref == d.Ref && p.doc.Ref != d.Ref {
				out = append(out, reference{p, l})
			}
		}
	}
	if index != nil {
		look(index)
	}
	first := len(out)
	open := map[string]bool{}
	for _, p := range f.openPages(snap, d.Root) {
		if p.Rel != memory.IndexName {
			open[p.Ref()] = true
			look(p)
		}
	}
	pages := map[string]*page{}
	for _, in := range snap.Incoming(d) {
		if open[in.From.Ref] {
			continue
		}
		p := pages[in.From.Ref]
		if p == nil {
			p, _ = f.pageIn(snap, uriOf(in.From), pathOf(in.From, in.From.Root.Path), nil)
			pages[in.From.Ref] = p
		}
		if p != nil {
			out = append(out, reference{p, in.Link})
		}
	}
	slices.SortStableFunc(out[first:], func(a, b reference) int { return strings.Compare(a.page.Ref(), b.page.Ref()) })
	return out, nil
}

// openPages are the pages of a root that the client has open.
func (f *features) openPages(snap *memory.Snapshot, root *memory.Root) []*page {
	var out []*page
	for _, b := range f.overlays.all() {
		if p, ok := f.pageIn(snap, b.uri, b.path, b); ok && p.Root.Real == root.Real {
			out = append(out, p)
		}
	}
	return out
}

// referenceParams are the params of textDocument/references.
type referenceParams struct {
	TextDocument textDocument `json:"textDocument"`
	Position     Position     `json:"position"`
	Context      struct {
		IncludeDeclaration bool `json:"includeDeclaration"`
	} `json:"context"`
}

func (p *referenceParams) where() string { return p.TextDocument.URI }

// maxReferences bounds an answer; more links to one memory than a person can
// look through say the same as these.
const maxReferences = 1000

// references serves textDocument/references: on a link, the links to the memory
// that it leads to; elsewhere, those to the memory itself.
func (f *features) references(ctx context.Context, p *page, q *referenceParams) (any, error) {
	d := p.saved
	if l, ok := p.link(p.at.offset(q.Position)); ok {
		if d, ok = p.resolve(l); !ok {
			return nil, nil
		}
	}
	if d == nil {
		return nil, nil
	}
	refs, err := f.referencesTo(p.snap, d)
	if err != nil {
		return nil, err
	}
	out := []protocol.Location{}
	if q.Context.IncludeDeclaration {
		if to, ok := f.pageFor(p.snap, d); ok {
			at, _ := to.place("")
			out = append(out, protocol.Location{URI: uri.URI(to.uri), Range: to.rangeOf(at)})
		}
	}
	if len(refs) > maxReferences {
		f.s.Log().Warn("references cut", "ref", d.Ref, "found", len(refs))
		refs = refs[:maxReferences]
	}
	for _, r := range refs {
		out = append(out, protocol.Location{URI: uri.URI(r.page.uri), Range: r.page.rangeOf(r.link.Span)})
	}
	return out, ctx.Err()
}

// clickable is the place of a link's target, or all of a link by reference, whose
// target stands elsewhere.
func clickable(l memory.Link) memory.Span {
	if l.TargetSpan.Start < l.Span.Start || l.TargetSpan.End > l.Span.End {
		return l.Span
	}
	return l.TargetSpan
}

// documentLinks serves textDocument/documentLink: the links of a page that lead
// to a memory. Others are left to whoever knows more of them.
func (f *features) documentLinks(ctx context.Context, p *page, _ *documentParams) (any, error) {
	out := []protocol.DocumentLink{}
	for _, l := range p.links() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, ok := p.resolve(l)
		if !ok || l.Span.Len() == 0 {
			continue
		}
		target, tip := uri.URI(uriOf(d)), d.Title
		out = append(out, protocol.DocumentLink{Range: p.rangeOf(clickable(l)), Target: &target, Tooltip: &tip})
	}
	return out, nil
}
