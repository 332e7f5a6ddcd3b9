package memory

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// merge makes one memory of several: the first of the sources, by age, takes the
// text, and the others go.
func (c *consolidation) merge(of []*Document, n Note, reason string) ([]Edit, *Skipped) {
	slices.SortStableFunc(of, func(a, b *Document) int {
		if betterKept(a, b) {
			return -1
		}
		return 1
	})
	keeper := of[0]
	for _, d := range of[1:] {
		if d.Type != keeper.Type || d.Root != keeper.Root {
			return nil, &Skipped{Reason: SkipMalformed, Detail: "a merge of memories of different types"}
		}
	}
	if (c.found.removed+len(of)-1)*maxRemovedPart > c.files {
		return nil, &Skipped{Reason: SkipBounded, Detail: fmt.Sprintf("merging into %s would remove more than one file in %d", keeper.Ref, maxRemovedPart)}
	}
	for _, d := range of {
		n.Keywords = union(n.Keywords, d.Keywords)
	}
	e, s := rewrite(keeper, n, fmt.Sprintf("merged from %d memories", len(of)), reason)
	if s != nil {
		return nil, s
	}
	e.Key = "merge of " + keeper.Ref
	edits := []Edit{*e}
	for _, d := range of[1:] {
		edits = append(edits, Edit{
			Action: ActionDelete, Doc: d, Needs: []string{e.Key}, Evidence: []string{keeper.Ref, d.Ref},
			Reason: because("all that it says is merged into "+keeper.Ref, reason),
		})
	}
	return edits, nil
}

// split makes several memories of one: the first takes its place.
func (c *consolidation) split(d *Document, notes []Note, reason string) ([]Edit, *Skipped) {
	e, s := rewrite(d, notes[0], fmt.Sprintf("split into %d memories", len(notes)), reason)
	if s != nil {
		return nil, s
	}
	var edits []Edit
	taken := map[string]bool{}
	for _, n := range notes[1:] {
		rel, err := c.d.opt.Store.FreeName(d.Root, path.Join(path.Dir(d.Rel), Slug(n.Name)+".md"))
		if err != nil || taken[foldName(rel)] {
			return nil, &Skipped{Reason: SkipUnchangeable, Detail: "there is no free name for a part of " + d.Ref}
		}
		taken[foldName(rel)] = true
		key := "part " + encodeRef(d.Root.Prefix, rel)
		edits = append(edits, Edit{
			Action: ActionCreate, Root: d.Root, Rel: rel, Key: key, Text: n.file(d, c.d.opt.Now()),
			Reason: because("a part of "+d.Ref, reason), Evidence: []string{d.Ref},
		})
		e.Needs = append(e.Needs, key)
	}
	return append(edits, *e), nil
}

// file is a note as a file of its own, of the kind of the memory that it was a
// part of.
func (n Note) file(of *Document, now time.Time) string {
	return newFile(n.Body+"\n",
		KeyChange{Key: "name", Text: n.Name}, KeyChange{Key: "description", Text: n.Description}, KeyChange{Key: "type", Text: of.Type},
		KeyChange{Key: "keywords", List: n.Keywords}, KeyChange{Key: "created_at", Text: now.UTC().Format(time.RFC3339)})
}

// rewrite puts a text into the place of a memory's own. Inv: the file is read back
// as just that text under the same keys, else nothing is written.
func rewrite(d *Document, n Note, what, reason string) (*Edit, *Skipped) {
	unchangeable := &Skipped{Reason: SkipUnchangeable, Detail: d.Ref + " cannot be rewritten"}
	if d.Body.Len() == 0 {
		return nil, unchangeable
	}
	reps := []Replacement{{Span: d.Body, New: strings.ReplaceAll(n.Body, "\n", LineEnd(d.Text))}}
	if d.Header.Len() > 0 {
		changes := []KeyChange{{Key: "name", Text: n.Name}}
		if n.Description != "" {
			changes = append(changes, KeyChange{Key: "description", Text: n.Description})
		}
		if len(n.Keywords) > 0 {
			changes = append(changes, KeyChange{Key: "keywords", List: union(n.Keywords, d.Keywords)})
		}
		head, err := SetKeys(d, changes...)
		if err != nil {
			return nil, unchangeable
		}
		reps = append(reps, head...)
	}
	text, err := ReplaceText(d.Text, reps...)
	if err != nil {
		return nil, unchangeable
	}
	now := Parse([]byte(text))
	if !slices.Equal(words(now.BodyText()), words(n.Body)) || now.Status != d.Status || now.Pinned != d.Pinned || (now.Header.Len() > 0) != (d.Header.Len() > 0) {
		return nil, unchangeable
	}
	return &Edit{Action: ActionUpdate, Doc: d, Replace: reps, Reason: because(what, reason), Evidence: []string{d.Ref}}, nil
}

// supersede marks the older one of two memories as no longer holding. Which one is
// older, their own dates say, not the model.
func supersede(of []*Document, reason string) ([]Edit, *Skipped) {
	old, now := of[0], of[1]
	date := func(d *Document) time.Time {
		for _, t := range []time.Time{d.UpdatedAt, d.CreatedAt, d.ModTime} {
			if !t.IsZero() {
				return t
			}
		}
		return time.Time{}
	}
	if date(old).After(date(now)) {
		return nil, &Skipped{Reason: SkipMalformed, Detail: fmt.Sprintf("%s is newer than %s, which is said to take its place", old.Ref, now.Ref)}
	}
	if old.Header.Len() == 0 {
		return nil, &Skipped{Reason: SkipUnchangeable, Detail: old.Ref + " has no header to be marked in"}
	}
	reps, err := SetKeys(old, KeyChange{Key: "status", Text: StatusSuperseded})
	if err != nil || len(reps) == 0 {
		return nil, &Skipped{Reason: SkipUnchangeable, Detail: old.Ref + ": its header cannot be changed"}
	}
	return []Edit{{Action: ActionUpdate, Doc: old, Replace: reps, Reason: because(now.Ref+" holds in its place", reason), Evidence: []string{old.Ref, now.Ref}}}, nil
}

// because joins what a change is with the reason that a model gave.
func because(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + "; the model says: " + reason
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
