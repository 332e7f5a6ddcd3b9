package meaning

import (
	"crypto/sha256"
	"strings"
	"unicode/utf8"

	"github.com/memls/memls/memory"
)

const (
	// passageRunes is how much of a body stands behind one vector, in code points.
	// Some 300 tokens: more than that the small models cut off, and the meaning of
	// a longer text is that of none of its parts.
	passageRunes = 1000
	// maxPassages bounds the vectors of one memory; 9 of 10 real ones need one or two.
	maxPassages = 8
	// maxHeadRunes bounds what title, description and keywords give to a text.
	maxHeadRunes = 500
)

// key names the text behind a vector.
type key [16]byte

// passage is a stretch of a body with the text that its vector is made of.
type passage struct {
	span memory.Span // in the text of the document; empty when it has no body
	text string
}

func (p *passage) key() key {
	sum := sha256.Sum256([]byte(p.text))
	return key(sum[:])
}

// passagesOf cuts a document into passages, each with its title, the first also with
// the rest of its head. They depend on the document alone.
func passagesOf(d *memory.Document) []passage {
	if d.Empty() {
		return nil
	}
	title := clipped(d.Title, maxHeadRunes)
	head := title
	if d.Description != "" {
		head += "\n" + d.Description
	}
	for _, list := range [][]string{d.Keywords, d.Scenarios} {
		if len(list) > 0 {
			head += "\n" + strings.Join(list, ", ")
		}
	}
	head = clipped(head, maxHeadRunes)
	spans := spansOf(d)
	if len(spans) == 0 {
		return []passage{{memory.Span{Start: d.Body.Start, End: d.Body.Start}, sendable(head)}}
	}
	out := make([]passage, len(spans))
	for i, sp := range spans {
		before := title
		if i == 0 {
			before = head
		}
		out[i] = passage{sp, sendable(before + "\n" + d.Text[sp.Start:sp.End])}
	}
	return out
}

// spansOf cuts the searched body at paragraphs, else at sentences, else at words.
func spansOf(d *memory.Document) []memory.Span {
	var out []memory.Span
	body := d.SearchedBody()
	at := body.Start
	for at < body.End && len(out) < maxPassages {
		end := at
		for n := 0; end < body.End && n < passageRunes; n++ {
			_, w := utf8.DecodeRuneInString(d.Text[end:])
			end += w
		}
		if end < body.End {
			end = at + cutAt(d.Text[at:end])
		}
		if sp := trimmed(d.Text, at, end); sp.Len() > 0 {
			out = append(out, sp)
		}
		at = end
	}
	return out
}

// cutAt is where a text that is too long is cut, in its last half.
func cutAt(s string) int {
	half := len(s) / 2
	for _, at := range []string{"\n\n", "\n", ". ", "。", "! ", "? ", "！", "？", "।", " "} {
		if i := strings.LastIndex(s[half:], at); i >= 0 {
			return half + i + len(at)
		}
	}
	return len(s)
}

func trimmed(s string, from, to int) memory.Span {
	t := s[from:to]
	from += len(t) - len(strings.TrimLeft(t, " \t\r\n"))
	return memory.Span{Start: min(from, to), End: max(from, from+len(strings.TrimSpace(t)))}
}

func clipped(s string, runes int) string {
	n := 0
	for i := range s {
		if n == runes {
			return s[:i]
		}
		n++
	}
	return s
}

// sendable is a text as endpoints take it.
func sendable(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "�")
}
