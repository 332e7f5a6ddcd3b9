package lsp

import (
	"context"
	"strings"

	"github.com/memls/memls/memory"
)

// page is a file of a served root as the client sees it: the document that it
// has open, else the file as the catalog has it. It is made for one request.
type page struct {
	memory.Place
	uri  string           // as the client spells it
	snap *memory.Snapshot // the catalog at this moment, for links and other files
	doc  *memory.Document // what is seen, parsed; its spans are those of its Text
	// saved is what the catalog has, and recall uses; nil when it has nothing.
	// While nothing has been changed it is doc.
	saved *memory.Document
	at    *positions // between spans of doc.Text and positions of the client
	open  bool
	// version is the client's of an open document.
	version int32
}

// pageOf finds the page of a document. b is what the client has open of it, or
// nil. ok is false for a document that is in no served root or whose name is no
// memory's: of those another server may know more. It is also false while the
// client's text is not known, and for an index or a new file that is not open.
func (f *features) pageOf(ctx context.Context, uri, path string, b *buffer) (p *page, ok bool, err error) {
	snap, err := f.loaded(ctx)
	if err != nil {
		return nil, false, err
	}
	p, ok = f.pageIn(snap, uri, path, b)
	return p, ok, nil
}

// pageIn is pageOf over a given snapshot. It waits for nothing.
func (f *features) pageIn(snap *memory.Snapshot, uri, path string, b *buffer) (*page, bool) {
	at, ok := f.locate(snap, path)
	if !ok {
		return nil, false
	}
	p := &page{Place: at, uri: uri, snap: snap}
	if d, ok := snap.Get(at.Ref()); ok {
		p.saved, p.doc = d, d
	}
	if b != nil {
		if b.lost {
			return nil, false
		}
		p.open, p.version, p.doc = true, b.version, b.parsed(at, p.saved, f.opt.Now())
	}
	if p.doc == nil {
		return nil, false
	}
	p.at = newPositions(p.doc.Text, f.s.Client().PositionEncoding)
	if b != nil && strings.HasPrefix(b.text, byteOrderMark) {
		p.at.skip = byteOrderMark
	}
	return p, true
}

// newPageCall makes a request about one document, which where names. The version
// of the document is the one that the client had when it asked; the rest runs
// concurrently with other requests. none is the answer, usually nil for null, for
// a document without a page.
func newPageCall[P any](f *features, where func(*P) string, none any, serve func(context.Context, *page, *P) (any, error)) Method {
	return NewOrderedCall(func(ctx context.Context, p *P) (any, error) {
		uri := where(p)
		path, isFile := filePathOf(uri)
		if !isFile {
			return none, nil
		}
		b := f.overlays.get(path)
		Release(ctx)
		page, ok, err := f.pageOf(ctx, uri, path, b)
		if err != nil {
			return nil, err
		}
		if !ok {
			return none, nil
		}
		return serve(ctx, page, p)
	})
}
