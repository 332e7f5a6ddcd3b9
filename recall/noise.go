package recall

import (
	"slices"
	"strings"

	"github.com/memls/memls/memory"
)

// usageMarkers tell that a memory describes how a tool is called; while the tool
// is in use, the agent has better sources. durableMarkers tell that it holds
// something that stays worth knowing. The rule and both lists are those of the
// agents whose memories these are.
var (
	usageMarkers = []string{
		"api docs", "api documentation", "failed call", "failed tool call", "failed tool-call", "field mapping",
		"guessed call", "guessed tool", "mcp tool", "parameter schema", "tool schema", "tool usage", "usage reference",
	}
	durableMarkers = []string{
		"credential", "escalation", "gotcha", "known issue", "owner", "warning", "workaround",
	}
)

// usageText is the text in which the names of tools are looked for, of a memory
// that describes how one is called; empty of every other. It is made when the
// memory is indexed: making it costs as much as reading the memory does, which a
// recall has no time for.
func usageText(d *memory.Document) string {
	hay := strings.ToLower(strings.Join([]string{d.Title, d.Description, d.BodyText(),
		strings.Join(d.Keywords, " "), strings.Join(d.Scenarios, " ")}, " "))
	if !containsAny(hay, usageMarkers) || containsAny(hay, durableMarkers) {
		return ""
	}
	return hay
}

// toolNoise returns a test for memories that only document a tool in use, to be
// given their usage text; nil when no tool is. The aliases are computed once for
// a recall.
func toolNoise(tools []string) func(usage string) bool {
	seen := map[string]bool{}
	var names []string
	for _, t := range tools {
		for _, a := range toolAliases(t) {
			if !seen[a] {
				seen[a] = true
				names = append(names, a)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return func(usage string) bool { return usage != "" && containsAny(usage, names) }
}

// usageOf is the usage text of a living document of the index.
func (ix *Index) usageOf(d *memory.Document) string {
	for i := range ix.views {
		if id, ok := ix.views[i].local[d]; ok {
			return ix.views[i].usage[id]
		}
	}
	return ""
}

// toolAliases are the spellings of one tool's name: as given, what follows the
// last "::", and of mcp__server__tool the tool, with and without its prefixes.
func toolAliases(name string) []string {
	n := strings.ToLower(strings.TrimSpace(name))
	if n == "" {
		return nil
	}
	out := []string{n}
	if i := strings.LastIndex(n, "::"); i >= 0 && i+2 < len(n) {
		out = append(out, n[i+2:])
	}
	if parts := strings.Split(n, "__"); parts[0] == "mcp" && len(parts) >= 3 {
		out = append(out, strings.Join(parts[2:], "__"), parts[len(parts)-1])
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

func containsAny(hay string, needles []string) bool {
	return slices.ContainsFunc(needles, func(n string) bool { return strings.Contains(hay, n) })
}
