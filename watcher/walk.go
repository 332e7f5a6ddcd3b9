package watcher

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// pass is one look at the root or a part of it.
type pass struct {
	stopped func() error // the error of the context, once it has ended
	full    bool
	b       *Batch
	// hard lists changes that an event source must announce. A change of the
	// inode alone is none: hard links made elsewhere cause it.
	hard    []string
	weak    []weakFile
	trouble bool                // something could not be looked at, for a reason that may pass
	seen    map[string]struct{} // directories walked, for passes over marked paths
}

type weakFile struct {
	rel string
	sig Sig
}

func (r *reconciler) newPass(ctx context.Context, full bool) *pass {
	return &pass{stopped: ctx.Err, full: full, b: &Batch{}, seen: map[string]struct{}{}}
}

func (b *Batch) change(rel string, s Sig) {
	if b.Changed == nil {
		b.Changed = map[string]Sig{}
	}
	b.Changed[rel] = s
	delete(b.Removed, rel)
}

func (b *Batch) remove(rel string) {
	if b.Removed == nil {
		b.Removed = map[string]struct{}{}
	}
	b.Removed[rel] = struct{}{}
	delete(b.Changed, rel)
}

func (r *reconciler) abs(rel string) string {
	return filepath.Join(r.ground.real, filepath.FromSlash(rel))
}

// walk lists directory d, which is at rel, and everything below. It answers
// false when there is no such directory (any more).
//
// Inv: a directory is watched before it is listed; what is created after the
// listing is announced.
func (r *reconciler) walk(p *pass, d *directory, rel string, depth int) bool {
	if p.stopped() != nil {
		return true
	}
	abs := r.abs(rel)
	entries, err := r.watchAndList(abs)
	if err != nil {
		return r.unlistable(p, d, rel, err)
	}
	if !p.full {
		p.seen[rel] = struct{}{}
	}
	r.round++
	round, skips, trouble, over := r.round, d.skips, d.trouble, d.over
	d.skips, d.trouble, d.over = nil, "", 0
	for _, e := range entries {
		r.entry(p, d, rel, e, round, depth)
	}
	if p.stopped() != nil {
		return true // an interrupted listing proves no absence
	}
	r.prune(p, d, rel, round)
	if trouble != "" || over != d.over || !maps.Equal(skips, d.skips) {
		r.skipsStale = true
	}
	return true
}

func (r *reconciler) watchAndList(abs string) ([]fs.DirEntry, error) {
	fi, err := os.Lstat(abs)
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return nil, errNotDir
	}
	if err := r.watches.add(abs, idOf(fi)); err != nil && !harmless(err) {
		r.watchFailed(err)
	}
	return r.opt.list(abs)
}

// unlistable handles a directory that could not be listed. What cannot be read
// for want of permission is not there for anybody; any other trouble (too many
// open files, a stale handle) says nothing about the files, which stay as they are.
func (r *reconciler) unlistable(p *pass, d *directory, rel string, err error) bool {
	if gone(err) {
		if rel != "" { // the root's absence is judged by the caller
			r.dropContents(p.b, d, rel)
		}
		return false
	}
	if errors.Is(err, fs.ErrPermission) {
		r.dropContents(p.b, d, rel)
	} else {
		p.trouble = true
	}
	if reason := wording(err); d.trouble != reason {
		r.opt.Log.Warn("directory cannot be listed", "root", r.w.given, "path", rel, "error", err)
		d.trouble, r.skipsStale = reason, true
	}
	return true
}

