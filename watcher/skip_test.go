package watcher_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memls/memls/watcher"
)

func TestSCAN_01_SymlinkLoop(t *testing.T) {
	for name, opt := range map[string]watcher.Options{"events": {Sweep: never}, "poll": {Poll: true}} {
		t.Run(name, func(t *testing.T) {
			root := newRoot(t)
			write(t, "good", root, "a.md")
			must(t, os.Mkdir(filepath.Join(root, "sub"), 0o755))
			outside := filepath.Join(filepath.Dir(root), "outside")
			write(t, "secret", outside, "s.md")
			for link, target := range map[string]string{"sub/loop": "..", "sub/z": "/", "out": outside, "s.md": filepath.Join(outside, "s.md"), "self.md": "self.md"} {
				must(t, os.Symlink(target, filepath.Join(root, link)))
			}
			w, m := settled(t, root, opt)
			if got, want := m.contents(), map[string]string{"a.md": "good"}; !maps.Equal(got, want) {
				t.Errorf("contents %v, want %v", got, want)
			}
			want := map[string]string{"sub/loop": "symlink", "sub/z": "symlink", "out": "symlink", "s.md": "symlink", "self.md": "symlink"}
			if got := reasons(m.last()); !maps.Equal(got, want) {
				t.Errorf("skipped %v, want %v", got, want)
			}
			write(t, "changed", outside, "s.md")
			sync1(t, w)
			if ever := m.everChanged(); !slices.Equal(ever, []string{"a.md"}) {
				t.Errorf("delivered %q", ever)
			}
		})
	}
}

func TestDirectoryBecomesLink(t *testing.T) {
	root := newRoot(t)
	write(t, "in", root, "d", "in.md")
	outside := filepath.Join(filepath.Dir(root), "outside")
	write(t, "out", outside, "in.md")
	_, m := settled(t, root, watcher.Options{Sweep: never})
	must(t, os.RemoveAll(filepath.Join(root, "d")))
	must(t, os.Symlink(outside, filepath.Join(root, "d")))
	m.await(t, "the link as a skip", func() bool { return reasons(m.last())["d"] == "symlink" && len(m.contents()) == 0 })
	write(t, "more", outside, "more.md")
	must(t, os.Remove(filepath.Join(root, "d")))
	write(t, "back", root, "d", "in.md")
	m.await(t, "the directory again", func() bool {
		return maps.Equal(m.contents(), map[string]string{"d/in.md": "back"}) && len(m.last().Skipped) == 0
	})
	if ever := m.everChanged(); !slices.Equal(ever, []string{"d/in.md"}) {
		t.Errorf("delivered %q", ever)
	}
}

// deny makes listing fail for directories whose base name is in the set.
type deny struct {
	err   atomic.Pointer[error]
	calls atomic.Int64
	name  string
}

func (d *deny) list(dir string) ([]fs.DirEntry, error) {
	d.calls.Add(1)
	if err := d.err.Load(); err != nil && filepath.Base(dir) == d.name {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: *err}
	}
	return watcher.ListReal(dir)
}

func (d *deny) with(err error) {
	if err == nil {
		d.err.Store(nil)
		return
	}
	d.err.Store(&err)
}

func TestUnlistableDirectory(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    error
		reason string
		dir    string // which directory
		during map[string]string
	}{
		{"permission", syscall.EACCES, "permission denied", "shut", map[string]string{"a.md": "a"}},
		{"passing trouble", syscall.EMFILE, syscall.EMFILE.Error(), "shut", map[string]string{"a.md": "a", "shut/b.md": "b", "shut/deep/c.md": "c"}},
		{"the root, permission", syscall.EACCES, "permission denied", "memory", map[string]string{}},
		{"the root, passing trouble", syscall.EIO, syscall.EIO.Error(), "memory", map[string]string{"a.md": "a", "shut/b.md": "b", "shut/deep/c.md": "c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := newRoot(t)
			all := map[string]string{"a.md": "a", "shut/b.md": "b", "shut/deep/c.md": "c"}
			for rel, text := range all {
				write(t, text, root, rel)
			}
			d := &deny{name: c.dir}
			w, m := settled(t, root, watcher.Options{Sweep: never}.WithList(d.list))
			m.awaitContents(t, all)
			d.with(c.err)
			sync1(t, w)
			m.awaitContents(t, c.during)
			at := c.dir
			if at == "memory" {
				at = "."
			}
			if got, want := reasons(m.last()), map[string]string{at: c.reason}; !maps.Equal(got, want) {
				t.Errorf("skipped %v, want %v", got, want)
			}
			if s := w.Status(); s.Files != len(c.during) || s.Missing {
				t.Errorf("status %+v", s)
			}
			d.with(nil)
			sync1(t, w)
			m.awaitContents(t, all)
			if got := m.last().Skipped; len(got) > 0 {
				t.Errorf("still skipped: %v", got)
			}
		})
	}
}

