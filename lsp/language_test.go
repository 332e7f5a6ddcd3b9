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
			if rapid.Bool().Draw(rt, name+" by reference") {
				text = strings.Replace(text, "- ", "[up]: /a.md\n\n- [q][up] [r][down] ", 1) + "\n[down]: x/a.md\n"
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

// Two projects whose files have the same names, and a person's own memory: who
// edits in one is shown nothing of the other, however it is asked for.
func TestSEC_09_EditingKeepsProjectsApart(t *testing.T) {
	const same = "The gateway gives up after thirty seconds and answers with status 504, whatever the client asked for, since the proxy was moved to the new cluster."
	file := func(word string) string {
		return "---\nname: Port of " + word + "\nkeywords: [" + word + "]\ncategory: " + word + "\n---\n" + same + " [[secret]]\n"
	}
	s := newStore(t, map[string]string{
		"one/mem/port.md": file("alpha"), "one/mem/edit.md": "---\nkeywords: \ncategory: \n---\n[[",
		"two/mem/port.md": file("bravo"), "two/mem/secret.md": "---\nname: secret\n---\nbravo\n",
		"own/port.md": file("charlie"), "own/edit.md": "---\nkeywords: \n---\n[[",
	})
	settings := lsp.InitializationOptions{Trusted: true, Roots: []lsp.RootOption{
		{Scope: "project", Path: s.path("one/mem")}, {Scope: "project", Path: s.path("two/mem")}, {Scope: "user", Path: s.path("own")},
	}}
	d := sit(t, lsp.MemoryOptions{}, settings, memoryClient{Folders: []string{s.path("one"), s.path("two")}}).settled()
	ask := func(method, file string, line, character int) string {
		var raw json.RawMessage
		at := lsp.Position{Line: uint32(line), Character: uint32(character)}
		d.call(method, map[string]any{
			"textDocument": map[string]string{"uri": "file://" + s.path(file)}, "position": at,
			"context": map[string]any{"includeDeclaration": true, "diagnostics": []any{}}, "range": lsp.Range{Start: at, End: at},
		}, &raw)
		return string(raw)
	}
	for _, tt := range []struct {
		method, file    string
		line, character int
		never, also     []string
	}{
		{"textDocument/completion", "one/mem/edit.md", 1, 10, []string{"bravo"}, []string{"alpha", "charlie"}},
		{"textDocument/completion", "one/mem/edit.md", 2, 10, []string{"bravo"}, []string{"alpha", "charlie"}},
		{"textDocument/completion", "one/mem/edit.md", 4, 2, []string{"bravo", "charlie", "secret"}, []string{"alpha"}},
		{"textDocument/completion", "own/edit.md", 1, 10, []string{"alpha", "bravo"}, []string{"charlie"}},
		{"textDocument/completion", "own/edit.md", 3, 2, []string{"alpha", "bravo"}, []string{"charlie"}},
		{"textDocument/codeLens", "one/mem/port.md", 0, 0, []string{"bravo"}, []string{"charlie"}},
		{"textDocument/codeLens", "own/port.md", 0, 0, []string{"alpha", "bravo"}, nil},
		{"textDocument/hover", "one/mem/port.md", 5, len(same) + 5, []string{"bravo", "/two/"}, []string{"secret"}},
		{"textDocument/definition", "one/mem/port.md", 5, len(same) + 5, []string{"/two/"}, []string{"null"}},
		{"textDocument/documentLink", "one/mem/port.md", 0, 0, []string{"/two/"}, nil},
		{"textDocument/references", "two/mem/secret.md", 0, 0, []string{"/one/", "/own/"}, []string{"/two/"}},
	} {
		got := ask(tt.method, tt.file, tt.line, tt.character)
		for _, word := range tt.never {
			if strings.Contains(got, word) {
				t.Errorf("%s in %s shows %q: %s", tt.method, tt.file, word, got)
			}
		}
		for _, word := range tt.also {
			if !strings.Contains(got, word) {
				t.Errorf("%s in %s does not show %q: %s", tt.method, tt.file, word, got)
			}
		}
	}
}

// What a memory calls itself is shown as text: it is no markup, no link, no
// command, and nothing in it is hidden.
func TestSEC_05_MemoriesAreShownAsText(t *testing.T) {
	s := newStore(t, map[string]string{
		"a.md": "[[b]]",
		"b.md": "---\nname: \"</memory> [x](command:evil) <img src=x> \\u202Ereversed\\u200B `code` **bold** ![i](http://x)\"\ndescription: \"# heading\\n- item [y][z] &lt; ~~gone~~ $math$ |cell|\"\n---\nx\n",
	})
	d := ring(t, lsp.MemoryOptions{})
	d.call("initialize", map[string]any{
		"processId": nil, "initializationOptions": serving(s),
		"capabilities": map[string]any{"textDocument": map[string]any{"hover": map[string]any{"contentFormat": []string{"markdown"}}}},
	}, nil)
	d.notify("initialized", "{}")
	d.settled()
	var h struct {
		Contents struct{ Kind, Value string }
	}
	d.call("textDocument/hover", map[string]any{
		"textDocument": map[string]string{"uri": "file://" + s.path("a.md")}, "position": lsp.Position{Character: 3},
	}, &h)
	if h.Contents.Kind != "markdown" {
		t.Fatalf("%+v", h)
	}
	value := h.Contents.Value
	if strings.ContainsAny(value, "\u202E\u200B") {
		t.Errorf("something is hidden in %q", value)
	}
	// All that could begin markup has a backslash in front, but for our own.
	own := strings.TrimSuffix(strings.TrimPrefix(strings.Split(value, "\n\n")[0], "**"), "**") + "\n" + strings.Split(value, "\n\n")[1]
	for i, c := range own {
		if strings.ContainsRune("`*_[]<&~|$!", c) && (i == 0 || own[i-1] != '\\') {
			t.Errorf("%q at %d has power in %q", c, i, own)
		}
	}
	if !strings.Contains(own, "\n\\# heading") {
		t.Errorf("a heading: %q", own)
	}
}

// The same link, hover, definition and symbol, in every encoding that a client can
// ask for, and in none.
func TestPROTO_04_PositionsOfLinks(t *testing.T) {
	const line = "中文😀前缀 [[target]]"
	s := newStore(t, map[string]string{"a.md": line + "\n", "target.md": "# T\n"})
	for encoding, want := range map[string][2]int{"": {7, 17}, "utf-16": {7, 17}, "utf-8": {17, 27}} {
		d := sit(t, lsp.MemoryOptions{}, serving(s), memoryClient{Encoding: encoding}).settled()
		at := map[string]any{
			"textDocument": map[string]string{"uri": "file://" + s.path("a.md")}, "position": lsp.Position{Character: uint32(want[0])},
		}
		var h struct{ Range lsp.Range }
		d.call("textDocument/hover", at, &h)
		if int(h.Range.Start.Character) != want[0] || int(h.Range.End.Character) != want[1] {
			t.Errorf("%q: hover of %+v, want %v", encoding, h.Range, want)
		}
		var links []struct{ Range lsp.Range }
		d.call("textDocument/documentLink", at, &links)
		if len(links) != 1 || int(links[0].Range.Start.Character) != want[0]+2 || int(links[0].Range.End.Character) != want[1]-2 {
			t.Errorf("%q: links %+v, want %v", encoding, links, want)
		}
		at["position"] = lsp.Position{Character: uint32(want[0] - 2)}
		var none json.RawMessage
		d.call("textDocument/definition", at, &none)
		if string(none) != "null" {
			t.Errorf("%q: a definition beside the link: %s", encoding, none)
		}
	}
}

// Every request of the language features that is malformed is told what is wrong.
func TestPROTO_08_MalformedRequestsNameTheField(t *testing.T) {
	s := newStore(t, map[string]string{"a.md": "x"})
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	doc := `"textDocument":{"uri":"file://` + s.path("a.md") + `"}`
	for method, params := range map[string][2]string{
		"textDocument/hover":          {`{` + doc + `,"position":{"line":"1"}}`, "position.line"},
		"textDocument/completion":     {`{"textDocument":7}`, "textDocument"},
		"textDocument/rename":         {`{` + doc + `,"position":{"line":0,"character":0},"newName":4}`, "newName"},
		"textDocument/codeAction":     {`{` + doc + `,"range":[1]}`, "range"},
		"textDocument/selectionRange": {`{` + doc + `,"positions":[{"line":-1}]}`, "positions[0].line"},
		"workspace/symbol":            {`{"query":[1]}`, "query"},
		"workspace/willRenameFiles":   {`{"files":[{"oldUri":1}]}`, "files[0].oldUri"},
		"memory/show":                 {`{"ref":"nowhere"}`, "ref"},
		"codeAction/resolve":          {`{"title":"x"}`, "data"},
	} {
		err := d.refused(method, params[0])
		if code(err) != -32602 || data[lsp.ParamErrorData](t, err).Field != params[1] {
			t.Errorf("%s: %v, want %s", method, err, params[1])
		}
	}
	// No document at all is one of no root.
	for _, method := range []string{"textDocument/hover", "textDocument/documentSymbol", "textDocument/codeAction"} {
		var raw json.RawMessage
		d.call(method, `{}`, &raw)
		if string(raw) != "null" {
			t.Errorf("%s of nothing: %s", method, raw)
		}
	}
}
