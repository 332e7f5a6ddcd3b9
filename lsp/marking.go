package lsp

import (
	"context"

	"github.com/memls/memls/memory"
)

// pin serves memory/pin.
func (f *features) pin(ctx context.Context, p *PinParams) (*Operation, error) {
	t, err := target("ref", p.Ref, p.Version)
	if err != nil {
		return nil, err
	}
	k, _, err := f.keeper(ctx)
	if err != nil {
		return nil, err
	}
	op, err := k.Pin(ctx, t, p.Pinned)
	if err != nil {
		return nil, refusals(err)
	}
	return OperationOf(op), nil
}

// feedback serves memory/feedback. Verdicts are kept beside the files, never in
// them, and decide between memories that a query meets alike.
func (f *features) feedback(ctx context.Context, p *FeedbackParams) (*FeedbackResult, error) {
	t, err := target("ref", p.Ref, "")
	if err != nil {
		return nil, err
	}
	err = oneOf("verdict", p.Verdict, string(memory.VoteUseful), string(memory.VoteWrong), string(memory.VoteOutdated))
	if err != nil {
		return nil, err
	}
	// Who judges an entry judges the memory that was shown to them.
	t.Ref.Entry = memory.NoEntry
	k, _, err := f.keeper(ctx)
	if err != nil {
		return nil, err
	}
	v, err := k.Vote(ctx, t, memory.Opinion(p.Verdict))
	if err != nil {
		return nil, refusals(err)
	}
	return &FeedbackResult{Ref: t.Ref.File(), Feedback: FeedbackCounts{Useful: v.Useful, Wrong: v.Wrong, Outdated: v.Outdated}}, nil
}

// rebuildIndex serves memory/rebuildIndex.
func (f *features) rebuildIndex(ctx context.Context, p *RebuildIndexParams) (*Operation, error) {
	if err := checkScope("scope", p.Scope, false); err != nil {
		return nil, err
	}
	k, _, err := f.keeper(ctx)
	if err != nil {
		return nil, err
	}
	op, err := k.RebuildIndex(ctx, memory.Scope(p.Scope), f.folder(p.Folder))
	if err != nil {
		return nil, refusals(err)
	}
	return OperationOf(op), nil
}
