package main_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The tests of this file keep the documents from naming what is not there.

var documents = []string{
	"README.md", "ARCHITECTURE.md", "CHANGELOG.md", "docs/changes.md", "docs/clients.md", "docs/discovery.md", "docs/dream.md", "docs/exit-codes.md",
	"docs/extract.md", "docs/hosts.md",
	"docs/language-server.md", "docs/memory-files.md", "docs/memory-index.md", "docs/models.md", "docs/performance.md", "docs/protocol.md",
	"docs/retrieval.md", "docs/writing.md",
	"editors/neovim/README.md", "editors/vscode/README.md", "editors/vscode/docs/api.md", "editors/vscode/CHANGELOG.md",
	"testdata/memory/README.md", "testdata/eval/core/README.md",
}

func readDocument(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// testNames are all tests and fuzzers of the module.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	names := map[string]bool{}
	err := filepath.WalkDir(root(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		raw, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(raw, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestDocumentsNameTestsThatExist(t *testing.T) {
	known := testNames(t)
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	for _, doc := range documents {
		for _, m := range named.FindAllStringSubmatch(readDocument(t, doc), -1) {
			// The sample memory speaks of tests of its own.
			if !known[m[1]] && !strings.HasPrefix(doc, "testdata/") {
				t.Errorf("%s names %s, and there is no such test", doc, m[1])
			}
		}
	}
}

func TestLinksOfDocumentsLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading := regexp.MustCompile(`(?m)^#+ (.+)$`)
	dropped := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	anchors := func(doc string) map[string]bool {
		found := map[string]bool{}
		for _, m := range heading.FindAllStringSubmatch(readDocument(t, doc), -1) {
			found[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
		}
		return found
	}
	for _, doc := range documents {
		for _, m := range link.FindAllStringSubmatch(readDocument(t, doc), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := doc
			if target != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(doc), target))
			}
			if _, err := os.Stat(filepath.Join(root(t), filepath.FromSlash(to))); err != nil {
				t.Errorf("%s links to %s: %v", doc, m[1], err)
				continue
			}
			if anchor != "" && !anchors(to)[anchor] {
				t.Errorf("%s links to %s, and there is no such heading", doc, m[1])
			}
		}
	}
}

// A heading, and a row of a table that says where things are, is found once: who
// adds to one of two has told half of the readers.
func TestArchitectureSaysThingsOnce(t *testing.T) {
	seen := map[string]bool{}
	for line := range strings.Lines(readDocument(t, "ARCHITECTURE.md")) {
		var what string
		switch {
		case strings.HasPrefix(line, "#"), strings.HasPrefix(line, "- **Inv:**"):
			what = strings.TrimSpace(line)
		case strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| where"):
			what, _, _ = strings.Cut(line[2:], " |")
		default:
			continue
		}
		if seen[what] {
			t.Errorf("it says %q twice", what)
		}
		seen[what] = true
	}
}
