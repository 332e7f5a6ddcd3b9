package lsp

import (
	"fmt"
	"path/filepath"
	"time"

	"go.lsp.dev/uri"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// documents words memories for one client at one moment.
type documents struct {
	now      time.Time
	encoding string // of positions
	// dead says what of the workspace a memory names that is gone; nil when nobody
	// looks.
	dead func(*memory.Document) string
}

// words words memories for the client.
func (f *features) words(now time.Time) documents {
	return documents{now: now, encoding: f.s.Client().PositionEncoding, dead: f.deadNote}
}

// hit is a hit as recall and search send it; search has no state.
func (w documents) hit(h *recall.Hit) RecallDocument {
	d := h.Doc
	gone := h.Gone
	if gone == "" {
		gone = w.gone(d)
	}
	return RecallDocument{
		Ref: d.Ref, URI: uriOf(d), Version: d.Version, Scope: string(d.Root.Scope), Type: d.Type,
		Range: newPositions(d.Text, w.encoding).rangeOf(h.Passage),
		Title: d.Title, Description: d.Description,
		Body: d.Text[h.Passage.Start:h.Passage.End], Truncated: h.Truncated,
		UpdatedAt: d.Fact().UTC(), AgeDays: recall.AgeDays(d, w.now), Stale: w.stale(d, gone),
		Pinned: d.Pinned, Status: w.status(d), State: string(h.State), Why: reasons(h.Why),
	}
}

// stale says that a memory is to be checked before it is trusted: it names what
// is gone, or is old.
func (w documents) stale(d *memory.Document, gone string) *StaleNote {
	if gone != "" {
		return &StaleNote{Reason: "anchor", Detail: gone}
	}
	age := recall.AgeDays(d, w.now)
	if age < recall.StaleAfterDays {
		return nil
	}
	return &StaleNote{Reason: "age", Detail: fmt.Sprintf("last updated %d days ago", age)}
}

// gone is what of the workspace a memory names that is gone, if somebody looks.
func (w documents) gone(d *memory.Document) string {
	if w.dead == nil {
		return ""
	}
	return w.dead(d)
}

// status is the status that holds now: a date may have passed since the file
// was written.
func (w documents) status(d *memory.Document) string {
	if d.Status == memory.StatusActive && !d.ActiveAt(w.now) {
		return memory.StatusExpired
	}
	return d.Status
}

func reasons(why []recall.Why) []WhyReason {
	out := make([]WhyReason, len(why))
	for i, y := range why {
		out[i] = WhyReason{Field: y.Field, Term: y.Term, Match: y.Match}
	}
	return out
}

// uriOf names the file by the path that the root was configured with, which is
// how the client knows it.
func uriOf(d *memory.Document) string { return string(uri.File(pathOf(d, d.Root.Path))) }

func pathOf(d *memory.Document, root string) string {
	return filepath.Join(root, filepath.FromSlash(d.Rel))
}

func refsOf(hits []recall.Hit) []string {
	refs := make([]string, len(hits))
	for i := range hits {
		refs[i] = hits[i].Doc.Ref
	}
	return refs
}
