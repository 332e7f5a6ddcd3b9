package memory

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Call is one call to the file system that changing memory makes.
type Call struct {
	// Op is one of mkdir, create, write, chmod, fsync, read, list, exchange,
	// place, rename, unlink, rmdir, syncdir.
	Op   string
	Path string // for people: the root or state directory, and the name in it
}

// TornWrite is what a fault answers to have a write stop half-way.
type TornWrite struct {
	Bytes int // that are still written
	Err   error
}

// Error implements error.
func (t *TornWrite) Error() string { return fmt.Sprintf("torn after %d bytes: %v", t.Bytes, t.Err) }

// Unwrap gives the error that the write failed with.
func (t *TornWrite) Unwrap() error { return t.Err }

// errUnsupported is a way of renaming that this file system does not have.
var errUnsupported = errors.New("not supported by this file system")

// disk makes every call that changes a file. It is the only code of the
// project that opens, renames or removes memory files for writing.
type disk struct {
	fault func(Call) error // a test's; nil otherwise
}

func (d *disk) call(op, name string, f func() error) error {
	if d.fault != nil {
		if err := d.fault(Call{Op: op, Path: name}); err != nil {
			return &fs.PathError{Op: op, Path: name, Err: err}
		}
	}
	return at(f(), name)
}

// at gives an error of the file system the whole name of the file: what is opened
// in a directory knows only the last of it.
func at(err error, name string) error {
	switch e := err.(type) { //nolint:errorlint // only the outermost is replaced
	case *fs.PathError:
		return &fs.PathError{Op: e.Op, Path: filepath.FromSlash(name), Err: e.Err}
	case *os.LinkError:
		return &fs.PathError{Op: e.Op, Path: filepath.FromSlash(name), Err: e.Err}
	}
	return err
}

// folder is an open directory in which files are changed. Names are single
// segments, so that nothing outside the directory can be named, and the
// directory was entered without following a link.
type folder struct {
	d    *disk
	root *os.Root
	dir  *os.File // the same directory, for what os.Root lacks
	path string   // for messages
	own  bool     // root is closed with the folder
}

func (d *disk) folder(root *os.Root, name string, own bool) (*folder, error) {
	dir, err := root.Open(".")
	if err != nil {
		if own {
			root.Close()
		}
		return nil, err
	}
	return &folder{d: d, root: root, dir: dir, path: name, own: own}, nil
}

// openBase opens the directory of a root or of state, made when it is missing
// and make is set.
func (d *disk) openBase(real string, create bool) (*folder, error) {
	root, err := openRoot(real)
	if errors.Is(err, fs.ErrNotExist) && create {
		err = d.call("mkdir", real, func() error { return os.MkdirAll(real, 0o700) })
		if err != nil {
			return nil, err
		}
		root, err = openRoot(real)
	}
	if err != nil {
		return nil, err
	}
	return d.folder(root, real, true)
}

// enter opens a directory below f, step by step as reader.enter does. With
// create, what is missing is made; made are the paths of those, outermost first.
func (f *folder) enter(rel string, create bool) (in *folder, made []string, err error) {
	if rel == "." || rel == "" {
		in, err = f.d.folder(f.root, f.path, false)
		return in, nil, err
	}
	at, err := f.d.folder(f.root, f.path, false)
	if err != nil {
		return nil, nil, err
	}
	below := ""
	for seg := range splitPath(rel) {
		below = path.Join(below, seg)
		next, err := enterOne(at.root, seg)
		if errors.Is(err, fs.ErrNotExist) && create {
			if err = at.mkdir(seg); err == nil {
				made = append(made, below)
				next, err = enterOne(at.root, seg)
			}
		}
		name := path.Join(at.path, seg)
		at.close()
		if err != nil {
			return nil, made, err
		}
		if at, err = f.d.folder(next, name, true); err != nil {
			return nil, made, err
		}
	}
	return at, made, nil
}

func (f *folder) close() {
	f.dir.Close()
	if f.own {
		f.root.Close()
	}
}

func (f *folder) name(name string) string { return path.Join(f.path, name) }

// mkdir makes a directory that lasts.
func (f *folder) mkdir(name string) error {
	err := f.d.call("mkdir", f.name(name), func() error { return f.root.Mkdir(name, 0o700) })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return f.sync()
}

// read is the bytes of a regular file of at most MaxFileBytes.
func (f *folder) read(name string) (raw []byte, info fs.FileInfo, err error) {
	err = f.d.call("read", f.name(name), func() error {
		r := reader{root: f.root, open: OpenFile}
		raw, info, err = r.read(name)
		return err
	})
	if err == nil && len(raw) > MaxFileBytes {
		return nil, info, refuse(RefusedTooLarge, nil, "%s is larger than %d bytes", name, MaxFileBytes)
	}
	return slices.Clip(raw), info, err
}

