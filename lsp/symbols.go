package lsp

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sahilm/fuzzy"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/text"
)

// documentSymbols serves textDocument/documentSymbol: headings with what stands
// under them, and entries.
func (f *features) documentSymbols(_ context.Context, p *page, _ *documentParams) (any, error) {
	tree := p.symbols()
	if f.support().SymbolTree {
		return tree, nil
	}
	return flatSymbols(nil, tree, uri.URI(p.uri), ""), nil
}

// symbols is the tree of the page's headings and entries.
func (p *page) symbols() []protocol.DocumentSymbol {
	o := memory.OutlineOf(p.doc)
	root := protocol.DocumentSymbol{}
	// The headings whose sections are open, each a child of the one before it.
	type level struct {
		end int
		to  *protocol.DocumentSymbol
	}
	open := []level{{end: len(p.doc.Text) + 1, to: &root}}
	add := func(at int, s protocol.DocumentSymbol) *protocol.DocumentSymbol {
		for at >= open[len(open)-1].end {
			open = open[:len(open)-1]
		}
		to := open[len(open)-1].to
		to.Children = append(to.Children, s)
		return &to.Children[len(to.Children)-1]
	}
	next := 0
	for _, h := range o.Headings {
		for ; next < len(o.Entries) && o.Entries[next].Span.Start < h.Span.Start; next++ {
			add(o.Entries[next].Span.Start, p.entrySymbol(o.Entries[next]))
		}
		name := h.Text
		if name == "" {
			name = strings.Repeat("#", h.Level)
		}
		s := add(h.Span.Start, protocol.DocumentSymbol{
			Name: name, Kind: protocol.SymbolKindString, Range: p.rangeOf(h.Section), SelectionRange: p.rangeOf(h.Span),
		})
		open = append(open, level{h.Section.End, s})
	}
	for ; next < len(o.Entries); next++ {
		add(o.Entries[next].Span.Start, p.entrySymbol(o.Entries[next]))
	}
	if root.Children == nil {
		return []protocol.DocumentSymbol{}
	}
	return root.Children
}

// maxSymbolRunes bounds the name of an entry in an outline.
const maxSymbolRunes = 80

func (p *page) entrySymbol(e memory.Entry) protocol.DocumentSymbol {
	name := clip(e.Summary, maxSymbolRunes)
	if name == "" {
		name = "…"
	}
	at := e.SummarySpan
	if at.Len() == 0 {
		at = e.Span
	}
	s := protocol.DocumentSymbol{Name: name, Kind: protocol.SymbolKindField, Range: p.rangeOf(e.Span), SelectionRange: p.rangeOf(at)}
	if why := clip(e.Why, maxSymbolRunes); why != "" {
		s.Detail = &why
	}
	return s
}

// clip bounds a line that is shown.
func clip(s string, runes int) string {
	r := []rune(s)
	if len(r) <= runes {
		return s
	}
	return strings.TrimRight(string(r[:runes-1]), " ") + "…"
}

func flatSymbols(out []protocol.SymbolInformation, tree []protocol.DocumentSymbol, in uri.URI, under string) []protocol.SymbolInformation {
	if out == nil {
		out = []protocol.SymbolInformation{}
	}
	for _, s := range tree {
		info := protocol.SymbolInformation{Location: protocol.Location{URI: in, Range: s.Range}}
		info.Name, info.Kind = s.Name, s.Kind
		if under != "" {
			info.ContainerName = &under
		}
		out = flatSymbols(append(out, info), s.Children, in, s.Name)
	}
	return out
}

// symbolParams are the params of workspace/symbol.
type symbolParams struct {
	Query string `json:"query"`
}

// maxSymbols bounds an answer of workspace/symbol. Editors ask again with every
// letter.
const maxSymbols = 200

// workspaceSymbols serves workspace/symbol: memories of all scopes by what they
// are called. An empty query gives the pinned ones and those that changed last.
func (f *features) workspaceSymbols(ctx context.Context, q *symbolParams) (any, error) {
	snap, err := f.loaded(ctx)
	if err != nil {
		return nil, err
	}
	found := f.called(snap, q.Query, func(*memory.Document) bool { return true })
	out := []protocol.SymbolInformation{}
	for _, d := range found[:min(len(found), maxSymbols)] {
		container := string(d.Root.Scope)
		if dir, _, ok := cutLast(d.Rel, "/"); ok {
			container += " · " + memory.CleanLine(dir)
		}
		s := protocol.SymbolInformation{Location: protocol.Location{URI: uri.URI(uriOf(d))}}
		s.Name, s.Kind, s.ContainerName = d.Title, protocol.SymbolKindFile, &container
		out = append(out, s)
	}
	return out, ctx.Err()
}

