package lsp

import (
	"context"
	"errors"
	"github.com/memls/memls/memory/activity"
	"slices"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
	"go.lsp.dev/uri"
)

// changing is what changes memories: the store, and the keeper over it. It is
// made once, when the catalog is.
type changing struct {
	store  *memory.Store
	keeper *memory.Keeper
	// learner learns from conversations.
	learner *memory.Learner
	fault   string // why there is none
}

// changeMethods are the requests that change memories.
func (f *features) changeMethods() map[string]Method {
	return map[string]Method{
		"memory/remember":     NewCall(f.remember),
		"memory/forget":       NewCall(f.forget),
		"memory/move":         NewCall(f.move),
		"memory/plans":        NewCall(f.plans),
		"memory/apply":        NewCall(f.apply),
		"memory/discard":      NewCall(f.discard),
		"memory/operations":   NewCall(f.operations),
		"memory/undo":         NewCall(f.undo),
		"memory/pin":          NewCall(f.pin),
		"memory/feedback":     NewCall(f.feedback),
		"memory/rebuildIndex": NewCall(f.rebuildIndex),
		"memory/extract":      NewCall(f.extract),

		"memory/confirmForget": NewCall(f.confirmForget),
	}
}

// openChanging makes the store. It reads and writes nothing: a server that only
// recalls needs no state.
func (f *features) openChanging() *changing {
	if f.opt.State == "" {
		return &changing{fault: "there is no directory for state"}
	}
	store, err := memory.NewStore(memory.StoreOptions{
		State: f.opt.State, Roots: f.roots, Snapshot: func() *memory.Snapshot { return f.catalog().Snapshot() },
		Secrets: func(before, after string) []string { return memory.SecretRules(memory.AddedSecrets(before, after)) },
		Unsaved: func(root *memory.Root, rel string) bool {
			return f.unsaved(memory.Place{Root: root, Rel: rel, Index: rel == memory.IndexName})
		},
		Purge: f.forgetVectors,
		Applied: func(op *memory.Operation) {
			f.recent.note(op)
			f.observeApply(op)
		},
		PlansChanged: f.plansChanged, TaskChanged: f.taskChanged, Now: f.opt.Now, Log: f.s.Log(),
	})
	if err != nil {
		return &changing{fault: err.Error()}
	}
	c := &changing{store: store, keeper: memory.NewKeeper(memory.KeeperOptions{
		Store: store, Roots: f.roots, Snapshot: func() *memory.Snapshot { return f.catalog().Snapshot() },
		Sync: func(ctx context.Context) error { return f.catalog().Sync(ctx) }, Tools: f.forgetTools, Now: f.opt.Now,
		Purged: func(ctx context.Context, root *memory.Root, refs []string) error {
			return activity.Open(f.opt.State).Forget(ctx, root.ID, refs)
		},
	})}
	c.learner = f.openLearner(c)
	return c
}

// roots are the served roots in their order.
func (f *features) roots() []*memory.Root {
	status := f.catalog().Snapshot().Roots()
	roots := make([]*memory.Root, len(status))
	for i := range status {
		roots[i] = status[i].Root
	}
	return roots
}

// forgetTools are what helps a query to forget now.
func (f *features) forgetTools() memory.ForgetTools {
	t := memory.ForgetTools{Ranker: recall.Ranker{}, Content: recall.ContentWord}
	if m := f.models.current(); m != nil {
		t.Selector = recall.NewForgetSelector(m, min(selectorTimeout(m.options), recall.ForgetCeiling))
	}
	return t
}

// recoverChanges finishes or rolls back what a crash interrupted, and reads what
// is kept beside the files.
func (f *features) recoverChanges(ctx context.Context) {
	c := f.changer.Load()
	if c.store == nil {
		f.s.Log().Info("memories cannot be changed", "reason", c.fault)
		return
	}
	done, err := c.store.Recover(ctx)
	for _, r := range done {
		f.s.Log().Warn("an interrupted change was recovered", "operation", r.Operation, "kind", r.Kind, "finished", r.Finished)
	}
	if err != nil && ctx.Err() == nil {
		f.s.Log().Error("recovering interrupted changes", "err", err)
	}
	ops, _, err := c.store.Operations(maxRecent)
	if err != nil && ctx.Err() == nil {
		f.s.Log().Error("what was changed before cannot be read", "err", err)
	}
	for _, op := range slices.Backward(ops) {
		f.recent.note(&op)
	}
	if err := c.store.LoadFeedback(); err != nil {
		f.s.Log().Error("verdicts on memories cannot be read", "err", err)
	}
	if f.pending() > 0 {
		f.plansChanged()
	}
}

