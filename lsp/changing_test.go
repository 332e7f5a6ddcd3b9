package lsp_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/model/modeltest"
)

// bureau is a desk over a project and a user root, whose state the test knows.
type bureau struct {
	*desk
	project, user store
	state         string
}

func furnish(t testing.TB, project, user map[string]string, tune ...func(*lsp.InitializationOptions)) *bureau {
	t.Helper()
	b := &bureau{project: newStore(t, project), user: newStore(t, user), state: filepath.Join(t.TempDir(), "state")}
	settings := lsp.InitializationOptions{Trusted: true, Roots: []lsp.RootOption{b.project.root("project"), b.user.root("user")}}
	for _, f := range tune {
		f(&settings)
	}
	b.desk = sit(t, lsp.MemoryOptions{State: b.state}, settings).settled()
	return b
}

// asks calls a request and decodes its result.
func asks[T any](d *desk, method string, params any) T {
	d.t.Helper()
	var result T
	d.call(method, params, &result)
	return result
}

// fails calls a request that must be refused with a kind.
func (d *desk) fails(kind lsp.Kind, method string, params any) lsp.FailureData {
	d.t.Helper()
	err := d.refused(method, params)
	if code(err) != -32803 {
		d.t.Fatalf("%s %+v: %v, want %s", method, params, err, kind)
	}
	f := data[lsp.FailureData](d.t, err)
	if f.Kind != kind {
		d.t.Errorf("%s %+v: %+v, want %s", method, params, f, kind)
	}
	return f
}

// malformed calls a request that must be refused for a field.
func (d *desk) malformed(field, method string, params any) {
	d.t.Helper()
	err := d.refused(method, params)
	if code(err) != -32602 || data[lsp.ParamErrorData](d.t, err).Field != field {
		d.t.Errorf("%s %+v: %v, want %s", method, params, err, field)
	}
}

