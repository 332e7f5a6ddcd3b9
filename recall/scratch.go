package recall

// scratch is the working memory of one ranking. Inv: counts, sets, entries and
// sums are all zero between uses, so that a use costs what it touches and not
// their size.
type scratch struct {
	variants []variant // of all terms and views of the ranking, one after the other
	touched  []uint32
	counts   []uint8
	set      bitset

	// For one view: the cursors of all terms one after the other, where those of
	// each term end, and those of the leading terms once more.
	cursors []cursor
	ends    []int
	leads   []cursor

	// For one window: the documents that are scored, as a set and as a list, those
	// that a term met, and what was found in each.
	bits    [windowDocs / 64]uint64
	marked  []uint16
	meets   []uint16
	entries [windowDocs]entry
	sums    [windowDocs]sum
}

// counters returns n zeroed counters.
func (w *scratch) counters(n int) []uint8 {
	if len(w.counts) < n {
		w.counts = make([]uint8, n)
	}
	return w.counts
}

// members returns an empty set that has room for n documents. It is to be emptied
// after use.
func (w *scratch) members(n int) bitset {
	words := (n + 63) / 64
	if len(w.set) < words {
		w.set = make(bitset, words)
	}
	return w.set[:words]
}
