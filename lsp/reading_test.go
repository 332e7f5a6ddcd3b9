package lsp_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/memory"
)

func TestSearch(t *testing.T) {
	s := newStore(t, gateways())
	s.write("old.md", "---\nname: Old gateway\nstatus: superseded\n---\ngateway timeout of old\n")
	s.write("past.md", "---\nname: Past gateway\nexpires_at: 2020-01-01\n---\ngateway timeout of past\n")
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	search := func(p lsp.SearchParams) lsp.SearchResult {
		t.Helper()
		var r lsp.SearchResult
		d.call("memory/search", p, &r)
		return r
	}
	// The last word may be unfinished; the total is that before the limit.
	r := search(lsp.SearchParams{Query: "gatew", Limit: pointer(2)})
	if r.Total != 5 || len(r.Documents) != 2 || r.Trace != nil {
		t.Errorf("%d documents of %d", len(r.Documents), r.Total)
	}
	for _, doc := range r.Documents {
		if doc.State != "" || doc.Body == "" || len(doc.Why) == 0 {
			t.Errorf("%+v", doc)
		}
	}
	r = search(lsp.SearchParams{Query: "gateway", Inactive: true, Trace: true})
	statuses := map[string]string{}
	for _, doc := range r.Documents {
		statuses[doc.Ref] = doc.Status
	}
	if r.Total != 7 || statuses["project:old.md"] != "superseded" || statuses["project:past.md"] != "expired" || r.Trace == nil {
		t.Errorf("inactive: %d %v", r.Total, statuses)
	}
	// It is outside of any ledger.
	for range 2 {
		d.ask("gateway timeout")
		if r := search(lsp.SearchParams{Query: "gateway"}); r.Total != 5 {
			t.Errorf("after a recall: %d", r.Total)
		}
	}
	for _, query := range []string{"", "   ", "zebrafish", "？！…"} {
		if r := search(lsp.SearchParams{Query: query}); r.Total != 0 || len(r.Documents) != 0 {
			t.Errorf("%q: %+v", query, r)
		}
	}
	if r := search(lsp.SearchParams{Query: "gateway", Types: []string{"user"}}); r.Total != 0 {
		t.Errorf("types: %+v", r)
	}
	for params, field := range map[string]string{
		`{"query":"x","limit":0}`: "limit", `{"query":"x","limit":101}`: "limit", `{"query":"x","scopes":["x"]}`: "scopes[0]", `{"query":[]}`: "query",
	} {
		if err := d.refused("memory/search", params); code(err) != -32602 || data[lsp.ParamErrorData](t, err).Field != field {
			t.Errorf("%s: %v", params, err)
		}
	}
}

func TestList(t *testing.T) {
	s := newStore(t, map[string]string{
		"MEMORY.md":    "# Index\n",
		"pinned/p.md":  note("Pinned", "d", "b"),
		"old.md":       "---\nname: Old\nstatus: superseded\ntype: user\n---\nb\n",
		"strange.md":   "---\nname: Strange\ntype: gossip\nkeywords: [a, b]\n---\nb\n",
		"a b/ü%#?.md":  note("Odd name", "d", "b"),
		"empty.md":     "",
		"sub/deep.md":  note("Deep", "d", "b"),
		"ignored.txt":  "no memory",
		".hidden/x.md": note("Hidden", "d", "b"),
	})
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	list := func(p lsp.ListParams) (r lsp.ListResult) {
		t.Helper()
		d.call("memory/list", p, &r)
		return r
	}
	all := list(lsp.ListParams{})
	var names []string
	for _, doc := range all.Documents {
		names = append(names, doc.Ref)
	}
	wantRefs(t, "all", names, "project:a%20b/%C3%BC%25%23%3F.md", "project:empty.md", "project:old.md",
		"project:pinned/p.md", "project:strange.md", "project:sub/deep.md")
	strange := all.Documents[4]
	if !slices.Equal(strange.Keywords, []string{"a", "b"}) || strange.Diagnostics != 1 || strange.Type != "gossip" || strange.UpdatedAt.IsZero() || !all.Documents[3].Pinned {
		t.Errorf("%+v", strange)
	}
	// Pages are stable, and continue although what they end with has gone.
	var paged []string
	for p := (lsp.ListParams{Limit: pointer(2)}); ; {
		page := list(p)
		for _, doc := range page.Documents {
			paged = append(paged, doc.Ref)
		}
		if p.Cursor = page.Cursor; p.Cursor == "" {
			break
		}
		if len(paged) == 2 {
			s.remove("empty.md")
			d.until("empty.md gone", func(l lsp.ListResult) bool { return len(l.Documents) == 5 })
		}
	}
	wantRefs(t, "pages", paged, names...)
	if r := list(lsp.ListParams{Inactive: pointer(false)}); len(r.Documents) != 4 {
		t.Errorf("active: %d", len(r.Documents))
	}
	if r := list(lsp.ListParams{Types: []string{"user"}}); len(r.Documents) != 1 {
		t.Errorf("types: %d", len(r.Documents))
	}
	if r := list(lsp.ListParams{Scopes: []string{"team"}}); len(r.Documents) != 0 {
		t.Errorf("scopes: %d", len(r.Documents))
	}
	for params, field := range map[string]string{`{"cursor":"%%"}`: "cursor", `{"limit":0}`: "limit", `{"limit":1001}`: "limit"} {
		if err := d.refused("memory/list", params); code(err) != -32602 || data[lsp.ParamErrorData](t, err).Field != field {
			t.Errorf("%s: %v", params, err)
		}
	}
	// Every ref leads back to its memory.
	for _, ref := range paged[2:] {
		var got lsp.GetResult
		if d.call("memory/get", lsp.GetParams{Ref: ref}, &got); got.Ref != ref {
			t.Errorf("%s: %s", ref, got.Ref)
		}
	}
}

