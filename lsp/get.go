package lsp

import (
	"context"
	"fmt"
	"strconv"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// Bounds of the lists of a memory/get. The longest of 975 real memories has some
// 400 entries.
const (
	maxEntries   = 10_000
	maxLinks     = 1_000
	maxBacklinks = 10_000
)

// get serves memory/get. An entry is answered with its own text as the body.
func (f *features) get(ctx context.Context, p *GetParams) (*GetResult, error) {
	ref, err := memory.ParseRef(p.Ref)
	if err != nil {
		if memory.LeadsOut(p.Ref) {
			return nil, Fail(KindPathEscape, "%q leads out of its root", short(p.Ref))
		}
		return nil, InvalidParam("ref", "%v", err)
	}
	snap, err := f.loaded(ctx)
	if err != nil {
		return nil, err
	}
	d, ok := snap.Get(ref.File())
	if !ok {
		return nil, about(p.Ref, KindNotFound, "there is no memory "+short(p.Ref))
	}
	// Inv: before the entry, whose number means nothing in another version.
	if p.Version != "" && p.Version != d.Version {
		return nil, about(d.Ref, KindConflict, d.Ref+" has changed: its version is "+d.Version)
	}
	words := f.words(f.opt.Now())
	at := newPositions(d.Text, words.encoding)
	r := words.whole(d, at)
	entries := memory.Entries(d)
	r.addEntries(entries, at)
	if err := r.addLinks(ctx, snap, d, at); err != nil {
		return nil, err
	}
	if ref.Entry == memory.NoEntry {
		return r, nil
	}
	if ref.Entry >= len(entries) {
		return nil, about(p.Ref, KindNotFound, fmt.Sprintf("%s has %d entries", d.Ref, len(entries)))
	}
	e := entries[ref.Entry].Span
	r.Ref, r.Body, r.Range = ref.String(), d.Text[e.Start:e.End], at.rangeOf(e)
	return r, nil
}

func (r *GetResult) addEntries(entries []memory.Entry, at *positions) {
	for i, e := range entries {
		if i == maxEntries {
			r.Cut = append(r.Cut, "entries")
			return
		}
		r.Entries = append(r.Entries, DocumentEntry{Ref: r.Ref + "#" + strconv.Itoa(i), Summary: e.Summary, Range: at.rangeOf(e.Span)})
	}
}

func (r *GetResult) addLinks(ctx context.Context, snap *memory.Snapshot, d *memory.Document, at *positions) error {
	known := map[string]string{} // the refs of targets, which often come again
	for i, l := range memory.Links(d) {
		if i == maxLinks {
			r.Cut = append(r.Cut, "links")
			break
		}
		to, seen := known[l.Target]
		if !seen {
			if err := ctx.Err(); err != nil {
				return err
			}
			if target, ok := memory.Resolve(snap, d, l.Target); ok {
				to = target.Ref
			}
			known[l.Target] = to
		}
		r.Links = append(r.Links, DocumentLink{Target: l.Target, Ref: to, Range: at.rangeOf(l.Span)})
	}
	r.Backlinks = memory.Backlinks(snap, d)
	if len(r.Backlinks) > maxBacklinks {
		r.Backlinks, r.Cut = r.Backlinks[:maxBacklinks], append(r.Cut, "backlinks")
	}
	return ctx.Err()
}

func about(ref string, kind Kind, detail string) *Failure {
	return &Failure{Kind: kind, Detail: detail, Refs: []string{ref}}
}

// whole is a memory with everything that its own file says.
func (w documents) whole(d *memory.Document, at *positions) *GetResult {
	r := &GetResult{
		Ref: d.Ref, URI: uriOf(d), Range: at.rangeOf(d.Body), Version: d.Version, Scope: string(d.Root.Scope), Type: d.Type,
		Title: d.Title, Description: d.Description, Body: d.BodyText(), Truncated: d.Truncated,
		UpdatedAt: d.Fact().UTC(), AgeDays: recall.AgeDays(d, w.now), Stale: w.stale(d, w.gone(d)),
		Pinned: d.Pinned, Status: w.status(d), Keywords: d.Keywords,
		Provenance: DocumentProvenance{
			CreatedAt: d.CreatedAt.UTC(), ExpiresAt: d.ExpiresAt.UTC(), LastVerifiedAt: d.LastVerifiedAt.UTC(),
			Category: d.Category, Supersedes: d.Supersedes,
		},
	}
	for _, p := range d.Problems {
		r.Diagnostics = append(r.Diagnostics, DocumentProblem{
			Range: at.rangeOf(p.Span), Severity: int(p.Severity), Code: p.Code, Message: p.Message,
		})
	}
	return r
}
