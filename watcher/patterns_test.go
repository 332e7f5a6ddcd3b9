package watcher_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memls/memls/watcher"
)

// saves are the ways in which programs write text to path.
var saves = []struct {
	name string
	save func(t *testing.T, path, text string)
}{
	{"in place", func(t *testing.T, path, text string) {
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}},
	{"truncate, write in two steps", func(t *testing.T, path, text string) {
		f, err := os.Create(path)
		must(t, err)
		_, err = f.WriteString(text[:1])
		must(t, err)
		_, err = f.WriteString(text[1:])
		must(t, err)
		must(t, f.Close())
	}},
	{"temp and rename", func(t *testing.T, path, text string) {
		must(t, os.WriteFile(path+".tmp.4711", []byte(text), 0o644))
		must(t, os.Rename(path+".tmp.4711", path))
	}},
	{"sed -i", func(t *testing.T, path, text string) {
		tmp := filepath.Join(filepath.Dir(path), "sedA1b2C3")
		must(t, os.WriteFile(tmp, []byte(text), 0o644))
		must(t, os.Rename(tmp, path))
	}},
	{"vim backupcopy=yes", func(t *testing.T, path, text string) {
		dir := filepath.Dir(path)
		swap := filepath.Join(dir, "."+filepath.Base(path)+".swp")
		must(t, os.WriteFile(swap, []byte("swap"), 0o600))
		probe := filepath.Join(dir, "4913")
		must(t, os.WriteFile(probe, nil, 0o644))
		must(t, os.Remove(probe))
		if before, err := os.ReadFile(path); err == nil {
			must(t, os.WriteFile(path+"~", before, 0o644))
		}
		must(t, os.WriteFile(path, []byte(text), 0o644))
		must(t, os.Chmod(path, 0o640))
		must(t, os.Remove(swap))
		_ = os.Remove(path + "~")
	}},
	{"vim backupcopy=no", func(t *testing.T, path, text string) {
		_ = os.Rename(path, path+"~")
		must(t, os.WriteFile(path, []byte(text), 0o644))
		_ = os.Remove(path + "~")
	}},
	{"emacs lock and autosave", func(t *testing.T, path, text string) {
		dir, base := filepath.Split(path)
		must(t, os.WriteFile(dir+"#"+base+"#", []byte(text), 0o644))
		must(t, os.WriteFile(path, []byte(text), 0o644))
		must(t, os.Remove(dir+"#"+base+"#"))
	}},
	{"remove and write", func(t *testing.T, path, text string) {
		_ = os.Remove(path)
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}},
}

func TestWATCH_01_AtomicSave(t *testing.T) {
	for _, s := range saves {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			root := newRoot(t)
			path := write(t, "version 0", root, "a.md")
			_, m := settled(t, root, watcher.Options{Sweep: never})
			for i := range 5 {
				text := fmt.Sprint("version ", i+1)
				s.save(t, path, text)
				m.awaitContents(t, map[string]string{"a.md": text})
			}
			if ever := m.everChanged(); !slices.Equal(ever, []string{"a.md"}) {
				t.Errorf("delivered names %q", ever)
			}
		})
	}
}

func TestSaveOfNewFileInNewFolders(t *testing.T) {
	for _, s := range saves {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			root := newRoot(t)
			_, m := settled(t, root, watcher.Options{Sweep: never})
			dir := filepath.Join(root, "s", "t", "u")
			must(t, os.MkdirAll(dir, 0o755))
			s.save(t, filepath.Join(dir, "new.md"), "one")
			m.awaitContents(t, map[string]string{"s/t/u/new.md": "one"})
			s.save(t, filepath.Join(dir, "new.md"), "two")
			m.awaitContents(t, map[string]string{"s/t/u/new.md": "two"})
		})
	}
}

