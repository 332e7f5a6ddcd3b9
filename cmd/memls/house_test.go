package main_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The tests of this file hold the shape of the house that ARCHITECTURE.md draws: which package may know which, which one alone
// may know a library, what may stand at the top level, and which versions are pinned.

const (
	module   = "github.com/memls/memls"
	lspDev   = "go.lsp.dev/"
	fsnotify = "github.com/fsnotify/fsnotify"
	openAI   = "github.com/sashabaranov/go-openai"
)

// mayKnow lists for each room the other rooms that it may import. A sub-package belongs to the room that it lies in.
var mayKnow = map[string][]string{
	"cmd/memls": {"lsp", "recall", "memory", "watcher", "testdata"},
	"lsp":       {"recall", "memory"},
	"recall":    {"memory"},
	"memory":    {},
	"watcher":   {},
	"testdata":  {}, // carries the sample memory into the binary
}

// soleUser names for each library the one package, or tree of packages, that may import it.
var soleUser = map[string]string{
	lspDev:   "lsp",
	fsnotify: "watcher",
	openAI:   "recall/model",
}

// mustNotReach lists what must not be among the dependencies of a package's tree, however indirectly.
var mustNotReach = map[string][]string{
	"memory":  {lspDev, fsnotify, openAI},
	"recall":  {lspDev, fsnotify},
	"watcher": {lspDev, openAI},
}

type goPackage struct {
	ImportPath string
	Dir        string
	Imports    []string
	Deps       []string
	GoFiles    []string
}

// rel is the path under the module, and whether the package is ours at all.
func rel(importPath string) (string, bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// room answers which room of the house a package of ours lies in.
func room(path string) (string, bool) {
	for name := range mayKnow {
		if under(path, name) {
			return name, true
		}
	}
	return "", false
}

func under(path, tree string) bool { return path == tree || strings.HasPrefix(path, tree+"/") }

func matches(importPath, library string) bool {
	return under(importPath, strings.TrimSuffix(library, "/"))
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// packages lists our packages as they are built for an operating system.
func packages(t *testing.T, goos string) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Dir,Imports,Deps,GoFiles", "./...")
	cmd.Dir = root(t)
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list for %s: %v\n%s", goos, err, stderr.String())
	}
	var ours []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, mine := rel(p.ImportPath); mine {
			ours = append(ours, p)
		}
	}
	touch(t, ours)
	return ours
}

// touch looks at every listed folder and file, so that the test cache, which cannot see what `go list` reads, knows that this
// test depends on them.
func touch(t *testing.T, ours []goPackage) {
	t.Helper()
	for _, p := range ours {
		if _, err := os.ReadDir(p.Dir); err != nil {
			t.Fatal(err)
		}
		for _, name := range p.GoFiles {
			if _, err := os.ReadFile(filepath.Join(p.Dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestDependencyDirections(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		t.Run(goos, func(t *testing.T) {
			ours := packages(t, goos)
			if len(ours) == 0 {
				t.Fatal("no packages")
			}
			for _, p := range ours {
				path, _ := rel(p.ImportPath)
				home, known := room(path)
				if !known {
					t.Errorf("%s lies in no room; sub-packages stand under their owner", path)
					continue
				}
				checkImports(t, path, home, p.Imports)
				checkReach(t, path, p.Deps)
			}
		})
	}
}

func checkImports(t *testing.T, path, home string, imports []string) {
	t.Helper()
	for _, imported := range imports {
		if other, mine := rel(imported); mine {
			if there, known := room(other); known && there != home && !slices.Contains(mayKnow[home], there) {
				t.Errorf("%s imports %s; %s may import of ours only %v", path, other, home, mayKnow[home])
			}
		}
		for library, user := range soleUser {
			if matches(imported, library) && !under(path, user) {
				t.Errorf("%s imports %s, which only %s may", path, imported, user)
			}
		}
	}
}

func checkReach(t *testing.T, path string, deps []string) {
	t.Helper()
	for tree, libraries := range mustNotReach {
		if !under(path, tree) {
			continue
		}
		for _, dep := range deps {
			for _, library := range libraries {
				if matches(dep, library) {
					t.Errorf("%s depends on %s", path, dep)
				}
			}
		}
	}
}

// The evaluation judges the ranker; nothing that ships to an editor may need it.
func TestOnlyTheCommandLineEvaluates(t *testing.T) {
	for _, p := range packages(t, "linux") {
		path, _ := rel(p.ImportPath)
		if slices.Contains(p.Deps, module+"/recall/eval") && !under(path, "cmd/memls") && !under(path, "recall/eval") {
			t.Errorf("%s depends on recall/eval", path)
		}
	}
}

func TestTopLevel(t *testing.T) {
	allowed := map[string][]string{
		".": {
			"go.mod", "go.sum", "cmd", "lsp", "memory", "recall", "watcher", "editors", "testdata", "docs",
			"README.md", "ARCHITECTURE.md", "CHANGELOG.md", "LICENSE", "Makefile", ".ci",
			".editorconfig", ".gitattributes", ".gitignore", ".golangci.yml",
		},
		"cmd":     {"memls"},
		"editors": {"vscode", "neovim"},
	}
	// What builds, tools and operating systems leave behind, as in .gitignore, and what belongs to one person's checkout.
	litter := []string{".git", ".DS_Store", ".idea", ".vscode", "bin", "dist", "node_modules", "*.test", "*.prof", "*.out"}
	for dir, names := range allowed {
		entries, err := os.ReadDir(filepath.Join(root(t), dir))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			left := slices.ContainsFunc(litter, func(pattern string) bool {
				ok, err := filepath.Match(pattern, e.Name())
				return err == nil && ok
			})
			if !left && !slices.Contains(names, e.Name()) {
				t.Errorf("%s does not belong into %s", e.Name(), dir)
			}
		}
	}
}

// `go get …@latest` answers older versions of these modules, which do not build together: they are pinned by name.
func TestPinnedVersions(t *testing.T) {
	want := map[string]string{
		"go.lsp.dev/protocol": "v1.0.1",
		"go.lsp.dev/jsonrpc2": "v1.0.1",
		"go.lsp.dev/uri":      "v1.0.1",
		fsnotify:              "v1.10.1",
		openAI:                "v1.43.0",
	}
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Require []struct{ Path, Version string }
		Replace []struct{ Old, New struct{ Path string } }
	}
	if err := json.Unmarshal(out, &file); err != nil {
		t.Fatal(err)
	}
	for _, r := range file.Require {
		if v, pinned := want[r.Path]; pinned && r.Version != v {
			t.Errorf("%s is required at %s, pinned at %s", r.Path, r.Version, v)
		}
		if strings.HasPrefix(r.Path, lspDev) && want[r.Path] == "" {
			t.Errorf("%s has no pin in this test", r.Path)
		}
		delete(want, r.Path)
	}
	for path := range want {
		t.Errorf("%s is not required by go.mod", path)
	}
	if len(file.Replace) > 0 {
		t.Errorf("go.mod replaces modules, which `go install` refuses: %v", file.Replace)
	}
	if _, err := os.ReadFile(filepath.Join(root(t), "go.mod")); err != nil { // for the test cache, see touch
		t.Fatal(err)
	}
}
