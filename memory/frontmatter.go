package memory

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Bounds of what is handed to the YAML parser. A header beyond them is read line
// by line instead. The largest of 869 real headers is below 4 KB and nests two
// deep.
const (
	maxYAMLBytes   = 64 << 10
	maxYAMLFlow    = 32 // nested [ and {
	maxYAMLCompact = 16 // "- - - x" on one line
	maxYAMLAliases = 32
)

var errDocuments = errors.New("the header ends before its last line")

var errComplex = errors.New("too large or too nested for a header")

// field is a value of a known key.
type field struct {
	text string   // a scalar, or the source of something else that stands on one line
	list []string // the items when shape is shapeList
	// shape is what the value is in YAML, whatever the key expects.
	shape shape
	span  Span // of the value where known, else of its line
}

type shape int

const (
	shapeText shape = iota
	shapeList
	shapeMap
)

// header holds the known keys, lower-case with underscores; those inside the
// metadata map are prefixed "metadata.". The first of several equal keys wins.
type header map[string]field

func (h header) add(key string, f field) {
	if _, ok := h[key]; !ok {
		h[key] = f
	}
}

// knownKeys are the keys that fill fields; all others stay in the text. The
// value tells whether a " #" inside it is content: in prose it is (issue
// numbers, channels), in a word or a date it begins a comment.
var knownKeys = map[string]bool{
	"name": true, "title": true, "description": true, "keywords": true, "usage_scenarios": true,
	"type": false, "category": false, "pinned": false, "status": false, "id": false,
	"supersedes": false, "originsessionid": false, "modified": false, "expires_at": false,
	"created_at": false, "updated_at": false, "last_verified_at": false,
}

const metadataKey = "metadata"

// canonicalKey is a key as knownKeys spells it.
func canonicalKey(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), "-", "_")
}

// known tells whether key, without a metadata prefix, fills a field.
func known(key string) bool {
	_, ok := knownKeys[strings.TrimPrefix(key, metadataKey+".")]
	return ok
}

// headerForm is how a header was read.
type headerForm int

const (
	headerNone  headerForm = iota
	headerYAML             // by the YAML parser
	headerLines            // line by line: it is not valid YAML
	headerOpen             // line by line: it is never closed
)

// fences are the lines that enclose a header.
type fences struct {
	open    Span // the opening line without its end
	content Span // between the fences
	end     int  // behind the closing line
}

// findFences looks for an opening fence on the first line that shows anything,
// and its closing fence. closed is false when there is only an opening one.
func findFences(text string) (f fences, found, closed bool) {
	pos := 0
	for {
		if pos >= len(text) {
			return f, false, false
		}
		line, next := lineAt(text, pos)
		pos = next
		if s := text[line.Start:line.End]; !blank(s) {
			if strings.Trim(s, whitespace) != "---" {
				return f, false, false
			}
			f.open = line
			break
		}
	}
	f.content = Span{pos, len(text)}
	for pos < len(text) {
		line, next := lineAt(text, pos)
		if s := text[line.Start:line.End]; strings.HasPrefix(s, "---") && strings.TrimRight(s, whitespace) == "---" {
			f.content.End, f.end = line.Start, next
			return f, true, true
		}
		pos = next
	}
	return f, true, false
}

// frontmatter finds the header, reads it, and leaves the rest as body.
func (p *parser) frontmatter() {
	text := p.doc.Text
	f, found, closed := findFences(text)
	if !found {
		return
	}
	if closed {
		if h, ok := p.readHeader(f.content); ok {
			p.doc.Header, p.doc.keys = Span{f.open.Start, f.end}, f.content
			p.doc.Body.Start = f.end
			p.apply(h)
			return
		}
	}
	// Without a closing fence, or with one that a rule in the text merely looks
	// like, leading lines that are plainly keys are still read.
	lead := leadingKeys(text, f.content)
	p.unknown = nil
	h, q := readTolerant(text, lead, p.strange)
	if !q.header() || q.other > 0 {
		return
	}
	p.problem(f.open, ProblemUnclosed, SeverityWarning, "the header that begins here is never closed by a line ---")
	p.doc.keys, p.doc.form = lead, headerOpen
	p.repeated(q.repeated...)
	p.doc.Body.Start = lead.End
	p.apply(h)
}

