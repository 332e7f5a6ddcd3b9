package meaning

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/memls/memls/memory"
)

// Search asks for the documents whose vectors are nearest to one.
type Search struct {
	Model  string // what made the vector; vectors of another model are not looked at
	Vector []float32
	// Visible is asked before a distance is reckoned: what it refuses is as if it
	// were not there.
	Visible func(*memory.Document) bool
	Floor   float64 // the least cosine of a hit; that cosine itself is one
	Limit   int     // of the hits; 0 is none
}

// Hit is one document with its nearest passage.
type Hit struct {
	Doc     *memory.Document
	Passage memory.Span // in Doc.Text; empty when the document has no body
	Cosine  float64
}

// Index answers searches. [Exact] is one; a database could be another.
type Index interface {
	// Nearest answers at most Limit documents, the nearest first; of equal ones the one
	// with the lesser ref. It fails when ctx ends, or when the vector is not of the
	// length of the index's.
	Nearest(ctx context.Context, s Search) ([]Hit, error)
}

// chunkRows is how many vectors lie in one piece of memory: growing copies none.
const chunkRows = 1024

// chunk holds the vectors of up to chunkRows passages, one after the other.
type chunk struct {
	docs    []*memory.Document // nil where a row is free
	spans   []memory.Span
	inverse []float32
	numbers []int8
}

// Exact compares a search with every vector that it may see. It is safe for
// concurrent use.
type Exact struct {
	model string

	mu     sync.RWMutex
	dim    int // 0 until there is a vector
	chunks []*chunk
	free   []int
	used   int
}

// NewExact returns an empty index of vectors of one model.
func NewExact(model string) *Exact { return &Exact{model: model} }

// Len is how many vectors there are, and how long they are; 0 for none.
func (x *Exact) Len() (vectors, dimension int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.used, x.dim
}

// Bytes is how much memory the vectors take.
func (x *Exact) Bytes() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.chunks) * chunkRows * (x.dim + 4 + 16 + 8)
}

// errDimension is a vector that is not as long as those of the index.
type dimensionError struct{ got, want int }

func (e *dimensionError) Error() string {
	return fmt.Sprintf("a vector of %d numbers among those of %d", e.got, e.want)
}

// Add adds the vector of a passage, which must not be zero, and answers its row.
func (x *Exact) Add(d *memory.Document, span memory.Span, v []float32) (row int, err error) {
	q, inverse := quantise(v)
	return x.add(d, span, q, inverse)
}

func (x *Exact) add(d *memory.Document, span memory.Span, q []int8, inverse float32) (row int, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.dim == 0 {
		x.dim = len(q)
	}
	if len(q) != x.dim {
		return 0, &dimensionError{len(q), x.dim}
	}
	if n := len(x.free); n > 0 {
		row, x.free = x.free[n-1], x.free[:n-1]
	} else {
		row = x.used
		if row/chunkRows == len(x.chunks) {
			x.chunks = append(x.chunks, &chunk{
				docs: make([]*memory.Document, chunkRows), spans: make([]memory.Span, chunkRows),
				inverse: make([]float32, chunkRows), numbers: make([]int8, chunkRows*x.dim),
			})
		}
	}
	c, i := x.chunks[row/chunkRows], row%chunkRows
	c.docs[i], c.spans[i], c.inverse[i] = d, span, inverse
	copy(c.numbers[i*x.dim:], q)
	x.used++
	return row, nil
}

// Remove frees a row. Inv: rows are handed out again before new ones are made, so
// that used plus free is how many there ever were.
func (x *Exact) Remove(row int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	c, i := x.chunks[row/chunkRows], row%chunkRows
	c.docs[i] = nil
	clear(c.numbers[i*x.dim : (i+1)*x.dim])
	x.free = append(x.free, row)
	if x.used--; x.used == 0 {
		x.chunks, x.free, x.dim = nil, nil, 0
	}
}

// at is the vector of a row; it must not be changed.
func (x *Exact) at(row int) ([]int8, float32) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	c, i := x.chunks[row/chunkRows], row%chunkRows
	return c.numbers[i*x.dim : (i+1)*x.dim : (i+1)*x.dim], c.inverse[i]
}

// Nearest implements [Index].
func (x *Exact) Nearest(ctx context.Context, s Search) ([]Hit, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if s.Model != x.model || x.used == 0 || s.Limit <= 0 {
		return nil, ctx.Err()
	}
	if len(s.Vector) != x.dim {
		return nil, &dimensionError{len(s.Vector), x.dim}
	}
	q := ask(s.Vector)
	found := make([][]Hit, len(x.chunks))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(x.chunks), runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(x.chunks) || ctx.Err() != nil {
					return
				}
				found[i] = x.chunks[i].near(&q, x.dim, &s)
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return best(slices.Concat(found...), s.Limit), nil
}

// near are the passages of a chunk that are near enough.
func (c *chunk) near(q *question, dim int, s *Search) []Hit {
	var out []Hit
	var last *memory.Document // passages of one document mostly stand together
	visible := false
	for i, d := range c.docs {
		if d == nil {
			continue
		}
		if d != last {
			last, visible = d, s.Visible == nil || s.Visible(d)
		}
		if !visible {
			continue
		}
		if cos := q.cosine(c.numbers[i*dim:(i+1)*dim], c.inverse[i]); cos >= s.Floor {
			out = append(out, Hit{d, c.spans[i], cos})
		}
	}
	return out
}

// best keeps the nearest passage of each document, and the nearest documents.
func best(hits []Hit, limit int) []Hit {
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), strings.Compare(a.Doc.Ref, b.Doc.Ref), cmp.Compare(a.Passage.Start, b.Passage.Start))
	})
	seen := make(map[*memory.Document]bool, len(hits))
	out := hits[:0]
	for _, h := range hits {
		if len(out) == limit {
			break
		}
		if !seen[h.Doc] {
			seen[h.Doc] = true
			out = append(out, h)
		}
	}
	return out
}
