package lsp

import (
	"regexp"
	"strings"

	"github.com/memls/memls/memory"
)

// spotKind is what can be completed at a place.
type spotKind int

const (
	spotNone    spotKind = iota
	spotKey              // a key of the header
	spotValue            // its value, or an item of it
	spotWiki             // the target of [[…]]
	spotTarget           // the target of [text](…)
	spotHeading          // a heading behind the # of a link
	spotItem             // a whole item of an index
)

// spot is a place where something is being written.
type spot struct {
	kind  spotKind
	key   string   // of spotValue: its name
	given []string // of spotKey: the keys that the header has elsewhere
	in    string   // of spotKey: the map that the key stands in; of spotHeading: the link's target
	typed string   // what stands before the cursor
	whole memory.Span
	// closed: what ends it stands already behind whole.
	closed bool
	glued  bool // of spotValue: no blank parts it from the colon
}

// spotAt finds out what is being written at an offset of a page.
func spotAt(p *page, offset int) spot {
	if !p.Index {
		if s, ok := headerSpot(p.doc, offset); ok {
			return s
		}
	}
	line := wholeLine(p.doc.Text, offset)
	before, after := p.doc.Text[line.Start:offset], p.doc.Text[offset:line.End]
	s, ok := wikiSpot(before, after, offset)
	if !ok {
		s, ok = targetSpot(before, after, offset)
	}
	if !ok && p.Index {
		s, ok = itemSpot(before, line, offset)
	}
	if !ok || inCode(p.doc, before, offset) {
		return spot{}
	}
	return s
}

// wholeLine is the line of an offset without its end.
func wholeLine(text string, offset int) memory.Span {
	start := strings.LastIndexAny(text[:offset], "\r\n") + 1
	end := len(text)
	if i := strings.IndexAny(text[offset:], "\r\n"); i >= 0 {
		end = offset + i
	}
	return memory.Span{Start: start, End: end}
}

// inCode tells whether an offset lies in a code block, or behind an odd number of
// backticks of its line.
func inCode(d *memory.Document, before string, offset int) bool {
	if strings.Count(before, "`")%2 == 1 {
		return true
	}
	for _, f := range memory.OutlineOf(d).Fences {
		if f.Start < offset && offset <= f.End {
			return true
		}
	}
	return false
}

func wikiSpot(before, after string, offset int) (spot, bool) {
	i := strings.LastIndex(before, "[[")
	if i < 0 || strings.ContainsAny(before[i:], "]|") {
		return spot{}, false
	}
	inner := before[i+len("[["):]
	s := spot{kind: spotWiki, typed: inner, whole: memory.Span{Start: offset - len(inner), End: offset}}
	if end := strings.IndexAny(after, "[]"); end >= 0 && strings.HasPrefix(after[end:], "]]") {
		s.closed = true
		if bar := strings.IndexByte(after[:end], '|'); bar >= 0 {
			end = bar
		}
		s.whole.End += end
	}
	if target, heading, ok := strings.Cut(inner, "#"); ok {
		s.kind, s.in, s.typed, s.whole.Start = spotHeading, target, heading, offset-len(heading)
		return s, true
	}
	// The heading of a link whose target is changed goes with the old target.
	return s, true
}

func targetSpot(before, after string, offset int) (spot, bool) {
	i := strings.LastIndex(before, "](")
	if i < 0 || strings.ContainsAny(before[i:], ") \t") {
		return spot{}, false
	}
	inner := before[i+len("]("):]
	s := spot{kind: spotTarget, typed: inner, whole: memory.Span{Start: offset - len(inner), End: offset}}
	if end := strings.IndexAny(after, ") \t"); end >= 0 && after[end] == ')' {
		s.closed = true
		s.whole.End += end
	}
	if target, heading, ok := strings.Cut(inner, "#"); ok {
		s.kind, s.in, s.typed, s.whole.Start = spotHeading, target, heading, offset-len(heading)
	}
	return s, true
}

var itemBeginning = regexp.MustCompile(`^[ \t]*(?:[-*+•]|[0-9]{1,9}[.)])[ \t]+(\[?[^\[\]()]*)$`)

func itemSpot(before string, line memory.Span, offset int) (spot, bool) {
	m := itemBeginning.FindStringSubmatchIndex(before)
	if m == nil {
		return spot{}, false
	}
	start := line.Start + m[2]
	return spot{kind: spotItem, typed: strings.TrimPrefix(before[m[2]:], "["), whole: memory.Span{Start: start, End: max(line.End, offset)}}, true
}

// headerLine is a key with what stands behind its colon.
var headerLine = regexp.MustCompile(`^["']?([\pL_][\pL\pN_. -]{0,63}?)["']?[ \t]*:(?:[ \t]|$)`)

