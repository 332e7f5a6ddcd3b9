package lsp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/memls/memls/lsp/internal/lsptest"
)

// The acts of this file ask what a language feature has to say about a file or a
// place in it, and show the answer in words. A PLACE is a text that stands once in
// the file, with ‸ for the cursor.

func (e *editor) readingActs() map[string]act {
	return map[string]act{
		"complete": {2, e.completes}, "resolve": {1, e.resolves}, "choose": {1, e.chooses},
		"hover": {2, e.hovers}, "definition": {2, e.definitions}, "references": {2, e.references},
		"links": {1, e.links}, "symbols": {1, e.symbols}, "find": {1, e.finds},
		"folds": {1, e.folds}, "select": {2, e.selects}, "lenses": {1, e.lenses},
	}
}

// clocks TIME DAYS sets the time at which a script plays, and how old the files
// are then.
func (e *editor) clocks(args []string) error {
	now, err := time.Parse(time.RFC3339, args[0])
	if err != nil {
		return err
	}
	days, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	e.now = now
	old := now.AddDate(0, 0, -days)
	return filepath.WalkDir(e.store.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return os.Chtimes(path, old, old)
	})
}

// able declares all that the language features make use of.
func (e *editor) able([]string) error {
	for path, value := range map[string]string{
		"textDocument.completion":     `{"completionItem": {"documentationFormat": ["markdown"], "labelDetailsSupport": true}}`,
		"textDocument.hover":          `{"contentFormat": ["markdown", "plaintext"]}`,
		"textDocument.definition":     `{"linkSupport": true}`,
		"textDocument.documentSymbol": `{"hierarchicalDocumentSymbolSupport": true}`,
		"textDocument.codeAction":     `{"codeActionLiteralSupport": {}, "dataSupport": true, "resolveSupport": {"properties": ["edit"]}}`,
		"textDocument.rename":         `{"prepareSupport": true}`,
		"window.showDocument":         `{"support": true}`,
		"workspace.workspaceEdit":     `{"documentChanges": true, "resourceOperations": ["create", "rename", "delete"], "changeAnnotationSupport": {}}`,
	} {
		if err := e.capability([]string{path, value}); err != nil {
			return err
		}
	}
	return nil
}

func (e *editor) say(format string, args ...any) { fmt.Fprintf(&e.out, format+"\n", args...) }

// shown are the lines of an answer that may be empty.
func (e *editor) shownLines(lines []string) {
	if len(lines) == 0 {
		lines = []string{"  nothing"}
	}
	for _, line := range lines {
		e.say("%s", line)
	}
}

// cursor is the position of ‸ in a text that stands once in a file.
func (e *editor) cursor(file, place string) (lsptest.Position, error) {
	text, err := e.text(file)
	if err != nil {
		return lsptest.Position{}, err
	}
	before, after, ok := strings.Cut(place, "‸")
	if n := strings.Count(text.S, before+after); !ok || n != 1 {
		return lsptest.Position{}, fmt.Errorf("%q stands %d times in %s", place, n, file)
	}
	return text.Position(strings.Index(text.S, before+after) + len(before)), nil
}

// at are the params of a request about a place.
func (e *editor) at(file, place string) (map[string]any, error) {
	at, err := e.cursor(file, place)
	return map[string]any{"textDocument": map[string]string{"uri": e.uri(file)}, "position": at}, err
}

func (e *editor) params(file string) map[string]any {
	return map[string]any{"textDocument": map[string]string{"uri": e.uri(file)}}
}

// asked calls and tells whether there is an answer other than null or an error,
// which are shown.
func (e *editor) asked(method string, params, result any) (bool, error) {
	var raw json.RawMessage
	err := e.desk.client.Call(e.t.Context(), method, params, &raw)
	var refused *lsptest.Error
	switch {
	case errors.As(err, &refused):
		e.say("  refused: %s", refused.Message)
		return false, nil
	case err != nil:
		return false, err
	case string(raw) == "null":
		e.say("null")
		return false, nil
	}
	return true, json.Unmarshal(raw, result)
}

// name is the file of a URI.
func (e *editor) name(uri any) string {
	if name, ok := e.file(uri); ok {
		return name
	}
	return fmt.Sprint("ELSEWHERE ", uri)
}

// shown is a range of a file in words.
func (e *editor) shown(file string, v any) string {
	var r lsptest.Range
	text, err := e.text(file)
	if err == nil {
		err = reread(v, &r)
	}
	if err != nil {
		return err.Error()
	}
	return text.Show(r)
}

