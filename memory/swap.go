package memory

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
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
	// moved says that the operation has moved the file, as far as is known: set
	// while it is carried out, and for a recovery by what it finds.
	moved bool
	// beside says that something stood under Temp when the file was inspected.
	beside bool
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
// Inv: what another program writes to the file, up to this very moment, is not
// lost. While the file is compared and moved nobody can begin to write to it,
// where the system has leases; and what is displaced is looked at again, there and
// elsewhere, and returns when it is not what the change was computed from.
func (w *work) swap() error {
	if w.Action == ActionCreate {
		w.moved = true
		err := w.in.place(w.Temp, w.name)
		if errors.Is(err, fs.ErrExist) {
			w.moved = false
			return errChanged
		}
		return err
	}
	old, err := w.in.hold(w.name)
	if err != nil {
		return err
	}
	defer old.Close()
	if err := w.in.unchanged(w.name, w.Base); err != nil {
		return err
	}
	if leaseWanted(old) {
		return errWriting
	}
	if w.Action == ActionDelete {
		return w.takeAway(old)
	}
	next, err := w.in.hold(w.Temp)
	if err != nil {
		return err
	}
	defer next.Close()
	w.moved = true
	err = w.in.exchange(w.Temp, w.name)
	if errors.Is(err, errUnsupported) {
		return w.in.rename(w.Temp, w.name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		w.moved = false
		return errChanged
	}
	if err != nil {
		return err
	}
	if err := w.displaced(old); err != nil {
		return w.returned(err, w.giveBack(next))
	}
	return nil
}

// takeAway removes the file from its name; its content stays under Temp until
// the operation is finished.
func (w *work) takeAway(old *os.File) error {
	w.moved = true
	err := w.in.place(w.name, w.Temp)
	if errors.Is(err, fs.ErrNotExist) {
		w.moved = false
		return errChanged
	}
	if err != nil {
		return err
	}
	if err := w.displaced(old); err != nil {
		return w.returned(err, w.placeBack())
	}
	return nil
}

// hold opens a file and, where there are leases, keeps others from writing to it
// until it is closed.
func (f *folder) hold(name string) (*os.File, error) {
	const tries, pause = 5, 5 * time.Millisecond
	file, err := OpenFile(f.root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errChanged
	}
	if err != nil {
		return nil, err
	}
	for i := 0; ; i++ {
		err := lease(file)
		if err == nil || errors.Is(err, errUnsupported) {
			return file, nil
		}
		if i == tries {
			file.Close()
			return nil, err
		}
		time.Sleep(pause)
	}
}

// displaced tells whether what has just lost its name is the file that was held,
// with its content, and nobody waits to write to it.
func (w *work) displaced(old *os.File) error {
	want, err := old.Stat()
	if err != nil {
		return err
	}
	got, err := w.in.stat(w.Temp)
	switch {
	case err != nil:
		return err
	case got == nil || !os.SameFile(want, got):
		return errChanged
	case leaseWanted(old):
		return errWriting
	}
	return w.in.unchanged(w.Temp, w.Base)
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

// discard removes a file that was displaced, when it still is of the given
// version and nobody is writing to it.
func (f *folder) discard(name, version string) error {
	if there, err := f.exists(name); err != nil || !there {
		return err
	}
	file, err := f.hold(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := f.unchanged(name, version); err != nil {
		return err
	}
	if leaseWanted(file) {
		return errWriting
	}
	return f.remove(name)
}

// returned notes that a file is back in its place, unless that failed.
func (w *work) returned(cause, failed error) error {
	w.moved = failed != nil
	return errors.Join(cause, failed)
}

// giveBack returns the file that stands under the temporary name to its own.
// next is the file that stands there instead, if that is known.
//
// Inv: what another program saved under the name meanwhile is newer and stays:
// what ends under the temporary name was made by this operation, or replaced by
// the other program itself.
func (w *work) giveBack(next *os.File) error {
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
		ours, err := w.is(next)
		if err != nil {
			return err
		}
		if ours && (digest(got) != w.To || leaseWanted(next)) {
			return w.keepAside(next)
		}
		if ours || older[digest(got)] {
			return nil
		}
		older[digest(put)] = true
	}
	return errWriting
}

// is tells whether the file under the temporary name is the open one.
func (w *work) is(file *os.File) (bool, error) {
	if file == nil {
		return false, nil
	}
	want, err := file.Stat()
	if err != nil {
		return false, err
	}
	got, err := w.in.stat(w.Temp)
	return err == nil && got != nil && os.SameFile(want, got), err
}

// keepAside keeps what another program writes to the new file, in the moment in
// which it was there and before it was taken back.
func (w *work) keepAside(next *os.File) error {
	const tries, pause = 40, 5 * time.Millisecond
	endLease(next)
	for range tries {
		// Who waited for the lease has yet to wake up, and to write.
		time.Sleep(pause)
		raw, err := w.in.maybe(w.Temp)
		if err != nil || raw == nil {
			return err
		}
		if digest(raw) != w.To && !errors.Is(lease(next), errWriting) {
			return w.rescue(w.name, raw)
		}
		endLease(next)
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

// state is what stands where an operation changes a file.
type state int

const (
	stateBare    state = iota // what was there before, and nothing is ready to replace it
	stateOld                  // what was there before
	stateNew                  // what the operation puts there
	stateForeign              // something else
)

// inspect tells how far a file has come.
func (w *work) inspect() (state, error) {
	temp, err := w.in.maybe(w.Temp)
	if err != nil {
		return 0, err
	}
	now, err := w.in.maybe(w.name)
	if err != nil {
		return 0, err
	}
	w.beside = temp != nil
	version, staged := versionOf(now), versionOf(temp)
	switch {
	case version == w.Base && w.Action != ActionDelete && staged != w.To:
		return stateBare, nil
	case version == w.Base:
		return stateOld, nil
	case version != w.To:
		return stateForeign, nil
	case temp != nil && staged != w.Base && staged != w.To:
		// An edit that was displaced, and not yet put back.
		return stateForeign, nil
	}
	return stateNew, nil
}

// versionOf is the version of a file; empty when there is none.
func versionOf(raw []byte) string {
	if raw == nil {
		return ""
	}
	return digest(raw)
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

// forward finishes what a crash interrupted. The file is old, with the new one
// beside it, or new.
func (w *work) forward() error {
	at, err := w.inspect()
	if err != nil || at == stateNew {
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
	case !w.moved && (temp == nil || w.ours(temp)):
	case now == nil && temp != nil && (w.Action == ActionDelete || !w.ours(temp)):
		return w.placeBack()
	case replaced && temp != nil && digest(temp) != w.To:
		err = w.giveBack(nil)
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
