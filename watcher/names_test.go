package watcher_test

import (
	"testing"

	"github.com/memls/memls/watcher"
)

func TestJudgeName(t *testing.T) {
	const file, dir = false, true
	for _, c := range []struct {
		name string
		dir  bool
		want watcher.Verdict
	}{
		{"a.md", file, watcher.Keep},
		{".a.md", file, watcher.Ignore},
		{".git", dir, watcher.Ignore},
		{".git", file, watcher.Ignore}, // a linked worktree
		{".a.md.swp", file, watcher.Ignore},
		{".#a.md", file, watcher.Ignore},
		{"a.md~", file, watcher.Ignore},
		{"4913", file, watcher.Ignore},
		{"4913", dir, watcher.Keep},
		{"4913.md", file, watcher.Keep},
		{"a.md.swp", file, watcher.Ignore},
		{"a.swo", file, watcher.Ignore},
		{"swallow.md", file, watcher.Keep},
		{"a.md.tmp", file, watcher.Ignore},
		{"a.tmp.md", file, watcher.Ignore},
		{"a.md.tmp.4711", file, watcher.Ignore},
		{"a.tmp-x1.md", file, watcher.Ignore},
		{"a.tmp1234.md", file, watcher.Ignore},
		{"email.tmpl.md", file, watcher.Keep},
		{"a.tmpl.tmp", file, watcher.Ignore},
		{"a.tmpß.md", file, watcher.Keep},
		{"notes.tmp", dir, watcher.Keep},
		{"tmp.md", file, watcher.Keep},
		{"#a.md#", file, watcher.Ignore},
		{"#1.md", file, watcher.Keep},
		{"##", file, watcher.Keep},
		{"~a.md", file, watcher.Keep},
		{"日記.md", file, watcher.Keep},
	} {
		if got := watcher.JudgeName(c.name, c.dir); got != c.want {
			t.Errorf("JudgeName(%q, %v) = %v, want %v", c.name, c.dir, got, c.want)
		}
	}
}
