package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"time"
)

const (
	// planLife is how long the plans of a conversation can be applied, inboxLife
	// those of the inbox.
	planLife  = time.Hour
	inboxLife = 30 * 24 * time.Hour
)

// Propose makes a plan of a draft and keeps it until it is applied, discarded or
// expires. It reads the files concerned and writes none of them. A file that is
// no longer what its document was parsed from is a conflict.
func (s *Store) Propose(ctx context.Context, d Draft) (*Plan, error) {
	p, err := s.plan(ctx, d)
	if err != nil {
		return nil, err
	}
	if err := s.keep(ctx, p); err != nil {
		return nil, err
	}
	return p.clone(), nil
}

// Do makes a plan of a draft and applies it at once, when a person asked for
// just that.
func (s *Store) Do(ctx context.Context, d Draft) (*Operation, error) {
	p, err := s.plan(ctx, d)
	if err != nil {
		return nil, err
	}
	j, err := s.job(p, ApplyOptions{})
	if err != nil {
		return nil, err
	}
	j.plan, j.stale = "", RefusedConflict
	return s.commit(ctx, j)
}

// Decide is Do with a draft that is made while the lock of a root is held, in
// which all of its edits lie: what decides about it cannot be changed by another
// process before it is applied. A draft without edits changes nothing, and then
// there is no operation.
func (s *Store) Decide(ctx context.Context, root *Root, draft func(context.Context) (Draft, error)) (*Operation, error) {
	if err := writable(root, nil); err != nil {
		return nil, err
	}
	j := job{also: []*Root{root}}
	j.late = func(ctx context.Context) (job, error) {
		d, err := draft(ctx)
		if err != nil || len(d.Edits) == 0 {
			return job{}, err
		}
		p, err := s.plan(ctx, d)
		if err != nil {
			return job{}, err
		}
		late, err := s.job(p, ApplyOptions{})
		late.plan, late.stale = "", RefusedConflict
		return late, err
	}
	return s.commit(ctx, j)
}

func (s *Store) plan(ctx context.Context, d Draft) (*Plan, error) {
	now := s.opt.Now().UTC()
	life := planLife
	if d.Kind.persists() {
		life = inboxLife
	}
	p := &Plan{
		ID: s.newID("p"), Kind: d.Kind, CreatedAt: now, ExpiresAt: now.Add(cmp.Or(d.Expires, life)),
		Warnings: slices.Clone(d.Warnings), Query: d.Query, Session: d.Session, UndoFor: cmp.Or(d.UndoFor, defaultUndo), Usage: d.Usage, Origin: d.Origin,
	}
	if len(d.Edits) == 0 {
		return nil, refuse(RefusedNotFound, nil, "there is nothing to change")
	}
	b := &bases{disk: s.disk, open: map[string]*folder{}}
	defer b.close()
	for i, e := range d.Edits {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("planning: %w", err)
		}
		c, note, err := s.change(b, e)
		if err != nil {
			return nil, err
		}
		if note != "" && !slices.Contains(p.Warnings, note) {
			p.Warnings = append(p.Warnings, note)
		}
		c.ID = "c" + strconv.Itoa(i+1)
		p.Changes = append(p.Changes, *c)
	}
	p.connect(d.Edits)
	return p, nil
}

// change makes a change of an edit, with what is to be said of its file.
func (s *Store) change(b *bases, e Edit) (_ *Change, note string, _ error) {
	root, rel := e.Root, e.Rel
	if e.Action != ActionCreate {
		if e.Doc == nil {
			return nil, "", errors.New("an edit without its document")
		}
		root, rel = e.Doc.Root, e.Doc.Rel
	}
	if root == nil {
		return nil, "", errors.New("an edit without its root")
	}
	c := &Change{
		Action: e.Action, RootID: root.ID, Real: root.Real, Rel: rel, Ref: encodeRef(root.Prefix, rel), DropEmpty: e.DropEmpty,
		Reason: e.Reason, Why: e.Why, Score: e.Score, Evidence: e.Evidence,
		Carrier: carrierOf(e.Carrier),
	}
	refs := []string{c.Ref}
	if e.Entry != nil {
		c.Ref += "#" + strconv.Itoa(*e.Entry)
	}
	if err := s.admit([]goal{{root: root, rel: rel, ref: c.Ref}}); err != nil {
		return nil, "", err
	}
	raw, info, err := b.readToChange(root, rel, c.Ref)
	absent := errors.Is(err, fs.ErrNotExist)
	if err != nil && !absent {
		return nil, "", refuseIO(err, refs, "reading "+c.Ref)
	}
	if err := c.fill(e, raw, absent); err != nil {
		return nil, "", err
	}
	if s.opt.Secrets != nil && c.Action != ActionDelete {
		_, next, err := c.result(raw)
		if err != nil {
			return nil, "", err
		}
		if err := secretsIn(s.opt.Secrets, c.Ref, raw, next); err != nil {
			return nil, "", err
		}
	}
	if info != nil {
		note = linked(encodeRef(root.Prefix, rel), info, c.Action)
	}
	return c, note, nil
}

