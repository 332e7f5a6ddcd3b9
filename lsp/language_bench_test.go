package lsp_test

import (
	"fmt"
	"testing"

	"github.com/memls/memls/lsp"
)

// What an editor asks while a person reads and types, from the request to the
// answer, in a root of many memories that link to each other. The first request of
// a kind, which makes what the others share, is measured by itself.
func BenchmarkLanguageFeatures(b *testing.B) {
	for _, files := range []int{1_000, 10_000} {
		s := newStore(b, nil)
		for i := range files {
			s.write(fmt.Sprintf("d%d/f%d.md", i%50, i), fmt.Sprintf("---\nname: Note %d on topic%d\ndescription: about word%d\nkeywords: [k%d, k%d]\ntype: project\n---\n"+
				"The service word%d talks to topic%d, see [[f%d]] and [that](../d%d/f%d.md).\n\n- [[Note %d on topic%d]]\n",
				i, i%97, i%311, i%500, i%77, i%53, i%89, (i+1)%files, (i+7)%files%50, (i+7)%files, (i+3)%files, (i+3)%files%97))
		}
		actions := map[string]any{"codeAction": map[string]any{
			"codeActionLiteralSupport": map[string]any{}, "dataSupport": true, "resolveSupport": map[string]any{"properties": []string{"edit"}},
		}}
		s.write("MEMORY.md", "- [Note](d7/f7.md)\n")
		d := sit(b, lsp.MemoryOptions{}, serving(s), memoryClient{Capabilities: map[string]any{"textDocument": actions}}).settled()
		path := s.path("d7/f7.md")
		text := "---\nname: Note 7 on topic7\nkeywords: []\n---\nSee [[f8]] and [[no"
		d.open(path, text)
		at := func(line, character int) map[string]any {
			return map[string]any{
				"textDocument": map[string]string{"uri": "file://" + path}, "position": lsp.Position{Line: uint32(line), Character: uint32(character)},
				"context": map[string]any{"includeDeclaration": true, "diagnostics": []any{}}, "range": lsp.Range{Start: lsp.Position{Line: uint32(line)}, End: lsp.Position{Line: uint32(line)}},
			}
		}
		for _, ask := range []struct {
			name, method string
			params       any
		}{
			{"hover", "textDocument/hover", at(4, 7)},
			{"definition", "textDocument/definition", at(4, 7)},
			{"references", "textDocument/references", at(4, 7)},
			{"complete link", "textDocument/completion", at(4, 19)},
			{"complete keyword", "textDocument/completion", at(2, 11)},
			{"lenses", "textDocument/codeLens", at(0, 0)},
			{"actions", "textDocument/codeAction", at(4, 0)},
			{"find", "workspace/symbol", map[string]string{"query": "note topic"}},
		} {
			b.Run(fmt.Sprintf("%d/%s", files, ask.name), func(b *testing.B) {
				for range b.N {
					d.call(ask.method, ask.params, nil)
				}
			})
		}
	}
}
