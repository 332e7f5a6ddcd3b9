package memory_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memls/memls/memory"
)

func TestLocateFindsTheInnermostRoot(t *testing.T) {
	dir := t.TempDir()
	at := func(elem ...string) string { return filepath.Join(append([]string{dir}, elem...)...) }
	for _, sub := range []string{"outer/inner", "outer/closed", "real"} {
		if err := os.MkdirAll(at(filepath.FromSlash(sub)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(at("real"), at("link")); err != nil {
		t.Fatal(err)
	}
	c, err := memory.NewCatalog(memory.CatalogOptions{
		Roots: []memory.RootConfig{
			{Scope: memory.ScopeProject, Path: at("outer")}, {Scope: memory.ScopeTeam, Path: at("outer", "inner")},
			{Scope: memory.ScopeUser, Path: at("link")}, {Scope: memory.ScopeTeam, Path: at("outer", "closed"), Untrusted: true},
			{Scope: memory.ScopeUser, Path: at("later")},
		},
		Watch: func(string, func(string, bool) bool, func(memory.FileChange)) memory.Watcher { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	later := c.Snapshot().Roots()[4].Root.Prefix
	for path, want := range map[string]string{
		at("outer", "a.md"): "project:a.md", at("outer", "x y", "ü.MD"): "project:x%20y/%C3%BC.MD", at("outer", "inner", "a.md"): "team:a.md",
		at("outer", "MEMORY.md"): "index project:MEMORY.md", at("outer", "sub", "MEMORY.md"): "index project:sub/MEMORY.md",
		at("real", "a.md"): "user:a.md", at("link", "a.md"): "user:a.md", at("later", "new.md"): later + ":new.md",
		at("outer", "closed", "a.md"): "", at("outer"): "", at("outer", "a.txt"): "", at("outer", ".git", "a.md"): "",
		at("outer", "a.tmp.md"): "", at("elsewhere.md"): "", at("outerly", "a.md"): "", "": "", "a.md": "",
	} {
		got := ""
		if p, ok := c.Snapshot().Locate(path); ok {
			got = p.Ref()
			if p.Index {
				got = "index " + got
			}
			if !strings.HasSuffix(p.Path(), filepath.FromSlash(p.Rel)) || !p.Same(p) {
				t.Errorf("%s: %+v", path, p)
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// What is read by its place is read as the catalog reads: never through a link.
func TestSEC_01_ReadTextFollowsNoLink(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "a.md"), "\xff\xfea\x00\r\x00\n\x00")
	write(filepath.Join(outside, "secret.md"), "secret")
	for link, to := range map[string]string{"sub": outside, "s.md": filepath.Join(outside, "secret.md")} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	root := &memory.Root{Path: dir, Real: dir}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		root.Real = real
	}
	if got, err := memory.ReadText(memory.Place{Root: root, Rel: "a.md"}, nil); err != nil || got != "a\r\n" {
		t.Errorf("%q, %v", got, err)
	}
	for _, rel := range []string{"s.md", "sub/secret.md", "../" + filepath.Base(outside) + "/secret.md", "none.md"} {
		if got, err := memory.ReadText(memory.Place{Root: root, Rel: rel}, nil); err == nil {
			t.Errorf("%s: read %q", rel, got)
		}
	}
}