// readHeader reads what stands between two fences. ok is false when that is not
// a mapping, and so no header.
func (p *parser) readHeader(content Span) (header, bool) {
	text := p.doc.Text
	p.doc.form = headerYAML
	if blank(text[content.Start:content.End]) {
		return header{}, true
	}
	h, mapping, err := p.readYAML(content)
	if err == nil && mapping {
		return h, true
	}
	p.doc.form = headerNone
	p.unknown = nil // of what the parser read in vain
	h, q := readTolerant(text, content, p.strange)
	if !q.header() || err == nil && q.other > 0 {
		return nil, false
	}
	p.doc.form = headerLines
	switch {
	case errors.Is(err, errComplex):
		p.problem(Span{content.Start, content.Start}, ProblemTooComplex, SeverityWarning, "the header was read line by line: "+err.Error())
	default:
		for _, flaw := range blame(text, content, q.flaws, err) {
			p.problem(flaw.Span, ProblemSyntax, SeverityWarning, flaw.Message)
		}
	}
	p.repeated(q.repeated...)
	if q.cut {
		p.problem(Span{content.End, content.End}, ProblemTooComplex, SeverityWarning,
			fmt.Sprintf("only the first %d lines of the header were read", maxTolerantLines))
	}
	return h, true
}

// Bounds of looking for the lines of a header that a YAML parser does not take. The
// largest of 869 real headers is below 4 KB.
const (
	maxBlamedBlocks = 64
	maxBlamedBytes  = 16 << 10
)

// blame is where a header is not valid YAML: the flaws that the line reader found,
// and what a parser refuses of the rest, a key with the lines below it at a time.
// cause is what it says of the whole.
func blame(text string, content Span, flaws []Problem, cause error) []Problem {
	blocks := keyBlocks(text, content)
	budget := maxBlamedBytes
	refused := func(at Span) error {
		src := text[at.Start:at.End]
		if budget -= len(src); budget < 0 || tooComplex(src) {
			return nil
		}
		_, err := yamlRoot(src)
		if err != nil && strings.Contains(err.Error(), "unknown anchor") {
			return nil // it stands in another block
		}
		return err
	}
	if len(blocks) <= maxBlamedBlocks {
		for _, b := range blocks {
			if slices.ContainsFunc(flaws, func(f Problem) bool { return f.Span.Start < b.End && f.Span.End > b.Start }) {
				continue
			}
			if err := refused(b); err != nil {
				flaws = append(flaws, Problem{Span: firstRefused(text, b, refused), Message: "this is not valid YAML: " + yamlFault(err)})
			}
		}
	}
	if len(flaws) == 0 && cause != nil && len(blocks) <= maxBlamedBlocks {
		// Each is by itself, and they do not go together.
		for _, b := range blocks[min(1, len(blocks)):] {
			if refused(Span{content.Start, b.End}) != nil {
				at, _ := lineAt(text, b.Start)
				flaws = append(flaws, Problem{Span: at, Message: "this is not valid YAML behind what stands above: " + yamlFault(cause)})
				break
			}
		}
	}
	if len(flaws) == 0 {
		at, _ := lineAt(text, content.Start)
		flaws = append(flaws, Problem{Span: at, Message: "the header is not valid YAML and was read line by line: " + yamlFault(cause)})
	}
	slices.SortStableFunc(flaws, func(a, b Problem) int { return a.Span.Start - b.Span.Start })
	return flaws
}

// keyBlocks are the lines of a header that begin in the first column, each with
// those below that do not.
func keyBlocks(text string, content Span) []Span {
	var out []Span
	for pos := content.Start; pos < content.End; {
		line, next := lineAt(text[:content.End], pos)
		s := text[line.Start:line.End]
		if n := len(out); n > 0 && (blank(s) || indented(s) > 0 || isItem(s)) {
			out[n-1].End = next
		} else if !blank(s) {
			out = append(out, Span{line.Start, next})
		}
		pos = next
	}
	return out
}

// firstRefused is the line of a block behind the longest part of it that a parser
// takes.
func firstRefused(text string, block Span, refused func(Span) error) Span {
	at, next := lineAt(text[:block.End], block.Start)
	for next < block.End {
		line, end := lineAt(text[:block.End], next)
		if refused(Span{block.Start, next}) == nil && !blank(text[line.Start:line.End]) {
			at = line
		}
		next = end
	}
	return at
}

// repeated reports keys that stand in the header again.
func (p *parser) repeated(keys ...repeatedKey) {
	for _, r := range keys {
		p.problem(r.at, ProblemRepeated, SeverityWarning, r.key+" stands in the header twice: the first one counts")
	}
}

// tooComplex tells whether src could cost a YAML parser more than it is worth.
func tooComplex(src string) bool {
	if len(src) > maxYAMLBytes {
		return true
	}
	flow, aliases, compact := 0, 0, 0
	start := true // only blanks and indicators since the line began
	prev := byte('\n')
	for i := range len(src) {
		c := src[i]
		switch c {
		case '[', '{':
			flow++
		case ']', '}':
			flow = max(flow-1, 0)
		case '*':
			if strings.IndexByte(" \t\r\n[{,:", prev) >= 0 {
				aliases++
			}
		}
		switch {
		case c == '\n' || c == '\r':
			start, compact = true, 0
		case start && (c == '-' || c == '?' || c == ':'):
			compact++
		case c != ' ' && c != '\t':
			start = false
		}
		if flow > maxYAMLFlow || aliases > maxYAMLAliases || compact > maxYAMLCompact {
			return true
		}
		prev = c
	}
	return false
}

