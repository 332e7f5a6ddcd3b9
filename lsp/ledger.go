package lsp

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// ledger is what the context of a session holds: which passages of which texts
// of which memories. The text is what can be rendered, so that pinning a memory
// does not deliver it again.
type ledger struct {
	refs map[string]*heldMemory
}

// heldMemory is one memory that was delivered.
type heldMemory struct {
	texts []heldText
	// versions are those that the client says its context holds and that no
	// document was met with yet.
	versions []string
}

// heldText is one text of it.
type heldText struct {
	digest  [sha256.Size]byte
	version string // a version of the file that has this text: saves hashing
	whole   heldBy // who delivered all of it; 0 for nobody
	parts   []heldPart
}

// heldBy is the recall that delivered something: its number in the session, or
// byClient.
type heldBy uint64

const byClient heldBy = 1<<64 - 1

// heldPart is a passage, as offsets from the start of the body.
type heldPart struct {
	span memory.Span
	by   heldBy
}

// digestOf covers what can be rendered of a memory.
func digestOf(d *memory.Document) [sha256.Size]byte {
	h := sha256.New()
	for _, s := range []string{d.Title, d.Description, d.BodyText()} {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func (l *ledger) memory(ref string) *heldMemory {
	if l.refs == nil {
		l.refs = map[string]*heldMemory{}
	}
	m := l.refs[ref]
	if m == nil {
		m = &heldMemory{}
		l.refs[ref] = m
	}
	return m
}

// text finds the entry of the document's present text, or -1.
func (m *heldMemory) text(d *memory.Document) int {
	if i := slices.IndexFunc(m.texts, func(t heldText) bool { return t.version == d.Version }); i >= 0 {
		return i
	}
	digest := digestOf(d)
	i := slices.IndexFunc(m.texts, func(t heldText) bool { return t.digest == digest })
	if i >= 0 {
		m.texts[i].version = d.Version
	}
	return i
}

func (m *heldMemory) own(d *memory.Document) *heldText {
	i := m.text(d)
	if i < 0 {
		m.texts = append(m.texts, heldText{digest: digestOf(d), version: d.Version})
		i = len(m.texts) - 1
	}
	return &m.texts[i]
}

// meet turns the version of a document that the client says it holds into the
// text that it stands for.
func (m *heldMemory) meet(d *memory.Document) {
	if i := slices.Index(m.versions, d.Version); i >= 0 {
		m.versions = slices.Delete(m.versions, i, i+1)
		m.own(d).whole = byClient
	}
}

// seed notes that the client holds a version of a memory.
func (l *ledger) seed(ref, version string) {
	m := l.memory(ref)
	if !slices.Contains(m.versions, version) {
		m.versions = append(m.versions, version)
	}
}

// deliver notes that a hit went out.
func (l *ledger) deliver(h *recall.Hit, by heldBy) {
	t := l.memory(h.Doc.Ref).own(h.Doc)
	if h.Passage == h.Doc.Body && t.whole == 0 {
		t.whole = by
		return
	}
	at := h.Doc.Body.Start
	t.parts = append(t.parts, heldPart{memory.Span{Start: h.Passage.Start - at, End: h.Passage.End - at}, by})
}

// delivered answers as [recall.Held] for everybody but one recall.
func (l *ledger) delivered(d *memory.Document, but heldBy) (passages []memory.Span, older bool) {
	m := l.refs[d.Ref]
	if m == nil {
		return nil, false
	}
	m.meet(d)
	present := m.text(d)
	for i := range m.texts {
		if i == present {
			passages = m.texts[i].passages(d, but)
		} else {
			older = older || m.texts[i].by(but)
		}
	}
	return passages, older || len(m.versions) > 0
}

func (t *heldText) passages(d *memory.Document, but heldBy) []memory.Span {
	if t.whole != 0 && t.whole != but {
		return []memory.Span{d.Body}
	}
	var out []memory.Span
	for _, p := range t.parts {
		if p.by != but {
			out = append(out, memory.Span{Start: d.Body.Start + p.span.Start, End: d.Body.Start + p.span.End})
		}
	}
	return out
}

// by tells whether anybody but one recall delivered something of the text.
func (t *heldText) by(but heldBy) bool {
	return t.whole != 0 && t.whole != but ||
		slices.ContainsFunc(t.parts, func(p heldPart) bool { return p.by != but })
}

// forget forgets refs, or everything when refs is nil.
func (l *ledger) forget(refs []string) {
	if refs == nil {
		l.refs = nil
		return
	}
	for _, ref := range refs {
		delete(l.refs, ref)
	}
}
