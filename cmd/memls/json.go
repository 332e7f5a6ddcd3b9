package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// The types of this file are what --json prints. The help texts beside them are
// the contract: fields may be added, none may change its meaning.

const documentJSONHelp = `
A document has ref (its name in the protocol), path (absolute), scope, type,
title, description, body (the passage that matched, at most 1,200 characters),
startLine and endLine (of the passage in the file, from 1), truncated (the body
goes on), updatedAt (RFC 3339), ageDays, stale {reason, detail} (when it is
old, or names what a trusted workspace does not have), pinned, status (active,
superseded, expired), score, and why: a list of
{field, term, match} with match in exact, fold, part, prefix, gram, semantic.
`

const recallJSONHelp = `
--json prints one object: query, strategy (none, heuristic, hybrid,
model), status
(delivered, no_relevant_results, and, when the model failed and nothing was
found without it, timed_out or failed), documents, retracted (refs of fast
documents that the model withdrew), degraded (a list of {reason, detail}),
matches, memories, skipped, roots (a list of {scope, path, state, memories}),
sample (true: the built-in memory), rankMs, refineMs, loadMs and totalMs
(milliseconds, with decimals).
` + documentJSONHelp + `Here it also has phase: fast or refined.
`

type documentJSON struct {
	Ref         string     `json:"ref"`
	Path        string     `json:"path"`
	Phase       string     `json:"phase,omitempty"`
	Scope       string     `json:"scope"`
	Type        string     `json:"type"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	Body        string     `json:"body"`
	StartLine   int        `json:"startLine"`
	EndLine     int        `json:"endLine"`
	Truncated   bool       `json:"truncated"`
	UpdatedAt   time.Time  `json:"updatedAt"`
	AgeDays     int        `json:"ageDays"`
	Stale       *staleJSON `json:"stale,omitempty"`
	Pinned      bool       `json:"pinned"`
	Status      string     `json:"status"`
	Score       float64    `json:"score"`
	Why         []whyJSON  `json:"why"`
}

type staleJSON struct {
	Reason string `json:"reason"`
	Detail string `json:"detail"`
}

type whyJSON struct {
	Field string `json:"field"`
	Term  string `json:"term"`
	Match string `json:"match"`
}

type rootJSON struct {
	Scope    string `json:"scope"`
	Path     string `json:"path"`
	State    string `json:"state"`
	Memories int    `json:"memories"`
}

type degradedJSON struct {
	Reason string `json:"reason"`
	Detail string `json:"detail"`
}

// searchedJSON is what recall and search have in common.
type searchedJSON struct {
	Matches  int        `json:"matches"`
	Memories int        `json:"memories"`
	Skipped  int        `json:"skipped"`
	Roots    []rootJSON `json:"roots"`
	Sample   bool       `json:"sample"`
	RankMs   float64    `json:"rankMs"`
	LoadMs   float64    `json:"loadMs"`
	TotalMs  float64    `json:"totalMs"`
}

func newSearchedJSON(o *opened, total int, ranked, all time.Duration) searchedJSON {
	s := searchedJSON{
		Matches: total, Memories: o.snap.Len(), Skipped: o.skipped(), Sample: o.sample, Roots: []rootJSON{},
		RankMs: rounded(ranked), LoadMs: rounded(o.took), TotalMs: rounded(all),
	}
	for _, r := range o.status {
		s.Roots = append(s.Roots, rootJSON{string(r.Root.Scope), r.Root.Path, string(r.State), r.Catalogued})
	}
	return s
}

func newDocumentJSON(h recall.Hit, phase string, now time.Time) documentJSON {
	d := h.Doc
	status := d.Status
	if status == memory.StatusActive && !d.ActiveAt(now) {
		status = memory.StatusExpired
	}
	age := recall.AgeDays(d, now)
	j := documentJSON{
		Ref: d.Ref, Path: pathOf(d), Phase: phase, Scope: string(d.Root.Scope), Type: d.Type, Title: d.Title,
		Description: d.Description, Body: d.Text[h.Passage.Start:h.Passage.End],
		StartLine: lineOf(d.Text, h.Passage.Start), EndLine: lineOf(d.Text, h.Passage.End),
		Truncated: h.Truncated, UpdatedAt: d.Fact().UTC(), AgeDays: age, Pinned: d.Pinned, Status: status, Score: h.Score,
		Why: make([]whyJSON, len(h.Why)),
	}
	switch {
	case h.Gone != "":
		j.Stale = &staleJSON{"anchor", h.Gone}
	case age >= recall.StaleAfterDays:
		j.Stale = &staleJSON{"age", fmt.Sprintf("last updated %d days ago", age)}
	}
	for i, w := range h.Why {
		j.Why[i] = whyJSON{w.Field, w.Term, w.Match}
	}
	return j
}

func pathOf(d *memory.Document) string { return pathIn(d.Root, d.Rel) }

// pathIn is a file of a root without symlinks.
func pathIn(root *memory.Root, rel string) string {
	return filepath.Join(root.Real, filepath.FromSlash(rel))
}

// lineOf is the line, from 1, in which the byte at offset stands. LF, CRLF and
// a CR alone end lines.
func lineOf(text string, offset int) int {
	before := text[:offset]
	return 1 + strings.Count(before, "\n") + strings.Count(before, "\r") - strings.Count(before, "\r\n")
}

// recallJSON prints a recall as one object.
type recallJSON struct{ p *program }

func (recallJSON) fast(*recalled) error { return nil }

func (v recallJSON) settled(r *recalled) error {
	out := struct {
		Query     string         `json:"query"`
		Strategy  string         `json:"strategy"`
		Status    string         `json:"status"`
		Documents []documentJSON `json:"documents"`
		Retracted []string       `json:"retracted"`
		Degraded  []degradedJSON `json:"degraded"`
		searchedJSON
		RefineMs float64 `json:"refineMs"`
	}{
		Query: r.query.Text, Strategy: r.selection.Strategy, Status: r.status(),
		Documents: []documentJSON{}, Retracted: append([]string{}, r.selection.Retract...), Degraded: []degradedJSON{},
		searchedJSON: newSearchedJSON(r.opened, r.ranking.Total, r.ranked, r.total), RefineMs: rounded(r.refined),
	}
	for _, h := range r.kept() {
		out.Documents = append(out.Documents, newDocumentJSON(h, "fast", r.query.Now))
	}
	for _, h := range r.selection.Hits {
		out.Documents = append(out.Documents, newDocumentJSON(h, "refined", r.query.Now))
	}
	for _, d := range r.selection.Degraded {
		out.Degraded = append(out.Degraded, degradedJSON{d.Reason, d.Detail})
	}
	return v.p.printJSON(out)
}

// printJSON writes one indented object to standard output.
func (p *program) printJSON(v any) error {
	enc := json.NewEncoder(p.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return failure(fmt.Errorf("write to standard output: %w", err))
	}
	return nil
}
