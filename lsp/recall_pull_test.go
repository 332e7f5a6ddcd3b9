package lsp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/model"
	"github.com/memls/memls/recall/model/modeltest"
)

// initialCeiling is how long a host is kept waiting at the start of its turn.
const initialCeiling = 100 * time.Millisecond

// pull begins a recall with pull delivery.
func (d *desk) pull(session, token, query string) lsptest.Pending {
	d.t.Helper()
	return d.begin(lsp.RecallParams{Session: session, Token: token, Query: query, Delivery: "pull"})
}

// consume takes what there is; nil is nothing.
func (d *desk) consume(session, token, point string) *lsp.RecallResult {
	d.t.Helper()
	var r *lsp.RecallResult
	d.call("memory/consume", lsp.ConsumeParams{Session: session, Token: token, Point: point}, &r)
	return r
}

// answer waits for the answer to a recall.
func (d *desk) answer(p lsptest.Pending) (lsp.RecallResponse, *lsptest.Error) {
	d.t.Helper()
	m, err := p.Wait(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	if m.Error != nil {
		return lsp.RecallResponse{}, m.Error
	}
	return decode[lsp.RecallResponse](d.t, m.Result), nil
}

func (d *desk) ended(p lsp.FinishParams) lsp.FinishResult {
	d.t.Helper()
	var r lsp.FinishResult
	d.call("memory/finish", p, &r)
	return r
}

// wantNothing checks that nothing was taken.
func wantNothing(t testing.TB, what string, r *lsp.RecallResult) {
	t.Helper()
	if r != nil {
		t.Errorf("%s: %s %v, want null", what, r.Phase, refs(r.Documents))
	}
}

// held is a stub whose answers wait for release.
func heldModel(t testing.TB, choose modeltest.Step) (stub *modeltest.Server, release func()) {
	stub = modeltest.New(t)
	gate := make(chan struct{})
	stub.Otherwise(modeltest.When(gate, choose))
	return stub, func() { close(gate) }
}

// Without a model the whole selection is there at the start of the turn, and
// nothing is pushed.
func TestPullWithoutAModel(t *testing.T) {
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	pending := d.pull("s", "a", "gateway timeout")
	r := d.consume("s", "a", "initial")
	all := []string{"project:g0.md", "project:g1.md", "project:g2.md", "project:g3.md", "project:g4.md"}
	wantRefs(t, "initial", refs(r.Documents), all...)
	if r.Phase != "refined" || r.Strategy != "heuristic" || r.Status != "delivered" || r.Token != "a" || r.Session != "s" || r.CatalogRevision == 0 ||
		!strings.Contains(r.Prompt, "Gateway rule 0") || !strings.Contains(r.Prompt, "Gateway rule 4") {
		t.Errorf("initial %+v", r)
	}
	res, _ := d.answer(pending)
	wantRefs(t, "refined in the response", res.Refined.Refs, all...)
	wantRefs(t, "fast in the response", res.Fast.Refs, all[:2]...)
	if res.Outcome != "settled" || res.Refined.Status != "delivered" {
		t.Errorf("response %+v", res)
	}
	wantNothing(t, "a second initial", d.consume("s", "a", "initial"))
	wantNothing(t, "a tool result", d.consume("s", "a", "tool_result"))
	if f := d.ended(lsp.FinishParams{Session: "s", Token: "a", Outcome: "end_turn"}); f.Recall != (lsp.FinishedRecall{Outcome: "settled"}) {
		t.Errorf("finish %+v", f)
	}
	if n := len(d.events("s", "a")); n != 0 {
		t.Errorf("%d notifications", n)
	}
}

// Nothing that matches is null without a wait for the ceiling.
func TestPullOfNothing(t *testing.T) {
	c := newClock(initialCeiling)
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{After: c.after}, serving(s)).settled()
	pending := d.pull("s", "a", "zebrafish aquarium")
	wantNothing(t, "initial", d.consume("s", "a", "initial"))
	if res, _ := d.answer(pending); res.Outcome != "settled" || res.Refined.Status != "no_relevant_results" || res.Fast.Strategy != "none" {
		t.Errorf("%+v", res)
	}
	if f := d.ended(lsp.FinishParams{Session: "s", Outcome: "end_turn"}); f.Recall.Outcome != "settled" {
		t.Errorf("%+v", f)
	}
}

