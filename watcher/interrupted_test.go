package watcher_test

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/memls/memls/watcher"
)

// The tests of this file change things while the watcher looks, at a point that
// the listing of directories gives.

// trap runs a function once, after the n-th listing from when it was set, whose
// entries have not been looked at yet.
type trap struct {
	after int
	do    func()
}

func (tr *trap) list(dir string) ([]fs.DirEntry, error) {
	entries, err := watcher.ListReal(dir)
	if tr.do != nil {
		if tr.after--; tr.after == 0 {
			do := tr.do
			tr.do = nil
			do()
		}
	}
	return entries, err
}

// scene is a root with three directories of one file each, and beside it the
// directory next, in which c/3.md is missing and a file more is in each directory.
func scene(t *testing.T) (root, next, aside string) {
	root = newRoot(t)
	base := filepath.Dir(root)
	next, aside = filepath.Join(base, "next"), filepath.Join(base, "aside")
	for _, rel := range []string{"a/1.md", "b/2.md", "c/3.md"} {
		old(t, write(t, rel, root, rel))
		if rel != "c/3.md" {
			old(t, write(t, rel, next, rel))
		}
		old(t, write(t, "more", next, filepath.Dir(rel), "more.md"))
	}
	return root, next, aside
}

func TestRootGoesDuringAWalk(t *testing.T) {
	for listings := 1; listings <= 4; listings++ {
		root, next, aside := scene(t)
		before := disk(root)
		synctest.Test(t, func(t *testing.T) {
			tr := &trap{}
			w, l := begin(t, root, nil, watcher.Options{Poll: true}.WithPollInterval(never, never).WithList(tr.list))
			tr.after, tr.do = listings, func() { must(t, os.Rename(root, aside)) }
			w.Poke()
			time.Sleep(time.Second) // within the grace time
			if got := l.contents(); !maps.Equal(got, before) || !w.Status().Missing {
				t.Errorf("gone at listing %d: %v, %+v", listings, got, w.Status())
			}

			t.Log("the same directory comes back: nothing has happened")
			must(t, os.Rename(aside, root))
			time.Sleep(time.Second)
			if got := l.contents(); !maps.Equal(got, before) || len(l.everRemoved()) > 0 {
				t.Errorf("back after listing %d: %v, removed %q", listings, got, l.everRemoved())
			}

			t.Log("another one is put in its place during a walk")
			tr.after, tr.do = listings, func() {
				must(t, os.Rename(root, aside))
				must(t, os.Rename(next, root))
			}
			if err := w.Sync(context.Background()); err != nil {
				t.Fatal(err)
			}
			if got := l.contents(); !maps.Equal(got, disk(root)) || !slices.Equal(l.everRemoved(), []string{"c/3.md"}) {
				t.Errorf("exchanged at listing %d: %v, removed %q", listings, got, l.everRemoved())
			}

			t.Log("it goes during a walk, and one with less comes in its place")
			old(t, write(t, "a/1.md", next, "a", "1.md"))
			tr.after, tr.do = listings, func() { must(t, os.RemoveAll(aside)); must(t, os.Rename(root, aside)) }
			w.Poke()
			time.Sleep(time.Second)
			must(t, os.Rename(next, root))
			time.Sleep(time.Second)
			if got := l.contents(); !maps.Equal(got, disk(root)) {
				t.Errorf("exchanged after listing %d: %v, want %v", listings, got, disk(root))
			}
		})
	}
}

func TestRootGoesWhileMarkedPathsAreLookedAt(t *testing.T) {
	root, _, aside := scene(t)
	before := disk(root)
	synctest.Test(t, func(t *testing.T) {
		tr := &trap{}
		src := newFake()
		_, l := begin(t, root, src, watcher.Options{Sweep: never}.WithList(tr.list))
		old(t, write(t, "2b", root, "b", "2.md"))
		before["b/2.md"] = "2b"
		tr.after, tr.do = 1, func() { must(t, os.Rename(root, aside)) }
		src.say(fsnotify.Chmod, filepath.Join(root, "b"))
		src.say(fsnotify.Write, filepath.Join(root, "c", "3.md"))
		time.Sleep(time.Second)
		if l.count() != 1 {
			t.Errorf("delivered %+v", l.last())
		}
		must(t, os.Rename(aside, root))
		time.Sleep(time.Second)
		if got := l.contents(); !maps.Equal(got, before) || len(l.everRemoved()) > 0 {
			t.Errorf("got %v, removed %q", got, l.everRemoved())
		}
	})
}

func TestDirectoryGoesDuringAWalk(t *testing.T) {
	root, _, aside := scene(t)
	synctest.Test(t, func(t *testing.T) {
		tr := &trap{}
		w, l := begin(t, root, nil, watcher.Options{Poll: true}.WithPollInterval(never, never).WithList(tr.list))
		tr.after, tr.do = 1, func() { must(t, os.Rename(filepath.Join(root, "b"), aside)) }
		if err := w.Sync(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := l.contents(); !maps.Equal(got, disk(root)) || w.Status().Dirs != 3 {
			t.Errorf("got %v, %+v", got, w.Status())
		}
	})
}

// The news of a directory's exchange for a link may come after news from below it.
func TestPathThroughALinkIsNotFollowed(t *testing.T) {
	root, next, aside := scene(t)
	synctest.Test(t, func(t *testing.T) {
		src := newFake()
		_, l := begin(t, root, src, watcher.Options{Sweep: never})
		must(t, os.Rename(filepath.Join(root, "b"), aside))
		must(t, os.Symlink(filepath.Join(next, "b"), filepath.Join(root, "b")))
		src.say(fsnotify.Create, filepath.Join(root, "b", "more.md"))
		time.Sleep(time.Second)
		want := map[string]string{"a/1.md": "a/1.md", "c/3.md": "c/3.md"}
		if got := l.contents(); !maps.Equal(got, want) || reasons(l.last())["b"] != "symlink" {
			t.Errorf("got %v, skipped %v", got, l.last().Skipped)
		}
		if slices.Contains(l.everChanged(), "b/more.md") {
			t.Error("a file behind the link was delivered")
		}
	})
}

func TestNearestDirectoryAboveAnAbsentRootIsWatched(t *testing.T) {
	base := newRoot(t)
	root := filepath.Join(base, "x", "y", "memory")
	synctest.Test(t, func(t *testing.T) {
		src := newFake()
		_, l := begin(t, root, src, watcher.Options{Sweep: never})
		for _, dir := range []string{"x", "x/y", "x/y/memory"} {
			if got, want := src.dirs(), []string{filepath.Dir(filepath.Join(base, dir))}; !slices.Equal(got, want) {
				t.Errorf("watched %q, want %q", got, want)
			}
			must(t, os.Mkdir(filepath.Join(base, dir), 0o755))
			src.say(fsnotify.Create, filepath.Join(base, dir))
			time.Sleep(watcher.DefaultQuiet + time.Millisecond)
			synctest.Wait()
		}
		if b := l.last(); !b.Full || b.Missing || l.times()[0] > 100*time.Millisecond {
			t.Errorf("batch %+v at %v", b, l.times())
		}
	})
}
