package lsp_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/memory"
)

// What another program has just taken away or cut is not served, though no event
// has told of it yet; what it has written is served as it is now.
func TestWhatAnotherProcessErasedIsNotServed(t *testing.T) {
	s := newStore(t, map[string]string{
		"gone.md": note("Gone", "kestrel", "The kestrel vault is in the cellar."),
		"cut.md":  note("Cut", "kestrel", "- The kestrel vault has a code.\n- Another kestrel nests in May."),
		"stay.md": note("Stay", "kestrel", "A kestrel is a falcon."),
	})
	d := sit(t, lsp.MemoryOptions{Watch: deaf}, serving(s)).settled()
	if err := os.Remove(filepath.Join(s.dir, "gone.md")); err != nil {
		t.Fatal(err)
	}
	s.write("cut.md", note("Cut", "kestrel", "- Another kestrel nests in May."))
	r := d.recall(lsp.RecallParams{Session: "s", Query: "kestrel"})
	var all strings.Builder
	for _, result := range []lsp.RecallResult{*r.fast, r.refined} {
		for _, doc := range result.Documents {
			all.WriteString(doc.Ref + " " + doc.Body + "\n")
		}
	}
	if got := all.String(); strings.Contains(got, "gone.md") || strings.Contains(got, "has a code") || !strings.Contains(got, "stay.md") {
		t.Errorf("served:\n%s", got)
	}
	var found lsp.SearchResult
	d.call("memory/search", lsp.SearchParams{Query: "vault"}, &found)
	for _, doc := range found.Documents {
		t.Errorf("found: %s %q", doc.Ref, doc.Body)
	}
}

// A directory that does not answer keeps no recall waiting.
func TestARecallDoesNotWaitForADirectoryThatDoesNotAnswer(t *testing.T) {
	s := newStore(t, gateways())
	answer := make(chan struct{})
	var asked atomic.Int32
	d := sit(t, lsp.MemoryOptions{Lstat: func(path string) (fs.FileInfo, error) {
		asked.Add(1)
		<-answer
		return os.Lstat(path)
	}}, serving(s)).settled()
	for _, session := range []string{"a", "b", "c"} {
		if r := d.recall(lsp.RecallParams{Session: session, Query: "gateway timeout"}); len(r.all()) != 5 {
			t.Errorf("%d memories", len(r.all()))
		}
	}
	// Nor do looks pile up.
	if n := asked.Load(); n != 1 {
		t.Errorf("%d looks", n)
	}
	close(answer)
}

// deafWatch looks at its directory when it is asked to, and notices nothing by
// itself.
type deafWatch struct {
	dir   string
	sink  func(memory.FileChange)
	known *sync.Map // names that were there
}

func deaf(bool) memory.WatchFactory {
	return func(dir string, _ func(string, bool) bool, sink func(memory.FileChange)) memory.Watcher {
		return deafWatch{dir, sink, &sync.Map{}}
	}
}

func (w deafWatch) Run(ctx context.Context) error {
	w.look()
	<-ctx.Done()
	return ctx.Err()
}

func (w deafWatch) Sync(context.Context) error { w.look(); return nil }

func (w deafWatch) Poke() {}

func (w deafWatch) Status() memory.WatchStatus { return memory.WatchStatus{Mode: "fsnotify"} }

func (w deafWatch) look() {
	change := memory.FileChange{Full: true}
	names, err := filepath.Glob(filepath.Join(w.dir, "*.md"))
	if err != nil {
		panic(err) // Inv: the pattern is one
	}
	there := map[string]bool{}
	for _, n := range names {
		rel := filepath.Base(n)
		there[rel] = true
		w.known.Store(rel, true)
		change.Changed = append(change.Changed, rel)
	}
	w.known.Range(func(rel, _ any) bool {
		if !there[rel.(string)] {
			w.known.Delete(rel)
			change.Removed = append(change.Removed, rel.(string))
		}
		return true
	})
	w.sink(change)
}