// While the model thinks, the start of a turn has the fast result without any
// wait, and a tool result has the rest once it stands, in a prompt of its own.
func TestPullFastThenRefined(t *testing.T) {
	c := newClock(initialCeiling) // never fires
	s := newStore(t, gateways())
	stub, release := heldModel(t, modeltest.Choose("Gateway rule 3", "Gateway rule 0"))
	d := sit(t, lsp.MemoryOptions{After: c.after}, asking(s, stub)).settled()
	pending := d.pull("s", "a", "gateway timeout")
	wantNothing(t, "a tool result before anything has settled", d.consume("s", "a", "tool_result"))
	fast := d.consume("s", "a", "initial")
	wantRefs(t, "fast", refs(fast.Documents), "project:g0.md", "project:g1.md")
	if fast.Phase != "fast" || fast.Status != "" || fast.Strategy != "heuristic" || !strings.Contains(fast.Prompt, "Gateway rule 1") {
		t.Errorf("%+v", fast)
	}
	wantNothing(t, "a second initial", d.consume("s", "a", "initial"))
	wantNothing(t, "a tool result before the model has answered", d.consume("s", "a", "tool_result"))
	release()
	res, _ := d.answer(pending)
	wantRefs(t, "refined in the response", res.Refined.Refs, "project:g3.md")
	wantNothing(t, "an initial after the selection has settled", d.consume("s", "a", "initial"))
	refined := d.consume("s", "a", "tool_result")
	wantRefs(t, "refined", refs(refined.Documents), "project:g3.md")
	if refined.Phase != "refined" || refined.Status != "delivered" || refined.Strategy != "model" ||
		!strings.Contains(refined.Prompt, "Gateway rule 3") || strings.Contains(refined.Prompt, "Gateway rule 0") || len(refined.Retract) != 0 {
		t.Errorf("%+v", refined)
	}
	wantNothing(t, "another tool result", d.consume("s", "a", "tool_result"))
}

// What has settled before the turn starts is delivered whole; the fast result
// never is.
func TestPullSettledBeforeInitial(t *testing.T) {
	s := newStore(t, gateways())
	stub := modeltest.New(t)
	stub.Otherwise(modeltest.Choose("Gateway rule 3", "Gateway rule 0"))
	d := sit(t, lsp.MemoryOptions{}, asking(s, stub)).settled()
	for i, point := range []string{"initial", "tool_result"} {
		session := fmt.Sprint(i)
		res, _ := d.answer(d.pull(session, "a", "gateway timeout"))
		wantRefs(t, "refined in the response", res.Refined.Refs, "project:g3.md", "project:g0.md")
		r := d.consume(session, "a", point)
		wantRefs(t, point, refs(r.Documents), "project:g3.md", "project:g0.md")
		if r.Phase != "refined" || r.Strategy != "model" {
			t.Errorf("%s: %+v", point, r)
		}
		wantNothing(t, "afterwards", d.consume(session, "a", "initial"))
		wantNothing(t, "afterwards", d.consume(session, "a", "tool_result"))
	}
}

// DELIV-01 with pull delivery: a host is never kept waiting for longer than the
// ceiling, and the recall goes on behind it.
func TestDELIV_01_InitialEndsAtTheCeiling(t *testing.T) {
	c := newClock(initialCeiling)
	s := newStore(t, gateways())
	stub, release := heldModel(t, modeltest.Choose("Palette"))
	d := sit(t, lsp.MemoryOptions{After: c.after}, asking(s, stub)).settled()
	pending := d.pull("s", "a", "zebrafish aquarium") // no fast result
	first, err := d.client.Start("memory/consume", lsp.ConsumeParams{Session: "s", Token: "a", Point: "initial"})
	if err != nil {
		t.Fatal(err)
	}
	wantNothing(t, "a second initial beside one that waits", d.consume("s", "a", "initial"))
	close(c.timers[initialCeiling]) // memory/changed pauses as long, and shares the timer
	m, err := first.Wait(t.Context())
	if err != nil || m.Error != nil || string(m.Result) != "null" {
		t.Fatalf("initial: %s %v %v", m.Result, m.Error, err)
	}
	release()
	d.answer(pending)
	wantRefs(t, "later", refs(d.consume("s", "a", "tool_result").Documents), "project:palette.md")
}

