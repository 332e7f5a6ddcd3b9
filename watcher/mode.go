package watcher

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
)

// Bounds of the time between sweeps in ModePoll: pollBusy after a change or a
// poke, doubled by every sweep that finds nothing up to pollIdle.
const (
	pollBusy = time.Second
	pollIdle = time.Minute
)

// A tree that takes long to walk is walked less often: sweeps take at most one
// part in sweepShare of the time with events, one in pollShare without, one in
// pokeShare when they are asked for, and half of it when events are lost all the
// time. The caps bound how stale a huge tree can get.
const (
	sweepShare = 100
	pollShare  = 10
	pokeShare  = 20
	sweepCap   = 10 * time.Minute
	pokeFloor  = 50 * time.Millisecond // so that a volley of pokes is one
	pokeCap    = 30 * time.Second
	lostCap    = 2 * time.Second
)

// The self-test: a sweep that finds a change waits judgeAfter for an event that
// is still on its way; failing that, it counts. Two such sweeps in a row (sweeps
// that find nothing do not count) end the trust in events.
const (
	judgeAfter  = time.Second
	missesToEnd = 2
)

// setMode publishes a mode and its reason.
func (r *reconciler) setMode(m Mode, reason string) {
	r.mode, r.modeReason = m, reason
	r.modeSince = time.Now()
}

// start opens the event source, or falls back to polling.
func (r *reconciler) start() {
	if r.opt.Poll {
		r.setMode(ModePoll, "polling was asked for")
		return
	}
	src, err := r.opt.open()
	if err != nil {
		r.setMode(ModePoll, limitReason(err))
		r.opt.Log.Warn("no events, polling", "root", r.w.given, "reason", r.modeReason)
		return
	}
	r.setMode(ModeEvents, "")
	r.src = src
	r.watches = newWatchSet(src)
	r.pumping.Go(func() { r.w.pump(src) })
}

// toPoll gives up on events for good.
func (r *reconciler) toPoll(reason string) {
	if r.mode == ModePoll {
		return
	}
	r.closeSource()
	r.setMode(ModePoll, reason)
	r.test = nil
	r.pollEvery = r.opt.pollMin
	r.sweepAt = time.Now().Add(r.pollEvery)
	r.opt.Log.Warn("no trust in events, polling", "root", r.w.given, "reason", reason)
}

func (r *reconciler) closeSource() {
	if r.src == nil {
		return
	}
	if err := r.src.Close(); err != nil {
		r.opt.Log.Warn("event source does not close", "root", r.w.given, "error", err)
	}
	r.pumping.Wait()
	r.src = nil
	r.watches = newWatchSet(nil)
}

// watchFailed handles an error of adding a watch.
func (r *reconciler) watchFailed(err error) {
	if harmless(err) {
		r.opt.Log.Debug("directory not watched", "root", r.w.given, "error", err)
		return
	}
	r.toPoll(limitReason(err))
}

// limitReason words an error of the event source so that a person can act on it.
func limitReason(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Sprintf("limit of watches reached (Linux: fs.inotify.max_user_watches): %v", err)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Sprintf("limit of open files or watchers reached (Linux: fs.inotify.max_user_instances): %v", err)
	}
	return fmt.Sprintf("events are not available: %v", err)
}

// checkKind falls back to polling where others change files without events.
func (r *reconciler) checkKind(dir string) {
	if kind, silent := r.opt.fsKind(dir); silent {
		r.toPoll(fmt.Sprintf("file system %s does not announce all changes", kind))
	}
}

// checkCount falls back to polling where every file costs a descriptor.
func (r *reconciler) checkCount() {
	if limit := r.opt.eventFiles; limit > 0 && r.files > limit {
		r.toPoll(fmt.Sprintf("events take a file descriptor for each file here, and there are more than %d files", limit))
	}
}

// selfTest is a sweep's finding that waits for its events.
type selfTest struct {
	unheard map[string]struct{}
	judgeAt time.Time
}

// beginTest opens a test with the changes that a sweep found; j is what had been
// announced before it.
func (r *reconciler) beginTest(hard []string, j job, now time.Time) {
	if r.src == nil || r.test != nil || len(hard) == 0 || j.all {
		return
	}
	r.test = &selfTest{unheard: map[string]struct{}{}, judgeAt: now.Add(judgeAfter)}
	for _, rel := range hard {
		r.test.unheard[rel] = struct{}{}
	}
	r.hearTest(j)
}

// hearTest takes announced changes off the open test. An event for a directory
// stands for everything below it.
func (r *reconciler) hearTest(j job) {
	if r.test == nil {
		return
	}
	if j.all { // a lost queue proves nothing, and a moved root explains everything
		r.test = nil
		return
	}
	for rel := range r.test.unheard {
		for at := rel; ; {
			if _, ok := j.dirty[at]; ok {
				delete(r.test.unheard, rel)
				break
			}
			i := strings.LastIndexByte(at, '/')
			if i < 0 {
				break
			}
			at = at[:i]
		}
	}
}

// judge closes the open test.
func (r *reconciler) judge() {
	silent := len(r.test.unheard) > 0
	r.test = nil
	if !silent {
		r.misses = 0
		return
	}
	if r.misses++; r.misses >= missesToEnd {
		r.toPoll(fmt.Sprintf("self-test: %d sweeps in a row found changes that no event announced", r.misses))
	}
}

// reschedule sets when the next sweep is due, after one that took d and, if
// changed, found something.
func (r *reconciler) reschedule(end time.Time, d time.Duration, changed bool) {
	r.pokeFloor = end.Add(max(pokeFloor, min(pokeShare*d, pokeCap)))
	r.lostFloor = end.Add(min(2*d, lostCap))
	if r.mode == ModeEvents {
		r.sweepAt = end.Add(max(r.opt.Sweep, min(sweepShare*d, sweepCap)))
		return
	}
	if changed || r.poked {
		r.pollEvery = r.opt.pollMin
	}
	r.poked = false
	r.sweepAt = end.Add(max(r.pollEvery, min(pollShare*d, sweepCap)))
	r.pollEvery = min(2*r.pollEvery, r.opt.pollMax)
}
