package memory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// Why consolidation left something as it is.
const (
	SkipUnchangeable SkipReason = "unchangeable" // a header that cannot be edited
	SkipLinked       SkipReason = "linked"       // others link to what could go
	SkipBounded      SkipReason = "bounded"      // one run removes no more
	SkipChanged      SkipReason = "changed"      // the file is not any more what was looked at
	SkipLoses        SkipReason = "loses_statement"
	SkipInvents      SkipReason = "invents"        // it says what no source says
	SkipForeign      SkipReason = "other_language" // than that of its sources
	SkipUnknownRef   SkipReason = "unknown_ref"
	SkipMalformed    SkipReason = "malformed"
	SkipSecret       SkipReason = "secret_found"
	SkipWaiting      SkipReason = "waiting" // a plan of the inbox has it already
)

// dreamUndo is how long consolidation can be undone.
const dreamUndo = 7 * 24 * time.Hour

// Dream asks for a scope to be consolidated.
type Dream struct {
	Scope  Scope
	Folder string
	// Force skips the gates of time and sessions.
	Force bool
	// Automatic says that no person asked: the state of the machine counts, too.
	Automatic bool
	// Session is that of the turn that it follows.
	Session string
	// Apply makes at once what loses no statement, as the write policy "auto" has
	// it; team memory always waits for a person.
	Apply bool
	// DryRun keeps nothing, not even the plan. A model is asked all the same.
	DryRun bool
}

// Dreamt is what consolidation came to.
type Dreamt struct {
	Plan      *Plan      // what waits for a person
	Operation *Operation // what was made at once
	Skipped   []Skipped
	Usage     Usage
	Task      string
}

// DreamTools are what consolidation works with beside the files. All may be nil.
type DreamTools struct {
	Ranker       Ranker
	Consolidator Consolidator
}

// DreamerOptions is what a Dreamer needs. Keeper, Store, Roots and Snapshot are
// required.
type DreamerOptions struct {
	Keeper   *Keeper
	Store    *Store
	Roots    func() []*Root
	Snapshot func() *Snapshot
	Tools    func() DreamTools
	// Strain tells why the machine has no strength to spare; see [Strain].
	Strain func() *Skipped
	Now    func() time.Time
	Log    *slog.Logger
}

// Dreamer consolidates memories. It is for concurrent use.
type Dreamer struct{ opt DreamerOptions }

