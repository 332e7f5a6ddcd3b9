package recall

import (
	"cmp"
	"context"
	"slices"

	"github.com/memls/memls/memory"
)

// Meaning finds memories by what they mean, whatever their words.
type Meaning interface {
	// Near answers the memories whose meaning is near to that of a text, within its own
	// short bound. It never fails: what it could not do, it says in Degraded.
	Near(ctx context.Context, q MeaningQuery) Nearness
}

// MeaningQuery asks what is near to a text.
type MeaningQuery struct {
	Text string
	// Visible is asked before anything is compared: what it refuses influences
	// nothing. Reaches tells the same of all documents of a root.
	Visible func(*memory.Document) bool
	Reaches func(*memory.Root) bool
	Limit   int
	// Asked is a document of which the nearness is told wherever it is; may be nil.
	Asked *memory.Document
}

// Nearness is what is near to a text.
type Nearness struct {
	Near  []Near  // the nearest first, all at or above Floor
	Floor float64 // the least cosine that counts
	// Asked is the cosine of the document that was asked about; nil when it has none.
	Asked    *float64
	Degraded *Degraded // why there is nothing, or less than there could be
}

// Near is one memory with the passage that is nearest.
type Near struct {
	Doc     *memory.Document
	Passage memory.Span // in Doc.Text; empty when the memory has no body
	Cosine  float64
}

// maxNear bounds the memories that meaning adds to a ranking, before fusion.
const maxNear = 100

// fusionOffset is the constant of reciprocal rank fusion (Cormack, Clarke and Büttcher
// 2009): with it the first ranks of a list do not outweigh what two lists agree on.
const fusionOffset = 60

// fused merges lists by reciprocal rank: the sum over the lists of 1 / (60 + rank),
// with ranks from 0. Equal sums stay in the order in which they were first seen, so
// that the first list goes before the second. It depends on ranks alone, and changes
// neither list.
func fused(lists ...[]*memory.Document) (out []*memory.Document, sums map[*memory.Document]float64) {
	sums = map[*memory.Document]float64{}
	for _, list := range lists {
		for rank, d := range list {
			if _, seen := sums[d]; !seen {
				out = append(out, d)
			}
			sums[d] += 1 / float64(fusionOffset+rank)
		}
	}
	slices.SortStableFunc(out, func(a, b *memory.Document) int { return cmp.Compare(sums[b], sums[a]) })
	return out, sums
}