// DELIV-02 with pull delivery: whenever the model answers, a turn without tools
// has its memory in its first request, once.
func TestDELIV_02_PullReachesTheFirstRequest(t *testing.T) {
	s := newStore(t, gateways())
	for _, when := range []string{"at once", "after initial", "never"} {
		stub, release := heldModel(t, modeltest.Choose("Gateway rule 0"))
		d := sit(t, lsp.MemoryOptions{}, asking(s, stub)).settled()
		pending := d.pull("s", "a", "gateway timeout")
		if when == "at once" {
			release()
			d.answer(pending)
		}
		wantRefs(t, when, refs(d.consume("s", "a", "initial").Documents)[:1], "project:g0.md")
		if when == "after initial" {
			release()
			if res, _ := d.answer(pending); res.Refined.Status != "already_delivered" || len(res.Refined.Refs) != 0 {
				t.Errorf("%s: %+v", when, res.Refined)
			}
		}
		wantNothing(t, when, d.consume("s", "a", "tool_result"))
		f := d.ended(lsp.FinishParams{Session: "s", Token: "a", Outcome: "end_turn"})
		if want := map[bool]string{true: "cancelled", false: "settled"}[when == "never"]; f.Recall.Outcome != want {
			t.Errorf("%s: %+v", when, f)
		}
	}
}

// DELIV-03 with pull delivery: an empty choice is a choice.
func TestDELIV_03_EmptySelectionPulled(t *testing.T) {
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{}, asking(s, modeltest.New(t))).settled()
	res, _ := d.answer(d.pull("s", "a", "gateway timeout"))
	if res.Refined.Strategy != "model" || res.Refined.Status != "no_relevant_results" || len(res.Refined.Retract) != 0 {
		t.Errorf("%+v", res.Refined)
	}
	wantNothing(t, "initial", d.consume("s", "a", "initial"))
	// What the model refused was not delivered, and is free to come later.
	stub := modeltest.New(t)
	stub.Otherwise(modeltest.HTML(502))
	e := sit(t, lsp.MemoryOptions{Model: impatient}, asking(s, stub)).settled()
	e.answer(e.pull("s", "a", "gateway timeout"))
	wantRefs(t, "after a failure", refs(e.consume("s", "a", "initial").Documents)[:2], "project:g0.md", "project:g1.md")
}

// DELIV-04 with pull delivery: a selector that lies costs nothing but its choice.
func TestDELIV_04_SelectorThatLiesPulled(t *testing.T) {
	s := newStore(t, gateways())
	all := []string{"project:g0.md", "project:g1.md", "project:g2.md", "project:g3.md", "project:g4.md"}
	for name, tc := range map[string]struct {
		step     modeltest.Step
		want     []string
		strategy string
		degraded string
	}{
		"unknown and doubled": {modeltest.ChooseBy(func(c modeltest.Chat) []string {
			id := c.IDs("Gateway rule 4")
			return append(id, id[0], "nope.md", "../x")
		}), all[4:], "model", ""},
		"only unknown": {modeltest.IDs("nope.md"), all, "heuristic", "model_invalid"},
		"broken":       {modeltest.BrokenJSON(), all, "heuristic", "model_invalid"},
		"many":         {modeltest.ChooseBy(func(c modeltest.Chat) []string { return append(c.AllIDs(), c.AllIDs()...) }), nil, "model", ""},
	} {
		stub := modeltest.New(t)
		stub.Otherwise(tc.step)
		d := sit(t, lsp.MemoryOptions{Model: impatient}, asking(s, stub)).settled()
		d.answer(d.pull("s", "a", "gateway timeout"))
		r := d.consume("s", "a", "initial")
		if tc.want == nil {
			if len(r.Documents) > 5 {
				t.Errorf("%s: above the limit: %v", name, refs(r.Documents))
			}
			continue
		}
		wantRefs(t, name, refs(r.Documents), tc.want...)
		if r.Strategy != tc.strategy || (tc.degraded == "") != (len(r.Degraded) == 0) || tc.degraded != "" && r.Degraded[0].Reason != tc.degraded {
			t.Errorf("%s: %s %+v", name, r.Strategy, r.Degraded)
		}
	}
}

