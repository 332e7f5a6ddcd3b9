package lsp

import (
	"fmt"
	"path/filepath"

	"go.lsp.dev/protocol"

	"github.com/memls/memls/memory"
)

// The notifications of document synchronisation.
const (
	methodDidOpen   = "textDocument/didOpen"
	methodDidChange = "textDocument/didChange"
	methodDidSave   = "textDocument/didSave"
	methodDidClose  = "textDocument/didClose"
)

// textDocument names the document that a message is about.
type textDocument struct {
	URI string `json:"uri"`
}

type didOpenParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int32  `json:"version"`
		Text    string `json:"text"`
	} `json:"textDocument"`
}

type didChangeParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int32  `json:"version"`
	} `json:"textDocument"`
	ContentChanges []contentChange `json:"contentChanges"`
}

// contentChange replaces a range of the document, or all of it without one.
type contentChange struct {
	Range *Range `json:"range"`
	Text  string `json:"text"`
}

type didSaveParams struct {
	TextDocument textDocument `json:"textDocument"`
}

type didCloseParams struct {
	TextDocument textDocument `json:"textDocument"`
}

func (f *features) registerTextSync() error {
	for name, m := range map[string]Method{
		methodDidOpen:   NewNotification(f.didOpen),
		methodDidChange: NewNotification(f.didChange),
		methodDidSave:   NewNotification(f.didSave),
		methodDidClose:  NewNotification(f.didClose),
	} {
		if err := f.s.Register(name, m); err != nil {
			return err
		}
	}
	f.s.OnInitialize(func(i *Initialization) error {
		yes, kind := true, protocol.TextDocumentSyncKindIncremental
		i.Capabilities.TextDocumentSync = &protocol.TextDocumentSyncOptions{
			OpenClose: &yes, Change: &kind, Save: &protocol.SaveOptions{},
		}
		return nil
	})
	return nil
}

// filePathOf is the path of a document that is a file. Others, such as those that
// were never saved, are of no interest.
func filePathOf(uri string) (path string, ok bool) {
	path, err := filePath(uri)
	return path, err == nil
}

func (f *features) didOpen(p *didOpenParams) error {
	path, ok := filePathOf(p.TextDocument.URI)
	if !ok {
		return nil
	}
	f.startDiagnostics() // of a client that forgets to say initialized
	f.overlays.put(&buffer{uri: p.TextDocument.URI, path: path, version: p.TextDocument.Version, text: p.TextDocument.Text})
	f.meetFile(path)
	f.publisher.document(path)
	return nil
}

func (f *features) didChange(p *didChangeParams) error {
	path, ok := filePathOf(p.TextDocument.URI)
	if !ok {
		return nil
	}
	var bad error
	encoding := f.s.Client().PositionEncoding
	_, err := f.overlays.change(path, func(old *buffer) *buffer {
		next := &buffer{uri: old.uri, path: old.path, version: p.TextDocument.Version, text: old.text, lost: old.lost}
		next.text, next.lost, bad = applyChanges(old, p.ContentChanges, encoding)
		return next
	})
	if err != nil {
		return err
	}
	f.meetFile(path)
	f.publisher.document(path)
	return bad
}

func (f *features) didSave(p *didSaveParams) error {
	if path, ok := filePathOf(p.TextDocument.URI); ok {
		f.overlays.saved(path)
	}
	return nil
}

func (f *features) didClose(p *didCloseParams) error {
	if path, ok := filePathOf(p.TextDocument.URI); ok {
		f.overlays.remove(path)
		f.publisher.document(path)
	}
	return nil
}

// meetFile notes when an open document is what its file is in the catalog.
func (f *features) meetFile(path string) {
	snap := f.catalog().Snapshot()
	at, ok := snap.Locate(path)
	if !ok {
		return
	}
	if d, ok := snap.Get(at.Ref()); ok {
		f.overlays.meet(path, func(text string) bool { return holds(d, text) })
	}
}

// filesChanged compares what is open with the files of a new snapshot. The
// catalog's writer calls it.
func (f *features) filesChanged() {
	for _, b := range f.overlays.all() {
		f.meetFile(b.path)
	}
}

// unsaved tells whether the client has a file of a root open with changes that
// are not in the file: a writer must not overwrite it then. A document whose
// text cannot be known counts as changed, and so does one that is open and whose
// file does not exist.
func (f *features) unsaved(at memory.Place) bool {
	snap := f.catalog().Snapshot()
	for _, b := range f.overlays.all() {
		where, ok := f.locate(snap, b.path)
		if !ok || !where.Same(at) || !f.overlays.changed(b.path) {
			continue
		}
		if b.lost {
			return true
		}
		if d, ok := snap.Get(where.Ref()); ok {
			return !holds(d, b.text)
		}
		text, err := memory.ReadText(where, f.opt.Open)
		return err != nil || !sameLines(text, b.text)
	}
	return false
}

// locate is [memory.Snapshot.Locate] for a path that may also lead to a root by a
// symlink that the root was not configured with.
func (f *features) locate(snap *memory.Snapshot, path string) (memory.Place, bool) {
	if at, ok := snap.Locate(path); ok {
		return at, true
	}
	dir, name := filepath.Split(path)
	return snap.Locate(filepath.Join(withoutLinks(filepath.Clean(dir)), name))
}

// applyChanges is the text after changes, each of which counts in the text that
// the one before it left. After one that makes no sense the text is lost, until
// one comes that replaces all of it.
func applyChanges(old *buffer, changes []contentChange, encoding string) (text string, lost bool, err error) {
	s := newSplicer(old.text, encoding)
	lost = old.lost
	for i, c := range changes {
		switch {
		case c.Range == nil:
			s, lost, err = newSplicer(c.Text, encoding), false, nil
		case lost:
		default:
			if err = s.replace(*c.Range, c.Text); err != nil {
				lost, err = true, fmt.Errorf("change %d of %s: %w", i, old.uri, err)
			}
		}
	}
	return s.whole(), lost, err
}

// splicer replaces ranges of a text one after the other. An editor that replaces
// a word everywhere sends the places from the last to the first: then each
// change costs its own size, not that of the text.
type splicer struct {
	encoding string
	head     *positions // the text in front of the last change
	tail     []string   // what follows, the last part first
}

func newSplicer(text, encoding string) *splicer {
	return &splicer{encoding: encoding, head: newPositions(text, encoding)}
}

func (s *splicer) whole() string {
	n := len(s.head.text)
	for _, t := range s.tail {
		n += len(t)
	}
	if n == len(s.head.text) {
		return s.head.text
	}
	b := make([]byte, 0, n)
	b = append(b, s.head.text...)
	for i := len(s.tail) - 1; i >= 0; i-- {
		b = append(b, s.tail[i]...)
	}
	return string(b)
}

func (s *splicer) replace(r Range, with string) error {
	start, end := s.head.offset(r.Start), s.head.offset(r.End)
	if len(s.tail) > 0 && end >= len(s.head.text) {
		// It may lie in what follows.
		s.head, s.tail = newPositions(s.whole(), s.encoding), nil
		start, end = s.head.offset(r.Start), s.head.offset(r.End)
	}
	if start > end {
		return fmt.Errorf("a range from %d:%d to %d:%d", r.Start.Line, r.Start.Character, r.End.Line, r.End.Character)
	}
	s.tail = append(s.tail, s.head.text[end:], with)
	s.head.cut(start)
	return nil
}
