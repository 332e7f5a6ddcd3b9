package lsp_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
)

// The acts of this file change files: by renames and by code actions, as the
// server proposes it. They show what changes, and do it.

func (e *editor) editingActs() map[string]act {
	return map[string]act{
		"prepare": {2, e.prepares}, "rename": {3, e.renames}, "willrename": {2, e.willRename},
		"actions": {2, e.listsActions}, "do": {1, e.does},
	}
}

// prepare FILE PLACE shows what would be renamed.
func (e *editor) prepares(args []string) error {
	params, err := e.at(args[0], args[1])
	if err != nil {
		return err
	}
	var r map[string]any
	if ok, err := e.asked("textDocument/prepareRename", params, &r); !ok {
		return err
	}
	e.say("  %s, now %v", e.shown(args[0], r["range"]), r["placeholder"])
	return nil
}

// rename FILE PLACE NAME shows what the edit changes, and does it.
func (e *editor) renames(args []string) error {
	params, err := e.at(args[0], args[1])
	if err != nil {
		return err
	}
	params["newName"] = args[2]
	var edit any
	if ok, err := e.asked("textDocument/rename", params, &edit); !ok {
		return err
	}
	return e.follow(edit)
}

// willrename OLD NEW [OLD NEW…] shows what goes with a rename of files or folders,
// and does both.
func (e *editor) willRename(args []string) error {
	files := []map[string]string{}
	for pair := range slices.Chunk(args, 2) {
		files = append(files, map[string]string{"oldUri": e.uri(pair[0]), "newUri": e.uri(pair[1])})
	}
	var edit any
	ok, err := e.asked("workspace/willRenameFiles", map[string]any{"files": files}, &edit)
	if err != nil {
		return err
	}
	if ok {
		if err := e.follow(edit); err != nil {
			return err
		}
	}
	for pair := range slices.Chunk(args, 2) {
		if err := os.MkdirAll(filepath.Dir(e.store.path(pair[1])), 0o755); err != nil {
			return err
		}
		if err := os.Rename(e.store.path(pair[0]), e.store.path(pair[1])); err != nil {
			return err
		}
	}
	return e.caughtUp()
}

// actions FILE PLACE [KIND…] lists what can be done at a place, with the
// diagnostics that the editor has of the file.
func (e *editor) listsActions(args []string) error {
	at, err := e.cursor(args[0], args[1])
	if err != nil {
		return err
	}
	context := map[string]any{"diagnostics": e.desk.pulled(e.store.path(args[0]))}
	if len(args) > 2 {
		context["only"] = args[2:]
	}
	params := e.params(args[0])
	params["range"], params["context"] = lsptest.Range{Start: at, End: at}, context
	e.actions = nil
	return e.listed("textDocument/codeAction", params, func(a map[string]any) string {
		e.actions = append(e.actions, a)
		line := fmt.Sprintf("  %v: %v", a["kind"], a["title"])
		if a["diagnostics"] != nil {
			for _, d := range as[[]map[string]any](e, a["diagnostics"]) {
				line += fmt.Sprintf(", mends %v", d["code"])
			}
		}
		if a["isPreferred"] == true {
			line += ", preferred"
		}
		return line
	})
}

// do TITLE does what an action does.
func (e *editor) does(args []string) error {
	i := slices.IndexFunc(e.actions, func(a map[string]any) bool { return a["title"] == args[0] })
	if i < 0 {
		return fmt.Errorf("no action %q", args[0])
	}
	a := e.actions[i]
	if a["edit"] == nil {
		if ok, err := e.asked("codeAction/resolve", a, &a); !ok {
			return err
		}
	}
	return e.follow(a["edit"])
}

