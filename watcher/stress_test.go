package watcher_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/memls/memls/watcher"
)

// MEMLS_SOAK, if set, is the number of seeds of the long form of the randomised
// test (1 or anything that is no number: 6), with 3,000 operations each.
func soak() (seeds, ops int, long bool) {
	v, long := os.LookupEnv("MEMLS_SOAK")
	if !long || v == "" {
		return 1, 500, false
	}
	if n, err := strconv.Atoi(v); err == nil && n > 1 {
		return n, 3000, true
	}
	return 6, 3000, true
}

// disorder does random things to a root. Errors are part of the disorder.
type disorder struct {
	*rand.Rand
	root    string
	rootOps bool // deletes and swaps the root
}

func (d disorder) run(ops int) {
	for i := range ops {
		d.step(i)
		if d.IntN(50) == 0 { // a breath, so that batches are cut at random places
			time.Sleep(time.Duration(d.IntN(60)) * time.Millisecond)
		}
	}
}

func (d disorder) dir() string {
	return filepath.Join(d.root, []string{"", "a", "a/b", "c", "c/d/e", "moved0", "moved1/b"}[d.IntN(7)])
}

func (d disorder) file() string { return filepath.Join(d.dir(), fmt.Sprintf("f%d.md", d.IntN(15))) }

func put(path, text string) {
	_ = os.MkdirAll(filepath.Dir(path), 0o755)
	_ = os.WriteFile(path, []byte(text), 0o644)
}

func (d disorder) step(i int) {
	f := d.file()
	switch d.IntN(13) {
	case 0, 1, 2:
		put(f, fmt.Sprint(i))
	case 3:
		put(f+".tmp", fmt.Sprint("atomic", i))
		_ = os.Rename(f+".tmp", f)
	case 4:
		_ = os.Remove(f)
	case 5:
		if dir := d.dir(); dir != d.root {
			_ = os.RemoveAll(dir)
		}
	case 6:
		_ = os.Rename(d.dir(), filepath.Join(d.root, fmt.Sprint("moved", d.IntN(3))))
	case 7:
		put(filepath.Join(d.root, "x", "y", fmt.Sprint(d.IntN(4)), "deep.md"), fmt.Sprint(i))
	case 8:
		_ = os.Rename(f, filepath.Join(d.root, fmt.Sprintf("r%d.md", d.IntN(9))))
	case 9: // restored with an old time
		put(f, fmt.Sprintf("%09d", i))
		at := time.Unix(1_500_000_000, 0)
		_ = os.Chtimes(f, at, at)
	case 10: // a file in the place of a directory, and a link in the place of a file
		g := filepath.Join(d.root, fmt.Sprint("moved", d.IntN(3)))
		_ = os.RemoveAll(g)
		if d.IntN(2) == 0 {
			put(g, "no directory")
		} else {
			_ = os.Symlink(d.root, g)
		}
	case 11:
		_ = os.RemoveAll(f)
		_ = os.Symlink("/etc/hostname", f)
	case 12:
		if d.rootOps && d.IntN(20) == 0 {
			d.root2()
		}
	}
}

func (d disorder) root2() {
	aside := filepath.Join(filepath.Dir(d.root), "aside")
	switch d.IntN(3) {
	case 0:
		_ = os.RemoveAll(d.root)
		_ = os.MkdirAll(d.root, 0o755)
	case 1: // away and back
		_ = os.Rename(d.root, aside)
		time.Sleep(time.Duration(d.IntN(100)) * time.Millisecond)
		_ = os.Rename(aside, d.root)
	case 2: // exchanged for a copy of a part
		_ = os.CopyFS(aside, os.DirFS(filepath.Join(d.root, "x")))
		_ = os.RemoveAll(d.root)
		_ = os.Rename(aside, d.root)
	}
}

// lossy is the real source with faults: it loses runs of events, as a queue that
// is too short does, or stalls, so that the kernel's queue runs over.
type lossy struct {
	watcher.Source
	events chan fsnotify.Event
	errors chan error
	stop   chan struct{}
	done   sync.WaitGroup
	lose   bool
	stall  time.Duration
	real   *atomic.Int64 // errors of the source itself
}

func (l *lossy) start(seed uint64) (watcher.Source, error) {
	real, err := watcher.OpenReal()
	if err != nil {
		return nil, err
	}
	l.Source, l.events, l.errors, l.stop = real, make(chan fsnotify.Event), make(chan error), make(chan struct{})
	l.done.Go(func() { l.forward(rand.New(rand.NewPCG(seed, 2))) })
	l.done.Go(l.forwardErrors)
	return l, nil
}

func openLossy(seed uint64) func() (watcher.Source, error) {
	return func() (watcher.Source, error) {
		l := &lossy{lose: true, real: new(atomic.Int64)}
		return l.start(seed)
	}
}

func openSluggish(seed uint64, overflows *atomic.Int64) (watcher.Source, error) {
	l := &lossy{stall: 30 * time.Millisecond, real: overflows}
	return l.start(seed)
}

func (l *lossy) Events() <-chan fsnotify.Event { return l.events }
func (l *lossy) Errors() <-chan error          { return l.errors }

