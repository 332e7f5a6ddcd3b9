package watcher

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

var errNotDir = errors.New("not a directory")

// rootState is where the root stands:
//
//	unseen --> ready <--> vanished --> missing --> ready
//	unseen --> missing
//
// vanished is an absence younger than the grace time: nothing is delivered, so
// that a directory swapped for another does not look as if all were forgotten.
type rootState int

const (
	unseen rootState = iota
	ready
	vanished
	missing
)

// Probing of an absent root: often while it may be a swap, rarely afterwards
// (its parents are watched too, where events work).
const (
	probeVanished = 100 * time.Millisecond
	probeMissing  = 2 * time.Second
)

// ground is the directory that the root resolves to.
type ground struct {
	real string
	info fs.FileInfo
}

func (g ground) same(o ground) bool {
	return g.real == o.real && g.info != nil && o.info != nil && os.SameFile(g.info, o.info)
}

// resolve finds the directory behind the given path.
func resolve(given string) (ground, error) {
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		return ground{}, err
	}
	return stand(real)
}

// stand looks at a resolved path, following nothing.
func stand(real string) (ground, error) {
	fi, err := os.Lstat(real)
	if err != nil {
		return ground{}, err
	}
	if !fi.IsDir() {
		return ground{}, fmt.Errorf("%s: %w", real, errNotDir)
	}
	// On Windows the file's number is read at the first comparison, by path: it
	// must be read before the path can lead elsewhere.
	os.SameFile(fi, fi)
	return ground{real: real, info: fi}, nil
}

// absence words why there is no root.
func absence(err error) string {
	switch {
	case errors.Is(err, errNotDir):
		return "root is not a directory"
	case errors.Is(err, fs.ErrPermission):
		return "root cannot be reached: permission denied"
	case gone(err):
		return "root does not exist"
	}
	return "root cannot be reached: " + err.Error()
}

// anchor is a directory to watch for the sake of a path below it, and the name
// in it that the path goes through next.
type anchor struct {
	dir, name string
	id        dirID
}

// anchorOf answers the nearest existing directory above path.
func anchorOf(path string) (anchor, bool) {
	for {
		parent := filepath.Dir(path)
		if parent == path {
			return anchor{}, false
		}
		if g, err := resolve(parent); err == nil {
			return anchor{dir: g.real, name: filepath.Join(g.real, filepath.Base(path)), id: idOf(g.info)}, true
		}
		path = parent
	}
}

func idOf(fi fs.FileInfo) dirID {
	s := sigOf(fi)
	return dirID{dev: s.Dev, ino: s.Ino}
}

// approach watches what is above the root and answers where the root is.
//
// Inv: the look comes after the watch, so that a root that appears or moves
// later is announced.
func (r *reconciler) approach() (ground, error) {
	g, err := resolve(r.w.given)
	for range 3 { // a root that moves faster is caught by rootMoved
		guarded := g.real
		r.guardAbove(guarded)
		if g, err = resolve(r.w.given); g.real == guarded {
			break
		}
	}
	return g, err
}

// guardAbove watches the directories in which the root, or the link that the
// root is, can appear or go. real is empty when the root is absent.
func (r *reconciler) guardAbove(real string) {
	paths := []string{r.w.given}
	if real != "" && real != r.w.given {
		paths = append(paths, real)
	}
	var anchors []anchor
	dirs := map[string]dirID{}
	for _, p := range paths {
		if a, ok := anchorOf(p); ok {
			anchors = append(anchors, a)
			dirs[a.dir] = a.id
		}
	}
	at := real
	if at == "" {
		at = r.w.given
	}
	r.w.scope.Store(newScope(at, anchors))
	if !watchAbove {
		return
	}
	if err := r.watches.setOuter(dirs); err != nil {
		r.watchFailed(err)
	}
}

// absent handles a look at the root that found none. b holds what was seen of it
// before it went.
func (r *reconciler) absent(now time.Time, why error, b *Batch) {
	r.hold(b)
	r.trouble = absence(why)
	r.watches.dropInside()
	r.sweepAt = now.Add(probeMissing)
	switch {
	case r.state == ready:
		r.state, r.goneAt = vanished, now
		r.opt.Log.Info("root has gone, waiting for it to come back", "root", r.w.given, "grace", r.opt.Grace)
	case r.state == missing:
		if len(r.owed) > 0 {
			r.emit(&Batch{Missing: true})
		}
	case r.state == unseen, now.Sub(r.goneAt) >= r.opt.Grace:
		r.state = missing
		r.opt.Log.Warn("no root", "root", r.w.given, "reason", r.trouble)
		r.emit(r.clear())
	}
	if r.state == vanished {
		end := r.goneAt.Add(r.opt.Grace)
		r.sweepAt = now.Add(min(probeVanished, max(end.Sub(now), 0)))
		return // whoever waits for a walk waits for the verdict
	}
	r.settle()
}

// hold keeps b from being delivered, because the root went, or was exchanged,
// while b was made: its removals may be the root's own, and what it saw must be
// found again.
func (r *reconciler) hold(b *Batch) {
	for rel := range b.Removed {
		r.limbo[rel] = struct{}{}
	}
	for rel := range b.Changed {
		if _, f := r.lookup(rel); f != nil {
			f.sig = Sig{}
		}
	}
	b.Removed, b.Changed = nil, nil
}

// release gives removals that were held to b, now that the root stands. Those
// that came back are among the changes.
func (r *reconciler) release(b *Batch) {
	for rel := range r.limbo {
		if _, f := r.lookup(rel); f == nil {
			b.remove(rel)
		}
	}
	clear(r.limbo)
}

// clear empties the table into a batch that says so.
func (r *reconciler) clear() *Batch {
	b := &Batch{Missing: true, Removed: r.limbo}
	r.limbo = map[string]struct{}{}
	r.dropContents(b, r.top, "")
	r.top.trouble, r.skipsStale = "", true
	r.ground = ground{}
	r.follow.clear()
	return b
}
