package memory

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
)

// names finds the documents of one revision by what links call them, and the
// links that lead to them. Each part is made when it is first asked for, at a
// cost that is linear in the documents, and never changes.
type names struct {
	docs docSet

	namedOnce sync.Once
	named     map[string]*rootNames // by the prefix of the root

	linkingOnce sync.Once
	linking     map[string]map[string][]*Document // see linkKeys; by the prefix of the root
}

// rootNames are the documents of one root by the folded last part of their path,
// without its extension, and by folded title.
type rootNames struct {
	stems, titles map[string][]*Document
}

var noNames rootNames

// named are the names of the root with the prefix.
func (s *Snapshot) named(prefix string) *rootNames {
	if s.names == nil {
		return &noNames
	}
	s.names.namedOnce.Do(s.names.name)
	if n := s.names.named[prefix]; n != nil {
		return n
	}
	return &noNames
}

func (n *names) name() {
	n.named = map[string]*rootNames{}
	for d := range n.docs.all() {
		if d.Root == nil {
			continue
		}
		r := n.named[d.Root.Prefix]
		if r == nil {
			r = &rootNames{stems: map[string][]*Document{}, titles: map[string][]*Document{}}
			n.named[d.Root.Prefix] = r
		}
		stem, title := stemKey(d.Rel), foldName(d.Title)
		r.stems[stem] = append(r.stems[stem], d)
		r.titles[title] = append(r.titles[title], d)
	}
}

// stemKey is the folded last part of a path without its extension.
func stemKey(rel string) string { return path.Base(foldStem(rel)) }

// Incoming is a link that leads to a document.
type Incoming struct {
	From *Document
	Link Link
}

// Incoming are the links of other documents of the same root that lead to d, by
// the ref of the document that they stand in and their place there. Of several
// revisions of d, those of the snapshot's count.
//
// Its first call in a revision is linear in the documents and their links; the
// others cost what they answer, unless many documents bear one name.
func (s *Snapshot) Incoming(d *Document) []Incoming {
	if d == nil || d.Root == nil || s.names == nil {
		return nil
	}
	s.names.linkingOnce.Do(s.names.link)
	linking := s.names.linking[d.Root.Prefix]
	keys := []string{stemKey(d.Rel)}
	if title := foldName(d.Title); title != keys[0] {
		keys = append(keys, title)
	}
	seen := map[*Document]bool{}
	var out []Incoming
	r := resolver{snapshot: s, prefix: d.Root.Prefix}
	for _, key := range keys {
		for _, from := range linking[key] {
			if from.Ref == d.Ref || seen[from] {
				continue
			}
			seen[from] = true
			for _, l := range Links(from) {
				if to, ok := r.resolve(from, l.Target); ok && to.Ref == d.Ref {
					out = append(out, Incoming{from, l})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Incoming) int { return strings.Compare(a.From.Ref, b.From.Ref) })
	return out
}

// Backlinks are the refs of the other documents of the same root that link to d,
// in order. It costs what [Snapshot.Incoming] does.
func Backlinks(s *Snapshot, d *Document) []string {
	var out []string
	for _, in := range s.Incoming(d) {
		if n := len(out); n == 0 || out[n-1] != in.From.Ref {
			out = append(out, in.From.Ref)
		}
	}
	return out
}

func (n *names) link() {
	n.linking = map[string]map[string][]*Document{}
	for d := range n.docs.all() {
		links := Links(d)
		if len(links) == 0 || d.Root == nil {
			continue
		}
		keys := n.linking[d.Root.Prefix]
		if keys == nil {
			keys = map[string][]*Document{}
			n.linking[d.Root.Prefix] = keys
		}
		for i, l := range links {
			if i > 0 && l.Target == links[i-1].Target {
				continue
			}
			for _, key := range linkKeys(d, l.Target) {
				if docs := keys[key]; len(docs) == 0 || docs[len(docs)-1] != d {
					keys[key] = append(docs, d)
				}
			}
		}
	}
}

// linkKeys are the names that a document which the target leads to may have: the
// folded last part of its path, or its folded title.
//
// Inv: whatever [Resolve] finds for a target has one of its keys as its stemKey
// or as its folded title.
func linkKeys(from *Document, target string) []string {
	target = strings.TrimSpace(target)
	if !nameable(target) {
		return nil
	}
	var keys []string
	add := func(key string) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if ref, err := ParseRef(target); err == nil {
		add(stemKey(ref.Rel))
	}
	folder := path.Dir(from.Rel)
	forms := []string{target}
	if s, err := url.PathUnescape(target); err == nil && s != target {
		forms = append(forms, s)
	}
	for _, form := range forms {
		add(stemKey(form))
		add(foldName(CleanLine(form)))
		// The paths that are tried end in the target's last part, unless that is
		// "..", and may get an extension in addition.
		rel := foldName(path.Join(folder, form))
		add(path.Base(rel))
		add(path.Base(strings.TrimSuffix(rel, ".md")))
	}
	return keys
}

// Namesakes are the documents of d's root, d itself perhaps among them, that have
// its file name or its title.
func (s *Snapshot) Namesakes(d *Document) []*Document {
	if d == nil || d.Root == nil {
		return nil
	}
	names := s.named(d.Root.Prefix)
	out := slices.Clone(names.stems[stemKey(d.Rel)])
	for _, o := range names.titles[foldName(d.Title)] {
		if !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return out
}

// Imagine is the snapshot with some documents in the place of others, as it would
// be after a change of files that has not been made: to find out what links would
// then lead to. It has no [Snapshot.Index].
func (s *Snapshot) Imagine(removed, added []*Document) *Snapshot {
	edit := s.docs.edit()
	for _, d := range removed {
		edit.remove(d.Ref)
	}
	for _, d := range added {
		edit.put(d)
	}
	docs := edit.done()
	return &Snapshot{Revision: s.Revision, docs: docs, roots: s.roots, names: &names{docs: docs}}
}
