package lsp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/model/modeltest"
)

// asking is a store with a model.
func asking(s store, stub *modeltest.Server) lsp.InitializationOptions {
	o := serving(s)
	o.Model = &lsp.ModelOptions{BaseURL: stub.URL(), Name: "m"}
	return o
}

func pointer[T any](v T) *T { return &v }

// Without a model, refined is the ranks after fast, sent at once and not
// degraded; the response sums both up.
func TestPushWithoutAModel(t *testing.T) {
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	r := d.ask("gateway timeout")
	wantRefs(t, "fast", refs(r.fast.Documents), "project:g0.md", "project:g1.md")
	wantRefs(t, "refined", refs(r.refined.Documents), "project:g2.md", "project:g3.md", "project:g4.md")
	if f := r.fast; f.Phase != "fast" || f.Strategy != "heuristic" || f.Status != "" || f.Session != "s" || len(f.Degraded) != 0 || f.CatalogRevision == 0 {
		t.Errorf("fast %+v", f)
	}
	if f := r.refined; f.Phase != "refined" || f.Strategy != "heuristic" || f.Status != "delivered" || f.Session != "s" || len(f.Degraded) != 0 || len(f.Retract) != 0 {
		t.Errorf("refined %+v", f)
	}
	res := r.response
	if res.Outcome != "settled" || res.Reason != "" || res.Token != "t1" {
		t.Errorf("response %+v", res)
	}
	wantRefs(t, "fast in the response", res.Fast.Refs, refs(r.fast.Documents)...)
	wantRefs(t, "refined in the response", res.Refined.Refs, refs(r.refined.Documents)...)
	if res.Refined.Status != "delivered" || res.Refined.Strategy != "heuristic" || res.Fast.Strategy != "heuristic" {
		t.Errorf("response %+v %+v", res.Fast, res.Refined)
	}
	for _, doc := range append(r.fast.Documents, r.refined.Documents...) {
		if doc.State != "new" || doc.Status != "active" || doc.Scope != "project" || doc.Type != "project" || doc.Truncated ||
			!strings.HasPrefix(doc.Version, "sha256:") || !strings.HasPrefix(doc.URI, "file:///") || len(doc.Why) == 0 || doc.UpdatedAt.IsZero() {
			t.Errorf("document %+v", doc)
		}
	}
	if !strings.Contains(r.fast.Prompt, "Gateway rule 0") || strings.Contains(r.fast.Prompt, "Gateway rule 2") ||
		!strings.Contains(r.refined.Prompt, "Gateway rule 2") {
		t.Errorf("prompts\n%s\n%s", r.fast.Prompt, r.refined.Prompt)
	}
}

// What fast carried all of is already delivered in refined; nothing that
// matches is no result.
func TestPushStatuses(t *testing.T) {
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	r := d.ask("nine colours palette")
	wantRefs(t, "fast", refs(r.fast.Documents), "project:palette.md")
	if r.refined.Status != "already_delivered" || len(r.refined.Documents) != 0 || len(r.refined.AlreadyDelivered) != 0 || r.refined.Prompt != "" {
		t.Errorf("refined %+v", r.refined)
	}
	r = d.ask("zebrafish aquarium")
	if r.fast.Strategy != "none" || r.refined.Strategy != "none" || r.refined.Status != "no_relevant_results" || len(r.all()) != 0 ||
		r.response.Fast.Strategy != "none" || r.response.Outcome != "settled" {
		t.Errorf("nothing matches: %+v", r)
	}
	raw := d.events("s", "t2")[0].Params
	for _, list := range []string{`"documents":[]`, `"alreadyDelivered":[]`, `"degraded":[]`} {
		if !strings.Contains(string(raw), list) {
			t.Errorf("%s lacks %s", raw, list)
		}
	}
}

