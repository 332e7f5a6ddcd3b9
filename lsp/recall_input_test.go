package lsp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memls/memls/lsp"
)

// SCORE-03: a query that holds no word matches nothing, and never "all" or "the
// latest" in disguise.
func TestSCORE_03_QueriesWithoutAWord(t *testing.T) {
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	for _, query := range []string{"？！…", "a", "的", "🔥🔥🔥", "\u200b", "\x00\x00", "---", "   ?   "} {
		r := d.ask(query)
		if r.fast == nil || r.fast.Strategy != "none" || len(r.all()) != 0 || r.refined.Status != "no_relevant_results" {
			t.Errorf("%q: %+v", query, r)
		}
	}
	r := d.ask(strings.Repeat(" ", 2000))
	if r.response.Outcome != "not_started" || r.response.Reason != "empty_query" || len(r.all()) != 0 {
		t.Errorf("spaces: %+v", r)
	}
}

// Queries that are hostile or huge: both ends of them are read, and the
// connection lives.
func TestHostileQueries(t *testing.T) {
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	raw := func(session, query string) recalled {
		t.Helper()
		p := lsp.RecallParams{Token: "t", Session: session}
		pending, err := d.client.Start("memory/recall", `{"token":"t","session":"`+session+`","query":"`+query+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		return d.finish(pending, p)
	}
	for session, query := range map[string]string{
		"32 MiB":          "gateway timeout " + strings.Repeat("and the ", 32<<20/8) + " gateway",
		"spaces":          strings.Repeat(" ", 2000) + "gateway timeout",
		"NUL":             `gateway\u0000 timeout\u0000`,
		"lone surrogates": `\ud800 gateway \udc00 timeout \ud800`,
		"controls":        `\u0007gateway\u001b timeout\r\n`,
	} {
		r := raw(session, query)
		if len(r.all()) != 5 || r.response.Outcome != "settled" {
			t.Errorf("%s: %v %+v", session, r.all(), r.response)
		}
	}
	if r := raw("garbage", strings.Repeat(`\ud800`, 100_000)); len(r.all()) != 0 || r.response.Outcome != "settled" {
		t.Errorf("garbage: %+v", r.response)
	}
	// The answer repeats no half character.
	p := lsp.RecallParams{Token: "\ufffd", Session: "\ufffd"}
	pending, err := d.client.Start("memory/recall", `{"token":"\ud800","session":"\udc00","query":"gateway timeout"}`)
	if err != nil {
		t.Fatal(err)
	}
	if r := d.finish(pending, p); r.response.Token != "\ufffd" {
		t.Errorf("%+v", r.response)
	}
}

// SCORE-13: a newer statement is not below an older one of the same, and the
// older one carries its age.
func TestSCORE_13_NewerStatementFirst(t *testing.T) {
	s := newStore(t, others())
	s.write("old.md", "---\nname: SSH access\nupdated_at: 2020-01-01\n---\nThe SSH port is 22\n")
	s.write("new.md", "---\nname: SSH access\nsupersedes: [old.md]\n---\nThe SSH port: we moved sshd to 49222\n")
	s.write("gone.md", "---\nname: SSH access\nstatus: superseded\n---\nThe SSH port is 2222\n")
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	r := d.ask("what is the SSH port")
	all := r.all()
	if len(all) == 0 || all[0] != "project:new.md" || len(all) > 2 {
		t.Fatalf("%v", all)
	}
	for _, doc := range append(r.fast.Documents, r.refined.Documents...) {
		if doc.Ref == "project:old.md" && (doc.Stale == nil || doc.AgeDays < 2000) {
			t.Errorf("%+v", doc)
		}
	}
}

// SCORE-15: memories without content are listed, never recalled.
func TestSCORE_15_EmptyMemories(t *testing.T) {
	s := newStore(t, others())
	s.write("zebrafish.md", "")
	s.write("zebrafish_2.md", "# Zebrafish\n\n_No entries yet._\n")
	s.write("good.md", note("Tank", "zebrafish", "zebrafish port 7433"))
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	wantRefs(t, "recalled", d.ask("zebrafish").all(), "project:good.md")
	var list lsp.ListResult
	if d.call("memory/list", nil, &list); len(list.Documents) != 6 {
		t.Errorf("%d listed", len(list.Documents))
	}
}

// SCAN-01: a loop of symlinks ends nothing, and is reported.
func TestSCAN_01_SymlinkLoop(t *testing.T) {
	s := newStore(t, others())
	s.write("a.md", note("Fish", "tank", "zebrafish port 7433"))
	s.write("sub/b.md", note("Other", "d", "b"))
	for link, to := range map[string]string{"sub/loop": "..", "sub/z": "/"} {
		if err := os.Symlink(to, s.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	wantRefs(t, "recalled", d.ask("zebrafish").all(), "project:a.md")
	root := d.status().Roots[0]
	if root.Catalogued != 5 || root.SkippedTotal != 2 || root.State != "ready" {
		t.Errorf("%+v", root)
	}
}

// SCAN-02: entries that cannot be read are reported one by one, and hold nothing
// up.
func TestSCAN_02_UnreadableEntries(t *testing.T) {
	s := newStore(t, nil)
	for i := range 10 {
		s.write(fmt.Sprintf("n%d.md", i), note(fmt.Sprintf("Note %d", i), "d", fmt.Sprintf("word%d zebrafish", i)))
	}
	if err := os.Symlink("/nope", s.path("x.md")); err != nil {
		t.Fatal(err)
	}
	fifo(t, s.path("p.md"))
	s.write("secret.md", "x")
	if err := os.Chmod(s.path("secret.md"), 0); err != nil {
		t.Fatal(err)
	}
	denied := 1
	if os.Geteuid() == 0 { // nothing is denied to root: the open fails in its place
		denied = 0
	}
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	root := d.status().Roots[0]
	if root.Catalogued != 11-denied || root.OnDisk != 13 || root.SkippedTotal != 2+denied {
		t.Errorf("%+v", root)
	}
	wantRefs(t, "recalled", d.ask("word7").all(), "project:n7.md")
}

// SCAN-04: the oldest of many memories is found like any other.
func TestSCAN_04_NoWindowOfTheNewest(t *testing.T) {
	s := newStore(t, nil)
	for i := range 400 {
		s.write(fmt.Sprintf("n%03d.md", i), note(fmt.Sprintf("Note %d", i), "d", fmt.Sprintf("port of word%d", i)))
	}
	s.write("old.md", note("Aquarium", "d", "zebrafish-port 7433"))
	s.age("old.md", 3000)
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	if r := d.ask("zebrafish port"); len(r.all()) == 0 || r.all()[0] != "project:old.md" {
		t.Errorf("%v", r.all())
	}
	if root := d.status().Roots[0]; root.Catalogued != 401 || root.OnDisk != 401 {
		t.Errorf("%+v", root)
	}
}

// SCAN-06: what a link says is no path.
func TestSCAN_06_LongLinks(t *testing.T) {
	s := newStore(t, others())
	s.write("a.md", note("Fish", "tank", "zebrafish ["+"x"+"]("+strings.Repeat("long/", 1200)+") [["+strings.Repeat("w", 300)+"]]"))
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	wantRefs(t, "recalled", d.ask("zebrafish").all(), "project:a.md")
	var got lsp.GetResult
	d.call("memory/get", lsp.GetParams{Ref: "project:a.md"}, &got)
	for _, l := range got.Links {
		if l.Ref != "" {
			t.Errorf("%.40s leads to %s", l.Target, l.Ref)
		}
	}
}

// SCAN-08: a header is no title; its words find the memory, and so do those of the
// body.
func TestSCAN_08_TitleAndDescriptionOfTheHeader(t *testing.T) {
	s := newStore(t, others())
	s.write("f.md", "---\nname: auth-rewrite\ndescription: driven by compliance\ntype: project\n---\nSession tokens moved")
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	var list lsp.ListResult
	d.call("memory/list", nil, &list)
	for _, doc := range list.Documents {
		if strings.Contains(doc.Title, "---") || doc.Ref == "project:f.md" && (doc.Title != "auth-rewrite" || doc.Description != "driven by compliance") {
			t.Errorf("%+v", doc)
		}
	}
	for _, query := range []string{"compliance", "session tokens"} {
		r := d.recall(lsp.RecallParams{Session: query, Query: query})
		wantRefs(t, query, r.all(), "project:f.md")
		if !strings.Contains(r.fast.Prompt, "### auth-rewrite (project: f.md)") {
			t.Errorf("%s: prompt\n%s", query, r.fast.Prompt)
		}
	}
}

// PERF-03: what a killed process may have left beside the memories is in
// nobody's way.
func TestPERF_03_LeftoversDoNotHoldUp(t *testing.T) {
	s := newStore(t, gateways())
	for _, name := range []string{".lock", ".memls.lock", "MEMORY.md.tmp", "g0.md.lock", ".g0.md.swp"} {
		s.write(name, "")
	}
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	if r := d.ask("gateway timeout"); len(r.all()) != 5 || len(r.refined.Degraded) != 0 {
		t.Errorf("%v", r.all())
	}
	if left, err := filepath.Glob(s.path("*.lock")); err != nil || len(left) != 3 {
		t.Errorf("%v %v", left, err) // memls writes nothing
	}
}
