package memory

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Key is one key of a header and where it stands in Document.Text.
type Key struct {
	// Name is the key as the parser knows it: lower-case, with underscores; that
	// of a key inside a map has the map's in front, as in "metadata.type".
	Name string
	// Known tells that the parser reads a value of such a key.
	Known bool
	// Span reaches from the key to the end of its value: whole lines but for the
	// indentation in front and the last line end, unless Flow is set.
	Span Span
	// NameSpan is the key as written, with its quotes.
	NameSpan Span
	// ValueSpan is the value as written, with its quotes, marks and further lines,
	// without a comment behind it; an empty range behind the colon if there is
	// none.
	ValueSpan Span
	// Items are those of a list, as written.
	Items []Span
	// Flow says that the key stands in braces.
	Flow bool
	// Depth is 0 for the keys of the header itself.
	Depth int
}

// maxKeys bounds the keys that are listed of one header. Real ones have at most
// a dozen; what is beyond is not editable by name.
const maxKeys = 1024

// Keys are the keys of a document's header in order, a map before the keys that
// stand in it. Its cost is linear in the header.
//
// Inv: the spans of keys at one depth do not overlap, and each contains those of
// its name, its value, its items, and of the keys inside it.
func Keys(d *Document) []Key {
	var keys []Key
	switch d.form {
	case headerYAML:
		keys = yamlKeys(d)
	case headerLines, headerOpen:
		keys = tolerantKeys(d)
	}
	return keys[:min(len(keys), maxKeys)]
}

// findKey is the key of that name, or one that stands in for it inside the metadata
// map; nil when there is neither. Of equal keys the first one counts.
func findKey(keys []Key, name string) *Key {
	for _, name := range []string{name, metadataKey + "." + name} {
		if i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == name }); i >= 0 {
			return &keys[i]
		}
	}
	return nil
}

func yamlKeys(d *Document) []Key {
	src := d.Text[d.keys.Start:d.keys.End]
	if blank(src) {
		return nil
	}
	root, err := yamlRoot(src)
	if err != nil || root == nil {
		return nil // Inv: the form says that it is a mapping
	}
	y := keyLister{yamlReader: yamlReader{base: d.keys.Start, src: src}}
	y.mapping(root, len(src), "", 0)
	return y.keys
}

// keyLister finds the places of keys in YAML nodes, which know where they begin
// but not where they end.
type keyLister struct {
	yamlReader
	keys []Key
}

func (y *keyLister) span(from, to int) Span { return Span{y.base + from, y.base + max(from, to)} }

// mapping lists the keys of a map that ends before a place.
func (y *keyLister) mapping(n *yaml.Node, end int, prefix string, depth int) {
	flow := n.Style&yaml.FlowStyle != 0
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode || len(y.keys) >= maxKeys {
			continue
		}
		limit := end
		if i+2 < len(n.Content) {
			limit = y.offset(n.Content[i+2])
		}
		y.pair(k, v, limit, prefix, depth, flow)
	}
}

func (y *keyLister) pair(k, v *yaml.Node, limit int, prefix string, depth int, flow bool) {
	from := y.offset(k)
	column := from - (strings.LastIndexAny(y.src[:from], "\r\n") + 1)
	key := Key{Name: prefix + canonicalKey(k.Value), Flow: flow, Depth: depth}
	key.Known = key.Name != metadataKey && known(key.Name) && !strings.Contains(strings.TrimPrefix(key.Name, metadataKey+"."), ".")
	name := y.keyEnd(k, from, limit)
	if name == from {
		return // a key without a name cannot be meant
	}
	key.NameSpan = y.span(from, name)
	colon := name + strings.IndexByte(y.src[name:limit], ':') // in front of where a value would be
	at := max(y.offset(v), min(colon+1, limit))
	var to int
	switch {
	case v.Kind == yaml.ScalarNode && v.ShortTag() == "!!null" && v.Value == "":
		at, to = colon+1, colon+1
	case flow, v.Style&yaml.FlowStyle != 0:
		to = y.flowEnd(v, at, limit)
	case v.Kind == yaml.ScalarNode && v.Style == 0 && key.Known && knownKeys[canonicalKey(k.Value)] && strings.HasPrefix(y.src[at:], v.Value):
		// The parser takes what follows " #" for part of a prose value.
		to = at + len(y.restOfLine(at))
	case v.Kind == yaml.ScalarNode, v.Kind == yaml.AliasNode:
		to = y.scalarEnd(v, at, y.blockEnd(at, limit, column))
	default:
		to = y.blockEnd(at, limit, column)
	}
	key.ValueSpan = y.span(at, to)
	last := to
	if !flow {
		last = y.lineEnd(to, limit)
	}
	key.Span = y.span(from, last)
	place := len(y.keys)
	y.keys = append(y.keys, key)
	switch v.Kind {
	case yaml.MappingNode:
		y.mapping(v, to, key.Name+".", depth+1)
	case yaml.SequenceNode:
		y.keys[place].Items = y.items(v, to)
	}
}

