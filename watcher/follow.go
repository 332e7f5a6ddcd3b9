package watcher

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// A file is listed again
//   - emptyAgain after it was seen empty: editors truncate before they write, and
//     where nothing announces the second step it would pass for an empty file;
//   - when its time stamps are RacyWindow old: a write within the granularity of
//     a time stamp leaves the signature as it was.
//
// followSlack lets files that are due at about the same time share a batch.
const (
	emptyAgain  = 100 * time.Millisecond
	followSlack = 50 * time.Millisecond
)

// followUps remembers which files are to be listed again, and when.
type followUps struct {
	due   map[string]time.Time
	next  time.Time            // the earliest of due; zero when there is none
	stale map[string]time.Time // second dates of files that are in due with an earlier one
}

func newFollowUps() followUps {
	return followUps{due: map[string]time.Time{}, stale: map[string]time.Time{}}
}

// track decides, for a file just listed with s, whether to list it again.
func (f *followUps) track(rel string, s Sig, now time.Time) {
	delete(f.due, rel)
	delete(f.stale, rel)
	racy, isRacy := racyUntil(s, now)
	switch {
	case s.Size == 0:
		f.put(rel, now.Add(emptyAgain))
		if isRacy {
			f.stale[rel] = racy
		}
	case isRacy:
		f.put(rel, racy)
	}
}

func (f *followUps) put(rel string, at time.Time) {
	f.due[rel] = at
	if f.next.IsZero() || at.Before(f.next) {
		f.next = at
	}
}

// racyUntil answers when the fresher of the time stamps of s will be old enough,
// if it is not at now. Stamps far in the future are a stepped clock or an
// archive's, and no nearer to the truth tomorrow.
func racyUntil(s Sig, now time.Time) (time.Time, bool) {
	stamp := time.Unix(0, s.MTime)
	if c := time.Unix(0, s.CTime); now.Sub(c).Abs() < RacyWindow && (c.After(stamp) || now.Sub(stamp).Abs() >= RacyWindow) {
		stamp = c
	}
	if now.Sub(stamp).Abs() >= RacyWindow {
		return time.Time{}, false
	}
	return stamp.Add(RacyWindow + followSlack), true
}

// take removes and answers what is due at now, sorted.
func (f *followUps) take(now time.Time) []string {
	var ready []string
	horizon := now.Add(followSlack)
	for rel, at := range f.due {
		if at.After(horizon) {
			continue
		}
		ready = append(ready, rel)
		delete(f.due, rel)
		if second, ok := f.stale[rel]; ok {
			delete(f.stale, rel)
			f.due[rel] = second
		}
	}
	f.next = time.Time{}
	for _, at := range f.due {
		if f.next.IsZero() || at.Before(f.next) {
			f.next = at
		}
	}
	slices.Sort(ready)
	return ready
}

// postpone moves everything that is due before at to at.
func (f *followUps) postpone(at time.Time) {
	for rel, due := range f.due {
		f.due[rel] = later(due, at)
	}
	f.next = later(f.next, at)
}

func (f *followUps) clear() {
	clear(f.due)
	clear(f.stale)
	f.next = time.Time{}
}

// followUp looks at the files that are due and lists those that still exist.
func (r *reconciler) followUp(ctx context.Context, now time.Time) {
	if r.state != ready {
		r.follow.postpone(now.Add(probeVanished))
		return
	}
	due := r.follow.take(now)
	p := r.newPass(ctx, false)
	for _, rel := range due {
		r.touch(p, rel)
		if _, f := r.lookup(rel); f != nil {
			p.b.change(rel, f.sig)
		}
	}
	r.conclude(ctx, p)
}

// relistMax bounds the files that a sweep lists again for want of a change time:
// the most recently written ones within relistAge. An older or a further one
// that is rewritten with its size and time stamp restored is seen at the next
// start only.
const (
	relistMax = 256
	relistAge = time.Hour
)

// relist lists recently written files again where an equal signature is weak
// evidence.
func (r *reconciler) relist(p *pass) {
	slices.SortFunc(p.weak, func(a, b weakFile) int { return cmp.Compare(b.sig.MTime, a.sig.MTime) })
	for _, f := range p.weak[:min(len(p.weak), relistMax)] {
		p.b.change(f.rel, f.sig)
	}
}