// DELIV-06 with pull delivery: what was taken is held, what was not is not, and
// an edited text comes again.
func TestDELIV_06_TakenOnceInASession(t *testing.T) {
	s := newStore(t, map[string]string{"a.md": note("Aquarium", "fish tank", "zebrafish port is 7433")})
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	d.answer(d.pull("s", "untaken", "zebrafish port"))
	first := func(token string) *lsp.RecallResult {
		d.pull("s", token, "zebrafish port")
		return d.consume("s", token, "initial")
	}
	taken := first("taken")
	wantRefs(t, "first", refs(taken.Documents), "project:a.md")
	for _, token := range []string{"second", "third"} {
		pending := d.pull("s", token, "zebrafish port")
		wantNothing(t, token, d.consume("s", token, "initial"))
		if res, _ := d.answer(pending); res.Refined.Status != "already_delivered" {
			t.Errorf("%s: %+v", token, res.Refined)
		}
	}
	s.write("a.md", note("Aquarium", "fish tank", "zebrafish port is 7434"))
	d.changed("project:a.md", taken.Documents[0].Version)
	r := first("edited")
	if wantRefs(t, "edited", refs(r.Documents), "project:a.md"); r.Documents[0].State != "updated" || !strings.Contains(r.Prompt, "7434") {
		t.Errorf("%+v", r.Documents[0])
	}
	wantNothing(t, "edited, again", first("again"))
}

// DELIV-08 with pull delivery: what is cut is cut between characters.
func TestDELIV_08_CutsAreCleanPulled(t *testing.T) {
	s := newStore(t, map[string]string{"a.md": note("Aquarium", "fish tank", "zebrafish "+strings.Repeat("x", 1188)+"👨‍👩‍👧‍👦中🔥 end")})
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	d.pull("s", "a", "zebrafish")
	r := d.consume("s", "a", "initial")
	if doc := r.Documents[0]; !doc.Truncated || strings.ContainsRune(doc.Body+r.Prompt, '\uFFFD') || strings.HasSuffix(doc.Body, "\u200d") {
		t.Errorf("%q", doc.Body)
	}
}

// DELIV-10 with pull delivery: hosts beside each other share a slow model, and
// none waits for another's.
func TestDELIV_10_SerialisedModelPulled(t *testing.T) {
	c := newClock(initialCeiling) // never fires
	s := newStore(t, gateways())
	stub, release := heldModel(t, modeltest.Choose("Gateway rule 4"))
	d := sit(t, lsp.MemoryOptions{After: c.after}, asking(s, stub)).settled()
	var pending []lsptest.Pending
	for i := range 5 {
		pending = append(pending, d.pull(fmt.Sprint(i), "a", "gateway timeout"))
		wantRefs(t, "fast", refs(d.consume(fmt.Sprint(i), "a", "initial").Documents), "project:g0.md", "project:g1.md")
	}
	release()
	for i, p := range pending {
		d.answer(p)
		r := d.consume(fmt.Sprint(i), "a", "tool_result")
		if wantRefs(t, "refined", refs(r.Documents), "project:g4.md"); r.Strategy != "model" {
			t.Errorf("%+v", r)
		}
	}
}

// What the session has is named, and the trace given when it is asked for, at
// whatever point results are taken.
func TestPullTellsWhatPushTells(t *testing.T) {
	s := newStore(t, gateways())
	stub, release := heldModel(t, modeltest.Choose("Gateway rule 4"))
	d := sit(t, lsp.MemoryOptions{}, asking(s, stub)).settled()
	d.pull("s", "first", "gateway timeout")
	d.consume("s", "first", "initial")
	pending := d.begin(lsp.RecallParams{Session: "s", Token: "a", Query: "gateway timeout", Delivery: "pull", Trace: true})
	fast := d.consume("s", "a", "initial")
	release()
	d.answer(pending)
	refined := d.consume("s", "a", "tool_result")
	for _, r := range []*lsp.RecallResult{fast, refined} {
		if wantRefs(t, r.Phase, r.AlreadyDelivered, "project:g0.md", "project:g1.md"); r.Trace == nil || len(r.Trace.Candidates) == 0 {
			t.Errorf("%s: %v %+v", r.Phase, r.AlreadyDelivered, r.Trace)
		}
	}
}

