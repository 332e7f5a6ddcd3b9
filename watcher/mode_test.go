package watcher_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/memls/memls/watcher"
)

func TestWATCH_03_UnusableWatcher(t *testing.T) {
	for _, c := range []struct {
		name   string
		opt    watcher.Options
		reason string
	}{
		{"polling is asked for", watcher.Options{Poll: true}, "asked for"},
		{"no instance left", watcher.Options{}.WithSource(func() (watcher.Source, error) { return nil, syscall.EMFILE }), "max_user_instances"},
		{"no watch left", watcher.Options{}.WithSource(func() (watcher.Source, error) {
			s := newFake()
			s.addErr = func(string) error { return syscall.ENOSPC }
			return s, nil
		}), "max_user_watches"},
		{"no watch left for a sub-directory", watcher.Options{}.WithSource(func() (watcher.Source, error) {
			s := newFake()
			s.addErr = func(dir string) error {
				if filepath.Base(dir) == "sub" {
					return syscall.ENOSPC
				}
				return nil
			}
			return s, nil
		}), "max_user_watches"},
		{"network file system", watcher.Options{}.WithFSKind(func(string) (string, bool) { return "nfs", true }), "nfs"},
		{"files cost descriptors", watcher.Options{}.WithEventFiles(3), "descriptor"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := newRoot(t)
			want := map[string]string{}
			for i := range 5 {
				rel := fmt.Sprintf("sub/n%d.md", i)
				write(t, rel, root, rel)
				want[rel] = rel
			}
			w, m := settled(t, root, c.opt.WithPollInterval(20*time.Millisecond, 50*time.Millisecond))
			m.awaitContents(t, want)
			write(t, "more", root, "sub", "more.md")
			want["sub/more.md"] = "more"
			m.awaitContents(t, want)
			sync1(t, w)
			s := w.Status()
			if s.Mode != watcher.ModePoll || !strings.Contains(s.Reason, c.reason) || s.Since.IsZero() {
				t.Errorf("status %+v", s)
			}
			if s.Files != 6 || s.Dirs != 2 {
				t.Errorf("counts %+v", s)
			}
		})
	}
}

// A directory that may not be watched, or has gone, is no reason to distrust events.
func TestHarmlessErrorsOfAdd(t *testing.T) {
	for _, err := range []error{syscall.ENOENT, syscall.EACCES, syscall.ENOTDIR} {
		root := newRoot(t)
		write(t, "1", root, "a.md")
		src := newFake()
		src.addErr = func(dir string) error { return &os.PathError{Op: "add", Path: dir, Err: err} }
		w, m := settled(t, root, watcher.Options{Sweep: never}.WithSource(src.open))
		m.awaitContents(t, map[string]string{"a.md": "1"})
		if s := w.Status(); s.Mode != watcher.ModeEvents {
			t.Errorf("%v: status %+v", err, s)
		}
	}
}

func TestWatchesFollowTheTree(t *testing.T) {
	root := newRoot(t)
	base := filepath.Dir(root)
	write(t, "1", root, "a", "b", "x.md")
	write(t, "1", root, ".git", "x.md")
	synctest.Test(t, func(t *testing.T) {
		src := newFake()
		_, l := begin(t, root, src, watcher.Options{Sweep: never})
		expect := func(rels ...string) {
			t.Helper()
			time.Sleep(time.Second)
			want := []string{base}
			for _, rel := range rels {
				want = append(want, filepath.Join(root, rel))
			}
			slices.Sort(want)
			if got := src.dirs(); !slices.Equal(got, want) {
				t.Errorf("watched\n%q, want\n%q", got, want)
			}
		}
		expect("", "a", "a/b")
		must(t, os.Rename(filepath.Join(root, "a"), filepath.Join(root, "c")))
		src.say(fsnotify.Create, filepath.Join(root, "c")) // before the news of a
		expect("", "c", "c/b")
		src.say(fsnotify.Rename, filepath.Join(root, "a"))
		expect("", "c", "c/b")
		// Another directory at the same path needs another watch, and the old one
		// has to end even if its directory lives on elsewhere.
		must(t, os.Mkdir(filepath.Join(base, "other"), 0o755))
		must(t, os.Rename(filepath.Join(root, "c"), filepath.Join(base, "out")))
		must(t, os.Rename(filepath.Join(base, "other"), filepath.Join(root, "c")))
		src.say(fsnotify.Create, filepath.Join(root, "c"))
		expect("", "c")
		if got := src.history(filepath.Join(root, "c")); got != "+-+" {
			t.Errorf("watch of c: %s", got)
		}
		must(t, os.RemoveAll(filepath.Join(root, "c")))
		src.say(fsnotify.Remove, filepath.Join(root, "c"))
		expect("")
		must(t, os.RemoveAll(root))
		src.say(fsnotify.Remove, root)
		time.Sleep(time.Second)
		if got := src.dirs(); !slices.Equal(got, []string{base}) {
			t.Errorf("watched %q for an absent root", got)
		}
		must(t, os.MkdirAll(filepath.Join(root, "d"), 0o755))
		src.say(fsnotify.Create, root)
		expect("", "d")
		if len(l.contents()) > 0 {
			t.Errorf("contents %v", l.contents())
		}
	})
}