func (l *lossy) Close() error {
	close(l.stop)
	err := l.Source.Close()
	l.done.Wait()
	close(l.events)
	close(l.errors)
	return err
}

// forward sends news of a loss after the loss, like the kernel: an overflow is
// read after everything that did not fit.
func (l *lossy) forward(r *rand.Rand) {
	drop := 0
	for e := range l.Source.Events() {
		if l.lose && drop == 0 && r.IntN(30) == 0 {
			drop = 1 + r.IntN(60)
		}
		events, errs := l.events, chan error(nil)
		if drop > 0 {
			drop--
			events, errs = nil, l.errors
		}
		if l.stall > 0 && r.IntN(20) == 0 {
			time.Sleep(l.stall)
		}
		select {
		case events <- e:
		case errs <- fsnotify.ErrEventOverflow:
		case <-l.stop:
			return
		}
	}
}

// forwardErrors passes on what the source itself reports.
func (l *lossy) forwardErrors() {
	for err := range l.Source.Errors() {
		l.real.Add(1)
		select {
		case l.errors <- err:
		case <-l.stop:
			return
		}
	}
}

func TestConvergence(t *testing.T) {
	seeds, ops, _ := soak()
	quick := watcher.Options{Poll: true}.WithPollInterval(30*time.Millisecond, 100*time.Millisecond)
	for _, mode := range []struct {
		name    string
		opt     func(seed uint64) watcher.Options
		rootOps bool
	}{
		{"events", func(uint64) watcher.Options { return watcher.Options{Sweep: never} }, false},
		{"events, root exchanged", func(uint64) watcher.Options { return watcher.Options{Sweep: never} }, true},
		{"overflows", func(seed uint64) watcher.Options {
			return watcher.Options{Sweep: never}.WithSource(openLossy(seed))
		}, true},
		{"polling", func(uint64) watcher.Options { return quick }, true},
	} {
		t.Run(mode.name, func(t *testing.T) {
			for seed := range seeds {
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
					converge(t, mode.opt(uint64(seed)), disorder{rand.New(rand.NewPCG(uint64(seed), 1)), newRoot(t), mode.rootOps}, ops)
				})
			}
		})
	}
}

// converge lets disorder loose on a watched root; when it ends, what has been
// delivered must become what is on the disk.
func converge(t *testing.T, opt watcher.Options, d disorder, ops int) {
	w, m := settled(t, d.root, opt)
	d.run(ops)
	if _, err := os.Stat(d.root); err != nil {
		must(t, os.MkdirAll(d.root, 0o755))
	}
	want := disk(d.root)
	begin := time.Now()
	m.await(t, "the disk", func() bool { return maps.Equal(m.contents(), want) })
	t.Logf("converged after %v: %d files, %d batches, %+v", time.Since(begin).Round(time.Millisecond), len(want), m.count(), w.Status())
	sync1(t, w)
	if got := m.contents(); !maps.Equal(got, want) {
		t.Errorf("a walk gives something else: %d files, want %d", len(got), len(want))
	}
	if s := w.Status(); s.Files != len(want) {
		t.Errorf("%d files counted, %d on the disk", s.Files, len(want))
	}
	for rel := range m.ever {
		if !strings.HasSuffix(rel, ".md") {
			t.Errorf("delivered %q", rel)
		}
	}
}

func TestWATCH_04_Overflow(t *testing.T) {
	root := newRoot(t)
	w, m := settled(t, root, watcher.Options{Sweep: never}.WithSource(openLossy(7)))
	want := map[string]string{}
	for i := range 2000 {
		rel := fmt.Sprintf("d%d/n%d.md", i%10, i)
		write(t, rel, root, rel)
		want[rel] = rel
	}
	m.await(t, "all files of the burst", func() bool { return maps.Equal(m.contents(), want) })
	if s := w.Status(); s.Overflows == 0 || s.Mode != watcher.ModeEvents {
		t.Errorf("status %+v", s)
	}
}

// A source that is read too slowly must be made up for. With MEMLS_SOAK, as root
// on Linux, the kernel's queue is cut to 32 events for the whole machine, so that
// it really runs over.
func TestSluggishSource(t *testing.T) {
	seeds, ops, long := soak()
	long = long && runtime.GOOS == "linux" && os.Geteuid() == 0
	if long {
		const setting = "/proc/sys/fs/inotify/max_queued_events"
		before, err := os.ReadFile(setting)
		must(t, err)
		must(t, os.WriteFile(setting, []byte("32"), 0o644))
		defer func() { must(t, os.WriteFile(setting, before, 0o644)) }()
	}
	var overflows atomic.Int64
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			d := disorder{rand.New(rand.NewPCG(uint64(seed), 3)), newRoot(t), true}
			converge(t, watcher.Options{Sweep: never}.WithSource(func() (watcher.Source, error) {
				return openSluggish(uint64(seed), &overflows)
			}), d, ops)
		})
	}
	t.Logf("%d overflows", overflows.Load())
	if long && overflows.Load() == 0 {
		t.Error("the queue never ran over")
	}
}
