package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// Writable tells why a memory cannot be changed now, if it cannot: its root is
// not written to, an editor holds changes of it, it is write-protected, or larger
// than what is read of it. A file that cannot be looked at is left to whoever
// reads it.
func (s *Store) Writable(d *Document) error {
	if d.Truncated {
		return refuse(RefusedTooLarge, []string{d.Ref}, "%s has more than %d bytes, of which only the first are read; change it in an editor", d.Ref, MaxFileBytes)
	}
	if err := s.admit([]goal{{root: d.Root, rel: d.Rel, ref: d.Ref}}); err != nil {
		return err
	}
	b := &bases{disk: s.disk, open: map[string]*folder{}}
	defer b.close()
	base, err := b.folder(&rootRef{ID: d.Root.ID, Real: d.Root.Real}, false)
	if err != nil {
		return nil
	}
	in, _, err := base.enter(path.Dir(d.Rel), false)
	if err != nil {
		return nil
	}
	defer in.close()
	info, err := in.stat(path.Base(d.Rel))
	if err != nil || info == nil {
		return nil
	}
	return in.protected(d.Ref, info)
}

// protected refuses to change a file that may not be written to. What memls does
// to a file takes only the right to write to its directory: so it has to ask.
func (f *folder) protected(ref string, info fs.FileInfo) error {
	const why = "the file is write-protected (mode %04o); make it writable to have it changed"
	if info.Mode().Perm()&0o222 == 0 {
		return refuse(RefusedReadOnly, []string{ref}, why, info.Mode().Perm())
	}
	if err := mayWrite(f.dir, info.Name()); err != nil && (errors.Is(err, fs.ErrPermission) || isReadOnlyFS(err)) {
		return refuseIO(at(&fs.PathError{Op: "write", Err: err}, f.name(info.Name())), []string{ref}, "looking at the file")
	}
	return nil
}

// linked words that a file has further names, which a change does not reach; it
// is empty for one that has none.
func linked(ref string, info fs.FileInfo, action Action) string {
	n := linksOf(info)
	if n < 2 {
		return ""
	}
	what := "a change gives this name a file of its own, and the others keep the old text"
	if action == ActionDelete {
		what = "the text stays under the others"
	}
	return fmt.Sprintf("%s has %s (hard links): %s", ref, plural(n-1, "more name"), what)
}

// plural counts things.
func plural[N int | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
