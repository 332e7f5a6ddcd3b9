package memory

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// KeeperOptions is what a keeper needs. Store, Roots and Snapshot are required.
type KeeperOptions struct {
	Store    *Store
	Roots    func() []*Root
	Snapshot func() *Snapshot
	// Sync returns when the snapshot shows what is on disk, so that nobody is told
	// of a change before everybody sees it. Nil when the snapshot follows by itself.
	Sync func(context.Context) error
	// Tools help a query to forget; their Ranker also finds what is known already.
	Tools func() ForgetTools
	// Purged is told which files of a root are gone without a trace, to forget
	// their names as well; nil when nobody else keeps any.
	Purged func(ctx context.Context, root *Root, refs []string) error
	Now    func() time.Time
}

// Keeper does what a person asks to be done with memories, over a catalog and a
// store. It is for concurrent use.
type Keeper struct {
	opt KeeperOptions
	// remembering lets one memory be made at a time: of two that say the same the
	// second finds the first.
	remembering sync.Mutex
}

// NewKeeper makes a keeper.
func NewKeeper(opt KeeperOptions) *Keeper {
	if opt.Tools == nil {
		opt.Tools = func() ForgetTools { return ForgetTools{} }
	}
	if opt.Sync == nil {
		opt.Sync = func(context.Context) error { return nil }
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return &Keeper{opt: opt}
}

const (
	// rereads is how often something is planned anew because a file was changed
	// under it.
	rereads = 2
	// catchUp is how long an operation waits until everybody sees it. It takes
	// that long only when a directory does not answer.
	catchUp = 5 * time.Second
	// catchUpLocked is the same for who holds a lock: others wait for that no
	// longer than defaultLockWait.
	catchUpLocked = time.Second
)

// fresh plans with the newest snapshot, and again when a file turns out to be
// newer.
func (k *Keeper) fresh(ctx context.Context, plan func() error) error {
	for i := 0; ; i++ {
		err := plan()
		r, refused := errors.AsType[*Refusal](err)
		if !refused || r.Kind != RefusedConflict && r.Kind != RefusedNotFound || i == rereads-1 {
			return err
		}
		if serr := k.opt.Sync(ctx); serr != nil {
			return errors.Join(err, serr)
		}
	}
}

// seen waits until the snapshot shows an operation. That takes no longer than
// catchUp, and then the operation says so.
func (k *Keeper) seen(ctx context.Context, op *Operation) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), catchUp)
	defer cancel()
	if err := k.opt.Sync(ctx); err != nil {
		op.Warnings = append(op.Warnings, "done; the catalog has not caught up yet: "+err.Error())
	}
}

// Kept is what remembering came to: an operation, a plan, or the memories that
// said it already.
type Kept struct {
	Operation *Operation
	Plan      *Plan
	Unchanged []string
}

// Remember remembers a text, or with apply false plans to. That it was asked for
// lifts what had been forgotten.
func (k *Keeper) Remember(ctx context.Context, q Remember, apply bool) (*Kept, error) {
	k.remembering.Lock()
	defer k.remembering.Unlock()
	q.Now = k.opt.Now()
	var kept *Kept
	err := k.fresh(ctx, func() (err error) {
		kept, err = k.remember(ctx, q, apply)
		return err
	})
	if err != nil || kept.Operation == nil {
		return kept, err
	}
	k.seen(ctx, kept.Operation)
	return kept, nil
}

