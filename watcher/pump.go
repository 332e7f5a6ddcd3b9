package watcher

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// eventSource is what the watcher needs of the operating system. Close closes
// both channels. Add of a directory that is watched already refreshes the watch.
type eventSource interface {
	Events() <-chan fsnotify.Event
	Errors() <-chan error
	Add(dir string) error
	Remove(dir string) error
	Close() error
}

type fsnotifySource struct{ *fsnotify.Watcher }

// Events implements eventSource.
func (s fsnotifySource) Events() <-chan fsnotify.Event { return s.Watcher.Events }

// Errors implements eventSource.
func (s fsnotifySource) Errors() <-chan error { return s.Watcher.Errors }

func openFsnotify() (eventSource, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return fsnotifySource{w}, nil
}

// scope is what the pump needs to know of the root. It is replaced as a whole by
// the reconcile goroutine when the root resolves to another place.
type scope struct {
	real  string   // the resolved root
	under string   // real with a trailing separator
	names []string // where the root, or the next existing step towards it, appears or goes
	above []string // the watched directories outside the root
}

type place int

const (
	elsewhere place = iota
	atRoot
	inside
)

// locate says what an event is about; rel is set for inside.
func (s *scope) locate(e fsnotify.Event) (rel string, where place) {
	for _, n := range s.names {
		if e.Name == n {
			return "", atRoot
		}
	}
	switch {
	case e.Name == s.real:
		return "", atRoot
	case strings.HasPrefix(e.Name, s.under):
		return filepath.ToSlash(e.Name[len(s.under):]), inside
	}
	for _, a := range s.above {
		// Attributes of a directory outside are nobody's business here.
		if e.Name == a && e.Op != fsnotify.Chmod {
			return "", atRoot
		}
	}
	return "", elsewhere
}

// pump empties the source into the inbox until the source is closed.
//
// Inv: it never blocks and never calls Add or Remove. A backend whose consumer
// stalls loses events, and on Windows Add is served by the goroutine that waits
// for this one.
func (w *Watcher) pump(src eventSource) {
	for {
		select {
		case e, ok := <-src.Events():
			if !ok {
				w.in.setEnded()
				return
			}
			w.hear(e)
		case err, ok := <-src.Errors():
			if !ok {
				w.in.setEnded()
				return
			}
			overflow := errors.Is(err, fsnotify.ErrEventOverflow)
			w.opt.Log.Info("events lost, walking the root", "root", w.given, "error", err)
			w.in.markLost(overflow)
		}
	}
}

func (w *Watcher) hear(e fsnotify.Event) {
	rel, where := w.scope.Load().locate(e)
	switch where {
	case atRoot:
		w.in.markRoot()
	case inside:
		if !hiddenPath(rel) {
			w.in.mark(rel)
		}
	}
}
