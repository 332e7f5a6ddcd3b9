package memory

import (
	"iter"
	"strings"
)

// Folders is a set of workspace folders by their paths, in order. The empty one
// stands for any folder. It is comparable: sets made of the same paths in the
// same order are equal.
type Folders string

// folderSep parts the paths: no path holds it.
const folderSep = "\x00"

// InFolders is the set of the given folders.
func InFolders(paths ...string) Folders {
	var f Folders
	for _, p := range paths {
		f = f.With(p)
	}
	return f
}

// With is the set with one folder more.
func (f Folders) With(path string) Folders {
	switch {
	case path == "" || f != "" && f.Has(path):
		return f
	case f == "":
		return Folders(path)
	}
	return f + folderSep + Folders(path)
}

// Has tells whether a folder belongs to the set, or the set to any folder. An
// empty path asks about no folder in particular.
func (f Folders) Has(path string) bool {
	if f == "" || path == "" {
		return true
	}
	for p := range f.All() {
		if p == path {
			return true
		}
	}
	return false
}

// All yields the folders; none for the set that stands for any.
func (f Folders) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		if f == "" {
			return
		}
		for p := range strings.SplitSeq(string(f), folderSep) {
			if !yield(p) {
				return
			}
		}
	}
}

// join is the set of the folders of both; any folder only if both say so, since
// who names a folder restricts.
func (f Folders) join(o Folders) Folders {
	for p := range o.All() {
		f = f.With(p)
	}
	return f
}