// What was edited or deleted between the selection and the taking is shown as it
// is now, or not at all.
func TestPullIsCheckedAgainstTheNewestFiles(t *testing.T) {
	s := newStore(t, map[string]string{
		"a.md": note("Aquarium", "fish tank", "zebrafish port is 7433"),
		"b.md": note("Basin", "fish tank", "zebrafish food is red"),
	})
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	res, _ := d.answer(d.pull("s", "a", "zebrafish"))
	if len(res.Refined.Refs) != 2 {
		t.Fatalf("%+v", res.Refined)
	}
	s.remove("b.md")
	s.write("a.md", note("Aquarium", "fish tank", "zebrafish port is 7434"))
	d.until("both changes", func(l lsp.ListResult) bool { return len(l.Documents) == 1 && l.Documents[0].Ref == "project:a.md" })
	d.changed("project:a.md", "")
	r := d.consume("s", "a", "tool_result")
	wantRefs(t, "taken", refs(r.Documents), "project:a.md")
	if !strings.Contains(r.Prompt, "7434") || strings.Contains(r.Prompt, "7433") {
		t.Errorf("stale: %s", r.Prompt)
	}
	d.answer(d.pull("s", "b", "zebrafish"))
	d.answer(d.pull("t", "a", "zebrafish"))
	if err := os.Remove(s.path("a.md")); err != nil {
		t.Fatal(err)
	}
	d.until("no file", func(l lsp.ListResult) bool { return len(l.Documents) == 0 })
	wantNothing(t, "of a forgotten memory", d.consume("t", "a", "initial"))
}

// However a recall with pull delivery is cancelled, before it has settled and
// after, nothing of it is delivered any more, and it does not disturb the next.
func TestPullCancelled(t *testing.T) {
	for _, how := range []string{"new_query", "reset", "abort", "finish", "finish cancelled"} {
		for _, settled := range []bool{false, true} {
			if how == "abort" && settled {
				continue // its request has been answered
			}
			t.Run(fmt.Sprint(how, " ", settled), func(t *testing.T) { pullCancelled(t, how, settled) })
		}
	}
}

func pullCancelled(t *testing.T, how string, settled bool) {
	s := newStore(t, gateways())
	stub, release := heldModel(t, modeltest.Choose("Gateway rule 4"))
	d := sit(t, lsp.MemoryOptions{}, asking(s, stub)).settled()
	pending := d.pull("s", "a", "gateway timeout")
	if settled {
		release()
		d.answer(pending)
	}
	reason := how
	switch how {
	case "new_query":
		d.recall(lsp.RecallParams{Token: "b", Session: "s", Query: "ok thanks"})
	case "reset":
		d.call("memory/resetSession", lsp.ResetSessionParams{Session: "s", Reason: "reset"}, nil)
	case "abort":
		if err := pending.Cancel(); err != nil {
			t.Fatal(err)
		}
	default:
		outcome := "end_turn"
		if reason = "no_safe_delivery_point"; how == "finish cancelled" {
			outcome, reason = "cancelled", "abort"
		}
		want := lsp.FinishedRecall{Outcome: "cancelled", Reason: reason}
		if f := d.ended(lsp.FinishParams{Session: "s", Outcome: outcome}); f.Recall != want {
			t.Errorf("%+v, want %+v", f.Recall, want)
		}
	}
	res, refused := d.answer(pending)
	switch {
	case settled && res.Outcome != "settled":
		t.Errorf("%+v", res)
	case how == "abort" && (refused == nil || refused.Code != -32800):
		t.Errorf("%+v %v", res, refused)
	case how != "abort" && !settled && (res.Outcome != "cancelled" || res.Reason != reason || res.Refined.Status != "cancelled"):
		t.Errorf("%+v %v", res, refused)
	}
	wantNothing(t, "initial", d.consume("s", "a", "initial"))
	wantNothing(t, "tool result", d.consume("s", "a", "tool_result"))
	if f := d.ended(lsp.FinishParams{Session: "s", Token: "a", Outcome: "end_turn"}); f.Recall != (lsp.FinishedRecall{Outcome: "cancelled", Reason: reason}) {
		t.Errorf("%+v", f)
	}
	// None of it is in the ledger.
	d.recall(lsp.RecallParams{Token: "c", Session: "s", Query: "ok thanks"})
	want := "project:g0.md"
	if pending = d.pull("s", "d", "gateway timeout"); settled { // the model answers from now on
		d.answer(pending)
		want = "project:g4.md"
	}
	wantRefs(t, "the next", refs(d.consume("s", "d", "initial").Documents)[:1], want)
}

// A host that is kept waiting and gives up has taken nothing, and may ask again.
func TestPROTO_02_CancelledConsume(t *testing.T) {
	c := newClock(initialCeiling) // never fires
	s := newStore(t, gateways())
	stub, release := heldModel(t, modeltest.Choose("Palette"))
	d := sit(t, lsp.MemoryOptions{After: c.after}, asking(s, stub)).settled()
	pending := d.pull("s", "a", "zebrafish aquarium")
	waiting, err := d.client.Start("memory/consume", lsp.ConsumeParams{Session: "s", Token: "a", Point: "initial"})
	if err != nil {
		t.Fatal(err)
	}
	if err := waiting.Cancel(); err != nil {
		t.Fatal(err)
	}
	if m, err := waiting.Wait(t.Context()); err != nil || m.Error == nil || m.Error.Code != -32800 {
		t.Fatalf("%+v %v", m, err)
	}
	release()
	d.answer(pending)
	wantRefs(t, "asked again", refs(d.consume("s", "a", "initial").Documents), "project:palette.md")
	if n := len(d.client.Answers(fmt.Sprint(waiting.ID()))); n != 1 {
		t.Errorf("%d answers", n)
	}
}

