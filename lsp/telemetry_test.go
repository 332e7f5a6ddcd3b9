package lsp_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
	"github.com/memls/memls/recall/model/modeltest"
)

// telling switches telemetry on.
func telling(o lsp.InitializationOptions) lsp.InitializationOptions {
	o.Telemetry = true
	return o
}

// told are the telemetry events of a type so far.
func (d *desk) told(typ string) (out []lsp.TelemetryEvent) {
	for _, m := range d.client.Log() {
		if m.Method != "telemetry/event" {
			continue
		}
		if e := decode[lsp.TelemetryEvent](d.t, m.Params); e.Type == typ {
			e.LatencyMs = 0
			out = append(out, e)
		}
	}
	return out
}

func event(phase, point, reason, strategy string, documents int) lsp.TelemetryEvent {
	return lsp.TelemetryEvent{
		Type: "memory.recall.delivery", Phase: phase, DeliveryPoint: point, DiscardReason: reason, Strategy: strategy, Documents: documents,
	}
}

// Each way in which a recall can end has its events: phase and strategy tell
// different things, and already_delivered goes before every other reason.
func TestTelemetryOfDeliveries(t *testing.T) {
	fastPush, fastPull := event("fast", "push", "", "heuristic", 2), event("fast", "initial", "", "heuristic", 2)
	discarded := func(reason, strategy string) lsp.TelemetryEvent {
		return event("refined", "discarded", reason, strategy, 0)
	}
	for _, tc := range []struct {
		name   string
		choose []string // by the model; nil for a model that does not answer
		do     func(d *desk, recall func(delivery string) lsptest.Pending)
		want   []lsp.TelemetryEvent
	}{
		{"push", []string{"Gateway rule 4"}, func(d *desk, recall func(string) lsptest.Pending) {
			d.answer(recall("push"))
		}, []lsp.TelemetryEvent{fastPush, event("refined", "push", "", "model", 1)}},
		{"push, all in fast", []string{"Gateway rule 0"}, func(d *desk, recall func(string) lsptest.Pending) {
			d.answer(recall("push"))
		}, []lsp.TelemetryEvent{fastPush, discarded("already_delivered", "model")}},
		{"push, refused by the model", []string{}, func(d *desk, recall func(string) lsptest.Pending) {
			d.answer(recall("push"))
		}, []lsp.TelemetryEvent{fastPush, discarded("no_relevant_results", "model")}},
		{"push, cancelled", nil, func(d *desk, recall func(string) lsptest.Pending) {
			d.abandon(recall("push"))
		}, []lsp.TelemetryEvent{fastPush, discarded("abort", "none")}},
		{"initial", []string{"Gateway rule 4"}, func(d *desk, recall func(string) lsptest.Pending) {
			d.answer(recall("pull"))
			d.consume("s", "a", "initial")
		}, []lsp.TelemetryEvent{event("refined", "initial", "", "model", 1)}},
		{"tool result", []string{"Gateway rule 4"}, func(d *desk, recall func(string) lsptest.Pending) {
			d.answer(recall("pull"))
			d.consume("s", "a", "tool_result")
		}, []lsp.TelemetryEvent{event("refined", "tool_result", "", "model", 1)}},
		{"nobody took it", []string{"Gateway rule 4"}, func(d *desk, recall func(string) lsptest.Pending) {
			d.answer(recall("pull"))
			d.ended(lsp.FinishParams{Session: "s", Outcome: "end_turn"})
		}, []lsp.TelemetryEvent{discarded("no_safe_delivery_point", "model")}},
		{"the next came before it settled", nil, func(d *desk, recall func(string) lsptest.Pending) {
			recall("pull")
			d.consume("s", "a", "initial")
			d.recall(lsp.RecallParams{Query: "ok thanks"})
		}, []lsp.TelemetryEvent{fastPull, discarded("new_query", "none"), discarded("no_relevant_results", "none")}},
		{"reset", []string{"Gateway rule 4"}, func(d *desk, recall func(string) lsptest.Pending) {
			d.answer(recall("pull"))
			d.call("memory/resetSession", lsp.ResetSessionParams{Session: "s", Reason: "reset"}, nil)
		}, []lsp.TelemetryEvent{discarded("reset", "model")}},
		{"turn cancelled", nil, func(d *desk, recall func(string) lsptest.Pending) {
			recall("pull")
			d.ended(lsp.FinishParams{Session: "s", Outcome: "cancelled"})
		}, []lsp.TelemetryEvent{discarded("abort", "none")}},
		{"shutdown", nil, func(d *desk, recall func(string) lsptest.Pending) {
			recall("pull")
			d.call("shutdown", nil, nil)
		}, []lsp.TelemetryEvent{discarded("shutdown", "none")}},
		{"held from before", []string{"Gateway rule 0", "Gateway rule 1"}, func(d *desk, recall func(string) lsptest.Pending) {
			d.answer(recall("pull"))
			d.consume("s", "a", "initial")
			d.answer(d.pull("s", "b", "ok thanks"))
		}, []lsp.TelemetryEvent{event("refined", "initial", "", "model", 2), discarded("no_relevant_results", "none")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStore(t, gateways())
			stub := modeltest.New(t)
			if stub.Otherwise(modeltest.Hang()); tc.choose != nil {
				stub.Otherwise(modeltest.Choose(tc.choose...))
			}
			d := sit(t, lsp.MemoryOptions{}, telling(asking(s, stub))).settled()
			tc.do(d, func(delivery string) lsptest.Pending {
				return d.begin(lsp.RecallParams{Session: "s", Token: "a", Query: "gateway timeout", Delivery: delivery})
			})
			if got := d.told("memory.recall.delivery"); !slices.Equal(got, tc.want) {
				t.Errorf("got  %+v\nwant %+v", got, tc.want)
			}
		})
	}
}

