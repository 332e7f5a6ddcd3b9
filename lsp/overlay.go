package lsp

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/memls/memls/memory"
)

// overlays are the text documents that the client has open, whatever they are:
// a root that holds one may be configured only later. They are changed on the
// read loop alone.
type overlays struct {
	mu   sync.Mutex
	open map[string]*openText // by pathKey
}

// openText is one document that is open. Inv: guarded by overlays.mu.
type openText struct {
	now *buffer
	// synced is the text that the buffer and the file were last known to have in
	// common; known is false when they never were.
	synced string
	known  bool
}

// buffer is one version of an open document. Inv: immutable but for the parsed
// document that it keeps.
type buffer struct {
	uri     string // as the client spells it
	path    string
	version int32
	text    string
	// lost: a change made no sense, so that the client's text is not known until
	// it sends it whole.
	lost bool

	mu  sync.Mutex
	doc *memory.Document // nil until asked for
}

func newOverlays() *overlays { return &overlays{open: map[string]*openText{}} }

// pathKey makes the spellings of one path equal.
func pathKey(path string) string {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return strings.ToLower(path)
	}
	return path
}

// get is the newest version of an open document, or nil.
func (o *overlays) get(path string) *buffer {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.open[pathKey(path)]; t != nil {
		return t.now
	}
	return nil
}

// all are the newest versions of all open documents.
func (o *overlays) all() []*buffer {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]*buffer, 0, len(o.open))
	for _, t := range o.open {
		out = append(out, t.now)
	}
	return out
}

// put opens a document.
func (o *overlays) put(b *buffer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open[pathKey(b.path)] = &openText{now: b}
}

// change puts a new version in the place of the one that is open.
func (o *overlays) change(path string, next func(old *buffer) *buffer) (*buffer, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.open[pathKey(path)]
	if t == nil {
		return nil, fmt.Errorf("%s is not open", path)
	}
	t.now = next(t.now)
	return t.now, nil
}

// remove closes a document and tells what it was.
func (o *overlays) remove(path string) *buffer {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.open[pathKey(path)]
	if t == nil {
		return nil
	}
	delete(o.open, pathKey(path))
	return t.now
}

// saved notes that the file now holds what the buffer does.
func (o *overlays) saved(path string) *buffer {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.open[pathKey(path)]
	if t == nil {
		return nil
	}
	t.synced, t.known = t.now.text, !t.now.lost
	return t.now
}

// meet compares a document with the text of its file, and notes it when they are
// the same.
func (o *overlays) meet(path string, file func(text string) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.open[pathKey(path)]; t != nil && !t.now.lost && file(t.now.text) {
		t.synced, t.known = t.now.text, true
	}
}

// changed tells whether a document is open and holds something else than when
// it was last known to be what its file is.
func (o *overlays) changed(path string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.open[pathKey(path)]
	return t != nil && (t.now.lost || !t.known || t.now.text != t.synced)
}

// parsed is the buffer's text as a memory at a place. like is the document of
// the file, if there is one; without, the memory is as old as now.
func (b *buffer) parsed(at memory.Place, like *memory.Document, now time.Time) *memory.Document {
	if like != nil && like.Text == strings.TrimPrefix(b.text, byteOrderMark) {
		return like // with what only the file's bytes tell
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.doc == nil || b.doc.Root != at.Root || b.doc.Rel != at.Rel {
		b.doc = at.Parse([]byte(b.text))
		b.doc.ModTime = now
		if like != nil {
			b.doc.ModTime = like.ModTime
		}
	}
	return b.doc
}

const byteOrderMark = "\uFEFF"

// holds tells whether a text that an editor has is that of a file: editors that
// know one kind of line end turn all others into it.
func holds(d *memory.Document, text string) bool {
	text = strings.TrimPrefix(text, byteOrderMark)
	if d.Truncated {
		return d.Encoding == memory.UTF8 && strings.HasPrefix(text, d.Text) && int64(len(text)) == d.Size-int64(bomBytes(d))
	}
	return sameLines(d.Text, text)
}

func bomBytes(d *memory.Document) int {
	if d.BOM {
		return len(byteOrderMark)
	}
	return 0
}

// sameLines compares two texts but for the kind of their line ends.
func sameLines(a, b string) bool {
	if a == b {
		return true
	}
	if !strings.Contains(a, "\r") && !strings.Contains(b, "\r") {
		return false
	}
	for a != "" || b != "" {
		lineA, restA, endA := cutLine(a)
		lineB, restB, endB := cutLine(b)
		if lineA != lineB || endA != endB {
			return false
		}
		a, b = restA, restB
	}
	return true
}

// cutLine parts the first line from the rest; ended is false without a line end.
func cutLine(s string) (line, rest string, ended bool) {
	i := strings.IndexAny(s, "\r\n")
	if i < 0 {
		return s, "", false
	}
	line, rest = s[:i], s[i+1:]
	if s[i] == '\r' {
		rest = strings.TrimPrefix(rest, "\n")
	}
	return line, rest, true
}
