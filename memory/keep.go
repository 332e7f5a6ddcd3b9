package memory

import (
	"path"
	"strings"
)

// IndexName is the name of the generated index of a root. It is watched and
// never a memory.
const IndexName = "MEMORY.md"

// keepName tells whether a name below a root is watched: directories that are
// not hidden, Markdown files, and the index. It looks at the last name only:
// what lies in a directory that is not kept is never asked for.
func keepName(rel string, dir bool) bool {
	name := path.Base(rel)
	if strings.HasPrefix(name, ".") {
		return false
	}
	return dir || isMarkdown(name) && !isTemporary(name)
}

// keepPath is keepName for every directory on the way as well.
func keepPath(rel string) bool {
	for i := range len(rel) {
		if rel[i] == '/' && !keepName(rel[:i], true) {
			return false
		}
	}
	return keepName(rel, false)
}

func isMarkdown(name string) bool {
	return len(name) > len(".md") && strings.EqualFold(name[len(name)-len(".md"):], ".md")
}

func isIndex(rel string) bool { return path.Base(rel) == IndexName }

// isTemporary knows the names under which editors and office programs keep a
// second copy that still ends in .md. Most others end differently (x.md~,
// x.md.swp, x.md.tmp1, #x.md#, 4913) or are hidden.
func isTemporary(name string) bool {
	if strings.HasPrefix(name, "~") || strings.HasPrefix(name, "#") {
		return true
	}
	lower := strings.ToLower(strings.TrimSuffix(name, name[len(name)-len(".md"):]))
	for _, end := range []string{"~", ".tmp", ".temp", ".bak", ".swp", ".orig", ".part"} {
		if strings.HasSuffix(lower, end) {
			return true
		}
	}
	return strings.Contains(lower, ".tmp.")
}

// keeper is the filter for one root's watcher.
func (r resolvedRoot) keeper() func(rel string, dir bool) bool {
	inner := r.inner
	return func(rel string, dir bool) bool {
		if dir {
			for _, in := range inner {
				if samePath(rel, in.rel) {
					return false
				}
			}
		}
		return keepName(rel, dir)
	}
}

// owns tells whether a file belongs to this root and not to one inside it.
func (r resolvedRoot) owns(rel string) bool {
	for _, in := range r.inner {
		if n := len(in.rel); len(rel) > n && rel[n] == '/' && samePath(rel[:n], in.rel) {
			return false
		}
	}
	return keepPath(rel)
}
