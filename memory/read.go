package memory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

var (
	errSymlink = errors.New("symlink")
	errSwapped = errors.New("replaced while it was opened")
	errMoved   = errors.New("its path now leads elsewhere through a symlink")
)

// notRegularError is a name that is neither a file nor a link.
type notRegularError struct{ mode fs.FileMode }

func (e notRegularError) Error() string {
	return "not a regular file (" + kindOf(e.mode) + ")"
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeNamedPipe != 0:
		return "fifo"
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeDevice != 0:
		return "device"
	}
	return "irregular"
}

// OpenFunc opens a file by its name in the directory that holds it.
type OpenFunc func(dir *os.Root, name string) (*os.File, error)

// OpenFile opens a file for reading without following a link at its end and
// without waiting for whatever else the name may be. It is the default
// [OpenFunc].
func OpenFile(dir *os.Root, name string) (*os.File, error) {
	return dir.OpenFile(name, openFlags, 0)
}

// openRoot opens the directory of a root. It refuses one that is now reached
// through a symlink: paths were resolved when the root was configured, and what
// has been redirected since was not what the person agreed to.
func openRoot(real string) (*os.Root, error) {
	now, err := filepath.EvalSymlinks(real)
	if err != nil {
		return nil, err
	}
	if !samePath(now, real) {
		return nil, errMoved
	}
	want, err := os.Lstat(real)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	if got, err := root.Stat("."); err != nil || !os.SameFile(want, got) {
		root.Close()
		return nil, errMoved
	}
	return root, nil
}

// reader reads files below one root. It keeps the directory of the last file
// open, since files arrive sorted. Not for concurrent use.
type reader struct {
	root *os.Root
	open OpenFunc
	buf  []byte
	aged time.Duration // see [ImageOptions].Aged

	dir  string   // path of last below root, "" for the root itself
	last *os.Root // nil when dir is ""
}

func (r *reader) close() {
	if r.last != nil {
		r.last.Close()
	}
	r.last, r.dir = nil, ""
}

// read returns at most MaxFileBytes+1 bytes of a regular file, valid until the
// next call, and its stat.
func (r *reader) read(rel string) ([]byte, fs.FileInfo, error) {
	dir, name := path.Split(rel)
	in, err := r.enter(path.Clean(dir))
	if err != nil {
		return nil, nil, err
	}
	want, err := lstatRegular(in, name)
	if err != nil {
		return nil, nil, err
	}
	f, err := r.open(in, name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	got, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !got.Mode().IsRegular() || !os.SameFile(want, got) {
		return nil, nil, errSwapped
	}
	raw, err := r.readAll(f, got.Size())
	return raw, got, err
}

func lstatRegular(dir *os.Root, name string) (fs.FileInfo, error) {
	info, err := dir.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, errSymlink
	case !info.Mode().IsRegular():
		return nil, notRegularError{info.Mode()}
	}
	return info, nil
}

// enter opens a directory below the root step by step, each step verified to be
// the directory that stood there and no link, not even one that stays inside.
func (r *reader) enter(dir string) (*os.Root, error) {
	if dir == "." || dir == "" {
		return r.root, nil
	}
	if r.last != nil && r.dir == dir {
		return r.last, nil
	}
	r.close()
	at := r.root
	for seg := range splitPath(dir) {
		next, err := enterOne(at, seg)
		if at != r.root {
			at.Close()
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	r.dir, r.last = dir, at
	return at, nil
}

func enterOne(at *os.Root, name string) (*os.Root, error) {
	want, err := at.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case want.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("in a folder that is a %w", errSymlink)
	case !want.IsDir():
		return nil, fs.ErrNotExist
	}
	next, err := at.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if got, err := next.Stat("."); err != nil || !os.SameFile(want, got) {
		next.Close()
		return nil, errSwapped
	}
	return next, nil
}

// splitPath yields the segments of a clean relative path.
func splitPath(p string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for start, i := 0, 0; i <= len(p); i++ {
			if i == len(p) || p[i] == '/' {
				if !yield(p[start:i]) {
					return
				}
				start = i + 1
			}
		}
	}
}

