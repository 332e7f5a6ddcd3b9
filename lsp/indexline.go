package lsp

import (
	"strings"

	"github.com/memls/memls/memory"
)

// maxIndexRunes bounds the title and the description of an index line.
const maxIndexRunes = 120

// indexLine is the line of a generated index for a memory: its title, where it
// is from the root, and what it is about.
func indexLine(d *memory.Document) string {
	about := d.Description
	if about == "" {
		about = d.Type
	}
	line := "- [" + indexText(d.Title) + "](" + pathFrom(memory.IndexName, d.Rel) + ")"
	if about = indexText(about); about != "" {
		line += " — " + about
	}
	return line
}

// indexText is a text that cannot end the link that it stands in or before.
func indexText(s string) string {
	s = strings.NewReplacer("`", "'", "](", "] (").Replace(memory.CleanLine(s))
	return clip(s, maxIndexRunes)
}
