package watcher

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"syscall"
)

// dirID identifies a directory apart from its path; the zero value means that
// the system does not tell.
type dirID struct{ dev, ino uint64 }

// watchSet is the set of directories that the source watches. Its methods are
// no-ops without a source.
//
// Inv: no directory is watched under a path that it no longer has. A kernel
// watch belongs to the directory and reports under the path that it was added
// with: after "mv a b", a watch left from a/sub would report b/sub/x as a/sub/x,
// and adding b/sub would not change that. So a directory that turns up under
// another path is removed under its old one first.
type watchSet struct {
	src   eventSource
	paths map[string]dirID
	ids   map[dirID]string
	outer map[string]struct{} // directories above the root, exempt from dropInside
}

func newWatchSet(src eventSource) *watchSet {
	return &watchSet{src: src, paths: map[string]dirID{}, ids: map[dirID]string{}, outer: map[string]struct{}{}}
}

// add watches dir. It must come before the directory is listed, or what is
// created in between is missed. A watch that may be dead (the directory was
// deleted and made again with the same number) is refreshed.
func (s *watchSet) add(dir string, id dirID) error {
	if s.src == nil {
		return nil
	}
	if id != (dirID{}) {
		if old, ok := s.ids[id]; ok && old != dir {
			s.remove(old)
		}
	}
	if was, ok := s.paths[dir]; ok && was != id {
		s.remove(dir)
	}
	if err := s.src.Add(dir); err != nil {
		return err
	}
	s.paths[dir] = id
	if id != (dirID{}) {
		s.ids[id] = dir
	}
	return nil
}

// remove ends the watch of dir, if there is one.
func (s *watchSet) remove(dir string) {
	id, ok := s.paths[dir]
	if !ok || s.src == nil {
		return
	}
	// An error says that the watch ended with its directory.
	_ = s.src.Remove(dir)
	delete(s.paths, dir)
	if s.ids[id] == dir {
		delete(s.ids, id)
	}
}

// forget ends the watch of a directory of the tree that has gone.
func (s *watchSet) forget(dir string) {
	if _, ok := s.outer[dir]; !ok {
		s.remove(dir)
	}
}

// dropInside ends all watches but the outer ones.
func (s *watchSet) dropInside() {
	for _, dir := range slices.Collect(maps.Keys(s.paths)) {
		s.forget(dir)
	}
}

// setOuter makes dirs the directories watched above the root.
func (s *watchSet) setOuter(dirs map[string]dirID) error {
	for dir := range s.outer {
		if _, ok := dirs[dir]; !ok {
			delete(s.outer, dir)
			s.remove(dir)
		}
	}
	var errs []error
	for dir, id := range dirs {
		if err := s.add(dir, id); err != nil {
			errs = append(errs, err)
			continue
		}
		s.outer[dir] = struct{}{}
	}
	return errors.Join(errs...)
}

// harmless says that an error of add is about the directory and not about the
// source: it has gone, is no directory, or may not be read. The walk that asked
// for the watch finds out the same.
func harmless(err error) bool {
	return gone(err) || errors.Is(err, fs.ErrPermission)
}

// gone says that there is no directory or file at a path, or something else.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, syscall.ELOOP) || errors.Is(err, errNotDir)
}
