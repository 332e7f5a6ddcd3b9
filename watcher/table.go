package watcher

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// file is what the table holds of a file. round is the listing of its directory
// that saw it last.
type file struct {
	sig   Sig
	round uint64
}

// directory is a node of the table of stats.
type directory struct {
	dirs    map[string]*directory
	files   map[string]*file
	skips   map[string]string // reasons by name
	trouble string            // why the directory itself cannot be listed
	over    int               // entries beyond the limits
	round   uint64
}

func newDirectory() *directory {
	return &directory{dirs: map[string]*directory{}, files: map[string]*file{}}
}

// join appends a name to a slash-separated path relative to the root; "" is the root.
func join(rel, name string) string {
	if rel == "" {
		return name
	}
	return rel + "/" + name
}

// refuse counts an entry of d for which there is no room.
func (r *reconciler) refuse(d *directory) {
	d.over++
	r.refused = true
}

func (d *directory) skip(name, reason string) {
	if d.skips == nil {
		d.skips = map[string]string{}
	}
	d.skips[name] = reason
}

// prune drops what the listing of the given round did not see.
func (r *reconciler) prune(p *pass, d *directory, rel string, round uint64) {
	for name, f := range d.files {
		if f.round != round {
			r.dropFile(p, d, name, join(rel, name))
		}
	}
	for name, child := range d.dirs {
		if child.round != round {
			r.dropDir(p, d, child, name, join(rel, name))
		}
	}
}

func (r *reconciler) dropFile(p *pass, d *directory, name, rel string) {
	delete(d.files, name)
	r.files--
	p.hard = append(p.hard, rel)
	p.b.remove(rel)
}

func (r *reconciler) dropDir(p *pass, parent, d *directory, name, rel string) {
	p.hard = append(p.hard, rel)
	r.dropContents(p.b, d, rel)
	r.watches.forget(r.abs(rel))
	delete(parent.dirs, name)
	r.dirs--
}

// dropContents removes everything below d, which is at rel, but not d itself.
func (r *reconciler) dropContents(b *Batch, d *directory, rel string) {
	for name := range d.files {
		b.remove(join(rel, name))
	}
	r.files -= len(d.files)
	for name, child := range d.dirs {
		at := join(rel, name)
		r.dropContents(b, child, at)
		r.watches.forget(r.abs(at))
	}
	r.dirs -= len(d.dirs)
	if len(d.skips) > 0 || d.over > 0 || d.trouble != "" {
		r.skipsStale = true
	}
	clear(d.files)
	clear(d.dirs)
	d.skips, d.over = nil, 0
}

// lookup finds a file and its directory in the table.
func (r *reconciler) lookup(rel string) (*directory, *file) {
	d := r.top
	for {
		name, rest, more := strings.Cut(rel, "/")
		if !more {
			return d, d.files[name]
		}
		if d = d.dirs[name]; d == nil {
			return nil, nil
		}
		rel = rest
	}
}

// skipList collects the present skips, sorted by path.
func (r *reconciler) skipList() []Skip {
	var list []Skip
	var collect func(d *directory, rel string)
	collect = func(d *directory, rel string) {
		self := rel
		if self == "" {
			self = "."
		}
		if d.trouble != "" {
			list = append(list, Skip{self, d.trouble})
		}
		if d.over > 0 {
			list = append(list, Skip{self, fmt.Sprintf("%d entries beyond the limit of %d files", d.over, r.opt.MaxFiles)})
		}
		for name, reason := range d.skips {
			list = append(list, Skip{join(rel, name), reason})
		}
		for name, child := range d.dirs {
			collect(child, join(rel, name))
		}
	}
	collect(r.top, "")
	return sortSkips(list)
}

func sortSkips(list []Skip) []Skip {
	slices.SortFunc(list, func(a, b Skip) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Reason, b.Reason))
	})
	return list
}
