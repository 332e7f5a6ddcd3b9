package recall

import (
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/memls/memls/memory"
)

// Index is the immutable inverted index of one snapshot: a few segments and,
// for each, which of its documents have gone. A change makes a small new segment
// and shares all others; segments of like size are joined as they gather, so
// that a query visits few of them.
type Index struct {
	views  []view
	groups map[group]census
	pool   *sync.Pool // of *scratch, shared by all indexes of one indexer
}

// group tells apart documents of which a query may see some and not others, by
// where they lie and by what their header says of their status.
type group struct {
	scope    memory.Scope
	folders  memory.Folders
	inactive bool
}

func groupOf(d *memory.Document) group {
	return group{d.Root.Scope, d.Root.Folders, inactive(d)}
}

func inactive(d *memory.Document) bool { return d.Status != memory.StatusActive }

// reaches tells whether a query may return documents of a root.
func (q *Query) reaches(root *memory.Root) bool {
	return (len(q.Scopes) == 0 || slices.Contains(q.Scopes, root.Scope)) && root.Folders.Has(q.Folder)
}

// census counts living documents that are not empty, and the tokens of their
// bodies and heads.
type census struct {
	docs       int
	body, head uint64
}

func (c census) plus(o census) census {
	return census{c.docs + o.docs, c.body + o.body, c.head + o.head}
}

func (c census) minus(o census) census {
	return census{c.docs - o.docs, c.body - o.body, c.head - o.head}
}

// census counts one document.
func (s *segment) census(id uint32) census {
	return census{1, tokens(s.body[id]), tokens(s.head[id])}
}

// census counts the documents of the groups that a query may see. everywhere tells
// whether it may look into all roots.
func (ix *Index) census(q *Query) (c census, everywhere bool) {
	everywhere = true
	for g, n := range ix.groups {
		reached := q.reaches(&memory.Root{Scope: g.scope, Folders: g.folders})
		everywhere = everywhere && reached
		if reached && (q.Inactive || !g.inactive) {
			c = c.plus(n)
		}
	}
	return c, everywhere
}

// count adds a document to the census of its group, or takes it out.
func (ix *Index) count(s *segment, id uint32, d *memory.Document, sign int) {
	if d.Empty() {
		return
	}
	g := groupOf(d)
	n := ix.groups[g]
	if sign > 0 {
		n = n.plus(s.census(id))
	} else {
		n = n.minus(s.census(id))
	}
	if n.docs == 0 {
		delete(ix.groups, g)
		return
	}
	ix.groups[g] = n
}

// view is a segment with the documents that have gone since it was built.
type view struct {
	*segment
	dead  bitset
	alive int
}

// bitset is a set of documents of a segment; nil is empty.
type bitset []uint64

func (b bitset) has(id uint32) bool {
	return int(id>>6) < len(b) && b[id>>6]&(1<<(id&63)) != 0
}

func (b *bitset) add(id uint32) {
	for int(id>>6) >= len(*b) {
		*b = append(*b, 0)
	}
	(*b)[id>>6] |= 1 << (id & 63)
}

// word is the i-th word of the set.
func (b bitset) word(i int) uint64 {
	if i < len(b) {
		return b[i]
	}
	return 0
}

// or is the union of two sets, which may be one of them.
func (b bitset) or(o bitset) bitset {
	switch {
	case len(o) == 0:
		return b
	case len(b) == 0:
		return o
	case len(b) < len(o):
		b, o = o, b
	}
	b = slices.Clone(b)
	for i := range o {
		b[i] |= o[i]
	}
	return b
}

// fill adds all from one document to before another.
func (b *bitset) fill(from, to uint32) {
	for id := from; id < to; id++ {
		b.add(id)
	}
}

// mergeFanout is how many segments of one size class may stand beside each
// other before they are joined; a class holds sizes up to this factor apart. A
// document is so copied once a class, not once a change.
const mergeFanout = 5

// Indexer keeps an Index beside the catalog's snapshots. Its methods are for one
// goroutine, but for Part and ReadPart.
type Indexer struct {
	pool    *sync.Pool
	joining *joining      // the join that is under way, or nil
	joined  chan struct{} // told when one is done
}

// NewIndexer returns an indexer for one catalog.
func NewIndexer() *Indexer { return &Indexer{pool: newPool(), joined: make(chan struct{}, 1)} }

func newPool() *sync.Pool { return &sync.Pool{New: func() any { return new(scratch) }} }

// borrow takes scratch space out of the pool.
func (ix *Index) borrow() *scratch {
	if w, ok := ix.pool.Get().(*scratch); ok {
		return w
	}
	return new(scratch)
}

// Update returns the index in which removed have gone and added have come. prev
// is what an earlier call answered, or nil. It satisfies [memory.Indexer].
func (in *Indexer) Update(prev any, removed, added []*memory.Document) any {
	ix := in.next(prev)
	ix.bury(removed)
	if len(added) > 0 {
		ix.append(newSegment(added))
	}
	in.compact(ix)
	return ix
}

// next is a copy of an index that may be changed, with the join that has been done
// since.
func (in *Indexer) next(prev any) *Index {
	old, _ := prev.(*Index)
	if old == nil {
		old = &Index{}
	}
	ix := &Index{views: slices.Clone(old.views), groups: maps.Clone(old.groups), pool: in.pool}
	if ix.groups == nil {
		ix.groups = map[group]census{}
	}
	in.install(ix)
	return ix
}

// bury marks the removed documents as gone. Inv: the bitmaps of prev are copied
// before a bit is set, because older snapshots still read them.
func (ix *Index) bury(removed []*memory.Document) {
	copied := make([]bool, len(ix.views))
	for _, d := range removed {
		for i := range ix.views {
			v := &ix.views[i]
			id, ok := v.local[d]
			if !ok || v.dead.has(id) {
				continue
			}
			if !copied[i] {
				v.dead, copied[i] = slices.Clone(v.dead), true
			}
			v.dead.add(id)
			v.alive--
			ix.count(v.segment, id, d, -1)
		}
	}
	ix.views = slices.DeleteFunc(ix.views, func(v view) bool { return v.alive == 0 })
}

// append adds a fresh segment.
func (ix *Index) append(s *segment) {
	ix.views = append(ix.views, view{segment: s, alive: len(s.docs)})
	for i, d := range s.docs {
		ix.count(s, uint32(i), d, 1)
	}
}

// tokens is the length that a code stands for, in whole tokens, so that sums of
// them do not depend on their order.
func tokens(code uint8) uint64 { return uint64(math.Round(codedLength(code))) }

// sizeClass is the logarithm of n to the base mergeFanout, rounded down.
func sizeClass(n int) int {
	c := 0
	for n >= mergeFanout {
		n /= mergeFanout
		c++
	}
	return c
}

// Len is the number of documents in the index.
func (ix *Index) Len() (n int) {
	for _, v := range ix.views {
		n += v.alive
	}
	return n
}

// IndexOf returns the index that stands beside a snapshot. A snapshot of a
// catalog without an [Indexer] has an empty one.
func IndexOf(s *memory.Snapshot) *Index {
	if ix, ok := s.Index().(*Index); ok && ix != nil {
		return ix
	}
	return &Index{pool: newPool()}
}
