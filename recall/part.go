package recall

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/memls/memls/memory"
)

// part is what an index knows of the documents of one root, as it is written beside
// them so that a restart need not read their words again. It implements
// [memory.IndexPart].
type part struct{ seg *segment }

// Part implements [memory.PartIndexer].
func (in *Indexer) Part(index any, root *memory.Root) memory.IndexPart {
	ix, _ := index.(*Index)
	if ix == nil {
		return part{mergeSegments(nil)}
	}
	var views []view
	for _, v := range ix.views {
		whole := v.dead
		from := uint32(0)
		for _, r := range v.roots {
			if r.root != root {
				whole = slices.Clone(whole)
				whole.fill(from, r.end)
			}
			from = r.end
		}
		v.dead = whole
		views = append(views, v)
	}
	if len(views) == 1 && !slices.ContainsFunc(views[0].dead, func(w uint64) bool { return w != 0 }) {
		return part{views[0].segment}
	}
	return part{mergeSegments(views)}
}

// Documents implements [memory.IndexPart].
func (p part) Documents() []*memory.Document { return p.seg.docs }

// Write implements [memory.IndexPart].
func (p part) Write(w *memory.SectionWriter) error {
	s := p.seg
	var users []uint32
	for id := range s.usage {
		users = append(users, id)
	}
	slices.Sort(users)
	var usage strings.Builder
	ends := make([]uint32, 0, len(users))
	for _, id := range users {
		usage.WriteString(s.usage[id])
		ends = append(ends, uint32(usage.Len()))
	}
	for _, b := range [][]byte{
		s.body, s.head, bytesOf(s.sketch), bytesOf(users), bytesOf(ends), []byte(usage.String()),
		[]byte(s.blob), bytesOf(s.offs), bytesOf(s.first), bytesOf(s.doc), s.tf, s.bits, s.runes,
		[]byte(s.folds.blob), bytesOf(s.folds.offs), bytesOf(s.folds.first), bytesOf(s.folds.ids),
		[]byte(s.stems.blob), bytesOf(s.stems.offs), bytesOf(s.stems.first), bytesOf(s.stems.ids),
		bytesOf(s.grams.codes), bytesOf(s.grams.first), bytesOf(s.grams.ids),
	} {
		if err := w.Put(b); err != nil {
			return err
		}
	}
	return nil
}

