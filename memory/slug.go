package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxSlugBytes bounds the file name of a new memory without its extension: a
	// suffix, the extension and the name of a temporary copy still fit NAME_MAX.
	maxSlugBytes = 150
	// maxSlugRunes keeps names readable in lists.
	maxSlugRunes = 60
	// noSlug names what has no letter to be named by.
	noSlug = "note"
)

// Slug is the name, without extension, of a new file for a memory of this name:
// the letters, marks and digits of every script, in lower case and NFC, with a
// hyphen for whatever stands between. It is never empty, never hidden, never
// leads to another folder, and is no name that an operating system or this
// program reserves, whatever the name is.
func Slug(name string) string {
	name = norm.NFC.String(strings.ToLower(norm.NFC.String(CleanLine(strings.ToValidUTF8(name, " ")))))
	var b strings.Builder
	gap, runes := false, 0
	for _, r := range name {
		if !unicode.In(r, unicode.Letter, unicode.Nd, unicode.Mark) {
			// An apostrophe parts no words: don't is dont, l'eau is leau.
			gap = gap || b.Len() > 0 && !strings.ContainsRune("'’ʼ`´\u200C\u200D", r)
			continue
		}
		if b.Len() == 0 && unicode.Is(unicode.Mark, r) {
			continue
		}
		n := utf8.RuneLen(r)
		if gap {
			n++
		}
		if b.Len()+n > maxSlugBytes || runes >= maxSlugRunes && gap || runes > 2*maxSlugRunes {
			break
		}
		if gap {
			b.WriteByte('-')
			gap = false
		}
		b.WriteRune(r)
		runes++
	}
	slug := strings.Trim(b.String(), "-")
	if slug == "" || reservedName(slug) {
		slug = strings.Trim(noSlug+"-"+slug, "-")
	}
	return slug
}

// reservedName tells whether a file of that name means something else: to
// Windows with any extension, to memls where file names have no case.
func reservedName(slug string) bool {
	return slug == "memory" || device(slug)
}