// items are the places of a list's items.
func (y *keyLister) items(n *yaml.Node, end int) []Span {
	var out []Span
	flow := n.Style&yaml.FlowStyle != 0
	for i, item := range n.Content {
		limit := end
		if i+1 < len(n.Content) {
			limit = y.offset(n.Content[i+1])
		}
		at := min(y.offset(item), limit)
		switch {
		case item.Kind != yaml.ScalarNode && item.Kind != yaml.AliasNode && !flow && item.Style&yaml.FlowStyle == 0:
			out = append(out, y.span(at, y.blockEnd(at, limit, 0)))
		case flow, item.Style&yaml.FlowStyle != 0:
			out = append(out, y.span(at, y.flowEnd(item, at, limit)))
		default:
			out = append(out, y.span(at, y.scalarEnd(item, at, y.blockEnd(at, limit, 0))))
		}
	}
	return out
}

// keyEnd is where a key ends that begins at a place.
func (y *keyLister) keyEnd(n *yaml.Node, at, limit int) int {
	src := y.src[at:limit]
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 || strings.HasPrefix(src, n.Value) {
		return y.scalarEnd(n, at, limit)
	}
	if i := strings.IndexAny(src, ":,}"); i >= 0 {
		src = src[:i]
	}
	return at + len(strings.TrimRight(src, whitespace))
}

// scalarEnd is where a scalar ends that begins at a place and has ended at the
// limit.
func (y *yamlReader) scalarEnd(n *yaml.Node, at, limit int) int {
	src := y.src[at:limit]
	switch {
	case n.Kind == yaml.AliasNode:
		return at + 1 + len(n.Value)
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return limit
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		// A tag or an anchor may stand in front.
		quote := strings.IndexAny(src, `"'`)
		if quote < 0 {
			return limit
		}
		return at + quote + quotedLen(src[quote:])
	}
	if strings.HasPrefix(src, n.Value) {
		return at + len(n.Value)
	}
	// It has a tag, an anchor, or further lines.
	return at + len(strings.TrimRight(withoutComment(src), whitespace))
}

// flowEnd is where a value ends that stands in brackets or braces, or is such.
func (y *yamlReader) flowEnd(n *yaml.Node, at, limit int) int {
	src := y.src[at:limit]
	if n.Kind == yaml.ScalarNode || n.Kind == yaml.AliasNode {
		if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 || n.Kind == yaml.AliasNode || strings.HasPrefix(src, n.Value) {
			return y.scalarEnd(n, at, limit)
		}
		if i := strings.IndexAny(src, ",]}"); i >= 0 {
			src = src[:i]
		}
		return at + len(strings.TrimRight(src, whitespace))
	}
	// A tag or an anchor may stand in front. Quotes are none inside a plain text,
	// so that only the last item tells where to look for the bracket.
	pos := at + max(strings.IndexAny(src, "[{"), 0) + 1
	for _, child := range n.Content {
		from := min(y.offset(child), limit)
		pos = max(pos, y.flowEnd(child, from, limit))
	}
	for pos < limit {
		switch y.src[pos] {
		case ']', '}':
			return pos + 1
		case '#':
			line, _ := lineAt(y.src, pos)
			pos = line.End
		}
		pos++
	}
	return limit
}

