package lsp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
	"github.com/memls/memls/memory"
)

// wireDiagnostic is a diagnostic as a client reads it.
type wireDiagnostic struct {
	Range    lsp.Range `json:"range"`
	Severity int       `json:"severity"`
	Code     string    `json:"code"`
	Source   string    `json:"source"`
	Message  string    `json:"message"`
}

// pulled are the diagnostics of a file that the client asks for.
func (d *desk) pulled(path string) []wireDiagnostic {
	d.t.Helper()
	var r struct {
		Kind  string           `json:"kind"`
		Items []wireDiagnostic `json:"items"`
	}
	d.call("textDocument/diagnostic", map[string]any{"textDocument": map[string]string{"uri": "file://" + path}}, &r)
	if r.Kind != "full" || r.Items == nil {
		d.t.Errorf("the report of %s: %+v", path, r)
	}
	return r.Items
}

func (d *desk) open(path, text string) {
	d.t.Helper()
	d.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": "file://" + path, "languageId": "markdown", "version": 1, "text": text,
	}})
}

// edit replaces a range of an open document, or all of it with a nil range.
func (d *desk) edit(path string, r *lsp.Range, text string) {
	d.t.Helper()
	change := map[string]any{"text": text}
	if r != nil {
		change["range"] = r
	}
	d.notify("textDocument/didChange", map[string]any{
		"textDocument": map[string]any{"uri": "file://" + path, "version": 2}, "contentChanges": []any{change},
	})
}

func (d *desk) close(path string) {
	d.t.Helper()
	d.notify("textDocument/didClose", map[string]any{"textDocument": map[string]string{"uri": "file://" + path}})
}

func codes(items []wireDiagnostic) []string {
	out := []string{}
	for _, i := range items {
		out = append(out, i.Code)
	}
	return out
}

const strangeType = "---\nname: Port\ndescription: d\ntype: gossip\n---\nThe port is 7433.\n"

// What the client has open counts for diagnostics, saved or not, and what it
// closes does not.
func TestOpenBuffersWinForDiagnostics(t *testing.T) {
	s := newStore(t, map[string]string{"a.md": note("Port", "d", "The port is 7433.")})
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	want := func(step string, n int) {
		t.Helper()
		if got := d.pulled(s.path("a.md")); len(got) != n {
			t.Errorf("%s: %+v", step, got)
		}
	}
	want("on disk", 0)
	d.open(s.path("a.md"), strangeType)
	want("open", 1)
	d.edit(s.path("a.md"), &lsp.Range{Start: lsp.Position{Line: 3, Character: 6}, End: lsp.Position{Line: 3, Character: 12}}, "project")
	want("repaired", 0)
	d.edit(s.path("a.md"), nil, strangeType)
	want("replaced", 1)
	d.close(s.path("a.md"))
	want("closed", 0)
}

// Files of no served root belong to other servers: nothing is said of them.
func TestNothingIsSaidOfFilesOutside(t *testing.T) {
	s, outside := newStore(t, nil), newStore(t, map[string]string{"a.md": strangeType})
	untrusted := newStore(t, map[string]string{"mem/a.md": strangeType})
	settings := serving(s)
	settings.Roots = append(settings.Roots, lsp.RootOption{Scope: "team", Path: untrusted.path("mem")})
	settings.Trusted = false
	d := sit(t, lsp.MemoryOptions{}, settings, memoryClient{Folders: []string{untrusted.dir}}).settled()
	for _, path := range []string{
		outside.path("a.md"), untrusted.path("mem/a.md"), s.path("a.txt"), s.path(".hidden/a.md"), s.path("a.md~"), s.path("../a.md"),
	} {
		d.open(path, strangeType)
		if got := d.pulled(path); len(got) != 0 {
			t.Errorf("%s: %+v", path, got)
		}
	}
	// A new file is a memory before it is saved.
	d.open(s.path("new.md"), strangeType)
	if got := d.pulled(s.path("new.md")); len(got) != 1 || got[0].Source != "memls" || got[0].Severity != 3 {
		t.Errorf("a new file: %+v", got)
	}
}

