package memory

import (
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// VersionOf is the version of a file of at most [MaxFileBytes] bytes.
func VersionOf(raw []byte) string { return digest(raw) }

// rewrites are the replacements that make the text of a file another one, line
// by line.
func rewrites(raw []byte, text string) []Replacement {
	var reps []Replacement
	for _, e := range udiff.Lines(decode(raw, false).text, strings.TrimPrefix(text, byteOrderMark)) {
		reps = append(reps, Replacement{Span{e.Start, e.End}, e.New})
	}
	return reps
}

// mergeReplacements puts those of several changes of one file together. The same
// range replaced by the same text counts once.
func mergeReplacements(all ...[]Replacement) []Replacement {
	var merged []Replacement
	for _, reps := range all {
		for _, r := range reps {
			if r.Len() == 0 || !slices.Contains(merged, r) {
				merged = append(merged, r)
			}
		}
	}
	return merged
}

// unified is a change as a diff for people. An absent file is nil.
func unified(ref string, old, next []byte) string {
	from, to := "a/"+ref, "b/"+ref
	if old == nil {
		from = "/dev/null"
	}
	if next == nil {
		to = "/dev/null"
	}
	return udiff.Unified(from, to, decode(old, false).text, decode(next, false).text)
}

// addedText is what a change adds: the lines of next that old lacks. Absent
// files are nil.
func addedText(old, next []byte) string {
	var b strings.Builder
	for _, e := range udiff.Lines(decode(old, false).text, decode(next, false).text) {
		b.WriteString(e.New)
		if !strings.HasSuffix(e.New, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// removedText is what a change takes away, likewise.
func removedText(old, next []byte) string { return addedText(next, old) }
