package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// The bounds of an inbox: how many pending plans a root keeps, and how many
// bytes of them. Then no further plan is made until some are gone.
const (
	maxInboxPlans = 100
	maxInboxBytes = 50 << 20
	// maxTalkPlans bounds the plans of conversations, which live an hour.
	maxTalkPlans = 1000
)

// homeOf is the root whose state a plan is kept in: that of its first change.
func (s *Store) homeOf(p *Plan) (*Root, error) {
	c := &p.Changes[0]
	if r := s.root(cmp.Or(p.Home, c.RootID), cmp.Or(p.HomeReal, c.Real)); r != nil {
		return r, nil
	}
	return nil, refuse(RefusedNotFound, []string{c.Ref}, "the root of this plan is not served here")
}

// keep stores a plan.
func (s *Store) keep(ctx context.Context, p *Plan) error {
	if !p.Kind.persists() {
		s.mu.Lock()
		defer s.mu.Unlock()
		now := s.opt.Now()
		for id, old := range s.plans {
			if !now.Before(old.ExpiresAt) {
				delete(s.plans, id)
			}
		}
		if len(s.plans) >= maxTalkPlans {
			return refuse(RefusedBudget, nil, "%d plans are pending; apply or discard some", len(s.plans))
		}
		s.plans[p.ID] = p
		return nil
	}
	if err := s.persist(ctx, p); err != nil {
		return err
	}
	if s.opt.PlansChanged != nil {
		s.opt.PlansChanged()
	}
	return nil
}

func (s *Store) persist(ctx context.Context, p *Plan) error {
	raw, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("writing plan %s: %w", p.ID, err)
	}
	home, err := s.homeOf(p)
	if err != nil {
		return err
	}
	l, err := s.lock(ctx, []*Root{home})
	if err != nil {
		return err
	}
	defer l.unlock()
	state := l.states[0]
	plans, size, err := s.inbox(state.folder)
	if err != nil {
		return refuseIO(err, nil, "reading the inbox")
	}
	if len(plans) >= maxInboxPlans || size+len(raw) > maxInboxBytes {
		return refuse(RefusedBudget, nil, "the inbox is full: %d plans, %d bytes; apply or discard some", len(plans), size)
	}
	if err := state.put(statePlans, p.ID+recordSuffix, raw); err != nil {
		return refuseIO(err, nil, "writing a plan")
	}
	return nil
}

// inbox are the plans in the state of a root that have not expired. Those that
// cannot be read are left out and logged.
func (s *Store) inbox(state *folder) (plans []*Plan, size int, err error) {
	ids, err := listState(state, statePlans, recordSuffix)
	if err != nil {
		return nil, 0, err
	}
	for _, id := range ids {
		raw, err := getState(state, statePlans, id+recordSuffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		p := &Plan{}
		if err := json.Unmarshal(raw, p); err != nil || p.ID != id || len(p.Changes) == 0 {
			s.opt.Log.Error("a pending plan cannot be read", "plan", id, "state", state.path, "error", err)
			continue
		}
		if !s.opt.Now().Before(p.ExpiresAt) {
			continue
		}
		plans, size = append(plans, p), size+len(raw)
	}
	return plans, size, nil
}

// Plans are the pending plans of the inbox, oldest first.
func (s *Store) Plans(kinds ...PlanKind) ([]*Plan, error) {
	var all []*Plan
	for _, r := range s.opt.Roots() {
		state, err := s.openState(r)
		if err != nil {
			return nil, refuseIO(err, nil, "opening the state of a root")
		}
		if state == nil {
			continue
		}
		plans, _, err := s.inbox(state)
		state.close()
		if err != nil {
			return nil, refuseIO(err, nil, "reading the inbox")
		}
		for _, p := range plans {
			if len(kinds) == 0 || slices.Contains(kinds, p.Kind) {
				all = append(all, p)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *Plan) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// Plan finds a pending plan, of the inbox or of this process.
func (s *Store) Plan(id string) (*Plan, error) {
	s.mu.Lock()
	p := s.plans[id]
	s.mu.Unlock()
	if p == nil {
		all, err := s.Plans()
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(all, func(p *Plan) bool { return p.ID == id }); i >= 0 {
			p = all[i]
		}
	}
	if p == nil {
		return nil, refuse(RefusedNotFound, nil, "there is no such plan; it was applied, discarded or has expired")
	}
	if !s.opt.Now().Before(p.ExpiresAt) {
		return nil, refuse(RefusedStale, refsOf(p.Changes), "the plan has expired")
	}
	return p.clone(), nil
}

// Discard drops a pending plan.
func (s *Store) Discard(ctx context.Context, id string) error {
	p, err := s.Plan(id)
	if err != nil {
		return err
	}
	if !p.Kind.persists() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.plans, id)
		return nil
	}
	home, err := s.homeOf(p)
	if err != nil {
		return err
	}
	l, err := s.lock(ctx, []*Root{home})
	if err != nil {
		return err
	}
	err = l.states[0].drop(statePlans, id+recordSuffix)
	l.unlock()
	if err != nil {
		return refuseIO(err, nil, "discarding a plan")
	}
	if s.opt.PlansChanged != nil {
		s.opt.PlansChanged()
	}
	return nil
}

// close removes what was applied from a plan. What is left of an inbox plan
// stays.
func (s *Store) close(l *locked, p *Plan, r *record, o ApplyOptions) error {
	if !p.Kind.persists() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.plans, p.ID)
		return nil
	}
	home, err := s.homeOf(p)
	if err != nil {
		return err
	}
	state := l.state(home.ID)
	rest := p.without(r, o)
	if len(rest.Changes) == 0 || o.Purge {
		return state.drop(statePlans, p.ID+recordSuffix)
	}
	raw, err := json.Marshal(rest)
	if err != nil {
		return fmt.Errorf("writing plan %s: %w", p.ID, err)
	}
	return state.put(statePlans, p.ID+recordSuffix, raw)
}