// ReadPart implements [memory.PartIndexer]. What it reads is checked to be an index of
// these documents that can be searched: a wrong one is an error, whatever is in it.
func (in *Indexer) ReadPart(docs []*memory.Document, r *memory.SectionReader) (any, error) {
	s := &segment{local: make(map[*memory.Document]uint32, len(docs)), docs: make([]*memory.Document, 0, len(docs)), usage: map[uint32]string{}}
	var sketches []sketch
	var users, ends []uint32
	var usage string
	for _, read := range []func() error{
		into(r, &s.body), into(r, &s.head), into(r, &sketches), into(r, &users), into(r, &ends), intoString(r, &usage),
		intoString(r, &s.blob), into(r, &s.offs), into(r, &s.first), into(r, &s.doc), into(r, &s.tf), into(r, &s.bits), into(r, &s.runes),
		intoString(r, &s.folds.blob), into(r, &s.folds.offs), into(r, &s.folds.first), into(r, &s.folds.ids),
		intoString(r, &s.stems.blob), into(r, &s.stems.offs), into(r, &s.stems.first), into(r, &s.stems.ids),
		into(r, &s.grams.codes), into(r, &s.grams.first), into(r, &s.grams.ids),
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	if len(sketches) != len(docs) || len(s.body) != len(docs) || len(s.head) != len(docs) {
		return nil, errPart
	}
	for i, d := range docs {
		s.admit(d, sketches[i])
	}
	if err := s.readUsage(users, ends, usage); err != nil {
		return nil, err
	}
	return s, s.check()
}

func (s *segment) readUsage(users, ends []uint32, usage string) error {
	if len(users) != len(ends) {
		return errPart
	}
	from := uint32(0)
	for i, id := range users {
		if int(id) >= len(s.docs) || ends[i] < from || int(ends[i]) > len(usage) {
			return errPart
		}
		s.usage[id] = strings.Clone(usage[from:ends[i]])
		from = ends[i]
	}
	return nil
}

// Join implements [memory.PartIndexer].
func (in *Indexer) Join(prev, part any) any {
	ix := in.next(prev)
	if s, ok := part.(*segment); ok && len(s.docs) > 0 {
		ix.append(s)
	}
	in.compact(ix)
	return ix
}

var errPart = errors.New("the stored index does not fit together")

// check tells whether a search can go through the segment: every place that one
// table names exists in the other, and what is searched by halves is sorted.
func (s *segment) check() error {
	n := s.terms()
	if n < 0 || len(s.first) != n+1 || len(s.runes) != n || len(s.tf) != len(s.doc) || len(s.bits) != len(s.doc) {
		return errPart
	}
	if !ladder(s.offs, len(s.blob)) || !ladder(s.first, len(s.doc)) {
		return errPart
	}
	for i := 1; i < n; i++ {
		if s.term(uint32(i-1)) >= s.term(uint32(i)) {
			return fmt.Errorf("%w: terms out of order", errPart)
		}
	}
	docs := uint32(len(s.docs))
	for t := range n {
		list := s.doc[s.first[t]:s.first[t+1]]
		for i, id := range list {
			if id >= docs || i > 0 && list[i-1] >= id {
				return fmt.Errorf("%w: postings out of order", errPart)
			}
		}
	}
	for _, b := range s.bits {
		if b > bitTitle|bitDescription|bitKeywords|bitScenarios {
			return errPart
		}
	}
	if !s.folds.fits(n) || !s.stems.fits(n) {
		return errPart
	}
	g := &s.grams
	if len(g.first) != len(g.codes)+1 || !ladder(g.first, len(g.ids)) || !slices.IsSorted(g.codes) || !below(g.ids, n) {
		return errPart
	}
	return nil
}

func (k *keyTable) fits(terms int) bool {
	if len(k.first) != len(k.offs) || len(k.offs) == 0 || !ladder(k.offs, len(k.blob)) || !ladder(k.first, len(k.ids)) || !below(k.ids, terms) {
		return false
	}
	for i := 1; i < k.keys(); i++ {
		if k.key(i-1) >= k.key(i) {
			return false
		}
	}
	return true
}

// ladder tells whether steps rise from 0 to end.
func ladder(steps []uint32, end int) bool {
	return len(steps) > 0 && steps[0] == 0 && uint64(steps[len(steps)-1]) == uint64(end) && slices.IsSorted(steps)
}

func below(ids []uint32, n int) bool {
	for _, id := range ids {
		if int(id) >= n {
			return false
		}
	}
	return true
}

// bytesOf is the memory of a list of numbers. Inv: what is stored is only read on
// machines that keep numbers in the same way; [memory] sees to that.
func bytesOf[T uint32 | uint64 | sketch](list []T) []byte {
	if len(list) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&list[0])), len(list)*int(unsafe.Sizeof(list[0])))
}

// into reads a section into a list of its own.
func into[T uint8 | uint32 | uint64 | sketch](r *memory.SectionReader, list *[]T) func() error {
	return func() error {
		var one T
		width := int(unsafe.Sizeof(one))
		_, err := r.Next(func(size int) []byte {
			if size%width != 0 {
				return nil
			}
			*list = make([]T, size/width)
			if size == 0 {
				return []byte{}
			}
			return unsafe.Slice((*byte)(unsafe.Pointer(&(*list)[0])), size)
		})
		return err
	}
}

func intoString(r *memory.SectionReader, s *string) func() error {
	return func() error {
		b, err := r.Next(func(size int) []byte { return make([]byte, size) })
		if err == nil && len(b) > 0 {
			*s = unsafe.String(&b[0], len(b)) // Inv: nobody else knows b
		}
		return err
	}
}