// An editor may know a root by another path than the one it was configured with.
func TestFilesAreKnownThroughSymlinks(t *testing.T) {
	s := newStore(t, map[string]string{"mem/a.md": strangeType})
	link := s.path("link")
	if err := os.Symlink(s.path("mem"), link); err != nil {
		t.Fatal(err)
	}
	for served, opened := range map[string]string{s.path("mem"): link, link: s.path("mem")} {
		d := sit(t, lsp.MemoryOptions{}, lsp.InitializationOptions{Roots: []lsp.RootOption{{Scope: "user", Path: served}}}).settled()
		if got := d.pulled(filepath.Join(opened, "a.md")); len(got) != 1 {
			t.Errorf("serving %s, opened %s: %+v", served, opened, got)
		}
	}
}

// The disk is the truth for recall, the editor for diagnostics, and a file that
// was deleted is gone when the editor lets go of it.
func TestPROTO_05_RecallUsesWhatIsSaved(t *testing.T) {
	s := newStore(t, map[string]string{"a.md": note("Harbour", "zebrafish port", "The port is 7433.")})
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	found := func(query string) int {
		return len(d.recall(lsp.RecallParams{Query: query, Session: d.token()}).fast.Documents)
	}
	d.open(s.path("a.md"), note("Harbour", "zebrafish port", "The port is 7433."))
	d.edit(s.path("a.md"), nil, "---\nname: Harbour\ndescription: d\ntype: gossip\n---\nwalrus\n")
	if found("walrus") != 0 || found("zebrafish port") != 1 {
		t.Error("recall does not use what is saved")
	}
	if got := codes(d.pulled(s.path("a.md"))); len(got) != 1 || got[0] != "type-unknown" {
		t.Errorf("diagnostics do not use what is open: %v", got)
	}
	s.remove("a.md")
	d.until("a.md to go", func(l lsp.ListResult) bool { return len(l.Documents) == 0 })
	if found("zebrafish port") != 0 || found("walrus") != 0 {
		t.Error("a deleted file is recalled because the editor has it open")
	}
	if got := d.pulled(s.path("a.md")); len(got) != 1 {
		t.Errorf("of the open buffer: %+v", got)
	}
	d.close(s.path("a.md"))
	if found("zebrafish port") != 0 || found("walrus") != 0 {
		t.Error("a deleted file is recalled after it was closed")
	}
	if got := d.pulled(s.path("a.md")); len(got) != 0 {
		t.Errorf("of the deleted file: %+v", got)
	}
}

// The places that memories name are looked at only in a workspace that is
// trusted, and again while a document is open.
func TestDeadAnchorsOfATrustedWorkspace(t *testing.T) {
	s := newStore(t, map[string]string{
		"mem/a.md": note("Tokens", "walrus tokens", "`checkToken` in `src/token.go` checks them."), "work/main.go": "package main\n",
	})
	var skew atomic.Int64
	opt := lsp.MemoryOptions{
		Now: func() time.Time { return time.Now().Add(time.Duration(skew.Load())) },
		After: func(d time.Duration) <-chan time.Time {
			if d == memory.SurveyAge {
				d = time.Millisecond
			}
			return time.After(d)
		},
	}
	settings := lsp.InitializationOptions{Roots: []lsp.RootOption{{Scope: "project", Path: s.path("mem")}}}
	d := sit(t, opt, settings, memoryClient{Folders: []string{s.path("work")}}).settled()
	path := s.path("mem/a.md")
	seq := 0
	await := func(step string, codes ...string) {
		t.Helper()
		m, err := d.client.Await(t.Context(), seq, func(m Message) bool {
			var p struct{ Diagnostics []wireDiagnostic }
			return m.Method == "textDocument/publishDiagnostics" && json.Unmarshal(m.Params, &p) == nil && len(p.Diagnostics) == len(codes)
		})
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		seq = m.Seq + 1
	}
	stale := func() string {
		t.Helper()
		r := d.recall(lsp.RecallParams{Query: "walrus tokens", Session: d.token()})
		if r.fast.Documents[0].Stale == nil {
			return ""
		}
		if !strings.Contains(r.fast.Prompt, "NOTE: what it names may be gone: checkToken occurs nowhere in the workspace; src/token.go is not") {
			t.Errorf("the agent is not told: %s", r.fast.Prompt)
		}
		return r.fast.Documents[0].Stale.Reason
	}
	d.open(path, note("Tokens", "walrus tokens", "`checkToken` in `src/token.go` checks them."))
	await("not trusted")
	if got := stale(); got != "" {
		t.Errorf("not trusted: stale by %s", got)
	}
	d.notify("workspace/didChangeConfiguration", `{"settings":{"memls":{"trusted":true}}}`)
	await("trusted", "path", "identifier")
	if got := stale(); got != "anchor" {
		t.Errorf("trusted: stale by %q", got)
	}
	s.write("work/src/token.go", "package src\n\nfunc checkToken() {}\n")
	skew.Store(int64(memory.SurveyAge))
	await("written")
	if got := stale(); got != "" {
		t.Errorf("written: stale by %s", got)
	}
	s.remove("work/src/token.go")
	skew.Store(int64(2 * memory.SurveyAge))
	await("removed", "path", "identifier")
	d.notify("workspace/didChangeConfiguration", `{"settings":{"memls":{"trusted":false}}}`)
	await("trust withdrawn")
	if got := stale(); got != "" {
		t.Errorf("trust withdrawn: stale by %s", got)
	}
}

