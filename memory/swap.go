package memory

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"time"
)

var (
	// errChanged is a file that is no longer the one that was planned for.
	errChanged = errors.New("it has changed meanwhile")
	errWriting = errors.New("another program is writing it")
)

// work is one file of an operation that is being carried out.
type work struct {
	*fileRecord
	*content
	name string  // of the file, in folder
	in   *folder // its directory
	info fs.FileInfo
	// rescue keeps bytes that another program wrote and that no name is left for.
	rescue func(name string, raw []byte) error
}

func newWork(f *fileRecord, c *content) *work {
	return &work{fileRecord: f, content: c, name: path.Base(f.Rel)}
}

// works are the files of a record, to be carried out.
func (s *Store) works(l *locked, r *record) []*work {
	works := make([]*work, len(r.Files))
	for i := range r.Files {
		w := newWork(&r.Files[i], &r.contents[i])
		w.rescue = func(name string, raw []byte) error { return s.rescue(l.state(w.Root), name, raw) }
		works[i] = w
	}
	return works
}

func closeAll(works []*work) {
	for _, w := range works {
		w.close()
	}
}

func (w *work) close() {
	if w.in != nil {
		w.in.close()
		w.in = nil
	}
}

// open enters the directory of the file.
func (w *work) open(base *folder, create bool) error {
	if w.in != nil {
		return nil
	}
	in, _, err := base.enter(path.Dir(w.Rel), create)
	if err != nil {
		return err
	}
	w.in = in
	return nil
}

// stage writes the new content beside the file.
func (w *work) stage() error {
	if w.Action == ActionDelete {
		return nil
	}
	return w.in.writeNew(w.Temp, w.After, w.Mode, w.info)
}

// swap puts the new content in its place.
//
// Inv: what another program wrote to the file, up to this very moment, is not
// lost: what is displaced is looked at again before it goes, and returns when it
// is not what the change was computed from.
func (w *work) swap() error {
	switch w.Action {
	case ActionCreate:
		err := w.in.place(w.Temp, w.name)
		if errors.Is(err, fs.ErrExist) {
			return errChanged
		}
		return err
	case ActionDelete:
		return w.takeAway()
	}
	if err := w.in.unchanged(w.name, w.Base); err != nil {
		return err
	}
	err := w.in.exchange(w.Temp, w.name)
	if errors.Is(err, errUnsupported) {
		return w.in.rename(w.Temp, w.name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return errChanged
	}
	if err != nil {
		return err
	}
	if err := w.in.displaced(w.Temp, w.Base); err != nil {
		return errors.Join(err, w.giveBack())
	}
	return nil
}

// giveBack returns the file that stands under the temporary name to its own.
//
// Inv: what another program saved under the name meanwhile is newer and stays:
// what ends under the temporary name was made by this operation, or replaced by
// the other program itself.
func (w *work) giveBack() error {
	const rounds = 100
	older := map[string]bool{w.To: true, w.Base: true}
	for range rounds {
		put, err := w.in.maybe(w.Temp)
		if err != nil {
			return err
		}
		err = w.in.exchange(w.Temp, w.name)
		if errors.Is(err, fs.ErrNotExist) {
			// Somebody removed the file; a version of it is left.
			return w.in.place(w.Temp, w.name)
		}
		if err != nil {
			return err
		}
		got, err := w.in.maybe(w.Temp)
		if err != nil {
			return err
		}
		if older[digest(got)] {
			return nil
		}
		older[digest(put)] = true
	}
	return errWriting
}

// takeAway removes the file from its name; its content stays under Temp until
// the operation is finished.
func (w *work) takeAway() error {
	if err := w.in.unchanged(w.name, w.Base); err != nil {
		return err
	}
	err := w.in.place(w.name, w.Temp)
	if errors.Is(err, fs.ErrNotExist) {
		return errChanged
	}
	if err != nil {
		return err
	}
	if err := w.in.displaced(w.Temp, w.Base); err != nil {
		return errors.Join(err, w.placeBack())
	}
	return nil
}

// placeBack returns a file that was taken away to its name, unless somebody else
// has made a new file of that name: then the old one is kept aside, when it is
// not the one that was to go.
func (w *work) placeBack() error {
	err := w.in.place(w.Temp, w.name)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	raw, err := w.in.maybe(w.Temp)
	if err != nil {
		return err
	}
	if raw != nil && !w.ours(raw) {
		if err := w.rescue(w.name, raw); err != nil {
			return err
		}
	}
	return w.in.remove(w.Temp)
}

// unchanged tells whether a file is still of the given version.
func (f *folder) unchanged(name, version string) error {
	raw, _, err := f.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return errChanged
	}
	if err != nil {
		return err
	}
	if digest(raw) != version {
		return errChanged
	}
	return nil
}

// displaced tells whether a file that has just lost its name is of the given
// version and will stay so: no program has it open for writing.
func (f *folder) displaced(name, version string) error {
	const tries, pause = 5, 5 * time.Millisecond
	file, err := OpenFile(f.root, name)
	if err != nil {
		return err
	}
	defer file.Close()
	for i := 0; beingWritten(file); i++ {
		if i == tries {
			return errWriting
		}
		time.Sleep(pause)
	}
	return f.unchanged(name, version)
}

