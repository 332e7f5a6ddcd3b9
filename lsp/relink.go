package lsp

import (
	"path"
	"slices"
	"strings"

	"github.com/memls/memls/memory"
)

// relinking is a change of places or titles of memories of one root, with the
// links that have to follow it. Inv: a link that led to a memory leads to it
// afterwards, as the snapshot that would then be has it.
type relinking struct {
	f     *features
	snap  *memory.Snapshot
	after *memory.Snapshot
	root  *memory.Root
	old   []*memory.Document
	now   map[string]*memory.Document // by the old ref
	own   map[string][]memory.Replacement
}

// newRelinking prepares the change of some memories of a root into others. own are
// changes of their texts, by ref.
func (f *features) newRelinking(snap *memory.Snapshot, root *memory.Root, old, now []*memory.Document, own map[string][]memory.Replacement) *relinking {
	r := &relinking{f: f, snap: snap, root: root, old: old, own: own, now: map[string]*memory.Document{}}
	for i, d := range old {
		r.now[d.Ref] = now[i]
	}
	r.after = snap.Imagine(old, now)
	return r
}

// then is a memory as it will be.
func (r *relinking) then(d *memory.Document) *memory.Document {
	if n := r.now[d.Ref]; n != nil {
		return n
	}
	return d
}

// write puts the changes of all texts into an edit.
func (r *relinking) write(w *workspaceEdit) error {
	pages, err := r.pages()
	if err != nil {
		return err
	}
	for _, p := range pages {
		w.text(p, slices.Concat(r.own[p.doc.Ref], r.links(p))...)
	}
	return nil
}

// pages are those whose links may have to change: the index, what is open, the
// memories that change, what links to them, and what links to memories of the
// same names, which could be taken for each other.
func (r *relinking) pages() ([]*page, error) {
	var out []*page
	seen := map[string]bool{}
	add := func(p *page) {
		if p != nil && !seen[p.Ref()] {
			seen[p.Ref()] = true
			out = append(out, p)
		}
	}
	index, err := r.f.indexPage(r.snap, r.root)
	if err != nil {
		return nil, err
	}
	add(index)
	for _, p := range r.f.openPages(r.snap, r.root) {
		add(p)
	}
	of := func(d *memory.Document) {
		if p, ok := r.f.pageFor(r.snap, d); ok && !seen[d.Ref] {
			add(p)
		}
	}
	for _, d := range r.old {
		of(d)
		for _, in := range r.snap.Incoming(d) {
			of(in.From)
		}
		for _, twin := range r.snap.Namesakes(r.now[d.Ref]) {
			for _, in := range r.snap.Incoming(twin) {
				of(in.From)
			}
		}
	}
	slices.SortFunc(out, func(a, b *page) int { return strings.Compare(a.Ref(), b.Ref()) })
	return out, nil
}

// links are the changes of a page's links.
func (r *relinking) links(p *page) []memory.Replacement {
	from := p.doc
	if n := r.now[p.doc.Ref]; n != nil {
		from = memory.Place{Root: p.Root, Rel: n.Rel}.Parse([]byte(p.doc.Text))
	}
	var out []memory.Replacement
	for _, l := range p.links() {
		to, ok := p.resolve(l)
		if !ok || l.TargetSpan.Len() == 0 {
			continue
		}
		target := p.doc.Text[l.TargetSpan.Start:l.TargetSpan.End]
		next, ok := r.target(p, from, l, target, to)
		if ok && next != target {
			if l.Kind == memory.LinkSupersedes {
				next = headerItem(p.doc.Text, l.TargetSpan, next)
			}
			out = append(out, memory.Replacement{Span: l.TargetSpan, New: next})
		}
		if n := r.now[to.Ref]; n != nil && l.Kind == memory.LinkMarkdown {
			out = append(out, renamedLabel(p, l, to, n)...)
		}
	}
	// Links by reference share their target.
	return slices.CompactFunc(sortReplacements(out), func(a, b memory.Replacement) bool { return a.Span == b.Span })
}

func sortReplacements(reps []memory.Replacement) []memory.Replacement {
	slices.SortStableFunc(reps, func(a, b memory.Replacement) int { return a.Start - b.Start })
	return reps
}

// headerItem is a target as a value of the header: in quotes when YAML wants them
// and it stands in none. Inv: targets hold no quotes and no backslashes.
func headerItem(text string, at memory.Span, target string) string {
	quoted := at.Start > 0 && strings.IndexByte("\"'", text[at.Start-1]) >= 0
	wiki := strings.HasSuffix(text[:at.Start], "[[")
	if quoted || wiki {
		return target
	}
	return headerScalar(target)
}

