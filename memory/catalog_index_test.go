package memory_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/memory"
)

// The index of a root is read with its files, and compared with them.
func TestCatalogReadsTheIndex(t *testing.T) {
	dir := tempDir(t)
	write(t, dir, "a.md", "---\nname: Alpha\n---\nfirst\n")
	write(t, dir, "b.md", "second\n")
	write(t, dir, "sub/MEMORY.md", "- [Nested](x.md)\n")
	b := open(t, dir, nil)
	s := b.ready()
	if r := s.Roots()[0]; r.HasIndex || r.Index != nil {
		t.Errorf("no index: %+v", r)
	}
	write(t, dir, "MEMORY.md", "- [Alpha](a.md)\n- [Gone](gone.md)\n")
	s = b.sync()
	r := s.Roots()[0]
	if !r.HasIndex || r.Index == nil || r.OnDisk != 2 || r.Catalogued != 2 || len(r.Skipped) != 0 {
		t.Fatalf("%+v", r)
	}
	drift, ok := s.DriftOf(r.Root, nil)
	if !ok || len(drift.Missing) != 1 || len(drift.Unlisted) != 1 || drift.Unlisted[0].Ref != "project:b.md" {
		t.Errorf("%+v %v", drift, ok)
	}
	// What is held does not change, and what changes is seen.
	before := b.Snapshot()
	write(t, dir, "MEMORY.md", "- [Alpha](a.md)\n- [[b]]\n")
	s = b.sync()
	if drift, _ := s.DriftOf(s.Roots()[0].Root, nil); !drift.None() {
		t.Errorf("%+v", drift)
	}
	if drift, _ := before.DriftOf(before.Roots()[0].Root, nil); len(drift.Missing) != 1 {
		t.Error("an old snapshot changed")
	}
	if s.Revision != before.Revision {
		t.Error("the documents have not changed")
	}
	if same := b.sync(); same != s {
		t.Error("an index that is the same was published again")
	}
	if err := os.Remove(filepath.Join(dir, "MEMORY.md")); err != nil {
		t.Fatal(err)
	}
	s = b.sync()
	if _, ok := s.DriftOf(s.Roots()[0].Root, nil); ok || s.Roots()[0].HasIndex {
		t.Errorf("%+v", s.Roots()[0])
	}
}

// An index that cannot be read is named, and hides no file.
func TestCatalogIndexThatCannotBeRead(t *testing.T) {
	dir := tempDir(t)
	write(t, dir, "a.md", "first\n")
	write(t, dir, "MEMORY.md", "- [A](a.md)\n")
	fail := true
	clock := make(chan time.Time)
	b := open(t, dir, func(o *memory.CatalogOptions) {
		o.Open = func(d *os.Root, name string) (*os.File, error) {
			if name == memory.IndexName && fail {
				return nil, errors.New("input/output error")
			}
			return memory.OpenFile(d, name)
		}
		o.After = func(time.Duration) <-chan time.Time { return clock }
	})
	close(clock)
	s := b.sync()
	r := s.Roots()[0]
	if want := []memory.Skip{{Path: "MEMORY.md", Reason: "input/output error"}}; !slices.Equal(r.Skipped, want) || r.Index != nil || r.OnDisk != 1 || r.Catalogued != 1 || r.State != memory.StateReady {
		t.Errorf("%+v", r)
	}
	fail = false
	b.fakes.last().emit(t, memory.FileChange{Changed: []string{"MEMORY.md"}})
	s = b.sync()
	if r := s.Roots()[0]; len(r.Skipped) != 0 || r.Index == nil {
		t.Errorf("%+v", r)
	}
	// One that leads elsewhere is not followed.
	if err := os.Remove(filepath.Join(dir, "MEMORY.md")); err != nil {
		t.Fatal(err)
	}
	secret := tempDir(t)
	write(t, secret, "x", "- [secret](a.md)\n")
	symlink(t, filepath.Join(secret, "x"), dir, "MEMORY.md")
	b.fakes.last().emit(t, memory.FileChange{Changed: []string{"MEMORY.md"}})
	if r := b.Snapshot().Roots()[0]; r.Index != nil || len(r.Skipped) != 1 || r.Skipped[0].Reason != "symlink" {
		t.Errorf("%+v", r)
	}
}

func TestIndexOfSeveralRoots(t *testing.T) {
	one, two := tempDir(t), tempDir(t)
	for _, dir := range []string{one, two} {
		write(t, dir, "same.md", "text\n")
	}
	write(t, one, "MEMORY.md", "- [x](same.md)\n")
	write(t, two, "MEMORY.md", strings.Repeat("- fact\n", 300))
	s := open(t, one, withRoots(project(one), project(two))).ready()
	a, _ := s.DriftOf(s.Roots()[0].Root, nil)
	b, _ := s.DriftOf(s.Roots()[1].Root, nil)
	if !a.None() || !b.TooLarge || len(b.Unlisted) != 1 || b.Unlisted[0].Root != s.Roots()[1].Root {
		t.Errorf("%+v\n%+v", a, b)
	}
}