// without is a plan less the changes that were applied. What is left for a file
// that was changed is carried over to its new content; where that cannot be, it
// keeps its base and will be stale.
func (p *Plan) without(r *record, o ApplyOptions) *Plan {
	rest := p.clone()
	first := p.Changes[0]
	// What was asked of models is told with the first part that is applied.
	rest.Usage = Usage{}
	rest.Home, rest.HomeReal = cmp.Or(p.Home, first.RootID), cmp.Or(p.HomeReal, first.Real)
	applied := func(c *Change) bool { return len(o.Only) == 0 || slices.Contains(o.Only, c.ID) }
	rest.Changes = slices.DeleteFunc(rest.Changes, func(c Change) bool { return applied(&c) })
	for i := range rest.Changes {
		c := &rest.Changes[i]
		at := slices.IndexFunc(r.Files, func(f fileRecord) bool { return f.Root == c.RootID && f.Rel == c.Rel })
		if at < 0 || c.Action != ActionUpdate || r.Files[at].Action != ActionUpdate || c.Base != r.Files[at].Base {
			continue
		}
		var done [][]Replacement
		for j := range p.Changes {
			if a := &p.Changes[j]; applied(a) && a.RootID == c.RootID && a.Rel == c.Rel {
				done = append(done, a.Replace)
				if _, edited := o.Edits[a.ID]; edited {
					done = nil
					break
				}
			}
		}
		if done != nil {
			c.rebase(mergeReplacements(done...), r.Files[at].To, &r.contents[at])
		}
	}
	return rest
}

// rebase moves what a change replaces to where it is once others have been
// applied, unless it overlaps those.
func (c *Change) rebase(done []Replacement, version string, file *content) {
	if _, err := Replace(file.Before, append(slices.Clone(done), c.Replace...)...); err != nil {
		return
	}
	moved := slices.Clone(c.Replace)
	for i := range moved {
		shift := 0
		for _, d := range done {
			if d.End <= moved[i].Start {
				shift += len(d.New) - d.Len()
			}
		}
		moved[i].Start += shift
		moved[i].End += shift
	}
	next, err := Replace(file.After, moved...)
	if err != nil {
		return
	}
	c.Base, c.Replace, c.Diff = version, moved, unified(c.Ref, file.After, next)
}

// openState opens the state of a root for reading; nil when there is none.
func (s *Store) openState(r *Root) (*folder, error) {
	base, err := s.disk.openBase(s.opt.State, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer base.close()
	in, _, err := base.enter(r.ID, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if there, err := in.exists(stateRootFile); err != nil || !there {
		in.close()
		return nil, err
	}
	if err := s.claim(in, r, false); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// expirePlans removes pending plans whose time is over. The root is locked.
func (s *Store) expirePlans(state *rootState) error {
	ids, err := listState(state.folder, statePlans, recordSuffix)
	if err != nil {
		return err
	}
	for _, id := range ids {
		raw, err := state.get(statePlans, id+recordSuffix)
		if err != nil {
			return err
		}
		var p Plan
		if err := json.Unmarshal(raw, &p); err != nil {
			if err := s.quarantine(state, statePlans, id+recordSuffix, err); err != nil {
				return err
			}
			continue
		}
		if s.opt.Now().Before(p.ExpiresAt) {
			continue
		}
		if err := state.drop(statePlans, id+recordSuffix); err != nil {
			return err
		}
	}
	return nil
}