// renamedLabel changes the text of a link that is the memory's old title.
func renamedLabel(p *page, l memory.Link, old, now *memory.Document) []memory.Replacement {
	if old.Title == now.Title || l.TargetSpan.Start < l.Span.Start || l.TargetSpan.End > l.Span.End {
		return nil // of a link by reference the target stands elsewhere, and its text may be its label
	}
	if shown := p.doc.Text[l.TextSpan.Start:l.TextSpan.End]; shown != old.Title && shown != indexTitleOf(old) {
		return nil
	}
	title := indexTitleOf(now)
	if title == "" {
		return nil
	}
	return []memory.Replacement{{Span: l.TextSpan, New: title}}
}

// target is how a link is written afterwards: as it is now if that still says
// the same, else in the way in which it was written.
func (r *relinking) target(p *page, from *memory.Document, l memory.Link, target string, to *memory.Document) (string, bool) {
	next := r.then(to)
	if from.Rel == p.doc.Rel && next == to && r.leads(from, l.Target, to) {
		return target, true
	}
	for _, candidate := range r.candidates(p, from, l, target, to, next) {
		meant := candidate
		if candidate == target {
			meant = l.Target // without its backslashes
		}
		if r.leads(from, meant, next) {
			return candidate, true
		}
	}
	return "", false
}

// leads tells whether a target will lead to a memory.
func (r *relinking) leads(from *memory.Document, target string, to *memory.Document) bool {
	d, ok := memory.Resolve(r.after, from, target)
	return ok && d.Ref == to.Ref
}

// candidates are ways to write a target, the most faithful to the present one
// first.
func (r *relinking) candidates(p *page, from *memory.Document, l memory.Link, target string, old, now *memory.Document) []string {
	write := targetWriter(l.Kind)
	if ref, err := memory.ParseRef(l.Target); err == nil && ref.Prefix() == old.Root.Prefix {
		return []string{now.Ref}
	}
	stem := func(rel string) string { return strings.TrimSuffix(rel, path.Ext(rel)) }
	full, short := write(now.Rel), write(stem(now.Rel))
	base, title := write(path.Base(stem(now.Rel))), write(now.Title)
	rest := []string{target, base, short, title, "/" + short, "/" + full, now.Ref}
	isPath := strings.Contains(l.Target, "/") || strings.HasSuffix(strings.ToLower(l.Target), ".md") || l.Kind == memory.LinkMarkdown && path.Dir(p.Rel) == path.Dir(old.Rel) && strings.EqualFold(l.Target, path.Base(stem(old.Rel)))
	switch {
	case isPath:
		return append(pathCandidates(p, from, l, write, old, now), rest...)
	case strings.EqualFold(l.Target, old.Title) && !strings.EqualFold(l.Target, path.Base(stem(old.Rel))):
		if old.Title == now.Title {
			return rest
		}
		return append([]string{title}, rest...)
	case path.Base(stem(old.Rel)) != path.Base(stem(now.Rel)):
		return append([]string{base}, rest...)
	}
	return rest
}

// pathCandidates are the paths to a memory in the style of the present target:
// from the folder of its file or from the root, with or without the extension.
func pathCandidates(p *page, from *memory.Document, l memory.Link, write func(string) string, old, now *memory.Document) []string {
	rel := func(s string) string {
		if strings.HasSuffix(strings.ToLower(l.Target), ".md") {
			return s
		}
		return strings.TrimSuffix(s, path.Ext(s))
	}
	dir := path.Dir(p.Rel)
	relative := relPath(path.Dir(from.Rel), rel(now.Rel))
	plain := strings.TrimSuffix(l.Target, path.Ext(l.Target))
	switch {
	case strings.HasPrefix(l.Target, "/"):
		return []string{"/" + write(rel(now.Rel))}
	case strings.HasPrefix(l.Target, "./") && !strings.HasPrefix(relative, "../"):
		return []string{"./" + write(relative), write(relative)}
	case dir != "." && path.Join(dir, plain) != strings.TrimSuffix(old.Rel, path.Ext(old.Rel)):
		// From the root, though it does not say so.
		return []string{write(rel(now.Rel)), "/" + write(rel(now.Rel)), write(relative)}
	}
	return []string{write(relative), "./" + write(relative), "/" + write(rel(now.Rel))}
}

// relPath is the path of a file from a folder.
func relPath(dir, to string) string {
	a, b := strings.Split(dir, "/"), strings.Split(to, "/")
	if dir == "." {
		a = nil
	}
	for len(a) > 0 && len(b) > 1 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	return strings.Join(append(slices.Repeat([]string{".."}, len(a)), b...), "/")
}

// targetWriter writes a path or a title as the target of a kind of link.
func targetWriter(kind memory.LinkKind) func(string) string {
	switch kind {
	case memory.LinkWiki:
		return wikiEscaper.Replace
	case memory.LinkSupersedes:
		return func(s string) string {
			return strings.NewReplacer(":", "%3A", `"`, "%22", "'", "%27").Replace(wikiEscaper.Replace(s))
		}
	case linkCode:
		return func(s string) string { return s }
	}
	return escapePath
}
