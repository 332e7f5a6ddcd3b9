package memory_test

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memls/memls/memory"
)

func symlink(t *testing.T, target, dir, rel string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func TestSCAN_01_SymlinkLoop(t *testing.T) {
	dir := tempDir(t)
	write(t, dir, "a.md", "good\n")
	symlink(t, "..", dir, "sub/loop")
	symlink(t, "/", dir, "sub/z")
	var log strings.Builder
	b := open(t, dir, func(o *memory.CatalogOptions) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	s := b.settled()
	wantRefs(t, s, "project:a.md")
	want := []memory.Skip{{Path: "sub/loop", Reason: "symlink"}, {Path: "sub/z", Reason: "symlink"}}
	if r := s.Roots()[0]; !slices.Equal(r.Skipped, want) || r.OnDisk != 1 || r.State != memory.StateReady {
		t.Errorf("status %+v", r)
	}
	b.sync()
	if n := strings.Count(log.String(), "path=sub/loop"); n != 1 {
		t.Errorf("%d warnings that name the link:\n%s", n, log.String())
	}
}

func TestSCAN_02_OneBadEntry(t *testing.T) {
	dir := tempDir(t)
	for i := range 10 {
		write(t, dir, fmt.Sprintf("good-%d.md", i), "good\n")
	}
	write(t, dir, "locked.md", "secret\n")
	symlink(t, "/nope", dir, "x.md")
	fifo(t, filepath.Join(dir, "p.md"))
	// Mode 000 does not keep the superuser out, so the refusal comes from the seam.
	b := open(t, dir, func(o *memory.CatalogOptions) {
		o.Open = func(d *os.Root, name string) (*os.File, error) {
			if name == "locked.md" {
				return nil, &fs.PathError{Op: "openat", Path: name, Err: fs.ErrPermission}
			}
			return memory.OpenFile(d, name)
		}
	})
	s := b.ready()
	r := s.Roots()[0]
	want := []memory.Skip{{Path: "locked.md", Reason: "permission denied"}, {Path: "p.md", Reason: "not a regular file"}, {Path: "x.md", Reason: "symlink"}}
	if s.Len() != 10 || !slices.Equal(r.Skipped, want) || r.OnDisk != 13 || r.Catalogued != 10 {
		t.Errorf("%d documents, status %+v", s.Len(), r)
	}
	// A watcher that takes them for files brings nothing about.
	b.fakes.last().emit(t, memory.FileChange{Changed: []string{"p.md", "x.md"}})
	r = b.Snapshot().Roots()[0]
	want[1].Reason = "not a regular file"
	if b.Snapshot().Len() != 10 || len(r.Skipped) != 3 || r.OnDisk != 13 || r.Catalogued != 10 {
		t.Errorf("status %+v", r)
	}
}

func TestSCAN_04_NoWindow(t *testing.T) {
	dir := tempDir(t)
	for i := range 400 {
		write(t, dir, fmt.Sprintf("%d.md", i), "text\n")
	}
	old := write(t, dir, "old.md", "zebrafish-port 7433\n")
	if err := os.Chtimes(old, time.Time{}, time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, nil).ready()
	if d, ok := s.Get("project:old.md"); !ok || s.Len() != 401 || s.Roots()[0].OnDisk != 401 || d.ModTime.Year() != 2001 {
		t.Errorf("%d documents, %+v", s.Len(), d)
	}
}

func TestSCAN_06_LinksAreText(t *testing.T) {
	dir := tempDir(t)
	write(t, dir, "a.md", "[l]("+strings.Repeat("x/", 3000)+") [["+strings.Repeat("w", 300)+"]] ![i](/etc/passwd)\n")
	b := open(t, dir, nil)
	s := b.ready()
	wantRefs(t, s, "project:a.md")
	if b.opens.Load() != 1 {
		t.Errorf("%d files opened", b.opens.Load())
	}
}

func TestSEC_01_LinksInsideARoot(t *testing.T) {
	dir, outside := tempDir(t), tempDir(t)
	write(t, dir, "real/inside.md", "inside\n")
	write(t, outside, "secret.md", "secret\n")
	symlink(t, outside, dir, "sub")
	symlink(t, "real", dir, "alias")
	symlink(t, filepath.Join(outside, "secret.md"), dir, "file.md")
	b := open(t, dir, nil)
	b.settled()
	// A watcher that followed the links, or names what lies elsewhere.
	b.fakes.last().emit(t, memory.FileChange{Changed: []string{
		"sub/secret.md", "alias/inside.md", "file.md", "../" + filepath.Base(outside) + "/secret.md", "/etc/passwd.md", "a\\b.md", "real/./inside.md", "real//inside.md", "",
	}})
	s := b.Snapshot()
	wantRefs(t, s, "project:real/inside.md")
	for _, k := range s.Roots()[0].Skipped {
		if k.Path != "sub" && k.Path != "alias" && !strings.Contains(k.Reason, "symlink") && !strings.Contains(k.Reason, "cannot be named") {
			t.Errorf("skip %+v", k)
		}
	}
	if got := b.opens.Load(); got != 1 {
		t.Errorf("%d files opened", got)
	}
}

// What is a file when the watcher looks may be something else when it is opened.
func TestSEC_01_SwappedBeforeTheOpen(t *testing.T) {
	swaps := map[string]func(t *testing.T, dir, outside string){
		"file by a link out": func(t *testing.T, dir, outside string) {
			rename(t, filepath.Join(dir, "sub", "a.md"), filepath.Join(dir, "sub", "away"))
			symlink(t, filepath.Join(outside, "a.md"), dir, "sub/a.md")
		},
		"file by a link inside": func(t *testing.T, dir, outside string) {
			rename(t, filepath.Join(dir, "sub", "a.md"), filepath.Join(dir, "sub", "away"))
			symlink(t, "away", dir, "sub/a.md")
		},
		"file by a fifo": func(t *testing.T, dir, outside string) {
			rename(t, filepath.Join(dir, "sub", "a.md"), filepath.Join(dir, "sub", "away"))
			fifo(t, filepath.Join(dir, "sub", "a.md"))
		},
		"directory by a link out": func(t *testing.T, dir, outside string) {
			rename(t, filepath.Join(dir, "sub"), filepath.Join(dir, "away"))
			symlink(t, outside, dir, "sub")
		},
		"root by a link out": func(t *testing.T, dir, outside string) {
			rename(t, dir, dir+".away")
			symlink(t, outside, filepath.Dir(dir), filepath.Base(dir))
		},
	}
	for name, swap := range swaps {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/late=%v", name, late), func(t *testing.T) {
				parent, outside := tempDir(t), tempDir(t)
				var once sync.Once
				dir := filepath.Join(parent, "root")
				write(t, dir, "sub/a.md", "inside\n")
				write(t, outside, "a.md", "SECRET\n")
				write(t, outside, "sub/a.md", "SECRET\n")
				b := open(t, dir, func(o *memory.CatalogOptions) {
					o.After = func(time.Duration) <-chan time.Time { c := make(chan time.Time, 1); c <- time.Time{}; return c }
					o.Open = func(d *os.Root, name string) (*os.File, error) {
						if late {
							once.Do(func() { swap(t, dir, outside) })
						}
						return memory.OpenFile(d, name)
					}
				})
				if !late {
					b.ready()
					swap(t, dir, outside)
					b.fakes.last().emit(t, memory.FileChange{Changed: []string{"sub/a.md"}})
				}
				b.ready()
				b.sync()
				for d := range b.Snapshot().All() {
					if strings.Contains(d.Text, "SECRET") {
						t.Errorf("%s is served from outside", d.Ref)
					}
				}
			})
		}
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func TestSEC_09_SameNamesInTwoRoots(t *testing.T) {
	one, two := tempDir(t), tempDir(t)
	write(t, one, "a.md", "only in one\n")
	write(t, two, "a.md", "only in two\n")
	write(t, two, "b.md", "only in two\n")
	b := open(t, one, withRoots(
		memory.RootConfig{Scope: memory.ScopeProject, Path: one, Folders: "/one"},
		memory.RootConfig{Scope: memory.ScopeProject, Path: two, Folders: "/two"},
	))
	s := b.ready()
	for d := range s.All() {
		if !strings.Contains(d.Text, strings.TrimPrefix(string(d.Root.Folders), "/")) {
			t.Errorf("%s of %s: %q", d.Ref, d.Root.Folders, d.Text)
		}
	}
	if d, ok := s.Get("project:a.md"); !ok || d.Root.Folders != "/one" {
		t.Errorf("%+v", d)
	}
	if _, ok := s.Get("project:b.md"); ok {
		t.Error("a ref of one root finds a file of the other")
	}
	// Not by a cache either: two catalogs share nothing.
	if d, _ := open(t, two, nil).ready().Get("project:a.md"); d.Text != "only in two\n" {
		t.Errorf("%+v", d)
	}
}

func TestWATCH_06_DirectoryGoneAndRestored(t *testing.T) {
	dir := tempDir(t)
	old := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	restore := func() {
		for i := range 30 {
			path := write(t, dir, fmt.Sprintf("project/%d.md", i), "text\n")
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	restore()
	write(t, dir, "stays.md", "text\n")
	b := open(t, dir, nil)
	if s := b.settled(); s.Len() != 31 {
		t.Fatalf("%d documents", s.Len())
	}
	if err := os.RemoveAll(filepath.Join(dir, "project")); err != nil {
		t.Fatal(err)
	}
	wantRefs(t, b.sync(), "project:stays.md")
	restore()
	if s := b.sync(); s.Len() != 31 {
		t.Errorf("%d documents", s.Len())
	}
}

func TestWATCH_08_DeletedAndRecreated(t *testing.T) {
	dir := tempDir(t)
	path := write(t, dir, "d.md", "old word\n")
	b := open(t, dir, nil)
	b.settled()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s := b.sync()
	wantRefs(t, s)
	if r := s.Roots()[0]; r.OnDisk != 0 || len(r.Skipped) != 0 {
		t.Errorf("status %+v", r)
	}
	// Reported as changed although it is gone: no document, and no error.
	b.fakes.last().emit(t, memory.FileChange{Changed: []string{"d.md"}})
	b.sync()
	if r := b.Snapshot().Roots()[0]; r.OnDisk != 0 || len(r.Skipped) != 0 {
		t.Errorf("status %+v", r)
	}
	write(t, dir, "d.md", "new word\n")
	if d, _ := b.sync().Get("project:d.md"); d == nil || d.Text != "new word\n" {
		t.Errorf("%+v", d)
	}
}

func TestWATCH_10_GitChurn(t *testing.T) {
	dir := tempDir(t)
	write(t, dir, "a.md", "text\n")
	b := open(t, dir, nil)
	before := b.settled()
	drain(b.changes)
	for i := range 50 {
		write(t, dir, ".git/index.lock", fmt.Sprint(i))
		write(t, dir, ".git/COMMIT_EDITMSG.md", fmt.Sprint(i))
		write(t, dir, ".git/logs/x.md", fmt.Sprint(i))
		b.fakes.last().emit(t, memory.FileChange{Changed: []string{".git/COMMIT_EDITMSG.md", ".git/logs/x.md"}})
		b.sync()
	}
	if b.Snapshot() != before || len(drain(b.changes)) != 0 || b.opens.Load() != 1 {
		t.Errorf("revision %d to %d, %d opens", before.Revision, b.Snapshot().Revision, b.opens.Load())
	}
}
