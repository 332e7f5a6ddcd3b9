package lsp

import (
	"context"
	"fmt"

	"github.com/memls/memls/memory"
)

// Bounds of what a memory is described by.
const maxKeywords = 32

// remember serves memory/remember. A person asked: it is applied at once unless
// the caller only wants to see it.
func (f *features) remember(ctx context.Context, p *RememberParams) (*RememberResult, error) {
	if err := required("text", p.Text); err != nil {
		return nil, err
	}
	if err := checkScope("scope", p.Scope, true); err != nil {
		return nil, err
	}
	if len(p.Session) > maxName {
		return nil, InvalidParam("session", "is longer than %d bytes", maxName)
	}
	if len(p.Keywords) > maxKeywords {
		return nil, InvalidParam("keywords", "has %d items, at most %d are taken", len(p.Keywords), maxKeywords)
	}
	k, _, err := f.keeper(ctx)
	if err != nil {
		return nil, err
	}
	apply := p.Apply == nil || *p.Apply
	kept, err := k.Remember(ctx, memory.Remember{
		Text: p.Text, Scope: memory.Scope(p.Scope), Type: p.Type, Name: p.Name, Keywords: p.Keywords, Session: p.Session, Folder: f.folder(p.Folder),
	}, apply)
	if err != nil {
		return nil, refusals(err)
	}
	return RememberResultOf(kept), nil
}

// RememberResultOf words what remembering came to.
func RememberResultOf(kept *memory.Kept) *RememberResult {
	r := &RememberResult{Changes: []RememberedChange{}, Unchanged: kept.Unchanged}
	switch {
	case kept.Operation != nil:
		op := OperationOf(kept.Operation)
		r.ID, r.Kind, r.At, r.UndoUntil, r.Warnings = op.ID, op.Kind, op.At, op.UndoUntil, op.Warnings
		for _, c := range op.Changes {
			r.Changes = append(r.Changes, RememberedChange{Action: c.Action, Ref: c.Ref, From: c.From, To: c.To})
		}
	case kept.Plan != nil:
		p := PlanOf(kept.Plan)
		r.ID, r.Kind, r.CreatedAt, r.ExpiresAt, r.Warnings = p.ID, p.Kind, p.CreatedAt, p.ExpiresAt, p.Warnings
		for i := range p.Changes {
			c := &p.Changes[i]
			r.Changes = append(r.Changes, RememberedChange{
				ID: c.ID, Action: c.Action, Ref: c.Ref, URI: c.URI, Base: c.Base, Diff: c.Diff, Reason: c.Reason,
			})
		}
	}
	return r
}

// checkScope refuses what is no scope; optional says that none is fine.
func checkScope(field, scope string, optional bool) error {
	if scope == "" && optional {
		return nil
	}
	return oneOf(field, scope, string(memory.ScopeProject), string(memory.ScopeUser), string(memory.ScopeTeam))
}

// forget serves memory/forget. It never writes.
func (f *features) forget(ctx context.Context, p *ForgetParams) (*Plan, error) {
	if err := checkFilter(p.Scopes, nil); err != nil {
		return nil, err
	}
	limit, err := limitOf(p.Limit, memory.DefaultForgetLimit, memory.MaxForgetLimit)
	if err != nil {
		return nil, err
	}
	if len(p.Refs) > maxListed {
		return nil, InvalidParam("refs", "has %d items, at most %d are taken", len(p.Refs), maxListed)
	}
	q := memory.Forget{Query: p.Query, Scopes: scopesOf(p.Scopes), Folder: f.folder(p.Folder), Limit: limit}
	for i, r := range p.Refs {
		t, err := target(fmt.Sprintf("refs[%d]", i), r.Ref, r.Version)
		if err != nil {
			return nil, err
		}
		q.Targets = append(q.Targets, t)
	}
	k, _, err := f.keeper(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := k.Forget(ctx, q)
	if err != nil {
		return nil, refusals(err)
	}
	return PlanOf(plan), nil
}

// move serves memory/move. It never writes.
func (f *features) move(ctx context.Context, p *MoveParams) (*Plan, error) {
	t, err := target("ref", p.Ref, p.Version)
	if err != nil {
		return nil, err
	}
	if err := checkScope("scope", p.Scope, false); err != nil {
		return nil, err
	}
	k, _, err := f.keeper(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := k.Move(ctx, t, memory.Scope(p.Scope), f.folder(p.Folder))
	if err != nil {
		return nil, refusals(err)
	}
	return PlanOf(plan), nil
}
