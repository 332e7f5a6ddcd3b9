package lsp

import (
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/memls/memls/memory"
)

// repairs do away with problems that a selection touches.
func (f *features) repairs(p *page, at memory.Span) []action {
	out := p.unhiding(at)
	for i, problem := range slices.Concat(p.doc.Problems, brokenLinks(p)) {
		near := problem.Span
		if problem.Code != codeBrokenLink { // of which a line may have many
			near = wholeLine(p.doc.Text, problem.Span.Start)
		}
		if near.End < at.Start || near.Start > at.End {
			continue
		}
		fixes := p.fixes(problem)
		for j, fix := range fixes {
			out = append(out, action{
				id: "repair " + strconv.Itoa(i) + " " + strconv.Itoa(j), title: fix.title, kind: protocol.CodeActionKindQuickFix,
				mends: []memory.Problem{problem}, preferred: len(fixes) == 1, edit: p.changes(fix.reps),
			})
		}
		if problem.Code == codeBrokenLink {
			out = append(out, f.writings(p, problem)...)
		}
	}
	if whole, ok := p.repaired(); ok {
		out = append(out, action{id: "repair", title: "Repair the header", kind: protocol.CodeActionKindQuickFix, edit: p.changes(whole)})
	}
	return out
}

// unhiding removes characters that cannot be seen: those of the lines of a
// selection at once, and those of the whole file where there are more.
func (p *page) unhiding(at memory.Span) []action {
	lines := memory.Span{Start: wholeLine(p.doc.Text, at.Start).Start, End: wholeLine(p.doc.Text, at.End).End}
	var here, all []memory.Problem
	var repsHere, repsAll []memory.Replacement
	for _, m := range p.doc.Problems {
		if m.Code != memory.ProblemControl && m.Code != memory.ProblemInvisible && m.Code != memory.ProblemBidi {
			continue
		}
		gone := memory.Replacement{Span: m.Span}
		all, repsAll = append(all, m), append(repsAll, gone)
		if m.Span.Start <= lines.End && m.Span.End >= lines.Start {
			here, repsHere = append(here, m), append(repsHere, gone)
		}
	}
	if len(here) == 0 {
		return nil
	}
	out := []action{{
		id: "unhide", title: "Remove what cannot be seen", kind: protocol.CodeActionKindQuickFix, mends: here, preferred: true, edit: p.changes(repsHere),
	}}
	if len(all) > len(here) {
		out = append(out, action{
			id: "unhide all", title: "Remove all in this file that cannot be seen", kind: protocol.CodeActionKindQuickFix, mends: all, edit: p.changes(repsAll),
		})
	}
	return out
}

// fix is one way to do away with a problem.
type fix struct {
	title string
	reps  []memory.Replacement
}

func (p *page) fixes(problem memory.Problem) []fix {
	switch problem.Code {
	case memory.ProblemUnclosed:
		return p.closing()
	case memory.ProblemSyntax, memory.ProblemCut, memory.ProblemShape:
		return p.rewriting(problem)
	case memory.ProblemType:
		return p.choices("type", memory.TypeUser, memory.TypeFeedback, memory.TypeProject, memory.TypeReference)
	case memory.ProblemStatus:
		return p.choices("status", memory.StatusActive, memory.StatusSuperseded, memory.StatusExpired)
	case memory.ProblemBool:
		return p.choices("pinned", "true", "false")
	case memory.ProblemRepeated:
		return p.dropping(problem.Span)
	case memory.ProblemKey:
		return p.respelling(problem.Span)
	}
	return nil
}

// dropping takes out a key that stands in the header a second time, with its
// value.
func (p *page) dropping(at memory.Span) []fix {
	for _, k := range memory.Keys(p.doc) {
		if at.Start < k.Span.Start || at.Start >= k.Span.End || k.Flow || strings.Contains(k.Name, ".") {
			continue
		}
		line := memory.Span{Start: wholeLine(p.doc.Text, k.Span.Start).Start, End: wholeLine(p.doc.Text, k.Span.End).End}
		if strings.ContainsAny(strings.TrimRight(p.doc.Text[k.Span.Start:k.Span.End], "\r\n"), "\r\n") && p.sloppy() {
			return nil // which lines are the key's own is a guess
		}
		line.End = min(nextLine(p.doc.Text, line.End), len(p.doc.Text))
		return []fix{{"Remove the second " + k.Name, []memory.Replacement{{Span: line}}}}
	}
	return nil
}

