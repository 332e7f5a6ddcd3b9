package recall

import (
	"math"
	"slices"
	"strings"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/text"
)

// posting is one document in the list of a term while a segment is built.
type posting struct {
	doc  uint32
	tf   uint8
	bits uint8
}

// builder gathers documents into a segment.
type builder struct {
	tok   text.Tokenizer
	ids   map[string]uint32
	names []string
	lists [][]posting
	hash  []uint64 // of a name; 0 for terms that a sketch leaves out
	seg   *segment
}

// newSegment indexes docs. It costs what they hold, whatever else is indexed.
func newSegment(docs []*memory.Document) *segment {
	b := &builder{ids: make(map[string]uint32, 64*len(docs)), seg: &segment{local: make(map[*memory.Document]uint32, len(docs)), usage: map[uint32]string{}}}
	for _, d := range docs {
		b.add(d)
	}
	return b.finish()
}

func (b *builder) add(d *memory.Document) {
	s := b.seg
	id := s.admit(d, emptySketch())
	if d.Empty() { // never recalled: it has no words either
		s.head, s.body = append(s.head, 0), append(s.body, 0)
		return
	}
	if text := usageText(d); text != "" {
		s.usage[id] = text
	}
	head := b.field(id, d.Title, bitTitle)
	head += b.field(id, d.Description, bitDescription)
	head += b.field(id, strings.Join(d.Keywords, "\n"), bitKeywords)
	head += b.field(id, strings.Join(d.Scenarios, "\n"), bitScenarios)
	body := d.SearchedBody()
	n := b.field(id, d.Text[body.Start:body.End], 0)
	s.head = append(s.head, lengthCode(head))
	s.body = append(s.body, lengthCode(n))
}

// field adds the tokens of one field and returns how many count for its length.
func (b *builder) field(id uint32, s string, bit uint8) int {
	n := 0
	b.tok.Each(s, func(t text.Token) {
		if !indexed(t, bit) {
			return
		}
		if t.Kind != text.Unigram && t.Kind != text.Cluster2 {
			n++
		}
		b.post(t, id, bit)
	})
	return n
}

// indexed decides which tokens of a field are kept: function words nowhere,
// one or two letters only where names stand.
func indexed(t text.Token, bit uint8) bool {
	switch t.Kind {
	case text.Bigram, text.Unigram, text.Cluster2, text.Cluster3, text.Symbol:
		return true
	case text.Lone:
		return bit == bitTitle || bit == bitKeywords
	}
	if t.Kind == text.Word && (!t.Ident || !t.Short) && text.TopicOf(string(t.Term)) == text.Function {
		return false
	}
	if !t.Short {
		return true
	}
	named := bit == bitTitle || bit == bitKeywords
	if len(t.Term) == 1 {
		return named && t.Ident
	}
	return named || t.Ident
}

func (b *builder) post(t text.Token, id uint32, bit uint8) {
	k, ok := b.ids[string(t.Term)]
	if !ok {
		k = uint32(len(b.names))
		name := string(t.Term)
		b.ids[name] = k
		b.names = append(b.names, name)
		b.lists = append(b.lists, nil)
		b.hash = append(b.hash, sketchHash(name, t.Kind))
	}
	l := b.lists[k]
	if n := len(l); n == 0 || l[n-1].doc != id {
		l = append(l, posting{doc: id})
		b.lists[k] = l
		if h := b.hash[k]; h != 0 {
			b.seg.sketch[id].add(h)
		}
	}
	p := &l[len(l)-1]
	if bit != 0 {
		p.bits |= bit
	} else if p.tf < math.MaxUint8 {
		p.tf++
	}
}

// sketchHash is the hash of a term for sketches: 0 for what repeats other terms
// and for numbers, so that the same sentence with another figure is the same.
func sketchHash(name string, k text.Kind) uint64 {
	if k == text.Unigram || k == text.Cluster2 || k == text.Whole || number(name) {
		return 0
	}
	return fnv64(name)
}

