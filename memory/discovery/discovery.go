// Package discovery finds the directories in which coding agents and people keep
// memories of a workspace: where each program that memls knows puts them, by the
// environment and the settings of the user, and never by anything that stands in
// the workspace.
//
// It looks at names only: whether a directory is there, which .git entry is the
// nearest, where a symlink leads. Of files it opens the user's settings of those
// programs, its own records, and, in a trusted workspace, what git keeps about a
// linked worktree.
package discovery

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/memls/memls/memory"
)

// The layouts that memories are found in.
const (
	ProfileAuto   = "auto" // all of them
	ProfileQwen   = "qwen"
	ProfileClaude = "claude"
	ProfilePlain  = "plain"
)

// State is what came of a place that was looked at.
type State string

// The states of a place.
const (
	// StateServed is a directory of memories.
	StateServed State = "served"
	// StateNew does not exist; the first memory of its scope is written there.
	StateNew State = "new"
	// StateAbsent does not exist.
	StateAbsent State = "absent"
	// StateUntrusted is there, in a workspace that nobody has said to be trusted.
	StateUntrusted State = "untrusted"
	// StateRefused is there and cannot be served.
	StateRefused State = "refused"
	// StateOff is there and left out by what the user has set.
	StateOff State = "off"
)

// Request says what to look for.
type Request struct {
	// Folders are the workspace folders by absolute path, in their order.
	Folders []string
	Profile string // empty is ProfileAuto
	// Trusted says that the person trusts the workspace.
	Trusted bool
	// Share has linked git worktrees share the memory of the main one.
	Share bool
}

// Place is a directory that was looked at.
type Place struct {
	Profile string
	Scope   memory.Scope
	Path    string
	Folder  string // the workspace folder that led there; empty for the user's own
	State   State
	Reason  string // why it is not served; empty when it is
}

// Project is what is known of a workspace folder.
type Project struct {
	Folder string
	// Root is the nearest directory from the folder upwards that has a .git entry,
	// else the folder.
	Root string
	Git  bool
	// Main is the main worktree of a linked one whose memory it shares.
	Main string

	linked string // the main worktree of one that shares none
}

// Result is what was found.
type Result struct {
	// Roots are the directories to serve, those of the workspace first. Those that
	// are not trusted or refused are among them, marked so that they are listed
	// and never opened, and so are the new ones.
	Roots    []memory.RootConfig
	Places   []Place // in the order in which they were looked at
	Projects []Project
	Notes    []string // what was set and could not be followed, for a person
}

// Served is the number of places with memories.
func (r *Result) Served() int { return r.count(StateServed) }

// Closed is the number of places that are there and may not be read.
func (r *Result) Closed() int { return r.count(StateUntrusted) + r.count(StateRefused) }

func (r *Result) count(s State) int {
	n := 0
	for _, p := range r.Places {
		if p.State == s {
			n++
		}
	}
	return n
}

// Find looks for the memories of a workspace. What cannot be looked at is a place
// with the reason; it never fails.
func Find(env Env, req Request) *Result {
	f := &finder{env: env.withDefaults(), req: req, res: &Result{}, at: map[string]int{}}
	if f.req.Profile == "" {
		f.req.Profile = ProfileAuto
	}
	for _, folder := range req.Folders {
		f.folders = append(f.folders, directory{folder, resolved(folder)})
	}
	f.readSettings()
	for _, folder := range f.folders {
		f.project(folder.path)
	}
	f.user()
	return f.res
}

// directory is a path with what it leads to.
type directory struct{ path, real string }

// finder gathers one result.
type finder struct {
	env     Env
	req     Request
	res     *Result
	folders []directory
	at      map[string]int // of a root in the result, by scope and path

	qwenBase, claudeMemory string
	found                  bool // a directory of the scope at hand is there
}

// wants tells whether a layout is looked for.
func (f *finder) wants(profile string) bool {
	return f.req.Profile == ProfileAuto || f.req.Profile == profile
}

// candidate is a place to look at.
type candidate struct {
	profile string
	scope   memory.Scope
	path    string
	folder  string
	// inWorkspace says that the workspace decides what lies there, wherever that
	// is.
	inWorkspace bool
	// project is the project that the name of the directory was made of, when
	// another one could lead to the same name.
	project string
	// off is why it is left out though it is there.
	off string
	// writes says that this is where memories of its scope go when there are none.
	writes bool
}

// project looks for the memories of one workspace folder.
func (f *finder) project(folder string) {
	p := f.projectOf(folder)
	f.res.Projects = append(f.res.Projects, p)
	f.found = false
	var places []candidate
	if f.wants(ProfileQwen) {
		places = append(places, f.qwenProject(p)...)
	}
	if f.wants(ProfileClaude) {
		places = append(places, f.claudeProject(p)...)
	}
	if f.wants(ProfilePlain) {
		places = append(places, f.plainProject(p)...)
	}
	f.lookAll(places)
	if f.wants(ProfileQwen) {
		f.lookAll(f.qwenTeam(p))
	}
}