func (k *Keeper) remember(ctx context.Context, q Remember, apply bool) (*Kept, error) {
	r, err := k.planned(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(r.Unchanged) > 0 {
		return &Kept{Unchanged: r.Unchanged}, nil
	}
	if apply {
		return k.decide(ctx, q, r)
	}
	p, err := k.opt.Store.Propose(ctx, r.Draft)
	return &Kept{Plan: p}, err
}

// planned is what remembering comes to by what is seen now.
func (k *Keeper) planned(ctx context.Context, q Remember) (*Remembered, error) {
	r, err := PlanRemember(ctx, k.opt.Snapshot(), k.opt.Roots(), k.opt.Tools().Ranker, q)
	if err != nil || len(r.Unchanged) > 0 {
		return r, err
	}
	if e := &r.Draft.Edits[0]; e.Action == ActionCreate {
		// The folder knows names that the catalog does not.
		e.Rel, err = k.opt.Store.FreeName(e.Root, e.Rel)
	}
	return r, err
}

// decide remembers. What was planned tells which root to lock; whether the text
// is known, and where it goes, is decided while nobody else can write there.
func (k *Keeper) decide(ctx context.Context, q Remember, r *Remembered) (*Kept, error) {
	root := r.root()
	var warnings []string
	op, err := k.opt.Store.Decide(ctx, root, func(ctx context.Context) (d Draft, err error) {
		warnings = nil
		if err := k.caughtUp(ctx); err != nil {
			warnings = append(warnings, "whether another program has just noted the same could not be looked up: "+err.Error())
		}
		if r, err = k.planned(ctx, q); err != nil || len(r.Unchanged) > 0 {
			return Draft{}, err
		}
		if to := r.root(); to.ID != root.ID || to.Real != root.Real {
			return Draft{}, refuse(RefusedConflict, nil, "the memories have changed meanwhile")
		}
		return r.Draft, nil
	})
	switch {
	case err != nil:
		return nil, err
	case op == nil:
		return &Kept{Unchanged: r.Unchanged}, nil
	}
	op.Warnings = slices.Concat(op.Warnings, r.Draft.Warnings, warnings)
	if err := k.opt.Store.Unblock(ctx, root, []string{q.Text, withoutLead(q.Text)}); err != nil {
		op.Warnings = append(op.Warnings, "it stays kept from being learnt again: "+err.Error())
	}
	return &Kept{Operation: op}, nil
}

// root is the one that the draft writes to.
func (r *Remembered) root() *Root {
	if e := &r.Draft.Edits[0]; e.Action != ActionCreate {
		return e.Doc.Root
	}
	return r.Draft.Edits[0].Root
}

// caughtUp waits until the snapshot shows what is on disk, no longer than
// catchUpLocked.
func (k *Keeper) caughtUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, catchUpLocked)
	defer cancel()
	return k.opt.Sync(ctx)
}

// Forget plans to forget. It changes nothing.
func (k *Keeper) Forget(ctx context.Context, q Forget) (*Plan, error) {
	if err := CheckForget(q); err != nil {
		return nil, err
	}
	q.Now = k.opt.Now()
	var plan *Plan
	tools := k.opt.Tools()
	tools.Writable = k.opt.Store.Writable
	err := k.fresh(ctx, func() error {
		draft, err := PlanForget(ctx, k.opt.Snapshot(), tools, q)
		if err != nil {
			return err
		}
		plan, err = k.proposed(ctx, draft)
		return err
	})
	return plan, err
}

// proposed keeps a plan. Of what a query found, a file that cannot be planned for
// is left out; one that has changed is no such file: it is read again.
func (k *Keeper) proposed(ctx context.Context, draft *Draft) (*Plan, error) {
	for {
		plan, err := k.opt.Store.Propose(ctx, *draft)
		r, refused := errors.AsType[*Refusal](err)
		if !refused || !draft.Query || r.Kind == RefusedConflict || r.Kind == RefusedNotFound || len(r.Refs) == 0 {
			return plan, err
		}
		rest := draft.without(r.Refs)
		if len(rest) == 0 || len(rest) == len(draft.Edits) {
			return plan, err
		}
		draft.Edits = rest
		draft.Warnings = append(draft.Warnings, fmt.Sprintf("%s is left out: %s", strings.Join(r.Refs, ", "), r.Detail))
	}
}

// without are the edits of documents that are not named, by their refs or those
// of their entries.
func (d *Draft) without(refs []string) []Edit {
	named := func(e Edit) bool {
		return e.Doc != nil && slices.ContainsFunc(refs, func(ref string) bool { file, _, _ := strings.Cut(ref, "#"); return file == e.Doc.Ref })
	}
	return slices.DeleteFunc(slices.Clone(d.Edits), named)
}

// Apply applies a plan. What a plan to forget takes away is kept from being
// learnt again.
func (k *Keeper) Apply(ctx context.Context, id string, o ApplyOptions) (*Operation, error) {
	plan, err := k.opt.Store.Plan(id)
	if err != nil {
		return nil, err
	}
	gone := map[*Root][]string{}
	if plan.Kind == KindForget {
		gone = k.goingTexts(plan, o.Only)
	}
	for root, texts := range gone {
		if err := k.opt.Store.Block(ctx, root, texts); err != nil {
			return nil, err
		}
	}
	op, err := k.opt.Store.Apply(ctx, id, o)
	if err != nil {
		err = k.showBothSides(ctx, plan, err)
		for root, texts := range gone {
			err = errors.Join(err, k.opt.Store.Unblock(context.WithoutCancel(ctx), root, texts))
		}
		return nil, err
	}
	k.seen(ctx, op)
	if o.Purge {
		op.UndoUntil = time.Time{}
		k.forgetNames(ctx, plan, op)
	}
	return op, nil
}

