package memory

import (
	"strings"
	"unicode"
	"unicode/utf16"
)

// GeneratedFrom tells whether an index holds nothing but what a generator makes of
// these documents, ours or that of qwen-code: so that it can be made anew without
// losing a word that somebody wrote. An empty one is.
func (x *IndexFile) GeneratedFrom(docs []*Document) bool {
	if x.Doc.Header.Len() > 0 || x.Doc.Truncated || x.Doc.Lossy {
		return false
	}
	names := newIndexNames(docs)
	for _, line := range x.Lines {
		if line.Kind == IndexNotice {
			continue
		}
		if line.Kind != IndexEntry || !generatedEntry(x.Doc.Text, line, names) {
			return false
		}
	}
	return true
}

// generatedEntry tells whether an entry is what a generator makes of the document
// that it is about.
func generatedEntry(text string, line IndexLine, names indexNames) bool {
	d, place := names.find(line.Targets[0])
	if place != placeDocument {
		return false
	}
	group := []*Document{d}
	for _, rel := range alsoNamed(text, line) {
		o := names.rels[rel]
		if o == nil {
			return false
		}
		group = append(group, o)
	}
	got := text[line.Span.Start:line.Span.End]
	if got == indexLine(group) {
		return true
	}
	plain, _, _ := strings.Cut(got, alsoMark)
	return plain == qwenLine(d)
}

// qwenLine is the entry that qwen-code makes of a document.
func qwenLine(d *Document) string {
	hook := qwenText(d.Description)
	if hook == "" {
		hook = qwenText(d.Type)
	}
	path, _ := clipRunes(d.Rel, maxIndexText)
	return clipUnits("- ["+qwenText(d.Title)+"]("+escapeRel(path)+")"+indexDash+hook, maxIndexLine)
}

func qwenText(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r):
			return ' '
		case r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r == 0xFEFF:
			return -1
		case r == '`':
			return '\''
		}
		return r
	}, s)
	s = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "](", "] (")
	return clipUnits(s, maxIndexText)
}

// clipUnits cuts s after n UTF-16 code units, the last of which is an ellipsis.
func clipUnits(s string, n int) string {
	units := utf16.Encode([]rune(s))
	if len(units) <= n {
		return s
	}
	return string(utf16.Decode(units[:n-1])) + "…"
}
