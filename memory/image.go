package memory

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"time"
	"unsafe"
)

// The image of a root is its documents, and what the index knows of them, as they were
// last read, in one file of its state directory. A start takes them from there and
// reads only the files whose stat has changed since.
//
// Inv: an image is never the truth. What it says of a file is served while the root is
// loading, and after that only if a stat proves that the file has not changed; anything
// about it that is not as expected means that it is not used.

// IndexPart is what an index knows of the documents of one root.
type IndexPart interface {
	// Documents are those documents, in the order that the part knows them by.
	Documents() []*Document
	Write(w *SectionWriter) error
}

// PartIndexer is an [Indexer] whose index can be kept beside the documents. Part and
// ReadPart may be called by any goroutine.
type PartIndexer interface {
	Indexer
	// Part is what an index knows of the documents of a root.
	Part(index any, root *Root) IndexPart
	// ReadPart reads what [IndexPart.Write] wrote for documents in the same order. It
	// fails for anything else.
	ReadPart(docs []*Document, r *SectionReader) (part any, err error)
	// Join is the index with a part that was read.
	Join(prev, part any) any
}

const (
	imageName   = "catalog.image"
	imageFormat = 1
	// imageBlock is about how many bytes of documents make a section. They stay in
	// memory as long as one of the documents does.
	imageBlock = 256 << 10
)

var errImage = errors.New("not an image of this root")

// imageHead is the first section.
type imageHead struct {
	Format    int    `json:"format"`
	Program   string `json:"program"` // which build wrote it: another one may read files otherwise
	Numbers   string `json:"numbers"` // how the machine keeps numbers
	Root      string `json:"root"`
	Path      string `json:"path"`
	Documents int    `json:"documents"`
}

func headOf(root *Root, documents int) imageHead {
	numbers := "little"
	if one := uint16(1); *(*byte)(unsafe.Pointer(&one)) == 0 {
		numbers = "big"
	}
	return imageHead{imageFormat, programID(), numbers, root.ID, root.Real, documents}
}

// programID tells builds of memls apart: their version, and the file that runs.
func programID() string {
	id := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		id = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
				id += " " + s.Value
			}
		}
	}
	if exe, err := os.Executable(); err == nil {
		if fi, err := os.Stat(exe); err == nil {
			id += fmt.Sprintf(" %d %d", fi.Size(), fi.ModTime().UnixNano())
		}
	}
	return id
}

// writeImage writes the documents of a part and the part.
func writeImage(out io.Writer, root *Root, part IndexPart) error {
	w := newSectionWriter(out)
	docs := part.Documents()
	head, err := json.Marshal(headOf(root, len(docs)))
	if err != nil {
		return err
	}
	if err := w.Put(head); err != nil {
		return err
	}
	e := encoder{}
	for _, d := range docs {
		e.document(d)
		if len(e.b) >= imageBlock {
			if err := w.Put(e.b); err != nil {
				return err
			}
			e.b = e.b[:0]
		}
	}
	if err := w.Put(e.b); err != nil {
		return err
	}
	if err := w.Put(nil); err != nil { // the documents end here
		return err
	}
	if err := part.Write(w); err != nil {
		return err
	}
	if err := w.Put([]byte("end")); err != nil {
		return err
	}
	return w.flush()
}

// readImage reads what writeImage wrote for the root. The documents are ready to be
// served, and the part is of an index that fits them.
func readImage(in io.Reader, size int64, root *Root, index PartIndexer) (docs []*Document, part any, err error) {
	r := &SectionReader{in, size}
	raw, err := r.Next(plainSection)
	if err != nil {
		return nil, nil, err
	}
	var head imageHead
	if err := json.Unmarshal(raw, &head); err != nil || head != headOf(root, head.Documents) {
		return nil, nil, errImage
	}
	for {
		block, err := r.Next(plainSection)
		if err != nil {
			return nil, nil, err
		}
		if len(block) == 0 {
			break
		}
		for d := (decoder{b: block}); len(d.b) > 0; {
			doc := d.document(root)
			if d.bad {
				return nil, nil, errSection
			}
			docs = append(docs, doc)
		}
	}
	if len(docs) != head.Documents {
		return nil, nil, errSection
	}
	if part, err = index.ReadPart(docs, r); err != nil {
		return nil, nil, err
	}
	end, err := r.Next(plainSection)
	if err != nil || string(end) != "end" || r.left != 0 {
		return nil, nil, errSection
	}
	return docs, part, nil
}

// encoder writes documents. Numbers are varints, texts have their length before them.
type encoder struct{ b []byte }

func (e *encoder) num(n int64) { e.b = binary.AppendVarint(e.b, n) }

func (e *encoder) text(s string) {
	e.num(int64(len(s)))
	e.b = append(e.b, s...)
}

func (e *encoder) texts(list []string) {
	e.num(int64(len(list)))
	for _, s := range list {
		e.text(s)
	}
}

func (e *encoder) flags(set ...bool) {
	n := int64(0)
	for i, on := range set {
		if on {
			n |= 1 << i
		}
	}
	e.num(n)
}

// time writes an instant with its offset from UTC, in minutes; math.MaxInt64 stands
// for the zero time.
func (e *encoder) time(t time.Time) {
	if t.IsZero() {
		e.num(math.MaxInt64)
		return
	}
	_, offset := t.Zone()
	e.num(t.Unix())
	e.num(int64(t.Nanosecond()))
	e.num(int64(offset))
}

func (e *encoder) span(s Span) {
	e.num(int64(s.Start))
	e.num(int64(s.End))
}

