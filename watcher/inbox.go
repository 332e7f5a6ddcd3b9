package watcher

import (
	"sync"
	"time"
)

// maxDirty is how many paths are remembered one by one. A burst above it is
// cheaper to answer with a walk, and memory stays bounded while the receiver is
// slow.
const maxDirty = 512

// inbox is where the pump and the callers of Poke and Sync leave word for the
// reconcile goroutine. Leaving word never blocks.
type inbox struct {
	nudge chan struct{} // one slot; filled when the reconcile goroutine should look

	mu          sync.Mutex
	dirty       map[string]struct{}
	all         bool      // everything may have changed; dirty is empty then
	first, last time.Time // first and last mark since the last take
	poke        bool
	ended       bool // the event source closed its channels
	waiters     []chan struct{}

	events, overflows int64
	lastEvent         time.Time
}

func newInbox() *inbox {
	return &inbox{nudge: make(chan struct{}, 1), dirty: map[string]struct{}{}}
}

func (in *inbox) wake() {
	select {
	case in.nudge <- struct{}{}:
	default:
	}
}

// mark says that rel may have changed.
func (in *inbox) mark(rel string) { in.heard(rel, false, false) }

// markRoot says that the root itself may have changed.
func (in *inbox) markRoot() { in.heard("", true, false) }

// markLost says that events were lost.
func (in *inbox) markLost(overflow bool) {
	in.heard("", true, overflow)
}

func (in *inbox) heard(rel string, all, overflow bool) {
	now := time.Now()
	in.mu.Lock()
	in.events++
	in.lastEvent = now
	if overflow {
		in.overflows++
	}
	fresh := in.first.IsZero()
	in.stamp(now)
	if !all && !in.all {
		in.dirty[rel] = struct{}{}
		all = len(in.dirty) > maxDirty
	}
	if all && !in.all {
		in.all = true
		clear(in.dirty)
		fresh = true
	}
	in.mu.Unlock()
	// While marks are pending the reconcile goroutine reads first and last when
	// its timer fires, so one wake per burst is enough.
	if fresh {
		in.wake()
	}
}

func (in *inbox) stamp(now time.Time) {
	if in.first.IsZero() {
		in.first = now
	}
	in.last = now
}

// again asks for another walk after one that was overtaken by a change of the
// root. It is no event.
func (in *inbox) again() {
	in.mu.Lock()
	in.stamp(time.Now())
	in.all = true
	clear(in.dirty)
	in.mu.Unlock()
	in.wake()
}

func (in *inbox) setPoke() {
	in.mu.Lock()
	in.poke = true
	in.mu.Unlock()
	in.wake()
}

func (in *inbox) setEnded() {
	in.mu.Lock()
	in.ended = true
	in.mu.Unlock()
	in.wake()
}

func (in *inbox) wait() <-chan struct{} {
	c := make(chan struct{})
	in.mu.Lock()
	in.waiters = append(in.waiters, c)
	in.mu.Unlock()
	in.wake()
	return c
}

// pending describes what has been left without taking it.
type pending struct {
	marked, all, poke, waiting, ended bool
	first, last                       time.Time
}

func (in *inbox) peek() pending {
	in.mu.Lock()
	defer in.mu.Unlock()
	return pending{
		marked: in.all || len(in.dirty) > 0, all: in.all, poke: in.poke,
		waiting: len(in.waiters) > 0, ended: in.ended, first: in.first, last: in.last,
	}
}

// job is what has been taken out of the inbox.
type job struct {
	dirty   map[string]struct{}
	all     bool
	poked   bool
	waiters []chan struct{}
}

// takeMarks takes the marks and leaves pokes and waiters, who ask for a walk.
func (in *inbox) takeMarks() job {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.marks()
}

// takeAll takes everything that a walk answers.
func (in *inbox) takeAll() job {
	in.mu.Lock()
	defer in.mu.Unlock()
	j := in.marks()
	j.waiters, j.poked = in.waiters, in.poke
	in.waiters, in.poke = nil, false
	return j
}

func (in *inbox) marks() job {
	j := job{dirty: in.dirty, all: in.all}
	in.dirty, in.all = map[string]struct{}{}, false
	in.first, in.last = time.Time{}, time.Time{}
	return j
}

func (in *inbox) counters() (events, overflows int64, last time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.events, in.overflows, in.lastEvent
}