// user looks for the memories of the person.
func (f *finder) user() {
	f.found = false
	var places []candidate
	if f.wants(ProfileQwen) {
		places = append(places, f.qwenUser()...)
	}
	if f.wants(ProfileClaude) {
		places = append(places, f.claudeUser()...)
	}
	if f.wants(ProfilePlain) {
		places = append(places, f.plainUser()...)
	}
	f.lookAll(places)
}

// lookAll looks at places of one scope. When there is nothing in any, the one that
// is written to becomes a root all the same.
func (f *finder) lookAll(places []candidate) {
	first := len(f.res.Places)
	for _, c := range places {
		f.look(c)
	}
	if f.found {
		return
	}
	for i, c := range places {
		if p := &f.res.Places[first+i]; c.writes && p.State == StateAbsent {
			if f.untrusted(c) {
				p.Reason = "there is no such directory yet; the first memory of its scope is written there once the workspace is trusted"
				return
			}
			p.State, p.Reason = StateNew, "there is no such directory yet; the first memory of its scope is written there"
			f.serve(c, memory.RootConfig{})
			return
		}
	}
}

// look finds out what is at a place.
func (f *finder) look(c candidate) {
	p := Place{Profile: c.profile, Scope: c.scope, Path: c.path, Folder: c.folder}
	info, err := os.Lstat(c.path)
	switch {
	case c.path == "" || errors.Is(err, fs.ErrNotExist) || isNotDirectory(err):
		p.State, p.Reason = StateAbsent, "there is no such directory"
	case c.off != "":
		p.State, p.Reason = StateOff, c.off
	case f.untrusted(c):
		f.found = true
		p.State, p.Reason = StateUntrusted, "it lies in a workspace that is not trusted"
		f.serve(c, memory.RootConfig{Untrusted: true})
	default:
		f.found = true
		if p.Reason = f.refusal(c, info, err); p.Reason != "" {
			p.State = StateRefused
			f.serve(c, memory.RootConfig{Refused: p.Reason})
			break
		}
		p.State = StateServed
		f.serve(c, memory.RootConfig{})
	}
	f.res.Places = append(f.res.Places, p)
}

// isNotDirectory tells whether a path leads through a file.
func isNotDirectory(err error) bool {
	return errors.Is(err, syscall.ENOTDIR)
}

// refusal is why what is at a place cannot be served, or empty.
func (f *finder) refusal(c candidate, info fs.FileInfo, err error) string {
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		info, err = os.Stat(c.path)
	}
	switch {
	case err != nil:
		return "it cannot be looked at: " + cause(err)
	case !info.IsDir():
		return "it is not a directory"
	}
	// A file of the workspace that is a link must not choose which directory of
	// the person is read.
	if c.inWorkspace && !f.leadsInside(c) {
		return "a symlink in the workspace leads out of it; name the directory itself to have it read"
	}
	return f.clash(c)
}

// clash is why a directory belongs to another project whose path makes the same
// name, or empty. Whoever comes first has it.
func (f *finder) clash(c candidate) string {
	if c.project == "" || f.env.State == "" {
		return ""
	}
	owner, note, err := claim(f.env.State, resolved(c.path), resolved(c.project))
	if note != "" {
		f.note("%s: %s", c.path, note)
	}
	switch {
	case err != nil:
		f.note("%s: it is not known whether another project has the same name: %v", c.path, err)
	case owner != "":
		return "the name stands for several paths, and this is the memory of " + owner + "; name the directory itself to have it read here, too"
	}
	return ""
}

// leadsInside tells whether a place of the workspace lies in its project without
// the symlinks, too.
func (f *finder) leadsInside(c candidate) bool {
	real := resolved(c.path)
	for _, p := range f.res.Projects {
		for _, dir := range []string{p.Root, p.Folder, p.Main} {
			if dir != "" && within(resolved(dir), real) {
				return true
			}
		}
	}
	return false
}

// untrusted tells whether a place may not be read for want of trust.
func (f *finder) untrusted(c candidate) bool {
	return !f.req.Trusted && (c.inWorkspace || f.inside(c.path))
}

// inside tells whether a path lies in a workspace folder, by its name or by what
// it leads to.
func (f *finder) inside(path string) bool {
	real := resolved(path)
	for _, d := range f.folders {
		if within(d.path, path) || within(d.real, real) {
			return true
		}
	}
	return false
}

// serve adds a root, or the folder to one that is there.
func (f *finder) serve(c candidate, root memory.RootConfig) {
	key := string(c.scope) + " " + c.path
	i, ok := f.at[key]
	if !ok {
		i = len(f.res.Roots)
		f.at[key] = i
		root.Scope, root.Path, root.Profile = c.scope, c.path, c.profile
		f.res.Roots = append(f.res.Roots, root)
	}
	f.res.Roots[i].Folders = f.res.Roots[i].Folders.With(c.folder)
}

// resolved follows the symlinks of a path as far as it exists.
func resolved(path string) string {
	for dir, rest := path, ""; ; {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return path
		}
		dir, rest = parent, filepath.Join(filepath.Base(dir), rest)
	}
}

// within tells whether a path is a directory or lies below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// cause is an error without the path that stands beside it.
func cause(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.Is(err, fs.ErrNotExist):
		return "it leads nowhere"
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
