package recall

import (
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
	views []view
	docs  int        // living documents
	body  uint64     // their body tokens
	head  uint64     // their head tokens
	pool  *sync.Pool // of *scratch, shared by all indexes of one indexer
}

// view is a segment with the documents that have gone since it was built.
type view struct {
	*segment
	dead  []uint64 // a bit a document; nil when none is gone
	alive int
}

func (v view) isDead(id uint32) bool {
	return len(v.dead) != 0 && v.dead[id>>6]&(1<<(id&63)) != 0
}

// mergeFanout is how many segments of one size class may stand beside each
// other before they are joined; a class holds sizes up to this factor apart. A
// document is so copied once a class, not once a change.
const mergeFanout = 5

// Indexer keeps an Index beside the catalog's snapshots.
type Indexer struct{ pool *sync.Pool }

// NewIndexer returns an indexer for one catalog.
func NewIndexer() *Indexer { return &Indexer{newPool()} }

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
	old, _ := prev.(*Index)
	if old == nil {
		old = &Index{}
	}
	ix := &Index{views: slices.Clone(old.views), docs: old.docs, body: old.body, head: old.head, pool: in.pool}
	ix.bury(removed)
	if len(added) > 0 {
		ix.append(newSegment(added))
	}
	ix.compact()
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
			if !ok || v.isDead(id) {
				continue
			}
			if !copied[i] {
				fresh := make([]uint64, (len(v.docs)+63)/64)
				copy(fresh, v.dead)
				v.dead, copied[i] = fresh, true
			}
			v.dead[id>>6] |= 1 << (id & 63)
			v.alive--
			ix.docs--
			ix.body -= tokens(v.body[id])
			ix.head -= tokens(v.head[id])
		}
	}
	ix.views = slices.DeleteFunc(ix.views, func(v view) bool { return v.alive == 0 })
}

// append adds a fresh segment.
func (ix *Index) append(s *segment) {
	ix.views = append(ix.views, view{segment: s, alive: len(s.docs)})
	ix.docs += len(s.docs)
	for i := range s.docs {
		ix.body += tokens(s.body[i])
		ix.head += tokens(s.head[i])
	}
}

// tokens is the length that a code stands for, in whole tokens, so that sums of
// them do not depend on their order.
func tokens(code uint8) uint64 { return uint64(math.Round(codedLength(code))) }

// compact joins segments: a size class that holds too many of them, and one by
// itself of which more than half is gone.
func (ix *Index) compact() {
	for i, v := range ix.views {
		if v.alive*2 < len(v.docs) && len(v.docs) > 64 {
			ix.views[i] = joined(ix.views[i : i+1])
		}
	}
	for class, more := 0, true; more; class++ {
		var same, rest []view
		more = false
		for _, v := range ix.views {
			c := sizeClass(v.alive)
			more = more || c > class
			if c == class {
				same = append(same, v)
			} else {
				rest = append(rest, v)
			}
		}
		if len(same) > mergeFanout {
			v := joined(same)
			more = more || sizeClass(v.alive) > class
			rest = append(rest, v)
			ix.views = rest
		}
	}
}

func joined(vs []view) view {
	s := mergeSegments(vs)
	return view{segment: s, alive: len(s.docs)}
}

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
func (ix *Index) Len() int { return ix.docs }

// IndexOf returns the index that stands beside a snapshot. A snapshot of a
// catalog without an [Indexer] has an empty one.
func IndexOf(s *memory.Snapshot) *Index {
	if ix, ok := s.Index().(*Index); ok && ix != nil {
		return ix
	}
	return &Index{pool: newPool()}
}