// keeper is what changes memories for a request, once the catalog is loaded.
func (f *features) keeper(ctx context.Context) (*memory.Keeper, *memory.Store, error) {
	c := f.changer.Load()
	if c.store == nil {
		return nil, nil, Fail(KindDisabled, "memories cannot be changed: %s", c.fault)
	}
	if _, err := f.loaded(ctx); err != nil {
		return nil, nil, err
	}
	return c.keeper, c.store, nil
}

// votes answers what the verdicts on a memory come to; nil when there are none.
func (f *features) votes() func(ref string) int {
	c := f.changer.Load()
	if c == nil || c.store == nil {
		return nil
	}
	all := c.store.Feedback()
	if len(all) == 0 {
		return nil
	}
	return func(ref string) int { return all[ref].Net() }
}

// feedbackOn are the verdicts on a memory, for a list.
func (f *features) feedbackOn(ref string) *FeedbackCounts {
	c := f.changer.Load()
	if c == nil || c.store == nil {
		return nil
	}
	v, ok := c.store.Feedback()[ref]
	if !ok {
		return nil
	}
	return &FeedbackCounts{Useful: v.Useful, Wrong: v.Wrong, Outdated: v.Outdated}
}

// pending is how many plans wait in the inbox.
func (f *features) pending() int {
	c := f.changer.Load()
	if c == nil || c.store == nil {
		return 0
	}
	plans, err := c.store.Plans()
	if err != nil {
		f.s.Log().Error("the inbox cannot be read", "err", err)
	}
	return len(plans)
}

// plansChanged sends memory/plansChanged.
func (f *features) plansChanged() {
	f.notify(NotifyPlansChanged, &PlansChangedParams{Pending: f.pending()})
}

// refusals gives a refusal of the memory package its form on the wire.
func refusals(err error) error {
	r, ok := errors.AsType[*memory.Refusal](err)
	switch {
	case !ok:
		return err
	case r.Kind == memory.RefusedInput:
		return InvalidParam(r.Field, "%s", r.Detail)
	}
	// Inv: the kinds of a refusal are those of a failure, by the same words.
	return &Failure{Kind: Kind(r.Kind), Detail: r.Detail, Refs: r.Refs, Err: r.Err}
}

// target reads a ref with its version, from a field of the params.
func target(field, ref, version string) (memory.Target, error) {
	t, err := memory.ParseTarget(ref, version)
	if r, ok := errors.AsType[*memory.Refusal](err); ok && r.Kind == memory.RefusedInput {
		return t, InvalidParam(field, "%s", r.Detail)
	}
	return t, refusals(err)
}

// PlanOf words a plan.
func PlanOf(p *memory.Plan) *Plan {
	out := &Plan{ID: p.ID, Kind: string(p.Kind), CreatedAt: p.CreatedAt.UTC(), ExpiresAt: p.ExpiresAt.UTC(),
		Changes: []PlanChange{}, Usage: UsageOf(p.Usage), Warnings: append([]string{}, p.Warnings...)}
	for i := range p.Changes {
		c := &p.Changes[i]
		w := PlanChange{
			ID: c.ID, Action: string(c.Action), Ref: c.Ref, URI: string(uri.File(c.Path())), Base: c.Base,
			Diff: c.Diff, Reason: c.Reason, Score: c.Score, Evidence: c.Evidence,
		}
		for _, g := range c.Why {
			w.Why = append(w.Why, WhyReason{Field: g.Field, Term: g.Term, Match: g.Match})
		}
		out.Changes = append(out.Changes, w)
	}
	return out
}

// OperationOf words an operation.
func OperationOf(op *memory.Operation) *Operation {
	out := &Operation{
		ID: op.ID, Kind: string(op.Kind), At: op.At.UTC(), UndoUntil: wireTime(op.UndoUntil), Undoes: op.Undoes, Purged: op.Purged,
		Changes: []OperationChange{}, Usage: UsageOf(op.Usage), Warnings: op.Warnings,
	}
	for _, c := range op.Changes {
		out.Changes = append(out.Changes, OperationChange{Ref: c.Ref, Action: string(c.Action), From: c.From, To: c.To, Purged: c.Purged})
	}
	return out
}

// wireTime is a time in UTC that is absent when it is zero.
func wireTime(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

// required refuses an empty value.
func required(field, value string) error {
	if value == "" {
		return InvalidParam(field, "is required")
	}
	return nil
}
