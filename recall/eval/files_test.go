package eval_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/recall/eval"
)

func TestMarkdown(t *testing.T) {
	tests := []struct {
		name string
		doc  eval.Doc
		want string
	}{
		{
			"all fields",
			eval.Doc{
				ID: "x", Title: "Deploys: #1", Description: "How", Type: "project", Body: "Text.\n", Keywords: []string{"c++", "42"},
				Status: "superseded", UpdatedAt: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC),
			},
			"---\nname: 'Deploys: #1'\ndescription: How\ntype: project\nkeywords:\n    - c++\n    - \"42\"\nstatus: superseded\nupdated_at: \"2026-05-04T03:02:01Z\"\n---\n\nText.\n",
		},
		{"no fields, no frontmatter", eval.Doc{ID: "x", Body: "Text"}, "Text\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.doc.Markdown()
			if err != nil || string(got) != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestWriteMemory(t *testing.T) {
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	set := &eval.Set{Name: "s", Docs: []eval.Doc{
		{ID: "plain", Body: "x", UpdatedAt: at},
		{ID: "Plain", Body: "differs by case only"},
		{ID: "MEMORY", Body: "not the index"},
		{ID: "../../escape", Body: "stays inside"},
		{ID: ".hidden", Body: "not hidden"},
		{ID: "nul.txt", Body: "no device"},
		{ID: "///", Body: "nothing left of the id"},
		{ID: "поезд 7", Body: "own script"},
		{ID: "conv/1", Body: "scoped", Scope: "conv-26"},
		{ID: strings.Repeat("ก", 90), Body: "long"},
	}}
	want := map[string]string{
		"plain": "plain.md", "Plain": "Plain-2.md", "MEMORY": "doc-MEMORY.md", "../../escape": "escape.md", ".hidden": "hidden.md",
		"nul.txt": "doc-nul.txt.md", "///": "doc-.md", "поезд 7": "поезд-7.md", "conv/1": "conv-26/conv-1.md",
		strings.Repeat("ก", 90): strings.Repeat("ก", 33) + ".md",
	}
	dir := filepath.Join(t.TempDir(), "memory")
	got, err := set.WriteMemory(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range set.Docs {
		d := &set.Docs[i]
		if got[d.ID] != want[d.ID] {
			t.Errorf("%q stands in %q, want %q", d.ID, got[d.ID], want[d.ID])
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(got[d.ID]))
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), d.Body) {
			t.Errorf("%s: %q, %v", path, text, err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if d.ID == "plain" && !info.ModTime().Equal(at) {
			t.Errorf("modification time %v, want %v", info.ModTime(), at)
		}
	}
	if _, err := set.WriteMemory(dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("written over what was there: %v", err)
	}
}
