package watcher_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/memls/memls/watcher"
)

// The tests of this file run on a fake clock with a fake event source; the files
// are real, and dated long before or after the fake present.

// timeline notes when batches come, from its start.
type timeline struct {
	*mirror
	start time.Time
	at    []time.Duration
}

func (l *timeline) apply(b watcher.Batch) {
	l.mirror.apply(b)
	l.mu.Lock()
	l.at = append(l.at, time.Since(l.start))
	l.mu.Unlock()
}

// times answers when the batches after the first came.
func (l *timeline) times() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.at[1:])
}

func begin(t *testing.T, root string, src *fakeSource, opt watcher.Options) (*watcher.Watcher, *timeline) {
	t.Helper()
	l := &timeline{mirror: newMirror(root), start: time.Now()}
	opt.Keep = markdown
	if src != nil {
		opt = opt.WithSource(src.open)
	}
	w := watcher.New(root, opt, l.apply)
	launch(t, w)
	synctest.Wait()
	l.start = time.Now()
	return w, l
}

func TestOneEventMakesOneBatchAfterQuiet(t *testing.T) {
	root := newRoot(t)
	path := write(t, "1", root, "a.md")
	synctest.Test(t, func(t *testing.T) {
		src := newFake()
		_, l := begin(t, root, src, watcher.Options{Sweep: never})
		old(t, write(t, "22", path))
		src.say(fsnotify.Write, path)
		time.Sleep(time.Second)
		if got := l.times(); !slices.Equal(got, []time.Duration{watcher.DefaultQuiet}) {
			t.Errorf("batches at %v", got)
		}
		src.say(fsnotify.Write, path) // a hint at nothing
		time.Sleep(time.Second)
		if got := l.times(); len(got) != 1 {
			t.Errorf("batches at %v", got)
		}
	})
}