// The limit is that of fast and refined together.
func TestPushLimit(t *testing.T) {
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	for limit := 1; limit <= 5; limit++ {
		r := d.recall(lsp.RecallParams{Session: fmt.Sprint(limit), Query: "gateway timeout", Limit: pointer(limit)})
		if len(r.all()) != limit || len(r.fast.Documents) != min(2, limit) {
			t.Errorf("limit %d: fast %v, all %v", limit, refs(r.fast.Documents), r.all())
		}
	}
}

func TestRecallParamsAreChecked(t *testing.T) {
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	long := strings.Repeat("x", 257)
	for params, field := range map[string]string{
		`{}`:                                     "token",
		`{"token":"a"}`:                          "session",
		`{"token":"","session":"s","query":"x"}`: "token",
		`{"token":"` + long + `","session":"s","query":"x"}`:                                                                       "token",
		`{"token":"a","query":"x","session":"` + long + `"}`:                                                                       "session",
		`{"token":5,"session":"s","query":"x"}`:                                                                                    "token",
		`{"token":"a","session":"s","query":7}`:                                                                                    "query",
		`{"token":"a","session":"s","query":"x","limit":0}`:                                                                        "limit",
		`{"token":"a","session":"s","query":"x","limit":6}`:                                                                        "limit",
		`{"token":"a","session":"s","query":"x","limit":-1}`:                                                                       "limit",
		`{"token":"a","session":"s","query":"x","limit":1.5}`:                                                                      "limit",
		`{"token":"a","session":"s","query":"x","turn":"x"}`:                                                                       "turn",
		`{"token":"a","session":"s","query":"x","delivery":"post"}`:                                                                "delivery",
		`{"token":"a","session":"s","query":"x","scopes":["user","moon"]}`:                                                         "scopes[1]",
		`{"token":"a","session":"s","query":"x","exclude":"project:g0.md"}`:                                                        "exclude",
		`{"token":"a","session":"s"}`:                                                                                              "query",
		`{"token":"a","session":"s","query":null}`:                                                                                 "query",
		`{"token":"a","session":"s","query":"x","exclude":["project:g0.md","nonsense"]}`:                                           "exclude[1]",
		`{"token":"a","session":"s","query":"x","delivered":[{}]}`:                                                                 "delivered[0].ref",
		`{"token":"a","session":"s","query":"x","delivered":[{"ref":"project:g0.md"}]}`:                                            "delivered[0].version",
		`{"token":"a","session":"s","query":"x","delivered":[{"ref":"g0.md","version":"sha256:` + strings.Repeat("0", 64) + `"}]}`: "delivered[0].ref",
		`{"token":"a","session":"s","query":"x","delivered":[{"ref":"project:g0.md","version":"1"}]}`:                              "delivered[0].version",
		`{"token":"a","session":"s","query":"x","delivered":[{"ref":1}]}`:                                                          "delivered[0].ref",
		`{"token":"a","session":"s","query":"x","exclude":[""` + strings.Repeat(`,""`, 10_000) + `]}`:                              "exclude",
	} {
		for _, method := range []string{"memory/recall", "workspace/executeCommand"} {
			sent := params
			if method != "memory/recall" {
				sent = `{"command":"memory.recall","arguments":[` + params + `]}`
			}
			err := d.refused(method, sent)
			if code(err) != -32602 || data[lsp.ParamErrorData](t, err).Field != field {
				t.Errorf("%.120s: %v, want field %s", sent, err, field)
			}
		}
	}
	// None of them has used the token up, or left anything behind.
	if r := d.recall(lsp.RecallParams{Token: "a", Query: "gateway timeout"}); r.response.Outcome != "settled" {
		t.Errorf("%+v", r)
	}
}

