package lsp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/memls/memls/lsp"
)

// declared are the capabilities that the server declares to a client.
func declared(t *testing.T, capabilities string) map[string]any {
	t.Helper()
	d := ring(t, lsp.MemoryOptions{})
	var result struct {
		Capabilities map[string]any `json:"capabilities"`
	}
	if err := d.client.Call(t.Context(), "initialize", `{"processId":null,"capabilities":`+capabilities+`}`, &result); err != nil {
		t.Fatal(err)
	}
	return result.Capabilities
}

func TestLanguageFeaturesAreDeclared(t *testing.T) {
	c := declared(t, `{}`)
	for _, name := range []string{
		"completionProvider", "hoverProvider", "definitionProvider", "referencesProvider", "documentLinkProvider", "documentSymbolProvider",
		"workspaceSymbolProvider", "foldingRangeProvider", "selectionRangeProvider", "renameProvider", "codeLensProvider", "workspace",
	} {
		if c[name] == nil {
			t.Errorf("%s is not declared", name)
		}
	}
	if c["codeActionProvider"] != nil || c["renameProvider"] != true {
		t.Errorf("more is declared than the client can take: %v, %v", c["codeActionProvider"], c["renameProvider"])
	}
	c = declared(t, `{"textDocument":{"codeAction":{"codeActionLiteralSupport":{}},"rename":{"prepareSupport":true}}}`)
	if c["codeActionProvider"] == nil || c["renameProvider"] == true {
		t.Errorf("less is declared than the client can take: %v, %v", c["codeActionProvider"], c["renameProvider"])
	}
}

// A client that declares something odd is served as one that does not declare it.
func TestOddCapabilitiesAreNone(t *testing.T) {
	c := declared(t, `{"textDocument":{"codeAction":7,"hover":"yes","completion":{"completionItem":[1]},"definition":true,"rename":[],"foldingRange":null},
		"workspace":{"workspaceEdit":"all"},"window":{"showDocument":[3]}}`)
	if c["codeActionProvider"] != nil || c["hoverProvider"] != true {
		t.Errorf("%v", c)
	}
}

// Every request of the server's own is a command, and the other way round.
func TestEveryRequestIsACommand(t *testing.T) {
	c := declared(t, `{}`)
	raw, err := json.Marshal(c["executeCommandProvider"])
	if err != nil {
		t.Fatal(err)
	}
	var provider struct {
		Commands []string `json:"commands"`
	}
	if err := json.Unmarshal(raw, &provider); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, row := range memoryTable(t) {
		if row.From == lsp.FromClient && row.Result != nil {
			want = append(want, "memory."+strings.TrimPrefix(row.Name, "memory/"))
		}
	}
	if !slices.Equal(provider.Commands, want) {
		t.Errorf("commands %v, want %v", provider.Commands, want)
	}
}

// links are the refs that the links of every memory lead to, in order.
func (d *desk) allLinks() map[string][]string {
	d.t.Helper()
	var list lsp.ListResult
	d.call("memory/list", lsp.ListParams{}, &list)
	out := map[string][]string{}
	for _, m := range list.Documents {
		var got lsp.GetResult
		d.call("memory/get", lsp.GetParams{Ref: m.Ref}, &got)
		for _, l := range got.Links {
			out[m.Ref] = append(out[m.Ref], l.Ref)
		}
	}
	return out
}

// Whatever is renamed to what, and however it is linked: each link leads
// afterwards to what it led to before.
func TestRenamedFilesKeepTheirLinks(t *testing.T) {
	rounds := 12
	if soak() {
		rounds = 400
	}
	names := []string{"a.md", "b.md", "x/a.md", "x/b c.md", "x/y/d.md", "z/a.md", "ä (1).md"}
	targets := []string{
		"[[a]]", "[[b]]", "[[x/a]]", "[[Title D]]", "[[b c]]", "[[/a]]", "[q](a.md)", "[q](x/a.md)", "[q](../a.md)", "[q](/a.md)", "[q](b)", "[q](./a)",
		"[q](x/b%20c.md)", "[q](y/d.md#h)", "[[d|shown]]", "[q](project:x/a.md)", "[q](%C3%A4%20%281%29.md)", "[[ä (1)]]", "[q](<x/b c.md>)", "[q](z/a.md 'title')",
	}
	gen := rapid.Custom(func(rt *rapid.T) map[string]string {
		files := map[string]string{}
		for _, name := range names {
			text := ""
			if name == "x/y/d.md" {
				text = "---\nname: Title D\nsupersedes: [a, x/a.md]\n---\n"
			}
			for _, l := range rapid.SliceOfN(rapid.SampledFrom(targets), 0, 5).Draw(rt, name) {
				text += "- " + l + "\n"
			}
			files[name] = text + "\nend\n"
		}
		return files
	})
	moves := []string{"a.md", "c.md", "x/a.md", "x/d.md", "w/a.md", "x/y/e.md", "neu ß.md", "B2.md"}
	for seed := range rounds {
		rt := gen.Example(seed)
		from := names[seed%len(names)]
		to := moves[(seed*5+seed/7)%len(moves)]
		if _, taken := rt[to]; taken {
			to = "free/" + to
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) { renameKeepsLinks(t, rt, from, to) })
	}
}

func renameKeepsLinks(t *testing.T, files map[string]string, from, to string) {
	s := newStore(t, files)
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	before := d.allLinks()
	var edit struct {
		Changes map[string][]textEdit `json:"changes"`
	}
	e := &editor{t: t, store: s, encoding: "", desk: d, open: map[string]string{}, roots: []lsp.RootOption{s.root("project")}}
	d.call("workspace/willRenameFiles", map[string]any{"files": []map[string]string{{"oldUri": e.uri(from), "newUri": e.uri(to)}}}, &edit)
	for uri, edits := range edit.Changes {
		name, err := url.PathUnescape(uri)
		if err != nil {
			t.Fatal(err)
		}
		name = strings.TrimPrefix(name, "file://"+s.dir+"/")
		if err := e.applyText(name, edits); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(s.path(to)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.path(from), s.path(to)); err != nil {
		t.Fatal(err)
	}
	if err := e.caughtUp(); err != nil {
		t.Fatal(err)
	}
	ref := func(name string) string {
		var list lsp.ListResult
		d.call("memory/list", lsp.ListParams{}, &list)
		for _, m := range list.Documents {
			if e.name(m.URI) == name {
				return m.Ref
			}
		}
		return ""
	}
	now := ref(to)
	old := "project:" + escaped(from)
	want := map[string][]string{}
	for from, links := range before {
		if from == old {
			from = now
		}
		for _, l := range links {
			if l == old {
				l = now
			}
			want[from] = append(want[from], l)
		}
	}
	got := d.allLinks()
	for _, from := range slices.Sorted(maps.Keys(want)) {
		for i, l := range want[from] {
			// A link to nothing may find something afterwards.
			if l != "" && (i >= len(got[from]) || got[from][i] != l) {
				t.Errorf("%s to %s: the links of %s lead to %q, want %q; it was\n%s", old, now, from, got[from], want[from], files[from])
				break
			}
		}
	}
}

// escaped is a path as refs have it.
func escaped(rel string) string {
	parts := strings.Split(rel, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}
