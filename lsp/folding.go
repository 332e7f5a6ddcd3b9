package lsp

import (
	"cmp"
	"context"
	"slices"
	"unicode"
	"unicode/utf8"

	"go.lsp.dev/protocol"

	"github.com/memls/memls/memory"
)

// foldingRanges serves textDocument/foldingRange: the header, sections, entries
// and code that take more than a line.
func (f *features) foldingRanges(_ context.Context, p *page, _ *documentParams) (any, error) {
	o := memory.OutlineOf(p.doc)
	var spans []memory.Span
	if h := p.doc.Header; h.Len() > 0 {
		spans = append(spans, trimLineEnd(p.doc.Text, h))
	}
	for _, h := range o.Headings {
		spans = append(spans, h.Section)
	}
	for _, e := range o.Entries {
		spans = append(spans, e.Span)
	}
	spans = append(spans, o.Fences...)
	out := []protocol.FoldingRange{}
	for _, s := range spans {
		r := p.at.rangeOf(s)
		if r.Start.Line == r.End.Line {
			continue
		}
		fold := protocol.FoldingRange{StartLine: r.Start.Line, EndLine: r.End.Line}
		if s == spans[0] && p.doc.Header.Len() > 0 {
			fold.Kind = protocol.FoldingRangeKindRegion
		}
		out = append(out, fold)
	}
	// One fold a line: of those that begin on one the longest.
	slices.SortStableFunc(out, func(a, b protocol.FoldingRange) int {
		return cmp.Or(cmp.Compare(a.StartLine, b.StartLine), cmp.Compare(b.EndLine, a.EndLine))
	})
	return slices.CompactFunc(out, func(a, b protocol.FoldingRange) bool { return a.StartLine == b.StartLine }), nil
}

func trimLineEnd(text string, s memory.Span) memory.Span {
	for s.End > s.Start && (text[s.End-1] == '\n' || text[s.End-1] == '\r') {
		s.End--
	}
	return s
}

// selectionParams are the params of textDocument/selectionRange.
type selectionParams struct {
	TextDocument textDocument `json:"textDocument"`
	Positions    []Position   `json:"positions"`
}

func (p *selectionParams) where() string { return p.TextDocument.URI }

// maxPositions bounds the cursors that one request asks for.
const maxPositions = 1000

// selectionRanges serves textDocument/selectionRange: from a word over its link,
// line, piece, entry and section to the whole text.
func (f *features) selectionRanges(ctx context.Context, p *page, q *selectionParams) (any, error) {
	if len(q.Positions) > maxPositions {
		return nil, InvalidParam("positions", "has %d items, at most %d are taken", len(q.Positions), maxPositions)
	}
	s := newSurroundings(p)
	out := make([]protocol.SelectionRange, len(q.Positions))
	for i, at := range q.Positions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = s.at(p.at.offset(at))
	}
	return out, nil
}

// surroundings knows what stands around a place.
type surroundings struct {
	page  *page
	spans []memory.Span // all that can be selected as one
}

func newSurroundings(p *page) *surroundings {
	text := p.doc.Text
	s := &surroundings{page: p, spans: []memory.Span{{Start: 0, End: len(text)}, p.doc.Header, trimLineEnd(text, p.doc.Header), p.doc.Body}}
	for _, k := range memory.Keys(p.doc) {
		s.spans = append(s.spans, k.Span, k.NameSpan, k.ValueSpan)
		s.spans = append(s.spans, k.Items...)
	}
	o := memory.OutlineOf(p.doc)
	for _, h := range o.Headings {
		s.spans = append(s.spans, h.Section, h.Span)
	}
	for _, e := range o.Entries {
		s.spans = append(s.spans, e.Span, e.SummarySpan, e.WhySpan, e.HowSpan)
	}
	s.spans = append(s.spans, o.Fences...)
	for _, l := range p.links() {
		s.spans = append(s.spans, l.Span, l.TargetSpan)
	}
	return s
}

// at is the chain of what holds a place, the smallest first.
func (s *surroundings) at(offset int) protocol.SelectionRange {
	text := s.page.doc.Text
	around := []memory.Span{wordAt(text, offset), lineOf(text, offset)}
	for _, span := range s.spans {
		if span.Start <= offset && offset <= span.End {
			around = append(around, span)
		}
	}
	slices.SortFunc(around, func(a, b memory.Span) int { return cmp.Compare(a.Len(), b.Len()) })
	// Each must hold the one before it: of those that merely overlap, the smaller
	// one stays.
	chain := []memory.Span{{Start: offset, End: offset}}
	for _, span := range around {
		last := chain[len(chain)-1]
		if span != last && span.Start <= last.Start && span.End >= last.End {
			chain = append(chain, span)
		}
	}
	var out *protocol.SelectionRange
	for i := len(chain) - 1; i > 0 || out == nil; i-- {
		out = &protocol.SelectionRange{Range: s.page.rangeOf(chain[i]), Parent: out}
	}
	return *out
}

// lineOf is the line of an offset without its indentation and end.
func lineOf(text string, offset int) memory.Span {
	s := memory.Span{Start: offset, End: offset}
	for s.Start > 0 && text[s.Start-1] != '\n' && text[s.Start-1] != '\r' {
		s.Start--
	}
	for s.End < len(text) && text[s.End] != '\n' && text[s.End] != '\r' {
		s.End++
	}
	for s.Start < min(offset, s.End) && (text[s.Start] == ' ' || text[s.Start] == '\t') {
		s.Start++
	}
	return s
}

// wordAt is the word that an offset lies in or at the end of, empty beside none.
func wordAt(s string, offset int) memory.Span {
	span := memory.Span{Start: offset, End: offset}
	for span.Start > 0 {
		r, n := utf8.DecodeLastRuneInString(s[:span.Start])
		if !isWord(r) {
			break
		}
		span.Start -= n
	}
	for span.End < len(s) {
		r, n := utf8.DecodeRuneInString(s[span.End:])
		if !isWord(r) {
			break
		}
		span.End += n
	}
	return span
}

func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_' || r == '-'
}
