package lsp

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/memory/activity"
	"github.com/memls/memls/recall"
)

const (
	// maxNotes bounds what waits to be written; a disk that does not keep up loses
	// the rest, with a warning.
	maxNotes = 1024
	// lastWrite bounds the writing of what is left when the connection closes.
	lastWrite = 200 * time.Millisecond
	// unnamedHost labels a client that does not say what it is called.
	unnamedHost = "unnamed"

	defaultStatsDays = 30
)

// recorder writes what a connection delivers to the person's activity, and tells
// the client what is written there by anybody. Both only when it is wanted, and
// neither in the way of a recall.
type recorder struct {
	f     *features
	store *activity.Store // nil without a state directory

	mu      sync.Mutex
	notes   []note
	lost    int
	writing sync.Mutex // one writer at a time; comes before mu
	wake    chan struct{}
	looking chan struct{} // the roots or the settings may have changed
}

// note is what is to be written about one delivery.
type note struct {
	records map[string]activity.Record // by the id of a root
	date    string
	counts  activity.Counts
}

// registerActivity registers what shows the person's activity.
func (f *features) registerActivity() error {
	if err := f.s.Announce(NotifyActivity, NewUnasked(activityKey, mergeActivity)); err != nil {
		return err
	}
	return f.s.Register("memory/stats", NewCall(f.stats))
}

func newRecorder(f *features) *recorder {
	r := &recorder{f: f, wake: make(chan struct{}, 1), looking: make(chan struct{}, 1)}
	if f.opt.State != "" {
		r.store = activity.Open(f.opt.State)
	}
	return r
}

