package lsp_test

import (
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/model/modeltest"
)

// Durations that a recall waits for, as the clock of a test sees them.
const (
	fastWait  = 90 * time.Millisecond
	sweptWait = 5 * time.Second
)

// clock hands out timers that a test fires.
type clock struct {
	mu     sync.Mutex
	timers map[time.Duration]chan time.Time
}

func newClock(durations ...time.Duration) *clock {
	c := &clock{timers: map[time.Duration]chan time.Time{}}
	for _, d := range durations {
		c.timers[d] = make(chan time.Time)
	}
	return c
}

func (c *clock) after(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.timers[d]; t != nil {
		return t
	}
	return time.After(d)
}

func (c *clock) fire(d time.Duration) { c.timers[d] <- time.Time{} }

// slowly makes watchers that report the named files, and the rest of the root
// once the test says so.
func slowly(more chan none, first ...string) func(bool) memory.WatchFactory {
	return func(poll bool) memory.WatchFactory {
		return func(dir string, keep func(string, bool) bool, sink func(memory.FileChange)) memory.Watcher {
			var once sync.Once
			return followers(poll)(dir, keep, func(c memory.FileChange) {
				once.Do(func() {
					sink(memory.FileChange{Changed: first})
					<-more
				})
				sink(c)
			})
		}
	}
}

// While a root's first scan runs, fast waits a moment and goes out from what is
// loaded, saying so; refined ranks over the swept catalog.
func TestFastWhileLoading(t *testing.T) {
	for _, withModel := range []bool{false, true} {
		s := newStore(t, gateways())
		settings := serving(s)
		if withModel {
			stub := modeltest.New(t)
			stub.Otherwise(modeltest.Choose("Gateway rule 0"))
			settings = asking(s, stub)
		}
		more, c := make(chan none), newClock(fastWait, sweptWait)
		d := sit(t, lsp.MemoryOptions{Watch: slowly(more, "g3.md", "palette.md"), After: c.after}, settings)
		p := lsp.RecallParams{Token: "a", Session: "s", Query: "gateway timeout"}
		loaded(t, d, 2)
		pending := d.begin(p)
		c.fire(fastWait)
		fast := d.awaitFast("a")
		wantRefs(t, "fast", refs(fast.Documents), "project:g3.md")
		if len(fast.Degraded) != 1 || fast.Degraded[0].Reason != "catalog_loading" {
			t.Errorf("fast %+v", fast.Degraded)
		}
		close(more)
		r := d.finish(pending, p)
		if withModel {
			wantRefs(t, "refined", refs(r.refined.Documents), "project:g0.md")
		} else {
			wantRefs(t, "refined", refs(r.refined.Documents), "project:g0.md", "project:g1.md", "project:g2.md", "project:g4.md")
		}
		if len(r.refined.Degraded) != 0 || len(r.refined.AlreadyDelivered) != 0 || r.refined.CatalogRevision <= fast.CatalogRevision {
			t.Errorf("refined %+v", r.refined)
		}
	}
}

// loaded waits until a root that is loading has n memories. Only its status can
// be asked then: everything else waits for the scan.
func loaded(t *testing.T, d *desk, n int) {
	t.Helper()
	for root := d.status().Roots[0]; root.Catalogued != n; root = d.status().Roots[0] {
		if t.Context().Err() != nil || root.State == "ready" && root.Catalogued > n {
			t.Fatalf("%+v", root)
		}
	}
}

// A scan that ends within the moment is waited for.
func TestFastWaitsForAScanThatIsNearlyOver(t *testing.T) {
	s := newStore(t, gateways())
	more, c := make(chan none), newClock(fastWait, sweptWait)
	d := sit(t, lsp.MemoryOptions{Watch: slowly(more, "g3.md"), After: c.after}, serving(s))
	loaded(t, d, 1)
	p := lsp.RecallParams{Token: "a", Session: "s", Query: "gateway timeout"}
	pending := d.begin(p)
	d.status() // the read loop is free while the recall waits
	close(more)
	r := d.finish(pending, p)
	wantRefs(t, "fast", refs(r.fast.Documents), "project:g0.md", "project:g1.md")
	if len(r.fast.Degraded) != 0 {
		t.Errorf("fast %+v", r.fast.Degraded)
	}
}

// A scan that does not end leaves the recall with what is loaded, checked file
// by file.
func TestScanThatDoesNotEnd(t *testing.T) {
	s := newStore(t, gateways())
	more, c := make(chan none), newClock(fastWait, sweptWait)
	defer close(more)
	var mu sync.Mutex
	asked := map[string]bool{}
	d := sit(t, lsp.MemoryOptions{Watch: slowly(more, "g0.md", "g1.md", "g2.md", "g3.md", "palette.md", "desk.md", "rota.md"), After: c.after,
		Lstat: func(path string) (fs.FileInfo, error) {
			mu.Lock()
			defer mu.Unlock()
			asked[strings.TrimPrefix(path, s.dir+"/")] = true
			return os.Lstat(path)
		}}, serving(s))
	loaded(t, d, 7)
	s.remove("g0.md")
	s.write("g2.md", "changed since it was read")
	p := lsp.RecallParams{Token: "a", Session: "s", Query: "gateway timeout"}
	pending := d.begin(p)
	c.fire(fastWait)
	wantRefs(t, "fast", refs(d.awaitFast("a").Documents), "project:g1.md")
	c.fire(sweptWait)
	r := d.finish(pending, p)
	wantRefs(t, "refined", refs(r.refined.Documents), "project:g3.md")
	if len(r.refined.Degraded) != 1 || r.refined.Degraded[0].Reason != "catalog_loading" {
		t.Errorf("refined %+v", r.refined.Degraded)
	}
	if len(asked) == 0 || asked["palette.md"] {
		t.Errorf("looked at %v", asked)
	}
}

// A recall that waits for a scan can be cancelled, and says nothing fast then.
func TestCancelledBeforeFast(t *testing.T) {
	s := newStore(t, gateways())
	more, c := make(chan none), newClock(fastWait, sweptWait)
	defer close(more)
	d := sit(t, lsp.MemoryOptions{Watch: slowly(more, "g3.md"), After: c.after}, serving(s))
	for _, how := range []string{"abort", "new_query", "reset"} {
		p := lsp.RecallParams{Token: how, Session: "s", Query: "gateway timeout"}
		pending := d.begin(p)
		next := lsp.RecallParams{Token: "after " + how, Session: "s", Query: "gateway timeout"}
		switch how {
		case "abort":
			if err := pending.Cancel(); err != nil {
				t.Fatal(err)
			}
		case "new_query":
			after := d.begin(next)
			if err := after.Cancel(); err != nil {
				t.Fatal(err)
			}
			d.finish(after, next)
		case "reset":
			d.call("memory/resetSession", lsp.ResetSessionParams{Session: "s", Reason: "reset"}, nil)
		}
		r := d.finish(pending, p)
		if r.fast != nil || r.refined.Status != "cancelled" || r.refined.Reason != how || (r.err != nil) != (how == "abort") {
			t.Errorf("%s: %+v", how, r)
		}
		if r.err == nil && (len(r.response.Fast.Refs) != 0 || r.response.Fast.Strategy != "none") {
			t.Errorf("%s: %+v", how, r.response.Fast)
		}
	}
}