func TestSelfTest(t *testing.T) {
	root := newRoot(t)
	path := write(t, "0", root, "d", "a.md")
	size := 1
	change := func(t *testing.T) {
		size++
		old(t, write(t, strings.Repeat("x", size), path))
	}
	ctimeOnly := func(t *testing.T) { must(t, os.Chmod(path, 0o600+os.FileMode(size%2)*0o44)); size++ }
	type act struct {
		do  func(*testing.T)
		say string // path of the event, "" for none, "lost" for an overflow
		// how long after the sweep the event comes
		late time.Duration
	}
	silent, announced := act{change, "", 0}, act{change, path, 0}
	for _, c := range []struct {
		name string
		acts []act
		mode watcher.Mode
	}{
		{"one silent change", []act{silent}, watcher.ModeEvents},
		{"two silent changes", []act{silent, silent}, watcher.ModePoll},
		{"a quiet sweep between them", []act{silent, {}, silent}, watcher.ModePoll},
		{"an announced change between them", []act{silent, announced, silent}, watcher.ModeEvents},
		{"announced for the directory", []act{{change, filepath.Dir(path), 0}, {change, filepath.Dir(path), 0}}, watcher.ModeEvents},
		{"announced changes", []act{announced, announced, announced}, watcher.ModeEvents},
		{"announced in the last moment", []act{{change, path, 990 * time.Millisecond}, {change, path, 990 * time.Millisecond}}, watcher.ModeEvents},
		{"announced too late", []act{{change, path, 2 * time.Second}, silent}, watcher.ModePoll},
		{"lost events", []act{{change, "lost", 0}, {change, "lost", 0}, {change, "lost", 0}}, watcher.ModeEvents},
		{"hard links made elsewhere", []act{{ctimeOnly, "", 0}, {ctimeOnly, "", 0}, {ctimeOnly, "", 0}}, watcher.ModeEvents},
		{"nothing happens", []act{{}, {}, {}}, watcher.ModeEvents},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := newFake()
				w, _ := begin(t, root, src, watcher.Options{})
				for _, a := range c.acts {
					time.Sleep(watcher.DefaultSweep - 5*time.Millisecond - time.Since(w.Status().LastSweep))
					if a.do != nil {
						a.do(t)
					}
					time.Sleep(10*time.Millisecond + a.late) // the sweep comes while the event is on its way
					switch a.say {
					case "":
					case "lost":
						src.errors <- fsnotify.ErrEventOverflow
					default:
						src.say(fsnotify.Write, a.say)
					}
					time.Sleep(5 * time.Second)
				}
				s := w.Status()
				if s.Mode != c.mode || (s.Mode == watcher.ModePoll) != strings.Contains(s.Reason, "self-test") {
					t.Errorf("status %+v", s)
				}
			})
		})
	}
}

func TestSourceThatEnds(t *testing.T) {
	root := newRoot(t)
	path := write(t, "1", root, "a.md")
	synctest.Test(t, func(t *testing.T) {
		src := newFake()
		w, l := begin(t, root, src, watcher.Options{Sweep: never})
		must(t, src.Close())
		old(t, write(t, "22", path))
		time.Sleep(2 * time.Second)
		if s := w.Status(); s.Mode != watcher.ModePoll || s.Reason == "" || l.contents()["a.md"] != "22" {
			t.Errorf("status %+v, contents %v", s, l.contents())
		}
	})
}

func TestPollingSlowsDownAndWakesUp(t *testing.T) {
	root := newRoot(t)
	path := write(t, "1", root, "a.md")
	synctest.Test(t, func(t *testing.T) {
		w, l := begin(t, root, nil, watcher.Options{Poll: true})
		sweepsIn := func(d time.Duration) int64 {
			before := w.Status().Sweeps
			time.Sleep(d)
			synctest.Wait()
			return w.Status().Sweeps - before
		}
		if n := sweepsIn(time.Hour); n < 60 || n > 68 {
			t.Errorf("%d sweeps in an idle hour", n)
		}
		w.Poke()
		synctest.Wait()
		if n := sweepsIn(4 * time.Second); n < 2 || n > 3 {
			t.Errorf("%d sweeps in 4 s after a poke", n)
		}
		time.Sleep(time.Hour)
		old(t, write(t, "22", path))
		time.Sleep(time.Minute)
		if l.contents()["a.md"] != "22" {
			t.Error("a change was not found within the idle interval")
		}
		for i := range 20 {
			old(t, write(t, strings.Repeat("x", i+3), path))
			time.Sleep(time.Second + time.Millisecond)
			if i > 6 && len(l.contents()["a.md"]) < i+2 {
				t.Errorf("a busy root is not looked at every second: %d bytes at step %d", len(l.contents()["a.md"]), i)
			}
		}
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	for name, opt := range map[string]watcher.Options{"events": {}, "poll": {Poll: true}} {
		t.Run(name, func(t *testing.T) {
			root := newRoot(t)
			for i := range 50 {
				write(t, "x", root, fmt.Sprint(i%7), fmt.Sprintf("%d.md", i))
			}
			for range 5 { // TestMain looks for goroutines that are left
				t.Run("", func(t *testing.T) { settled(t, root, opt) })
			}
		})
	}
}
