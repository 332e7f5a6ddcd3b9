package lsp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memls/memls/memory"
)

// What makes a header valid YAML.
//
// Inv: nothing is offered after which a header says less, or something else, than
// it was read to say before: by memls or by its letters.

// malformed tells whether a problem keeps other programs from reading a header as
// it is meant.
func malformed(m memory.Problem) bool {
	return m.Code == memory.ProblemSyntax || m.Code == memory.ProblemUnclosed || m.Code == memory.ProblemCut
}

// maxRepairs bounds the steps of a repair: each does away with a problem, and may
// bring one to light that it hid.
const maxRepairs = 32

// repaired is what makes a header valid; ok is false when that takes no more than
// one fix, or nothing that is known would.
func (p *page) repaired() (reps []memory.Replacement, ok bool) {
	if !slices.ContainsFunc(p.doc.Problems, malformed) {
		return nil, false
	}
	first := p.head()
	now := first
	for steps := 0; ; steps++ {
		i := slices.IndexFunc(now.doc.Problems, func(m memory.Problem) bool { return malformed(m) && len(now.fixes(m)) > 0 })
		if i < 0 {
			broken := slices.ContainsFunc(now.doc.Problems, malformed)
			return difference(first.doc.Text, now.doc.Text), steps > 1 && !broken && now.doc.Header.Len() > 0 && saysTheSame(first.doc, now.doc)
		}
		text, err := memory.ReplaceText(now.doc.Text, now.fixes(now.doc.Problems[i])[0].reps...)
		if err != nil || steps == maxRepairs {
			return nil, false
		}
		now = &page{Place: p.Place, doc: p.Parse([]byte(text))}
	}
}

// head is the page with its header alone, which is soon read again.
func (p *page) head() *page {
	return &page{Place: p.Place, doc: p.Parse([]byte(p.doc.Text[:p.doc.Body.Start]))}
}

// saysTheSame tells whether two headers are read alike and differ in quotes, blanks
// and fences only.
func saysTheSame(a, b *memory.Document) bool {
	return slices.Equal(statements(a), statements(b)) && slices.Equal(keyNames(a), keyNames(b)) && letters(a.Text) == letters(b.Text)
}

// statements are what a header says, as it is read.
func statements(d *memory.Document) []string {
	out := []string{d.Title, d.Description, d.Type, d.Status, d.Category, d.ID, d.OriginSession, fmt.Sprint(d.Pinned),
		fmt.Sprint(d.CreatedAt, d.UpdatedAt, d.LastVerifiedAt, d.ExpiresAt)}
	for _, list := range [][]string{d.Keywords, d.Scenarios, d.Supersedes} {
		out = append(append(out, fmt.Sprint(len(list))), list...)
	}
	return out
}

func keyNames(d *memory.Document) []string {
	var out []string
	for _, k := range memory.Keys(d) {
		if k.Depth == 0 {
			out = append(out, k.Name)
		}
	}
	return out
}

// letters are a header without what a repair may change.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n\"'\\-", r) {
			return -1
		}
		return r
	}, text)
}

// difference is the one replacement that makes a text of another.
func difference(from, to string) []memory.Replacement {
	start, end := 0, 0
	for start < min(len(from), len(to)) && from[start] == to[start] {
		start++
	}
	for end < min(len(from), len(to))-start && from[len(from)-1-end] == to[len(to)-1-end] {
		end++
	}
	// Whole lines, so that no character is split.
	start = wholeLine(from, start).Start
	stop := wholeLine(from, len(from)-end).End
	return []memory.Replacement{{Span: memory.Span{Start: start, End: stop}, New: to[start : len(to)-(len(from)-stop)]}}
}

// closing ends a header behind its last key.
func (p *page) closing() []fix {
	keys := memory.Keys(p.doc)
	if len(keys) == 0 {
		return nil
	}
	eol := memory.LineEnd(p.doc.Text)
	end := wholeLine(p.doc.Text, keys[len(keys)-1].Span.End).End
	return []fix{{"Close the header", []memory.Replacement{{Span: memory.Span{Start: end, End: end}, New: eol + "---"}}}}
}

// rewriting does away with what YAML does not read in one line, or reads otherwise:
// the first way after which nothing is wrong there, and nothing else than before is
// said.
func (p *page) rewriting(problem memory.Problem) []fix {
	before := p.head()
	line := wholeLine(p.doc.Text, problem.Span.Start)
	if line.End > len(before.doc.Text) {
		return nil
	}
	for _, f := range p.rewrites(problem, line) {
		text, err := memory.ReplaceText(before.doc.Text, f.reps...)
		if err != nil {
			continue
		}
		after := p.Parse([]byte(text))
		blamed := slices.ContainsFunc(after.Problems, func(m memory.Problem) bool {
			same := malformed(m) || m.Code == problem.Code
			return same && m.Span.Start <= wholeLine(text, line.Start).End && m.Span.End >= line.Start
		})
		if !blamed && saysTheSame(before.doc, after) {
			return []fix{f}
		}
	}
	return nil
}

// rewrites are ways to write a line.
func (p *page) rewrites(problem memory.Problem, line memory.Span) []fix {
	text := p.doc.Text
	if problem.Code == memory.ProblemShape {
		item := text[problem.Span.Start:problem.Span.End]
		if item == "" || strings.ContainsAny(item, "\r\n") {
			return nil
		}
		return []fix{{"Quote this item", []memory.Replacement{{Span: problem.Span, New: memory.QuoteValue(item)}}}}
	}
	var out []fix
	start := line.Start
	for start < line.End && (text[start] == ' ' || text[start] == '\t') {
		start++
	}
	indent := memory.Span{Start: line.Start, End: start}
	if indent.Len() > 0 {
		out = append(out, fix{"Take away the indentation", []memory.Replacement{{Span: indent}}})
	}
	if strings.Contains(text[indent.Start:indent.End], "\t") {
		blanks := strings.ReplaceAll(text[indent.Start:indent.End], "\t", "  ")
		out = append(out, fix{"Indent with blanks", []memory.Replacement{{Span: indent, New: blanks}}})
	}
	for _, k := range memory.Keys(p.doc) {
		if k.NameSpan.Start >= line.Start && k.NameSpan.Start <= line.End {
			out = append(out, p.requoted(k)...)
		}
	}
	return out
}

// requoted are ways to write the value of a key that stands on one line.
func (p *page) requoted(k memory.Key) []fix {
	text := p.doc.Text
	value := text[k.ValueSpan.Start:k.ValueSpan.End]
	if value == "" || strings.ContainsAny(value, "\r\n") {
		return nil
	}
	name := k.Name[strings.LastIndexByte(k.Name, '.')+1:]
	var out []fix
	blank := ""
	if k.ValueSpan.Start > 0 && text[k.ValueSpan.Start-1] == ':' {
		blank = " "
		out = append(out, fix{"Put a blank behind the colon", []memory.Replacement{{Span: memory.Span{Start: k.ValueSpan.Start, End: k.ValueSpan.Start}, New: blank}}})
	}
	if items, ok := memory.QuoteItems(value); ok {
		out = append(out, fix{"Quote the items of " + name, []memory.Replacement{{Span: k.ValueSpan, New: blank + items}}})
	}
	// Without a comment, where that is none of what is said.
	for _, at := range []memory.Span{p.valueWord(k), k.ValueSpan} {
		if at.Len() > 0 {
			out = append(out, fix{"Quote the " + name, []memory.Replacement{{Span: at, New: blank + memory.QuoteValue(text[at.Start:at.End])}}})
		}
	}
	return out
}
