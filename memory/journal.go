package memory

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// record is an operation with what it takes to finish it, or to undo it. It
// lies in the journal of its home root while it is under way, and becomes the
// operation's record by being renamed, which needs no room on the disk.
//
// On disk it is lines of JSON: the header, the contents, and what became of the
// indexes, so that a list of operations does not read what files contained.
type record struct {
	recordHeader
	contents []content // parallel to Files; nil when they were erased
	indexes  indexEdits
	notes    []string // what is to be said of the files to who asked for it; not kept
}

// indexEdits are what an operation did to indexes, and, for one that takes another
// back, what that one did.
type indexEdits struct {
	Done []indexEdit `json:"done,omitempty"`
	Back []indexEdit `json:"back,omitempty"`
}

type recordHeader struct {
	Operation
	Roots []rootRef    `json:"roots"` // by id; the first is the home
	Files []fileRecord `json:"files"`
	Purge bool         `json:"purge,omitempty"`
}

type rootRef struct {
	ID     string `json:"id"`
	Real   string `json:"real"`
	Prefix string `json:"prefix"`
	Scope  Scope  `json:"scope"`
	// IndexTemp is the temporary name of the root's index.
	IndexTemp string `json:"indexTemp,omitempty"`
}

// fileRecord is what an operation does to one file.
type fileRecord struct {
	Ref    string      `json:"ref"`
	Root   string      `json:"root"` // id
	Rel    string      `json:"rel"`
	Action Action      `json:"action"`
	Base   string      `json:"base,omitempty"`
	To     string      `json:"to,omitempty"`
	Mode   fs.FileMode `json:"mode"`
	// Temp is the name, in the file's directory, under which its new content is
	// written and its old one stands for a moment.
	Temp string `json:"temp"`
	// Dirs are directories that did not exist before, outermost first.
	Dirs []string `json:"dirs,omitempty"`

	note string // see record.notes
}

type content struct {
	Before []byte `json:"before,omitempty"`
	After  []byte `json:"after,omitempty"`
	// Entry is what the index of the root says of the file before the operation,
	// and Former what it is to say again after one that is undone.
	Entry  *FormerEntry `json:"entry,omitempty"`
	Former *FormerEntry `json:"former,omitempty"`
}

// link stands in the journal of every further root of an operation and names
// the home of its record.
type link struct {
	Home rootRef `json:"home"`
}

const (
	recordSuffix = ".json"
	loggedSuffix = ".log" // a record whose contents were erased
	linkSuffix   = ".link"
	abortSuffix  = ".abort" // beside a record that is being rolled back
)

func (r *record) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	if err := enc.Encode(r.recordHeader); err != nil {
		return nil, fmt.Errorf("writing operation %s: %w", r.ID, err)
	}
	if err := enc.Encode(r.contents); err != nil {
		return nil, fmt.Errorf("writing operation %s: %w", r.ID, err)
	}
	if r.contents != nil {
		if err := enc.Encode(r.indexes); err != nil {
			return nil, fmt.Errorf("writing operation %s: %w", r.ID, err)
		}
	}
	return b.Bytes(), nil
}

// noteIndex notes what becomes of the index of a root.
func (r *record) noteIndex(e indexEdit) {
	r.indexes.Done = append(slices.DeleteFunc(r.indexes.Done, func(d indexEdit) bool { return d.Root == e.Root }), e)
}

// back is what is to be taken back of the index of a root, nil when nothing is.
func (r *record) back(root string) *indexEdit {
	for i := range r.indexes.Back {
		if r.indexes.Back[i].Root == root {
			return &r.indexes.Back[i]
		}
	}
	return nil
}

// reversed is what taking the operation back does to documents.
func (r *record) reversed() *record {
	back := &record{recordHeader: r.recordHeader, contents: make([]content, len(r.contents)), indexes: indexEdits{Back: r.indexes.Done}}
	back.Kind = KindUndo
	for i, c := range r.contents {
		back.contents[i] = content{Before: c.After, After: c.Before, Former: c.Entry}
	}
	return back
}

// errCorrupt is a file of state that does not say what it should.
var errCorrupt = errors.New("corrupt")

func decodeRecord(raw []byte) (*record, error) {
	r := &record{}
	header, rest, _ := bytes.Cut(raw, []byte("\n"))
	contents, indexes, _ := bytes.Cut(rest, []byte("\n"))
	err := json.Unmarshal(header, &r.recordHeader)
	if err == nil {
		err = json.Unmarshal(contents, &r.contents)
	}
	if err == nil && len(indexes) > 0 {
		err = json.Unmarshal(indexes, &r.indexes)
	}
	if err == nil && r.contents != nil && len(r.contents) != len(r.Files) {
		err = errors.New("contents that do not fit")
	}
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%w record of an operation: %w", errCorrupt, err)
	}
	return r, nil
}

// check refuses a record that could lead out of its roots: state is ours, and
// still nothing read from a disk is used as a path unchecked.
func (r *recordHeader) check() error {
	if len(r.Roots) == 0 || !plainName(r.ID) {
		return errors.New("operation record without a root or an id")
	}
	for _, root := range r.Roots {
		if root.IndexTemp != "" && !isTempName(root.IndexTemp) {
			return fmt.Errorf("operation %s: temporary name %.80q", r.ID, root.IndexTemp)
		}
	}
	for _, f := range r.Files {
		if err := CheckRel(f.Rel); err != nil {
			return fmt.Errorf("operation %s: %w", r.ID, err)
		}
		if !isTempName(f.Temp) {
			return fmt.Errorf("operation %s: temporary name %.80q", r.ID, f.Temp)
		}
		if r.root(f.Root) == nil {
			return fmt.Errorf("operation %s: unknown root", r.ID)
		}
		for _, d := range f.Dirs {
			if err := CheckRel(d); err != nil {
				return fmt.Errorf("operation %s: %w", r.ID, err)
			}
		}
	}
	return nil
}