func TestGet(t *testing.T) {
	s := newStore(t, others())
	s.write("a.md", "---\r\nname: Aquarium\r\ndescription: tanks\r\ntype: gossip\r\nkeywords: [fish]\r\ncategory: home\r\n"+
		"created_at: 2025-01-02\r\nsupersedes: [desk.md]\r\n---\r\n\r\n- First 🐟 fact, see [[rota]].\r\n- Second fact, see [gone](nosuch.md).\r\n")
	s.write("b.md", note("Pond", "d", "More in [the aquarium](a.md)."))
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	get := func(p lsp.GetParams) (r lsp.GetResult) {
		t.Helper()
		d.call("memory/get", p, &r)
		return r
	}
	r := get(lsp.GetParams{Ref: "project:a.md"})
	if r.Title != "Aquarium" || r.Description != "tanks" || r.Type != "gossip" || !strings.HasSuffix(r.URI, "/a.md") || r.Truncated ||
		!strings.HasPrefix(r.Body, "- First") || !strings.HasSuffix(r.Body, "(nosuch.md).") || len(r.Cut) != 0 {
		t.Errorf("%+v", r)
	}
	if want := (lsp.Range{Start: lsp.Position{Line: 10}, End: lsp.Position{Line: 11, Character: 37}}); r.Range != want {
		t.Errorf("range %+v", r.Range)
	}
	if p := r.Provenance; p.Category != "home" || p.CreatedAt != time.Date(2025, 1, 2, 0, 0, 0, 0, time.UTC) || !slices.Equal(p.Supersedes, []string{"desk.md"}) || !p.ExpiresAt.IsZero() {
		t.Errorf("provenance %+v", p)
	}
	if len(r.Diagnostics) != 1 || r.Diagnostics[0].Code != "type-unknown" || r.Diagnostics[0].Range.Start.Line != 3 {
		t.Errorf("diagnostics %+v", r.Diagnostics)
	}
	if len(r.Entries) != 2 || r.Entries[1].Ref != "project:a.md#1" || r.Entries[1].Range.Start.Line != 11 || !strings.HasPrefix(r.Entries[0].Summary, "First") {
		t.Errorf("entries %+v", r.Entries)
	}
	links := map[string]string{}
	for _, l := range r.Links {
		links[l.Target] = l.Ref
	}
	if fmt.Sprint(links) != "map[desk.md:project:desk.md nosuch.md: rota:project:rota.md]" {
		t.Errorf("links %v", links)
	}
	wantRefs(t, "backlinks", r.Backlinks, "project:b.md")

	e := get(lsp.GetParams{Ref: "project:a.md#1", Version: r.Version})
	if e.Ref != "project:a.md#1" || !strings.Contains(e.Body, "Second") || strings.Contains(e.Body, "First") || e.Range != r.Entries[1].Range {
		t.Errorf("entry %+v", e)
	}
	for ref, want := range map[string]lsp.Kind{
		"project:a.md#2": lsp.KindNotFound, "project:nosuch.md": lsp.KindNotFound, "user:a.md": lsp.KindNotFound, "project@00000000:a.md": lsp.KindNotFound,
		"project:../a.md": lsp.KindPathEscape, "project:/etc/passwd": lsp.KindPathEscape, "project:x/../../a.md": lsp.KindPathEscape,
		"project:%2e%2e/a.md": lsp.KindPathEscape, "project:%252e%252e/a.md": lsp.KindNotFound, `project:..\a.md`: lsp.KindPathEscape,
		"project:a.md%00": lsp.KindPathEscape, "project:C:/x.md": lsp.KindPathEscape, "project:./a.md": lsp.KindPathEscape,
	} {
		err := d.refused("memory/get", lsp.GetParams{Ref: ref})
		if code(err) != -32803 || data[lsp.FailureData](t, err).Kind != want {
			t.Errorf("%s: %v, want %s", ref, err, want)
		}
	}
	for _, ref := range []string{"", "a.md", "moon:a.md", "project:a.md#x", "project:a b.md", "project:%61.md", "project:" + strings.Repeat("a", 20_000)} {
		if err := d.refused("memory/get", lsp.GetParams{Ref: ref}); code(err) != -32602 || data[lsp.ParamErrorData](t, err).Field != "ref" {
			t.Errorf("%.40s: %v", ref, err)
		}
	}
	err := d.refused("memory/get", lsp.GetParams{Ref: "project:a.md#0", Version: "sha256:00"})
	if f := data[lsp.FailureData](t, err); f.Kind != lsp.KindConflict || !slices.Equal(f.Refs, []string{"project:a.md"}) {
		t.Errorf("version: %v", err)
	}
}

