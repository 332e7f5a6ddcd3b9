package memory

import (
	"net/url"
	"path"
	"strings"
)

// indexNames finds documents of one root by what an index calls them.
type indexNames struct {
	rels, stems, titles map[string]*Document
}

func newIndexNames(docs []*Document) indexNames {
	n := indexNames{map[string]*Document{}, map[string]*Document{}, map[string]*Document{}}
	for _, d := range docs {
		n.rels[d.Rel] = d
		for _, key := range []string{foldStem(d.Rel), path.Base(foldStem(d.Rel))} {
			if old := n.stems[key]; old == nil || len(old.Rel) > len(d.Rel) || len(old.Rel) == len(d.Rel) && old.Rel > d.Rel {
				n.stems[key] = d
			}
		}
		if key := foldName(d.Title); n.titles[key] == nil || n.titles[key].Rel > d.Rel {
			n.titles[key] = d
		}
	}
	return n
}

// place is what the target of an index comes to.
type place int

const (
	placeDocument place = iota // a document
	placeMissing               // a name of a memory that is not there
	placeOther                 // no memory at all: a folder, another kind of file, something outside the root
)

// find looks up a target: the path of a file, from the root; or, but for a link
// in Markdown, its name or title alone.
func (n indexNames) find(t IndexTarget) (*Document, place) {
	outside := true
	for _, rel := range targetPaths(t.Target) {
		if CheckRel(rel) != nil {
			continue
		}
		outside = false
		for _, rel := range []string{rel, rel + ".md"} {
			if d := n.rels[rel]; d != nil {
				return d, placeDocument
			}
		}
		if d := n.stems[foldStem(rel)]; d != nil && (t.Form != IndexLink || foldStem(d.Rel) == foldStem(rel)) {
			return d, placeDocument
		}
	}
	if t.Form == IndexWiki {
		if d := n.titles[foldName(CleanLine(t.Target))]; d != nil {
			return d, placeDocument
		}
		return nil, placeMissing
	}
	if outside || !isMarkdown(path.Base(t.Target)) {
		return nil, placeOther
	}
	return nil, placeMissing
}

// targetPaths are the paths that a target can mean: with and without its escapes
// resolved.
func targetPaths(target string) []string {
	target = strings.TrimSpace(target) // its escapes may stand for blanks that are part of a name
	forms := []string{target}
	if s, err := url.PathUnescape(target); err == nil && s != target {
		forms = []string{s, target}
	}
	out := forms[:0]
	for _, f := range forms {
		if !nameable(f) {
			continue
		}
		out = append(out, path.Clean(strings.TrimLeft(f, "/")))
	}
	return out
}