func (s store) text(name string) string {
	s.t.Helper()
	raw, err := os.ReadFile(s.path(name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(raw)
}

// spellings are a text as it stands in a file: plainly, and inside base64, where
// its beginning falls on any of three places.
func spellings(text string) []string {
	out := []string{text}
	for shift := range min(3, len(text)) {
		whole := (len(text) - shift) / 3 * 3
		out = append(out, base64.StdEncoding.EncodeToString([]byte(text[shift:shift+whole])))
	}
	return out
}

// holding are the files below a directory that hold a text.
func holding(t testing.TB, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if slices.ContainsFunc(spellings(text), func(s string) bool { return strings.Contains(string(raw), s) || strings.Contains(path, s) }) {
			found = append(found, path)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return found
}

func TestRememberOverTheWire(t *testing.T) {
	b := furnish(t, nil, nil)
	r := asks[lsp.RememberResult](b.desk, "memory/remember", lsp.RememberParams{Text: "Remember that the zebrafish tank is cleaned on Mondays", Keywords: []string{"aquarium"}})
	if r.Kind != "remember" || r.ID == "" || len(r.Changes) != 1 || r.Changes[0].Action != "create" || r.Changes[0].To == "" || r.UndoUntil.IsZero() || !r.CreatedAt.IsZero() {
		t.Fatalf("%+v", r)
	}
	ref := r.Changes[0].Ref
	if ref != "user:the-zebrafish-tank-is-cleaned-on-mondays.md" {
		t.Errorf("remembered as %s", ref)
	}
	// When the answer is there, everybody sees it.
	wantRefs(t, "recalled at once", b.ask("zebrafish tank").all(), ref)
	again := asks[lsp.RememberResult](b.desk, "memory/remember", lsp.RememberParams{Text: "the zebrafish tank is cleaned on Mondays"})
	if len(again.Changes) != 0 || !slices.Equal(again.Unchanged, []string{ref}) || again.ID != "" {
		t.Errorf("said again: %+v", again)
	}
	// The command is the same request.
	byCommand := asks[lsp.RememberResult](b.desk, "workspace/executeCommand", map[string]any{
		"command": "memory.remember", "arguments": []any{map[string]any{"text": "in this project the port is 22", "apply": false}},
	})
	if byCommand.ID == "" || byCommand.CreatedAt.IsZero() || len(byCommand.Changes) != 1 || byCommand.Changes[0].Diff == "" || byCommand.Warnings == nil {
		t.Errorf("planned: %+v", byCommand)
	}
	if found := holding(t, b.project.dir, ""); len(found) != 0 {
		t.Errorf("a plan wrote %q", found)
	}
	op := asks[lsp.Operation](b.desk, "memory/apply", lsp.ApplyParams{Plan: byCommand.ID})
	if op.Kind != "remember" || op.Changes[0].Ref != "project:in-this-project-the-port-is-22.md" {
		t.Errorf("applied: %+v", op)
	}
	ops := asks[lsp.OperationsResult](b.desk, "memory/operations", nil)
	if len(ops.Operations) != 2 || ops.Operations[0].ID != op.ID || ops.Truncated {
		t.Errorf("operations: %+v", ops)
	}
	undo := asks[lsp.Operation](b.desk, "memory/undo", lsp.UndoParams{Operation: op.ID})
	if undo.Kind != "undo" || undo.Undoes != op.ID {
		t.Errorf("undone: %+v", undo)
	}
	b.fails(lsp.KindNotFound, "memory/get", lsp.GetParams{Ref: op.Changes[0].Ref})
	b.fails(lsp.KindStalePlan, "memory/undo", lsp.UndoParams{Operation: op.ID})
	asks[lsp.Operation](b.desk, "memory/undo", lsp.UndoParams{Operation: undo.ID})
	asks[lsp.GetResult](b.desk, "memory/get", lsp.GetParams{Ref: op.Changes[0].Ref})
}

func TestChangingRefusesBadInput(t *testing.T) {
	long := strings.Repeat("x", 300)
	files := map[string]string{"a.md": "- one thing\n- another thing\n"}
	b := furnish(t, files, nil)
	for _, tt := range []struct {
		field, method string
		params        any
	}{
		{"text", "memory/remember", lsp.RememberParams{}},
		{"text", "memory/remember", lsp.RememberParams{Text: " \u200b "}},
		{"text", "memory/remember", `{"text": 7}`},
		{"scope", "memory/remember", lsp.RememberParams{Text: "x", Scope: "galaxy"}},
		{"session", "memory/remember", lsp.RememberParams{Text: "x", Session: long}},
		{"keywords", "memory/remember", lsp.RememberParams{Text: "x", Keywords: make([]string, 33)}},
		{"query", "memory/forget", lsp.ForgetParams{}},
		{"query", "memory/forget", lsp.ForgetParams{Query: "a"}},
		{"query", "memory/forget", lsp.ForgetParams{Query: " .* "}},
		{"refs", "memory/forget", lsp.ForgetParams{Query: "thing", Refs: []lsp.MemoryTarget{{Ref: "project:a.md"}}}},
		{"refs[0]", "memory/forget", lsp.ForgetParams{Refs: []lsp.MemoryTarget{{Ref: "project:" + long}}}},
		{"refs[1]", "memory/forget", lsp.ForgetParams{Refs: []lsp.MemoryTarget{{Ref: "project:a.md"}, {Ref: "moon:a.md"}}}},
		{"limit", "memory/forget", lsp.ForgetParams{Query: "thing", Limit: pointer(0)}},
		{"limit", "memory/forget", lsp.ForgetParams{Query: "thing", Limit: pointer(101)}},
		{"scopes[0]", "memory/forget", lsp.ForgetParams{Query: "thing", Scopes: []string{"x"}}},
		{"plan", "memory/apply", lsp.ApplyParams{}},
		{"only", "memory/apply", `{"plan": "p", "only": []}`},
		{"plan", "memory/discard", lsp.DiscardParams{}},
		{"operation", "memory/undo", lsp.UndoParams{}},
		{"limit", "memory/operations", lsp.OperationsParams{Limit: pointer(0)}},
		{"kinds", "memory/plans", lsp.PlansParams{Kinds: []string{"x"}}},
		{"ref", "memory/pin", lsp.PinParams{Ref: "a.md", Pinned: true}},
		{"ref", "memory/pin", lsp.PinParams{Ref: "project:a.md#0", Pinned: true}},
		{"verdict", "memory/feedback", lsp.FeedbackParams{Ref: "project:a.md", Verdict: "great"}},
		{"scope", "memory/move", lsp.MoveParams{Ref: "project:a.md"}},
		{"scope", "memory/rebuildIndex", lsp.RebuildIndexParams{}},
	} {
		b.malformed(tt.field, tt.method, tt.params)
	}
	for _, ref := range []string{"project:../a.md", "project:%2e%2e/a.md", "project:%2E%2E/a.md", "project:/etc/passwd", `project:..\a.md`, "project:a%00.md", "project:C:/x.md"} {
		b.fails(lsp.KindPathEscape, "memory/forget", lsp.ForgetParams{Refs: []lsp.MemoryTarget{{Ref: ref}}})
		b.fails(lsp.KindPathEscape, "memory/pin", lsp.PinParams{Ref: ref, Pinned: true})
		b.fails(lsp.KindPathEscape, "memory/move", lsp.MoveParams{Ref: ref, Scope: "user"})
		b.fails(lsp.KindPathEscape, "memory/feedback", lsp.FeedbackParams{Ref: ref, Verdict: "useful"})
	}
	b.fails(lsp.KindNotFound, "memory/forget", lsp.ForgetParams{Query: "zebrafish"})
	b.fails(lsp.KindNotFound, "memory/forget", lsp.ForgetParams{Refs: []lsp.MemoryTarget{{Ref: "project:none.md"}}})
	b.fails(lsp.KindNotFound, "memory/forget", lsp.ForgetParams{Refs: []lsp.MemoryTarget{{Ref: "project:a.md#2"}}})
	b.fails(lsp.KindConflict, "memory/forget", lsp.ForgetParams{Refs: []lsp.MemoryTarget{{Ref: "project:a.md#1", Version: "sha256:00"}}})
	b.fails(lsp.KindNotFound, "memory/apply", lsp.ApplyParams{Plan: "p-1"})
	b.fails(lsp.KindNotFound, "memory/apply", lsp.ApplyParams{Plan: "../../x"})
	b.fails(lsp.KindNotFound, "memory/discard", lsp.DiscardParams{Plan: "p-1"})
	b.fails(lsp.KindNotFound, "memory/undo", lsp.UndoParams{Operation: "o-1"})
	b.fails(lsp.KindTooLarge, "memory/remember", lsp.RememberParams{Text: strings.Repeat("x", memory.MaxRememberBytes+1)})
	b.fails(lsp.KindNotFound, "memory/remember", lsp.RememberParams{Text: "x y", Scope: "team"})
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	if f := b.fails(lsp.KindSecretFound, "memory/remember", lsp.RememberParams{Text: "the token is " + secret}); !strings.Contains(f.Detail, "github-token") || strings.Contains(f.Detail, secret) || len(f.Refs) > 0 {
		t.Errorf("%+v", f)
	}
	if got := b.project.text("a.md"); got != files["a.md"] {
		t.Errorf("%q", got)
	}
	if found := holding(t, b.user.dir, ""); len(found) != 0 {
		t.Errorf("written: %q", found)
	}
	for _, m := range b.client.Log() {
		if strings.Contains(string(m.Result)+string(m.Params), secret) {
			t.Errorf("a credential was sent: %s", m.Method)
		}
	}
}

// A plan is applied once, in the changes that were chosen, and only while the
// files are what it was made from.
func TestPlansAreAppliedOnce(t *testing.T) {
	b := furnish(t, map[string]string{"a.md": "dark mode in the editor\n", "b.md": "dark mode in the terminal\n", "c.md": "- dark mode everywhere\n- else\n"}, nil)
	plan := asks[lsp.Plan](b.desk, "memory/forget", lsp.ForgetParams{Query: "dark mode"})
	if len(plan.Changes) != 3 || plan.Kind != "forget" {
		t.Fatalf("%+v", plan)
	}
	b.malformed("only", "memory/apply", lsp.ApplyParams{Plan: plan.ID})
	b.malformed("only", "memory/apply", lsp.ApplyParams{Plan: plan.ID, Only: []string{"c9"}})
	at := slices.IndexFunc(plan.Changes, func(c lsp.PlanChange) bool { return c.Ref == "project:c.md#0" })
	if at < 0 {
		t.Fatalf("%+v", plan.Changes)
	}
	op := asks[lsp.Operation](b.desk, "memory/apply", lsp.ApplyParams{Plan: plan.ID, Only: []string{plan.Changes[at].ID}})
	if len(op.Changes) != 1 || op.Changes[0].Ref != "project:c.md" || b.project.text("c.md") != "- else\n" {
		t.Errorf("%+v, %q", op, b.project.text("c.md"))
	}
	b.fails(lsp.KindNotFound, "memory/apply", lsp.ApplyParams{Plan: plan.ID, Only: []string{plan.Changes[at].ID}})
	plan = asks[lsp.Plan](b.desk, "memory/forget", lsp.ForgetParams{Refs: []lsp.MemoryTarget{{Ref: "project:a.md"}}})
	b.project.write("a.md", "changed meanwhile\n")
	if f := b.fails(lsp.KindStalePlan, "memory/apply", lsp.ApplyParams{Plan: plan.ID}); !slices.Equal(f.Refs, []string{"project:a.md"}) {
		t.Errorf("%+v", f)
	}
	if got := b.project.text("a.md"); got != "changed meanwhile\n" {
		t.Errorf("%q", got)
	}
	asks[lsp.DiscardResult](b.desk, "memory/discard", lsp.DiscardParams{Plan: plan.ID})
	b.fails(lsp.KindNotFound, "memory/discard", lsp.DiscardParams{Plan: plan.ID})
	if plans := asks[lsp.PlansResult](b.desk, "memory/plans", nil); len(plans.Plans) != 0 {
		t.Errorf("in the inbox: %+v", plans)
	}
}

// After forgetting, no path serves it: not the catalog, not the index, not a
// recall that was choosing when it happened, not a plan; and after a purge no
// file of memls holds it.
func TestForgottenIsServedNowhere(t *testing.T) {
	const word = "zebrafish"
	stub := modeltest.New(t)
	release := make(chan struct{})
	b := furnish(t, map[string]string{"other.md": note("Other", "another thing", "tanks are blue"), "linking.md": note("Linking", "links", "see [[tank]]")},
		map[string]string{"tank.md": note("Tank", "where fish live", "The zebrafish tank is cleaned on Mondays.")},
		func(o *lsp.InitializationOptions) { o.Model = &lsp.ModelOptions{BaseURL: stub.URL(), Name: "m"} })
	// Something happened to it before: an operation and a plan hold its text.
	asks[lsp.Operation](b.desk, "memory/pin", lsp.PinParams{Ref: "user:tank.md", Pinned: true})
	moving := asks[lsp.Plan](b.desk, "memory/move", lsp.MoveParams{Ref: "user:tank.md", Scope: "project"})
	if len(holding(t, b.state, word)) == 0 {
		t.Fatal("the state holds nothing: the test looks in the wrong place")
	}
	plan := asks[lsp.Plan](b.desk, "memory/forget", lsp.ForgetParams{Refs: []lsp.MemoryTarget{{Ref: "user:tank.md"}}})

	stub.Otherwise(modeltest.When(release, modeltest.Choose("Tank", "Other")))
	p := lsp.RecallParams{Token: "inflight", Session: "one", Query: "tanks blue", Limit: pointer(5)}
	pending := b.begin(p)
	b.awaitFast("inflight")
	op := asks[lsp.Operation](b.desk, "memory/apply", lsp.ApplyParams{Plan: plan.ID, Purge: true})
	if !op.Purged || !op.UndoUntil.IsZero() {
		t.Errorf("%+v", op)
	}
	seen := len(b.client.Log())
	close(release)
	if r := b.finish(pending, p); slices.Contains(r.all(), "user:tank.md") && !slices.Contains(refs(r.fast.Documents), "user:tank.md") {
		t.Errorf("a recall in flight delivered it: %v", r.all())
	}
	stub.Otherwise(modeltest.Choose("Tank"))
	searched := []string{}
	ask := func(what, method string, params any) {
		t.Helper()
		var raw json.RawMessage
		_ = b.client.Call(t.Context(), method, params, &raw) // also an error must not name it
		if searched = append(searched, what); strings.Contains(string(raw), word) {
			t.Errorf("%s holds it: %s", what, raw)
		}
	}
	for _, session := range []string{"one", "two"} {
		b.recall(lsp.RecallParams{Session: session, Query: "zebrafish tank cleaned Mondays"})
	}
	ask("search", "memory/search", lsp.SearchParams{Query: "zebraf", Inactive: true, Trace: true})
	ask("list", "memory/list", lsp.ListParams{})
	ask("get", "memory/get", lsp.GetParams{Ref: "user:tank.md"})
	ask("get of what links to it", "memory/get", lsp.GetParams{Ref: "project:linking.md"})
	ask("forget", "memory/forget", lsp.ForgetParams{Query: "zebrafish tank"})
	ask("plans", "memory/plans", nil)
	ask("the plan to move it", "memory/apply", lsp.ApplyParams{Plan: moving.ID})
	ask("operations", "memory/operations", nil)
	ask("undo", "memory/undo", lsp.UndoParams{Operation: op.ID})
	ask("status", "memory/status", nil)
	for _, m := range b.client.Log()[seen:] {
		if strings.Contains(string(m.Params)+string(m.Result), word) {
			t.Errorf("a message after it was forgotten holds it: %s %s", m.Method, m.Params)
		}
	}
	for _, dir := range []string{b.state, b.project.dir, b.user.dir} {
		searched = append(searched, fmt.Sprintf("%d files below %s", len(holding(t, dir, "")), filepath.Base(dir)))
		if found := holding(t, dir, word); len(found) != 0 {
			t.Errorf("files hold it: %q", found)
		}
	}
	t.Logf("0 hits in %d places: %s, every message sent", len(searched)+1, strings.Join(searched, ", "))
	b.fails(lsp.KindNotFound, "memory/apply", lsp.ApplyParams{Plan: moving.ID})
}

// An answer that says that it is forgotten is true: whatever is asked next does
// not find it, however often.
func TestForgetIsOverWhenItAnswers(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("n%02d.md", i)] = note(fmt.Sprintf("Fish %d", i), "fish", fmt.Sprintf("zebrafish%d swims", i))
	}
	b := furnish(t, files, nil)
	for i := range 20 {
		ref := fmt.Sprintf("project:n%02d.md", i)
		plan := asks[lsp.Plan](b.desk, "memory/forget", lsp.ForgetParams{Refs: []lsp.MemoryTarget{{Ref: ref}}})
		asks[lsp.Operation](b.desk, "memory/apply", lsp.ApplyParams{Plan: plan.ID})
		if got := b.recall(lsp.RecallParams{Query: fmt.Sprintf("zebrafish%d", i)}).all(); slices.Contains(got, ref) {
			t.Fatalf("%s was recalled after it was forgotten", ref)
		}
	}
}

func TestFeedbackOverTheWire(t *testing.T) {
	body := func(words string) string { return "The kestrel nests in May. " + words }
	b := furnish(t, map[string]string{
		"one.md": note("Bird one", "birds\nupdated_at: 2026-01-02", body("alder birch cedar elder maple willow poplar hazel rowan")),
		"two.md": note("Bird two", "birds\nupdated_at: 2026-01-01", body("agate beryl coral ebony flint garnet ivory jasper onyx")),
	}, nil)
	search := func() lsp.SearchResult {
		return asks[lsp.SearchResult](b.desk, "memory/search", lsp.SearchParams{Query: "kestrel", Trace: true})
	}
	wantRefs(t, "without verdicts", refs(search().Documents), "project:one.md", "project:two.md")
	r := asks[lsp.FeedbackResult](b.desk, "memory/feedback", lsp.FeedbackParams{Ref: "project:two.md#0", Verdict: "useful"})
	if r.Ref != "project:two.md" || r.Feedback.Useful != 1 {
		t.Errorf("%+v", r)
	}
	found := search()
	wantRefs(t, "after a verdict", refs(found.Documents), "project:two.md", "project:one.md")
	if c := found.Trace.Candidates[0]; c.Feedback != 1 {
		t.Errorf("the trace does not say so: %+v", c)
	}
	list := asks[lsp.ListResult](b.desk, "memory/list", nil)
	if f := list.Documents[1].Feedback; f == nil || f.Useful != 1 || list.Documents[0].Feedback != nil {
		t.Errorf("listed: %+v", list.Documents)
	}
	// It outlives the server.
	e := sit(t, lsp.MemoryOptions{State: b.state}, lsp.InitializationOptions{Trusted: true, Roots: []lsp.RootOption{b.project.root("project")}}).settled()
	e.until("verdicts of before", func(l lsp.ListResult) bool { return true })
	if f := asks[lsp.FeedbackResult](e, "memory/feedback", lsp.FeedbackParams{Ref: "project:two.md", Verdict: "wrong"}).Feedback; f.Useful != 1 || f.Wrong != 1 {
		t.Errorf("%+v", f)
	}
}

func TestMoveOverTheWire(t *testing.T) {
	b := furnish(t, map[string]string{"sub/a.md": "\uFEFF- a fish\r\n"}, map[string]string{"sub/A.md": "taken"})
	plan := asks[lsp.Plan](b.desk, "memory/move", lsp.MoveParams{Ref: "project:sub/a.md", Scope: "user"})
	op := asks[lsp.Operation](b.desk, "memory/apply", lsp.ApplyParams{Plan: plan.ID})
	if len(op.Changes) != 2 || len(plan.Warnings) != 1 {
		t.Errorf("%+v, %+v", op, plan)
	}
	if got := b.user.text("sub/a-2.md"); got != "\uFEFF- a fish\r\n" {
		t.Errorf("%q", got)
	}
	wantRefs(t, "moved", b.ask("fish").all(), "user:sub/a-2.md")
	b.fails(lsp.KindConflict, "memory/move", lsp.MoveParams{Ref: "user:sub/a-2.md", Scope: "user"})
	b.fails(lsp.KindNotFound, "memory/move", lsp.MoveParams{Ref: "user:sub/a-2.md", Scope: "team"})
}

// What may not be written is refused by its kind; what cannot be kept is said to
// be disabled.
func TestChangingWhereNothingMayBeWritten(t *testing.T) {
	b := furnish(t, map[string]string{"a.md": "a fish\n"}, nil, func(o *lsp.InitializationOptions) { o.Roots[0].ReadOnly, o.Roots[1].ReadOnly = true, true })
	b.fails(lsp.KindReadOnly, "memory/remember", lsp.RememberParams{Text: "something"})
	b.fails(lsp.KindReadOnly, "memory/forget", lsp.ForgetParams{Refs: []lsp.MemoryTarget{{Ref: "project:a.md"}}})
	b.fails(lsp.KindNotFound, "memory/forget", lsp.ForgetParams{Query: "fish"})
	b.fails(lsp.KindReadOnly, "memory/pin", lsp.PinParams{Ref: "project:a.md", Pinned: true})
	b.fails(lsp.KindReadOnly, "memory/rebuildIndex", lsp.RebuildIndexParams{Scope: "project"})

	ws := newStore(t, map[string]string{"memory/a.md": "a fish\n"})
	options := lsp.InitializationOptions{Roots: []lsp.RootOption{{Scope: "project", Path: ws.path("memory")}}}
	d := sit(t, lsp.MemoryOptions{}, options, memoryClient{Folders: []string{ws.dir}}).settled()
	d.fails(lsp.KindUntrusted, "memory/remember", lsp.RememberParams{Text: "something"})
	d.fails(lsp.KindNotFound, "memory/forget", lsp.ForgetParams{Query: "fish"})

	bare := sit(t, lsp.MemoryOptions{State: stateless}, serving(newStore(t, map[string]string{"a.md": "a fish\n"}))).settled()
	bare.fails(lsp.KindDisabled, "memory/remember", lsp.RememberParams{Text: "something"})
	// A file in the place of the directory for state.
	s := newStore(t, map[string]string{"a.md": "a fish\n"})
	e := sit(t, lsp.MemoryOptions{State: s.path("a.md")}, serving(s)).settled()
	err := e.refused("memory/remember", lsp.RememberParams{Text: "something"})
	if k := data[lsp.FailureData](t, err).Kind; k != lsp.KindIO && k != lsp.KindDisabled {
		t.Errorf("%v", err)
	}
	wantRefs(t, "recall goes on", e.ask("fish").all(), "project:a.md")
}

// A forgotten memory never comes back by a late event of its file.
func TestForgottenStaysForgotten(t *testing.T) {
	b := furnish(t, map[string]string{"a.md": "a zebrafish\n"}, nil)
	plan := asks[lsp.Plan](b.desk, "memory/forget", lsp.ForgetParams{Query: "zebrafish"})
	asks[lsp.Operation](b.desk, "memory/apply", lsp.ApplyParams{Plan: plan.ID})
	m, err := b.client.Await(t.Context(), 0, func(m lsptest.Message) bool {
		return m.Method == "memory/changed" && slices.Contains(decode[lsp.ChangedParams](t, m.Params).Removed, "project:a.md")
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, later := range b.client.Log()[m.Seq:] {
		if later.Method == "memory/changed" && slices.Contains(decode[lsp.ChangedParams](t, later.Params).Added, "project:a.md") {
			t.Error("it came back")
		}
	}
}

// What an editor has not saved is not overwritten, and not taken away.
func TestUnsavedChangesAreAConflict(t *testing.T) {
	b := furnish(t, map[string]string{"a.md": "- one fish\n- two fish\n"}, nil)
	uri := "file://" + b.project.path("a.md")
	plan := asks[lsp.Plan](b.desk, "memory/forget", lsp.ForgetParams{Refs: []lsp.MemoryTarget{{Ref: "project:a.md#0"}}})
	b.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "markdown", "version": 1, "text": "- one fish\n- two fish\n"}})
	b.notify("textDocument/didChange", map[string]any{
		"textDocument": map[string]any{"uri": uri, "version": 2}, "contentChanges": []any{map[string]any{"text": "- one fish\n- two fish\n- typed\n"}},
	})
	b.fails(lsp.KindConflict, "memory/apply", lsp.ApplyParams{Plan: plan.ID})
	b.fails(lsp.KindConflict, "memory/pin", lsp.PinParams{Ref: "project:a.md", Pinned: true})
	b.fails(lsp.KindConflict, "memory/forget", lsp.ForgetParams{Refs: []lsp.MemoryTarget{{Ref: "project:a.md"}}})
	b.fails(lsp.KindConflict, "memory/move", lsp.MoveParams{Ref: "project:a.md", Scope: "user"})
	b.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": uri}})
	asks[lsp.Operation](b.desk, "memory/apply", lsp.ApplyParams{Plan: plan.ID})
	if got := b.project.text("a.md"); got != "- two fish\n" {
		t.Errorf("%q", got)
	}
}