// showBothSides has a plan of the inbox whose files have changed since made anew,
// and says so in the refusal.
func (k *Keeper) showBothSides(ctx context.Context, plan *Plan, err error) error {
	r, refused := errors.AsType[*Refusal](err)
	if !refused || r.Kind != RefusedStale || !plan.Kind.persists() {
		return err
	}
	if rerr := k.opt.Store.refresh(context.WithoutCancel(ctx), plan.ID); rerr != nil {
		return errors.Join(err, rerr)
	}
	shown := *r
	shown.Detail += "; the plan shows both sides now, and waits"
	return &shown
}

// Discard drops a pending plan. What a plan of extraction proposed was rejected by
// that, and is not proposed again.
func (k *Keeper) Discard(ctx context.Context, id string) error {
	plan, err := k.opt.Store.Plan(id)
	if err != nil {
		return err
	}
	if plan.Kind == KindExtract {
		for _, r := range k.opt.Roots() {
			if texts := proposedFor(plan, r); len(texts) > 0 {
				if err := k.opt.Store.Block(ctx, r, texts); err != nil {
					return err
				}
			}
		}
	}
	return k.opt.Store.Discard(ctx, id)
}

// proposedFor are the statements that a plan would add to a root.
func proposedFor(p *Plan, r *Root) []string {
	var texts []string
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.RootID != r.ID || c.Real != r.Real {
			continue
		}
		if c.Action == ActionCreate {
			d := Parse(c.Text)
			for _, e := range Entries(d) {
				texts = append(texts, statementOf(d, e))
			}
		}
		for _, rep := range c.Replace {
			for line := range strings.Lines(rep.New) {
				if line = bare(line); len(words(line)) >= minSaid && !headerLine(line) {
					texts = append(texts, line)
				}
			}
		}
	}
	return texts
}

// goingTexts are the statements that a plan takes away, by root.
func (k *Keeper) goingTexts(p *Plan, only []string) map[*Root][]string {
	gone := map[*Root][]string{}
	snap := k.opt.Snapshot()
	for i := range p.Changes {
		c := &p.Changes[i]
		ref, err := ParseRef(c.Ref)
		if err != nil || len(only) > 0 && !slices.Contains(only, c.ID) {
			continue
		}
		d, ok := snap.Get(ref.File())
		if !ok || d.Version != c.Base {
			continue // the plan is stale, and will be refused
		}
		for n, e := range Entries(d) {
			if ref.Entry == NoEntry || ref.Entry == n {
				gone[d.Root] = append(gone[d.Root], statementOf(d, e))
			}
		}
	}
	return gone
}

// statementOf is what an entry says, without its reasons.
func statementOf(d *Document, e Entry) string { return d.Text[e.SummarySpan.Start:e.SummarySpan.End] }

// forgetNames lets go of what else is kept under the names of files that were
// purged: verdicts, and what the caller has of them.
func (k *Keeper) forgetNames(ctx context.Context, p *Plan, op *Operation) {
	rels := map[*Root][]string{}
	for i := range p.Changes {
		for _, r := range k.opt.Roots() {
			if c := &p.Changes[i]; c.RootID == r.ID && c.Real == r.Real {
				if _, there := k.opt.Snapshot().Get(encodeRef(r.Prefix, c.Rel)); !there {
					rels[r] = append(rels[r], c.Rel)
				}
			}
		}
	}
	for r, names := range rels {
		if err := k.opt.Store.dropVotes(ctx, r, names); err != nil {
			op.Warnings = append(op.Warnings, "verdicts on what was purged stay: "+err.Error())
		}
		if k.opt.Purged == nil {
			continue
		}
		refs := make([]string, len(names))
		for i, rel := range names {
			refs[i] = encodeRef(r.Prefix, rel)
		}
		if err := k.opt.Purged(ctx, r, refs); err != nil {
			op.Warnings = append(op.Warnings, "the activity log still names what was purged: "+err.Error())
		}
	}
}

// Undo takes an operation back. What it had forgotten may be learnt again.
func (k *Keeper) Undo(ctx context.Context, id string) (*Operation, error) {
	op, err := k.opt.Store.Undo(ctx, id)
	if err != nil {
		return nil, err
	}
	k.seen(ctx, op)
	snap := k.opt.Snapshot()
	for _, c := range op.Changes {
		d, ok := snap.Get(c.Ref)
		if !ok || c.To == "" {
			continue
		}
		var texts []string
		for _, e := range Entries(d) {
			texts = append(texts, statementOf(d, e))
		}
		if err := k.opt.Store.Unblock(ctx, d.Root, texts); err != nil {
			op.Warnings = append(op.Warnings, "what came back stays kept from being learnt again: "+err.Error())
		}
	}
	return op, nil
}

