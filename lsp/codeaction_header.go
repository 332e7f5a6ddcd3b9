package lsp

import (
	"slices"
	"strconv"
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
	if _, ok := keyOf(d, "name"); !ok {
		if _, ok := keyOf(d, "title"); !ok {
			out = append(out, memory.KeyChange{Key: "name", Text: d.Title})
		}
	}
	if d.Description == "" {
		if about := p.about(); about != "" {
			out = append(out, memory.KeyChange{Key: "description", Text: about})
		}
	}
	if !d.TypeGiven {
		kind := d.Type
		if kind == "" {
			kind = memory.TypeProject
			if p.Root.Scope == memory.ScopeUser {
				kind = memory.TypeUser
			}
		}
		out = append(out, memory.KeyChange{Key: "type", Text: kind})
	}
	return out
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

// repairs do away with problems of the header that a selection touches.
func (p *page) repairs(at memory.Span) []action {
	var out []action
	for i, problem := range p.doc.Problems {
		line := wholeLine(p.doc.Text, problem.Span.Start)
		if line.End < at.Start || line.Start > at.End {
			continue
		}
		fixes := p.fixes(problem)
		for j, fix := range fixes {
			out = append(out, action{
				id: "repair " + strconv.Itoa(i) + " " + strconv.Itoa(j), title: fix.title, kind: protocol.CodeActionKindQuickFix,
				code: problem.Code, at: problem.Span, preferred: len(fixes) == 1, edit: p.changes(fix.reps),
			})
		}
	}
	if whole, ok := p.repaired(); ok {
		out = append(out, action{id: "repair", title: "Repair the header", kind: protocol.CodeActionKindQuickFix, edit: p.changes(whole)})
	}
	return out
}

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
	now := &page{Place: p.Place, doc: p.doc}
	for steps := 0; ; steps++ {
		i := slices.IndexFunc(now.doc.Problems, func(m memory.Problem) bool { return malformed(m) && len(now.fixes(m)) > 0 })
		if i < 0 {
			broken := slices.ContainsFunc(now.doc.Problems, malformed)
			return difference(p.doc.Text, now.doc.Text), steps > 1 && !broken && now.doc.Header.Len() > 0
		}
		text, err := memory.ReplaceText(now.doc.Text, now.fixes(now.doc.Problems[i])[0].reps...)
		if err != nil || steps == maxRepairs {
			return nil, false
		}
		now.doc = p.Parse([]byte(text))
	}
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

// fix is one way to do away with a problem.
type fix struct {
	title string
	reps  []memory.Replacement
}

func (p *page) fixes(problem memory.Problem) []fix {
	switch problem.Code {
	case memory.ProblemUnclosed:
		return p.closing()
	case memory.ProblemSyntax, memory.ProblemCut:
		return p.quoting(problem.Span)
	case memory.ProblemType:
		return p.choices("type", memory.TypeUser, memory.TypeFeedback, memory.TypeProject, memory.TypeReference)
	case memory.ProblemStatus:
		return p.choices("status", memory.StatusActive, memory.StatusSuperseded, memory.StatusExpired)
	case memory.ProblemBool:
		return p.choices("pinned", "true", "false")
	}
	return nil
}

// choices give a key one of the values that it can have.
func (p *page) choices(key string, values ...string) []fix {
	k, ok := keyOf(p.doc, key)
	if !ok || k.ValueSpan.Len() == 0 {
		return nil
	}
	var out []fix
	for _, v := range values {
		out = append(out, fix{"Change " + key + " to " + v, []memory.Replacement{{Span: k.ValueSpan, New: v}}})
	}
	return out
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

// quoting puts the value of the line that a problem lies in into quotes, or takes
// away the indentation that YAML does not allow.
func (p *page) quoting(at memory.Span) []fix {
	text := p.doc.Text
	line := wholeLine(text, at.Start)
	start := line.Start
	for start < line.End && (text[start] == ' ' || text[start] == '\t') {
		start++
	}
	outdent := []fix{{"Take away the indentation", []memory.Replacement{{Span: memory.Span{Start: line.Start, End: start}}}}}
	for _, k := range memory.Keys(p.doc) {
		if k.NameSpan.Start < line.Start || k.NameSpan.Start > line.End {
			continue
		}
		name, inMap := strings.CutPrefix(k.Name, "metadata.")
		value := text[k.ValueSpan.Start:k.ValueSpan.End]
		switch {
		case start > line.Start && !inMap:
			return outdent
		case value == "" || strings.ContainsAny(value, "\r\n") || quote(value) == value:
			return nil
		}
		return []fix{{"Quote the " + name, []memory.Replacement{{Span: k.ValueSpan, New: quote(value)}}}}
	}
	if start > line.Start {
		return outdent
	}
	return nil
}

// quote is a value as a quoted YAML text that means what the value was meant to.
func quote(value string) string {
	if q := value[:1]; q == `"` || q == "'" {
		if len(value) > 1 && strings.HasSuffix(value, q) {
			value = strings.ReplaceAll(value[1:len(value)-1], `\`+q, q)
		} else {
			value = value[1:]
		}
	}
	return strconv.Quote(strings.TrimSpace(value))
}
