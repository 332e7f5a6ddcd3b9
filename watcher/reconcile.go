package watcher

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// reconciler brings the table of stats in line with the disk and delivers the
// differences.
//
// Inv: all of it belongs to the goroutine that runs loop. Others talk to it
// through the inbox and see of it what publish has copied out.
type reconciler struct {
	w   *Watcher
	in  *inbox
	opt Options

	src     eventSource // nil while polling
	pumping sync.WaitGroup
	watches *watchSet

	// The table.
	top         *directory
	dirs, files int    // below and without the root
	round       uint64 // counts listings
	skips       []Skip
	skipsStale  bool
	refused     bool // entries were left out for want of room since the last walk began
	follow      followUps

	// The root.
	state   rootState
	ground  ground
	trouble string              // why there is no root
	goneAt  time.Time           // when it vanished
	limbo   map[string]struct{} // removals that may be the root's own, not delivered yet

	// The mode.
	mode       Mode
	modeReason string
	modeSince  time.Time
	test       *selfTest
	misses     int

	// What is due when.
	sweepAt   time.Time
	pokeFloor time.Time // no poke is answered before
	lostFloor time.Time // no lost queue is answered before
	pollEvery time.Duration
	poked     bool

	owed      []chan struct{} // callers of Sync whose walk has begun
	gen       uint64
	sweeps    int64
	lastSweep time.Time
}

func newReconciler(w *Watcher) *reconciler {
	return &reconciler{
		w: w, in: w.in, opt: w.opt, watches: newWatchSet(nil), top: newDirectory(),
		follow: newFollowUps(), limbo: map[string]struct{}{}, pollEvery: w.opt.pollMin,
	}
}

func (r *reconciler) close() { r.closeSource() }

// loop does what is due until ctx ends.
func (r *reconciler) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		now := time.Now()
		if wait := r.nextDue(now).Sub(now); wait > 0 {
			timer.Reset(wait)
			select {
			case <-ctx.Done():
			case <-r.in.nudge:
			case <-timer.C:
			}
			continue
		}
		r.step(ctx, now)
		r.publish()
	}
}

// nextDue answers when there is something to do; the zero time means at once.
func (r *reconciler) nextDue(now time.Time) time.Time {
	p := r.in.peek()
	due := r.walkDue(p)
	sooner := func(t time.Time) {
		if t.Before(due) {
			due = t
		}
	}
	if p.marked && !p.all {
		sooner(r.debounced(p))
	}
	if p.ended && r.src != nil {
		sooner(now)
	}
	if !r.follow.next.IsZero() {
		sooner(r.follow.next)
	}
	if r.test != nil && !p.marked { // pending marks are evidence
		sooner(r.test.judgeAt)
	}
	return due
}

// walkDue answers when the next walk of the whole root is due.
func (r *reconciler) walkDue(p pending) time.Time {
	if p.waiting {
		return time.Time{}
	}
	due := r.sweepAt
	if p.poke && r.pokeFloor.Before(due) {
		due = r.pokeFloor
	}
	if p.all {
		if t := later(r.debounced(p), r.lostFloor); t.Before(due) {
			due = t
		}
	}
	return due
}

// debounced answers when a burst of events counts as over: after Quiet without
// one, or MaxWait after the first.
func (r *reconciler) debounced(p pending) time.Time {
	quiet, end := p.last.Add(r.opt.Quiet), p.first.Add(r.opt.MaxWait)
	if quiet.Before(end) {
		return quiet
	}
	return end
}

// step does what is due at now.
func (r *reconciler) step(ctx context.Context, now time.Time) {
	p := r.in.peek()
	if p.ended && r.src != nil {
		r.toPoll("the event source has ended")
		r.sweepAt = now
	}
	if r.test != nil && !now.Before(r.test.judgeAt) && !p.marked {
		r.judge()
	}
	switch {
	case !now.Before(r.walkDue(p)):
		r.full(ctx)
	case p.marked && !p.all && !now.Before(r.debounced(p)):
		r.marked(ctx)
	case !r.follow.next.IsZero() && !now.Before(r.follow.next):
		r.followUp(ctx, now)
	}
}

// marked looks at the paths that events named.
func (r *reconciler) marked(ctx context.Context) {
	if r.state != ready {
		r.full(ctx)
		return
	}
	j := r.in.takeMarks()
	r.hearTest(j)
	p := r.newPass(ctx, false)
	// Sorted, a directory comes before what is in it.
	for _, rel := range slices.Sorted(maps.Keys(j.dirty)) {
		r.touch(p, rel)
	}
	r.conclude(ctx, p)
}