func (b *builder) finish() *segment {
	order := make([]uint32, len(b.names))
	n, size := 0, 0
	for i := range order {
		order[i] = uint32(i)
		n += len(b.lists[i])
		size += len(b.names[i])
	}
	slices.SortFunc(order, func(x, y uint32) int { return strings.Compare(b.names[x], b.names[y]) })
	w := newSegmentWriter(b.seg, len(order), n, size)
	for _, k := range order {
		w.term(b.names[k])
		for _, p := range b.lists[k] {
			w.posting(p)
		}
	}
	return w.finish()
}

// segmentWriter appends sorted terms and their postings to the flat arrays.
type segmentWriter struct {
	s    *segment
	blob strings.Builder
}

func newSegmentWriter(s *segment, terms, postings, bytes int) *segmentWriter {
	s.offs = make([]uint32, 0, terms+1)
	s.first = make([]uint32, 0, terms+1)
	s.doc = make([]uint32, 0, postings)
	s.tf = make([]uint8, 0, postings)
	s.bits = make([]uint8, 0, postings)
	w := &segmentWriter{s: s}
	w.blob.Grow(bytes)
	return w
}

func (w *segmentWriter) term(t string) {
	w.s.offs = append(w.s.offs, uint32(w.blob.Len()))
	w.s.first = append(w.s.first, uint32(len(w.s.doc)))
	w.blob.WriteString(t)
}

func (w *segmentWriter) posting(p posting) {
	w.s.doc = append(w.s.doc, p.doc)
	w.s.tf = append(w.s.tf, p.tf)
	w.s.bits = append(w.s.bits, p.bits)
}

func (w *segmentWriter) finish() *segment {
	w.s.offs = append(w.s.offs, uint32(w.blob.Len()))
	w.s.first = append(w.s.first, uint32(len(w.s.doc)))
	w.s.blob = w.blob.String()
	w.s.finish()
	return w.s
}

// mergeSegments joins the living documents of views into one segment without
// tokenising anything again.
func mergeSegments(views []view) *segment {
	out := &segment{local: map[*memory.Document]uint32{}, usage: map[uint32]string{}}
	remap := make([][]uint32, len(views))
	postings, bytes := 0, 0
	for i, v := range views {
		remap[i] = make([]uint32, len(v.docs))
		postings += len(v.doc)
		bytes += len(v.blob)
		for j, d := range v.docs {
			if v.dead.has(uint32(j)) {
				remap[i][j] = math.MaxUint32
				continue
			}
			id := out.admit(d, v.sketch[j])
			remap[i][j] = id
			out.body = append(out.body, v.body[j])
			out.head = append(out.head, v.head[j])
			if text, ok := v.usage[uint32(j)]; ok {
				out.usage[id] = text
			}
		}
	}
	w := newSegmentWriter(out, 0, postings, bytes)
	at := make([]uint32, len(views))
	for {
		t, ok := leastTerm(views, at)
		if !ok {
			return w.finish()
		}
		w.mergeTerm(t, views, at, remap)
	}
}

func leastTerm(views []view, at []uint32) (string, bool) {
	least, ok := "", false
	for i, v := range views {
		if int(at[i]) < v.terms() {
			if t := v.term(at[i]); !ok || t < least {
				least, ok = t, true
			}
		}
	}
	return least, ok
}

// mergeTerm writes the living postings of t and moves every view past it. A
// term that no living document has is left out.
func (w *segmentWriter) mergeTerm(t string, views []view, at []uint32, remap [][]uint32) {
	started := false
	for i, v := range views {
		if int(at[i]) >= v.terms() || v.term(at[i]) != t {
			continue
		}
		for p := v.first[at[i]]; p < v.first[at[i]+1]; p++ {
			id := remap[i][v.doc[p]]
			if id == math.MaxUint32 {
				continue
			}
			if !started {
				w.term(t)
				started = true
			}
			w.posting(posting{id, v.tf[p], v.bits[p]})
		}
		at[i]++
	}
}
