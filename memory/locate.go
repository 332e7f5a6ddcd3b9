package memory

import (
	"fmt"
	"path/filepath"
)

// Place is a name below a root: that of a memory, or of an index.
type Place struct {
	Root  *Root
	Rel   string // slash-separated
	Index bool   // it is a MEMORY.md, which is no memory
}

// Ref is the ref of the file.
func (p Place) Ref() string { return encodeRef(p.Root.Prefix, p.Rel) }

// Path is the file by the path that its root was configured with.
func (p Place) Path() string { return filepath.Join(p.Root.Path, filepath.FromSlash(p.Rel)) }

// Same tells whether two places are one file.
func (p Place) Same(o Place) bool { return p.Root.Real == o.Root.Real && samePath(p.Rel, o.Rel) }

// Parse is [Parse] for bytes that are, or could be, the file at this place.
func (p Place) Parse(raw []byte) *Document { return finish(Parse(raw), p.Root, p.Rel) }

// Locate finds the place that an absolute path names, by the paths of the roots
// with and without their symlinks: the file system is not asked, and the file
// need not exist. A path inside several roots belongs to the innermost. ok is
// false for what is in no root, in one that is not trusted, or bears a name that
// is neither a memory's nor an index's.
func (s *Snapshot) Locate(path string) (p Place, ok bool) {
	for i := range s.roots {
		root := s.roots[i].Root
		for _, dir := range []string{root.Path, root.Real} {
			if rel, in := below(dir, path); in && (!ok || len(rel) < len(p.Rel)) {
				p, ok = Place{Root: root, Rel: rel, Index: isIndex(rel)}, true
			}
		}
	}
	ok = ok && !p.Root.Untrusted && keepPath(p.Rel) && CheckRel(p.Rel) == nil
	return p, ok
}

// ReadText reads the text of the file at a place, of which at most MaxFileBytes,
// as the catalog does: through its root and never through a symlink. open is
// [OpenFile] when nil.
func ReadText(p Place, open OpenFunc) (string, error) {
	if open == nil {
		open = OpenFile
	}
	root, err := openRoot(p.Root.Real)
	if err != nil {
		return "", fmt.Errorf("root %s: %w", p.Root.Path, err)
	}
	defer root.Close()
	r := reader{root: root, open: open}
	defer r.close()
	raw, _, err := r.read(p.Rel)
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.Rel, err)
	}
	return decode(raw[:min(len(raw), MaxFileBytes)], len(raw) > MaxFileBytes).text, nil
}