// acts are the code actions at the beginning of a text of a file that begin with
// one of the titles.
func (b *bureau) acts(file store, name, text string) []map[string]any {
	b.t.Helper()
	before, _, ok := strings.Cut(file.text(name), text)
	if !ok {
		b.t.Fatalf("%s has no %q", name, text)
	}
	line := strings.Count(before, "\n")
	at := map[string]any{"line": line, "character": 1}
	all := asks[[]map[string]any](b.desk, "textDocument/codeAction", map[string]any{
		"textDocument": map[string]any{"uri": "file://" + file.path(name)},
		"range":        map[string]any{"start": at, "end": at}, "context": map[string]any{"diagnostics": []any{}, "only": []string{"refactor.forget", "refactor.undo"}},
	})
	return all
}

func titles(actions []map[string]any) (out []string) {
	for _, a := range actions {
		out = append(out, fmt.Sprint(a["title"]))
	}
	return out
}

// run executes the command of an action, as an editor does.
func (b *bureau) run(a map[string]any) lsp.Operation {
	b.t.Helper()
	c, ok := a["command"].(map[string]any)
	if !ok {
		b.t.Fatalf("no command in %v", a)
	}
	return asks[lsp.Operation](b.desk, "workspace/executeCommand", map[string]any{"command": c["command"], "arguments": c["arguments"]})
}