// A client that shows diagnostics is shown those of every file; others only
// those of what they open.
func TestDiagnosticsOfFilesThatAreNotOpen(t *testing.T) {
	s := newStore(t, map[string]string{"flawed.md": note("flawed: a", "d", "b"), "good.md": note("Good", "d", "b")})
	d := sit(t, lsp.MemoryOptions{}, serving(s), memoryClient{Capabilities: map[string]any{
		"textDocument": map[string]any{"publishDiagnostics": map[string]any{}},
	}})
	seq := 0
	await := func(file string, n int) {
		t.Helper()
		m, err := d.client.Await(t.Context(), seq, lsptest.Method("textDocument/publishDiagnostics"))
		if err != nil {
			t.Fatal(err)
		}
		seq = m.Seq + 1
		p := decode[struct {
			URI         string
			Diagnostics []wireDiagnostic
		}](t, m.Params)
		if p.URI != "file://"+s.path(file) || len(p.Diagnostics) != n {
			t.Errorf("shown %+v, want %d of %s", p, n, file)
		}
	}
	await("flawed.md", 1)
	s.write("good.md", strangeType)
	await("good.md", 1)
	d.open(s.path("good.md"), note("Good", "d", "b"))
	await("good.md", 0)
	d.close(s.path("good.md"))
	await("good.md", 1)
	s.remove("good.md")
	await("good.md", 0)
	s.write("flawed.md", note("Mended", "d", "b"))
	await("flawed.md", 0)
}

