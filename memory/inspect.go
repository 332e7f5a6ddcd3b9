package memory

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxFindings bounds the problems of one kind that inspecting a text reports.
const maxFindings = 8

// inspect looks through the whole text for what a reader does not see, or sees
// and cannot trust: it decides what an agent is told.
func (p *parser) inspect() {
	i := inspector{parser: p, text: p.doc.Text}
	i.run()
	i.conflict()
}

type inspector struct {
	*parser
	text  string
	found map[string]int // by code

	// open are the bidirectional marks of the line that are not closed, by place.
	open []int
}

func (i *inspector) find(s Span, code string, sev Severity, msg string) {
	if i.found == nil {
		i.found = map[string]int{}
	}
	if i.found[code]++; i.found[code] > maxFindings {
		i.dropped++
		return
	}
	i.problem(s, code, sev, msg)
}

// run goes through the characters.
func (i *inspector) run() {
	for at := 0; at < len(i.text); {
		c := i.text[at]
		if c >= ' ' && c < 0x7F || c == '\t' {
			at++
			continue
		}
		if c == '\n' || c == '\r' || c == '\f' {
			i.endLine()
			at++
			continue
		}
		r, size := utf8.DecodeRuneInString(i.text[at:])
		at += i.rune(at, r, size)
	}
	i.endLine()
}

// rune looks at one character, and what belongs to it, and tells how long that is.
func (i *inspector) rune(at int, r rune, size int) int {
	switch {
	case r < ' ' || r >= 0x7F && r < 0xA0 && r != '\u0085':
		n := i.stretch(at, func(r rune) bool {
			return r < ' ' && !strings.ContainsRune("\t\n\r\f", r) || r >= 0x7F && r < 0xA0 && r != '\u0085'
		})
		i.find(Span{at, at + n}, ProblemControl, SeverityWarning, fmt.Sprintf("control characters (%U) that terminals act on and nobody sees", r))
		return n
	case r == utf8.RuneError && !i.doc.Lossy:
		n := i.stretch(at, func(r rune) bool { return r == utf8.RuneError })
		i.find(Span{at, at + n}, ProblemDamaged, SeverityInfo, "characters were lost here when the text was converted earlier")
		return n
	case r == 0x1F3F4:
		return size + i.stretch(at+size, isTag) // a flag that is spelled with tags
	case isTag(r):
		n := i.stretch(at, isTag)
		i.find(Span{at, at + n}, ProblemInvisible, SeverityWarning, "a text that is invisible to people and legible to models")
		return n
	case r == 0x200B || r == 0x2060 || r == 0xFEFF:
		n := i.stretch(at, func(r rune) bool { return r == 0x200B || r == 0x2060 || r == 0xFEFF })
		i.find(Span{at, at + n}, ProblemInvisible, SeverityInfo, fmt.Sprintf("invisible characters (%U)", r))
		return n
	case r == 0x202D || r == 0x202E:
		i.find(Span{at, at + size}, ProblemBidi, SeverityWarning, "an override of the writing direction: the line reads otherwise than it is")
	case r == 0x202A || r == 0x202B || r >= 0x2066 && r <= 0x2068:
		i.open = append(i.open, at)
	case (r == 0x202C || r == 0x2069) && len(i.open) > 0:
		i.open = i.open[:len(i.open)-1]
	}
	return size
}

func isTag(r rune) bool { return r >= 0xE0000 && r <= 0xE007F }

// stretch is the length of the characters from at on for which is holds.
func (i *inspector) stretch(at int, is func(rune) bool) int {
	s := i.text[at:]
	if n := strings.IndexFunc(s, func(r rune) bool { return !is(r) }); n >= 0 {
		return n
	}
	return len(s)
}

// endLine reports the marks that the line left open.
func (i *inspector) endLine() {
	for _, at := range i.open {
		_, size := utf8.DecodeRuneInString(i.text[at:])
		i.find(Span{at, at + size}, ProblemBidi, SeverityWarning, "a change of the writing direction that is not ended in its line")
	}
	i.open = i.open[:0]
}

// The lines that a merge leaves in a file.
const (
	conflictOurs   = "<<<<<<< "
	conflictSplit  = "======="
	conflictTheirs = ">>>>>>> "
)

// conflict finds what a merge left behind: both sides would be recalled.
func (i *inspector) conflict() {
	if !strings.Contains(i.text, conflictOurs) {
		return
	}
	first, split := Span{}, false
	for pos := 0; pos < len(i.text); {
		line, next := lineAt(i.text, pos)
		s := i.text[line.Start:line.End]
		pos = next
		switch {
		case strings.HasPrefix(s, conflictOurs):
			first, split = line, false
		case s == conflictSplit:
			split = first.Len() > 0
		case strings.HasPrefix(s, conflictTheirs) && split:
			i.find(Span{first.Start, line.End}, ProblemConflict, SeverityWarning, "a merge conflict that was never resolved: both sides are recalled")
			first, split = Span{}, false
		}
	}
}
