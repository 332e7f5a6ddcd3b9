package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Reasons of changes whose file is another one by now.
const (
	reasonMoved    = "the file has changed elsewhere since; the change is the same"
	reasonConflict = "conflict: the file has changed since where this would change it; what was proposed stands behind what is there"
)

// refresh makes a plan of the inbox anew over files that have changed since, so
// that it shows both sides: what is there now, and what was proposed. Whether a
// person still wants it is for them to say.
func (s *Store) refresh(ctx context.Context, id string) error {
	p, err := s.Plan(id)
	if err != nil {
		return err
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
	// Somebody else may have applied or dropped it while the lock was waited for.
	if p, err = s.Plan(id); err != nil {
		return err
	}
	b := &bases{disk: s.disk, open: map[string]*folder{}}
	defer b.close()
	for i := range p.Changes {
		c := &p.Changes[i]
		root := s.root(c.RootID, c.Real)
		if root == nil {
			continue
		}
		if err := s.refreshChange(b, root, c); err != nil {
			return err
		}
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("writing plan %s: %w", p.ID, err)
	}
	if err := l.states[0].put(statePlans, p.ID+recordSuffix, raw); err != nil {
		return refuseIO(err, nil, "writing a plan")
	}
	return nil
}

// refreshChange makes one change anew. A memory that is gone stays so: its change
// can only be discarded.
func (s *Store) refreshChange(b *bases, root *Root, c *Change) error {
	raw, _, err := b.read(root, c.Rel)
	absent := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !absent:
		return refuseIO(err, []string{c.Ref}, "reading "+c.Ref)
	case c.Action == ActionCreate && !absent:
		if c.Rel, err = s.FreeName(root, c.Rel); err != nil {
			return err
		}
		c.Ref = encodeRef(root.Prefix, c.Rel)
		c.Diff = unified(c.Ref, nil, c.Text)
		return nil
	case c.Action != ActionUpdate || absent || digest(raw) == c.Base:
		return nil
	}
	d := Parse(raw)
	reps, conflict := transplant(d, c.Diff)
	next, err := Replace(raw, reps...)
	if err != nil {
		return nil //nolint:nilerr // Inv: a change that cannot be made anew keeps its base, and is refused as stale again
	}
	c.Base, c.Replace, c.Diff = digest(raw), reps, unified(c.Ref, raw, next)
	switch {
	case conflict:
		c.Reason = reasonConflict
	case !strings.Contains(c.Reason, reasonMoved):
		c.Reason += "; " + reasonMoved
	}
	return nil
}

// transplant is what a diff changes, in another version of its file: at the places
// where the lines that it was made from stand, once each. Lines for which there is
// no such place go behind the body, and are a conflict.
func transplant(d *Document, diff string) (reps []Replacement, conflict bool) {
	var before, after, added bytes.Buffer
	var left strings.Builder
	flush := func() {
		from, to := before.String(), after.String()
		at := strings.Index(d.Text, from)
		switch {
		case from == to:
		case from != "" && strings.Count(d.Text, from) == 1:
			reps = append(reps, Replacement{Span{at, at + len(from)}, to})
		default:
			left.WriteString(added.String())
		}
		before.Reset()
		after.Reset()
		added.Reset()
	}
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"), strings.HasPrefix(line, `\`):
		case strings.HasPrefix(line, "@@"):
			flush()
		case strings.HasPrefix(line, "-"):
			before.WriteString(line[1:])
		case strings.HasPrefix(line, "+"):
			after.WriteString(line[1:])
			if !headerLine(line[1:]) {
				added.WriteString(line[1:])
			}
		case line != "":
			before.WriteString(line[1:])
			after.WriteString(line[1:])
		}
	}
	flush()
	if text := strings.TrimSpace(left.String()); text != "" {
		reps = append(reps, appendEntry(d, text))
		conflict = true
	}
	return reps, conflict
}

// headerLine tells whether a line is a key of a header that follows from a change.
func headerLine(line string) bool {
	return strings.HasPrefix(line, "updated_at:") || strings.HasPrefix(line, "description:") || strings.HasPrefix(line, "name:")
}
