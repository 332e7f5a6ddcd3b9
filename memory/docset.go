package memory

import (
	"iter"
	"slices"
	"strings"
)

// docSet is an immutable set of documents by ref. A change shares everything
// with its predecessor but the shards that it touches: two tables of 64
// pointers and one leaf of n/4096 documents each.
type docSet struct {
	top *[fanout]*shelf
	len int
}

const (
	fanoutBits = 6
	fanout     = 1 << fanoutBits
)

type shelf struct {
	edit   *docEdit // which edit made this shelf and may still change it
	leaves [fanout]leaf
}

// leaf holds documents in the order of their refs.
type leaf struct {
	edit *docEdit
	docs []*Document
}

// slotOf places a ref: FNV-1a, folded, since its low bits alone are weak. It is
// the same in every process, and so is the order of iteration.
func slotOf(ref string) (int, int) {
	h := uint64(14695981039346656037)
	for i := range len(ref) {
		h = (h ^ uint64(ref[i])) * 1099511628211
	}
	h ^= h >> 32
	return int(h>>fanoutBits) & (fanout - 1), int(h) & (fanout - 1)
}

func find(docs []*Document, ref string) (int, bool) {
	return slices.BinarySearchFunc(docs, ref, func(d *Document, ref string) int {
		return strings.Compare(d.Ref, ref)
	})
}

func (s docSet) get(ref string) (*Document, bool) {
	if s.top == nil {
		return nil, false
	}
	i, j := slotOf(ref)
	sh := s.top[i]
	if sh == nil {
		return nil, false
	}
	if at, ok := find(sh.leaves[j].docs, ref); ok {
		return sh.leaves[j].docs[at], true
	}
	return nil, false
}

func (s docSet) all() iter.Seq[*Document] {
	return func(yield func(*Document) bool) {
		if s.top == nil {
			return
		}
		for _, sh := range s.top {
			if sh == nil {
				continue
			}
			for i := range sh.leaves {
				for _, d := range sh.leaves[i].docs {
					if !yield(d) {
						return
					}
				}
			}
		}
	}
}

// docEdit makes a new set from an old one. Inv: what bears the mark of this edit
// is reachable from no published set yet.
type docEdit struct {
	set docSet
	own bool // set.top is this edit's
}

func (s docSet) edit() *docEdit { return &docEdit{set: s} }

// done ends the edit and gives the new set.
func (e *docEdit) done() docSet {
	set := e.set
	*e = docEdit{}
	return set
}

func (e *docEdit) slot(ref string) *leaf {
	if !e.own {
		top := new([fanout]*shelf)
		if e.set.top != nil {
			*top = *e.set.top
		}
		e.set.top, e.own = top, true
	}
	i, j := slotOf(ref)
	sh := e.set.top[i]
	if sh == nil || sh.edit != e {
		next := &shelf{edit: e}
		if sh != nil {
			next.leaves = sh.leaves
		}
		e.set.top[i], sh = next, next
	}
	l := &sh.leaves[j]
	if l.edit != e {
		// One place more: the usual change of a leaf adds at most one document.
		docs := make([]*Document, len(l.docs), len(l.docs)+1)
		copy(docs, l.docs)
		*l = leaf{edit: e, docs: docs}
	}
	return l
}

func (e *docEdit) put(d *Document) {
	l := e.slot(d.Ref)
	at, ok := find(l.docs, d.Ref)
	if ok {
		l.docs[at] = d
		return
	}
	l.docs = slices.Insert(l.docs, at, d)
	e.set.len++
}

func (e *docEdit) remove(ref string) {
	if _, ok := e.set.get(ref); !ok {
		return
	}
	l := e.slot(ref)
	at, _ := find(l.docs, ref)
	l.docs = slices.Delete(l.docs, at, at+1)
	e.set.len--
}
