package recall

// scratch is the working memory of one ranking. Inv: counts and weights are all
// zero between uses, so that a use costs what it touches and not their size.
type scratch struct {
	entries  []entry // of all terms and views of the ranking, one after the other
	variants []variant
	touched  []uint32
	counts   []uint8
	slots    []uint32 // by document: 1 + its place in the entries being made
	sums     []sum
}

// counters returns n zeroed counters.
func (w *scratch) counters(n int) []uint8 {
	if len(w.counts) < n {
		w.counts = make([]uint8, n)
	}
	return w.counts
}

// places returns n zeroed slots.
func (w *scratch) places(n int) []uint32 {
	if len(w.slots) < n {
		w.slots = make([]uint32, n)
	}
	return w.slots
}

// totals returns n zeroed sums.
func (w *scratch) totals(n int) []sum {
	if len(w.sums) < n {
		w.sums = make([]sum, n)
	}
	return w.sums
}
