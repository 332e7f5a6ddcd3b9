package lsp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/protocol"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/text"
)

// maxCompletions bounds a list; the client asks again when more is typed.
const maxCompletions = 100

// completionData is what an item of ours keeps for completionItem/resolve.
type completionData struct {
	Ref string `json:"ref,omitzero"`
	Key string `json:"key,omitzero"`
}

// completion serves textDocument/completion.
func (f *features) completion(ctx context.Context, p *page, q *positionParams) (any, error) {
	s := spotAt(p, p.at.offset(q.Position))
	c := completer{f: f, p: p, spot: s}
	switch s.kind {
	case spotKey:
		c.keys()
	case spotValue:
		c.values()
	case spotWiki, spotTarget, spotItem:
		c.memories()
	case spotHeading:
		c.headings()
	case spotNone:
		return nil, nil
	}
	if c.list.Items == nil {
		c.list.Items = []protocol.CompletionItem{}
	}
	if c.err != nil {
		return nil, c.err
	}
	return &c.list, ctx.Err()
}

// completer gathers the items for one spot.
type completer struct {
	f    *features
	p    *page
	spot spot
	list protocol.CompletionList
	err  error
}

// add adds an item that replaces what the spot covers.
func (c *completer) add(label, insert, filter string, kind protocol.CompletionItemKind, data completionData) *protocol.CompletionItem {
	item := protocol.CompletionItem{
		Label: label, Kind: kind,
		TextEdit: &protocol.TextEdit{Range: c.p.rangeOf(c.spot.whole), NewText: insert},
		SortText: protocol.NewOptional(fmt.Sprintf("%04d", len(c.list.Items))),
	}
	if filter != label {
		item.FilterText = protocol.NewOptional(filter)
	}
	if data != (completionData{}) {
		raw, err := encode(data)
		c.err = errors.Join(c.err, err)
		item.Data = protocol.LSPAny(raw)
	}
	c.list.Items = append(c.list.Items, item)
	return &c.list.Items[len(c.list.Items)-1]
}

// beside shows something beside the label.
func (c *completer) beside(item *protocol.CompletionItem, s string) {
	if s == "" {
		return
	}
	if c.f.support().LabelDetails {
		item.LabelDetails = &protocol.CompletionItemLabelDetails{Description: &s}
		return
	}
	item.Detail = protocol.NewOptional(s)
}

// keys are those that the header has not.
func (c *completer) keys() {
	for _, k := range headerKeys() {
		if slices.Contains(c.spot.given, k.name) || c.spot.in != "" && (c.spot.in != "metadata" || k.name != "type") {
			continue
		}
		insert := k.name
		if !c.spot.closed {
			insert += ": "
			if k.name == "metadata" {
				insert = "metadata:"
			}
		}
		c.add(k.name, insert, k.name, protocol.CompletionItemKindProperty, completionData{Key: k.name})
	}
}

