package lsp

import (
	"context"

	"github.com/memls/memls/memory"
)

const (
	defaultOperations = 50
	maxOperations     = 1000
)

// planKinds are the kinds of plans that a client may ask for.
func planKinds() []string {
	return []string{
		string(memory.KindRemember), string(memory.KindForget), string(memory.KindMove), string(memory.KindExtract), string(memory.KindDream),
	}
}

// plans serves memory/plans.
func (f *features) plans(ctx context.Context, p *PlansParams) (*PlansResult, error) {
	var kinds []memory.PlanKind
	for _, k := range p.Kinds {
		if err := oneOf("kinds", k, planKinds()...); err != nil {
			return nil, err
		}
		kinds = append(kinds, memory.PlanKind(k))
	}
	_, store, err := f.keeper(ctx)
	if err != nil {
		return nil, err
	}
	plans, err := store.Plans(kinds...)
	if err != nil {
		return nil, refusals(err)
	}
	r := &PlansResult{}
	for _, plan := range plans {
		r.Plans = append(r.Plans, *PlanOf(plan))
	}
	return r, nil
}

// apply serves memory/apply. When it answers, every reader sees what it did.
func (f *features) apply(ctx context.Context, p *ApplyParams) (*Operation, error) {
	if err := required("plan", p.Plan); err != nil {
		return nil, err
	}
	if p.Only != nil && len(p.Only) == 0 {
		return nil, InvalidParam("only", "is empty; leave it out to apply all of a plan")
	}
	k, _, err := f.keeper(ctx)
	if err != nil {
		return nil, err
	}
	op, err := k.Apply(ctx, p.Plan, memory.ApplyOptions{Only: p.Only, Edits: p.Edits, Purge: p.Purge})
	if err != nil {
		return nil, refusals(err)
	}
	return OperationOf(op), nil
}

// discard serves memory/discard.
func (f *features) discard(ctx context.Context, p *DiscardParams) (*DiscardResult, error) {
	if err := required("plan", p.Plan); err != nil {
		return nil, err
	}
	k, _, err := f.keeper(ctx)
	if err != nil {
		return nil, err
	}
	if err := k.Discard(ctx, p.Plan); err != nil {
		return nil, refusals(err)
	}
	return &DiscardResult{}, nil
}

// operations serves memory/operations.
func (f *features) operations(ctx context.Context, p *OperationsParams) (*OperationsResult, error) {
	limit, err := limitOf(p.Limit, defaultOperations, maxOperations)
	if err != nil {
		return nil, err
	}
	_, store, err := f.keeper(ctx)
	if err != nil {
		return nil, err
	}
	ops, more, err := store.Operations(limit)
	if err != nil {
		return nil, refusals(err)
	}
	r := &OperationsResult{Truncated: more}
	for i := range ops {
		r.Operations = append(r.Operations, *OperationOf(&ops[i]))
	}
	return r, nil
}

// undo serves memory/undo.
func (f *features) undo(ctx context.Context, p *UndoParams) (*Operation, error) {
	if err := required("operation", p.Operation); err != nil {
		return nil, err
	}
	k, _, err := f.keeper(ctx)
	if err != nil {
		return nil, err
	}
	op, err := k.Undo(ctx, p.Operation)
	if err != nil {
		return nil, refusals(err)
	}
	return OperationOf(op), nil
}
