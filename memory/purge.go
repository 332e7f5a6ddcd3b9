package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Forgotten is what a purge erases everywhere.
type Forgotten struct {
	Refs  []string // of files that are gone
	Texts []string // lines that are gone, and titles; the shortest useful ones have a few characters
	// Files are all files from which something is gone, those that are still there
	// included.
	Files []ForgottenFile
}

// ForgottenFile is a file of a root by its ref.
type ForgottenFile struct{ Root, Ref string }

// AllRefs are the refs of all files from which something is gone.
func (f Forgotten) AllRefs() []string {
	refs := make([]string, len(f.Files))
	for i := range f.Files {
		refs[i] = f.Files[i].Ref
	}
	return refs
}

// EachRoot calls do with the id of each root that something is gone from, and the refs
// of the files.
func (f Forgotten) EachRoot(do func(root string, refs []string) error) error {
	roots := map[string][]string{}
	for _, file := range f.Files {
		roots[file.Root] = append(roots[file.Root], file.Ref)
	}
	for _, root := range slices.Sorted(maps.Keys(roots)) {
		if err := do(root, roots[root]); err != nil {
			return err
		}
	}
	return nil
}

const (
	// tellingRunes is how long a removed line must be to betray by itself that a
	// text holds what was forgotten.
	tellingRunes = 12
	shortRunes   = 3
)

// ownRoots are the roots whose state a purge looks through.
func (s *Store) ownRoots() []*Root {
	return slices.DeleteFunc(slices.Clone(s.opt.Roots()), func(r *Root) bool { return r.Untrusted || r.ReadOnly })
}

func (s *Store) unlockedOwn(l *locked) []*Root {
	return slices.DeleteFunc(s.ownRoots(), func(r *Root) bool { return l.state(r.ID) != nil })
}

// forgotten is what an operation took away.
func (r *record) forgotten() *forgetting {
	f := &forgetting{files: map[string]bool{}}
	for i := range r.Files {
		file, c := &r.Files[i], &r.contents[i]
		if c.Before == nil {
			continue
		}
		f.files[file.key()] = true
		f.Files = append(f.Files, ForgottenFile{file.Root, file.Ref})
		d := Parse(c.Before)
		gone := removedText(c.Before, c.After)
		if file.Action == ActionDelete {
			f.Refs = append(f.Refs, file.Ref)
			f.add(d.Title, shortRunes)
			f.add(d.Description, shortRunes)
			gone = d.BodyText()
			if c.Entry != nil {
				gone += "\n" + c.Entry.Text
			}
		}
		before := len(f.Texts)
		for line := range strings.Lines(gone) {
			f.add(line, tellingRunes)
		}
		if len(f.Texts) == before {
			f.add(gone, shortRunes)
		}
	}
	return f
}

// forgetting is Forgotten in the making, with the files that it was taken from.
type forgetting struct {
	Forgotten
	files map[string]bool
}

func (f *forgetting) add(text string, least int) {
	text = strings.Trim(text, whitespace+"-*+>#")
	if utf8.RuneCountInString(text) >= least && !slices.Contains(f.Texts, text) {
		f.Texts = append(f.Texts, text)
	}
}

func (f *forgetting) in(raw []byte) bool {
	text := decode(raw, false).text
	return slices.ContainsFunc(f.Texts, func(t string) bool { return strings.Contains(text, t) })
}

// holds tells whether an operation keeps something that was forgotten of one of
// its files.
func (f *forgetting) holds(r *record, i int) bool {
	if f.files[r.Files[i].key()] {
		return true
	}
	return i < len(r.contents) && (f.in(r.contents[i].Before) || f.in(r.contents[i].After))
}

// roots are those that something was forgotten in, by id.
func (f *forgetting) roots() map[string]bool {
	ids := map[string]bool{}
	for key := range f.files {
		id, _, _ := strings.Cut(key, ":")
		ids[id] = true
	}
	return ids
}

// drop takes out what is kept of the indexes of some roots, and tells whether that
// was anything: an index words what a file says in its own way, and cuts it.
func (x *indexEdits) drop(roots map[string]bool) bool {
	gone := false
	for _, list := range []*[]indexEdit{&x.Done, &x.Back} {
		*list = slices.DeleteFunc(*list, func(e indexEdit) bool {
			gone = gone || roots[e.Root]
			return roots[e.Root]
		})
	}
	return gone
}

func (f *fileRecord) key() string { return f.Root + ":" + f.Rel }

// holdsPlan tells whether a plan does.
func (f *forgetting) holdsPlan(p *Plan) bool {
	for _, c := range p.Changes {
		if f.files[c.RootID+":"+c.Rel] || f.in(c.Text) || f.in([]byte(c.Diff)) || f.in([]byte(c.Reason)) {
			return true
		}
		for _, w := range c.Why {
			if f.in([]byte(w.Term)) {
				return true
			}
		}
		for _, r := range c.Replace {
			if f.in([]byte(r.New)) {
				return true
			}
		}
	}
	return slices.ContainsFunc(p.Warnings, func(w string) bool { return f.in([]byte(w)) })
}