// PROTO-01 with pull delivery: shutdown answers what waits and delivers nothing.
func TestPROTO_01_ShutdownEndsPulls(t *testing.T) {
	c := newClock(initialCeiling) // never fires
	s := newStore(t, gateways())
	stub := modeltest.New(t)
	stub.Otherwise(modeltest.Hang())
	d := sit(t, lsp.MemoryOptions{After: c.after}, asking(s, stub)).settled()
	pending := d.pull("s", "a", "zebrafish aquarium")
	waiting, err := d.client.Start("memory/consume", lsp.ConsumeParams{Session: "s", Token: "a", Point: "initial"})
	if err != nil {
		t.Fatal(err)
	}
	d.call("shutdown", nil, nil)
	if _, refused := d.answer(pending); refused == nil || refused.Code != -32800 {
		t.Errorf("recall: %v", refused)
	}
	if m, err := waiting.Wait(t.Context()); err != nil || m.Error == nil && string(m.Result) != "null" || m.Error != nil && m.Error.Code != -32800 {
		t.Errorf("consume: %+v %v", m, err)
	}
	d.notify("exit", nil)
	<-d.done
	if d.code != 0 {
		t.Errorf("exit code %d", d.code)
	}
}

// PROTO-08: what is wrong with a consume or a finish is said, with the field.
func TestPROTO_08_TurnParamsAreChecked(t *testing.T) {
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	long := strings.Repeat("x", 1<<20) // a session id of 1 MiB
	for _, tc := range []struct{ method, params, field string }{
		{"consume", `{}`, "session"},
		{"consume", `{"session":"s"}`, "token"},
		{"consume", `{"session":"s","token":"a"}`, "point"},
		{"consume", `{"session":"s","token":"a","point":"middle"}`, "point"},
		{"consume", `{"session":7,"token":"a","point":"initial"}`, "session"},
		{"consume", `{"session":"` + long + `","token":"a","point":"initial"}`, "session"},
		{"recall", `{"session":"` + long + `","token":"a","query":"x"}`, "session"},
		{"resetSession", `{"session":"` + long + `","reason":"reset"}`, "session"},
		{"finish", `{}`, "session"},
		{"finish", `{"session":"` + long + `","outcome":"end_turn"}`, "session"},
		{"finish", `{"session":"s"}`, "outcome"},
		{"finish", `{"session":"s","outcome":"fine"}`, "outcome"},
		{"finish", `{"session":"s","outcome":"end_turn","turn":"x"}`, "turn"},
		{"finish", `{"session":"s","outcome":"end_turn","token":"` + long + `"}`, "token"},
		{"finish", `{"session":"s","outcome":"end_turn","messages":[{"role":5}]}`, "messages[0].role"},
		{"finish", `{"session":"s","outcome":"end_turn","messagesFrom":{"offset":-1,"digest":""}}`, "messagesFrom.offset"},
		{"finish", `{"session":"s","outcome":"end_turn","messages":[{"role":"","text":""}` + strings.Repeat(`,{"role":"","text":""}`, 10_000) + `]}`, "messages"},
	} {
		err := d.refused("memory/"+tc.method, tc.params)
		if code(err) != -32602 || data[lsp.ParamErrorData](t, err).Field != tc.field {
			t.Errorf("%s %.80s: %.200v, want field %s", tc.method, tc.params, err, tc.field)
		}
	}
	early := ring(t, lsp.MemoryOptions{})
	for _, m := range []string{"memory/consume", "memory/finish"} {
		if err := early.refused(m, "{}"); code(err) != -32002 {
			t.Errorf("%s before initialize: %v", m, err)
		}
	}
}