// headerSpot looks at the lines from the beginning of a text to the cursor: ok
// tells whether that is in a header, complete or just being written.
func headerSpot(d *memory.Document, offset int) (s spot, ok bool) {
	text := d.Text
	opened, key, parent := false, "", ""
	for pos := 0; pos <= len(text); {
		line := wholeLine(text, pos)
		content := strings.TrimSpace(text[line.Start:line.End])
		here := line.Start <= offset && offset <= line.End
		fence := content == "---"
		switch {
		case !opened && (here || content != "" && !fence), opened && fence:
			return spot{}, false
		case !opened:
			opened = fence
		case here:
			return cursorSpot(d, line, offset, key, parent), true
		case offset < d.Header.End:
			// Whatever the line is, the reader took it for part of the header.
		case !headerLike(text[line.Start:line.End]):
			return spot{}, false
		}
		if m := headerLine.FindStringSubmatch(text[line.Start:line.End]); opened && m != nil {
			key, parent = keyName(m[1]), ""
			if strings.HasSuffix(content, ":") {
				parent = key
			}
		}
		pos = nextLine(text, line.End)
	}
	return spot{}, false
}

// nextLine is where the line after the one that ends at end begins; behind the
// text when there is none.
func nextLine(text string, end int) int {
	if strings.HasPrefix(text[end:], "\r\n") {
		return end + 2
	}
	return end + 1
}

// headerLike tells whether a line can be one of a header: a key, an item, a
// comment, or what is indented below one.
func headerLike(line string) bool {
	return line == "" || strings.IndexByte(" \t-#", line[0]) >= 0 || headerLine.MatchString(line)
}

func keyName(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), "-", "_")
}

// cursorSpot is the spot in a line of a header. key is the last one at the left
// edge above it, parent the same when it has no value of its own.
func cursorSpot(d *memory.Document, line memory.Span, offset int, key, parent string) spot {
	text := d.Text
	start := line.Start
	for start < line.End && (text[start] == ' ' || text[start] == '\t') {
		start++
	}
	if offset < start {
		start = offset
	}
	content := text[start:line.End]
	indented := start > line.Start
	if m := headerLine.FindStringSubmatch(content); m != nil && strings.Contains(text[start:offset], ":") {
		colon := start + strings.IndexByte(content, ':') + 1
		return valueSpot(text, memory.Span{Start: colon, End: line.End}, offset, keyName(m[1]))
	}
	if strings.HasPrefix(content, "-") && offset > start {
		return valueSpot(text, memory.Span{Start: start + 1, End: line.End}, offset, key)
	}
	s := spot{kind: spotKey, given: givenKeys(text), typed: text[start:offset], whole: memory.Span{Start: start, End: line.End}}
	if indented {
		s.in = parent
		if parent == "" {
			return spot{}
		}
	}
	if s.typed == "" && content != "" || strings.ContainsAny(s.typed, " \t") {
		return spot{} // in front of what is written already, or prose
	}
	if i := strings.IndexByte(content, ':'); i >= 0 {
		s.closed, s.whole.End = true, max(offset, start+i)
	}
	return s
}

// valueSpot is the spot in a value or item, or in one of several that commas part.
func valueSpot(text string, value memory.Span, offset int, key string) spot {
	s := spot{kind: spotValue, key: key}
	about, _ := findHeaderKey(key)
	from, to := value.Start, value.End
	if about.shape == shapeWords || about.shape == shapeLinks {
		if i := strings.LastIndexAny(text[from:offset], "[,"); i >= 0 {
			from += i + 1
		}
		if i := strings.IndexAny(text[offset:to], "],"); i >= 0 {
			to = offset + i
		}
	}
	s.glued = from == value.Start && text[from-1] == ':' && (from == to || text[from] != ' ')
	for from < offset && (text[from] == ' ' || text[from] == '\t') {
		from++
	}
	to = max(offset, from+len(strings.TrimRight(text[from:to], " \t")))
	s.whole, s.typed = memory.Span{Start: from, End: to}, strings.TrimLeft(text[from:offset], `"'`)
	return s
}

// givenKeys are the keys at the left edge of the header that a text begins with.
func givenKeys(text string) []string {
	var out []string
	opened := false
	for pos := 0; pos < len(text); {
		line := wholeLine(text, pos)
		s := text[line.Start:line.End]
		switch fence := strings.TrimSpace(s) == "---"; {
		case fence && opened, opened && !headerLike(s):
			return out
		case fence:
			opened = true
		}
		if m := headerLine.FindStringSubmatch(s); m != nil {
			out = append(out, keyName(m[1]))
		}
		pos = nextLine(text, line.End)
	}
	return out
}