// finishPurge ends an operation that purges. All own roots are locked.
//
// Inv: as long as the record with its contents is in the journal, a crash only
// means that all of this is done again.
func (s *Store) finishPurge(ctx context.Context, l *locked, r *record) error {
	f := r.forgotten()
	b := &bases{disk: s.disk, open: map[string]*folder{}}
	defer b.close()
	for _, state := range l.states {
		if err := s.purgeState(state, f, b); err != nil {
			return fmt.Errorf("erasing what was forgotten: %w", err)
		}
	}
	s.mu.Lock()
	for id, p := range s.plans {
		if f.holdsPlan(p) {
			delete(s.plans, id)
		}
	}
	s.mu.Unlock()
	if s.opt.Purge != nil {
		if err := s.opt.Purge(ctx, f.Forgotten); err != nil {
			return fmt.Errorf("erasing what was forgotten: %w", err)
		}
	}
	kept := &record{recordHeader: r.recordHeader, contents: r.contents}
	if err := kept.redact(f, b); err != nil {
		return fmt.Errorf("erasing what was forgotten: %w", err)
	}
	kept.Purged, kept.UndoUntil, kept.contents = true, time.Time{}, nil
	raw, err := kept.encode()
	if err != nil {
		return err
	}
	if err := l.state(r.Roots[0].ID).put(stateOperations, r.ID+loggedSuffix, raw); err != nil {
		return err
	}
	return s.abandon(l, r)
}

// redact takes the names of files that are gone, and of which the operation kept
// something that was forgotten, out of a record: they were made of what the files
// said. There is no way back to them.
func (r *record) redact(f *forgetting, b *bases) error {
	r.Files = slices.Clone(r.Files)
	r.Changes = slices.Clone(r.Changes)
	for i := range r.Files {
		file := &r.Files[i]
		if !f.holds(r, i) {
			continue
		}
		root := r.root(file.Root)
		there, err := b.exists(root, file.Rel)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		name := root.Prefix + ":" + purgedName
		if i < len(r.Changes) {
			r.Changes[i].Ref, r.Changes[i].Purged = name, true
		}
		file.Ref, file.Rel, file.Dirs = name, purgedName, nil
	}
	return nil
}

// purgedName stands for the name of a file that was purged.
const purgedName = "purged.md"

// purgeState erases what was forgotten from the state of one root.
func (s *Store) purgeState(state *rootState, f *forgetting, b *bases) error {
	for _, suffix := range []string{recordSuffix, loggedSuffix} {
		ids, err := listState(state.folder, stateOperations, suffix)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := purgeRecord(state, f, b, id+suffix); err != nil {
				return err
			}
		}
	}
	if err := state.dropImage(); err != nil {
		return err
	}
	if err := s.purgePlans(state, f); err != nil {
		return err
	}
	if err := s.purgeRescued(state, f); err != nil {
		return err
	}
	// What cannot be read cannot be searched either.
	corrupt, err := listState(state.folder, stateCorrupt, "")
	if err != nil {
		return err
	}
	for _, name := range corrupt {
		if err := state.drop(stateCorrupt, name); err != nil {
			return err
		}
	}
	return nil
}

// purgeRecord erases the contents of an operation that keeps what was forgotten.
func purgeRecord(state *rootState, f *forgetting, b *bases, name string) error {
	raw, err := state.get(stateOperations, name)
	if err != nil {
		return err
	}
	r, err := decodeRecord(raw)
	if err != nil {
		// What cannot be read cannot be searched either.
		return state.drop(stateOperations, name)
	}
	held := false
	for i := range r.Files {
		held = held || f.holds(r, i)
	}
	if !held && r.indexes.drop(f.roots()) {
		// The operation can be undone without.
		if raw, err = r.encode(); err != nil {
			return err
		}
		return state.put(stateOperations, name, raw)
	}
	if !held {
		return nil
	}
	if err := r.redact(f, b); err != nil {
		return err
	}
	return state.strip(&r.recordHeader)
}

func (s *Store) purgePlans(state *rootState, f *forgetting) error {
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
		if err := json.Unmarshal(raw, &p); err == nil && !f.holdsPlan(&p) {
			continue
		}
		if err := state.drop(statePlans, id+recordSuffix); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) purgeRescued(state *rootState, f *forgetting) error {
	names, err := listState(state.folder, stateRescued, "")
	if err != nil {
		return err
	}
	for _, n := range names {
		raw, err := state.get(stateRescued, n)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if f.in(raw) {
			if err := state.drop(stateRescued, n); err != nil {
				return err
			}
		}
	}
	return nil
}