func (r *recordHeader) root(id string) *rootRef {
	for i := range r.Roots {
		if r.Roots[i].ID == id {
			return &r.Roots[i]
		}
	}
	return nil
}

func isTempName(s string) bool { return plainName(s) && strings.HasPrefix(s, tempPrefix) }

// plainName tells whether s is one segment of our own making.
func plainName(s string) bool {
	if s == "" || len(s) > 100 || s == "." || s == ".." {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !unreserved(c) || c == '~' {
			return false
		}
	}
	return true
}

// noting has the record of an operation say what becomes of an index, before it
// does. What is purged is not to be brought back.
func (s *Store) noting(l *locked, r *record) func(indexEdit) error {
	if r.Purge {
		return nil
	}
	return func(e indexEdit) error {
		r.noteIndex(e)
		raw, err := r.encode()
		if err != nil {
			return err
		}
		return l.state(r.Roots[0].ID).put(stateJournal, r.ID+recordSuffix, raw)
	}
}

// begin writes the record into the journal. When it returns without an error,
// the operation is finished or rolled back whatever happens.
func (s *Store) begin(l *locked, r *record) error {
	raw, err := r.encode()
	if err != nil {
		return err
	}
	home := r.Roots[0]
	for _, other := range r.Roots[1:] {
		pointer, err := json.Marshal(link{Home: home})
		if err != nil {
			return fmt.Errorf("writing operation %s: %w", r.ID, err)
		}
		if err := l.state(other.ID).put(stateJournal, r.ID+linkSuffix, pointer); err != nil {
			return err
		}
	}
	return l.state(home.ID).put(stateJournal, r.ID+recordSuffix, raw)
}

// finish makes the record of a journal that of an operation that was made. With
// a purge the record is left without contents, and so are all others that hold
// what was forgotten.
func (s *Store) finish(ctx context.Context, l *locked, r *record) error {
	home := l.state(r.Roots[0].ID)
	if r.Purge {
		return s.finishPurge(ctx, l, r)
	}
	if err := home.move(stateJournal, stateOperations, r.ID+recordSuffix); err != nil {
		return err
	}
	// From here on it is done; a pointer without a record means nothing.
	for _, other := range r.Roots[1:] {
		if err := l.state(other.ID).drop(stateJournal, r.ID+linkSuffix); err != nil {
			s.opt.Log.Warn("a pointer of the journal stays", "operation", r.ID, "error", err)
		}
	}
	return nil
}

// abandon removes the record of an operation that was rolled back.
func (s *Store) abandon(l *locked, r *record) error {
	home := l.state(r.Roots[0].ID)
	if err := home.drop(stateJournal, r.ID+recordSuffix); err != nil {
		return err
	}
	for _, other := range r.Roots[1:] {
		if err := l.state(other.ID).drop(stateJournal, r.ID+linkSuffix); err != nil {
			return err
		}
	}
	return home.drop(stateJournal, r.ID+abortSuffix)
}

// put writes a file of a part of the state.
func (s *rootState) put(part, name string, raw []byte) error {
	in, _, err := s.folder.enter(part, true)
	if err != nil {
		return err
	}
	defer in.close()
	return in.replace(name, raw)
}

// get reads a file of a part of the state.
func (s *rootState) get(part, name string) ([]byte, error) { return getState(s.folder, part, name) }

func getState(f *folder, part, name string) ([]byte, error) {
	in, _, err := f.enter(part, false)
	if err != nil {
		return nil, err
	}
	defer in.close()
	return in.readState(name)
}

// drop removes a file of a part of the state.
func (s *rootState) drop(part, name string) error {
	in, _, err := s.folder.enter(part, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.close()
	if err := in.remove(name); err != nil {
		return err
	}
	return in.sync()
}

// move moves a file from one part of the state to another.
func (s *rootState) move(from, to, name string) error { return s.moveAs(from, name, to, name) }

// moveAs is move to another name.
func (s *rootState) moveAs(from, name, to, as string) error {
	out, _, err := s.folder.enter(to, true)
	if err != nil {
		return err
	}
	defer out.close()
	err = s.folder.rename(from+"/"+name, to+"/"+as)
	if err != nil {
		return err
	}
	return errors.Join(out.sync(), s.sync(from))
}

func (s *rootState) sync(part string) error {
	in, _, err := s.folder.enter(part, false)
	if err != nil {
		return err
	}
	defer in.close()
	return in.sync()
}

// names are the files of a part of the state with a suffix, without it.
func listState(f *folder, part, suffix string) ([]string, error) {
	in, _, err := f.enter(part, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer in.close()
	all, err := in.list()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, n := range all {
		if stem, ok := strings.CutSuffix(n, suffix); ok && plainName(stem) && !strings.HasPrefix(n, ".") {
			names = append(names, stem)
		}
	}
	return names, nil
}

// newID makes an id that sorts by time. Inv: ids of one store ascend, whatever
// the clock does.
func (s *Store) newID(prefix string) string {
	s.mu.Lock()
	s.lastID = max(s.lastID+1, s.opt.Now().UnixNano())
	at := s.lastID
	s.mu.Unlock()
	return fmt.Sprintf("%s-%016x-%s", prefix, at, strings.ToLower(rand.Text()[:10]))
}