// A turn that does not start a recall is answered at once and leaves a pending
// recall untouched.
func TestNotStarted(t *testing.T) {
	s := newStore(t, gateways())
	stub := modeltest.New(t)
	release := make(chan struct{})
	stub.Otherwise(modeltest.When(release, modeltest.IDs()))
	d := sit(t, lsp.MemoryOptions{}, asking(s, stub)).settled()
	p := lsp.RecallParams{Token: "user", Session: "s", Query: "gateway timeout"}
	pending := d.begin(p)
	<-stub.Arrived()
	for _, turn := range []string{"retry", "continue", "restore", "runtime"} {
		for _, token := range []string{"user", "other"} {
			r := d.recall(lsp.RecallParams{Token: token, Query: "gateway timeout", Turn: turn, Session: "t"})
			if r.response.Outcome != "not_started" || r.response.Reason != "not_user_turn" || r.response.Fast != nil || r.response.Refined != nil {
				t.Errorf("%s: %+v", turn, r.response)
			}
		}
		var response lsp.RecallResponse
		d.call("memory/recall", lsp.RecallParams{Token: "user", Session: "s", Query: "x", Turn: turn}, &response)
		if response.Outcome != "not_started" {
			t.Errorf("%s beside a pending recall: %+v", turn, response)
		}
	}
	for _, query := range []string{"", " ", strings.Repeat(" ", 2000), "\n\t\u3000"} {
		if r := d.recall(lsp.RecallParams{Query: query}); r.response.Reason != "empty_query" {
			t.Errorf("%.20q: %+v", query, r.response)
		}
	}
	d.configure(`{"recall":{"enabled":false}}`)
	if r := d.ask("gateway timeout"); r.response.Reason != "disabled" {
		t.Errorf("switched off: %+v", r.response)
	}
	close(release)
	if r := d.finish(pending, p); r.response.Outcome != "settled" {
		t.Errorf("the pending recall: %+v", r.response)
	}
	d.configure(`{"recall":null,"roots":[]}`)
	if r := d.ask("gateway timeout"); r.response.Reason != "no_roots" {
		t.Errorf("without roots: %+v", r.response)
	}
}

// A new recall cancels the pending one, and all of that comes before anything
// of the next token; so does a recall after a reset and a cancellation.
func TestNewQueryCancelsThePendingRecall(t *testing.T) {
	s := newStore(t, gateways())
	for _, how := range []string{"new_query", "reset", "abort"} {
		stub := modeltest.New(t)
		stub.Script(modeltest.Hang())
		d := sit(t, lsp.MemoryOptions{}, asking(s, stub)).settled()
		first := lsp.RecallParams{Token: "first", Session: "s", Query: "gateway timeout"}
		second := lsp.RecallParams{Token: "second", Session: "s", Query: "nine colours palette"}
		a := d.begin(first)
		<-stub.Arrived()
		switch how {
		case "reset":
			if _, err := d.client.Start("memory/resetSession", lsp.ResetSessionParams{Session: "s", Reason: "reset"}); err != nil {
				t.Fatal(err)
			}
		case "abort":
			if err := a.Cancel(); err != nil {
				t.Fatal(err)
			}
		}
		b := d.begin(second)
		r, next := d.finish(a, first), d.finish(b, second)
		<-stub.Gone() // the model is not asked any longer
		if r.refined.Status != "cancelled" || r.refined.Reason != how || len(r.refined.Documents) != 0 || r.refined.Prompt != "" || r.refined.Strategy != "none" {
			t.Errorf("%s: refined %+v", how, r.refined)
		}
		switch {
		case how == "abort" && (r.err == nil || r.err.Code != -32800):
			t.Errorf("abort: answer %+v %+v", r.response, r.err)
		case how != "abort" && (r.response.Outcome != "cancelled" || r.response.Reason != how || len(r.response.Fast.Refs) != 2 || r.response.Refined.Status != "cancelled"):
			t.Errorf("%s: answer %+v", how, r.response)
		}
		wantRefs(t, how+": the next recall", next.all(), "project:palette.md")
		answered := d.client.Answers(fmt.Sprint(a.ID()))[0].Seq
		for _, m := range d.events("s", "second") {
			if m.Seq < answered {
				t.Errorf("%s: %s of the second recall came before the answer of the first", how, m.Method)
			}
		}
	}
}