// cutLast cuts around the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+len(sep):], true
}

// callNames are the memories of one revision with what they are called, folded:
// the pinned ones first, then the newest. Inv: it never changes.
type callNames struct {
	revision uint64
	docs     []*memory.Document
	folded   []string
}

// callNames is made once for a revision; two requests at the same time may both
// make it.
func (f *features) callNames(snap *memory.Snapshot) *callNames {
	if c := f.calls.Load(); c != nil && c.revision == snap.Revision {
		return c
	}
	c := &callNames{revision: snap.Revision, docs: slices.Collect(snap.All())}
	slices.SortFunc(c.docs, func(a, b *memory.Document) int {
		return cmp.Or(cmp.Compare(pinnedRank(b), pinnedRank(a)), b.Fact().Compare(a.Fact()), strings.Compare(a.Ref, b.Ref))
	})
	c.folded = make([]string, len(c.docs))
	for i, d := range c.docs {
		c.folded[i] = text.Fold(d.Title + " " + d.Rel)
	}
	f.calls.Store(c)
	return c
}

func pinnedRank(d *memory.Document) int {
	if d.Pinned {
		return 1
	}
	return 0
}

// called are the memories whose title or path has the letters of query in order,
// the best match first, whatever the case and the accents. All match an empty
// query: the pinned ones and the newest first.
func (f *features) called(snap *memory.Snapshot, query string, keep func(*memory.Document) bool) []*memory.Document {
	all := f.callNames(snap)
	found := matching{pattern: strings.TrimSpace(text.Fold(query))}
	for i, d := range all.docs {
		if keep(d) && inOrder(found.pattern, all.folded[i]) {
			found.docs, found.names = append(found.docs, d), append(found.names, all.folded[i])
		}
	}
	if found.pattern == "" {
		return found.docs
	}
	return found.ranked()
}

// inOrder tells whether the letters of pattern stand in s in their order.
func inOrder(pattern, s string) bool {
	for _, r := range pattern {
		i := strings.IndexRune(s, r)
		if i < 0 {
			return false
		}
		s = s[i+utf8.RuneLen(r):]
	}
	return true
}

// matching are memories that have the letters of a pattern.
type matching struct {
	pattern string
	docs    []*memory.Document
	names   []string
}

// ranked puts those first that have the pattern as one piece, at the beginning of
// a word, and ranks the others by how scattered it is. Equals keep their order.
func (m matching) ranked() []*memory.Document {
	type ranked struct {
		doc   *memory.Document
		score int
	}
	out := make([]ranked, len(m.docs))
	for i, name := range m.names {
		out[i] = ranked{m.docs[i], pieceScore(m.pattern, name)}
	}
	if scattered := m.only(func(i int) bool { return out[i].score == 0 }); len(scattered) > 0 {
		names := make([]string, len(scattered))
		for i, at := range scattered {
			names[i] = m.names[at]
		}
		// Its scores are below those of one piece.
		for _, hit := range fuzzy.FindNoSort(m.pattern, names) {
			out[scattered[hit.Index]].score = hit.Score - scatteredBelow
		}
	}
	slices.SortStableFunc(out, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	docs := make([]*memory.Document, len(out))
	for i := range out {
		docs[i] = out[i].doc
	}
	return docs
}

const scatteredBelow = 1 << 20

func (m matching) only(keep func(int) bool) (out []int) {
	for i := range m.docs {
		if keep(i) {
			out = append(out, i)
		}
	}
	return out
}

// pieceScore is 3 for a name that begins with the pattern, 2 for one that has a
// word which does, 1 for one that holds it, 0 for one that does not.
func pieceScore(pattern, name string) int {
	for score, at := 0, 0; ; {
		i := strings.Index(name[at:], pattern)
		switch {
		case i < 0:
			return score
		case at+i == 0:
			return 3
		}
		score = 1
		if r, _ := utf8.DecodeLastRuneInString(name[:at+i]); !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return 2
		}
		at += i + len(pattern)
	}
}