// Positions count code units of the negotiated encoding, whatever ends lines.
func TestPositionEncodings(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r"} {
		s := newStore(t, map[string]string{"a.md": "---" + end + "name: Fish" + end + "---" + end + "🐟é中 - one" + end + "x 🐟 [[é🐟]] y"})
		for encoding, want := range map[string]lsp.Range{
			"utf-16": {Start: lsp.Position{Line: 4, Character: 5}, End: lsp.Position{Line: 4, Character: 12}},
			"utf-8":  {Start: lsp.Position{Line: 4, Character: 7}, End: lsp.Position{Line: 4, Character: 17}},
		} {
			d := sit(t, lsp.MemoryOptions{}, serving(s), memoryClient{Encoding: encoding}).settled()
			var r lsp.GetResult
			d.call("memory/get", lsp.GetParams{Ref: "project:a.md"}, &r)
			if len(r.Links) != 1 || r.Links[0].Range != want {
				t.Errorf("%q %s: %+v, want %+v", end, encoding, r.Links, want)
			}
			if r.Range.Start != (lsp.Position{Line: 3}) {
				t.Errorf("%q %s: body at %+v", end, encoding, r.Range)
			}
		}
	}
}

// The age of a fact marks it stale.
func TestStale(t *testing.T) {
	s := newStore(t, map[string]string{
		"old.md": "---\nname: Old fish\nupdated_at: 2026-01-01\n---\nzebrafish one\n", "new.md": "---\nname: New fish\nupdated_at: 2026-02-20\n---\nzebrafish two\n",
	})
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	d := sit(t, lsp.MemoryOptions{Now: func() time.Time { return now }}, serving(s)).settled()
	for _, doc := range d.ask("zebrafish").fast.Documents {
		old := doc.Ref == "project:old.md"
		if (doc.Stale != nil) != old || old && (doc.Stale.Reason != "age" || doc.AgeDays != 59) || !old && doc.AgeDays != 9 {
			t.Errorf("%+v", doc)
		}
	}
}