func (r *reader) readAll(f *os.File, size int64) ([]byte, error) {
	// One byte more than expected: the end of the file is seen without growing.
	if want := int(min(size, MaxFileBytes)) + 1; cap(r.buf) < want {
		r.buf = make([]byte, want)
	}
	n := 0
	for {
		if n == cap(r.buf) {
			if n > MaxFileBytes {
				return r.buf[:n], nil
			}
			grown := make([]byte, min(2*n, MaxFileBytes+1))
			copy(grown, r.buf[:n])
			r.buf = grown
		}
		m, err := f.Read(r.buf[n:cap(r.buf)])
		n += m
		if errors.Is(err, io.EOF) {
			return r.buf[:n], nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// outcome is what reading one file came to.
type outcome int

const (
	outcomeRead    outcome = iota // doc is its content
	outcomeSame                   // its bytes are those of the document that is catalogued
	outcomeGone                   // there is no such file any more
	outcomeRefused                // it is not to be served, for a reason
	outcomeFailed                 // it could not be read now, and may be later
	outcomeHalf                   // it is empty and was written a moment ago: it is likely being saved
)

type result struct {
	rel     string
	outcome outcome
	doc     *Document  // without Ref, Root and Rel
	index   *IndexFile // of a file that is the index
	version string     // of the bytes, when there are any
	reason  string
	attempt int // how often it has been read since it last succeeded
}

// halfWritten is how young an empty file must be to be read again: editors that
// truncate before they write leave it empty for much less.
const halfWritten = 100 * time.Millisecond

// load reads and parses one file. old is what is catalogued under the name.
func (r *reader) load(rel string, old *Document, now time.Time) result {
	res := result{rel: rel}
	if old != nil && r.unchanged(rel, old) {
		res.outcome, res.version = outcomeSame, old.Version
		return res
	}
	began := time.Now()
	raw, info, err := r.read(rel)
	if err != nil {
		res.outcome, res.reason = classify(err), reason(err)
		return res
	}
	if len(raw) == 0 && old != nil && old.Size > 0 {
		if age := now.Sub(info.ModTime()); age < halfWritten && age > -halfWritten {
			res.outcome = outcomeHalf
		}
	}
	version := digest(raw)
	if len(raw) > MaxFileBytes {
		version = headVersion(raw[:MaxFileBytes], info)
	}
	res.version = version
	if old != nil && old.Version == version {
		res.outcome = outcomeSame
		return res
	}
	res.doc = Parse(raw)
	res.doc.Version = version
	res.doc.ModTime = info.ModTime()
	res.doc.stamp = stampOf(info, began, r.aged)
	if res.doc.Truncated {
		res.doc.Size = info.Size()
	}
	return res
}

// unchanged tells whether a stat proves that a file is as it was when it was read.
func (r *reader) unchanged(rel string, old *Document) bool {
	if !old.stamp.clean {
		return false
	}
	dir, name := path.Split(rel)
	in, err := r.enter(path.Clean(dir))
	if err != nil {
		return false
	}
	info, err := lstatRegular(in, name)
	return err == nil && old.stamp.proves(info)
}

// headVersion is the version of a file of which only the head is read: its size
// and time stand for the rest.
func headVersion(head []byte, info fs.FileInfo) string {
	return digest(fmt.Appendf(append([]byte(nil), head...), "\x00%d\x00%d", info.Size(), info.ModTime().UnixNano()))
}

func classify(err error) outcome {
	var irregular notRegularError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return outcomeGone
	case errors.Is(err, errSymlink), errors.As(err, &irregular), errors.Is(err, fs.ErrPermission):
		return outcomeRefused
	}
	return outcomeFailed
}