// readState is the bytes of a file that memls wrote itself, of any size.
func (f *folder) readState(name string) (raw []byte, err error) {
	err = f.d.call("read", f.name(name), func() error {
		if _, err := lstatRegular(f.root, name); err != nil {
			return err
		}
		raw, err = f.root.ReadFile(name)
		return err
	})
	return raw, err
}

// list is the names in the directory, in order.
func (f *folder) list() (names []string, err error) {
	err = f.d.call("list", f.path, func() error {
		dir, err := f.root.Open(".")
		if err != nil {
			return err
		}
		defer dir.Close()
		names, err = dir.Readdirnames(-1)
		slices.Sort(names)
		return err
	})
	return names, err
}

// exists tells whether anything bears the name, links included.
func (f *folder) exists(name string) (bool, error) {
	_, err := f.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// writeNew makes a file that did not exist, with all of data, on the disk. On
// failure nothing is left of it, unless that fails too.
func (f *folder) writeNew(name string, data []byte, mode fs.FileMode, like fs.FileInfo) error {
	var file *os.File
	err := f.d.call("create", f.name(name), func() (err error) {
		file, err = f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	err = f.fill(file, name, data, mode, like)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return errors.Join(err, f.remove(name))
	}
	return nil
}

// writeStream makes a file that did not exist, of any size. It is not waited for until
// its content is on the disk: this is for what can be told to be damaged, and be made
// again.
func (f *folder) writeStream(name string, write func(io.Writer) error) error {
	var file *os.File
	err := f.d.call("create", f.name(name), func() (err error) {
		file, err = f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	err = f.d.call("write", f.name(name), func() error { return write(file) })
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return errors.Join(err, f.remove(name))
	}
	return nil
}

func (f *folder) fill(file *os.File, name string, data []byte, mode fs.FileMode, like fs.FileInfo) error {
	err := f.d.call("write", f.name(name), func() error {
		_, err := file.Write(data)
		return err
	})
	if torn, ok := errors.AsType[*TornWrite](err); ok {
		_, werr := file.Write(data[:min(torn.Bytes, len(data))])
		err = errors.Join(err, werr)
	}
	if err != nil {
		return err
	}
	if mode != 0o600 || like != nil {
		err := f.d.call("chmod", f.name(name), func() error {
			if err := keepOwner(file, like); err != nil {
				return err
			}
			return file.Chmod(mode)
		})
		if err != nil {
			return err
		}
	}
	return f.d.call("fsync", f.name(name), file.Sync)
}

// replace writes a state file: whole, or not at all.
func (f *folder) replace(name string, data []byte) error {
	temp := tempName()
	if err := f.writeNew(temp, data, 0o600, nil); err != nil {
		return err
	}
	if err := f.rename(temp, name); err != nil {
		return errors.Join(err, f.remove(temp))
	}
	return f.sync()
}

// rename moves a file over another.
func (f *folder) rename(from, to string) error {
	return f.d.call("rename", f.name(to), func() error { return f.root.Rename(from, to) })
}

// exchange swaps two files, so that neither is lost whatever they are.
func (f *folder) exchange(a, b string) error {
	return f.d.call("exchange", f.name(b), func() error { return exchange(f.dir, a, b) })
}

// place gives a file a name that nothing bears.
func (f *folder) place(from, to string) error {
	return f.d.call("place", f.name(to), func() error {
		err := placeNew(f.dir, from, to)
		if !errors.Is(err, errUnsupported) {
			return err
		}
		// A hard link cannot replace anything either.
		if err = f.root.Link(from, to); err == nil {
			return f.root.Remove(from)
		}
		if errors.Is(err, fs.ErrExist) {
			return err
		}
		if there, lerr := f.exists(to); lerr != nil || there {
			return errors.Join(fs.ErrExist, lerr)
		}
		return f.root.Rename(from, to)
	})
}

// remove removes a file; that there is none is no error.
func (f *folder) remove(name string) error {
	// A disk that is read-only answers so even for what is not there.
	if there, err := f.exists(name); err != nil || !there {
		return err
	}
	err := f.d.call("unlink", f.name(name), func() error { return f.root.Remove(name) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// sync makes what happened to the names in the directory last.
func (f *folder) sync() error {
	return f.d.call("syncdir", f.path, func() error { return syncDir(f.dir) })
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

// tempPrefix begins the names of files in the making. They are hidden, and so
// neither watched nor catalogued.
const tempPrefix = ".memls-"

func tempName() string { return tempPrefix + rand.Text() + ".tmp" }
