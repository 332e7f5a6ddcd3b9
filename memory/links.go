package memory

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// LinkKind is how a link is written.
type LinkKind string

// The kinds of links.
const (
	LinkWiki       LinkKind = "wiki"       // [[target]], [[target#heading|text]]
	LinkMarkdown   LinkKind = "markdown"   // [text](target), and by reference
	LinkSupersedes LinkKind = "supersedes" // an item of the supersedes key
)

// Bounds of link targets. What is longer is no name of a file or of a memory and
// so no link: text in brackets can be anything.
const (
	maxWikiRunes   = maxSegmentBytes
	maxTargetBytes = maxRelBytes
)

// Link is a link from a memory to what may be another one: see [Resolve]. Links
// with a scheme, except refs, and links into the same file are none.
type Link struct {
	Kind LinkKind
	// Span is the whole link in Document.Text, TargetSpan the target as it is
	// written, without its heading; of a link by reference it stands in the
	// definition, which several links may share.
	Span, TargetSpan Span
	// TextSpan is what is shown for it as it is written, with its emphasis; it
	// stands in Span and is empty for a link that shows nothing.
	TextSpan Span
	// Target is the target without backslashes in front of punctuation, still
	// percent-encoded, and without a heading or query.
	Target  string
	Heading string // what follows a #
	Text    string // what is shown for it, as one displayable line
}

// Links are the links of a document in order: those of its supersedes key, then
// those of its body outside of code, comments and images. They do not overlap.
// They are looked for once, at a cost that is linear in the document, and are
// not to be changed.
func Links(d *Document) []Link { return d.found.links(d) }

// findings are what is looked for in a document when it is first asked for.
type findings struct {
	once sync.Once
	text string // in which the links were found
	list []Link

	anchorsOnce sync.Once
	anchorsText string
	anchorsList []Anchor
}

// links are those of d, which may be a copy of the document that the findings
// are of: one with another text has its own links.
func (f *findings) links(d *Document) []Link {
	if f == nil {
		return findLinks(d)
	}
	f.once.Do(func() { f.text, f.list = d.Text, findLinks(d) })
	if f.text != d.Text {
		return findLinks(d)
	}
	return f.list
}

// anchors are those of d, as links are.
func (f *findings) anchors(d *Document) []Anchor {
	if f == nil {
		return findAnchors(d)
	}
	f.anchorsOnce.Do(func() { f.anchorsText, f.anchorsList = d.Text, findAnchors(d) })
	if f.anchorsText != d.Text {
		return findAnchors(d)
	}
	return f.anchorsList
}

func findLinks(d *Document) []Link {
	out := supersedesLinks(d)
	if strings.IndexByte(d.BodyText(), '[') < 0 {
		return out
	}
	b := scanBlocks(d, true)
	in := inlineScanner{text: b.text, out: out}
	for i, run := range b.runs {
		b.runs[i] = in.define(run)
	}
	for _, run := range b.runs {
		in.scan(run)
	}
	return in.out
}

var supersedesKey = regexp.MustCompile(`(?im)^[ \t]*["']?supersedes["']?[ \t]*:`)

// supersedesLinks finds the items of the supersedes key where they stand. An
// item that is spelled otherwise there, with escapes say, has an empty span
// behind the key.
func supersedesLinks(d *Document) []Link {
	if len(d.Supersedes) == 0 {
		return nil
	}
	head := d.Text[:d.Body.Start]
	at := 0
	if m := supersedesKey.FindStringIndex(head); m != nil {
		at = m[1]
	}
	var out []Link
	for _, item := range d.Supersedes {
		span := Span{at, at}
		if i := strings.Index(head[at:], item); i >= 0 {
			span = Span{at + i, at + i + len(item)}
			at = span.End
		}
		target := strings.TrimSuffix(strings.TrimPrefix(item, "[["), "]]")
		out = append(out, Link{Kind: LinkSupersedes, Span: span, TargetSpan: span, Target: target, Text: CleanLine(target)})
	}
	return out
}

// pathTarget narrows the place of a Markdown link's target to what may be the
// path of a memory.
func pathTarget(text string, at Span) (target Span, heading string, ok bool) {
	s, heading, _ := strings.Cut(text[at.Start:at.End], "#")
	s, _, _ = strings.Cut(s, "?")
	if s == "" || strings.HasPrefix(s, "//") || foreign(s) {
		return Span{}, "", false
	}
	return Span{at.Start, at.Start + len(s)}, heading, true
}

// wikiTarget is that of a wikilink, which may also be a title: "?" and ":" are
// part of it, unless it is plainly an address.
func wikiTarget(text string, at Span) (target Span, heading string, ok bool) {
	s, heading, _ := strings.Cut(text[at.Start:at.End], "#")
	s = strings.TrimRight(s, " \t")
	if s == "" || strings.Contains(s, "://") {
		return Span{}, "", false
	}
	return Span{at.Start, at.Start + len(s)}, heading, true
}

// foreign tells whether a target begins with the scheme of a URI. A scope is
// none, and neither is the one letter of a drive.
func foreign(target string) bool {
	scheme, _, ok := strings.Cut(target, ":")
	if !ok || len(scheme) < 2 {
		return false
	}
	for i := range len(scheme) {
		c := scheme[i] | 0x20
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || strings.IndexByte("0123456789+-.", scheme[i]) < 0) {
			return false
		}
	}
	name, _, _ := strings.Cut(scheme, "@")
	return !Scope(name).Valid()
}

// unescape drops the backslashes in front of ASCII punctuation.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && punctuation(s[i+1]) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func punctuation(c byte) bool {
	return c < utf8.RuneSelf && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c) >= 0
}