// fill computes what the change does to the bytes that it finds.
func (c *Change) fill(e Edit, raw []byte, absent bool) error {
	refs := []string{c.Ref}
	if e.Action == ActionCreate {
		if !absent {
			return refuse(RefusedConflict, refs, "there is a file of this name")
		}
		if err := CheckPortable(c.Rel); err != nil {
			return refuse(RefusedEscape, refs, "no name for a new memory: %w", err)
		}
		c.Text = append([]byte{}, e.Text...)
		c.Diff = unified(c.Ref, nil, c.Text)
		return nil
	}
	switch {
	case absent:
		return refuse(RefusedNotFound, refs, "the memory is gone")
	case digest(raw) != e.Doc.Version:
		return refuse(RefusedConflict, refs, "the file has changed since it was read")
	}
	c.Base = e.Doc.Version
	if e.Action == ActionDelete {
		c.Diff = unified(c.Ref, raw, nil)
		return nil
	}
	if c.Replace = slices.Clone(e.Replace); e.Replace == nil {
		c.Replace = rewrites(raw, e.Text)
	}
	_, next, err := c.result(raw)
	if err != nil {
		return err
	}
	c.Diff = unified(c.Ref, raw, next)
	return nil
}

// result is what a change alone makes of a file; nil when the file goes.
func (c *Change) result(raw []byte) (absent bool, next []byte, err error) {
	next, err = compose([]*Change{c})(raw)
	return next == nil, next, err
}

// compose makes the content of a file from the changes of it that were chosen.
func compose(changes []*Change) func(raw []byte) ([]byte, error) {
	return func(raw []byte) ([]byte, error) {
		var parts [][]Replacement
		drop := false
		for _, c := range changes {
			switch c.Action {
			case ActionDelete:
				return nil, nil
			case ActionCreate:
				return append([]byte{}, c.Text...), nil
			}
			parts = append(parts, c.Replace)
			drop = drop || c.DropEmpty
		}
		next, err := Replace(raw, mergeReplacements(parts...)...)
		if err != nil {
			return nil, refuse(RefusedConflict, refsOf(values(changes)), "the changes do not go together: %w", err)
		}
		if drop && nothingLeft(next) {
			return nil, nil
		}
		return next, nil
	}
}

// nothingLeft tells whether a file that lost entries remembers nothing any
// more. A file whose header does not parse is never judged so.
func nothingLeft(raw []byte) bool {
	d := Parse(raw)
	for _, p := range d.Problems {
		if p.Severity <= SeverityWarning {
			return false
		}
	}
	return !d.Lossy && len(Entries(d)) == 0
}

func values(changes []*Change) []Change {
	out := make([]Change, len(changes))
	for i, c := range changes {
		out[i] = *c
	}
	return out
}

// Apply makes the changes of a plan, or some of them: all that were asked for,
// or none. What is left of an inbox plan stays pending; every other plan is
// closed.
func (s *Store) Apply(ctx context.Context, id string, o ApplyOptions) (*Operation, error) {
	p, err := s.Plan(id)
	if err != nil {
		return nil, err
	}
	j, err := s.job(p, o)
	if err != nil {
		return nil, err
	}
	chosen, err := p.choose(o)
	if err != nil {
		return nil, err
	}
	if err := p.complete(chosen); err != nil {
		return nil, err
	}
	j.check = func(*locked) error {
		// Somebody else may have applied it while the lock was waited for.
		if _, err := s.Plan(id); err != nil {
			return err
		}
		return s.carried(chosen)
	}
	home, err := s.homeOf(p)
	if err != nil {
		return nil, err
	}
	j.also = []*Root{home}
	j.done = func(l *locked, r *record) error { return s.close(l, p, r, o) }
	op, err := s.commit(ctx, j)
	if err == nil && p.Kind.persists() && s.opt.PlansChanged != nil {
		s.opt.PlansChanged()
	}
	return op, err
}

