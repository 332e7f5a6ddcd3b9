package memory_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// literals are the texts of a declaration at the top of a file of the package:
// the keys of a map, or the values of the constants whose names have a prefix.
func literals(t *testing.T, file, name string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	add := func(e ast.Expr) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			s, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, s)
		}
	}
	for _, d := range f.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range decl.Specs {
			spec, ok := s.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(spec.Names[0].Name, name) || len(spec.Values) == 0 {
				continue
			}
			if m, ok := spec.Values[0].(*ast.CompositeLit); ok {
				for _, e := range m.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						add(kv.Key)
					}
				}
				continue
			}
			add(spec.Values[0])
		}
	}
	return out
}

// The document of memory files describes every key that is read and every
// problem that is reported, and no other.
func TestDocumentOfFilesIsComplete(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "docs", "memory-files.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "## The header")
	header, rest, _ := strings.Cut(rest, "## The body")
	_, problems, _ := strings.Cut(rest, "## Problems")
	for _, table := range []struct {
		name, text string
		want       []string
	}{
		{"keys", header, literals(t, "frontmatter.go", "knownKeys")},
		{"problems", problems, literals(t, "document.go", "Problem")},
	} {
		if len(table.want) < 10 {
			t.Fatalf("%s: only %q in the code", table.name, table.want)
		}
		left := map[string]bool{}
		for _, w := range table.want {
			left[strings.ToLower(w)] = true
		}
		for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+) \\|").FindAllStringSubmatch(table.text, -1) {
			for _, code := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
				key := strings.ToLower(code[1])
				if !left[key] {
					t.Errorf("%s: %s stands in the document and not in the code, or twice", table.name, code[1])
				}
				delete(left, key)
			}
		}
		for key := range left {
			t.Errorf("%s: %s is not described", table.name, key)
		}
	}
}