// values are those that the key can have, and those that other memories give it.
func (c *completer) values() {
	about, ok := findHeaderKey(c.spot.key)
	if !ok {
		return
	}
	switch about.shape {
	case shapeLinks:
		c.memories()
		return
	case shapeDate:
		c.dates(about.name)
		return
	case shapeText:
		return
	}
	for _, v := range about.values {
		c.value(v.name, protocol.CompletionItemKindEnumMember).Documentation = protocol.String(v.meaning)
	}
	for _, u := range c.used(about) {
		if slices.ContainsFunc(about.values, func(v headerValue) bool { return v.name == u.name }) {
			continue
		}
		if len(c.list.Items) == maxCompletions {
			c.list.IsIncomplete = true
			return
		}
		c.beside(c.value(u.name, protocol.CompletionItemKindValue), times(u.count))
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (c *completer) value(v string, kind protocol.CompletionItemKind) *protocol.CompletionItem {
	return c.add(v, c.spaced(headerScalar(v)), v, kind, completionData{})
}

// spaced puts a blank between a colon and its value.
func (c *completer) spaced(insert string) string {
	if c.spot.glued {
		return " " + insert
	}
	return insert
}

var plainWord = regexp.MustCompile(`^[\pL\pN_](?:[\pL\pN _./+@()-]*[\pL\pN_./+@()-])?$`)

// headerScalar writes a word for a header, in quotes when YAML wants it.
func headerScalar(s string) string {
	if plainWord.MatchString(s) && !strings.HasSuffix(s, "/") {
		return s
	}
	return strconv.Quote(s)
}

type usedValue struct {
	name  string
	count int
}

// used are the values that memories give a key, the most frequent first: only of
// memories that whoever reads this one may see. Those that do not have the typed
// letters are left out before the list is cut.
func (c *completer) used(about headerKey) []usedValue {
	counts := map[string]int{}
	for d := range c.p.snap.All() {
		if !seesFrom(c.p.Root, d.Root) {
			continue
		}
		switch about.name {
		case "keywords":
			for _, k := range d.Keywords {
				counts[k]++
			}
		case "category":
			counts[d.Category]++
		}
	}
	if own := c.p.saved; own != nil && about.name == "keywords" {
		for _, k := range own.Keywords {
			if counts[k]--; counts[k] == 0 {
				delete(counts, k)
			}
		}
	}
	delete(counts, "")
	typed := text.Fold(c.spot.typed)
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	var out []usedValue
	for _, name := range names {
		if strings.Contains(text.Fold(name), typed) && !slices.Contains(c.p.doc.Keywords, name) {
			out = append(out, usedValue{name, counts[name]})
		}
	}
	return out
}

// seesFrom tells whether what is in one root may be shown to whoever edits a file
// of another: one that belongs to every folder that the other does.
func seesFrom(from, to *memory.Root) bool {
	if to.Real == from.Real || to.Folders == "" {
		return true
	}
	for folder := range from.Folders.All() {
		if !to.Folders.Has(folder) {
			return false
		}
	}
	return from.Folders != ""
}

// dates are those that a key is likely to have.
func (c *completer) dates(key string) {
	now := c.f.opt.Now().UTC()
	item := func(t time.Time, what string) {
		s := t.Format(time.DateOnly)
		c.beside(c.add(s, c.spaced(s), s, protocol.CompletionItemKindConstant, completionData{}), what)
	}
	if key != "expires_at" {
		item(now, "today")
		s := now.Format(time.RFC3339)
		c.beside(c.add(s, c.spaced(s), s, protocol.CompletionItemKindConstant, completionData{}), "now")
		return
	}
	item(now.AddDate(0, 0, 7), "in a week")
	item(now.AddDate(0, 1, 0), "in a month")
	item(now.AddDate(0, 3, 0), "in three months")
	item(now.AddDate(1, 0, 0), "in a year")
}

// memories are those of the page's root, which links cannot leave. In an index,
// those that it does not list come first.
func (c *completer) memories() {
	typed, err := url.PathUnescape(c.spot.typed)
	if err != nil {
		typed = c.spot.typed
	}
	found := c.f.called(c.p.snap, typed, func(d *memory.Document) bool {
		return d.Root.Prefix == c.p.Root.Prefix && d.Ref != c.p.doc.Ref
	})
	var listed map[string]bool
	if c.p.Index {
		listed = c.p.listed()
		slices.SortStableFunc(found, func(a, b *memory.Document) int { return cmp.Compare(rankOf(listed[a.Ref]), rankOf(listed[b.Ref])) })
	}
	for _, d := range found {
		if c.spot.kind == spotItem && listed[d.Ref] {
			continue
		}
		if len(c.list.Items) == maxCompletions {
			c.list.IsIncomplete = true
			return
		}
		insert, ok := c.naming(d)
		if !ok {
			continue
		}
		item := c.add(d.Title, insert, d.Title+" "+d.Rel, protocol.CompletionItemKindFile, completionData{Ref: d.Ref})
		c.beside(item, memory.CleanLine(d.Rel))
	}
}

func rankOf(later bool) int {
	if later {
		return 1
	}
	return 0
}

// naming is how a memory is named at the spot; ok is false when no name leads to
// it.
func (c *completer) naming(d *memory.Document) (insert string, ok bool) {
	switch c.spot.kind {
	case spotTarget:
		insert, ok = pathTo(c.p, d)
		if !c.spot.closed {
			insert += ")"
		}
		return insert, ok
	case spotItem:
		insert = indexEntryOf(d)
		return insert, insert != ""
	case spotValue:
		insert, ok = wikiName(c.p, d)
		return c.spaced(headerScalar(insert)), ok
	default:
		insert, ok = wikiName(c.p, d)
		if !c.spot.closed {
			insert += "]]"
		}
		return insert, ok
	}
}

// wikiName is the shortest name by which a wikilink in a page leads to a memory.
func wikiName(p *page, d *memory.Document) (string, bool) {
	rel := d.Rel
	if ext := path.Ext(rel); strings.EqualFold(ext, ".md") {
		rel = rel[:len(rel)-len(ext)]
	}
	for _, name := range []string{path.Base(rel), rel, "/" + rel, "/" + d.Rel} {
		name = wikiEscaper.Replace(name)
		if to, ok := memory.Resolve(p.snap, p.doc, name); ok && to.Ref == d.Ref {
			return name, true
		}
	}
	return d.Ref, !strings.ContainsAny(d.Ref, "[]|#")
}

// wikiEscaper keeps a name from ending a wikilink, or a header's list.
var wikiEscaper = strings.NewReplacer("%", "%25", "[", "%5B", "]", "%5D", "|", "%7C", "#", "%23", ",", "%2C")

// pathTo is the path by which a Markdown link in a page leads to a memory.
func pathTo(p *page, d *memory.Document) (string, bool) {
	rel := pathFrom(p.Rel, d.Rel)
	// In front of a name with a colon, which would be a scheme.
	for _, target := range []string{rel, "./" + rel} {
		if to, ok := memory.Resolve(p.snap, p.doc, target); ok && to.Ref == d.Ref {
			return target, true
		}
	}
	return "", false
}

// pathFrom is the path of a file from the folder of another one, as links have it.
func pathFrom(from, to string) string { return escapePath(relPath(path.Dir(from), to)) }

// escapePath writes a path as the target of a Markdown link.
func escapePath(rel string) string {
	parts := strings.Split(rel, "/")
	for i, name := range parts {
		parts[i] = url.PathEscape(name)
	}
	return strings.Join(parts, "/")
}

// headings are those of the memory that a link leads to, or of the page itself.
func (c *completer) headings() {
	d := c.p.doc
	if strings.TrimSpace(c.spot.in) != "" {
		to, ok := memory.Resolve(c.p.snap, c.p.doc, c.spot.in)
		if !ok {
			return
		}
		d = c.f.seen(c.p.snap, to)
	}
	slug := c.inTarget()
	for _, h := range memory.OutlineOf(d).Headings {
		if h.Text == "" || strings.ContainsAny(h.Text, "[]|#()") {
			continue
		}
		if len(c.list.Items) == maxCompletions {
			c.list.IsIncomplete = true
			return
		}
		insert := h.Text
		if slug {
			insert = headingSlug(h.Text)
		}
		c.add(h.Text, insert, h.Text, protocol.CompletionItemKindReference, completionData{})
	}
}

// inTarget tells whether a heading is written in [text](target#heading).
func (c *completer) inTarget() bool {
	line := wholeLine(c.p.doc.Text, c.spot.whole.Start)
	before := c.p.doc.Text[line.Start:c.spot.whole.Start]
	return strings.LastIndex(before, "](") > strings.LastIndex(before, "[[")
}

// looseObject is an object that goes back to the client as it came, but for what
// is added to it.
type looseObject map[string]jsontext.Value

// resolveCompletion serves completionItem/resolve: it adds the description of a
// memory or of a key, which is too much to send for a whole list.
func (f *features) resolveCompletion(ctx context.Context, item *looseObject) (looseObject, error) {
	data := capability[completionData]((*item)["data"])
	m := newMarkup(f.support().CompletionMarkdown)
	switch {
	case data.Ref != "":
		snap, err := f.loaded(ctx)
		if err != nil {
			return nil, err
		}
		d, ok := snap.Get(data.Ref)
		if !ok {
			return *item, nil // gone meanwhile
		}
		f.card(m, f.seen(snap, d))
	case data.Key != "":
		if about, ok := findHeaderKey(data.Key); ok {
			about.explain(m)
		}
	}
	if m.Len() == 0 {
		return *item, nil
	}
	raw, err := encode(m.content())
	if err != nil {
		return nil, err
	}
	(*item)["documentation"] = jsontext.Value(raw)
	return *item, nil
}