func TestWATCH_02_TempNames(t *testing.T) {
	root := newRoot(t)
	w, m := settled(t, root, watcher.Options{Sweep: never})
	tmp := write(t, "", root, "Test.tmp")
	must(t, os.WriteFile(tmp, []byte("hello"), 0o644))
	must(t, os.Rename(tmp, filepath.Join(root, "Test.md")))
	write(t, "draft", root, "draft.md.tmp")
	m.awaitContents(t, map[string]string{"Test.md": "hello"})
	sync1(t, w)
	if ever := m.everChanged(); !slices.Equal(ever, []string{"Test.md"}) {
		t.Errorf("delivered names %q", ever)
	}
	if b := m.last(); len(b.Skipped) > 0 || len(m.everRemoved()) > 0 {
		t.Errorf("skipped %v, removed %v", b.Skipped, m.everRemoved())
	}
}

func TestWATCH_03_NewFolder(t *testing.T) {
	root := newRoot(t)
	w, m := settled(t, root, watcher.Options{Sweep: never})
	want := map[string]string{}
	for i := range 5 {
		name := fmt.Sprintf("n%d.md", i)
		write(t, name, root, "sub", name)
		want["sub/"+name] = name
	}
	m.awaitContents(t, want)
	sync1(t, w)
	if s := w.Status(); s.Files != 5 || s.Dirs != 2 || s.Mode != watcher.ModeEvents {
		t.Errorf("status %+v", s)
	}
	must(t, os.RemoveAll(root))
	write(t, "after", root, "after.md")
	m.awaitContents(t, map[string]string{"after.md": "after"})
	sync1(t, w)
	if s := w.Status(); s.Files != 1 || s.Dirs != 1 || s.Missing {
		t.Errorf("status %+v", s)
	}
}

func TestWATCH_06_RemovedAndRestoredDirectory(t *testing.T) {
	root := newRoot(t)
	want := map[string]string{"top.md": "top"}
	write(t, "top", root, "top.md")
	restore := func() {
		for i := range 30 {
			name := fmt.Sprintf("n%d.md", i)
			old(t, write(t, name, root, "project", "deep", name))
			want["project/deep/"+name] = name
		}
	}
	restore()
	_, m := settled(t, root, watcher.Options{Sweep: never})
	m.awaitContents(t, want)
	must(t, os.RemoveAll(filepath.Join(root, "project")))
	m.awaitContents(t, map[string]string{"top.md": "top"})
	restore()
	m.awaitContents(t, want)
}

func TestRestoreWithSameSizeAndTimeIsSeen(t *testing.T) {
	for name, replace := range map[string]func(t *testing.T, path string){
		"in place": func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("two"), 0o644)); old(t, path) },
		"by rename": func(t *testing.T, path string) {
			must(t, os.WriteFile(path+".tmp", []byte("two"), 0o644))
			old(t, path+".tmp")
			must(t, os.Rename(path+".tmp", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := newRoot(t)
			path := write(t, "one", root, "a.md")
			old(t, path)
			w, m := settled(t, root, watcher.Options{Poll: true}.WithPollInterval(never, never))
			m.awaitContents(t, map[string]string{"a.md": "one"})
			replace(t, path)
			sync1(t, w)
			m.awaitContents(t, map[string]string{"a.md": "two"})
		})
	}
}

func TestWATCH_08_DeletedAndRecreated(t *testing.T) {
	root := newRoot(t)
	path := write(t, "first words", root, "d.md")
	_, m := settled(t, root, watcher.Options{Sweep: never})
	must(t, os.Remove(path))
	m.awaitContents(t, map[string]string{})
	write(t, "other words", root, "d.md")
	m.awaitContents(t, map[string]string{"d.md": "other words"})
}