// Recalls that race each other in one session: whatever is cancelled ends before
// the next begins.
func TestRecallsInOneSessionNeverOverlap(t *testing.T) {
	s := newStore(t, gateways())
	stub := modeltest.New(t)
	d := sit(t, lsp.MemoryOptions{}, asking(s, stub)).settled()
	var pending []lsptest.Pending
	var params []lsp.RecallParams
	tokens := map[string]string{}
	for i := range 40 {
		p := lsp.RecallParams{Token: d.token(), Session: "s", Query: "gateway timeout"}
		pending, params = append(pending, d.begin(p)), append(params, p)
		tokens[fmt.Sprint(pending[i].ID())] = p.Token
	}
	for i := range pending {
		d.finish(pending[i], params[i])
	}
	wantOneAtATime(t, d, "s", tokens)
}

// wantOneAtATime checks that between the first and the last message of a recall,
// its answer, no other recall of its session says anything. tokens are those of
// the session's recalls, by the ids of their requests.
func wantOneAtATime(t *testing.T, d *desk, session string, tokens map[string]string) {
	t.Helper()
	var open string
	ended := map[string]bool{}
	for _, m := range d.client.Log() {
		token, last := tokens[string(m.ID)], true
		switch {
		case m.IsAnswer() && token != "":
		case strings.HasPrefix(m.Method, "memory/recall"):
			r := decode[lsp.RecallResult](t, m.Params)
			if r.Session != session {
				continue
			}
			token, last = r.Token, false
		default:
			continue
		}
		if ended[token] {
			t.Errorf("%s says something after its end", token)
		}
		if open != "" && open != token {
			t.Errorf("%s begins before %s has ended", token, open)
		}
		open = token
		if last {
			ended[token], open = true, ""
		}
	}
	if len(ended) != len(tokens) {
		t.Errorf("%d of %d recalls have ended", len(ended), len(tokens))
	}
}

func TestTokensAreUsedOnce(t *testing.T) {
	s := newStore(t, gateways())
	stub := modeltest.New(t)
	stub.Script(modeltest.Hang())
	d := sit(t, lsp.MemoryOptions{}, asking(s, stub)).settled()
	reused := func(p lsp.RecallParams) {
		t.Helper()
		if err := d.refused("memory/recall", p); code(err) != -32602 || data[lsp.ParamErrorData](t, err).Field != "token" {
			t.Errorf("reused token: %v", err)
		}
	}
	p := lsp.RecallParams{Token: "one", Session: "s", Query: "gateway timeout"}
	pending := d.begin(p)
	<-stub.Arrived()
	reused(p)
	if len(d.events("s", "one")) != 1 {
		t.Error("a reused token disturbed the pending recall")
	}
	q := lsp.RecallParams{Token: "one", Session: "other", Query: "gateway timeout"} // of another session
	if r := d.recall(q); r.response.Outcome != "settled" {
		t.Errorf("%+v", r.response)
	}
	d.recall(lsp.RecallParams{Token: "two", Query: "nine colours palette"})
	if r := d.finish(pending, p); r.refined.Reason != "new_query" {
		t.Errorf("%+v", r.refined)
	}
	reused(p)
	for range 62 { // 64 ended tokens are remembered
		d.ask("nine colours")
	}
	reused(p)
	d.ask("nine colours")
	var response lsp.RecallResponse
	if d.call("memory/recall", p, &response); response.Outcome != "settled" {
		t.Errorf("a token that was forgotten: %+v", response)
	}
}

// PROTO-02: a cancelled recall is answered at once, the model call is given up,
// and nothing follows.
func TestPROTO_02_CancelledRecall(t *testing.T) {
	s := newStore(t, gateways())
	stub := modeltest.New(t)
	stub.Otherwise(modeltest.Hang())
	d := sit(t, lsp.MemoryOptions{}, asking(s, stub)).settled()
	p := lsp.RecallParams{Token: "a", Session: "s", Query: "gateway timeout"}
	pending := d.begin(p)
	<-stub.Arrived()
	if err := pending.Cancel(); err != nil {
		t.Fatal(err)
	}
	r := d.finish(pending, p)
	if r.err == nil || r.err.Code != -32800 || r.refined.Status != "cancelled" || r.refined.Reason != "abort" {
		t.Errorf("%+v", r)
	}
	<-stub.Gone()
	d.settled()
	if n := len(d.events("s", "a")); n != 2 {
		t.Errorf("%d events", n)
	}
}

