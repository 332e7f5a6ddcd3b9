package watcher_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memls/memls/watcher"
)

func TestRootDeletedAndRecreated(t *testing.T) {
	for name, opt := range map[string]watcher.Options{
		"events": {Sweep: never},
		"poll":   watcher.Options{Poll: true}.WithPollInterval(20*time.Millisecond, 20*time.Millisecond),
	} {
		t.Run(name, func(t *testing.T) {
			root := newRoot(t)
			write(t, "1", root, "a.md")
			write(t, "2", root, "d", "b.md")
			opt.Grace = 50 * time.Millisecond
			w, m := settled(t, root, opt)
			for range 2 {
				must(t, os.RemoveAll(root))
				m.await(t, "the root missing", func() bool { return m.last().Missing })
				if got := m.contents(); len(got) > 0 {
					t.Fatalf("still there: %v", got)
				}
				if s := w.Status(); !s.Missing || s.Files != 0 || s.Dirs != 0 || s.Reason == "" {
					t.Errorf("status %+v", s)
				}
				write(t, "1", root, "a.md")
				write(t, "3", root, "d", "e", "c.md")
				m.awaitContents(t, map[string]string{"a.md": "1", "d/e/c.md": "3"})
				write(t, "4", root, "d", "e", "c.md")
				m.awaitContents(t, map[string]string{"a.md": "1", "d/e/c.md": "4"})
			}
		})
	}
}

func TestRootSwappedWithinGrace(t *testing.T) {
	for name, opt := range map[string]watcher.Options{
		"events": {Sweep: never},
		"poll":   watcher.Options{Poll: true}.WithPollInterval(time.Millisecond, time.Millisecond),
	} {
		t.Run(name, func(t *testing.T) {
			opt.Grace = patience
			root := newRoot(t)
			base := filepath.Dir(root)
			for _, rel := range []string{"same.md", "dropped.md", "d/deep.md"} {
				write(t, rel, root, rel)
			}
			w, m := settled(t, root, opt)
			write(t, "same.md", base, "next", "same.md")
			write(t, "other text", base, "next", "d", "deep.md")
			write(t, "fresh", base, "next", "fresh.md")

			must(t, os.Rename(root, filepath.Join(base, "before")))
			m.awaitStatus(t, w, "an absent root", func(s watcher.Status) bool { return s.Missing })
			must(t, os.Rename(filepath.Join(base, "next"), root))
			want := map[string]string{"same.md": "same.md", "d/deep.md": "other text", "fresh.md": "fresh"}
			m.awaitContents(t, want)
			sync1(t, w)
			if got := m.everRemoved(); len(got) != 1 || got[0] != "dropped.md" {
				t.Errorf("removed %q, want only dropped.md", got)
			}
			for _, b := range m.batches {
				if b.Missing {
					t.Error("the root was called missing")
				}
			}
			write(t, "heard", root, "d", "deep.md")
			want["d/deep.md"] = "heard"
			m.awaitContents(t, want)
			write(t, "unheard", base, "before", "same.md")
			sync1(t, w)
			m.awaitContents(t, want)
		})
	}
}

// awaitStatus returns when ok holds of the status, which has no event of its own
// to wait for.
func (m *mirror) awaitStatus(t *testing.T, w *watcher.Watcher, what string, ok func(watcher.Status) bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(w.Status()); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never saw %s: %+v", what, w.Status())
		}
	}
}

func TestRootRenamedAwayAndBack(t *testing.T) {
	root := newRoot(t)
	aside := filepath.Join(filepath.Dir(root), "aside")
	write(t, "1", root, "a.md")
	w, m := settled(t, root, watcher.Options{Sweep: never, Grace: patience})
	must(t, os.Rename(root, aside))
	m.awaitStatus(t, w, "an absent root", func(s watcher.Status) bool { return s.Missing })
	must(t, os.Rename(aside, root))
	write(t, "2", root, "b.md")
	m.awaitContents(t, map[string]string{"a.md": "1", "b.md": "2"})
	if got := m.everRemoved(); len(got) > 0 {
		t.Errorf("removed %q", got)
	}
}

