package lsp

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

const (
	defaultList = 100
	maxList     = 1000
)

// list serves memory/list, in the order of refs: a page after a change continues
// where the one before it ended.
func (f *features) list(ctx context.Context, p *ListParams) (*ListResult, error) {
	limit, err := limitOf(p.Limit, defaultList, maxList)
	if err != nil {
		return nil, err
	}
	if err := checkFilter(p.Scopes, p.Types); err != nil {
		return nil, err
	}
	after, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	if err != nil {
		return nil, InvalidParam("cursor", "is none that this server gave")
	}
	snap, err := f.loaded(ctx)
	if err != nil {
		return nil, err
	}
	words := f.words(f.opt.Now())
	filter := recall.Query{Scopes: scopesOf(p.Scopes), Folder: f.folder(p.Folder)}
	var found []*memory.Document
	for d := range snap.All() {
		switch {
		case d.Ref <= string(after), !looksInto(&filter, d.Root):
		case len(p.Types) > 0 && !slices.Contains(p.Types, d.Type):
		case p.Inactive != nil && !*p.Inactive && !d.ActiveAt(words.now):
		default:
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b *memory.Document) int { return strings.Compare(a.Ref, b.Ref) })
	result, used := &ListResult{}, f.usage()
	for _, d := range found[:min(limit, len(found))] {
		row := words.listed(d, f.feedbackOn(d.Ref))
		row.RecallCount, row.LastRecalledAt, _ = used(d)
		result.Documents = append(result.Documents, row)
	}
	if len(found) > limit {
		result.Cursor = base64.RawURLEncoding.EncodeToString([]byte(found[limit-1].Ref))
	}
	return result, nil
}

// listed is a memory without its body.
func (w documents) listed(d *memory.Document, feedback *FeedbackCounts) ListedDocument {
	return ListedDocument{
		Ref: d.Ref, URI: uriOf(d), Version: d.Version, Scope: string(d.Root.Scope), Type: d.Type,
		Title: d.Title, Description: d.Description, Pinned: d.Pinned, Status: w.status(d),
		Keywords: d.Keywords, UpdatedAt: d.Fact().UTC(), Feedback: feedback, Diagnostics: len(d.Problems),
	}
}
