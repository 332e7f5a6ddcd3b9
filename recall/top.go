package recall

import (
	"cmp"
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

// topList keeps the best of what it is offered: it gathers twice as many as are
// wanted, then drops the worse half, so that an offer costs little on average.
type topList struct {
	want  int
	total int // how many were offered
	kept  []candidate
	full  bool // kept[want-1] is the worst that still counts
}

// wants tells whether c could be among the best.
func (t *topList) wants(c candidate) bool {
	return t.want > 0 && (!t.full || better(c, t.kept[t.want-1]) < 0)
}

// reaches tells whether a candidate with that score could be among the best.
func (t *topList) reaches(score float64) bool {
	return t.want > 0 && (!t.full || score >= t.kept[t.want-1].score)
}

func (t *topList) offer(c candidate) {
	t.total++
	if !t.wants(c) {
		return
	}
	t.kept = append(t.kept, c)
	if len(t.kept) >= 2*t.want+8 {
		t.trim()
	}
}

func (t *topList) trim() {
	slices.SortFunc(t.kept, better)
	if len(t.kept) >= t.want {
		t.kept, t.full = t.kept[:t.want], true
	}
}

// sorted returns the best, in order. The list must not be used after it.
func (t *topList) sorted() []candidate {
	t.trim()
	return t.kept
}
