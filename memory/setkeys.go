package memory

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ErrHeader is why a header is not changed: it is not valid YAML, or what it says
// elsewhere would change along.
var ErrHeader = errors.New("header left as it is")

// KeyChange is a new value for one key of a header. A list goes before a text;
// with neither the key is removed, unless it stands for an empty text.
type KeyChange struct {
	Key   string // as [Keys] names it
	Text  string
	List  []string
	Empty bool // an empty text is meant, not removal
}

func (c KeyChange) removes() bool { return c.Text == "" && c.List == nil && !c.Empty }

// SetKeys is how the text of a document changes so that keys of its header have
// other values: a key that is there has its value replaced, or the one that
// stands for it inside the metadata map; a new one is added at the end of the
// header; a document without a header gets one. Everything else, comments,
// quoting and order included, stays. Errors wrap [ErrHeader].
//
// Inv: a header that is not valid YAML is never changed, and after the reps all
// other keys and the body are the same bytes as before.
func SetKeys(d *Document, changes ...KeyChange) ([]Replacement, error) {
	var reps []Replacement
	var added []string
	keys := Keys(d)
	eol := LineEnd(d.Text)
	switch d.form {
	case headerLines, headerOpen:
		return nil, fmt.Errorf("%w: it is not valid YAML", ErrHeader)
	case headerYAML:
		eol = LineEnd(d.Text[d.Header.Start:])
	}
	for _, c := range changes {
		k := findKey(keys, c.Key)
		switch {
		case k == nil && c.removes():
		case k == nil:
			added = append(added, topIndent(d, keys)+c.Key+": "+encodeValue(c, false))
		case c.removes():
			e, err := removeKey(d, keys, *k)
			if err != nil {
				return nil, err
			}
			reps = append(reps, e)
		default:
			reps = append(reps, replaceKey(d, *k, c, eol))
		}
	}
	if len(added) > 0 {
		e, err := addKeys(d, keys, added, eol)
		if err != nil {
			return nil, err
		}
		reps = append(reps, e)
	}
	return reps, checkKeys(d, keys, reps, changes)
}

func topIndent(d *Document, keys []Key) string {
	if len(keys) == 0 {
		return ""
	}
	from := keys[0].Span.Start
	line := strings.LastIndexAny(d.Text[:from], "\r\n") + 1
	if indent := d.Text[line:from]; strings.Trim(indent, " ") == "" {
		return indent
	}
	return ""
}

// addKeys inserts lines before the closing fence, or a whole header.
func addKeys(d *Document, keys []Key, lines []string, eol string) (Replacement, error) {
	text := strings.Join(lines, eol) + eol
	if d.form == headerYAML {
		if len(keys) > 0 && keys[0].Flow {
			return Replacement{}, fmt.Errorf("%w: its keys stand in braces", ErrHeader)
		}
		return Replacement{Span{d.keys.End, d.keys.End}, text}, nil
	}
	text = "---" + eol + text + "---" + eol
	if first, _ := lineAt(d.Text, 0); !blank(d.Text[first.Start:first.End]) {
		text += eol
	}
	return Replacement{Span{0, 0}, text}, nil
}

func removeKey(d *Document, keys []Key, k Key) (Replacement, error) {
	if k.Flow {
		return Replacement{}, fmt.Errorf("%w: its keys stand in braces", ErrHeader)
	}
	siblings := 0
	for _, o := range keys {
		if o.Depth == k.Depth && strings.TrimSuffix(o.Name, lastPart(o.Name)) == strings.TrimSuffix(k.Name, lastPart(k.Name)) {
			siblings++
		}
	}
	if k.Depth > 0 && siblings == 1 {
		return Replacement{}, fmt.Errorf("%w: %s is the only key of its map", ErrHeader, k.Name)
	}
	from := strings.LastIndexAny(d.Text[:k.Span.Start], "\r\n") + 1
	_, next := lineAt(d.Text, k.Span.End)
	return Replacement{Span: Span{from, next}}, nil
}

func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

func replaceKey(d *Document, k Key, c KeyChange, eol string) Replacement {
	value := encodeValue(c, k.Flow)
	// A list below its key stays one.
	if len(c.List) > 0 && len(k.Items) > 0 && strings.HasPrefix(d.Text[k.ValueSpan.Start:], "-") {
		at := k.ValueSpan.Start
		indent := d.Text[strings.LastIndexAny(d.Text[:at], "\r\n")+1 : at]
		items := make([]string, len(c.List))
		for i, item := range c.List {
			items[i] = "- " + encodeScalar(item, true, false)
		}
		value = strings.Join(items, eol+indent)
	}
	if k.ValueSpan.Len() > 0 {
		return Replacement{k.ValueSpan, value}
	}
	// What stands behind a plain value would count as part of it.
	if rest, _ := lineAt(d.Text, k.ValueSpan.Start); c.List == nil && !blank(d.Text[rest.Start:rest.End]) {
		value = quoteScalar(c.Text)
	}
	if at := k.ValueSpan.Start; at > 0 && d.Text[at-1] == ':' {
		value = " " + value
	}
	return Replacement{k.ValueSpan, value}
}