// abandon cancels a request and waits for its answer.
func (d *desk) abandon(p lsptest.Pending) {
	d.t.Helper()
	if err := p.Cancel(); err != nil {
		d.t.Fatal(err)
	}
	d.answer(p)
}

// What was delivered before an end of another kind makes it already_delivered:
// all of a selection that has settled, not a part of it.
func TestAlreadyDeliveredGoesFirst(t *testing.T) {
	for _, choose := range [][]string{{"Gateway rule 0"}, {"Gateway rule 0", "Gateway rule 4"}} {
		s := newStore(t, gateways())
		stub, release := heldModel(t, modeltest.Choose(choose...))
		d := sit(t, lsp.MemoryOptions{}, telling(asking(s, stub))).settled()
		pending := d.pull("s", "a", "gateway timeout")
		d.consume("s", "a", "initial")
		release()
		d.answer(pending)
		d.ended(lsp.FinishParams{Session: "s", Outcome: "cancelled"})
		want := map[int]string{1: "already_delivered", 2: "abort"}[len(choose)]
		if got := d.told("memory.recall.delivery"); got[len(got)-1] != event("refined", "discarded", want, "model", 0) || len(got) != 2 {
			t.Errorf("%v: %+v", choose, got)
		}
	}
}

// A selection is told once, with what stood behind it; a cancelled one is not.
func TestTelemetryOfSelections(t *testing.T) {
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{}, telling(serving(s))).settled()
	d.ask("gateway timeout")
	d.answer(d.pull("t", "a", "zebrafish"))
	want := []lsp.TelemetryEvent{
		{Type: "memory.recall", Strategy: "heuristic", Status: "delivered", Delivery: "push", Documents: 3, Candidates: 5},
		{Type: "memory.recall", Strategy: "none", Status: "no_relevant_results", Delivery: "pull"},
	}
	if got := d.told("memory.recall"); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	d.configure(`{"telemetry":null}`)
	n := len(d.told("memory.recall"))
	d.ask("palette")
	if len(d.told("memory.recall")) != n {
		t.Error("told after it was switched off")
	}
}

// No event holds what was asked, written or named, whatever happens.
func TestTelemetryTellsNothing(t *testing.T) {
	const secret = "sk-quagga-0123456789"
	s := newStore(t, map[string]string{
		"okapi_path.md": note("Wombattitle", "numbatdescription", "zebrafish echidnabody lives here"),
		"g.md":          note("Gateway", "gateway", "gateway zebrafish two"),
	})
	stub := modeltest.New(t)
	stub.Script(modeltest.Choose("Wombattitle"), modeltest.BrokenJSON(), modeltest.Fail(401, "echidnabody "+secret))
	stub.Otherwise(modeltest.Choose("Wombattitle"))
	settings := telling(asking(s, stub))
	settings.Model.APIKeyEnv = "PANGOLIN_KEY"
	d := sit(t, lsp.MemoryOptions{Model: impatient, Getenv: func(string) string { return secret }}, settings).settled()
	for i, delivery := range []string{"push", "pull", "push", "pull", "push"} {
		token, session := fmt.Sprint("dugongtoken", i), fmt.Sprint("kakaposession", i%2)
		pending := d.begin(lsp.RecallParams{Session: session, Token: token, Query: "zebrafish axolotlquery", Delivery: delivery, RecentTools: []string{"fossatool"}})
		if delivery == "pull" {
			d.consume(session, token, "initial")
		}
		d.answer(pending)
		if delivery == "pull" {
			d.consume(session, token, "tool_result")
		}
		d.ended(lsp.FinishParams{Session: session, Token: token, Outcome: "end_turn", Messages: []lsp.TurnMessage{{Role: "user", Text: "axolotlquery"}}})
	}
	n := 0
	for _, m := range d.client.Log() {
		if m.Method != "telemetry/event" {
			continue
		}
		n++
		for _, word := range []string{
			"axolotl", "echidna", "wombat", "numbat", "okapi", "kakapo", "dugong", "fossa", "zebrafish", "gateway", "quagga", "pangolin", ".md", s.dir, "project:", "sha256",
		} {
			if strings.Contains(strings.ToLower(string(m.Params)), strings.ToLower(word)) {
				t.Errorf("%q in %s", word, m.Params)
			}
		}
		var fields map[string]any
		if err := json.Unmarshal(m.Params, &fields); err != nil {
			t.Fatal(err)
		}
		for name, v := range fields {
			if text, ok := v.(string); ok && (len(text) > 32 || strings.ContainsAny(text, " /:")) {
				t.Errorf("%s is no value of an enumeration: %q", name, text)
			}
		}
	}
	if n < 10 {
		t.Errorf("%d events", n)
	}
}
