package recall

import (
	"cmp"
	"slices"
)

// byFeedback orders candidates of the very same score by what people said of
// them, and leaves all others where they are. Inv: the list is in rank order.
func byFeedback(cs []candidate, feedback func(ref string) int) {
	if feedback == nil {
		return
	}
	for start := 0; start < len(cs); {
		end := start + 1
		for end < len(cs) && cs[end].score == cs[start].score {
			end++
		}
		if end-start > 1 {
			slices.SortStableFunc(cs[start:end], func(a, b candidate) int {
				return cmp.Compare(feedback(b.doc.Ref), feedback(a.doc.Ref))
			})
		}
		start = end
	}
}
