package main

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/watcher"
)

func writeNote(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// startCatalog runs a catalog of one project root until the test ends.
func startCatalog(t *testing.T, dir string, watch memory.WatchFactory) *memory.Catalog {
	t.Helper()
	c, err := memory.NewCatalog(memory.CatalogOptions{
		Roots: []memory.RootConfig{{Scope: memory.ScopeProject, Path: dir}}, Watch: watch,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the catalog ended with %v", err)
		}
	})
	if err := c.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestFollowersNotice(t *testing.T) {
	for _, poll := range []bool{false, true} {
		t.Run(map[bool]string{false: "by themselves", true: "polling"}[poll], func(t *testing.T) {
			t.Cleanup(func() { goleak.VerifyNone(t) })
			dir := t.TempDir()
			writeNote(t, dir, "a.md", "one")
			c := startCatalog(t, dir, followers(poll, discard()))
			if got := c.Snapshot().Len(); got != 1 {
				t.Fatalf("%d memories, want 1", got)
			}
			writeNote(t, dir, "b.md", "two")
			for next := c.Changed(); c.Snapshot().Len() != 2; next = c.Changed() {
				if c.Snapshot().Len() == 2 {
					break
				}
				<-next
			}
		})
	}
}

// Polling that was asked for is no fault of a root; package watcher's own words for it must not make it one.
func TestFollowerAskedToPollIsReady(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	c := startCatalog(t, t.TempDir(), followers(true, discard()))
	got := c.Status()[0]
	if got.State != memory.StateReady || got.Watch.Mode != string(watcher.ModePoll) || got.Watch.Reason != "" {
		t.Errorf("state %s, mode %s, reason %q; want ready, poll and no reason", got.State, got.Watch.Mode, got.Watch.Reason)
	}
	if got.Watch.LastSweep.IsZero() || got.Watch.Since.IsZero() {
		t.Errorf("times are missing: %+v", got.Watch)
	}
}

func TestScannersLookOnce(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	dir := t.TempDir()
	writeNote(t, dir, "a.md", "one")
	c := startCatalog(t, dir, scanners(discard()))
	before := c.Snapshot()
	if before.Len() != 1 || before.Roots()[0].State != memory.StateReady {
		t.Fatalf("%d memories, root %s; want 1, ready", before.Len(), before.Roots()[0].State)
	}
	writeNote(t, dir, "b.md", "two")
	c.Poke()
	if err := c.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := c.Snapshot().Len(); got != 1 {
		t.Errorf("%d memories after a later file, want still 1: one command sees one state", got)
	}
}

// Sync of a watcher that has ended, or whose caller gives up, returns.
func TestScannerSyncEnds(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	keep := func(string, bool) bool { return true }
	blocked := make(chan struct{})
	w := scanners(discard())(t.TempDir(), keep, func(memory.FileChange) { <-blocked })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	gone, give := context.WithCancel(t.Context())
	give()
	if err := w.Sync(gone); err == nil {
		t.Error("Sync returned nil for a caller who gave up")
	}
	close(blocked)
	if err := w.Sync(t.Context()); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestScannersSayThatARootIsMissing(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	c := startCatalog(t, filepath.Join(t.TempDir(), "nowhere"), scanners(discard()))
	if got := c.Snapshot().Roots()[0].State; got != memory.StateMissing {
		t.Errorf("root %s, want missing", got)
	}
}

func TestFileChange(t *testing.T) {
	got := fileChange(watcher.Batch{
		Changed: map[string]watcher.Sig{"b.md": {}, "a.md": {}}, Removed: map[string]struct{}{"c.md": {}},
		Skipped: []watcher.Skip{{Path: "d", Reason: "symlink"}}, SkipsKnown: true, Full: true, Missing: true, Gen: 7,
	})
	slices.Sort(got.Changed)
	if !slices.Equal(got.Changed, []string{"a.md", "b.md"}) || !slices.Equal(got.Removed, []string{"c.md"}) ||
		!slices.Equal(got.Skipped, []memory.Skip{{Path: "d", Reason: "symlink"}}) || !got.SkipsKnown || !got.Full || !got.Missing {
		t.Errorf("got %+v", got)
	}
}

// The built-in sample is that of the checkout: no file is left out for its name, and the bytes are the same.
func TestSampleIsComplete(t *testing.T) {
	roots, remove, err := writeSample()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Dir(roots[0].Path)); !os.IsNotExist(err) {
			t.Errorf("the sample is still there: %v", err)
		}
	}()
	for _, r := range roots {
		source := filepath.Join("..", "..", "testdata", "memory", string(r.Scope))
		files := 0
		err := filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			files++
			rel, err := filepath.Rel(source, path)
			if err != nil {
				return err
			}
			want, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			got, err := os.ReadFile(filepath.Join(r.Path, rel))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s differs, %v", rel, err)
			}
			return nil
		})
		if err != nil || files == 0 {
			t.Errorf("%s: %d files, %v", source, files, err)
		}
	}
}