// job is what applying a plan comes to.
func (s *Store) job(p *Plan, o ApplyOptions) (job, error) {
	j := job{kind: p.Kind, plan: p.ID, undoFor: p.UndoFor, purge: o.Purge, scan: true, stale: RefusedStale, usage: p.Usage, origin: p.Origin}
	chosen, err := p.choose(o)
	if err != nil {
		return j, err
	}
	byFile := map[string][]*Change{}
	var order []string
	for _, c := range chosen {
		key := c.RootID + ":" + c.Rel
		if byFile[key] == nil {
			order = append(order, key)
		}
		byFile[key] = append(byFile[key], c)
	}
	for _, key := range order {
		changes := byFile[key]
		c := changes[0]
		root := s.root(c.RootID, c.Real)
		if root == nil {
			return j, refuse(RefusedNotFound, []string{c.Ref}, "the root of this plan is not served here")
		}
		t := goal{root: root, rel: c.Rel, ref: encodeRef(root.Prefix, c.Rel), base: c.Base, next: compose(changes)}
		if text, edited, err := editedText(changes, o.Edits); err != nil {
			return j, err
		} else if edited {
			t.next = func(raw []byte) ([]byte, error) { return respell(raw, text) }
		}
		j.files = append(j.files, t)
	}
	return j, nil
}

// choose are the changes of a plan that are to be made.
func (p *Plan) choose(o ApplyOptions) ([]*Change, error) {
	if p.Query && len(p.Changes) > 1 && len(o.Only) == 0 {
		return nil, &Refusal{
			Kind: RefusedInput, Field: "only", Refs: refsOf(p.Changes),
			Detail: fmt.Sprintf("a query found %d candidates; say which are meant", len(p.Changes)),
		}
	}
	ids := make(map[string]*Change, len(p.Changes))
	for i := range p.Changes {
		ids[p.Changes[i].ID] = &p.Changes[i]
	}
	for id := range o.Edits {
		if ids[id] == nil {
			return nil, &Refusal{Kind: RefusedInput, Field: "edits", Detail: fmt.Sprintf("the plan has no change %.40q", id)}
		}
		if len(o.Only) > 0 && !slices.Contains(o.Only, id) {
			return nil, &Refusal{Kind: RefusedInput, Field: "edits", Detail: fmt.Sprintf("change %s is edited and not chosen", id)}
		}
	}
	for _, id := range o.Only {
		if ids[id] == nil {
			return nil, &Refusal{Kind: RefusedInput, Field: "only", Detail: fmt.Sprintf("the plan has no change %.40q", id)}
		}
	}
	var chosen []*Change
	for i := range p.Changes {
		if c := &p.Changes[i]; len(o.Only) == 0 || slices.Contains(o.Only, c.ID) {
			chosen = append(chosen, c)
		}
	}
	return chosen, nil
}

// editedText is the whole text that a person gave a file in the place of its
// changes. It stands for all of them, so it can only be given for the one that
// was chosen.
func editedText(changes []*Change, edits map[string]string) (text string, edited bool, err error) {
	for _, c := range changes {
		if t, ok := edits[c.ID]; ok {
			text, edited = t, true
		}
	}
	if edited && len(changes) > 1 {
		return "", false, &Refusal{
			Kind: RefusedInput, Field: "edits", Refs: refsOf(values(changes)),
			Detail: "an edited text replaces the whole file: choose only one change of it",
		}
	}
	return text, edited, nil
}

// respell is a text as the content of a file, in the encoding that the file had.
func respell(raw []byte, text string) ([]byte, error) {
	if raw == nil {
		return append([]byte{}, text...), nil
	}
	return Replace(raw, rewrites(raw, text)...)
}
