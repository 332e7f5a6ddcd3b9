package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// workbench holds what a run has found so far: files as they would be, so that
// what comes later in a run is compared with what came before it.
type workbench struct {
	x       *extraction
	found   []*candidate // in the order in which they were taken
	pieces  []*draftFile
	pending [][]string // the words of what waits in the inbox
	taken   map[string]bool
}

// draftFile is one file that a run makes or changes.
type draftFile struct {
	orig     *Document // nil for a new file
	doc      *Document // as it would be
	reasons  []string
	evidence []string
	review   bool // a person has to look at it
}

func newWorkbench(x *extraction) *workbench {
	w := &workbench{x: x, taken: map[string]bool{}}
	plans, err := x.l.opt.Store.Plans(KindExtract)
	if err != nil {
		x.l.opt.Log.Warn("what waits in the inbox cannot be read", "error", err)
	}
	for _, p := range plans {
		for i := range p.Changes {
			c := &p.Changes[i]
			if c.Action == ActionCreate {
				w.pending = append(w.pending, words(Parse(c.Text).BodyText()))
			}
			for _, r := range c.Replace {
				if ws := words(r.New); len(ws) >= minSaid {
					w.pending = append(w.pending, ws)
				}
			}
		}
	}
	return w
}

// current is a memory as the run would have it by now.
func (w *workbench) current(d *Document) *Document {
	for _, p := range w.pieces {
		if p.orig != nil && p.orig.Ref == d.Ref {
			return p.doc
		}
	}
	return d
}

// again is the workbench after all that it had taken, over the files as they are
// now.
func (w *workbench) again(ctx context.Context) (*workbench, error) {
	var kept []Skipped
	for _, s := range w.x.out.Skipped {
		if !s.taken {
			kept = append(kept, s)
		}
	}
	w.x.out.Skipped = kept
	next := newWorkbench(w.x)
	snap := w.x.l.opt.Snapshot()
	for _, c := range w.found {
		if c.doc != nil {
			d, ok := snap.Get(c.doc.Ref)
			if !ok {
				w.x.out.skip(c.drop(DropRef, "the memory that it changes is gone"))
				continue
			}
			c.doc = d
		}
		next.take(ctx, []*candidate{c})
	}
	return next, ctx.Err()
}

// take takes candidates in, or says why not.
func (w *workbench) take(ctx context.Context, found []*candidate) {
	w.found = append(w.found, found...)
	for _, c := range found {
		if s := w.takeOne(ctx, c); s != nil {
			s.taken = true
			w.x.out.skip(s)
		}
	}
}

func (w *workbench) takeOne(ctx context.Context, c *candidate) *Skipped {
	if s := c.judge(w.x.tools.Content); s != nil {
		return s
	}
	m, s := w.statement(c, c.Body)
	if s != nil {
		return s
	}
	if s := w.blocked(c, m); s != nil {
		return s
	}
	if c.doc != nil {
		return w.update(c)
	}
	return w.place(ctx, c, m)
}

// statement reads what a candidate says as remembering would.
func (w *workbench) statement(c *candidate, body string) (*rememberer, *Skipped) {
	x := w.x
	m := &rememberer{
		Remember: Remember{Text: body, Type: c.Type, Name: c.Name, Keywords: c.Keywords, Folder: x.in.Folder, Now: x.l.opt.Now()},
		snap:     x.l.opt.Snapshot(), roots: x.l.opt.Roots(), origin: clipWords(CleanLine(x.in.Session), 128),
	}
	if !c.explicit || c.Scope != "" {
		m.Scope = x.scopeOf(c)
	}
	if err := m.read(); err != nil {
		return nil, c.drop(DropEmpty, "%s", refusalDetail(err))
	}
	m.scoped = false // what is known in another scope is known
	m.description = cmp.Or(c.Description, m.description)
	for _, part := range []struct{ label, text string }{{"Why", c.Why}, {"How to apply", c.HowToApply}} {
		if part.text != "" {
			m.more += fmt.Sprintf("\n**%s:** %s\n", part.label, part.text)
		}
	}
	return m, nil
}

func refusalDetail(err error) string {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r.Detail
	}
	return err.Error()
}

// blocked drops what was forgotten in any of the roots that it could go to, and
// what waits in the inbox already.
func (w *workbench) blocked(c *candidate, m *rememberer) *Skipped {
	for _, r := range w.x.l.opt.Roots() {
		if r.Untrusted || !r.Folders.Has(w.x.in.Folder) {
			continue
		}
		blocked, err := w.x.l.opt.Store.Blocked(r, m.body)
		if err != nil {
			// Inv: in doubt nothing that was forgotten comes back.
			w.x.l.opt.Log.Error("what was forgotten cannot be read", "root", r.Real, "error", err)
			return c.drop(DropForgotten, "what was forgotten cannot be read")
		}
		if blocked {
			return c.drop(DropForgotten, "it was forgotten, or rejected before")
		}
	}
	for _, old := range w.pending {
		if relate(old, m.said) == alreadySaid {
			return c.drop(DropKnown, "a plan that waits says it")
		}
	}
	return nil
}