// memory/status tells what is there, what is not read, and how it is watched.
func TestStatus(t *testing.T) {
	s := newStore(t, gateways())
	s.write("MEMORY.md", "# Index\n")
	if err := os.Symlink("/nowhere", s.path("link.md")); err != nil {
		t.Fatal(err)
	}
	user := newStore(t, nil)
	missing := user.path("not yet")
	d := sit(t, lsp.MemoryOptions{}, lsp.InitializationOptions{Roots: []lsp.RootOption{
		{Scope: "project", Path: s.dir, ReadOnly: true}, {Scope: "user", Path: missing},
	}}).settled()
	r := d.status()
	if len(r.Roots) != 2 {
		t.Fatalf("%+v", r)
	}
	a, b := r.Roots[0], r.Roots[1]
	if a.Scope != "project" || a.Path != s.dir || !a.ReadOnly || a.State != "ready" || a.Catalogued != 8 || a.OnDisk != 9 || len(a.ID) != 8 ||
		a.SkippedTotal != 1 || len(a.Skipped) != 1 || a.Skipped[0].Path != "link.md" || a.Watch.Mode == "" || a.Watch.Since.IsZero() || a.Revision == 0 {
		t.Errorf("%+v", a)
	}
	if b.State != "missing" || b.Reason == "" || b.Catalogued != 0 {
		t.Errorf("%+v", b)
	}
	if r.Model.State != "none" || r.Embeddings.State != "none" || r.Tasks != 0 || r.Plans != 0 {
		t.Errorf("%+v", r)
	}
	if p := r.Process; p.PID != os.Getpid() || p.Version != "v9" || p.StartedAt.IsZero() || p.HeapBytes == 0 || p.Goroutines == 0 || p.UptimeMs < 0 {
		t.Errorf("%+v", p)
	}
}

// memory/changed follows the files, no more than ten times a second; what comes
// closer together is joined.
func TestChangedIsThrottled(t *testing.T) {
	s := newStore(t, gateways())
	pauses := make(chan chan time.Time)
	d := sit(t, lsp.MemoryOptions{After: func(d time.Duration) <-chan time.Time {
		if d != 100*time.Millisecond {
			return time.After(d)
		}
		c := make(chan time.Time)
		pauses <- c
		return c
	}}, serving(s))
	pause := <-pauses // after the first scan
	pass := func() { pause <- time.Time{} }
	seq := 0
	next := func() lsp.ChangedParams {
		t.Helper()
		m, err := d.client.Await(t.Context(), seq, func(m Message) bool { return m.Method == "memory/changed" })
		if err != nil {
			t.Fatal(err)
		}
		seq = m.Seq + 1
		return decode[lsp.ChangedParams](t, m.Params)
	}
	first := next()
	if len(first.Added) == 0 {
		t.Errorf("%+v", first)
	}
	count := func(ok func(lsp.ListResult) bool) {
		t.Helper()
		for { // the notifications are held up, and cannot be waited for
			var l lsp.ListResult
			if d.call("memory/list", nil, &l); ok(l) {
				return
			}
		}
	}
	s.write("new.md", note("New", "d", "b"))
	count(func(l lsp.ListResult) bool { return len(l.Documents) == 9 })
	s.remove("g0.md")
	s.write("new.md", note("New", "d", "another"))
	count(func(l lsp.ListResult) bool { return len(l.Documents) == 8 })
	for _, m := range d.client.Log()[seq:] {
		if m.Method == "memory/changed" {
			t.Error("a change came within the pause")
		}
	}
	pass()
	second := next()
	if !slices.Equal(second.Added, []string{"project:new.md"}) || !slices.Equal(second.Removed, []string{"project:g0.md"}) || second.Revision <= first.Revision {
		t.Errorf("%+v", second)
	}
	<-pauses
}

// memory/statusChanged says when a root becomes ready, and when it goes.
func TestStatusChanged(t *testing.T) {
	user := newStore(t, nil)
	dir := user.path("later")
	d := sit(t, lsp.MemoryOptions{}, lsp.InitializationOptions{Roots: []lsp.RootOption{{Scope: "user", Path: dir}}})
	seq := 0
	await := func(state string) {
		t.Helper()
		m, err := d.client.Await(t.Context(), seq, func(m Message) bool {
			return m.Method == "memory/statusChanged" && decode[lsp.StatusChangedParams](t, m.Params).Roots[0].State == state
		})
		if err != nil {
			t.Fatalf("%s: %v", state, err)
		}
		seq = m.Seq + 1
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	await("ready")
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	await("missing")
}

// A client without the memory capability gets no unasked notifications.
func TestPlainClientsAreLeftAlone(t *testing.T) {
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{}, serving(s), memoryClient{Plain: true}).settled()
	d.ask("gateway timeout")
	for _, m := range d.client.Log() {
		if m.Method == "memory/changed" || m.Method == "memory/statusChanged" || m.Method == "memory/secret" {
			t.Errorf("unasked %s", m.Method)
		}
	}
}

var _ memory.WatchFactory = followers(false)
