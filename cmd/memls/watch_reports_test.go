package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The tests of this file hold, over the built program, what users of other stores
// reported about saved files that are not seen.

// rootState is what they read of a root's status.
type rootState struct {
	State      string `json:"state"`
	OnDisk     int    `json:"onDisk"`
	Catalogued int    `json:"catalogued"`
	Revision   int    `json:"revision"`
	Watch      struct {
		Mode string `json:"mode"`
	} `json:"watch"`
}

func (e *editor) rootState() rootState {
	e.t.Helper()
	answer, _ := e.call("memory/status", map[string]any{})
	var status struct {
		Roots []rootState `json:"roots"`
	}
	if err := json.Unmarshal(answer.Result, &status); err != nil || len(status.Roots) != 1 {
		e.t.Fatalf("status %s: %v", answer.Result, err)
	}
	return status.Roots[0]
}

// eventually returns when ok holds. It asks again whenever the server has told of
// a change.
func (e *editor) eventually(ok func() bool) {
	e.t.Helper()
	for {
		before := e.news
		if ok() {
			return
		}
		if e.news == before {
			e.until(func(m message) bool { return m.Method == "memory/changed" || m.Method == "memory/statusChanged" })
		}
	}
}

// finds tells what a new session recalls.
func (e *editor) finds(query string) string {
	e.t.Helper()
	name := fmt.Sprint("finds ", e.lastID)
	fast, refined := e.recall(name, name, query)
	return refs(fast) + refs(refined)
}

// served starts a server over one directory and waits until it is ready.
func served(t *testing.T, dir string) *editor {
	t.Helper()
	e := startServer(t, "--root", dir)
	e.initialize(nil)
	e.eventually(func() bool { return e.rootState().State == "ready" })
	return e
}

func (e *editor) left() {
	e.t.Helper()
	if code := e.leave(); code != 0 {
		e.t.Errorf("exit code %d, want 0\n%s", code, e.stderr.String())
	}
}

// saying is a memory about one word.
func saying(word string) string {
	return "---\nname: About " + word + "\n---\nThe " + word + " is on the shelf.\n"
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func TestWATCH_01_EverySaveIsRecalled(t *testing.T) {
	dir := notes(t)
	writeNote(t, dir, "a.md", saying("wombat"))
	e := served(t, dir)
	a := filepath.Join(dir, "a.md")
	saves := map[string]func(text string){
		"write and rename": func(text string) {
			writeNote(t, dir, "a.md.tmp", text)
			move(t, a+".tmp", a)
		},
		"like sed": func(text string) {
			writeNote(t, dir, "sedX7aQ2", text)
			move(t, filepath.Join(dir, "sedX7aQ2"), a)
		},
		"like vim": func(text string) {
			writeNote(t, dir, "4913", "")
			if err := os.Remove(filepath.Join(dir, "4913")); err != nil {
				t.Fatal(err)
			}
			writeNote(t, dir, ".a.md.swp", "swap")
			move(t, a, a+"~")
			writeNote(t, dir, "a.md", text)
			if err := os.Remove(a + "~"); err != nil {
				t.Fatal(err)
			}
		},
		"in place": func(text string) { writeNote(t, dir, "a.md", text) },
	}
	for name, save := range saves {
		for i, word := range []string{"aardvark", "bandicoot", "capybara", "dugong", "echidna"} {
			save(saying(word))
			e.eventually(func() bool { return e.finds(word) == "project:a.md" })
			if got := e.finds("wombat"); got != "" {
				t.Errorf("%s, save %d: the old text is still recalled, from %s", name, i, got)
			}
		}
		if got := e.rootState(); got.Catalogued != 4 || got.OnDisk != 4 {
			t.Errorf("%s: %+v, want 4 memories", name, got)
		}
	}
	e.left()
}

func TestWATCH_02_NoTemporaryNameIsServed(t *testing.T) {
	dir := notes(t)
	e := served(t, dir)
	writeNote(t, dir, "Test.tmp", saying("wombat"))
	writeNote(t, dir, "draft.md.tmp", saying("numbat"))
	move(t, filepath.Join(dir, "Test.tmp"), filepath.Join(dir, "Test.md"))
	e.eventually(func() bool { return e.finds("wombat") == "project:Test.md" })
	if got := e.finds("numbat"); got != "" {
		t.Errorf("a draft under a temporary name is recalled from %s", got)
	}
	if got := e.rootState(); got.Catalogued != 4 || got.OnDisk != 4 {
		t.Errorf("%+v, want 4 memories", got)
	}
	e.left()
}

func TestWATCH_03_NewFoldersAndANewRoot(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "memory")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	e := served(t, dir)
	folder := filepath.Join(dir, "new", "folder")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	words := []string{"aardvark", "bandicoot", "capybara", "dugong", "echidna"}
	for _, w := range words {
		writeNote(t, folder, w+".md", saying(w))
	}
	e.eventually(func() bool { return e.rootState().Catalogued == len(words) })
	for _, w := range words {
		if got := e.finds(w); got != "project:new/folder/"+w+".md" {
			t.Errorf("%s: recalled %q", w, got)
		}
	}
	// What was watched is gone, and something else has its name.
	move(t, dir, filepath.Join(parent, "away"))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	writeNote(t, dir, "late.md", saying("wombat"))
	e.eventually(func() bool { return e.finds("wombat") == "project:late.md" && e.finds("dugong") == "" })
	if got := e.rootState(); got.Catalogued != 1 || got.OnDisk != 1 || got.State != "ready" {
		t.Errorf("%+v, want one memory, ready", got)
	}
	e.left()
}