// Names that nothing is known of are errors, names that have ended are not.
func TestUnknownTokensAndSessions(t *testing.T) {
	s := newStore(t, gateways())
	stub := modeltest.New(t)
	stub.Otherwise(modeltest.Hang())
	d := sit(t, lsp.MemoryOptions{}, asking(s, stub)).settled()
	unknown := func(method string, params any) {
		t.Helper()
		if err := d.refused(method, params); code(err) != -32803 || data[lsp.FailureData](t, err).Kind != lsp.KindNotFound {
			t.Errorf("%s %v: %v", method, params, err)
		}
	}
	unknown("memory/consume", lsp.ConsumeParams{Session: "s", Token: "a", Point: "initial"})
	unknown("memory/finish", lsp.FinishParams{Session: "s", Outcome: "end_turn"})
	unknown("memory/finish", lsp.FinishParams{Session: "s", Token: "a", Turn: "user", Outcome: "end_turn"})
	pushed := d.begin(lsp.RecallParams{Session: "s", Token: "pushed", Query: "gateway timeout"})
	unknown("memory/consume", lsp.ConsumeParams{Session: "s", Token: "a", Point: "tool_result"})
	unknown("memory/consume", lsp.ConsumeParams{Session: "other", Token: "pushed", Point: "tool_result"})
	if err := d.refused("memory/consume", lsp.ConsumeParams{Session: "s", Token: "pushed", Point: "initial"}); code(err) != -32602 ||
		data[lsp.ParamErrorData](t, err).Field != "token" {
		t.Errorf("of a pushed recall: %v", err)
	}
	d.pull("s", "pulled", "gateway timeout")
	d.finish(pushed, lsp.RecallParams{Session: "s", Token: "pushed"})
	wantNothing(t, "of a pushed recall that has ended", d.consume("s", "pushed", "initial"))
	for _, delivery := range []string{"push", "pull"} {
		err := d.refused("memory/recall", lsp.RecallParams{Session: "s", Token: "pulled", Query: "x", Delivery: delivery})
		if code(err) != -32602 || data[lsp.ParamErrorData](t, err).Field != "token" {
			t.Errorf("two recalls with one token: %v", err)
		}
	}
	if d.consume("s", "pulled", "initial") == nil {
		t.Error("a reused token has disturbed the pending recall")
	}
	for _, turn := range []string{"retry", "continue", "restore", "runtime"} {
		d.call("memory/recall", lsp.RecallParams{Session: "s", Token: turn, Query: "x", Turn: turn, Delivery: "pull"}, nil)
		wantNothing(t, "of a turn that starts no recall", d.consume("s", turn, "initial"))
		wantNothing(t, "of a turn that starts no recall", d.consume("s", turn, "tool_result"))
	}
}

// Ten thousand sessions on one connection, each with a selection that nobody
// takes: all are answered, the newest are kept.
func TestManySessions(t *testing.T) {
	s := newStore(t, map[string]string{"a.md": note("Aquarium", "fish tank", "zebrafish port is 7433")})
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	var open []lsptest.Pending
	for i := range 10_000 {
		open = append(open, d.pull(fmt.Sprint(i), "a", "zebrafish port"))
		if len(open) == 500 {
			for _, p := range open {
				if res, refused := d.answer(p); res.Outcome != "settled" {
					t.Fatalf("%+v %v", res, refused)
				}
			}
			open = nil
		}
	}
	if r := d.consume("9999", "a", "initial"); r == nil || !slices.Equal(refs(r.Documents), []string{"project:a.md"}) {
		t.Errorf("the newest session: %+v", r)
	}
	err := d.refused("memory/consume", lsp.ConsumeParams{Session: "0", Token: "a", Point: "initial"})
	if code(err) != -32803 || data[lsp.FailureData](t, err).Kind != lsp.KindNotFound {
		t.Errorf("the oldest session: %v", err)
	}
}

// A host that dies in the middle of a turn leaves nothing behind: not a goroutine
// (the package's tests look for them), not a question to the model.
func TestHostDiesMidTurn(t *testing.T) {
	s := newStore(t, gateways())
	stub := modeltest.New(t)
	stub.Otherwise(modeltest.Hang())
	d := sit(t, lsp.MemoryOptions{}, asking(s, stub)).settled()
	d.pull("s", "a", "gateway timeout")
	<-stub.Arrived()
	d.pull("t", "a", "zebrafish aquarium")
	<-stub.Arrived()
	if _, err := d.client.Start("memory/consume", lsp.ConsumeParams{Session: "t", Token: "a", Point: "initial"}); err != nil {
		t.Fatal(err)
	}
	d.client.Close()
	<-d.done
	<-stub.Gone()
	<-stub.Gone()
}

