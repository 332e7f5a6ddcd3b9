package memory

import (
	"fmt"
	"path"
)

// MoveDraft is what it takes to move a memory to another root: its file is
// created there, byte for byte, and removed here.
func (s *Store) MoveDraft(doc *Document, to *Root) (Draft, error) {
	refs := []string{doc.Ref}
	if doc.Root.Real == to.Real {
		return Draft{}, refuse(RefusedConflict, refs, "the memory is in that root already")
	}
	if err := s.admit([]goal{{root: doc.Root, rel: doc.Rel, ref: doc.Ref}}); err != nil {
		return Draft{}, err
	}
	if err := writable(to, refs); err != nil {
		return Draft{}, err
	}
	b := &bases{disk: s.disk, open: map[string]*folder{}}
	defer b.close()
	raw, _, err := b.readToChange(doc.Root, doc.Rel, doc.Ref)
	if err != nil {
		return Draft{}, refuseIO(err, refs, "reading "+doc.Ref)
	}
	if digest(raw) != doc.Version {
		return Draft{}, refuse(RefusedConflict, refs, "the file has changed since it was read")
	}
	rel, err := s.FreeName(to, doc.Rel)
	if err != nil {
		return Draft{}, err
	}
	why := fmt.Sprintf("moved from %s to %s", doc.Root.Prefix, to.Prefix)
	d := Draft{Kind: KindMove, Edits: []Edit{
		{Action: ActionCreate, Root: to, Rel: rel, Text: string(raw), Reason: why},
		{Action: ActionDelete, Doc: doc, Reason: why},
	}}
	if rel != doc.Rel {
		d.Warnings = append(d.Warnings, fmt.Sprintf("the name was taken, or not every system takes it; it is %s there", path.Base(rel)))
	}
	return d, nil
}
