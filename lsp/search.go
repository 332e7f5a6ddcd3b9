package lsp

import (
	"context"
	"fmt"
	"strings"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

const (
	defaultSearch = 20
	maxSearch     = 100
)

// search serves memory/search: for a person who types and looks through a list.
func (f *features) search(ctx context.Context, p *SearchParams) (*SearchResult, error) {
	limit, err := limitOf(p.Limit, defaultSearch, maxSearch)
	if err != nil {
		return nil, err
	}
	if err := checkFilter(p.Scopes, p.Types); err != nil {
		return nil, err
	}
	snap, err := f.loaded(ctx)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(p.Query) == "" {
		return &SearchResult{}, nil
	}
	now := f.opt.Now()
	query := recall.Query{
		Text: p.Query, Limit: limit, Scopes: scopesOf(p.Scopes), Types: p.Types, Folder: f.folder(p.Folder), Now: now,
		Prefix: true, Loose: true, Inactive: p.Inactive, Trace: p.Trace, Feedback: f.votes(),
	}
	ranking, err := recall.IndexOf(snap).Rank(ctx, query)
	if err != nil {
		return nil, err
	}
	result := &SearchResult{Total: ranking.Total, Trace: traceOf(ranking)}
	words := f.words(now)
	_, hits := f.present(ctx, snap, query, ranking.Hits)
	for _, h := range hits {
		h.State = ""
		result.Documents = append(result.Documents, words.hit(&h))
	}
	return result, nil
}

// folder is the key of the folder that a request is about: by default the first.
func (f *features) folder(given string) string {
	if given == "" {
		return f.workspace().first()
	}
	return folderKey(given)
}

// checkFilter checks the scopes and types that a request is restricted to.
func checkFilter(scopes, types []string) error {
	for i, s := range scopes {
		err := oneOf(fmt.Sprintf("scopes[%d]", i), s, string(memory.ScopeProject), string(memory.ScopeUser), string(memory.ScopeTeam))
		if err != nil {
			return err
		}
	}
	if len(types) > maxListed {
		return InvalidParam("types", "has %d items, at most %d are taken", len(types), maxListed)
	}
	return nil
}

func scopesOf(names []string) []memory.Scope {
	scopes := make([]memory.Scope, len(names))
	for i, s := range names {
		scopes[i] = memory.Scope(s)
	}
	return scopes
}