func TestParentRemoved(t *testing.T) {
	root := filepath.Join(newRoot(t), "proj", ".notes", "memory")
	write(t, "1", root, "a.md")
	_, m := settled(t, root, watcher.Options{Sweep: never, Grace: 50 * time.Millisecond})
	must(t, os.RemoveAll(filepath.Dir(filepath.Dir(root))))
	m.await(t, "the root missing", func() bool { return m.last().Missing && len(m.contents()) == 0 })
	write(t, "2", root, "a.md")
	m.awaitContents(t, map[string]string{"a.md": "2"})
	write(t, "3", root, "a.md")
	m.awaitContents(t, map[string]string{"a.md": "3"})
}

func TestRootAppearsLater(t *testing.T) {
	root := filepath.Join(newRoot(t), "x", "y", "memory")
	w, m := settled(t, root, watcher.Options{Sweep: never})
	if b := m.last(); !b.Missing || b.Gen != 1 {
		t.Errorf("first batch %+v", b)
	}
	if s := w.Status(); !s.Missing || !strings.Contains(s.Reason, "does not exist") {
		t.Errorf("status %+v", s)
	}
	must(t, os.MkdirAll(root, 0o755))
	m.await(t, "an empty root", func() bool { b := m.last(); return b.Full && !b.Missing && b.SkipsKnown })
	write(t, "1", root, "a.md")
	m.awaitContents(t, map[string]string{"a.md": "1"})
	if s := w.Status(); s.Missing || s.Reason != "" {
		t.Errorf("status %+v", s)
	}
}

func TestRootIsAFile(t *testing.T) {
	for name, rel := range map[string]string{"itself": "", "its parent": "memory"} {
		t.Run(name, func(t *testing.T) {
			file := write(t, "no directory", newRoot(t), "file")
			w, m := settled(t, filepath.Join(file, rel), watcher.Options{Sweep: never})
			if b := m.last(); !b.Missing {
				t.Errorf("first batch %+v", b)
			}
			if s := w.Status(); !s.Missing || s.Reason == "" || (rel == "" && s.Reason != "root is not a directory") {
				t.Errorf("status %+v", s)
			}
			must(t, os.Remove(file))
			write(t, "1", file, rel, "a.md")
			m.awaitContents(t, map[string]string{"a.md": "1"})
		})
	}
}

func TestSymlinkedRootIsRetargeted(t *testing.T) {
	for name, opt := range map[string]watcher.Options{
		"events": {Sweep: never},
		"sweep":  {Sweep: 20 * time.Millisecond},
		"poll":   watcher.Options{Poll: true}.WithPollInterval(20*time.Millisecond, 20*time.Millisecond),
	} {
		t.Run(name, func(t *testing.T) {
			base := newRoot(t)
			write(t, "1", base, "one", "a.md")
			write(t, "2", base, "two", "b.md")
			// The link is out of reach of events behind another link.
			must(t, os.MkdirAll(filepath.Join(base, "links"), 0o755))
			link := filepath.Join(base, "links", "memory")
			must(t, os.Symlink(filepath.Join("..", "one"), link))
			w, m := settled(t, link, opt)
			m.awaitContents(t, map[string]string{"a.md": "1"})
			write(t, "1+", base, "one", "a.md")
			m.awaitContents(t, map[string]string{"a.md": "1+"})

			must(t, os.Symlink(filepath.Join("..", "two"), link+".new"))
			must(t, os.Rename(link+".new", link))
			m.awaitContents(t, map[string]string{"b.md": "2"})
			write(t, "2+", base, "two", "b.md")
			m.awaitContents(t, map[string]string{"b.md": "2+"})
			write(t, "unheard", base, "one", "c.md")
			sync1(t, w)
			m.awaitContents(t, map[string]string{"b.md": "2+"})
		})
	}
}

func TestRootBelowSymlink(t *testing.T) {
	base := newRoot(t)
	must(t, os.MkdirAll(filepath.Join(base, "real", "memory"), 0o755))
	must(t, os.Symlink("real", filepath.Join(base, "proj")))
	root := filepath.Join(base, "proj", "memory")
	_, m := settled(t, root, watcher.Options{Sweep: never, Grace: 50 * time.Millisecond})
	write(t, "1", root, "a.md")
	m.awaitContents(t, map[string]string{"a.md": "1"})
	must(t, os.RemoveAll(root))
	m.await(t, "the root missing", func() bool { return m.last().Missing })
	write(t, "2", root, "a.md")
	m.awaitContents(t, map[string]string{"a.md": "2"})
}