// readYAML reads the header with the YAML parser. mapping is false when the
// content is valid but something else.
func (p *parser) readYAML(content Span) (h header, mapping bool, err error) {
	src := p.doc.Text[content.Start:content.End]
	if tooComplex(src) {
		return nil, false, errComplex
	}
	root, err := yamlRoot(src)
	if err != nil || root == nil || root.Kind != yaml.MappingNode {
		return nil, false, err
	}
	y := yamlReader{p: p, base: content.Start, src: src, h: header{}}
	y.mapping(root, len(src), "")
	return y.h, true, nil
}

// yamlFault is what the YAML parser says, without its name and its line, which it
// counts from the fence. Without an error it has read something that is no
// mapping.
func yamlFault(err error) string {
	if err == nil {
		return "a blank belongs behind the colon of a key"
	}
	why := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(why, "line "); ok {
		if _, after, ok := strings.Cut(rest, ": "); ok {
			why = after
		}
	}
	return why
}

// yamlRoot parses into nodes, which never expands an alias.
func yamlRoot(src string) (root *yaml.Node, err error) {
	// The parser reports its own errors by value, but is large and walks hostile
	// text: a fault in it must cost one header, not the catalog.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml parser: %v", r)
		}
	}()
	var doc, more yaml.Node
	dec := yaml.NewDecoder(strings.NewReader(src))
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	// The parser stops where a document ends, and what follows would be lost.
	switch err := dec.Decode(&more); {
	case err == nil:
		return nil, errDocuments
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// yamlReader turns the nodes of one header into fields.
type yamlReader struct {
	p     *parser
	base  int // where src begins in the text
	src   string
	lines []int // offsets in src, made on first use
	// wide are where the characters of a line begin, by the number of the line, for
	// those that hold more than ASCII.
	wide map[int][]int
	h    header
}

// mapping reads a map that ends before a place.
func (y *yamlReader) mapping(n *yaml.Node, end int, prefix string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			continue
		}
		limit := end
		if i+2 < len(n.Content) {
			limit = y.offset(n.Content[i+2])
		}
		key := canonicalKey(k.Value)
		if key == metadataKey && prefix == "" {
			if m := target(v); m.Kind == yaml.MappingNode {
				y.mapping(m, limit, metadataKey+".")
			}
			continue
		}
		prose, ok := knownKeys[key]
		if !ok {
			off := y.base + y.offset(k)
			if name, _, found := strings.Cut(key, ":"); found && known(name) && n.Style&yaml.FlowStyle == 0 {
				y.p.problem(Span{off, min(off+len(y.restOfLine(off-y.base)), y.base+len(y.src))}, ProblemKey, SeverityInfo,
					"the key "+CleanLine(name)+" is not read: a blank belongs behind its colon")
				continue
			}
			y.p.strange(key, Span{off, min(off+len(k.Value), y.base+len(y.src))})
		}
		if !ok || v.Kind == yaml.ScalarNode && v.ShortTag() == "!!null" {
			continue
		}
		if _, ok := y.h[prefix+key]; ok {
			off := y.base + y.offset(k)
			y.p.repeated(repeatedKey{key, y.nameAt(off, k.Value)})
			continue
		}
		y.h.add(prefix+key, y.field(v, prose, n.Style&yaml.FlowStyle != 0, limit))
	}
}

// nameAt is where a key stands that begins at a place: as far as it is written as
// it reads.
func (y *yamlReader) nameAt(off int, name string) Span {
	if !strings.HasPrefix(y.p.doc.Text[off:], name) {
		return Span{off, off}
	}
	return Span{off, off + len(name)}
}

// target follows one alias. Anchors cannot be aliases themselves.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// field is a value that ends before a place. flow says that it stands in braces.
func (y *yamlReader) field(v *yaml.Node, prose, flow bool, limit int) field {
	n := target(v)
	off := y.offset(v)
	line := y.restOfLine(off)
	// What stands behind the value on its line is none of it, unless it is a text
	// in which a " #" begins no comment.
	switch end := max(limit, off); {
	case flow, n == v && n.Style&yaml.FlowStyle != 0:
		line, _, _ = strings.Cut(y.src[off:y.flowEnd(v, off, end)], "\n")
	case n.Kind == yaml.ScalarNode && !prose && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0:
		line = line[:min(len(line), y.scalarEnd(v, off, end)-off)]
	}
	f := field{span: Span{y.base + off, y.base + off + len(line)}}
	switch n.Kind {
	case yaml.ScalarNode:
		f.text = n.Value
		if prose && n == v && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
			f.text = y.restore(n, line, f.span)
		}
	case yaml.SequenceNode:
		f.shape, f.text, f.list = shapeList, line, y.items(n, limit)
	case yaml.MappingNode:
		f.shape, f.text = shapeMap, line
	}
	return f
}