// follow does what an edit says, shows the lines that change, and waits until the
// server has seen it.
func (e *editor) follow(edit any) error {
	before, err := e.texts()
	if err != nil {
		return err
	}
	shape := as[struct {
		ChangeAnnotations map[string]struct {
			Label             string `json:"label"`
			NeedsConfirmation bool   `json:"needsConfirmation"`
		} `json:"changeAnnotations"`
		DocumentChanges []struct {
			Kind         string `json:"kind"`
			OldURI       string `json:"oldUri"`
			NewURI       string `json:"newUri"`
			URI          string `json:"uri"`
			AnnotationID string `json:"annotationId"`
			TextDocument struct {
				URI     string `json:"uri"`
				Version *int   `json:"version"`
			} `json:"textDocument"`
			Edits []struct {
				AnnotationID string `json:"annotationId"`
			} `json:"edits"`
		} `json:"documentChanges"`
	}](e, edit)
	for _, note := range shape.ChangeAnnotations {
		confirm := ""
		if note.NeedsConfirmation {
			confirm = ", asks first"
		}
		e.say("  “%s”%s", note.Label, confirm)
	}
	noted := func(id string) {
		if (id == "") != (len(shape.ChangeAnnotations) == 0) || id != "" && shape.ChangeAnnotations[id].Label == "" {
			e.t.Errorf("the annotation %q of %v", id, edit)
		}
	}
	for _, c := range shape.DocumentChanges {
		switch c.Kind {
		case "":
			if _, open := e.open[e.name(c.TextDocument.URI)]; open != (c.TextDocument.Version != nil) {
				e.t.Errorf("%s is open: %v, its version %v", c.TextDocument.URI, open, c.TextDocument.Version)
			}
			for _, x := range c.Edits {
				noted(x.AnnotationID)
			}
		case "rename":
			noted(c.AnnotationID)
			e.say("  rename %s to %s", e.name(c.OldURI), e.name(c.NewURI))
		default:
			noted(c.AnnotationID)
			e.say("  %s %s", c.Kind, e.name(c.URI))
			if _, err := os.Stat(e.store.path(e.name(c.URI))); !errors.Is(err, fs.ErrNotExist) {
				e.t.Errorf("%s is there already", c.URI)
			}
		}
	}
	e.last = edit
	if err := e.applies(nil); err != nil {
		return err
	}
	if err := e.caughtUp(); err != nil {
		return err
	}
	after, err := e.texts()
	if err != nil {
		return err
	}
	for _, c := range shape.DocumentChanges {
		if c.Kind == "rename" {
			before[e.name(c.NewURI)] = before[e.name(c.OldURI)]
			delete(before, e.name(c.OldURI))
		}
	}
	for _, file := range slices.Sorted(maps.Keys(after)) {
		if after[file] != before[file] {
			e.say("  %s", file)
			e.difference(before[file], after[file])
		}
	}
	return nil
}

// texts are all files, as the editor has them.
func (e *editor) texts() (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(e.store.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(e.store.dir, path)
		if err != nil {
			return err
		}
		text, err := e.text(filepath.ToSlash(rel))
		out[filepath.ToSlash(rel)] = text.S
		return err
	})
	return out, err
}

// difference shows the lines that are not in both texts.
func (e *editor) difference(a, b string) {
	old, now := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		old, now = old[1:], now[1:]
	}
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	show := func(mark string, lines []string) {
		for _, line := range lines {
			if line != "" {
				e.say("  %s %s", mark, strings.TrimSuffix(strings.ReplaceAll(line, "\r", "␍"), "\n"))
			}
		}
	}
	show("-", old)
	show("+", now)
}

// caughtUp waits until the server knows all memories as they are on disk.
func (e *editor) caughtUp() error {
	want := map[string]string{}
	for _, root := range e.roots {
		err := filepath.WalkDir(root.Path, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || entry.Name() == "MEMORY.md" {
				return err
			}
			raw, err := os.ReadFile(path)
			sum := sha256.Sum256(raw)
			want[path] = "sha256:" + hex.EncodeToString(sum[:])
			return err
		})
		if err != nil {
			return err
		}
	}
	e.desk.until("the files as they are", func(l lsp.ListResult) bool {
		got := map[string]string{}
		for _, d := range l.Documents {
			got[e.store.path(e.name(d.URI))] = d.Version
		}
		return maps.Equal(got, want)
	})
	return nil
}
