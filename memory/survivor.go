package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// Carrier is the memory that carries on what a change removes.
type Carrier struct {
	Ref    string `json:"ref"`
	RootID string `json:"root"`
	Real   string `json:"real"`
	Rel    string `json:"rel"`
}

func carrierOf(d *Document) *Carrier {
	if d == nil {
		return nil
	}
	return &Carrier{Ref: d.Ref, RootID: d.Root.ID, Real: d.Root.Real, Rel: d.Rel}
}

// connect gives changes the ids of those that they rest on. A key that no edit
// bears is that of one which was left out before.
func (p *Plan) connect(edits []Edit) {
	ids := map[string]string{}
	for i, e := range edits {
		if e.Key != "" {
			ids[e.Key] = p.Changes[i].ID
		}
	}
	for i, e := range edits {
		for _, key := range e.Needs {
			if id := ids[key]; id != "" {
				p.Changes[i].Needs = append(p.Changes[i].Needs, id)
			}
		}
	}
}

// complete refuses to make changes without those of the same plan that they rest
// on: a memory does not go before its statements stand elsewhere.
func (p *Plan) complete(chosen []*Change) error {
	among := func(id string) func(*Change) bool { return func(c *Change) bool { return c.ID == id } }
	for _, c := range chosen {
		for _, id := range c.Needs {
			i := slices.IndexFunc(p.Changes, func(o Change) bool { return o.ID == id })
			if i >= 0 && !slices.ContainsFunc(chosen, among(id)) {
				return refuse(RefusedConflict, []string{c.Ref, p.Changes[i].Ref}, "change %s of %s rests on %s, of %s: make both, or that one first", c.ID, c.Ref, id, p.Changes[i].Ref)
			}
		}
	}
	return nil
}

// carried refuses to remove what its carrier does not say any more. The roots are
// locked by then.
func (s *Store) carried(chosen []*Change) error {
	b := &bases{disk: s.disk, open: map[string]*folder{}}
	defer b.close()
	for _, c := range chosen {
		if c.Carrier == nil || c.Action != ActionDelete {
			continue
		}
		says, err := s.carries(b, c)
		if err != nil {
			return err
		}
		if !says {
			return refuse(RefusedStale, []string{c.Ref, c.Carrier.Ref}, "%s does not say any more what %s says", c.Carrier.Ref, c.Ref)
		}
	}
	return nil
}

func (s *Store) carries(b *bases, c *Change) (bool, error) {
	read := func(id, real, rel, ref string) (*Document, error) {
		root := s.root(id, real)
		if root == nil {
			return nil, refuse(RefusedNotFound, []string{ref}, "the root of this plan is not served here")
		}
		raw, _, err := b.read(root, rel)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, refuseIO(fmt.Errorf("reading %s: %w", ref, err), []string{ref}, "looking for what carries a statement")
		}
		return Parse(raw), nil
	}
	goes, err := read(c.RootID, c.Real, c.Rel, c.Ref)
	if err != nil || goes == nil {
		return goes == nil, err
	}
	stays, err := read(c.Carrier.RootID, c.Carrier.Real, c.Carrier.Rel, c.Carrier.Ref)
	if err != nil || stays == nil {
		return false, err
	}
	return stays.Status == StatusActive && sayingsOf(stays).carry(sayingsOf(goes)), nil
}
