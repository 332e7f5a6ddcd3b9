package lsp

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/memls/memls/memory"
)

// renaming is what the name at a place is that of.
type renaming struct {
	target *memory.Document
	file   bool // its file is renamed, else its title
	at     memory.Span
	name   string // the present one
}

// renamingAt finds out what is renamed at an offset: on a link the file of the
// memory that it leads to, on the name of the header, or the heading that stands
// for it, the title of the memory itself.
func (p *page) renamingAt(offset int) (renaming, bool) {
	if l, ok := p.link(offset); ok {
		d, ok := p.resolve(l)
		if !ok || l.TargetSpan.Len() == 0 {
			return renaming{}, false
		}
		return renaming{target: d, file: true, at: clickable(l), name: strings.TrimSuffix(path.Base(d.Rel), path.Ext(d.Rel))}, true
	}
	if p.Index || p.saved == nil {
		return renaming{}, false
	}
	named := false
	for _, k := range memory.Keys(p.doc) {
		if k.Name != "name" && k.Name != "title" {
			continue
		}
		named = named || k.ValueSpan.Len() > 0
		if k.Span.Start <= offset && offset <= k.Span.End && k.ValueSpan.Len() > 0 {
			return renaming{target: p.saved, at: k.ValueSpan, name: p.doc.Title}, true
		}
	}
	for _, h := range memory.OutlineOf(p.doc).Headings {
		if text := p.doc.Text[h.Span.Start:h.Span.End]; !named && h.Text == p.doc.Title && h.Span.Start <= offset && offset <= h.Span.End && strings.HasSuffix(text, h.Text) {
			return renaming{target: p.saved, at: memory.Span{Start: h.Span.End - len(h.Text), End: h.Span.End}, name: h.Text}, true
		}
	}
	return renaming{}, false
}

// prepareRename serves textDocument/prepareRename.
func (f *features) prepareRename(_ context.Context, p *page, q *positionParams) (any, error) {
	r, ok := p.renamingAt(p.at.offset(q.Position))
	if !ok || r.target.Root.ReadOnly || r.file && !f.support().RenameFiles {
		return nil, nil
	}
	return &protocol.PrepareRenamePlaceholder{Range: p.rangeOf(r.at), Placeholder: r.name}, nil
}

// renameParams are the params of textDocument/rename.
type renameParams struct {
	TextDocument textDocument `json:"textDocument"`
	Position     Position     `json:"position"`
	NewName      string       `json:"newName"`
}

func (p *renameParams) where() string { return p.TextDocument.URI }

// rename serves textDocument/rename: of a file or of a title, with the links and
// the lines of the index that follow.
func (f *features) rename(_ context.Context, p *page, q *renameParams) (any, error) {
	r, ok := p.renamingAt(p.at.offset(q.Position))
	if !ok {
		return nil, nil
	}
	name := memory.CleanLine(q.NewName)
	switch {
	case name == "":
		return nil, InvalidParam("newName", "is empty")
	case r.target.Root.ReadOnly:
		return nil, about(r.target.Ref, KindReadOnly, r.target.Ref+" lies in a root that is read only")
	case r.file:
		return f.renameFile(p, r.target, name)
	}
	return f.retitle(p, r, name)
}

// renameFile moves a memory to another name: in its own folder, or with slashes
// at a path from its root.
func (f *features) renameFile(p *page, d *memory.Document, name string) (any, error) {
	if !strings.EqualFold(path.Ext(name), ".md") {
		name += ".md"
	}
	rel := strings.TrimPrefix(name, "/")
	if !strings.Contains(name, "/") {
		rel = path.Join(path.Dir(d.Rel), name)
	}
	to := memory.Place{Root: d.Root, Rel: rel}
	if at, ok := f.locate(p.snap, to.Path()); !ok || at.Index || at.Rel != rel || at.Root.Real != d.Root.Real {
		return nil, InvalidParam("newName", "%q is no name of a memory", short(name))
	}
	if err := memory.CheckPortable(strings.TrimPrefix(name, "/")); err != nil {
		return nil, InvalidParam("newName", "%q is no name for a memory: %v", short(name), err)
	}
	if err := f.nameFree(p.snap, d, to); err != nil {
		return nil, err
	}
	page, ok := f.pageFor(p.snap, d)
	if !ok {
		return nil, about(d.Ref, KindConflict, "the text of "+d.Ref+" is not known")
	}
	w := f.newEdit("Rename " + d.Title)
	now := to.Parse([]byte(d.Text))
	if err := f.newRelinking(p.snap, d.Root, []*memory.Document{d}, []*memory.Document{now}, nil).write(w); err != nil {
		return nil, err
	}
	w.rename(page, to.Path())
	if e := w.result(); e != nil {
		return e, nil
	}
	return nil, Fail(KindDisabled, "this client does not rename files")
}

