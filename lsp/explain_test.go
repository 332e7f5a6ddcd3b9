package lsp_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/recall/model/modeltest"
)

func explain(d *desk, p lsp.ExplainParams) (r lsp.ExplainResult) {
	d.t.Helper()
	d.call("memory/explain", p, &r)
	return r
}

// memory/explain says of any memory what decided about it.
func TestExplain(t *testing.T) {
	s := newStore(t, gateways())
	s.write("old.md", "---\nname: Old gateway\nstatus: superseded\n---\ngateway timeout of old\n")
	s.write("past.md", "---\nname: Past gateway\nexpires_at: 2020-01-01\n---\ngateway timeout of past\n")
	s.write("blank.md", "---\nname: Blank gateway\n---\n")
	s.write("tool.md", "---\nname: gateway_call\n---\nMCP tool gateway_call: parameter schema is gateway, timeout.\n")
	s.write("weak.md", note("Ferry times", "when ships leave", "The gateway is mentioned once among the many words of this text about ferries and piers."))
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	ask := func(p lsp.ExplainParams) *lsp.TraceCandidate {
		t.Helper()
		if p.Query == "" {
			p.Query = "gateway timeout"
		}
		r := explain(d, p)
		if r.Candidate == nil {
			t.Fatalf("%+v: no candidate", p)
		}
		return r.Candidate
	}
	first := ask(lsp.ExplainParams{Ref: "project:g0.md#0"})
	if first.Ref != "project:g0.md" || first.Verdict != "returned" || first.Rank != 1 || first.Title != "Gateway rule 0" || first.Share < 0.99 || first.Needed <= 0 ||
		len(first.Signals) != 1 || first.Signals[0] != (lsp.TraceSignal{Name: "lexical", Rank: 1, Score: first.Score}) ||
		!slices.Contains(first.Why, lsp.WhyReason{Field: "title", Term: "Gateway", Match: "exact"}) {
		t.Errorf("the first: %+v", first)
	}
	for name, tc := range map[string]struct {
		p       lsp.ExplainParams
		verdict string
		ranked  bool
	}{
		"limit":      {lsp.ExplainParams{Ref: "project:g3.md", Limit: pointer(2)}, "limit", true},
		"superseded": {lsp.ExplainParams{Ref: "project:old.md"}, "superseded", false},
		"expired":    {lsp.ExplainParams{Ref: "project:past.md"}, "expired", false},
		"excluded":   {lsp.ExplainParams{Ref: "project:g0.md", Exclude: []string{"project:g0.md"}}, "excluded", false},
		"scope":      {lsp.ExplainParams{Ref: "project:g0.md", Scopes: []string{"user"}}, "scope", false},
		"type":       {lsp.ExplainParams{Ref: "project:g0.md", Types: []string{"user"}}, "type", false},
		"empty":      {lsp.ExplainParams{Ref: "project:blank.md"}, "empty", false},
		"no match":   {lsp.ExplainParams{Ref: "project:palette.md"}, "no_match", false},
		"noise":      {lsp.ExplainParams{Ref: "project:tool.md", Query: "parameter schema of gateway_call", RecentTools: []string{"gateway_call"}}, "noise", true},
		"gate":       {lsp.ExplainParams{Ref: "project:weak.md", Query: "gateway timeout quayside tariff"}, "gate", false},
	} {
		c := ask(tc.p)
		if c.Verdict != tc.verdict || c.Rank > 0 != tc.ranked || c.Detail == "" {
			t.Errorf("%s: %+v", name, c)
		}
	}
	// Without a ref it is the table alone; a session is not made by asking.
	r := explain(d, lsp.ExplainParams{Query: "gateway timeout", Session: "none"})
	if r.Candidate != nil || r.Trace.Considered < 5 || len(r.Trace.Terms) != 2 || r.Trace.Candidates[0].Ref != "project:g0.md" || r.Revision == 0 {
		t.Errorf("without a ref: %+v", r)
	}
}

// A session's context decides as it would in its next recall, and stays as it is.
func TestExplainAsASession(t *testing.T) {
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	d.recall(lsp.RecallParams{Session: "s", Query: "gateway timeout", Limit: pointer(2)})
	for range 2 {
		r := explain(d, lsp.ExplainParams{Query: "gateway timeout", Ref: "project:g0.md", Session: "s"})
		if r.Candidate.Verdict != "held" || r.Candidate.Rank != 1 || r.Candidate.Detail == "" {
			t.Errorf("held: %+v", r.Candidate)
		}
	}
	if c := explain(d, lsp.ExplainParams{Query: "gateway timeout", Ref: "project:g0.md"}).Candidate; c.Verdict != "returned" {
		t.Errorf("without the session: %+v", c)
	}
}