// A recall that shutdown finds pending ends with the reason, before its answer.
func TestShutdownEndsPendingRecalls(t *testing.T) {
	s := newStore(t, gateways())
	stub := modeltest.New(t)
	stub.Otherwise(modeltest.Hang())
	d := sit(t, lsp.MemoryOptions{}, asking(s, stub)).settled()
	var pending []lsptest.Pending
	for i := range 3 {
		pending = append(pending, d.begin(lsp.RecallParams{Token: "t", Session: fmt.Sprint(i), Query: "gateway timeout"}))
		<-stub.Arrived()
	}
	d.call("shutdown", nil, nil)
	for i, p := range pending {
		r := d.finish(p, lsp.RecallParams{Token: "t", Session: fmt.Sprint(i)})
		if r.err == nil || r.err.Code != -32800 || r.refined.Status != "cancelled" || r.refined.Reason != "shutdown" {
			t.Errorf("%+v", r)
		}
	}
	d.notify("exit", nil)
	<-d.done
	if d.code != 0 {
		t.Errorf("exit code %d", d.code)
	}
}

// Scopes, types and exclusions restrict what is recalled.
func TestRecallRestrictions(t *testing.T) {
	project, user := newStore(t, gateways()), newStore(t, map[string]string{
		"g.md": "---\nname: Gateway habit\ndescription: gateway timeouts\ntype: user\n---\ngateway timeout of mine.\n",
	})
	d := sit(t, lsp.MemoryOptions{}, lsp.InitializationOptions{Roots: []lsp.RootOption{project.root("project"), user.root("user")}}).settled()
	for name, tc := range map[string]struct {
		p    lsp.RecallParams
		want []string
	}{
		"scope":   {lsp.RecallParams{Scopes: []string{"user"}}, []string{"user:g.md"}},
		"type":    {lsp.RecallParams{Types: []string{"user"}}, []string{"user:g.md"}},
		"nothing": {lsp.RecallParams{Scopes: []string{"team"}}, []string{}},
		"exclude": {lsp.RecallParams{Exclude: []string{"user:g.md", "project:g0.md", "project:g2.md#4", "team:none.md"}, Scopes: []string{"project"}},
			[]string{"project:g1.md", "project:g3.md", "project:g4.md"}},
	} {
		tc.p.Query, tc.p.Session = "gateway timeout", name
		r := d.recall(tc.p)
		wantRefs(t, name, r.all(), tc.want...)
	}
}

