package memory

import (
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Resolve finds the document that a link's target names, among those of the root
// that the link stands in. It asks the snapshot alone, never the file system,
// and no target leads out of the root. The first of these that there is counts:
//
//   - the ref of a document;
//   - its path, percent-encoded or not, with or without ".md", from the folder
//     of from, else from the root (also when the target begins with a slash);
//   - the end of its path without ".md", that is its file name or its last
//     folders and name, whatever the case;
//   - its title, whatever the case.
//
// Of several documents with the same name or title it is the one in the folder of
// from, else the one in the fewest folders, else the first by path.
func Resolve(s *Snapshot, from *Document, target string) (*Document, bool) {
	if from == nil || from.Root == nil {
		return nil, false
	}
	r := resolver{snapshot: s, prefix: from.Root.Prefix}
	return r.resolve(from, target)
}

// resolver resolves links within the root that has the prefix.
type resolver struct {
	snapshot *Snapshot
	prefix   string
}

func (r *resolver) resolve(from *Document, target string) (*Document, bool) {
	target = strings.TrimSpace(target)
	if !nameable(target) {
		return nil, false
	}
	if ref, err := ParseRef(target); err == nil && ref.Prefix() == r.prefix {
		return r.snapshot.Get(ref.File())
	}
	forms := []string{target}
	if s, err := url.PathUnescape(target); err == nil && s != target && nameable(s) {
		forms = []string{s, target}
	}
	for _, form := range forms {
		if d, ok := r.byPath(from, form); ok {
			return d, true
		}
	}
	for _, form := range forms {
		if d, ok := r.byName(from, form); ok {
			return d, true
		}
	}
	for _, form := range forms {
		if d, ok := r.byTitle(from, form); ok {
			return d, true
		}
	}
	return nil, false
}

// nameable tells whether a target can be a name at all.
func nameable(target string) bool {
	return target != "" && len(target) <= maxTargetBytes && utf8.ValidString(target) && !strings.ContainsFunc(target, unicode.IsControl)
}

func (r *resolver) byPath(from *Document, target string) (*Document, bool) {
	if strings.HasSuffix(target, "/") {
		return nil, false
	}
	bases := []string{path.Dir(from.Rel), "."}
	if strings.HasPrefix(target, "/") {
		bases = bases[1:]
	}
	for _, base := range bases {
		rel := path.Join(base, strings.TrimLeft(target, "/"))
		for _, rel := range []string{rel, rel + ".md"} {
			// Inv: a path that leaves the root begins with ".." and is refused.
			if CheckRel(rel) != nil {
				continue
			}
			if d, ok := r.snapshot.Get(encodeRef(r.prefix, rel)); ok {
				return d, true
			}
		}
	}
	return nil, false
}

func (r *resolver) byName(from *Document, target string) (*Document, bool) {
	want := strings.TrimPrefix(foldStem(target), "/")
	if want == "" || CheckRel(want) != nil {
		return nil, false
	}
	return best(from, r.snapshot.named(r.prefix).stems[path.Base(want)], func(d *Document) bool {
		stem := foldStem(d.Rel)
		return stem == want || strings.HasSuffix(stem, "/"+want)
	})
}

func (r *resolver) byTitle(from *Document, target string) (*Document, bool) {
	want := foldName(CleanLine(target))
	if want == "" {
		return nil, false
	}
	return best(from, r.snapshot.named(r.prefix).titles[want], func(*Document) bool { return true })
}

// best is the preferred one of the documents that match.
func best(from *Document, among []*Document, match func(*Document) bool) (found *Document, ok bool) {
	for _, d := range among {
		if match(d) && (found == nil || preferred(from, d, found)) {
			found = d
		}
	}
	return found, found != nil
}

// preferred tells whether a link in from rather means a than b.
func preferred(from, a, b *Document) bool {
	folder := path.Dir(from.Rel)
	if x, y := path.Dir(a.Rel) == folder, path.Dir(b.Rel) == folder; x != y {
		return x
	}
	if x, y := strings.Count(a.Rel, "/"), strings.Count(b.Rel, "/"); x != y {
		return x < y
	}
	return a.Rel < b.Rel
}

// foldStem is a path as foldName has it, without the extension.
func foldStem(rel string) string { return strings.TrimSuffix(foldName(rel), ".md") }

// foldName makes spellings of one name equal: case, and composed against
// decomposed characters, since file systems differ in the latter.
func foldName(s string) string {
	s = strings.TrimSpace(s)
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return cases.Fold().String(norm.NFC.String(s))
		}
	}
	return strings.ToLower(s)
}
