package recall

import (
	"slices"
	"strings"

	"github.com/memls/memls/memory"
)

// Alike are the other documents that say nearly the same as d by their words,
// d as the index has it, those of other scopes included, in the order of their
// refs. It compares with every document, at a cost of nanoseconds each.
func (ix *Index) Alike(d *memory.Document) []*memory.Document {
	of := ix.sketchOf(d)
	if of == nil {
		return nil
	}
	var out []*memory.Document
	for _, v := range ix.views {
		for id, other := range v.docs {
			if other != d && !v.dead.has(uint32(id)) && alike(of, &v.sketch[id]) {
				out = append(out, other)
			}
		}
	}
	slices.SortFunc(out, func(a, b *memory.Document) int { return strings.Compare(a.Ref, b.Ref) })
	return out
}

func (ix *Index) sketchOf(d *memory.Document) *sketch {
	for _, v := range ix.views {
		if id, ok := v.local[d]; ok && !v.dead.has(id) {
			return &v.sketch[id]
		}
	}
	return nil
}