// A client that asks for diagnostics itself is told when to, and is not pushed any.
func TestPulledDiagnosticsAreRefreshed(t *testing.T) {
	s := newStore(t, map[string]string{"a.md": note("A", "d", "[[b]]")})
	d := ring(t, lsp.MemoryOptions{})
	refreshed := make(chan none, 100)
	d.client.Handle("workspace/diagnostic/refresh", func(json.RawMessage) (any, error) {
		refreshed <- none{}
		return nil, nil
	})
	err := d.initialize(serving(s), memoryClient{Capabilities: map[string]any{
		"textDocument": map[string]any{"diagnostic": map[string]any{}}, "workspace": map[string]any{"diagnostics": map[string]bool{"refreshSupport": true}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	d.notify("initialized", "{}")
	d.settled()
	d.open(s.path("a.md"), note("A", "d", "[[b]]"))
	if got := codes(d.pulled(s.path("a.md"))); !slices.Equal(got, []string{"link-broken"}) {
		t.Errorf("%v", got)
	}
	s.write("b.md", note("B", "d", "b"))
	for len(d.pulled(s.path("a.md"))) > 0 {
		select {
		case <-refreshed:
		case <-t.Context().Done():
			t.Fatal("not told to ask again")
		}
	}
	var r struct{ Kind, ResultID string }
	ask := map[string]any{"textDocument": map[string]string{"uri": "file://" + s.path("a.md")}}
	d.call("textDocument/diagnostic", ask, &r)
	ask["previousResultId"] = r.ResultID
	if d.call("textDocument/diagnostic", ask, &r); r.Kind != "unchanged" {
		t.Errorf("the same again: %+v", r)
	}
	for _, m := range d.client.Log() {
		if m.Method == "textDocument/publishDiagnostics" {
			t.Errorf("pushed %s", m.Params)
		}
	}
}

// Lenses speak of other memories: a client is told to ask again when these have
// changed.
func TestLensesAreRefreshed(t *testing.T) {
	s := newStore(t, map[string]string{"a.md": note("A", "d", "a")})
	d := ring(t, lsp.MemoryOptions{})
	refreshed := make(chan none, 100)
	d.client.Handle("workspace/codeLens/refresh", func(json.RawMessage) (any, error) {
		refreshed <- none{}
		return nil, nil
	})
	err := d.initialize(serving(s), memoryClient{Capabilities: map[string]any{
		"workspace": map[string]any{"codeLens": map[string]bool{"refreshSupport": true}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	d.notify("initialized", "{}")
	d.settled()
	d.open(s.path("a.md"), note("A", "d", "a"))
	lenses := func() (n int) {
		var r []json.RawMessage
		d.call("textDocument/codeLens", map[string]any{"textDocument": map[string]string{"uri": "file://" + s.path("a.md")}}, &r)
		return len(r)
	}
	before := lenses()
	s.write("b.md", note("B", "other", "[[a]]"))
	for lenses() == before {
		select {
		case <-refreshed:
		case <-t.Context().Done():
			t.Fatal("not told to ask again")
		}
	}
}

// Every code of a diagnostic is explained to the people who see it.
func TestLanguageServerDocNamesEveryCode(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "docs", "language-server.md"))
	if err != nil {
		t.Fatal(err)
	}
	constant := regexp.MustCompile(`(?m)^\s+(?:Problem|code)[A-Z]\w+\s+= "([a-z-]+)"|^const codeDead\w+ = "([a-z-]+)"`)
	n := 0
	for _, name := range []string{"../memory/document.go", "diagnostic.go", "anchors.go"} {
		src, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range constant.FindAllStringSubmatch(string(src), -1) {
			n++
			if code := m[1] + m[2]; !strings.Contains(string(doc), "`"+code+"`") {
				t.Errorf("%s is not explained", code)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d codes found: the constants are not where they were", n)
	}
}

// Positions are in the encoding that was agreed on, UTF-16 when none was.
func TestPROTO_04_PositionsOfDiagnostics(t *testing.T) {
	text := note("Links", "d", "中文😀前缀 [[missing]]")
	for _, c := range []struct {
		encoding   string
		start, end uint32
	}{{"utf-8", 19, 26}, {"utf-16", 9, 16}, {"", 9, 16}} {
		s := newStore(t, map[string]string{"a.md": text})
		d := sit(t, lsp.MemoryOptions{}, serving(s), memoryClient{Encoding: c.encoding}).settled()
		d.open(s.path("a.md"), text)
		got := d.pulled(s.path("a.md"))
		want := lsp.Range{Start: lsp.Position{Line: 5, Character: c.start}, End: lsp.Position{Line: 5, Character: c.end}}
		if len(got) != 1 || got[0].Code != "link-broken" || got[0].Range != want {
			t.Errorf("%q: %+v, want %+v", c.encoding, got, want)
		}
		// What is typed behind the character lands there, too.
		at := lsp.Position{Line: 5, Character: c.start}
		d.edit(s.path("a.md"), &lsp.Range{Start: at, End: at}, "x")
		if got := d.pulled(s.path("a.md")); len(got) != 1 || !strings.Contains(got[0].Message, `"xmissing"`) {
			t.Errorf("%q: %+v", c.encoding, got)
		}
	}
}

// A credential in a memory is shown where it stands, and never repeated.
func TestCredentialsInAMemoryAreShownWithoutTheirValue(t *testing.T) {
	token := "ghp_" + strings.Repeat("0aB1cD", 6)
	s := newStore(t, nil)
	d := sit(t, lsp.MemoryOptions{}, serving(s), memoryClient{Encoding: "utf-8"}).settled()
	d.open(s.path("a.md"), note("Access", "how to get in", "token "+token+" of the robot"))
	got := d.pulled(s.path("a.md"))
	want := lsp.Range{Start: lsp.Position{Line: 5, Character: 6}, End: lsp.Position{Line: 5, Character: 6 + uint32(len(token))}}
	if len(got) != 1 || got[0].Code != "secret-in-memory" || got[0].Range != want || strings.Contains(got[0].Message, token[:8]) {
		t.Errorf("%+v, want it at %+v", got, want)
	}
	d.edit(s.path("a.md"), nil, note("Access", "how to get in", "token <token> of the robot"))
	if got := d.pulled(s.path("a.md")); len(got) != 0 {
		t.Errorf("of a placeholder: %+v", got)
	}
}