// conclude delivers a pass over single paths, unless the root went meanwhile.
func (r *reconciler) conclude(ctx context.Context, p *pass) {
	switch {
	case ctx.Err() != nil:
	case r.rootMoved():
		r.hold(p.b)
		r.full(ctx)
	default:
		r.retrySoon(p)
		r.emit(p.b)
	}
}

// retrySoon brings the next walk forward after trouble that may pass, and when
// there is room again for what was refused.
func (r *reconciler) retrySoon(p *pass) {
	if r.refused && max(r.files, r.dirs) < r.opt.MaxFiles {
		r.refused = false
		r.in.again()
	}
	if at := time.Now().Add(probeMissing); p.trouble && at.Before(r.sweepAt) {
		r.sweepAt = at
	}
}

// rootMoved says that the directory that was walked is not the root any more.
func (r *reconciler) rootMoved() bool {
	g, err := stand(r.ground.real)
	return err != nil || !g.same(r.ground)
}

// full looks at the whole root.
func (r *reconciler) full(ctx context.Context) {
	begin := time.Now()
	j := r.in.takeAll()
	r.owed = append(r.owed, j.waiters...)
	r.poked = r.poked || j.poked
	r.hearTest(j)
	g, err := r.approach()
	if err != nil {
		r.swept()
		r.absent(begin, err, &Batch{})
		return
	}
	moved := r.state != ready || !g.same(r.ground)
	r.refused = false
	r.arrive(g)
	p := r.newPass(ctx, true)
	listed := r.walk(p, r.top, "", 0)
	if ctx.Err() != nil {
		return
	}
	r.swept()
	if !listed || r.rootMoved() {
		r.overtaken(begin, p)
		return
	}
	r.finish(p, j, begin, moved)
}

func (r *reconciler) swept() {
	r.sweeps++
	r.lastSweep = time.Now()
}

// arrive enters a directory that may be another than before.
func (r *reconciler) arrive(g ground) {
	if r.ground.info != nil && !g.same(r.ground) {
		r.watches.dropInside()
	}
	if g.real != r.ground.real {
		r.checkKind(g.real)
	}
	r.ground = g
}

// overtaken handles a root that went, or was exchanged, while it was walked.
func (r *reconciler) overtaken(begin time.Time, p *pass) {
	if _, err := resolve(r.w.given); err != nil {
		r.absent(begin, err, p.b)
		return
	}
	r.hold(p.b)
	r.sweepAt = time.Now().Add(probeVanished)
	r.in.again()
}

// finish delivers a complete walk of a standing root.
func (r *reconciler) finish(p *pass, j job, begin time.Time, moved bool) {
	if r.state != ready {
		r.opt.Log.Info("root is there", "root", r.w.given, "files", r.files, "mode", r.mode)
	}
	first := r.state == unseen || r.state == missing
	r.state, r.trouble = ready, ""
	r.checkCount()
	end := time.Now()
	r.reschedule(end, end.Sub(begin), len(p.hard) > 0)
	if !moved {
		r.beginTest(p.hard, j, end)
	}
	r.retrySoon(p)
	r.release(p.b)
	r.relist(p)
	if first || len(r.owed) > 0 || !p.b.empty() || r.skipsStale {
		p.b.Full = true
		r.emit(p.b)
	}
	r.settle()
}

func (b *Batch) empty() bool { return len(b.Changed)+len(b.Removed) == 0 && !b.Full && !b.Missing }

// emit delivers b, unless it says nothing.
func (r *reconciler) emit(b *Batch) {
	if b.empty() && !r.skipsStale {
		return
	}
	if r.skipsStale {
		r.skips, r.skipsStale = r.skipList(), false
	}
	r.gen++
	b.Skipped, b.SkipsKnown, b.Gen = r.skips, true, r.gen
	r.publish()
	r.w.sink(*b)
}

// settle answers the callers of Sync whose walk has been delivered.
func (r *reconciler) settle() {
	r.publish()
	for _, c := range r.owed {
		close(c)
	}
	r.owed = nil
}

// publish copies out what Status shows.
func (r *reconciler) publish() {
	s := Status{
		Mode: r.mode, Reason: r.modeReason, Since: r.modeSince, LastSweep: r.lastSweep,
		Missing: r.state == missing || r.state == vanished, Files: r.files, Sweeps: r.sweeps,
	}
	if r.state == ready || r.state == vanished {
		s.Dirs = r.dirs + 1
	}
	if r.trouble != "" {
		s.Reason = r.trouble
		if r.modeReason != "" {
			s.Reason += "; " + r.modeReason
		}
	}
	r.w.mu.Lock()
	r.w.status = s
	r.w.mu.Unlock()
}