// NewDreamer makes one.
func NewDreamer(opt DreamerOptions) *Dreamer {
	if opt.Tools == nil {
		opt.Tools = func() DreamTools { return DreamTools{} }
	}
	if opt.Strain == nil {
		opt.Strain = func() *Skipped { return nil }
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Dreamer{opt}
}

// Dream consolidates the roots of a scope that may be written to. What was not
// done stands in the rows of Skipped; an error is for a request that was refused,
// or for a fault of the disk.
func (d *Dreamer) Dream(ctx context.Context, q Dream) (*Dreamt, error) {
	out := &Dreamt{}
	if !q.Scope.Valid() {
		return nil, &Refusal{Kind: RefusedInput, Field: "scope", Detail: fmt.Sprintf("%.40q is none of project, user, team", string(q.Scope))}
	}
	home, err := WritableRoot(d.opt.Roots(), q.Scope, q.Folder)
	if err != nil {
		return nil, err
	}
	err = d.gated(ctx, home, q, out)
	if s := SkippedOf(err); s != nil {
		out.Skipped, err = append(out.Skipped, *s), nil
	}
	return out, err
}

// gated goes through the gates, holds what keeps others away, and runs.
func (d *Dreamer) gated(ctx context.Context, home *Root, q Dream, out *Dreamt) error {
	if q.Automatic {
		if s := d.opt.Strain(); s != nil {
			return s
		}
	}
	held, err := d.opt.Store.holdDream(home)
	if err != nil {
		return err
	}
	defer held.Close()
	record, err := d.opt.Store.dreamRecord(home)
	if err != nil {
		return err
	}
	now := d.opt.Now()
	skip := record.gate(q, now)
	if !q.DryRun {
		if err := d.opt.Store.setDreamRecord(ctx, home, record); err != nil {
			return err
		}
	}
	if skip != nil {
		return skip
	}
	if q.DryRun {
		return d.run(ctx, q, out, func(int, int, string) error { return ctx.Err() })
	}
	task, err := d.opt.Store.Begin(ctx, TaskDream, home)
	if err != nil {
		return err
	}
	out.Task = task.ID()
	err = d.run(task.Context(), q, out, task.Step)
	task.Spend(out.Usage)
	ended := Task{Skipped: out.Skipped, Detail: "everything is tidy"}
	if out.Plan != nil {
		ended.Plan, ended.Detail = out.Plan.ID, fmt.Sprintf("%d changes wait", len(out.Plan.Changes))
	}
	if out.Operation != nil {
		ended.Operation, ended.Detail = out.Operation.ID, fmt.Sprintf("%d files changed", len(out.Operation.Changes))
	}
	task.End(ended, err)
	if err != nil {
		return err
	}
	record.Done, record.Sessions = now.UTC(), nil
	return d.opt.Store.setDreamRecord(ctx, home, record)
}

// run finds what there is to do, and keeps it as a plan.
func (d *Dreamer) run(ctx context.Context, q Dream, out *Dreamt, step func(done, total int, what string) error) error {
	snap := d.opt.Snapshot()
	roots := d.rootsOf(snap, q)
	release, err := d.holdAll(ctx, roots)
	if err != nil {
		return err
	}
	defer release()
	files := 0
	for _, r := range roots {
		files += len(snap.Of(r))
	}
	found := &findingsOfRun{}
	for i, r := range roots {
		if err := step(i, len(roots)+1, "looking for what is tidied by rules"); err != nil {
			return err
		}
		t := newTidier(snap, r, files, d.opt.Now())
		t.removed = found.removed
		if err := t.run(ctx); err != nil {
			return err
		}
		found.removed = t.removed
		found.tidied = append(found.tidied, t.out...)
		out.Skipped = append(out.Skipped, t.left...)
		found.gone = append(found.gone, t.gone)
	}
	if err := d.consolidate(ctx, snap, roots, files, found, out, step); err != nil {
		return err
	}
	return d.keep(ctx, q, found, out)
}

// holdAll keeps the programs whose roots they are from consolidating them meanwhile.
func (d *Dreamer) holdAll(ctx context.Context, roots []*Root) (release func(), err error) {
	var held []func() error
	release = func() {
		for _, let := range held {
			if err := let(); err != nil {
				d.opt.Log.Warn("the lock of another program stays", "error", err)
			}
		}
	}
	for _, r := range roots {
		let, err := d.opt.Store.holdForeign(ctx, r)
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, let)
	}
	return release, nil
}

// findingsOfRun is what a run has found so far.
type findingsOfRun struct {
	tidied  []tidied
	gone    []map[string]bool
	removed int
}

// isGone tells whether a file is removed by rules already.
func (f *findingsOfRun) isGone(ref string) bool {
	return slices.ContainsFunc(f.gone, func(m map[string]bool) bool { return m[ref] })
}

// rootsOf are the roots of the scope that may be written to, as the snapshot has
// them.
func (d *Dreamer) rootsOf(snap *Snapshot, q Dream) []*Root {
	var out []*Root
	for _, r := range d.opt.Roots() {
		if r.Scope != q.Scope || !r.Folders.Has(q.Folder) || writable(r, nil) != nil {
			continue
		}
		for _, s := range snap.Roots() {
			if s.Root.ID == r.ID && s.Root.Real == r.Real {
				out = append(out, s.Root)
			}
		}
	}
	return out
}