// items are the texts of a list. One with a colon, which YAML takes for a map, is
// the text that it was written as.
func (y *yamlReader) items(n *yaml.Node, end int) []string {
	var out []string
	for i, item := range n.Content {
		off, limit := y.offset(item), end
		if i+1 < len(n.Content) {
			limit = y.offset(n.Content[i+1])
		}
		if item = target(item); item.Kind == yaml.ScalarNode {
			out = append(out, item.Value)
			continue
		}
		text := ""
		if item.Kind == yaml.MappingNode && len(item.Content) == 2 && off < limit {
			text = y.src[off:limit]
			if n.Style&yaml.FlowStyle != 0 {
				text = text[:y.flowEnd(item.Content[1], y.offset(item.Content[1]), limit)-off]
			}
			text = strings.TrimRight(text, " \t\r\n,]")
		}
		at := Span{y.base + off, y.base + off + len(y.restOfLine(off))}
		if text == "" || strings.ContainsAny(text, "\r\n") || strings.IndexByte("{[?", text[0]) >= 0 {
			y.p.problem(at, ProblemShape, SeverityInfo, "a list item that is not a text is left out")
			continue
		}
		at.End = at.Start + len(text)
		y.p.problem(at, ProblemShape, SeverityInfo, "other programs take this item for a map: quote it, since there is a colon in it")
		out = append(out, text)
	}
	return out
}

// restore gives an unquoted text back what YAML takes from it: what follows
// " #", and a leading word that looks like an anchor or a tag.
func (y *yamlReader) restore(n *yaml.Node, line string, at Span) string {
	value := n.Value
	switch {
	case n.Anchor != "" && !strings.Contains(y.src, "*"+n.Anchor):
		value = "&" + n.Anchor + " " + value
	case n.Style&yaml.TaggedStyle != 0:
		value = n.Tag + " " + value
	}
	rest, ok := strings.CutPrefix(line, value)
	if !ok || rest == "" || strings.TrimLeft(rest, " \t") == rest || !strings.HasPrefix(strings.TrimLeft(rest, " \t"), "#") {
		return value
	}
	y.p.problem(at, ProblemCut, SeverityInfo, `other programs end this value at " #"; quote it to keep the rest`)
	return line
}

func (y *yamlReader) restOfLine(off int) string {
	line, _ := lineAt(y.src, off)
	return strings.TrimRight(y.src[line.Start:line.End], " \t")
}

// offset is where a node begins in src. The parser counts lines by the breaks
// of YAML 1.1 and columns in characters, both from one.
func (y *yamlReader) offset(n *yaml.Node) int {
	if y.lines == nil {
		y.lines = yamlLines(y.src)
	}
	if n.Line < 1 || n.Line > len(y.lines) {
		return 0
	}
	if at := y.characters(n.Line - 1); n.Column-1 < len(at) {
		return at[max(n.Column-1, 0)]
	} else if at != nil {
		return len(y.src)
	}
	return min(y.lines[n.Line-1]+n.Column-1, len(y.src))
}

// characters are where those of a line begin, its end the last; nil when they all
// are ASCII. A line is looked at once, however many nodes stand in it.
func (y *yamlReader) characters(line int) []int {
	at, known := y.wide[line]
	if known {
		return at
	}
	if y.wide == nil {
		y.wide = map[int][]int{}
	}
	end := len(y.src)
	if line+1 < len(y.lines) {
		end = y.lines[line+1]
	}
	from := y.lines[line]
	if i := strings.IndexFunc(y.src[from:end], func(r rune) bool { return r >= utf8.RuneSelf }); i >= 0 {
		for i := range y.src[from:end] {
			at = append(at, from+i)
		}
		at = append(at, end)
	}
	y.wide[line] = at
	return at
}

func yamlLines(src string) []int {
	lines := []int{0}
	for i, r := range src {
		switch r {
		case '\r':
			if strings.HasPrefix(src[i+1:], "\n") {
				continue
			}
		case '\n', '\u0085', '\u2028', '\u2029':
		default:
			continue
		}
		lines = append(lines, i+utf8.RuneLen(r))
	}
	return lines
}
