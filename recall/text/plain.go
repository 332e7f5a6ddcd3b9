package text

import "strings"

// Fold is s as it is compared with what people type: folded as tokens are, and
// without the accents that [StripAccents] drops.
func Fold(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, a := range atoms(nil, s, 0, len(s)) {
		b.WriteRune(a.r)
	}
	return StripAccents(b.String())
}