func TestSteadyEventsWaitAtMostMaxWait(t *testing.T) {
	root := newRoot(t)
	path := write(t, "1", root, "a.md")
	synctest.Test(t, func(t *testing.T) {
		src := newFake()
		_, l := begin(t, root, src, watcher.Options{Sweep: never})
		for i := range 100 {
			old(t, write(t, fmt.Sprint(1000+i), path))
			src.say(fsnotify.Write, path)
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		got := l.times()
		if len(got) < 9 || len(got) > 11 {
			t.Errorf("%d batches in a second of events", len(got))
		}
		for i, at := range got {
			var before time.Duration
			if i > 0 {
				before = got[i-1]
			}
			if at-before > watcher.DefaultMaxWait+10*time.Millisecond {
				t.Errorf("nothing from %v to %v", before, at)
			}
		}
		if l.contents()["a.md"] != "1099" {
			t.Error("the last write was not delivered")
		}
	})
}

func TestBurstBecomesAWalk(t *testing.T) {
	root := newRoot(t)
	synctest.Test(t, func(t *testing.T) {
		src := newFake()
		w, l := begin(t, root, src, watcher.Options{Sweep: never})
		for i := range 600 {
			p := write(t, "x", root, fmt.Sprintf("%d.md", i))
			old(t, p)
			src.say(fsnotify.Create, p)
		}
		time.Sleep(time.Second)
		if b := l.last(); !b.Full || len(b.Changed) != 600 || l.count() != 2 {
			t.Errorf("%d batches, the last with %d files, Full %v", l.count(), len(b.Changed), b.Full)
		}
		if s := w.Status(); s.Events != 600 || s.Sweeps != 2 || s.Overflows != 0 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestPumpTakesEventsWhileTheReceiverIsSlow(t *testing.T) {
	root := newRoot(t)
	path := write(t, "1", root, "a.md")
	synctest.Test(t, func(t *testing.T) {
		src := newFake()
		held := make(chan struct{})
		m := newMirror(root)
		w := watcher.New(root, watcher.Options{Sweep: never, Keep: markdown}.WithSource(src.open), func(b watcher.Batch) { <-held; m.apply(b) })
		launch(t, w)
		for i := range 10_000 { // blocks for ever if the pump does
			src.say(fsnotify.Write, filepath.Join(root, fmt.Sprintf("%d.md", i)))
		}
		src.errors <- fsnotify.ErrEventOverflow
		old(t, write(t, "22", path))
		close(held)
		time.Sleep(time.Second)
		if m.contents()["a.md"] != "22" {
			t.Error("the write was not delivered")
		}
		if s := w.Status(); s.Overflows != 1 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestEventsOfNoConcern(t *testing.T) {
	root := newRoot(t)
	synctest.Test(t, func(t *testing.T) {
		src := newFake()
		w, l := begin(t, root, src, watcher.Options{Sweep: never})
		base := filepath.Dir(root)
		before := w.Status()
		src.say(fsnotify.Write, filepath.Join(base, "neighbour.md"))
		src.say(fsnotify.Write, root+"-not")
		src.say(fsnotify.Chmod, base)
		src.say(fsnotify.Write, filepath.Join(root, ".git", "index"))
		src.say(fsnotify.Create, filepath.Join(root, "d", ".hidden", "x.md"))
		time.Sleep(time.Second)
		if after := w.Status(); after != before || l.count() != 1 {
			t.Errorf("%+v, then %+v", before, after)
		}
	})
}

func TestPoke(t *testing.T) {
	root := newRoot(t)
	path := write(t, "1", root, "a.md")
	synctest.Test(t, func(t *testing.T) {
		w, l := begin(t, root, newFake(), watcher.Options{Sweep: never})
		old(t, write(t, "22", path)) // unannounced
		for range 1000 {
			w.Poke()
		}
		time.Sleep(time.Second)
		if s := w.Status(); s.Sweeps != 2 || l.contents()["a.md"] != "22" {
			t.Errorf("status %+v, contents %v", s, l.contents())
		}
	})
}

func TestSweepFindsWhatNoEventAnnounced(t *testing.T) {
	root := newRoot(t)
	path := write(t, "1", root, "a.md")
	synctest.Test(t, func(t *testing.T) {
		_, l := begin(t, root, newFake(), watcher.Options{})
		old(t, write(t, "22", path))
		time.Sleep(watcher.DefaultSweep - time.Second)
		if l.count() != 1 {
			t.Fatalf("batches at %v", l.times())
		}
		time.Sleep(2 * time.Second)
		if l.contents()["a.md"] != "22" || !l.last().Full {
			t.Errorf("batch %+v", l.last())
		}
		time.Sleep(10 * watcher.DefaultSweep)
		if l.count() != 2 {
			t.Errorf("sweeps that find nothing made batches at %v", l.times())
		}
	})
}

func TestRacyFileIsListedAgainOnce(t *testing.T) {
	root := newRoot(t)
	path := write(t, "1", root, "a.md")
	synctest.Test(t, func(t *testing.T) {
		src := newFake()
		_, l := begin(t, root, src, watcher.Options{Sweep: never})
		must(t, os.Chtimes(path, time.Now(), time.Now()))
		src.say(fsnotify.Chmod, path)
		time.Sleep(time.Minute)
		got := l.times()
		if len(got) != 2 || got[0] != watcher.DefaultQuiet || got[1] < watcher.RacyWindow || got[1] > watcher.RacyWindow+200*time.Millisecond {
			t.Errorf("batches at %v", got)
		}
		if b := l.last(); b.Full || len(b.Changed) != 1 {
			t.Errorf("last batch %+v", b)
		}

		t.Log("one that is removed before is not listed again")
		must(t, os.Chtimes(path, time.Now(), time.Now()))
		src.say(fsnotify.Chmod, path)
		time.Sleep(time.Second)
		must(t, os.Remove(path))
		src.say(fsnotify.Remove, path)
		time.Sleep(time.Minute)
		if got := l.times(); len(got) != 4 || len(l.last().Removed) != 1 {
			t.Errorf("batches at %v, the last %+v", got, l.last())
		}
	})
}

func TestEmptyFileIsListedAgainSoon(t *testing.T) {
	root := newRoot(t)
	path := write(t, "1", root, "a.md")
	synctest.Test(t, func(t *testing.T) {
		src := newFake()
		_, l := begin(t, root, src, watcher.Options{Sweep: never})
		must(t, os.Truncate(path, 0))
		old(t, path)
		src.say(fsnotify.Write, path)
		time.Sleep(50 * time.Millisecond)
		old(t, write(t, "the second step of the save, unannounced", path))
		time.Sleep(time.Minute)
		if got := l.times(); len(got) != 2 || got[1] > 200*time.Millisecond {
			t.Errorf("batches at %v", got)
		}
		if got := l.contents()["a.md"]; got != "the second step of the save, unannounced" {
			t.Errorf("got %q", got)
		}
	})
}

func TestFilesAreListedAgainWithoutChangeTimes(t *testing.T) {
	root := newRoot(t)
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for i := range 300 {
			p := write(t, "1", root, fmt.Sprintf("%03d.md", i))
			at := now.Add(-time.Duration(i+1) * time.Minute / 6)
			must(t, os.Chtimes(p, at, at))
		}
		dated := write(t, "1", root, "dated.md")
		old(t, dated)
		w, l := begin(t, root, newFake(), watcher.Options{Sweep: never}.WithBlindCTime())
		w.Poke()
		time.Sleep(time.Second)
		b := l.last()
		if _, ok := b.Changed["000.md"]; !ok || len(b.Changed) != 256 {
			t.Errorf("%d files listed again, the newest among them: %v", len(b.Changed), ok)
		}
		if _, ok := b.Changed["dated.md"]; ok {
			t.Error("an old file is listed again")
		}
	})
}
