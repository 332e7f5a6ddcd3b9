package lsp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memls/memls/lsp"
)

// DELIV-06: what a session holds is not delivered again, and is named; an edited
// text is, once.
func TestDELIV_06_DeliveredOnceInASession(t *testing.T) {
	s := newStore(t, map[string]string{"a.md": note("Aquarium", "fish tank", "zebrafish port is 7433")})
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	const query = "zebrafish port"
	first := d.ask(query)
	wantRefs(t, "first", first.all(), "project:a.md")
	for range 2 {
		r := d.ask(query)
		if len(r.all()) != 0 || r.refined.Status != "already_delivered" || r.fast.Prompt+r.refined.Prompt != "" {
			t.Errorf("again: %+v", r)
		}
		wantRefs(t, "held, fast", r.fast.AlreadyDelivered, "project:a.md")
		wantRefs(t, "held, refined", r.refined.AlreadyDelivered, "project:a.md")
	}
	wantRefs(t, "another session", d.recall(lsp.RecallParams{Session: "other", Query: query}).all(), "project:a.md")

	s.write("a.md", note("Aquarium", "fish tank", "zebrafish port is now 7500"))
	d.changed("project:a.md", first.fast.Documents[0].Version)
	r := d.ask(query)
	wantRefs(t, "after the edit", r.all(), "project:a.md")
	if doc := r.fast.Documents[0]; doc.State != "updated" || !strings.Contains(doc.Body, "7500") || len(r.fast.AlreadyDelivered) != 0 {
		t.Errorf("after the edit: %+v", doc)
	}
	if r := d.ask(query); len(r.all()) != 0 {
		t.Errorf("the edited text came twice: %v", r.all())
	}
}

// Editing what cannot be rendered does not deliver again.
func TestPinDoesNotDeliverAgain(t *testing.T) {
	s := newStore(t, map[string]string{"a.md": note("Aquarium", "fish tank", "zebrafish port is 7433")})
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	before := d.ask("zebrafish port").fast.Documents[0].Version
	s.write("a.md", "---\nname: Aquarium\ndescription: fish tank\ntype: reference\npinned: true\nkeywords: [zebrafish]\n---\n\nzebrafish port is 7433\n")
	now := d.changed("project:a.md", before)
	if r := d.ask("zebrafish port"); len(r.all()) != 0 || r.refined.Status != "already_delivered" {
		t.Errorf("pinned: %+v", r)
	}
	s.write("a.md", note("Aquarium", "another description", "zebrafish port is 7433"))
	d.changed("project:a.md", now)
	if r := d.ask("zebrafish port"); len(r.all()) != 1 || r.fast.Documents[0].State != "updated" {
		t.Errorf("another description: %+v", r)
	}
}

// A passage that overlaps none delivered is more of the same memory.
func TestAnotherPassageIsMore(t *testing.T) {
	gap := strings.Repeat("Lorem ipsum dolor sit amet. ", 100)
	s := newStore(t, map[string]string{"long.md": note("Logbook", "notes", "The zebrafish port is 7433.\n\n"+gap+"\n\nThe walrus gate is 9911.")})
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	first := d.ask("zebrafish port").fast.Documents
	if len(first) != 1 || first[0].State != "new" || !first[0].Truncated || strings.Contains(first[0].Body, "walrus") {
		t.Fatalf("first %+v", first)
	}
	more := d.ask("walrus gate").fast.Documents
	if len(more) != 1 || more[0].State != "more" || !strings.Contains(more[0].Body, "walrus") || more[0].Range.Start.Line < first[0].Range.End.Line {
		t.Fatalf("more %+v", more)
	}
	for _, query := range []string{"zebrafish port", "walrus gate"} {
		if r := d.ask(query); len(r.all()) != 0 || len(r.refined.AlreadyDelivered) != 1 {
			t.Errorf("%s came again: %+v", query, r)
		}
	}
	// The passages stay where they are when the header grows.
	s.write("long.md", "---\nname: Logbook\ndescription: notes\ntype: project\npinned: true\nowner: somebody else\n---\nThe zebrafish port is 7433.\n\n"+gap+"\n\nThe walrus gate is 9911.\n")
	d.changed("project:long.md", first[0].Version)
	if r := d.ask("walrus gate"); len(r.all()) != 0 {
		t.Errorf("after a change of the header: %+v", r.all())
	}
}

// What is held is left out before the top is cut, so that others come up; what
// is too weak beside it does not.
func TestHeldMemoriesMakeRoom(t *testing.T) {
	s := newStore(t, gateways())
	for i := range 3 {
		s.write(fmt.Sprintf("h%d.md", i), note(fmt.Sprintf("Gateway habit %d", i), "gateway timeouts", "gateway timeout, once"))
	}
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	seen := map[string]bool{}
	for want := 8; want > 0; {
		r := d.ask("gateway timeout")
		n := len(r.all())
		if n != min(want, 5) {
			t.Fatalf("delivered %v, want %d", r.all(), min(want, 5))
		}
		for _, ref := range r.all() {
			if seen[ref] {
				t.Errorf("%s came twice", ref)
			}
			seen[ref] = true
		}
		want -= n
	}
	if r := d.ask("gateway timeout"); r.refined.Status != "already_delivered" || len(r.refined.AlreadyDelivered) != 8 {
		t.Errorf("%+v", r.refined)
	}
}

