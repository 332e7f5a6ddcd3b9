package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Parse reads the bytes of a memory file. It never fails: what is not
// understood is body, and what an author would want to know is a Problem. Its
// cost is linear in the bytes, of which it looks at MaxFileBytes at most.
//
// It fills everything but Ref, Root, Rel and ModTime, which bytes do not tell,
// and leaves Title empty when the text has none.
func Parse(raw []byte) *Document {
	d := &Document{Version: digest(raw), Size: int64(len(raw)), Status: StatusActive, found: &findings{}}
	if len(raw) > MaxFileBytes {
		raw, d.Truncated = raw[:MaxFileBytes], true
	}
	p := parser{doc: d}
	p.decode(raw)
	p.frontmatter()
	d.Body = trimBlank(d.Text, d.Body)
	if end := d.SearchedBody().End; d.Truncated {
		p.problem(Span{len(d.Text), len(d.Text)}, ProblemTruncated, SeverityWarning,
			fmt.Sprintf("only the first %d KiB of the file are read, and %d KiB of its text searched", MaxFileBytes>>10, MaxSearchedBytes>>10))
	} else if end < d.Body.End {
		p.problem(Span{end, d.Body.End}, ProblemTruncated, SeverityWarning,
			fmt.Sprintf("only the first %d KiB of the text are searched: split the memory to have the rest found", MaxSearchedBytes>>10))
	}
	body := d.BodyText()
	if d.Title == "" {
		d.Title = p.clip(firstHeading(body), maxTitleRunes, "heading", d.Body)
	}
	d.placeholder = isPlaceholder(body)
	p.inspect()
	if p.dropped > 0 {
		d.Problems = append(d.Problems, Problem{Span{}, ProblemMoreProblems,
			fmt.Sprintf("%d more problems", p.dropped), SeverityInfo})
	}
	return d
}

// digest is the version of a file with these bytes.
func digest(raw []byte) string {
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// parser fills one document.
type parser struct {
	doc     *Document
	dropped int // problems beyond maxProblems
	unknown []strangeKey
}

func (p *parser) decode(raw []byte) {
	d := decode(raw, p.doc.Truncated)
	p.doc.Text, p.doc.Encoding, p.doc.BOM, p.doc.Lossy = d.text, d.encoding, d.bom, d.bad >= 0
	p.doc.Body = Span{0, len(d.text)}
	if d.bad >= 0 {
		p.problem(Span{d.bad, d.bad + len("\uFFFD")}, ProblemEncoding, SeverityWarning,
			"bytes that are not "+string(d.encoding)+" text are left out of the search")
	}
	if d.encoding != UTF8 && !d.bom {
		p.problem(Span{}, ProblemUnmarked, SeverityWarning,
			"this is "+string(d.encoding)+" without a byte order mark, which other programs cannot read; save it as UTF-8")
	}
}

func (p *parser) problem(s Span, code string, sev Severity, msg string) {
	if len(p.doc.Problems) >= maxProblems {
		p.dropped++
		return
	}
	p.doc.Problems = append(p.doc.Problems, Problem{s, code, msg, sev})
}

// clip makes a bounded line of s and reports when that lost something.
func (p *parser) clip(s string, runes int, what string, at Span) string {
	// A rune has at most four bytes and blanks may go: cutting here only keeps
	// the cleaning of a hostile value short.
	s, long := clipRunes(s, 8*runes)
	s, longer := clipRunes(CleanLine(s), runes)
	if long || longer {
		p.problem(at, ProblemLong, SeverityWarning,
			fmt.Sprintf("%s is cut after %d characters", what, runes))
		s = strings.Clone(strings.TrimRight(s, " "))
	}
	return s
}

// firstHeading is the text of the first ATX or underlined heading outside a
// code fence.
func firstHeading(body string) string {
	fence, previous := "", ""
	for pos := 0; pos < len(body); {
		span, next := lineAt(body, pos)
		line := body[span.Start:span.End]
		pos = next
		text := strings.TrimSpace(line)
		if mark := fenceMark(text); mark != "" && (fence == "" || mark[0] == fence[0] && len(mark) >= len(fence)) {
			if fence == "" {
				fence = mark
			} else {
				fence = ""
			}
			previous = ""
			continue
		}
		if fence != "" || indented(line) > 3 {
			previous = ""
			continue
		}
		if h := atxHeading(text); h != "" {
			return h
		}
		if previous != "" && len(text) >= 3 && strings.Trim(text, "=") == "" {
			return unmark(previous)
		}
		previous = text
	}
	return ""
}

// fenceMark is the run of backticks or tildes that opens or closes a code fence.
func fenceMark(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

func atxHeading(line string) string {
	level := len(line) - len(strings.TrimLeft(line, "#"))
	if level < 1 || level > 6 || level == len(line) || line[level] != ' ' && line[level] != '\t' {
		return ""
	}
	text := strings.TrimSpace(line[level:])
	if bare := strings.TrimRight(text, "#"); bare == "" || strings.HasSuffix(bare, " ") {
		text = strings.TrimSpace(bare)
	}
	return unmark(text)
}

// unmark drops emphasis that encloses the whole of a heading.
func unmark(s string) string {
	for _, mark := range []string{"**", "__", "*", "_", "`"} {
		inner := strings.TrimSuffix(strings.TrimPrefix(s, mark), mark)
		if len(inner) == len(s)-2*len(mark) && inner != "" && !strings.Contains(inner, mark) {
			return inner
		}
	}
	return s
}

// isPlaceholder tells whether a body says only that it holds nothing yet:
// headings and the line that scaffolding programs write.
func isPlaceholder(body string) bool {
	if len(body) > 4096 {
		return false
	}
	found := false
	for pos := 0; pos < len(body); {
		span, next := lineAt(body, pos)
		line := strings.TrimSpace(body[span.Start:span.End])
		pos = next
		switch {
		case line == "" || atxHeading(line) != "":
		case strings.EqualFold(strings.Trim(line, "_*. "), "no entries yet"):
			found = true
		default:
			return false
		}
	}
	return found
}
