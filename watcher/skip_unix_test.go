//go:build unix

package watcher_test

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/memls/memls/watcher"
)

func TestSCAN_02_IneligibleEntries(t *testing.T) {
	root := newRoot(t)
	want := map[string]string{}
	for i := range 10 {
		name := fmt.Sprintf("good%d.md", i)
		write(t, name, root, name)
		want[name] = name
	}
	must(t, os.Symlink("/nope", filepath.Join(root, "x.md")))
	must(t, syscall.Mkfifo(filepath.Join(root, "p.md"), 0o644))
	must(t, syscall.Mkfifo(filepath.Join(root, "unwanted-pipe"), 0o644))
	t.Chdir(root) // the path of a socket is short
	l, err := net.Listen("unix", "s.md")
	must(t, err)
	defer l.Close()
	// What a mode forbids is for the reader to find: no file is opened here.
	must(t, os.Chmod(write(t, "shut", root, "mode000.md"), 0))

	w, m := settled(t, root, watcher.Options{Sweep: never, Keep: func(rel string, dir bool) bool {
		return markdown(rel, dir) && rel != "unwanted-pipe"
	}})
	got := m.contents()
	delete(got, "mode000.md") // readable for root only
	if !maps.Equal(got, want) {
		t.Errorf("contents %v", got)
	}
	if m.ever["mode000.md"] == 0 || w.Status().Files != 11 {
		t.Errorf("mode000.md not delivered; status %+v", w.Status())
	}
	wantSkips := map[string]string{"x.md": "symlink", "p.md": "not a regular file (fifo)", "s.md": "not a regular file (socket)"}
	if got := reasons(m.last()); !maps.Equal(got, wantSkips) {
		t.Errorf("skipped %v, want %v", got, wantSkips)
	}

	t.Log("a skip that goes is taken back, and one that comes is told, without a sweep")
	must(t, os.Remove(filepath.Join(root, "p.md")))
	must(t, syscall.Mkfifo(filepath.Join(root, "q.md"), 0o644))
	m.await(t, "q.md instead of p.md", func() bool {
		r := reasons(m.last())
		return r["p.md"] == "" && r["q.md"] == "not a regular file (fifo)"
	})
	must(t, os.Remove(filepath.Join(root, "q.md")))
	write(t, "now a file", root, "q.md")
	m.await(t, "q.md as a file", func() bool { return reasons(m.last())["q.md"] == "" && m.contents()["q.md"] == "now a file" })
}
