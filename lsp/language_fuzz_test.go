package lsp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
)

// languageRequests are all requests about a place in a document.
var languageRequests = []string{
	"textDocument/completion", "textDocument/hover", "textDocument/definition", "textDocument/references", "textDocument/documentLink",
	"textDocument/documentSymbol", "textDocument/foldingRange", "textDocument/selectionRange", "textDocument/prepareRename",
	"textDocument/codeAction", "textDocument/codeLens", "textDocument/diagnostic",
}

// Whatever is in a file, and wherever the cursor is, each feature answers, and
// every range in the answers is one of the text.
func FuzzLanguageFeatures(f *testing.F) {
	for _, text := range []string{
		"---\nname: A\ntype: x\nkeywords: [a, \n---\n[[b]] [c](d.md#e) [f][g]\n\n[g]: b.md\n",
		"---\r\nna\r\n\tname: \"x \"y\" z\"\r\n---\r\n- 😀 [[\r\n  ```\r\n", "---\n", "---\nmetadata:\n  type: \n", "# A\n===\n> [[b|", "- [B](b.md) — x\n- `b.md`\n-\n",
		"\uFEFF---\nname:\n---\n\u202E\u200B[[b#", "[[a]] ![x](", "---\nsupersedes: [b, \"c\n",
	} {
		for _, at := range []int{0, 3, 9, 20, 1000} {
			f.Add(text, at, false)
			f.Add(text, at, true)
		}
	}
	s := newStore(f, map[string]string{"b.md": "---\nname: B\n---\n# E\n[[a]]\n", "a.md": "x", "MEMORY.md": "- [B](b.md)\n"})
	capabilities := map[string]any{
		"textDocument": map[string]any{"codeAction": map[string]any{"codeActionLiteralSupport": map[string]any{}}, "documentSymbol": map[string]any{"hierarchicalDocumentSymbolSupport": true}, "diagnostic": map[string]any{}},
		"workspace":    map[string]any{"workspaceEdit": map[string]any{"documentChanges": true, "resourceOperations": []string{"create", "rename"}}},
	}
	d := sit(f, lsp.MemoryOptions{}, serving(s), memoryClient{Capabilities: capabilities}).settled()
	f.Fuzz(func(t *testing.T, text string, at int, index bool) {
		if !utf8.ValidString(text) || len(text) > 1<<14 {
			return
		}
		path := s.path("a.md")
		if index {
			path = s.path("MEMORY.md")
		}
		tell := func(method string, document map[string]any) {
			document["uri"] = "file://" + path
			if err := d.client.Notify(method, map[string]any{"textDocument": document}); err != nil {
				t.Fatal(err)
			}
		}
		tell("textDocument/didOpen", map[string]any{"languageId": "markdown", "version": 1, "text": text})
		defer tell("textDocument/didClose", map[string]any{})
		shown := lsptest.Text{S: strings.TrimPrefix(text, "\uFEFF")}
		offset := min(max(at, 0), len(shown.S))
		for offset > 0 && offset < len(shown.S) && !utf8.RuneStart(shown.S[offset]) {
			offset--
		}
		place := shown.Position(offset)
		for _, method := range languageRequests {
			params := map[string]any{
				"textDocument": map[string]string{"uri": "file://" + path}, "position": place, "positions": []lsptest.Position{place},
				"range": lsptest.Range{Start: place, End: place}, "context": map[string]any{"diagnostics": []any{}, "includeDeclaration": true},
			}
			var answer any
			err := d.client.Call(context.Background(), method, params, &answer)
			var refused *lsptest.Error
			switch {
			case errors.As(err, &refused):
				t.Errorf("%s of %q at %d: %v", method, text, offset, err)
			case err != nil:
				t.Fatal(err)
			}
			if text == shown.S { // with a mark in front the client's columns are others
				checkRanges(t, method, shown, "file://"+path, answer)
			}
		}
	})
}

// checkRanges looks at all ranges in an answer that are about a document.
func checkRanges(t *testing.T, method string, text lsptest.Text, uri string, v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			checkRanges(t, method, text, uri, item)
		}
	case map[string]any:
		if doc, ok := v["textDocument"].(map[string]any); ok && doc["uri"] != uri || v["uri"] != nil && v["uri"] != uri {
			return
		}
		for key, value := range v {
			raw, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			var r lsptest.Range
			if strings.HasSuffix(strings.ToLower(key), "range") && json.Unmarshal(raw, &r) == nil {
				if _, err := text.Slice(r); err != nil {
					t.Errorf("%s: %s of %q: %v", method, key, text.S, err)
				}
			}
			checkRanges(t, method, text, uri, value)
		}
	}
}