// What belongs to another folder is not there; neither it nor what a filter left
// out stands in the table or counts.
func TestExplainShowsNothingOfOthers(t *testing.T) {
	f := newFinding(t)
	for _, name := range []string{"one", "two"} {
		f.write(name+"/.git/HEAD", "")
		f.write(name+"/.memory/"+name+".md", note("Kestrel of "+name, "d", "a bird"))
	}
	d := sit(t, f.options(), lsp.InitializationOptions{Trusted: true}, memoryClient{Folders: []string{f.path("one"), f.path("two")}}).settled()
	all := explain(d, lsp.ExplainParams{Query: "kestrel"})
	if len(all.Trace.Candidates) != 1 || all.Trace.Considered != 1 || all.Trace.Terms[0].Documents != 1 {
		t.Fatalf("the first folder's: %+v", all.Trace)
	}
	var there lsp.ListResult
	d.call("memory/list", lsp.ListParams{Folder: "file://" + f.path("two")}, &there)
	other := there.Documents[0].Ref
	err := d.refused("memory/explain", lsp.ExplainParams{Query: "kestrel", Ref: other})
	missing := d.refused("memory/explain", lsp.ExplainParams{Query: "kestrel", Ref: "project:none.md"})
	if data[lsp.FailureData](t, err).Kind != lsp.KindNotFound || strings.ReplaceAll(err.Error(), other, "project:none.md") != missing.Error() {
		t.Errorf("another folder's: %v, one that is not there: %v", err, missing)
	}
	raw, err := json.Marshal(explain(d, lsp.ExplainParams{Query: "kestrel two", Ref: all.Trace.Candidates[0].Ref}))
	if err != nil || strings.Contains(string(raw), "two.md") {
		t.Errorf("%s %v", raw, err)
	}
}

func TestExplainParams(t *testing.T) {
	s := newStore(t, others())
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	for params, field := range map[string]string{
		`{"query":" "}`: "query", `{}`: "query", `{"query":"x","limit":6}`: "limit", `{"query":"x","scopes":["x"]}`: "scopes[0]",
		`{"query":"x","ref":"nonsense"}`: "ref", `{"query":"x","exclude":["y"]}`: "exclude[0]", `{"query":"x","session":"` + strings.Repeat("s", 257) + `"}`: "session",
	} {
		if err := d.refused("memory/explain", params); code(err) != -32602 || data[lsp.ParamErrorData](t, err).Field != field {
			t.Errorf("%s: %v", params, err)
		}
	}
	err := d.refused("memory/explain", `{"query":"x","ref":"project:../x.md"}`)
	if data[lsp.FailureData](t, err).Kind != lsp.KindPathEscape {
		t.Errorf("%v", err)
	}
}

// With a model the trace says what it named, and what it left out.
func TestTraceOfAModelsChoice(t *testing.T) {
	s := newStore(t, gateways())
	stub := modeltest.New(t)
	stub.Otherwise(modeltest.Choose("Palette", "Gateway rule 4"))
	d := sit(t, lsp.MemoryOptions{}, asking(s, stub)).settled()
	r := d.recall(lsp.RecallParams{Session: "s", Query: "gateway timeout", Trace: true})
	verdicts := map[string]string{}
	for _, c := range r.refined.Trace.Candidates {
		verdicts[c.Ref] = c.Verdict
		if n := len(c.Signals); c.Verdict == "returned" && (n == 0 || c.Signals[n-1].Name != "model") {
			t.Errorf("%+v", c)
		}
	}
	want := map[string]string{"project:palette.md": "returned", "project:g4.md": "returned"}
	for i := range 4 {
		want[fmt.Sprintf("project:g%d.md", i)] = "model"
	}
	for ref, verdict := range want {
		if verdicts[ref] != verdict {
			t.Errorf("%s: %q, want %q", ref, verdicts[ref], verdict)
		}
	}
}

// What the prompt has no room for says so in the trace.
func TestTraceOfAFullPrompt(t *testing.T) {
	files := others()
	for i := range 5 {
		files[fmt.Sprintf("g%d.md", i)] = note(fmt.Sprintf("Gateway %d", i), "gateway "+strings.Repeat("words of a long description ", 30), "gateway\n"+strings.Repeat("x\n", 590))
	}
	s := newStore(t, files)
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	r := d.recall(lsp.RecallParams{Session: "s", Query: "gateway", Trace: true})
	sent := r.all()
	full := 0
	for _, trace := range []*lsp.RecallTraceTable{r.fast.Trace, r.refined.Trace} {
		for _, c := range trace.Candidates {
			if c.Verdict == "budget" {
				full++
				if slices.Contains(sent, c.Ref) {
					t.Errorf("%s was sent", c.Ref)
				}
			}
		}
	}
	if len(sent) == 5 || full != 5-len(sent) {
		t.Errorf("%d sent, %d without room", len(sent), full)
	}
}
