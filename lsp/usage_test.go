package lsp_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
)

// What was delivered, by this process or by another one, is counted where a person
// looks at a memory; where no activity is kept, nothing is said of it.
func TestDeliveriesAreCounted(t *testing.T) {
	s := newStore(t, map[string]string{
		"port.md": note("Port", "zebrafish port", "The port is 7433."), "see.md": "[[port]]", "sub/ü 1.md": note("Walrus", "walrus tank", "It is full."),
	})
	begun := time.Date(2026, 3, 13, 12, 0, 0, 0, time.UTC)
	var days atomic.Int64
	opt := lsp.MemoryOptions{State: t.TempDir(), Now: func() time.Time { return begun.AddDate(0, 0, int(days.Load())) }}
	row := func(d *desk, ref string) lsp.ListedDocument {
		t.Helper()
		var list lsp.ListResult
		d.call("memory/list", lsp.ListParams{}, &list)
		for _, m := range list.Documents {
			if m.Ref == ref {
				return m
			}
		}
		t.Fatalf("no %s", ref)
		return lsp.ListedDocument{}
	}
	hover := func(d *desk) string {
		var h struct{ Contents struct{ Value string } }
		d.call("textDocument/hover", map[string]any{
			"textDocument": map[string]string{"uri": "file://" + s.path("see.md")}, "position": lsp.Position{Character: 3},
		}, &h)
		return h.Contents.Value
	}
	lens := func(d *desk) string {
		var list []struct{ Command struct{ Title string } }
		d.call("textDocument/codeLens", map[string]any{"textDocument": map[string]string{"uri": "file://" + s.path("port.md")}}, &list)
		return list[0].Command.Title
	}
	agent := sit(t, opt, keeping(serving(s))).settled()
	editor := sit(t, opt, keeping(serving(s))).settled()
	if got := hover(editor); !strings.Contains(got, "never recalled") || lens(editor) != "never recalled" {
		t.Errorf("before: %q", got)
	}
	agent.recall(lsp.RecallParams{Query: "zebrafish port", Session: "one"})
	agent.recall(lsp.RecallParams{Query: "walrus tank", Session: "one"})
	days.Store(3)
	agent.recall(lsp.RecallParams{Query: "zebrafish port", Session: "two"})
	// Several deliveries may be told in one message.
	for seq := 0; row(editor, "project:port.md").RecallCount < 2; {
		m, err := editor.client.Await(t.Context(), seq, lsptest.Method("memory/activity"))
		if err != nil {
			t.Fatalf("%v: %+v", err, row(editor, "project:port.md"))
		}
		seq = m.Seq + 1
	}
	days.Store(4)
	if got := row(editor, "project:port.md"); got.RecallCount != 2 || !got.LastRecalledAt.Equal(begun.AddDate(0, 0, 3)) {
		t.Errorf("port.md: %+v", got)
	}
	if got := row(editor, "project:sub/%C3%BC%201.md"); got.RecallCount != 1 {
		t.Errorf("ü 1.md: %+v", got)
	}
	if got := row(editor, "project:see.md"); got.RecallCount != 0 || !got.LastRecalledAt.IsZero() {
		t.Errorf("see.md: %+v", got)
	}
	if got := hover(editor); !strings.Contains(got, "recalled 2 times, last yesterday") || lens(editor) != "recalled 2 times, last yesterday" {
		t.Errorf("after: %q, %q", got, lens(editor))
	}
	quiet := sit(t, opt, serving(s)).settled()
	if got := hover(quiet); strings.Contains(got, "recalled") || row(quiet, "project:port.md").RecallCount != 0 || lens(quiet) != "1 link leads here" {
		t.Errorf("without activity: %q, %q", got, lens(quiet))
	}
}