// Of project and team roots only those of the session's folder are served, and
// the folder is that of the session's first recall.
func TestRecallFolder(t *testing.T) {
	one, two, user := newStore(t, nil), newStore(t, nil), newStore(t, map[string]string{"u.md": note("User gateway", "gateway", "gateway of the user")})
	one.write("mem/a.md", note("One gateway", "gateway", "gateway of one"))
	two.write("mem/b.md", note("Two gateway", "gateway", "gateway of two"))
	d := sit(t, lsp.MemoryOptions{}, lsp.InitializationOptions{Trusted: true, Roots: []lsp.RootOption{
		{Scope: "project", Path: one.path("mem")}, {Scope: "project", Path: two.path("mem")}, user.root("user"),
	}}, memoryClient{Folders: []string{one.dir, two.dir}}).settled()
	titles := func(r recalled) string {
		var out []string
		for _, doc := range append(r.fast.Documents, r.refined.Documents...) {
			out = append(out, doc.Title)
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	}
	if got := titles(d.recall(lsp.RecallParams{Session: "default", Query: "gateway"})); got != "One gateway, User gateway" {
		t.Errorf("the first folder: %s", got)
	}
	for _, uri := range []string{"file://" + two.dir, "file://" + two.dir + "/"} {
		if got := titles(d.recall(lsp.RecallParams{Session: uri, Query: "gateway", Folder: uri})); got != "Two gateway, User gateway" {
			t.Errorf("%s: %s", uri, got)
		}
		d.recall(lsp.RecallParams{Session: uri, Query: "gateway"})
		err := d.refused("memory/recall", lsp.RecallParams{Token: "x", Session: uri, Query: "gateway", Folder: "file://" + one.dir})
		if code(err) != -32602 || data[lsp.ParamErrorData](t, err).Field != "folder" {
			t.Errorf("another folder in a session: %v", err)
		}
	}
	var found lsp.SearchResult
	d.call("memory/search", lsp.SearchParams{Query: "gateway", Folder: "file://" + two.dir}, &found)
	if found.Total != 2 {
		t.Errorf("search: %+v", found)
	}
	var list lsp.ListResult
	if d.call("memory/list", lsp.ListParams{}, &list); len(list.Documents) != 2 {
		t.Errorf("list: %+v", list)
	}
}

// Tools in use: recentTools replaces what memory/toolUsed has recorded; of that
// cancelled calls do not count.
func TestRecentTools(t *testing.T) {
	s := newStore(t, map[string]string{
		"usage.md": note("deploy_ctl usage", "deploy_ctl tool usage reference", "Field mapping of deploy_ctl: region, stage."),
	})
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	n := 0
	shown := func(session string, tools []string) bool {
		n++
		r := d.recall(lsp.RecallParams{Token: fmt.Sprint("r", n), Session: session, Query: "deploy_ctl region stage", RecentTools: tools})
		if len(r.all()) > 0 {
			d.call("memory/resetSession", lsp.ResetSessionParams{Session: session, Reason: "compacted"}, nil)
		}
		return len(r.all()) == 1
	}
	used := func(session, tool, status string) {
		d.notify("memory/toolUsed", lsp.ToolUsedParams{Session: session, Tool: tool, Status: status})
	}
	if !shown("a", nil) || shown("a", []string{"deploy_ctl"}) {
		t.Error("recentTools has no effect")
	}
	used("a", "deploy_ctl", "cancelled")
	used("a", "deploy_ctl", "replayed") // no status of ours
	if !shown("a", nil) {
		t.Error("a cancelled call counts")
	}
	used("b", "deploy_ctl", "error")
	if !shown("a", nil) {
		t.Error("a call in another session counts")
	}
	used("a", "deploy_ctl", "ok")
	if shown("a", nil) || !shown("a", []string{}) || shown("b", nil) {
		t.Error("toolUsed has no effect, or recentTools does not replace it")
	}
	for i := range 19 {
		used("a", fmt.Sprint("tool", i), "ok")
	}
	if shown("a", nil) {
		t.Error("fewer than 20 names are kept")
	}
	used("a", "tool18", "ok") // no new name
	if shown("a", nil) {
		t.Error("a name counts twice")
	}
	used("a", "tool19", "ok")
	if !shown("a", nil) {
		t.Error("more than 20 names are kept")
	}
}

func TestRecallTrace(t *testing.T) {
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	if r := d.ask("gateway timeout"); r.fast.Trace != nil || r.refined.Trace != nil {
		t.Error("a trace that nobody asked for")
	}
	r := d.recall(lsp.RecallParams{Session: "traced", Query: "gateway timeout", Trace: true, Exclude: []string{"project:g0.md"}})
	for _, trace := range []*lsp.RecallTraceTable{r.fast.Trace, r.refined.Trace} {
		if trace == nil || trace.Considered != 4 || len(trace.Candidates) != 4 {
			t.Fatalf("trace %+v", trace)
		}
		for i, c := range trace.Candidates {
			if c.Ref == "project:g0.md" {
				t.Error("the trace holds what was excluded")
			}
			if c.Rank != i+1 || c.Score <= 0 || c.Verdict != "returned" || len(c.Why) == 0 || len(c.Signals) != 1 {
				t.Errorf("candidate %+v", c)
			}
		}
	}
}

// What the prompt has no room for is not delivered, and reported; it comes with
// a later recall.
func TestWhatDoesNotFitIsNotDelivered(t *testing.T) {
	files := others()
	for i := range 5 {
		files[fmt.Sprintf("g%d.md", i)] = note(fmt.Sprintf("Gateway %d", i), "gateway "+strings.Repeat("words of a long description ", 30), "gateway\n"+strings.Repeat("x\n", 590))
	}
	s := newStore(t, files)
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	r := d.ask("gateway")
	if len(r.refined.Degraded) != 1 || r.refined.Degraded[0].Reason != "truncated" || len(r.all()) >= 5 || len(r.refined.Documents) == 0 {
		t.Fatalf("delivered %v, degraded %+v", r.all(), r.refined.Degraded)
	}
	wantRefs(t, "response", r.response.Refined.Refs, refs(r.refined.Documents)...)
	for _, doc := range append(r.fast.Documents, r.refined.Documents...) {
		if p := r.fast.Prompt + r.refined.Prompt; !strings.Contains(p, "### "+doc.Title) {
			t.Errorf("%s is delivered and stands in no prompt", doc.Ref)
		}
	}
	rest := d.ask("gateway")
	if len(rest.all())+len(r.all()) != 5 {
		t.Errorf("delivered %v, then %v", r.all(), rest.all())
	}
}

// At equal score the newer user memory stays in the fast two.
func TestNewerUserMemoryStaysInFast(t *testing.T) {
	const body = "the lighthouse keeper rings twice"
	project, user := newStore(t, others()), newStore(t, nil)
	for i := range 4 {
		name := fmt.Sprintf("p%d.md", i)
		project.write(name, note("Lighthouse", "keeper", body))
		project.age(name, 10+i)
	}
	user.write("u.md", note("Lighthouse", "keeper", body))
	user.age("u.md", 1)
	d := sit(t, lsp.MemoryOptions{}, lsp.InitializationOptions{Roots: []lsp.RootOption{project.root("project"), user.root("user")}}).settled()
	r := d.ask("lighthouse keeper")
	wantRefs(t, "fast", refs(r.fast.Documents), "user:u.md", "project:p0.md")
}

// In the steady state a recall opens no file and asks for none.
func TestRecallTouchesNoFile(t *testing.T) {
	files := gateways()
	s := newStore(t, files)
	var opened, asked atomic.Int64
	// One scan only: a real watcher would soon have fresh files read once more.
	found := make(chan memory.FileChange, 1)
	found <- memory.FileChange{Changed: slices.Collect(maps.Keys(files)), Full: true}
	d := sit(t, lsp.MemoryOptions{
		Open:  func(dir *os.Root, name string) (*os.File, error) { opened.Add(1); return memory.OpenFile(dir, name) },
		Lstat: func(path string) (os.FileInfo, error) { asked.Add(1); return os.Lstat(path) },
		Watch: scanning(found),
	}, serving(s)).settled()
	before := opened.Load()
	if before < 8 {
		t.Fatalf("%d files opened by the scan", before)
	}
	for i := range 20 {
		r := d.recall(lsp.RecallParams{Session: fmt.Sprint(i), Query: "gateway timeout"})
		if len(r.all()) != 5 {
			t.Fatal(r.all())
		}
	}
	// Only of what goes out it is asked whether it is still there.
	if n := opened.Load() - before; n != 0 || asked.Load() == 0 || asked.Load() > 20*5 {
		t.Errorf("%d files opened, %d asked for", n, asked.Load())
	}
}

// quietWatch is a watcher that scans once and says of itself what it is told.
type quietWatch struct {
	memory.Watcher
	status func(memory.WatchStatus) memory.WatchStatus
	poked  func()
}

func (w quietWatch) Status() memory.WatchStatus { return w.status(w.Watcher.Status()) }
func (w quietWatch) Poke()                      { w.poked() }

func quiet(status func(memory.WatchStatus) memory.WatchStatus, poked func()) func(bool) memory.WatchFactory {
	return func(poll bool) memory.WatchFactory {
		inner := followers(poll)
		return func(dir string, keep func(string, bool) bool, sink func(memory.FileChange)) memory.Watcher {
			return quietWatch{inner(dir, keep, sink), status, poked}
		}
	}
}

// A root that may be seen late is named in degraded, unless nothing of it can be
// returned.
func TestWatchDegraded(t *testing.T) {
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{Watch: quiet(func(w memory.WatchStatus) memory.WatchStatus {
		w.Reason = "too many watches"
		return w
	}, func() {})}, serving(s)).settled()
	r := d.ask("gateway timeout")
	for _, deg := range [][]lsp.DegradedReason{r.fast.Degraded, r.refined.Degraded} {
		if len(deg) != 1 || deg[0].Reason != "watch_degraded" || !strings.Contains(deg[0].Detail, "too many watches") {
			t.Errorf("degraded %+v", deg)
		}
	}
	if r := d.recall(lsp.RecallParams{Session: "x", Query: "gateway timeout", Scopes: []string{"user"}}); len(r.refined.Degraded) != 0 {
		t.Errorf("degraded %+v", r.refined.Degraded)
	}
	if root := d.status().Roots[0]; root.State != "degraded" || root.Watch.Reason == "" {
		t.Errorf("status %+v", root)
	}
}