// place finds where a new statement goes: into a memory that says less of it, or a
// file of its own.
func (w *workbench) place(ctx context.Context, c *candidate, m *rememberer) *Skipped {
	m.pool = w.pool(ctx, m)
	t, err := m.twins(ctx, nil)
	if err != nil {
		return c.drop(SkipCancelled, "%s", err)
	}
	if len(t.saying) > 0 {
		return c.drop(DropKnown, "%s says it", t.saying[0])
	}
	if t.best == nil {
		t.best = opposite(m)
	}
	if t.best == nil {
		return w.create(c, m)
	}
	return w.change(c, m, t.best)
}

// pool are the memories that a statement is compared with.
func (w *workbench) pool(ctx context.Context, m *rememberer) []*Document {
	pool := []*Document{}
	for _, p := range w.pieces {
		pool = append(pool, p.doc)
	}
	own := len(pool)
	near, err := m.candidates(ctx, w.x.tools.Ranker)
	if err != nil {
		w.x.l.opt.Log.Warn("looking for what is known", "error", err)
		return pool
	}
	for d := range near {
		if !slices.ContainsFunc(pool[:own], func(o *Document) bool { return o.Ref == d.Ref }) {
			pool = append(pool, d)
		}
	}
	return pool
}

// minOpposed is the part of two statements' words that they share when one of them
// is the contrary of the other.
const minOpposed = 0.6

// opposite is an entry that says the contrary in nearly the same words.
func opposite(m *rememberer) *twin {
	for _, d := range m.pool {
		entries := Entries(d)
		for i := range entries {
			e := &entries[i]
			old := words(d.Text[e.SummarySpan.Start:e.SummarySpan.End])
			if negated(old) != negated(m.said) && overlap(old, m.said) >= minOpposed {
				return &twin{doc: d, entry: e}
			}
		}
	}
	return nil
}

// overlap is how much two statements share of their words, from 0 to 1, without
// those that negate.
func overlap(a, b []string) float64 {
	set := func(ws []string) map[string]bool {
		s := map[string]bool{}
		for _, w := range ws {
			if !negations[w] && !always[w] {
				s[w] = true
			}
		}
		return s
	}
	x, y := set(a), set(b)
	both := 0
	for w := range x {
		if y[w] {
			both++
		}
	}
	all := len(x) + len(y) - both
	if all == 0 {
		return 0
	}
	return float64(both) / float64(all)
}

// always are what stands in the place of a negation.
var always = wordSet(`always immer toujours siempre sempre altijd alltid altid zawsze vždy aina mindig всегда завжди винаги πάντα دائما תמיד हमेशा luôn selalu เสมอ please bitte do`)

// change puts a statement into a memory. What takes a statement of a person's own
// hand away is for a person to decide.
func (w *workbench) change(c *candidate, m *rememberer, t *twin) *Skipped {
	d := t.doc
	switch {
	case d.Pinned:
		return c.drop(DropPinned, "%s is pinned", d.Ref)
	case writable(d.Root, nil) != nil || d.Truncated || d.Lossy:
		return c.drop(SkipReadOnly, "%s cannot be changed", d.Ref)
	}
	e, warnings, err := m.update(t)
	if err != nil {
		return c.drop(SkipReadOnly, "%s: %s", d.Ref, refusalDetail(err))
	}
	if len(warnings) > 0 {
		return c.drop(SkipReadOnly, "%s", warnings[0])
	}
	p := w.fileOf(d)
	reason := e.Reason
	if t.entry != nil && !t.extends {
		if d.OriginSession == "" && p.orig != nil {
			p.review = true
			reason = "conflict: it contradicts what stands there"
		} else {
			reason = "replaces what does not hold any more"
		}
	}
	return w.edit(c, p, e.Replace, reason)
}

// edit changes a file.
func (w *workbench) edit(c *candidate, p *draftFile, reps []Replacement, reason string) *Skipped {
	text, err := ReplaceText(p.doc.Text, reps...)
	if err != nil {
		return c.drop(SkipReadOnly, "%s cannot be changed", p.doc.Ref)
	}
	p.doc = like(p.doc, text)
	w.note(p, c, reason)
	return nil
}