// Pin pins a memory or lets go of it. Without an id in the operation it was so
// already.
func (k *Keeper) Pin(ctx context.Context, t Target, pinned bool) (*Operation, error) {
	var op *Operation
	err := k.fresh(ctx, func() error {
		op = &Operation{Kind: KindPin, At: k.opt.Now().UTC()} // also after an attempt that was refused
		d, err := k.document(t)
		if err != nil {
			return err
		}
		draft, ok, err := PinDraft(d, pinned)
		if err != nil || !ok {
			return err
		}
		op, err = k.opt.Store.Do(ctx, draft)
		return err
	})
	if err != nil {
		return nil, err
	}
	if op.ID != "" {
		k.seen(ctx, op)
	}
	return op, nil
}

// Vote takes a verdict on a memory.
func (k *Keeper) Vote(ctx context.Context, t Target, v Opinion) (Votes, error) {
	var votes Votes
	err := k.fresh(ctx, func() error {
		d, err := k.document(t)
		if err != nil {
			return err
		}
		votes, err = k.opt.Store.Vote(ctx, d, v)
		return err
	})
	return votes, err
}

// Move plans to move a memory to the first root of a scope.
func (k *Keeper) Move(ctx context.Context, t Target, scope Scope, folder string) (*Plan, error) {
	if !scope.Valid() {
		return nil, &Refusal{Kind: RefusedInput, Field: "scope", Detail: fmt.Sprintf("%.40q is none of project, user, team", string(scope))}
	}
	var plan *Plan
	err := k.fresh(ctx, func() error {
		d, err := k.document(t)
		if err != nil {
			return err
		}
		to, err := WritableRoot(k.opt.Roots(), scope, folder)
		if err != nil {
			return err
		}
		draft, err := k.opt.Store.MoveDraft(d, to)
		if err != nil {
			return err
		}
		plan, err = k.opt.Store.Propose(ctx, draft)
		return err
	})
	return plan, err
}

// RebuildIndex makes the index of the first root of a scope anew.
func (k *Keeper) RebuildIndex(ctx context.Context, scope Scope, folder string) (*Operation, error) {
	if !scope.Valid() {
		return nil, &Refusal{Kind: RefusedInput, Field: "scope", Detail: fmt.Sprintf("%.40q is none of project, user, team", string(scope))}
	}
	root, err := WritableRoot(k.opt.Roots(), scope, folder)
	if err != nil {
		return nil, err
	}
	return k.opt.Store.RebuildIndex(ctx, root)
}

// document is the memory that a target names as a whole.
func (k *Keeper) document(t Target) (*Document, error) {
	if t.Ref.Entry != NoEntry {
		return nil, &Refusal{Kind: RefusedInput, Field: "ref", Detail: "the ref names an entry; a memory is meant"}
	}
	c, err := named(k.opt.Snapshot(), t)
	if err != nil {
		return nil, err
	}
	return c.Doc, nil
}

// WritableRoot is the first root of a scope that a folder may write to.
func WritableRoot(roots []*Root, scope Scope, folder string) (*Root, error) {
	err := error(refuse(RefusedNotFound, nil, "no %s memory is served here", scope))
	for _, r := range roots {
		if r.Scope != scope || !r.Folders.Has(folder) {
			continue
		}
		if err = writable(r, nil); err == nil {
			return r, nil
		}
	}
	return nil, err
}

// ParseTarget reads a ref that came from outside, as [ParseRef] does, and refuses
// one that leads out of its root as such.
func ParseTarget(ref, version string) (Target, error) {
	r, err := ParseRef(ref)
	if err == nil {
		return Target{Ref: r, Version: version}, nil
	}
	if LeadsOut(ref) {
		return Target{}, refuse(RefusedEscape, nil, "%.100q leads out of its root", ref)
	}
	return Target{}, &Refusal{Kind: RefusedInput, Field: "ref", Detail: err.Error(), Err: err}
}

// LeadsOut tells whether what is no ref was meant to lead out of a root, in any
// spelling.
func LeadsOut(ref string) bool {
	_, path, ok := strings.Cut(ref, ":")
	if !ok {
		path = ref
	}
	for range 3 { // encoded, perhaps more than once
		decoded, err := url.PathUnescape(path)
		if err != nil || decoded == path {
			break
		}
		path = decoded
	}
	path = strings.ReplaceAll(path, `\`, "/")
	return strings.HasPrefix(path, "/") || strings.ContainsAny(path, "\x00:") ||
		slices.ContainsFunc(strings.Split(path, "/"), func(seg string) bool { return strings.Trim(seg, ". ") == "" && seg != "" })
}