func TestWATCH_04_ABurstIsCaughtUpWith(t *testing.T) {
	dir := t.TempDir()
	e := served(t, dir)
	const files, folders = 3000, 30
	for i := range folders {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprint("d", i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for i := range files {
		writeNote(t, filepath.Join(dir, fmt.Sprint("d", i%folders)), fmt.Sprintf("n%d.md", i), saying(fmt.Sprintf("wombat%dburrow", i)))
	}
	e.eventually(func() bool { return e.rootState().Catalogued == files })
	if got := e.rootState(); got.OnDisk != files {
		t.Errorf("%+v, want %d files", got, files)
	}
	for _, i := range []int{0, 1234, files - 1} {
		want := fmt.Sprintf("project:d%d/n%d.md", i%folders, i)
		if got := e.finds(fmt.Sprintf("wombat%dburrow", i)); got != want {
			t.Errorf("recalled %q, want %s", got, want)
		}
	}
	e.left()
}

func TestWATCH_06_AFolderThatComesBack(t *testing.T) {
	dir := notes(t)
	folder := filepath.Join(dir, "project")
	long := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	fill := func() {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			name := fmt.Sprintf("n%d.md", i)
			writeNote(t, folder, name, saying(fmt.Sprintf("wombat%dburrow", i)))
			if err := os.Chtimes(filepath.Join(folder, name), long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill()
	e := served(t, dir)
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	e.eventually(func() bool { return e.rootState().Catalogued == 3 })
	if got := e.finds("wombat7burrow"); got != "" {
		t.Errorf("a removed file is recalled: %s", got)
	}
	fill()
	e.eventually(func() bool { return e.rootState().Catalogued == 33 })
	for i := range 30 {
		if got := e.finds(fmt.Sprintf("wombat%dburrow", i)); got != fmt.Sprintf("project:project/n%d.md", i) {
			t.Errorf("wombat%d: recalled %q", i, got)
		}
	}
	e.left()
}

func TestWATCH_08_ADeletedFileIsNowhere(t *testing.T) {
	dir := notes(t)
	d := filepath.Join(dir, "d.md")
	writeNote(t, dir, "d.md", saying("wombat"))
	e := served(t, dir)
	if err := os.Remove(d); err != nil {
		t.Fatal(err)
	}
	e.eventually(func() bool { return e.finds("wombat") == "" })
	e.left()
	e = served(t, dir)
	if got := e.finds("wombat"); got != "" {
		t.Errorf("after a restart it is recalled from %s", got)
	}
	writeNote(t, dir, "d.md", saying("numbat"))
	e.eventually(func() bool { return e.finds("numbat") == "project:d.md" })
	if got := e.finds("wombat"); got != "" {
		t.Errorf("the text before is recalled from %s", got)
	}
	e.left()
}

// What git does in the root is nobody's concern: no revision, and no word to the
// client, until a memory changes.
func TestWATCH_10_GitIsNotHeard(t *testing.T) {
	dir := notes(t)
	for _, sub := range []string{"objects/ab", "refs/heads", "logs"} {
		if err := os.MkdirAll(filepath.Join(dir, ".git", filepath.FromSlash(sub)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	e := served(t, dir)
	save := func(name, word string) {
		writeNote(t, dir, name+".tmp", saying(word))
		move(t, filepath.Join(dir, name+".tmp"), filepath.Join(dir, name))
		e.changed("project:" + name)
	}
	save("first.md", "numbat") // what is still to be said of the scan comes before
	before, news := e.rootState(), e.news
	for i := range 300 {
		for _, name := range []string{"index.lock", "COMMIT_EDITMSG", "logs/HEAD.md", "refs/heads/main.md", fmt.Sprintf("objects/ab/%d", i)} {
			writeNote(t, filepath.Join(dir, ".git"), filepath.FromSlash(name), fmt.Sprint("commit ", i))
		}
		move(t, filepath.Join(dir, ".git", "index.lock"), filepath.Join(dir, ".git", "index"))
	}
	save("last.md", "wombat")
	after := e.rootState()
	if e.news != news+1 {
		t.Errorf("the client was told %d times, want once, of the last file", e.news-news)
	}
	if after.Revision != before.Revision+1 || after.Catalogued != before.Catalogued+1 {
		t.Errorf("from %+v to %+v: more than the last file was noticed", before, after)
	}
	e.left()
}