// as decodes a part of an answer.
func as[T any](e *editor, v any) (out T) {
	if err := reread(v, &out); err != nil {
		e.t.Errorf("%T from %v: %v", out, v, err)
	}
	return out
}

// complete FILE PLACE lists the items, with what stands beside the label.
func (e *editor) completes(args []string) error {
	params, err := e.at(args[0], args[1])
	if err != nil {
		return err
	}
	var list struct {
		Incomplete bool             `json:"isIncomplete"`
		Items      []map[string]any `json:"items"`
	}
	e.items, e.about = nil, args[0]
	if ok, err := e.asked("textDocument/completion", params, &list); !ok {
		return err
	}
	e.items = list.Items
	const most = 12
	var lines []string
	for _, item := range list.Items[:min(most, len(list.Items))] {
		beside := item["detail"]
		if m, ok := item["labelDetails"].(map[string]any); ok {
			beside = m["description"]
		}
		line := fmt.Sprint("  ", item["label"])
		if beside != nil {
			line += fmt.Sprintf(" (%v)", beside)
		}
		lines = append(lines, line)
	}
	if n := len(list.Items); n > most {
		lines = append(lines, fmt.Sprintf("  … %d items", n))
	}
	if list.Incomplete {
		lines = append(lines, "  and more")
	}
	e.shownLines(lines)
	return nil
}

func (e *editor) item(label string) (map[string]any, error) {
	for _, item := range e.items {
		if item["label"] == label {
			return item, nil
		}
	}
	return nil, fmt.Errorf("no item %q", label)
}

// resolve LABEL shows the documentation of an item of the last completion.
func (e *editor) resolves(args []string) error {
	item, err := e.item(args[0])
	if err != nil {
		return err
	}
	var full map[string]any
	if ok, err := e.asked("completionItem/resolve", item, &full); !ok {
		return err
	}
	for key, v := range item {
		if fmt.Sprint(full[key]) != fmt.Sprint(v) {
			return fmt.Errorf("%s came back as %v", key, full[key])
		}
	}
	e.markup(full["documentation"])
	return nil
}

// choose LABEL applies an item to its open file and shows the line.
func (e *editor) chooses(args []string) error {
	item, err := e.item(args[0])
	if err != nil {
		return err
	}
	edit := as[textEdit](e, item["textEdit"])
	text, err := e.text(e.about)
	if err != nil {
		return err
	}
	from, err := text.Offset(edit.Range.Start)
	if err != nil {
		return err
	}
	if err := e.applyText(e.about, []textEdit{edit}); err != nil {
		return err
	}
	now := e.open[e.about]
	line, _, _ := strings.Cut(now[strings.LastIndex(now[:from], "\n")+1:], "\n")
	e.say("  %s", line)
	return nil
}

func (e *editor) markup(v any) {
	m, ok := v.(map[string]any)
	if !ok {
		e.say("  %v", v)
		return
	}
	e.say("  %v:", m["kind"])
	for line := range strings.Lines(fmt.Sprint(m["value"])) {
		e.say("  | %s", strings.TrimRight(line, "\n"))
	}
}

// hover FILE PLACE shows what the hover says, and of what.
func (e *editor) hovers(args []string) error {
	params, err := e.at(args[0], args[1])
	if err != nil {
		return err
	}
	var h map[string]any
	if ok, err := e.asked("textDocument/hover", params, &h); !ok {
		return err
	}
	e.say("  %s", e.shown(args[0], h["range"]))
	e.markup(h["contents"])
	return nil
}

// definition FILE PLACE shows where a link leads.
func (e *editor) definitions(args []string) error {
	params, err := e.at(args[0], args[1])
	if err != nil {
		return err
	}
	var answer any
	if ok, err := e.asked("textDocument/definition", params, &answer); !ok {
		return err
	}
	if l, ok := answer.(map[string]any); ok {
		e.say("%s", e.location(l))
		return nil
	}
	for _, l := range as[[]map[string]any](e, answer) {
		to := e.name(l["targetUri"])
		e.say("  from %s", e.shown(args[0], l["originSelectionRange"]))
		e.say("  to %s %s", to, e.shown(to, l["targetSelectionRange"]))
		e.say("  in %s", e.shown(to, l["targetRange"]))
	}
	return nil
}

func (e *editor) location(l map[string]any) string {
	name := e.name(l["uri"])
	return "  " + name + " " + e.shown(name, l["range"])
}