func TestWATCH_10_GitChurn(t *testing.T) {
	root := newRoot(t)
	write(t, "x", root, "a.md")
	old(t, filepath.Join(root, "a.md"))
	w, m := settled(t, root, watcher.Options{Sweep: never})
	sync1(t, w)
	batches, before := m.count(), w.Status()
	for i := range 300 {
		write(t, "lock", root, ".git", "index.lock")
		must(t, os.Rename(filepath.Join(root, ".git", "index.lock"), filepath.Join(root, ".git", "index")))
		write(t, "o", root, ".git", "objects", fmt.Sprintf("%02x", i%256), fmt.Sprintf("%d.md", i))
	}
	// The sentinel's event comes after all of git's.
	write(t, "y", root, "sentinel.md")
	m.await(t, "the sentinel", func() bool { return m.contents()["sentinel.md"] == "y" })
	after := w.Status()
	if after.Sweeps != before.Sweeps {
		t.Errorf("%d sweeps", after.Sweeps-before.Sweeps)
	}
	if n := after.Events - before.Events; n > 10 { // CREATE, WRITE of the sentinel
		t.Errorf("%d events concerned the root", n)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.batches[batches:] {
		for rel := range b.Changed {
			if strings.Contains(rel, ".git") || b.Full {
				t.Errorf("git made a batch: %+v", b)
			}
		}
	}
}

func TestRenames(t *testing.T) {
	root := newRoot(t)
	write(t, "1", root, "a", "x.md")
	write(t, "2", root, "a", "sub", "y.md")
	_, m := settled(t, root, watcher.Options{Sweep: never})

	t.Log("a directory moves; its sub-directories are heard under the new path")
	must(t, os.Rename(filepath.Join(root, "a"), filepath.Join(root, "b")))
	m.awaitContents(t, map[string]string{"b/x.md": "1", "b/sub/y.md": "2"})
	write(t, "3", root, "b", "sub", "y.md")
	m.awaitContents(t, map[string]string{"b/x.md": "1", "b/sub/y.md": "3"})

	t.Log("the old path comes back; both are heard")
	write(t, "4", root, "a", "sub", "y.md")
	m.awaitContents(t, map[string]string{"b/x.md": "1", "b/sub/y.md": "3", "a/sub/y.md": "4"})
	write(t, "5", root, "b", "sub", "y.md")
	write(t, "6", root, "a", "sub", "y.md")
	m.awaitContents(t, map[string]string{"b/x.md": "1", "b/sub/y.md": "5", "a/sub/y.md": "6"})

	t.Log("a file becomes a directory and a directory a file")
	must(t, os.Remove(filepath.Join(root, "b", "x.md")))
	write(t, "7", root, "b", "x.md", "in.md")
	must(t, os.RemoveAll(filepath.Join(root, "a")))
	m.awaitContents(t, map[string]string{"b/x.md/in.md": "7", "b/sub/y.md": "5"})
	must(t, os.RemoveAll(filepath.Join(root, "b", "x.md")))
	write(t, "8", root, "b", "x.md")
	m.awaitContents(t, map[string]string{"b/x.md": "8", "b/sub/y.md": "5"})

	t.Log("a directory moves out of the root and is written to there")
	out := filepath.Join(filepath.Dir(root), "out")
	must(t, os.Rename(filepath.Join(root, "b"), out))
	m.awaitContents(t, map[string]string{})
	write(t, "9", out, "sub", "y.md")
	write(t, "end", root, "end.md")
	m.awaitContents(t, map[string]string{"end.md": "end"})

	t.Log("and comes in again")
	must(t, os.Rename(out, filepath.Join(root, "c")))
	m.awaitContents(t, map[string]string{"end.md": "end", "c/x.md": "8", "c/sub/y.md": "9"})
}

func TestBatchOfFiveThousandFiles(t *testing.T) {
	root := newRoot(t)
	_, m := settled(t, root, watcher.Options{Sweep: never})
	want := map[string]string{}
	for i := range 5000 {
		rel := fmt.Sprintf("d%d/n%d.md", i%50, i)
		write(t, rel, root, rel)
		want[rel] = rel
	}
	m.awaitContents(t, want)
	must(t, os.RemoveAll(root))
	must(t, os.Mkdir(root, 0o755))
	m.awaitContents(t, map[string]string{})
}

func TestAwkwardNames(t *testing.T) {
	root := newRoot(t)
	_, m := settled(t, root, watcher.Options{Sweep: never})
	want := map[string]string{}
	for _, name := range []string{"ñandú.md", "日記/今日.md", "with space.md", "new\nline.md", "tab\t.md", "-rf.md", "percent%20.md", strings.Repeat("x", 250) + ".md"} {
		write(t, name, root, name)
		want[name] = name
	}
	m.awaitContents(t, want)
	if got := slices.Sorted(maps.Keys(m.contents())); len(got) != len(want) {
		t.Errorf("got %q", got)
	}
}