// nameFree tells whether a file could be renamed to a place. What the client then
// does it checks again.
func (f *features) nameFree(snap *memory.Snapshot, d *memory.Document, to memory.Place) error {
	switch {
	case to.Rel == d.Rel:
		return InvalidParam("newName", "is the present one")
	case strings.EqualFold(to.Rel, d.Rel):
		return nil // only its case changes
	}
	free, err := f.free(snap, to)
	if err == nil && !free {
		return about(to.Ref(), KindConflict, to.Rel+" exists already")
	}
	return err
}

// free tells whether there is no file at a place, neither on disk nor open.
func (f *features) free(snap *memory.Snapshot, at memory.Place) (bool, error) {
	if _, taken := snap.Get(at.Ref()); taken || f.overlays.get(at.Path()) != nil {
		return false, nil
	}
	_, err := f.opt.Lstat(at.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// retitle gives a memory another title.
func (f *features) retitle(p *page, r renaming, name string) (any, error) {
	own := []memory.Replacement{{Span: r.at, New: name}}
	if r.at.Start < p.doc.Body.Start {
		key := "name"
		if !slices.ContainsFunc(memory.Keys(p.doc), func(k memory.Key) bool { return k.Name == "name" && k.ValueSpan.Len() > 0 }) {
			key = "title"
		}
		reps, err := memory.SetKeys(p.doc, memory.KeyChange{Key: key, Text: name})
		if err != nil { // the header is not valid, and need not be for this
			reps = []memory.Replacement{{Span: r.at, New: headerScalar(name)}}
		}
		own = reps
	}
	text, err := memory.ReplaceText(p.doc.Text, own...)
	if err != nil {
		return nil, err
	}
	w := f.newEdit("Rename " + r.name)
	now := p.Parse([]byte(text))
	rel := f.newRelinking(p.snap, p.Root, []*memory.Document{r.target}, []*memory.Document{now}, map[string][]memory.Replacement{r.target.Ref: own})
	if err := rel.write(w); err != nil {
		return nil, err
	}
	return w.result(), nil
}

// renameFilesParams are the params of workspace/willRenameFiles.
type renameFilesParams struct {
	Files []struct {
		OldURI string `json:"oldUri"`
		NewURI string `json:"newUri"`
	} `json:"files"`
}

// maxRenames bounds the memories that one request may move: a folder of more is
// renamed without its links.
const maxRenames = 10_000

// willRenameFiles serves workspace/willRenameFiles: the changes of links and of
// the index that go with a rename of files or folders.
func (f *features) willRenameFiles(ctx context.Context, q *renameFilesParams) (any, error) {
	snap, err := f.loaded(ctx)
	if err != nil {
		return nil, err
	}
	moves := map[*memory.Root]*relocation{}
	for _, file := range q.Files {
		from, okFrom := filePathOf(file.OldURI)
		to, okTo := filePathOf(file.NewURI)
		if okFrom && okTo {
			f.relocate(snap, moves, from, to)
		}
	}
	w := f.newEdit("Update links")
	for root, m := range moves {
		if len(m.old) > maxRenames {
			f.s.Log().Warn("links are not updated: too many files are renamed", "root", root.Path, "files", len(m.old))
			continue
		}
		if err := f.newRelinking(snap, root, m.old, m.now, nil).write(w); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	if w.empty() {
		return nil, nil
	}
	return w.result(), nil
}

// relocation are the memories of one root that change their places within it.
type relocation struct{ old, now []*memory.Document }

// relocate adds the memories at a path, or below it if it is a folder. What leaves
// its root is left alone: no link could follow it.
func (f *features) relocate(snap *memory.Snapshot, moves map[*memory.Root]*relocation, from, to string) {
	for d := range snap.All() {
		if d.Root.ReadOnly {
			continue
		}
		rest, ok := f.below(d, from)
		if !ok {
			continue
		}
		at, ok := f.locate(snap, to+rest)
		if !ok || at.Index || at.Root != d.Root || at.Rel == d.Rel {
			continue
		}
		m := moves[d.Root]
		if m == nil {
			m = &relocation{}
			moves[d.Root] = m
		}
		m.old, m.now = append(m.old, d), append(m.now, at.Parse([]byte(d.Text)))
	}
}

// below is what follows a path in that of a memory, as it is configured or
// without symlinks; empty when it is the memory itself.
func (f *features) below(d *memory.Document, dir string) (rest string, ok bool) {
	for _, root := range []string{d.Root.Path, d.Root.Real} {
		file := pathOf(d, root)
		if file == dir {
			return "", true
		}
		if within(dir, file) {
			return file[len(dir):], true
		}
	}
	return "", false
}