// admit is what of the findings can be planned now, and which of it may be made
// without a person. A file that was changed meanwhile is left out, with all that
// rests on its change; so is what a plan of the inbox has already.
func (d *Dreamer) admit(ctx context.Context, q Dream, found *findingsOfRun, out *Dreamt) (edits []Edit, safe []bool, err error) {
	waits, err := d.waiting()
	if err != nil {
		return nil, nil, err
	}
	missing := map[string]bool{} // keys of edits that are left out; nothing needs the empty one
	for _, f := range found.tidied {
		one, err := d.opt.Store.plan(ctx, Draft{Kind: KindDream, Edits: []Edit{f.edit}})
		apply := !f.review && q.Apply && q.Scope != ScopeTeam
		var s *Skipped
		switch {
		case err != nil:
			if s = leftOut(f.edit, err); s == nil {
				return nil, nil, err
			}
		case !apply && !q.DryRun && waits[changeKey(&one.Changes[0])] != "":
			s = &Skipped{Reason: SkipWaiting, Detail: f.edit.ref() + ": that waits already, in " + waits[changeKey(&one.Changes[0])]}
		case slices.ContainsFunc(f.edit.Needs, func(key string) bool { return missing[key] }):
			s = &Skipped{Reason: SkipChanged, Detail: f.edit.ref() + " stays, since a change that it rests on is left out"}
		}
		if s != nil {
			out.Skipped = append(out.Skipped, *s)
			missing[f.edit.Key] = true
			continue
		}
		edits, safe = append(edits, f.edit), append(safe, apply)
	}
	return edits, safe, nil
}

// keep makes a plan of what was found, and applies what may be.
func (d *Dreamer) keep(ctx context.Context, q Dream, found *findingsOfRun, out *Dreamt) error {
	edits, safe, err := d.admit(ctx, q, found, out)
	if err != nil || len(edits) == 0 {
		return err
	}
	draft := Draft{Kind: KindDream, Session: q.Session, UndoFor: dreamUndo, Usage: out.Usage, Edits: edits}
	if q.DryRun {
		plan, err := d.opt.Store.plan(ctx, draft)
		out.Plan = plan
		return err
	}
	plan, err := d.opt.Store.Propose(ctx, draft)
	if err != nil {
		return err
	}
	out.Plan = plan
	var auto []string
	for i := range plan.Changes {
		if safe[i] {
			auto = append(auto, plan.Changes[i].ID)
		}
	}
	if len(auto) == 0 {
		return nil
	}
	op, err := d.opt.Keeper.Apply(ctx, plan.ID, ApplyOptions{Only: auto})
	if r, ok := errors.AsType[*Refusal](err); ok {
		out.Skipped = append(out.Skipped, Skipped{Reason: SkipReason(r.Kind), Detail: "the changes wait to be looked at: " + r.Detail})
		return nil
	}
	if err != nil {
		return err
	}
	out.Operation, out.Plan = op, nil
	if len(auto) < len(plan.Changes) {
		out.Plan, err = d.opt.Store.Plan(plan.ID)
	}
	return err
}

// waiting are the changes that wait in the inbox, with their plans.
func (d *Dreamer) waiting() (map[string]string, error) {
	plans, err := d.opt.Store.Plans(KindDream)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, p := range plans {
		for i := range p.Changes {
			out[changeKey(&p.Changes[i])] = p.ID
		}
	}
	return out, nil
}

// changeKey is the same for the same change of the same file.
func changeKey(c *Change) string { return c.Ref + "\x00" + c.Base + "\x00" + c.Diff }

// leftOut is why one edit cannot be part of a plan; nil for a fault.
func leftOut(e Edit, err error) *Skipped {
	r, ok := errors.AsType[*Refusal](err)
	if !ok {
		return nil
	}
	ref := e.ref()
	switch r.Kind {
	case RefusedConflict, RefusedNotFound:
		return &Skipped{Reason: SkipChanged, Detail: ref + " was changed meanwhile, and stays as it is"}
	case RefusedSecret:
		return &Skipped{Reason: SkipSecret, Detail: ref + ": " + r.Detail}
	}
	return &Skipped{Reason: SkipReason(r.Kind), Detail: ref + ": " + r.Detail}
}

// ref names the file of an edit.
func (e *Edit) ref() string {
	switch {
	case e.Doc != nil:
		return e.Doc.Ref
	case e.Root != nil:
		return encodeRef(e.Root.Prefix, e.Rel)
	}
	return ""
}
