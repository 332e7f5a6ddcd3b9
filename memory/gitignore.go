package memory

import (
	"os"
	"path"
	"strings"
)

// Bounds of the patterns that are kept of a workspace.
const (
	maxIgnorePatterns = 5000
	maxIgnoreBytes    = 256 << 10 // of all files of patterns
)

// ignorePatterns are the patterns of a workspace's files .gitignore, and of its
// .git/info/exclude. What any of them could mean counts as ignored, wherever it
// stands and whatever another one takes back with a "!": nothing is said of an
// ignored path, and in doubt nothing is to be said.
type ignorePatterns struct {
	patterns [][]string // the segments of each
	bytes    int
	cut      bool // there were more
	negated  bool // some are taken back
}

// read adds the patterns of a file of a workspace, if there is one.
func (g *ignorePatterns) read(root *os.Root, name string) {
	raw, err := readBounded(root, name)
	if err != nil {
		return
	}
	if g.bytes += len(raw); g.bytes > maxIgnoreBytes {
		g.cut = true
		return
	}
	for line := range strings.Lines(string(raw)) {
		g.add(strings.TrimRight(line, "\r\n"))
	}
}

func (g *ignorePatterns) add(line string) {
	if !strings.HasSuffix(line, `\ `) {
		line = strings.TrimRight(line, " \t")
	}
	if line == "" || line[0] == '#' {
		return
	}
	if line[0] == '!' {
		g.negated = true
		return
	}
	// Git writes [!a] where Go writes [^a].
	line = strings.ReplaceAll(strings.Trim(line, "/"), "[!", "[^")
	if line == "" {
		return
	}
	if len(g.patterns) >= maxIgnorePatterns {
		g.cut = true
		return
	}
	g.patterns = append(g.patterns, strings.Split(line, "/"))
}

// cover tells whether a path, or a folder that it leads through, may be ignored.
func (g *ignorePatterns) cover(name string) bool {
	if g.cut {
		return true
	}
	segments := strings.Split(name, "/")
	for _, p := range g.patterns {
		for i := range segments {
			if matchSegments(p, segments[i:]) {
				return true
			}
		}
	}
	return false
}

// matchSegments tells whether the first segments of a path match those of a
// pattern.
func matchSegments(pattern, segments []string) bool {
	for i, p := range pattern {
		if p == "**" {
			rest := pattern[i+1:]
			for k := i; k <= len(segments); k++ {
				if matchSegments(rest, segments[min(k, len(segments)):]) && (len(rest) > 0 || k < len(segments)) {
					return true
				}
			}
			return false
		}
		if i >= len(segments) {
			return false
		}
		if ok, err := path.Match(p, segments[i]); err != nil || !ok {
			return false
		}
	}
	return true
}

// plain are the names of folders that are ignored wherever they stand, so that
// they need not be looked through; none where anything is taken back.
func (g *ignorePatterns) plain() map[string]bool {
	names := map[string]bool{}
	for _, p := range g.patterns {
		if len(p) == 1 && !g.negated && !strings.ContainsAny(p[0], `*?[\`) {
			names[p[0]] = true
		}
	}
	return names
}
