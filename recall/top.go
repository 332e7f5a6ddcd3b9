package recall

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
)

// better orders candidates: score, then recency of the fact, then root order
// (project before user before team as configured), then ref. Never by type.
func better(a, b candidate) int {
	if c := cmp.Compare(b.score, a.score); c != 0 {
		return c
	}
	if c := b.doc.Fact().Compare(a.doc.Fact()); c != 0 {
		return c
	}
	if c := cmp.Compare(a.doc.Root.Order, b.doc.Root.Order); c != 0 {
		return c
	}
	return strings.Compare(a.doc.Ref, b.doc.Ref)
}

// topList keeps the best of what it is offered.
type topList struct {
	want  int
	total int
	heap  worstFirst
}

type worstFirst []candidate

// Len, Less, Swap, Push and Pop make a heap whose root is the worst candidate.
func (h worstFirst) Len() int           { return len(h) }
func (h worstFirst) Less(i, j int) bool { return better(h[i], h[j]) > 0 }
func (h worstFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *worstFirst) Push(x any)        { *h = append(*h, x.(candidate)) }
func (h *worstFirst) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

func (t *topList) offer(c candidate) {
	t.total++
	if len(t.heap) < t.want {
		heap.Push(&t.heap, c)
		return
	}
	if t.want > 0 && better(c, t.heap[0]) < 0 {
		t.heap[0] = c
		heap.Fix(&t.heap, 0)
	}
}

func (t *topList) sorted() []candidate {
	out := slices.Clone(t.heap)
	slices.SortFunc(out, better)
	return out
}