// listed asks for a list and shows each item.
func (e *editor) listed(method string, params any, show func(map[string]any) string) error {
	var list []map[string]any
	ok, err := e.asked(method, params, &list)
	if !ok {
		return err
	}
	var lines []string
	for _, item := range list {
		lines = append(lines, show(item))
	}
	e.shownLines(lines)
	return nil
}

// references FILE PLACE [declaration] lists the links to a memory.
func (e *editor) references(args []string) error {
	params, err := e.at(args[0], args[1])
	if err != nil {
		return err
	}
	params["context"] = map[string]bool{"includeDeclaration": len(args) > 2}
	return e.listed("textDocument/references", params, e.location)
}

// links FILE lists the document links.
func (e *editor) links(args []string) error {
	return e.listed("textDocument/documentLink", e.params(args[0]), func(l map[string]any) string {
		return fmt.Sprintf("  %s -> %s (%v)", e.shown(args[0], l["range"]), e.name(l["target"]), l["tooltip"])
	})
}

// symbols FILE shows the outline.
func (e *editor) symbols(args []string) error {
	return e.listed("textDocument/documentSymbol", e.params(args[0]), func(s map[string]any) string {
		return strings.Join(e.symbolTree(args[0], s, "  "), "\n")
	})
}

func (e *editor) symbolTree(file string, s map[string]any, indent string) []string {
	if l, ok := s["location"].(map[string]any); ok {
		return []string{fmt.Sprintf("%s%v %v in %v: %s", indent, s["kind"], s["name"], s["containerName"], e.shown(file, l["range"]))}
	}
	line := fmt.Sprintf("%s%v %v", indent, s["kind"], s["name"])
	if s["detail"] != nil {
		line += fmt.Sprintf(" (%v)", s["detail"])
	}
	out := []string{fmt.Sprintf("%s: %s, at %s", line, e.shown(file, s["range"]), e.shown(file, s["selectionRange"]))}
	if s["children"] != nil {
		for _, child := range as[[]map[string]any](e, s["children"]) {
			out = append(out, e.symbolTree(file, child, indent+"  ")...)
		}
	}
	return out
}

// find QUERY lists workspace symbols.
func (e *editor) finds(args []string) error {
	return e.listed("workspace/symbol", map[string]string{"query": args[0]}, func(s map[string]any) string {
		l := as[map[string]any](e, s["location"])
		return fmt.Sprintf("  %v (%v) %s", s["name"], s["containerName"], e.name(l["uri"]))
	})
}

// folds FILE lists the ranges that fold, in lines from 1.
func (e *editor) folds(args []string) error {
	text, err := e.text(args[0])
	if err != nil {
		return err
	}
	return e.listed("textDocument/foldingRange", e.params(args[0]), func(r map[string]any) string {
		fold := as[struct {
			StartLine int    `json:"startLine"`
			EndLine   int    `json:"endLine"`
			Kind      string `json:"kind"`
		}](e, r)
		return fmt.Sprintf("  %d-%d %s %q", fold.StartLine+1, fold.EndLine+1, fold.Kind, text.Lines()[fold.StartLine])
	})
}

// select FILE PLACE shows how the selection grows.
func (e *editor) selects(args []string) error {
	at, err := e.cursor(args[0], args[1])
	if err != nil {
		return err
	}
	params := e.params(args[0])
	params["positions"] = []lsptest.Position{at}
	return e.listed("textDocument/selectionRange", params, func(s map[string]any) string {
		var out []string
		for ok := true; ok; s, ok = s["parent"].(map[string]any) {
			out = append(out, "  "+e.shown(args[0], s["range"]))
		}
		return strings.Join(out, "\n")
	})
}

// lenses FILE shows what stands above a memory, and runs each.
func (e *editor) lenses(args []string) error {
	shown := make(chan string, 1)
	e.desk.client.Handle("window/showDocument", func(params json.RawMessage) (any, error) {
		var p map[string]any
		err := json.Unmarshal(params, &p)
		shown <- e.name(p["uri"])
		return map[string]bool{"success": true}, err
	})
	return e.listed("textDocument/codeLens", e.params(args[0]), func(l map[string]any) string {
		c := as[map[string]any](e, l["command"])
		var r map[string]any
		err := e.desk.client.Call(e.t.Context(), "workspace/executeCommand", map[string]any{"command": c["command"], "arguments": c["arguments"]}, &r)
		if err != nil || r["shown"] != true {
			return fmt.Sprintf("  %v: %v %v", c["title"], err, r)
		}
		return fmt.Sprintf("  %s %v -> %s", e.shown(args[0], l["range"]), c["title"], <-shown)
	})
}
