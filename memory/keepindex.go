package memory

import (
	"bytes"
	"time"
)

// KeepIndex keeps the indexes of roots by [UpdateIndex] and [RebuildIndex]: those
// that a generator made are made anew, those that somebody wrote are changed line
// by line. now decides what has expired.
func KeepIndex(now func() time.Time) IndexFunc {
	return func(u IndexUpdate) (next []byte, write bool, err error) {
		after, err := u.Documents()
		if err != nil {
			return nil, false, err
		}
		before := u.before(after)
		opt := IndexOptions{Team: u.Root.Scope == ScopeTeam, Now: now(), Former: u.Former}
		var x *IndexFile
		if u.Current != nil {
			x = ParseIndex(u.Current)
		}
		current := u.Current
		if u.Merged != nil && (!x.GeneratedFrom(before) || opt.formerWords(after)) {
			current, x = u.Merged, ParseIndex(u.Merged)
		}
		var c IndexChange
		if len(u.Removed)+len(u.Added) == 0 {
			c = RebuildIndex(x, after, opt)
		} else {
			c = UpdateIndex(x, before, after, opt)
		}
		if x != nil && len(c.Replace) == 0 {
			return current, !bytes.Equal(current, u.Current), nil
		}
		next, err = c.Bytes(current)
		return next, err == nil, err
	}
}

// before are the documents before the change.
func (u IndexUpdate) before(after []*Document) []*Document {
	added := map[string]bool{}
	for _, d := range u.Added {
		added[d.Rel] = true
	}
	var before []*Document
	for _, d := range after {
		if !added[d.Rel] {
			before = append(before, d)
		}
	}
	return append(before, u.Removed...)
}
