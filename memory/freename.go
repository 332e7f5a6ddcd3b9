package memory

import (
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// FreeName is rel, in characters that every system takes, or that with a number
// before its suffix, such that no file of the root bears the name, not even in another case or composition: the same
// name in those is the same file on some systems.
func (s *Store) FreeName(root *Root, rel string) (string, error) {
	if err := writable(root, nil); err != nil {
		return "", err
	}
	if err := s.memoryName(root, rel); err != nil {
		return "", err
	}
	rel = portableRel(rel)
	b := &bases{disk: s.disk, open: map[string]*folder{}}
	defer b.close()
	taken, err := b.names(root, path.Dir(rel))
	if err != nil {
		return "", refuseIO(err, nil, "looking for a free name")
	}
	name := path.Base(rel)
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	for n := 2; taken[sameName(name)]; n++ {
		name = stem + "-" + strconv.Itoa(n) + ext
	}
	rel = path.Join(path.Dir(rel), name)
	if err := CheckRel(rel); err != nil {
		return "", refuse(RefusedEscape, nil, "no name of a memory: %w", err)
	}
	return rel, nil
}

// sameName is what names have in common that a file system may take for one.
func sameName(name string) string { return cases.Fold().String(norm.NFC.String(name)) }

// names are the names in a directory of a root; none when it does not exist.
func (b *bases) names(root *Root, dir string) (map[string]bool, error) {
	base, err := b.folder(&rootRef{ID: root.ID, Real: root.Real}, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	in, _, err := base.enter(dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer in.close()
	list, err := in.list()
	if err != nil {
		return nil, err
	}
	taken := make(map[string]bool, len(list))
	for _, n := range list {
		taken[sameName(n)] = true
	}
	return taken, nil
}