// quotedLen is the length of the quoted text that s begins with; all of s when
// its quote is never closed.
func quotedLen(s string) int {
	quote := s[0]
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quote == '"':
			i++
		case s[i] == quote && quote == '\'' && i+1 < len(s) && s[i+1] == quote:
			i++
		case s[i] == quote:
			return i + 1
		}
	}
	return len(s)
}

// withoutComment is a plain text, which may go on in further lines, without a
// comment behind it.
func withoutComment(s string) string {
	for pos := 0; pos < len(s); {
		line, next := lineAt(s, pos)
		text := s[line.Start:line.End]
		if i := strings.Index(text, " #"); i >= 0 {
			return s[:line.Start+i]
		}
		if pos > 0 && strings.HasPrefix(strings.TrimLeft(text, " \t"), "#") {
			return s[:line.Start]
		}
		pos = next
	}
	return s
}

// blockEnd is where the lines end that belong to a key in a column: before blank
// lines and comments that are not indented below it.
func (y *keyLister) blockEnd(at, limit, column int) int {
	end := at
	for pos := at; pos < limit; {
		line, next := lineAt(y.src[:limit], pos)
		text := strings.TrimRight(y.src[line.Start:line.End], whitespace)
		comment := strings.HasPrefix(strings.TrimLeft(text, " \t"), "#") && pos > at && indented(text) <= column
		if text != "" && !comment {
			end = line.Start + len(text)
		}
		pos = next
	}
	return end
}

// lineEnd is where the line ends that a place lies in.
func (y *keyLister) lineEnd(at, limit int) int {
	line, _ := lineAt(y.src, at)
	return max(at, min(line.End, max(limit, at)))
}

// tolerantKeys are the keys that the line reader finds.
func tolerantKeys(d *Document) []Key {
	t := tolerant{text: d.Text, h: header{}, list: true}
	t.read(d.keys)
	return t.keys
}

// place notes where a key stands, with the lines that belong to it.
func (t *tolerant) place(at Span, prefix, name, value string, children []Span) {
	if len(t.keys) >= maxKeys {
		return
	}
	line := t.line(at)
	from := at.Start + indented(line)
	end := at.Start + len(line)
	k := Key{Name: prefix + name, Known: known(prefix + name), NameSpan: Span{from, from + nameLen(line[from-at.Start:])}}
	k.Depth = strings.Count(prefix, ".")
	k.ValueSpan = Span{end - len(value), end}
	for _, c := range children {
		text := t.line(c)
		if text == "" {
			continue
		}
		if k.ValueSpan.Len() == 0 {
			k.ValueSpan.Start = c.Start + indented(text)
		}
		k.ValueSpan.End = c.Start + len(text)
		if item := strings.TrimLeft(text, " \t"); value == "" && isItem(item) {
			k.Items = append(k.Items, Span{c.Start + len(text) - len(strings.TrimLeft(item[1:], " \t")), c.Start + len(text)})
		}
	}
	k.Span = Span{from, max(end, k.ValueSpan.End)}
	t.keys = append(t.keys, k)
}

// extendKey gives a line that is none of its own to the key above it.
func (t *tolerant) extendKey(prefix string, at Span) {
	depth := strings.Count(prefix, ".")
	for i := len(t.keys) - 1; t.list && i >= 0; i-- {
		switch k := &t.keys[i]; {
		case k.Depth < depth:
			return // of the map above, whose lines are its own already
		case k.Depth == depth:
			k.ValueSpan.End = at.Start + len(t.line(at))
			k.Span.End = k.ValueSpan.End
			return
		}
	}
}

// nameLen is the length of the key that a line begins with, quotes included.
func nameLen(line string) int {
	if line[0] == '"' || line[0] == '\'' {
		return quotedLen(line)
	}
	return len(strings.TrimRight(line[:strings.IndexByte(line, ':')], " \t"))
}