func TestPassingTroubleIsRetried(t *testing.T) {
	root := newRoot(t)
	old(t, write(t, "b", root, "shut", "b.md"))
	synctest.Test(t, func(t *testing.T) {
		d := &deny{name: "shut"}
		d.with(syscall.EMFILE)
		_, l := begin(t, root, newFake(), watcher.Options{Sweep: never}.WithList(d.list))
		d.with(nil)
		time.Sleep(3 * time.Second)
		if got := l.contents(); !maps.Equal(got, map[string]string{"shut/b.md": "b"}) || len(l.last().Skipped) > 0 {
			t.Errorf("got %v, skipped %v", got, l.last().Skipped)
		}
	})
}

func TestLimitsAreReported(t *testing.T) {
	root := newRoot(t)
	write(t, "1", root, "1", "one.md")
	write(t, "2", root, "1", "2", "two.md")
	write(t, "3", root, "1", "2", "3", "three.md")
	w, m := settled(t, root, watcher.Options{Sweep: never, MaxDepth: 2})
	m.awaitContents(t, map[string]string{"1/one.md": "1", "1/2/two.md": "2"})
	if got, want := reasons(m.last()), map[string]string{"1/2/3": "too deep"}; !maps.Equal(got, want) {
		t.Errorf("skipped %v, want %v", got, want)
	}
	write(t, "4", root, "1", "2", "3", "four.md")
	sync1(t, w)
	m.awaitContents(t, map[string]string{"1/one.md": "1", "1/2/two.md": "2"})

	root = newRoot(t)
	for i := range 10 {
		write(t, "x", root, fmt.Sprintf("%d.md", i))
	}
	w, m = settled(t, root, watcher.Options{Sweep: never, MaxFiles: 7})
	if n := len(m.contents()); n != 7 {
		t.Errorf("%d files, want 7", n)
	}
	if got := reasons(m.last())["."]; !strings.Contains(got, "3 entries") || !strings.Contains(got, "7") {
		t.Errorf("reason %q", got)
	}
	for rel := range m.contents() {
		must(t, os.Remove(filepath.Join(root, rel)))
	}
	sync1(t, w)
	m.await(t, "the files that had no room", func() bool { return maps.Equal(m.contents(), disk(root)) && len(m.last().Skipped) == 0 })
}

func TestSCAN_04_NoCap(t *testing.T) {
	root := newRoot(t)
	for i := range 400 {
		write(t, "x", root, fmt.Sprintf("%03d.md", i))
	}
	oldest := write(t, "zebrafish-port 7433", root, "oldest.md")
	must(t, os.Chtimes(oldest, time.Unix(0, 0), time.Unix(0, 0)))
	w, m := settled(t, root, watcher.Options{Sweep: never})
	if got := m.contents(); len(got) != 401 || got["oldest.md"] != "zebrafish-port 7433" {
		t.Errorf("%d files", len(got))
	}
	if s := w.Status(); s.Files != 401 {
		t.Errorf("status %+v", s)
	}
}

// A filter is asked about a name once for as long as the file is there.
func TestKeepIsAskedOnce(t *testing.T) {
	root := newRoot(t)
	for i := range 10 {
		write(t, "x", root, fmt.Sprintf("%d.md", i))
	}
	var asked atomic.Int64
	w, _ := settled(t, root, watcher.Options{Sweep: never, Keep: func(rel string, dir bool) bool {
		asked.Add(1)
		return markdown(rel, dir)
	}})
	before := asked.Load()
	sync1(t, w)
	if n := asked.Load() - before; n != 0 {
		t.Errorf("asked %d times more", n)
	}
}