// reset and compacted clear the ledger, or only the refs that they name.
func TestResetSession(t *testing.T) {
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	first := d.ask("gateway timeout").all()
	for _, params := range []string{`{"session":"s","reason":"reset"}`, `{"session":"s","reason":"compacted"}`} {
		if r := d.ask("gateway timeout"); len(r.all()) != 0 {
			t.Fatal("not held")
		}
		d.call("memory/resetSession", params, nil)
		wantRefs(t, params, d.ask("gateway timeout").all(), first...)
	}
	for _, params := range []string{
		`{"session":"s","refs":["project:g1.md"]}`,
		`{"session":"s","reason":"compacted","refs":["project:g1.md","project:nosuch.md"]}`,
		`{"session":"s","reason":"reset","refs":["project:g1.md"]}`,
	} {
		d.call("memory/resetSession", params, nil)
		wantRefs(t, params, d.ask("gateway timeout").all(), "project:g1.md")
	}
	d.call("memory/resetSession", `{"session":"s","reason":"compacted","refs":[]}`, nil)
	if r := d.ask("gateway timeout"); len(r.all()) != 0 {
		t.Errorf("no refs forgot %v", r.all())
	}
	d.call("memory/resetSession", `{"session":"never seen","reason":"reset"}`, nil)
	for params, field := range map[string]string{
		`{}`: "session", `{"session":"s"}`: "reason", `{"session":"s","reason":"x"}`: "reason", `{"session":"s","reason":"x","refs":[]}`: "reason",
	} {
		if err := d.refused("memory/resetSession", params); code(err) != -32602 || data[lsp.ParamErrorData](t, err).Field != field {
			t.Errorf("%s: %v", params, err)
		}
	}
}

// delivered seeds the ledger: a memory in the version that the context holds is
// held whole, one in another has an older text there.
func TestDeliveredSeedsTheLedger(t *testing.T) {
	long := "The zebrafish port is 7433.\n\n" + strings.Repeat("Lorem ipsum dolor sit amet. ", 100) + "\n\nThe walrus gate is 9911."
	s := newStore(t, map[string]string{"a.md": note("Aquarium", "fish tank", long), "b.md": note("Pond", "zebrafish", "zebrafish pond port")})
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	versions := map[string]string{}
	var list lsp.ListResult
	d.call("memory/list", nil, &list)
	for _, doc := range list.Documents {
		versions[doc.Ref] = doc.Version
	}
	seed := []lsp.VersionedRef{
		{Ref: "project:a.md", Version: versions["project:a.md"]}, {Ref: "project:b.md", Version: "sha256:" + strings.Repeat("0", 64)},
		{Ref: "team:gone.md", Version: "sha256:" + strings.Repeat("1", 64)},
	}
	r := d.recall(lsp.RecallParams{Query: "zebrafish port", Delivered: seed})
	wantRefs(t, "seeded", r.all(), "project:b.md")
	if r.fast.Documents[0].State != "updated" {
		t.Errorf("older version: %+v", r.fast.Documents[0])
	}
	wantRefs(t, "held", r.fast.AlreadyDelivered, "project:a.md")
	// All of it is held, and stays so for later recalls and after a pin.
	if r := d.ask("walrus gate"); len(r.all()) != 0 {
		t.Errorf("another passage: %v", r.all())
	}
	s.write("a.md", "---\nname: Aquarium\ndescription: fish tank\npinned: true\n---\n"+long+"\n")
	d.changed("project:a.md", versions["project:a.md"])
	if r := d.ask("walrus gate"); len(r.all()) != 0 {
		t.Errorf("after a pin: %v", r.all())
	}
}

// Sessions are bounded: the one that was not used for the longest time goes.
func TestSessionsAreBounded(t *testing.T) {
	s := newStore(t, map[string]string{"a.md": note("Aquarium", "fish tank", "zebrafish port is 7433")})
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	held := func(session string) bool {
		return len(d.recall(lsp.RecallParams{Session: session, Query: "zebrafish port"}).all()) == 0
	}
	held("old")
	held("kept")
	for i := range 1022 {
		d.notify("memory/toolUsed", lsp.ToolUsedParams{Session: fmt.Sprint(i), Tool: "t", Status: "ok"})
	}
	if !held("kept") {
		t.Error("fewer than 1,024 sessions are kept")
	}
	d.notify("memory/toolUsed", lsp.ToolUsedParams{Session: "one more", Tool: "t", Status: "ok"})
	if held("old") {
		t.Error("more than 1,024 sessions are kept")
	}
	if !held("kept") {
		t.Error("a session in use was forgotten")
	}
}

// SEC-09: what one project's client has is not seen, and not held, in
// another's, though their sessions and files have the same names.
func TestSEC_09_ProjectsAreApart(t *testing.T) {
	a := newStore(t, map[string]string{"n.md": note("Notes", "secret", "the walrusgate password hint")})
	b := newStore(t, map[string]string{"n.md": note("Notes", "secret", "the zebrafish port hint")})
	da := sit(t, lsp.MemoryOptions{}, serving(a)).settled()
	db := sit(t, lsp.MemoryOptions{}, serving(b)).settled()
	wantRefs(t, "a", da.ask("walrusgate password").all(), "project:n.md")
	if r := db.ask("walrusgate password"); len(r.all()) != 0 || len(r.refined.AlreadyDelivered) != 0 {
		t.Errorf("b sees %+v", r)
	}
	wantRefs(t, "b", db.ask("zebrafish port").all(), "project:n.md")
	var found lsp.SearchResult
	if db.call("memory/search", lsp.SearchParams{Query: "walrusg"}, &found); found.Total != 0 {
		t.Errorf("b finds %+v", found)
	}
}