// PROTO-05 with pull delivery: what an editor has open and not saved is not
// taken, and a file that was deleted is gone though it is open.
func TestPROTO_05_PullUsesWhatIsSaved(t *testing.T) {
	s := newStore(t, map[string]string{"a.md": note("Harbour", "zebrafish port", "The port is 7433.")})
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	d.open(s.path("a.md"), note("Harbour", "zebrafish port", "The port is 7433."))
	d.edit(s.path("a.md"), nil, note("Harbour", "zebrafish port", "walrus"))
	d.answer(d.pull("s", "a", "zebrafish port"))
	if r := d.consume("s", "a", "initial"); r == nil || strings.Contains(r.Prompt, "walrus") || !strings.Contains(r.Prompt, "7433") {
		t.Errorf("%+v", r)
	}
	d.answer(d.pull("t", "a", "zebrafish port"))
	s.remove("a.md")
	d.until("a.md to go", func(l lsp.ListResult) bool { return len(l.Documents) == 0 })
	wantNothing(t, "a deleted file that is open", d.consume("t", "a", "initial"))
	d.close(s.path("a.md"))
	d.answer(d.pull("u", "a", "zebrafish port walrus"))
	wantNothing(t, "after it was closed", d.consume("u", "a", "initial"))
}

// PROTO-06 with pull delivery: a folder that goes takes what was chosen from it
// along, also when the selection had settled.
func TestPROTO_06_FolderGoesBeforeItIsTaken(t *testing.T) {
	f := newFinding(t)
	for name, text := range gateways() {
		f.write("a/.memory/"+name, text)
	}
	f.write("b/.memory/g.md", note("Gateway of B", "gateway timeouts", "gateway timeout"))
	for name, text := range others() {
		f.write("b/.memory/"+name, text)
	}
	settings := serving(f.store)
	settings.Roots = nil
	d := sit(t, f.options(), settings, memoryClient{Folders: []string{f.path("a")}}).settled()
	if res, _ := d.answer(d.pull("a", "r", "gateway timeout")); len(res.Refined.Refs) != 5 {
		t.Fatalf("%+v", res.Refined)
	}
	d.folders([]string{f.path("b")}, nil)
	d.folders(nil, []string{f.path("a")})
	d.settled()
	wantNothing(t, "of a folder that has gone", d.consume("a", "r", "initial"))
	d.answer(d.pull("b", "r", "gateway timeout"))
	wantRefs(t, "the folder that came", refs(d.consume("b", "r", "initial").Documents), "project:g.md")
}

// punctual is a model that answers after a set time.
type punctual time.Duration

func (p punctual) Complete(ctx context.Context, r model.Request) (json.RawMessage, model.Usage, error) {
	select {
	case <-time.After(time.Duration(p)):
	case <-ctx.Done():
		return nil, model.Usage{}, ctx.Err()
	}
	chat := modeltest.Chat{Messages: []modeltest.ChatMessage{{Role: "user", Content: r.User}}}
	raw, err := json.Marshal(map[string][]string{"ids": chat.IDs("Gateway rule 4")})
	return raw, model.Usage{}, err
}

// A cancellation that comes in the moment in which the selection settles either
// ends the recall or does nothing: what is answered as settled is there to take.
func TestCancellationAtTheLastMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const thinking = 50 * time.Millisecond
		s := newStore(t, gateways())
		var watch told
		settings := serving(s)
		settings.Model = &lsp.ModelOptions{BaseURL: "http://model", Name: "m"}
		d := sit(t, lsp.MemoryOptions{
			Watch: watch.factory,
			Model: func(lsp.ModelOptions, string) (recall.Model, error) { return punctual(thinking), nil },
		}, settings).settled()
		settled := 0
		for i := range 400 {
			session := fmt.Sprint(i)
			pending := d.pull(session, "a", "gateway timeout")
			synctest.Wait()
			time.Sleep(thinking)
			if err := pending.Cancel(); err != nil {
				t.Fatal(err)
			}
			res, refused := d.answer(pending)
			got := d.consume(session, "a", "tool_result")
			switch {
			case refused == nil && (res.Outcome != "settled" || got == nil):
				t.Fatalf("%d: answered as %+v, taken %v", i, res, got)
			case refused != nil && (refused.Code != -32800 || got != nil):
				t.Fatalf("%d: refused as %v, taken %v", i, refused, got)
			case refused == nil:
				settled++
			}
		}
		t.Logf("%d of 400 settled first", settled)
	})
}