// On a fake clock: nothing is delivered before the grace time, everything at it.
func TestGraceTime(t *testing.T) {
	root := newRoot(t)
	write(t, "1", root, "a.md")
	aside := filepath.Join(filepath.Dir(root), "aside")
	synctest.Test(t, func(t *testing.T) {
		w, m := run(t, root, watcher.Options{Poll: true}.WithPollInterval(never, never))
		synctest.Wait()
		if b := m.last(); !b.Full || b.Missing || len(b.Changed) != 1 {
			t.Fatalf("first batch %+v", b)
		}
		must(t, os.Rename(root, aside))
		gone := time.Now()
		w.Poke()
		synced := make(chan error, 1)
		go func() { synced <- w.Sync(context.Background()) }()
		time.Sleep(watcher.DefaultGrace - time.Millisecond)
		synctest.Wait()
		if n := m.count(); n != 1 || !w.Status().Missing || w.Status().Files != 1 {
			t.Errorf("%d batches within the grace time; %+v", n, w.Status())
		}
		if err := <-synced; err != nil {
			t.Error(err)
		}
		if d := time.Since(gone); d < watcher.DefaultGrace || d > watcher.DefaultGrace+200*time.Millisecond {
			t.Errorf("called missing after %v", d)
		}
		b := m.last()
		if _, ok := b.Removed["a.md"]; !b.Missing || !ok || b.Full {
			t.Errorf("batch %+v", b)
		}
		if err := w.Sync(context.Background()); err != nil || !m.last().Missing || len(m.last().Removed) > 0 {
			t.Errorf("Sync of a missing root: %v, %+v", err, m.last())
		}
		must(t, os.Rename(aside, root))
		time.Sleep(3 * time.Second) // a missing root is probed every two seconds
		synctest.Wait()
		if b := m.last(); !b.Full || len(b.Changed) != 1 {
			t.Errorf("batch of the root that came back: %+v", b)
		}
	})
}

func TestSync(t *testing.T) {
	root := newRoot(t)
	write(t, "1", root, "a.md")
	w := watcher.New(root, watcher.Options{Sweep: never}, func(watcher.Batch) {})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.Sync(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Sync before Run, canceled: %v", err)
	}

	ctx, cancel = context.WithCancel(context.Background())
	m := newMirror(root)
	slow := make(chan struct{})
	w = watcher.New(root, watcher.Options{Sweep: never}, func(b watcher.Batch) { <-slow; m.apply(b) })
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	synced := make(chan error, 1)
	go func() { synced <- w.Sync(ctx) }()
	select {
	case err := <-synced:
		t.Fatalf("Sync returned before the delivery: %v", err)
	case slow <- struct{}{}:
	}
	close(slow)
	if err := <-synced; err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		write(t, strings.Repeat("x", i+5), root, "a.md")
		n := m.count()
		if err := w.Sync(ctx); err != nil {
			t.Fatal(err)
		}
		if got := m.contents()["a.md"]; len(got) != i+5 || m.count() == n {
			t.Errorf("Sync returned with %q, %d batches", got, m.count()-n)
		}
	}
	n := m.count()
	if err := w.Sync(ctx); err != nil || m.count() == n || !m.last().Full {
		t.Errorf("Sync without a change: %v, %d batches, %+v", err, m.count()-n, m.last())
	}
	if err := w.Run(ctx); err == nil {
		t.Error("Run a second time gave no error")
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	if err := w.Sync(context.Background()); !errors.Is(err, watcher.ErrStopped) {
		t.Errorf("Sync after the end: %v", err)
	}
	w.Poke() // of no use, and no harm
	for i, b := range m.batches {
		if b.Gen != uint64(i+1) {
			t.Errorf("batch %d has Gen %d", i, b.Gen)
		}
	}
}