// respelling gives a key the name that was meant.
func (p *page) respelling(at memory.Span) []fix {
	written := p.doc.Text[at.Start:at.End]
	if name, value, colon := strings.Cut(written, ":"); colon {
		_, known := findHeaderKey(keyName(name))
		if _, there := keyOf(p.doc, keyName(name)); there || !known || value == "" {
			return nil
		}
		if !plainWord.MatchString(value) {
			value = memory.QuoteValue(value)
		}
		return []fix{{"Put a blank behind the colon", []memory.Replacement{{Span: at, New: name + ": " + value}}}}
	}
	meant := memory.NearestKey(keyName(written))
	if _, there := keyOf(p.doc, meant); meant == "" || there {
		return nil
	}
	return []fix{{"Change " + memory.CleanLine(written) + " to " + meant, []memory.Replacement{{Span: at, New: meant}}}}
}

// writings make the memory that a link names and that there is not.
func (f *features) writings(p *page, broken memory.Problem) []action {
	if !f.support().CreateFiles {
		return nil
	}
	for _, l := range memory.Links(p.doc) {
		if l.TargetSpan != broken.Span {
			continue
		}
		at, ok := f.placeFor(p, l)
		if !ok {
			return nil
		}
		name := memory.CleanLine(l.Target)
		if l.Kind == memory.LinkMarkdown {
			name = l.Text
		}
		reps, err := memory.SetKeys(memory.Parse(nil), memory.KeyChange{Key: "name", Text: name}, memory.KeyChange{Key: "type", Text: p.doc.Type})
		if err != nil {
			return nil
		}
		text, err := memory.ReplaceText("", reps...)
		if err != nil {
			return nil
		}
		return []action{{
			id: "write " + at.Rel, title: "Create the memory " + at.Rel, kind: protocol.CodeActionKindQuickFix, mends: []memory.Problem{broken},
			edit: func(w *workspaceEdit) error {
				w.create(at.Path(), text+"\n")
				return nil
			},
		}}
	}
	return nil
}

// placeFor is where the memory that a link names would be, so that the link leads
// there. ok is false when that is no place for a memory, or taken.
func (f *features) placeFor(p *page, l memory.Link) (at memory.Place, ok bool) {
	target := l.Target
	if plain, err := url.PathUnescape(target); err == nil {
		target = plain
	}
	rel := path.Join(path.Dir(p.Rel), target)
	if strings.HasPrefix(target, "/") {
		rel = strings.TrimLeft(target, "/")
	}
	if l.Kind != memory.LinkMarkdown && !strings.EqualFold(path.Ext(rel), ".md") {
		rel += ".md"
	}
	try := memory.Place{Root: p.Root, Rel: rel}
	if strings.HasPrefix(rel, "../") {
		return memory.Place{}, false
	}
	if memory.CheckPortable(rel) != nil {
		// A title rather than a name.
		try.Rel = path.Join(path.Dir(p.Rel), memory.Slug(target)+".md")
	}
	at, ok = f.locate(p.snap, try.Path())
	if !ok || at.Index || at.Root.Real != p.Root.Real || at.Rel != try.Rel {
		return at, false
	}
	if free, err := f.free(p.snap, at); err != nil || !free {
		return at, false
	}
	there := at.Parse([]byte("---\nname: " + headerScalar(memory.CleanLine(l.Target)) + "\n---\n"))
	to, ok := memory.Resolve(p.snap.Imagine(nil, []*memory.Document{there}), p.doc, l.Target)
	return at, ok && to.Ref == there.Ref
}

// choices give a key one of the values that it can have.
func (p *page) choices(key string, values ...string) []fix {
	k, ok := keyOf(p.doc, key)
	at := p.valueWord(k)
	if !ok || at.Len() == 0 {
		return nil
	}
	var out []fix
	for _, v := range values {
		out = append(out, fix{"Change " + key + " to " + v, []memory.Replacement{{Span: at, New: v}}})
	}
	return out
}

// sloppy tells whether the header is not valid YAML, so that the places of what
// stands on several lines are guessed.
func (p *page) sloppy() bool {
	return slices.ContainsFunc(p.doc.Problems, func(m memory.Problem) bool {
		return m.Code == memory.ProblemSyntax || m.Code == memory.ProblemUnclosed
	})
}

// valueWord is the value of a key on its own line, without a comment behind it:
// what stands on further lines is not for a fix of one word to take away.
func (p *page) valueWord(k memory.Key) memory.Span {
	at := k.ValueSpan
	text := p.doc.Text[at.Start:at.End]
	if i := strings.IndexAny(text, "\r\n"); i >= 0 {
		text = text[:i]
	}
	if i := strings.Index(text, " #"); i >= 0 && !strings.ContainsAny(text[:1], "\"'") {
		text = text[:i]
	}
	at.End = at.Start + len(strings.TrimRight(text, " \t"))
	return at
}