// state is what stands where an operation changes a file.
type state int

const (
	stateOld     state = iota // what was there before
	stateNew                  // what the operation puts there
	stateForeign              // something else
)

// inspect tells how far a file has come. temp is what stands under its
// temporary name, nil when nothing does.
func (w *work) inspect() (at state, temp []byte, err error) {
	temp, err = w.in.maybe(w.Temp)
	if err != nil {
		return 0, nil, err
	}
	now, err := w.in.maybe(w.name)
	if err != nil {
		return 0, nil, err
	}
	version := ""
	if now != nil {
		version = digest(now)
	}
	switch version {
	case w.Base:
		return stateOld, temp, nil
	case w.To:
		// An edit that was displaced, and not yet put back, counts.
		if v := digest(temp); temp != nil && v != w.Base && v != w.To {
			return stateForeign, temp, nil
		}
		return stateNew, temp, nil
	}
	return stateForeign, temp, nil
}

// ours tells whether the bytes under the temporary name are the old or the new
// content, or the beginning of the new one, which a crash left.
func (w *work) ours(temp []byte) bool {
	return digest(temp) == w.Base || w.Action != ActionDelete && bytes.HasPrefix(w.After, temp)
}

// maybe is the content of a file, nil when there is none.
func (f *folder) maybe(name string) ([]byte, error) {
	raw, _, err := f.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && raw == nil {
		raw = []byte{}
	}
	return raw, err
}

// forward finishes what a crash interrupted. The file is old or new.
func (w *work) forward() error {
	at, temp, err := w.inspect()
	if err != nil {
		return err
	}
	if at == stateNew {
		return nil
	}
	if temp != nil {
		if err := w.in.remove(w.Temp); err != nil {
			return err
		}
	}
	if w.info, err = w.in.stat(w.name); err != nil {
		return err
	}
	if err := w.stage(); err != nil {
		return err
	}
	return w.swap()
}

func (f *folder) stat(name string) (fs.FileInfo, error) {
	info, err := lstatRegular(f.root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return info, err
}

// back takes back what was done to the file, unless somebody else has changed
// it since: then it stays as it is.
func (w *work) back() error {
	if err := w.dropRestored(); err != nil {
		return err
	}
	temp, err := w.in.maybe(w.Temp)
	if err != nil {
		return err
	}
	now, err := w.in.maybe(w.name)
	if err != nil {
		return err
	}
	replaced := now != nil && w.To != w.Base && digest(now) == w.To
	switch {
	case now == nil && temp != nil && (w.Action == ActionDelete || !w.ours(temp)):
		return w.placeBack()
	case replaced && temp != nil && digest(temp) != w.To:
		err = w.giveBack()
		if errors.Is(err, errUnsupported) {
			return w.in.rename(w.Temp, w.name)
		}
	case replaced && temp == nil, now == nil && temp == nil && w.Action == ActionDelete:
		err = w.restore()
	case temp != nil && !w.ours(temp):
		err = w.rescue(w.name, temp)
	}
	if err != nil {
		return err
	}
	return w.in.remove(w.Temp)
}

// restoreTemp is the temporary name under which old content is written anew.
func (w *work) restoreTemp() string { return w.Temp + ".back" }

// dropRestored removes what a crash left of restoring the file.
func (w *work) dropRestored() error {
	left, err := w.in.maybe(w.restoreTemp())
	if err != nil || left == nil {
		return err
	}
	if digest(left) != w.To && !bytes.HasPrefix(w.Before, left) {
		if err := w.rescue(w.name, left); err != nil {
			return err
		}
	}
	return w.in.remove(w.restoreTemp())
}

// restore writes the old content anew, where the old file is gone.
func (w *work) restore() error {
	r := newWork(&fileRecord{Rel: w.Rel, Base: w.To, To: w.Base, Mode: w.Mode, Temp: w.restoreTemp()},
		&content{Before: w.After, After: w.Before})
	r.in, r.rescue = w.in, w.rescue
	switch w.Action {
	case ActionCreate:
		r.Action = ActionDelete
	case ActionUpdate:
		r.Action = ActionUpdate
		info, err := w.in.stat(w.name)
		if err != nil {
			return err
		}
		r.info = info
	case ActionDelete:
		r.Action = ActionCreate
	}
	err := r.stage()
	if err == nil {
		err = r.swap()
	}
	return errors.Join(err, w.in.remove(r.Temp))
}

// removeDirs removes directories that an operation made, if nothing is in them.
func (f *folder) removeDirs(dirs []string) error {
	for i := len(dirs) - 1; i >= 0; i-- {
		in, _, err := f.enter(path.Dir(dirs[i]), false)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = in.removeDir(path.Base(dirs[i]))
		in.close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *folder) removeDir(name string) error {
	names, err := f.namesIn(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(names) > 0 {
		return nil
	}
	if err != nil {
		return err
	}
	err = f.d.call("rmdir", f.name(name), func() error { return f.root.Remove(name) })
	if errors.Is(err, fs.ErrNotExist) || isNotEmpty(err) {
		return nil
	}
	return err
}

func (f *folder) namesIn(name string) ([]string, error) {
	in, err := enterOne(f.root, name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	dir, err := in.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}
