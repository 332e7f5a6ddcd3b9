package lsp

import (
	"context"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// dreamMethods are the requests of consolidation.
func (f *features) dreamMethods() map[string]Method {
	return map[string]Method{"memory/dream": NewCall(f.dream)}
}

// dreamer is what consolidates, over the store.
func (f *features) dreamer(c *changing) *memory.Dreamer {
	return memory.NewDreamer(memory.DreamerOptions{
		Keeper: c.keeper, Store: c.store, Roots: f.roots, Snapshot: func() *memory.Snapshot { return f.catalog().Snapshot() },
		Tools:  func() memory.DreamTools { return recall.DreamTools(f.door()) },
		Strain: f.strain, Now: f.opt.Now, Log: f.s.Log(),
	})
}

// dream serves memory/dream.
func (f *features) dream(ctx context.Context, p *DreamParams) (*DreamResult, error) {
	if err := checkScope("scope", p.Scope, false); err != nil {
		return nil, err
	}
	if _, _, err := f.keeper(ctx); err != nil {
		return nil, err
	}
	q := memory.Dream{Scope: memory.Scope(p.Scope), Folder: f.folder(p.Folder), Force: p.Force}
	switch f.s.Settings().WritePolicy {
	case "off":
		return DreamResultOf(&memory.Dreamt{Skipped: []memory.Skipped{{Reason: memory.SkipDisabled, Detail: "writePolicy is off: nothing is consolidated"}}}), nil
	case "auto":
		q.Apply = true
	}
	out, err := f.dreamer(f.changer.Load()).Dream(ctx, q)
	if err != nil {
		return nil, refusals(err)
	}
	return DreamResultOf(out), nil
}

// dreamAfter has consolidation follow a turn, when its gates are open.
func (f *features) dreamAfter(t FinishedTurn) ScheduledWork {
	c := f.changer.Load()
	if c == nil || c.store == nil || f.s.Settings().WritePolicy == "off" {
		return ScheduledWork{State: workSkipped, Reason: reasonDisabled}
	}
	apply := f.s.Settings().WritePolicy == "auto"
	f.s.Go(func(ctx context.Context) {
		if _, err := f.loaded(ctx); err != nil {
			return // the connection ended
		}
		for _, scope := range []memory.Scope{memory.ScopeProject, memory.ScopeUser} {
			out, err := f.dreamer(c).Dream(ctx, memory.Dream{Scope: scope, Folder: t.Folder, Automatic: true, Session: t.Session, Apply: apply})
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				f.s.Log().Debug("nothing is consolidated", "scope", scope, "reason", err)
			case out.Task == "" && len(out.Skipped) > 0:
				f.s.Log().Debug("nothing is consolidated", "scope", scope, "reason", out.Skipped[0].Reason)
			default:
				f.s.Log().Info("memories were consolidated", "scope", scope, "task", out.Task)
			}
		}
	})
	return ScheduledWork{State: workScheduled}
}

// DreamResultOf words what consolidation came to.
func DreamResultOf(d *memory.Dreamt) *DreamResult {
	r := &DreamResult{Skipped: SkippedOf(d.Skipped), Task: d.Task, Usage: UsageOf(d.Usage)}
	if d.Plan != nil {
		r.Plan = PlanOf(d.Plan)
	}
	if d.Operation != nil {
		r.Operation = OperationOf(d.Operation)
	}
	return r
}