func (e *encoder) document(d *Document) {
	e.text(d.Rel)
	e.text(d.Version)
	e.text(d.Title)
	e.text(d.Description)
	e.text(d.Type)
	e.texts(d.Keywords)
	e.texts(d.Scenarios)
	e.text(d.Category)
	e.text(d.Status)
	e.texts(d.Supersedes)
	e.text(d.ID)
	e.text(d.OriginSession)
	for _, t := range []time.Time{d.ModTime, d.CreatedAt, d.UpdatedAt, d.ExpiresAt, d.LastVerifiedAt} {
		e.time(t)
	}
	e.text(d.Text)
	e.text(string(d.Encoding))
	e.flags(d.TypeGiven, d.Pinned, d.BOM, d.Lossy, d.Truncated, d.placeholder, d.stamp.clean)
	e.span(d.Header)
	e.span(d.Body)
	e.span(d.keys)
	e.num(int64(d.form))
	e.num(d.Size)
	e.num(int64(len(d.Problems)))
	for _, p := range d.Problems {
		e.span(p.Span)
		e.text(p.Code)
		e.text(p.Message)
		e.num(int64(p.Severity))
	}
	e.num(d.stamp.size)
	e.num(d.stamp.mtime)
	e.num(d.stamp.ctime)
	e.num(int64(d.stamp.ino))
}

// decoder reads them back. Inv: it reads nothing outside of b, whatever b holds; bad is
// set by the first thing that cannot be.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) num() int64 {
	n, w := binary.Varint(d.b)
	if w <= 0 {
		d.b, d.bad = nil, true
		return 0
	}
	d.b = d.b[w:]
	return n
}

func (d *decoder) text() string {
	n := d.num()
	if n < 0 || n > int64(len(d.b)) {
		d.b, d.bad = nil, true
		return ""
	}
	if n == 0 {
		return ""
	}
	s := unsafe.String(&d.b[0], int(n)) // Inv: the block belongs to the documents in it
	d.b = d.b[n:]
	return s
}

func (d *decoder) texts() []string {
	n := d.num()
	if n <= 0 || n > int64(len(d.b)) {
		d.bad = d.bad || n != 0
		return nil
	}
	list := make([]string, 0, n)
	for range n {
		list = append(list, d.text())
	}
	return list
}

func (d *decoder) flags(set ...*bool) {
	n := d.num()
	for i, on := range set {
		*on = n&(1<<i) != 0
	}
}

func (d *decoder) time() time.Time {
	sec := d.num()
	if sec == math.MaxInt64 {
		return time.Time{}
	}
	nsec, offset := d.num(), d.num()
	if nsec < 0 || nsec >= int64(time.Second) || offset < -math.MaxInt32 || offset > math.MaxInt32 {
		d.bad = true
		return time.Time{}
	}
	t := time.Unix(sec, nsec)
	if _, here := t.Zone(); int64(here) == offset {
		return t
	}
	if offset == 0 {
		return t.UTC()
	}
	return t.In(time.FixedZone("", int(offset)))
}

// span reads a range of a text of n bytes.
func (d *decoder) span(n int) Span {
	s := Span{int(d.num()), int(d.num())}
	if s.Start < 0 || s.End < s.Start || s.End > n {
		d.bad = true
		return Span{}
	}
	return s
}

func (d *decoder) document(root *Root) *Document {
	doc := &Document{Root: root, found: &findings{}}
	doc.Rel = d.text()
	doc.Version = d.text()
	doc.Title = d.text()
	doc.Description = d.text()
	doc.Type = d.text()
	doc.Keywords = d.texts()
	doc.Scenarios = d.texts()
	doc.Category = d.text()
	doc.Status = d.text()
	doc.Supersedes = d.texts()
	doc.ID = d.text()
	doc.OriginSession = d.text()
	for _, t := range []*time.Time{&doc.ModTime, &doc.CreatedAt, &doc.UpdatedAt, &doc.ExpiresAt, &doc.LastVerifiedAt} {
		*t = d.time()
	}
	doc.Text = d.text()
	doc.Encoding = Encoding(d.text())
	d.flags(&doc.TypeGiven, &doc.Pinned, &doc.BOM, &doc.Lossy, &doc.Truncated, &doc.placeholder, &doc.stamp.clean)
	doc.Header, doc.Body, doc.keys = d.span(len(doc.Text)), d.span(len(doc.Text)), d.span(len(doc.Text))
	doc.form = headerForm(d.num())
	doc.Size = d.num()
	if n := d.num(); n < 0 || n > 2*maxProblems {
		d.bad = true
	} else {
		for range n {
			p := Problem{Span: d.span(len(doc.Text)), Code: d.text(), Message: d.text(), Severity: Severity(d.num())}
			doc.Problems = append(doc.Problems, p)
		}
	}
	doc.stamp.size, doc.stamp.mtime, doc.stamp.ctime, doc.stamp.ino = d.num(), d.num(), d.num(), uint64(d.num())
	if d.bad || CheckRel(doc.Rel) != nil {
		d.b, d.bad = nil, true
		return nil
	}
	doc.Ref = encodeRef(root.Prefix, doc.Rel)
	return doc
}

// restored takes the documents of an image that belong to a root as it is served now.
func (s *source) restored(docs []*Document) bool {
	owner := resolvedRoot{inner: s.inner}
	return !slices.ContainsFunc(docs, func(d *Document) bool { return !owner.owns(d.Rel) || isIndex(d.Rel) })
}

// imageOf writes the image of a root as it is in a snapshot.
func imageOf(snap *Snapshot, root *Root, index PartIndexer) func(io.Writer) error {
	return func(w io.Writer) error { return writeImage(w, root, index.Part(snap.Index(), root)) }
}