func (a *recorder) on() bool {
	return a.store != nil && (a.f.opt.Activity || a.f.s.Settings().Activity)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// look has the roots and the settings looked at.
func (a *recorder) look() { signal(a.looking) }

// note takes note of what became of a recall. Inv: the session's mu is held.
func (a *recorder) note(r *pendingRecall, d delivery) {
	if !a.on() {
		return
	}
	now := a.f.opt.Now()
	n := note{date: activity.Date(now), records: map[string]activity.Record{}}
	for i := range d.hits {
		doc := d.hits[i].Doc
		record, ok := n.records[doc.Root.ID]
		if !ok {
			record = activity.Record{
				At: now, Host: hostLabel(a.f.s.Client().Name),
				Phase: d.phase, Strategy: d.strategy, Status: recall.StatusDelivered,
			}
		}
		record.Refs = append(record.Refs, doc.Ref)
		n.records[doc.Root.ID] = record
	}
	n.counts.Documents = len(d.hits)
	if d.phase == phaseRefined {
		n.counts.Recalled = 1
		if len(d.hits) > 0 || r.gave() {
			n.counts.Delivered = 1
		}
		if d.point == pointDiscarded {
			n.counts.Discarded = map[string]int{d.reason: 1}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.notes) == maxNotes {
		a.lost++
		return
	}
	a.notes = append(a.notes, n)
	signal(a.wake)
}

// gave tells whether the fast result of a recall was delivered and held
// something. Inv: the session's mu is held.
func (r *pendingRecall) gave() bool {
	if r.pull != nil {
		return len(r.pull.sent) > 0
	}
	return len(r.fast.Refs) > 0
}

// hostLabel is the name that a client gives itself, as one short line.
func hostLabel(name string) string {
	const most = 64
	label := []rune(memory.CleanLine(name))
	return either(strings.TrimSpace(string(label[:min(len(label), most)])), unnamedHost)
}

// write writes what is noted until ctx ends, and then what is left.
func (a *recorder) write(ctx context.Context) {
	for {
		select {
		case <-a.wake:
			// What has been begun is brought to its end, also when the connection ends.
			a.flush(context.WithoutCancel(ctx))
		case <-ctx.Done():
			a.flushLast(ctx)
			return
		}
	}
}

// flushLast writes what is left when the connection has ended.
func (a *recorder) flushLast(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
	defer cancel()
	a.flush(ctx)
}

// flush writes what is noted. What cannot be written is lost, with a warning: no
// delivery depends on it.
func (a *recorder) flush(ctx context.Context) {
	a.writing.Lock()
	defer a.writing.Unlock()
	a.mu.Lock()
	notes, lost := a.notes, a.lost
	a.notes, a.lost = nil, 0
	a.mu.Unlock()
	var errs []error
	days := map[string]activity.Counts{}
	for _, n := range notes {
		for _, root := range slices.Sorted(maps.Keys(n.records)) {
			errs = append(errs, a.store.Append(ctx, root, n.records[root]))
		}
		day := days[n.date]
		day.Add(n.counts)
		days[n.date] = day
	}
	if len(days) > 0 {
		errs = append(errs, a.store.Count(ctx, days))
	}
	if err := errors.Join(errs...); err != nil {
		a.f.s.Log().Warn("activity not written", "err", err)
	}
	if lost > 0 {
		a.f.s.Log().Warn("activity not written, too much came at once", "deliveries", lost)
	}
}

// follow tells the client what is written about the served roots, until ctx ends.
func (a *recorder) follow(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	stops := map[string]context.CancelFunc{}
	for {
		wanted := a.followed()
		for id, stop := range stops {
			if !slices.Contains(wanted, id) {
				stop()
				delete(stops, id)
			}
		}
		for _, id := range wanted {
			if stops[id] == nil {
				followed, stop := context.WithCancel(ctx)
				stops[id] = stop
				group.Go(func() { a.tail(followed, id) })
			}
		}
		select {
		case <-a.looking:
		case <-ctx.Done():
			for _, stop := range stops {
				stop()
			}
			return
		}
	}
}

// followed are the ids of the roots whose activity the client wants to see.
func (a *recorder) followed() (ids []string) {
	if !a.on() || !a.f.s.Client().Memory {
		return nil
	}
	for _, r := range a.f.catalog().Snapshot().Roots() {
		if r.State != memory.StateUntrusted {
			ids = append(ids, r.Root.ID)
		}
	}
	return ids
}

// tail tells the client what is written about one root, until ctx ends.
func (a *recorder) tail(ctx context.Context, id string) {
	dir := a.store.Dir(id)
	err := os.MkdirAll(dir, 0o700)
	var tail *activity.Tail
	if err == nil {
		tail, err = a.store.Tail(id)
	}
	if err != nil {
		a.f.s.Log().Warn("activity is not shown", "root", id, "err", err)
		return
	}
	keep := func(rel string, isDir bool) bool { return rel == activity.FileName && !isDir }
	watch := a.f.opt.Watch(a.f.poll.Load())(dir, keep, func(memory.FileChange) {
		records, err := tail.Next()
		if err != nil {
			a.f.s.Log().Warn("activity not read", "root", id, "err", err)
		}
		for i := range records {
			a.show(id, &records[i])
		}
	})
	if err := watch.Run(ctx); err != nil && ctx.Err() == nil {
		a.f.s.Log().Warn("activity is not shown", "root", id, "err", err)
	}
}

// show tells the client one record. Its refs are those of the writer; here the
// root may have another name.
func (a *recorder) show(id string, r *activity.Record) {
	roots := a.f.catalog().Snapshot().Roots()
	i := slices.IndexFunc(roots, func(s memory.RootStatus) bool { return s.Root.ID == id })
	if i < 0 {
		return // it is not served any more
	}
	p := &ActivityParams{
		Host: hostLabel(r.Host), Phase: r.Phase, Strategy: r.Strategy, Status: r.Status, At: r.At.UTC(), Own: a.store.Own(r),
	}
	for _, ref := range r.Refs {
		if _, path, ok := strings.Cut(ref, ":"); ok {
			p.Refs = append(p.Refs, roots[i].Root.Prefix+":"+path)
		}
	}
	a.f.notify(NotifyActivity, p)
}

// activityKey tells apart what may stand in the outbox side by side; the rest is
// joined.
func activityKey(p *ActivityParams) string {
	return strings.Join([]string{p.Host, p.Phase, p.Strategy, p.Status}, "\x00")
}

// mergeActivity joins two deliveries that wait for a slow client.
func mergeActivity(old, next *ActivityParams) *ActivityParams {
	merged := *next
	merged.Own = old.Own && next.Own
	merged.Refs = slices.Clone(old.Refs)
	for _, ref := range next.Refs {
		if !slices.Contains(merged.Refs, ref) {
			merged.Refs = append(merged.Refs, ref)
		}
	}
	merged.Refs = merged.Refs[max(0, len(merged.Refs)-maxChangedRefs):]
	return &merged
}

// stats serves memory/stats.
func (f *features) stats(ctx context.Context, p *StatsParams) (*StatsResult, error) {
	days := defaultStatsDays
	if p.Days != nil {
		if days = *p.Days; days < 1 || days > activity.MaxDays {
			return nil, InvalidParam("days", "%d is not within 1 to %d", days, activity.MaxDays)
		}
	}
	result := &StatsResult{Enabled: f.activity.on()}
	if f.activity.store == nil {
		return result, nil
	}
	f.activity.flush(ctx)
	counted, err := f.activity.store.Days(days, f.opt.Now())
	if err != nil {
		return nil, Fail(KindIO, "%w", err)
	}
	for _, day := range counted {
		d := StatsDay{Date: day.Date, Recalled: day.Recalled, Delivered: day.Delivered, Documents: day.Documents}
		for _, reason := range slices.Sorted(maps.Keys(day.Discarded)) {
			d.Discarded = append(d.Discarded, DiscardCount{Reason: reason, Count: day.Discarded[reason]})
		}
		result.Days = append(result.Days, d)
	}
	return result, nil
}
