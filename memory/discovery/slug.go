package discovery

import (
	"strings"
	"unicode/utf16"
)

// slug is the name that a directory for a project's path bears: everything but
// ASCII letters and digits becomes a hyphen, a character beyond the Basic
// Multilingual Plane two of them. Paths that differ elsewhere only share it.
func slug(path string) string {
	var b strings.Builder
	b.Grow(len(path))
	for _, r := range path {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			b.WriteByte(byte(r))
		default:
			b.WriteString("--"[:utf16.RuneLen(r)])
		}
	}
	return b.String()
}