// wording is the reason for a skip that comes of err.
func wording(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "permission denied"
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// entry looks at one entry of the listing of d.
func (r *reconciler) entry(p *pass, d *directory, dirRel string, e fs.DirEntry, round uint64, depth int) {
	name := e.Name()
	if hidden(name) {
		return
	}
	if e.IsDir() {
		r.subdirectory(p, d, join(dirRel, name), name, round, depth)
		return
	}
	if !e.Type().IsRegular() {
		r.special(d, join(dirRel, name), name, e.Type())
		return
	}
	// A name that is in the table has been judged.
	if d.files[name] == nil && !r.wanted(join(dirRel, name), name) {
		return
	}
	fi, err := e.Info()
	r.regular(p, d, dirRel, name, fi, err, round)
}

func (r *reconciler) wanted(rel, name string) bool {
	return JudgeName(name, false) == Keep && r.opt.Keep(rel, false)
}

// regular notes a file that was a regular one when its directory was listed.
func (r *reconciler) regular(p *pass, d *directory, dirRel, name string, fi fs.FileInfo, err error, round uint64) {
	switch {
	case err == nil && fi.Mode().IsRegular():
		r.note(p, d, dirRel, name, sigOf(fi), round)
	case err == nil: // exchanged since: the next look tells
	case gone(err):
	case errors.Is(err, fs.ErrPermission):
		d.skip(name, wording(err))
	default:
		if f := d.files[name]; f != nil {
			f.round = round
		}
		d.skip(name, wording(err))
		p.trouble = true
	}
}

func (r *reconciler) note(p *pass, d *directory, dirRel, name string, s Sig, round uint64) {
	f := d.files[name]
	switch {
	case f == nil && r.files >= r.opt.MaxFiles:
		r.refuse(d)
		return
	case f == nil:
		f = &file{}
		d.files[name] = f
		r.files++
	case f.sig == s:
		f.round = round
		if p.full && r.opt.blindCTime && time.Since(time.Unix(0, s.MTime)).Abs() < relistAge {
			p.weak = append(p.weak, weakFile{join(dirRel, name), s})
		}
		return
	}
	rel := join(dirRel, name)
	old := f.sig
	f.sig, f.round = s, round
	if old.Size != s.Size || old.MTime != s.MTime || old.Ino != s.Ino || old.Dev != s.Dev {
		p.hard = append(p.hard, rel)
	}
	p.b.change(rel, s)
	r.follow.track(rel, s, time.Now())
}

func (r *reconciler) subdirectory(p *pass, d *directory, rel, name string, round uint64, depth int) {
	child := d.dirs[name]
	if child == nil {
		switch {
		case !r.opt.Keep(rel, true):
			return
		case depth >= r.opt.MaxDepth:
			d.skip(name, "too deep")
			return
		case r.dirs >= r.opt.MaxFiles:
			r.refuse(d)
			return
		}
		child = newDirectory()
		d.dirs[name] = child
		r.dirs++
	}
	if r.walk(p, child, rel, depth+1) {
		child.round = round
	}
}

// special reports what is neither a file nor a directory, if it would be wanted
// as one of them.
func (r *reconciler) special(d *directory, rel, name string, mode fs.FileMode) {
	if r.wanted(rel, name) || r.opt.Keep(rel, true) {
		d.skip(name, kindOf(mode))
	}
}

func kindOf(mode fs.FileMode) string {
	const not = "not a regular file"
	switch {
	case mode&fs.ModeSymlink != 0:
		return "symlink"
	case mode&fs.ModeNamedPipe != 0:
		return not + " (fifo)"
	case mode&fs.ModeSocket != 0:
		return not + " (socket)"
	case mode&fs.ModeDevice != 0:
		return not + " (device)"
	}
	return not
}

// touch looks at one path, and at what is below if it is a directory. If a
// directory on the way is not in the table, or is none any more, that is looked
// at instead.
func (r *reconciler) touch(p *pass, rel string) {
	d, at, rest := r.top, "", rel
	for depth := 0; ; depth++ {
		name, tail, more := strings.Cut(rest, "/")
		path := join(at, name)
		if hidden(name) {
			return
		}
		if _, ok := p.seen[path]; ok {
			return // walked in this pass, after the mark
		}
		child := d.dirs[name]
		if !more || child == nil || !isDir(r.abs(path)) {
			r.look(p, d, at, name, depth)
			return
		}
		d, at, rest = child, path, tail
	}
}

func isDir(abs string) bool {
	fi, err := os.Lstat(abs)
	return err == nil && fi.IsDir()
}

// look brings the table up to date with the entry called name of d, which is at
// dirRel.
func (r *reconciler) look(p *pass, d *directory, dirRel, name string, depth int) {
	rel := join(dirRel, name)
	reason, had := d.skips[name]
	over := d.over
	delete(d.skips, name)
	r.round++
	round := r.round
	fi, err := os.Lstat(r.abs(rel))
	switch {
	case err == nil && fi.IsDir():
		r.subdirectory(p, d, rel, name, round, depth)
	case err == nil && !fi.Mode().IsRegular():
		r.special(d, rel, name, fi.Mode())
	case d.files[name] != nil || r.wanted(rel, name):
		r.regular(p, d, dirRel, name, fi, err, round)
	}
	if f := d.files[name]; f != nil && f.round != round {
		r.dropFile(p, d, name, rel)
	}
	if child := d.dirs[name]; child != nil && child.round != round && (err == nil || gone(err)) {
		r.dropDir(p, d, child, name, rel)
	}
	if now, has := d.skips[name]; has != had || now != reason || over != d.over {
		r.skipsStale = true
	}
}