// note keeps why a file is as it is.
func (w *workbench) note(p *draftFile, c *candidate, reason string) {
	if !slices.Contains(w.pieces, p) {
		w.pieces = append(w.pieces, p)
	}
	if !slices.Contains(p.reasons, reason) {
		p.reasons = append(p.reasons, reason)
	}
	for _, m := range c.evidence {
		if id := CleanLine(m.ID); !slices.Contains(p.evidence, id) {
			p.evidence = append(p.evidence, id)
		}
	}
	p.review = p.review || p.doc.Root.Scope == ScopeTeam || c.Confidence < sureConfidence || c.guessed
}

// fileOf is that of a memory.
func (w *workbench) fileOf(d *Document) *draftFile {
	for _, p := range w.pieces {
		if p.doc.Ref == d.Ref {
			return p
		}
	}
	return &draftFile{orig: d, doc: d}
}

// like is a document of the same file with another text.
func like(d *Document, text string) *Document {
	n := Parse([]byte(text))
	n.Root, n.Rel, n.Ref, n.Version = d.Root, d.Rel, d.Ref, d.Version
	n.ModTime = d.ModTime
	return n
}

// create makes a file of its own.
func (w *workbench) create(c *candidate, m *rememberer) *Skipped {
	root, err := m.target()
	if Scope(c.Scope) == ScopeTeam {
		// What is the team's is nobody else's.
		root, err = WritableRoot(m.roots, ScopeTeam, m.Folder)
	}
	if err != nil {
		return c.drop(SkipNoRoot, "%s", refusalDetail(err))
	}
	rel := m.freeName(root)
	ext := path.Ext(rel)
	for n := 2; w.taken[root.ID+":"+foldName(rel)]; n++ {
		rel = strings.TrimSuffix(m.freeName(root), ext) + fmt.Sprintf("-%d", n) + ext
	}
	if rel, err = w.x.l.opt.Store.FreeName(root, rel); err != nil {
		return c.drop(SkipNoRoot, "%s", refusalDetail(err))
	}
	w.taken[root.ID+":"+foldName(rel)] = true
	d := Parse([]byte(m.file()))
	d.Root, d.Rel, d.Ref = root, rel, encodeRef(root.Prefix, rel)
	reason := "said in the conversation"
	if c.explicit {
		reason = "asked to be remembered"
	}
	w.note(&draftFile{doc: d}, c, reason)
	return nil
}

// update changes the memory that a patch names: statement by statement, so that
// what the patch does not speak of stays.
func (w *workbench) update(c *candidate) *Skipped {
	d := w.current(c.doc)
	if d.Pinned {
		return c.drop(DropPinned, "%s is pinned", d.Ref)
	}
	said := Parse([]byte(c.Body + "\n"))
	changed := false
	for _, part := range Entries(said) {
		body := said.Text[part.SummarySpan.Start:part.SummarySpan.End]
		m, s := w.statement(c, body)
		if s != nil {
			continue // an empty part of one that says something
		}
		m.named = false
		d = w.current(c.doc)
		t := counterpart(d, m)
		if t == nil {
			continue
		}
		if s := w.change(c, m, t); s != nil {
			return s
		}
		changed = true
	}
	if !changed {
		return c.drop(DropKnown, "%s says it", d.Ref)
	}
	return nil
}

// minAlike is the part of their words that two statements share when one of them
// takes the place of the other.
const minAlike = 0.4

// counterpart is where in a memory a statement belongs: in the place of the entry
// that it changes, or behind the last one. Nil when the memory says it already.
func counterpart(d *Document, m *rememberer) *twin {
	entries := Entries(d)
	best := &twin{doc: d}
	most := minAlike
	for i := range entries {
		e := &entries[i]
		old := words(d.Text[e.SummarySpan.Start:e.SummarySpan.End])
		if relate(words(d.Text[e.Span.Start:e.Span.End]), m.said) == alreadySaid {
			return nil
		}
		if relate(old, m.said) == saysMore || subsequence(old, m.said) {
			return &twin{doc: d, entry: e, extends: true}
		}
		if o := overlap(old, m.said); o >= most {
			best, most = &twin{doc: d, entry: e}, o
		}
	}
	if relate(words(d.BodyText()), m.said) == alreadySaid {
		return nil
	}
	return best
}

// draft is everything that was found, with which of it is safe to be made without
// a person.
func (w *workbench) draft() (Draft, []bool) {
	d := Draft{Kind: KindExtract, Session: w.x.in.Session}
	var safe []bool
	for _, p := range w.pieces {
		e := Edit{Reason: strings.Join(p.reasons, "; "), Evidence: p.evidence}
		switch {
		case p.orig == nil:
			e.Action, e.Root, e.Rel, e.Text = ActionCreate, p.doc.Root, p.doc.Rel, p.doc.Text
		case p.orig.Text == p.doc.Text:
			continue
		default:
			e.Action, e.Doc, e.Text = ActionUpdate, p.orig, p.doc.Text
		}
		d.Edits = append(d.Edits, e)
		safe = append(safe, !p.review)
	}
	return d, safe
}