// The code actions that forget ask a person first, in any editor, and the last
// change of a memory can be taken back where it stands.
func TestForgettingFromTheEditor(t *testing.T) {
	text := "# Editor\n\n- dark mode\n- tabs\n"
	b := &bureau{project: newStore(t, map[string]string{"a.md": text, "one.md": "only this\n"}), state: filepath.Join(t.TempDir(), "state")}
	b.desk = ring(t, lsp.MemoryOptions{State: b.state})
	var asked []string
	answer := `{"title":"Forget"}`
	b.client.Handle("window/showMessageRequest", func(params json.RawMessage) (any, error) {
		asked = append(asked, string(params))
		return json.RawMessage(answer), nil
	})
	if err := b.client.Call(t.Context(), "initialize", map[string]any{
		"processId": nil, "initializationOptions": lsp.InitializationOptions{Trusted: true, Roots: []lsp.RootOption{b.project.root("project")}},
		"capabilities": json.RawMessage(`{"textDocument": {"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}}}`),
	}, nil); err != nil {
		t.Fatal(err)
	}
	b.notify("initialized", "{}")
	b.settled()

	got := b.acts(b.project, "a.md", "- dark")
	if want := []string{"Forget this entry…", "Forget this memory…"}; !slices.Equal(titles(got), want) {
		t.Fatalf("%q, want %q", titles(got), want)
	}
	for _, no := range []string{`null`, `{"title":"Cancel"}`} {
		answer = no
		if op := b.run(got[0]); op.ID != "" || len(op.Changes) != 0 || b.project.text("a.md") != text {
			t.Errorf("answered %s: %+v, %q", no, op, b.project.text("a.md"))
		}
	}
	answer = `{"title":"Forget"}`
	if op := b.run(got[0]); len(op.Changes) != 1 || b.project.text("a.md") != "# Editor\n\n- tabs\n" {
		t.Errorf("%+v, %q", op, b.project.text("a.md"))
	}
	if len(asked) != 3 || !strings.Contains(asked[0], "Forget “dark mode” in “Editor” (project:a.md)?") {
		t.Errorf("asked %q", asked)
	}
	// Done once; the version has gone.
	err := b.refused("workspace/executeCommand", map[string]any{"command": "memory.confirmForget", "arguments": got[0]["command"].(map[string]any)["arguments"]})
	if f := data[lsp.FailureData](t, err); f.Kind != lsp.KindConflict {
		t.Errorf("%v", err)
	}
	got = b.acts(b.project, "a.md", "- tabs")
	if want := []string{"Forget this memory…", "Undo: forget"}; !slices.Equal(titles(got), want) {
		t.Fatalf("%q, want %q", titles(got), want)
	}
	b.run(got[1])
	if b.project.text("a.md") != text {
		t.Errorf("undone: %q", b.project.text("a.md"))
	}
	got = b.acts(b.project, "one.md", "only")
	if want := []string{"Forget this memory…"}; !slices.Equal(titles(got), want) {
		t.Fatalf("%q, want %q", titles(got), want)
	}
	b.run(got[0])
	b.fails(lsp.KindNotFound, "memory/get", lsp.GetParams{Ref: "project:one.md"})
}