// A recall asks for a sweep when the last is old, after its answer.
func TestSweepIsAskedForAfterTheAnswer(t *testing.T) {
	s := newStore(t, gateways())
	stub := modeltest.New(t)
	release := make(chan struct{})
	stub.Otherwise(modeltest.When(release, modeltest.IDs()))
	var age atomic.Int64
	poked := make(chan none, 8)
	d := sit(t, lsp.MemoryOptions{Watch: quiet(func(w memory.WatchStatus) memory.WatchStatus {
		w.LastSweep = time.Now().Add(-time.Duration(age.Load()))
		return w
	}, func() { poked <- none{} })}, asking(s, stub)).settled()
	age.Store(int64(3 * time.Second))
	p := lsp.RecallParams{Token: "a", Session: "s", Query: "gateway timeout"}
	pending := d.begin(p)
	<-stub.Arrived()
	if len(poked) != 0 {
		t.Error("a sweep was asked for before the answer")
	}
	close(release)
	d.finish(pending, p)
	<-poked
	age.Store(0)
	d.ask("nine colours palette")
	d.settled()
	if len(poked) != 0 {
		t.Error("a sweep was asked for that is not due")
	}
}

// Everything is reachable for a client without custom requests.
func TestEverythingIsACommand(t *testing.T) {
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{}, serving(s), memoryClient{Plain: true}).settled()
	command := func(name string, params string) json.RawMessage {
		t.Helper()
		var result json.RawMessage
		d.call("workspace/executeCommand", `{"command":"memory.`+name+`","arguments":[`+params+`]}`, &result)
		return result
	}
	r := decode[lsp.RecallResponse](t, command("recall", `{"token":"a","session":"s","query":"gateway timeout"}`))
	if len(r.Fast.Refs) != 2 || len(d.events("s", "a")) != 2 {
		t.Errorf("recall: %+v", r)
	}
	if r := decode[lsp.SearchResult](t, command("search", `{"query":"gatew"}`)); r.Total != 5 {
		t.Errorf("search: %+v", r)
	}
	if r := decode[lsp.GetResult](t, command("get", `{"ref":"project:g0.md"}`)); r.Title != "Gateway rule 0" {
		t.Errorf("get: %+v", r)
	}
	if r := decode[lsp.ListResult](t, command("list", ``)); len(r.Documents) != 8 {
		t.Errorf("list: %+v", r)
	}
	if r := decode[lsp.StatusResult](t, command("status", `{}`)); len(r.Roots) != 1 {
		t.Errorf("status: %+v", r)
	}
	command("resetSession", `{"session":"s","reason":"reset"}`)
}
