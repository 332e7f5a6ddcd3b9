// Package watcher tells which files under a root directory changed. It knows
// paths and stats, opens no file, and follows no symbolic link below the root.
//
// Events of the operating system are hints: they say where to look and may be
// late, lost or wrong. What is delivered is the difference between two stats.
// Three parts work together: the pump takes events off the operating system and
// only marks paths; the reconcile goroutine looks at what was marked, sweeps the
// whole root from time to time, and is the sole owner of the table of stats; and
// where events do not work, sweeps alone (polling) do the job.
package watcher

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ErrStopped is what Sync answers when Run has ended.
var ErrStopped = errors.New("watcher has stopped")

// Watcher follows one root. Create it with New.
type Watcher struct {
	given string // absolute; may be or pass through symbolic links
	bad   error  // why given could not be made absolute
	opt   Options
	sink  func(Batch)

	in      *inbox
	scope   atomic.Pointer[scope]
	started atomic.Bool
	ended   chan struct{}

	mu     sync.Mutex
	status Status
}

// New makes a watcher for root, which need not exist. sink is called from one
// goroutine, in order, while Run runs; it may be slow, events are kept (or
// replaced by a walk) meanwhile.
func New(root string, opt Options, sink func(Batch)) *Watcher {
	given, err := filepath.Abs(root)
	if err != nil {
		err = fmt.Errorf("watch %s: %w", root, err)
	}
	w := &Watcher{given: given, bad: err, opt: opt.withDefaults(), sink: sink, in: newInbox(), ended: make(chan struct{})}
	w.scope.Store(newScope(given, nil))
	return w
}

// Run watches until ctx ends, then answers nil; everything that it started has
// ended when it returns. It answers an error when it cannot begin: the root's
// path cannot be made absolute, or Run has been called before. A root that is
// missing or no directory is no error; see Batch.Missing and Status.
func (w *Watcher) Run(ctx context.Context) error {
	if w.bad != nil {
		return w.bad
	}
	if !w.started.CompareAndSwap(false, true) {
		return fmt.Errorf("watch %s: Run called twice", w.given)
	}
	defer close(w.ended)
	r := newReconciler(w)
	defer r.close()
	r.start()
	r.publish()
	r.loop(ctx)
	return nil
}

// Poke asks for a sweep soon: when the user does something that suggests that
// files have changed. It never blocks. Pokes in quick succession are answered by
// one sweep, and sweeps that are asked for take at most a few percent of a CPU.
func (w *Watcher) Poke() { w.in.setPoke() }

// Sync returns when a full walk that was begun after the call has been delivered
// to the sink (as a batch of its own, even if nothing changed). While the root is
// absent that is the delivery of Batch.Missing, at the latest after the grace
// time. It answers ctx's error when ctx ends first, and ErrStopped when Run ends
// or has ended.
func (w *Watcher) Sync(ctx context.Context) error {
	if w.bad != nil {
		return w.bad
	}
	select {
	case <-w.ended:
		return ErrStopped
	default:
	}
	done := w.in.wait()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-w.ended:
		return ErrStopped
	}
}

// Status answers the present condition; it never waits for a walk or the sink.
func (w *Watcher) Status() Status {
	w.mu.Lock()
	s := w.status
	w.mu.Unlock()
	s.Events, s.Overflows, s.LastEvent = w.in.counters()
	return s
}

func newScope(real string, anchors []anchor) *scope {
	under := real
	if !strings.HasSuffix(under, string(filepath.Separator)) {
		under += string(filepath.Separator)
	}
	s := &scope{real: real, under: under}
	for _, a := range anchors {
		s.names = append(s.names, a.name)
		s.above = append(s.above, a.dir)
	}
	return s
}

// later answers the later of two instants.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