// encodeValue writes a value on one line.
func encodeValue(c KeyChange, flow bool) string {
	if c.List == nil {
		return encodeScalar(c.Text, knownKeys[lastPart(c.Key)], flow)
	}
	items := make([]string, len(c.List))
	for i, item := range c.List {
		items[i] = encodeScalar(item, true, true)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// encodeScalar writes a text as YAML: plainly when every reader takes it for that
// text, since simple readers keep the quotes; else in double quotes. prose says
// that a word like true or a number must not be taken for one.
func encodeScalar(s string, prose, flow bool) string {
	if plainScalar(s, prose, flow) {
		return s
	}
	return quoteScalar(s)
}

func quoteScalar(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r >= 0x7F && r < 0xA0 || r == '\u2028' || r == '\u2029' || r == '\uFEFF':
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func plainScalar(s string, prose, flow bool) bool {
	if s == "" || strings.ContainsAny(s, "\r\n\u0085\u2028\u2029\uFEFF") || len(s) > maxYAMLBytes/2 {
		return false
	}
	// By itself it would begin or end a document.
	if strings.HasPrefix(s, "---") || strings.HasPrefix(s, "...") {
		return false
	}
	src, wrap := "k: "+s+"\n", 0
	if flow {
		src, wrap = "k: ["+s+"]\n", 1
	}
	if tooComplex(src) {
		return false
	}
	root, err := yamlRoot(src)
	if err != nil || root == nil || root.Kind != yaml.MappingNode || len(root.Content) != 2 {
		return false
	}
	v := root.Content[1]
	if wrap == 1 {
		if v.Kind != yaml.SequenceNode || len(v.Content) != 1 {
			return false
		}
		v = v.Content[0]
	}
	return v.Kind == yaml.ScalarNode && v.Style == 0 && v.Anchor == "" && v.Value == s && (!prose || v.ShortTag() == "!!str")
}

// checkKeys tells whether the reps do what they should and nothing else.
func checkKeys(d *Document, keys []Key, reps []Replacement, changes []KeyChange) error {
	text, err := ReplaceText(d.Text, reps...)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrHeader, err)
	}
	after := Parse([]byte(text))
	if len(reps) > 0 && after.form != headerYAML || after.BodyText() != d.BodyText() {
		return fmt.Errorf("%w: the result would not be a header", ErrHeader)
	}
	touched := func(k Key) bool {
		return slices.ContainsFunc(changes, func(c KeyChange) bool {
			for _, name := range []string{c.Key, metadataKey + "." + c.Key} {
				if k.Name == name || strings.HasPrefix(k.Name, name+".") || strings.HasPrefix(name, k.Name+".") {
					return true
				}
			}
			return false
		})
	}
	rest := func(text string, keys []Key) (out []string) {
		for _, k := range keys {
			if !touched(k) {
				out = append(out, k.Name, text[k.Span.Start:k.Span.End])
			}
		}
		return out
	}
	newKeys := Keys(after)
	if !slices.Equal(rest(d.Text, keys), rest(text, newKeys)) {
		return fmt.Errorf("%w: other keys would change", ErrHeader)
	}
	for _, c := range changes {
		k := findKey(newKeys, c.Key)
		if (k == nil) != c.removes() || k != nil && !c.holds(after, *k) {
			return fmt.Errorf("%w: %s would not be as asked", ErrHeader, c.Key)
		}
	}
	return nil
}

// holds tells whether a key has the value of the change.
func (c KeyChange) holds(d *Document, k Key) bool {
	if c.List == nil {
		return yamlText(d.Text[k.ValueSpan.Start:k.ValueSpan.End]) == c.Text
	}
	items := make([]string, len(k.Items))
	for i, s := range k.Items {
		items[i] = yamlText(d.Text[s.Start:s.End])
	}
	return slices.Equal(items, c.List)
}

// yamlText is the text that a scalar stands for.
func yamlText(src string) string {
	if src == "" {
		return ""
	}
	root, err := yamlRoot(src)
	if err != nil || root == nil || root.Kind != yaml.ScalarNode {
		return src
	}
	return root.Value
}

// newFile is the text of a new memory: a header of the keys that are set, and a
// body.
func newFile(body string, keys ...KeyChange) string {
	var b strings.Builder
	b.WriteString("---\n")
	for _, k := range keys {
		if !k.removes() {
			fmt.Fprintf(&b, "%s: %s\n", k.Key, encodeValue(k, false))
		}
	}
	return b.String() + "---\n\n" + body
}
