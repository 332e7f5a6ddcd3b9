package lsp_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/recall/model/modeltest"
)

// scheduler records the turns that extraction and consolidation were asked to
// follow.
type scheduler struct {
	mu             sync.Mutex
	extract, dream []lsp.FinishedTurn
}

func (s *scheduler) options() lsp.MemoryOptions {
	note := func(list *[]lsp.FinishedTurn) func(lsp.FinishedTurn) lsp.ScheduledWork {
		return func(t lsp.FinishedTurn) lsp.ScheduledWork {
			s.mu.Lock()
			defer s.mu.Unlock()
			*list = append(*list, t)
			return lsp.ScheduledWork{State: "scheduled"}
		}
	}
	return lsp.MemoryOptions{Extract: note(&s.extract), Dream: note(&s.dream)}
}

// learning switches both on.
func learning(o lsp.InitializationOptions) lsp.InitializationOptions {
	o.Extract, o.Dream = lsp.SwitchOption{Enabled: pointer(true)}, lsp.SwitchOption{Enabled: pointer(true)}
	return o
}

var history = []lsp.TurnMessage{{Role: "user", Text: "which port"}, {Role: "assistant", Text: "7433", ID: "x9"}}

// Only a user's own turn that ended well is learnt from, once, with its final
// history.
func TestFinishSchedulesOnce(t *testing.T) {
	s := newStore(t, gateways())
	var work scheduler
	d := sit(t, work.options(), learning(serving(s))).settled()
	skipped := func(reason string) lsp.ScheduledWork { return lsp.ScheduledWork{State: "skipped", Reason: reason} }
	scheduled := lsp.ScheduledWork{State: "scheduled"}
	n, turns := 0, 0
	for _, turn := range []string{"user", "retry", "continue", "restore", "runtime"} {
		for _, outcome := range []string{"end_turn", "cancelled", "error", "loop_protection", "limit"} {
			for _, delivery := range []string{"push", "pull"} {
				n++
				token := fmt.Sprint("t", n)
				d.call("memory/recall", lsp.RecallParams{Session: "s", Token: token, Query: "gateway timeout", Turn: turn, Delivery: delivery}, nil)
				p := lsp.FinishParams{Session: "s", Token: token, Outcome: outcome, Messages: history}
				first := d.ended(p)
				want := skipped("not_user_turn")
				switch {
				case turn == "user" && outcome == "end_turn":
					want = scheduled
					turns++
				case turn == "user":
					want = skipped("turn_not_successful")
				}
				if first.Extract != want || first.Dream != want {
					t.Errorf("%s %s: %+v, want %+v", turn, outcome, first, want)
				}
				if (first.Recall.Outcome == "not_started") != (turn != "user") {
					t.Errorf("%s %s: %+v", turn, outcome, first.Recall)
				}
				for _, again := range []lsp.FinishParams{p, {Session: "s", Outcome: "end_turn"}, {Session: "s", Token: token, Outcome: "error"}} {
					if got := d.ended(again); got != first {
						t.Errorf("finished again: %+v, first %+v", got, first)
					}
				}
				if len(work.extract) != turns || len(work.dream) != turns {
					t.Fatalf("%s %s: scheduled %d and %d times, want %d", turn, outcome, len(work.extract), len(work.dream), turns)
				}
			}
		}
	}
	if got := work.extract[0]; got.Session != "s" || len(got.Messages) != 2 || got.Messages[1].ID != "x9" || got.From != nil {
		t.Errorf("%+v", got)
	}
}

// What stands against scheduling is named.
func TestFinishReasons(t *testing.T) {
	s := newStore(t, gateways())
	var work scheduler
	d := sit(t, work.options(), learning(serving(s))).settled()
	finish := func(p lsp.FinishParams) lsp.FinishResult {
		d.ask("gateway timeout")
		p.Session, p.Outcome = "s", "end_turn"
		return d.ended(p)
	}
	if r := finish(lsp.FinishParams{}); r.Extract.Reason != "no_history" || r.Dream.State != "scheduled" {
		t.Errorf("without messages: %+v", r)
	}
	if r := finish(lsp.FinishParams{Turn: "runtime", Messages: history}); r.Extract.Reason != "not_user_turn" || r.Dream.Reason != "not_user_turn" {
		t.Errorf("said to be of another kind: %+v", r)
	}
	tail := lsp.FinishParams{Messages: history, MessagesFrom: &lsp.MessageCursor{Offset: 40, Digest: "d"}}
	if r := finish(tail); r.Extract.State != "scheduled" || *work.extract[0].From != *tail.MessagesFrom {
		t.Errorf("a tail: %+v %+v", r, work.extract)
	}
	d.configure(`{"extract":{"enabled":false},"dream":null}`)
	if r := finish(lsp.FinishParams{Messages: history}); r.Extract.Reason != "disabled" || r.Dream.Reason != "disabled" {
		t.Errorf("switched off: %+v", r)
	}
	bare := sit(t, lsp.MemoryOptions{State: stateless}, learning(serving(s))).settled()
	bare.ask("gateway timeout")
	if r := bare.ended(lsp.FinishParams{Session: "s", Outcome: "end_turn", Messages: history}); r.Extract.Reason != "disabled" {
		t.Errorf("without a task: %+v", r)
	}
}

// A turn that no recall announced is finished by naming its kind; a turn that was
// announced and recalls nothing is one, too.
func TestFinishWithoutARecall(t *testing.T) {
	s := newStore(t, gateways())
	var work scheduler
	d := sit(t, work.options(), learning(serving(s))).settled()
	r := d.ended(lsp.FinishParams{Session: "new", Turn: "user", Outcome: "end_turn", Messages: history})
	if r.Extract.State != "scheduled" || r.Recall != (lsp.FinishedRecall{Outcome: "not_started"}) {
		t.Errorf("%+v", r)
	}
	d.configure(`{"recall":{"enabled":false}}`)
	d.recall(lsp.RecallParams{Session: "s", Token: "a", Query: "gateway timeout"})
	r = d.ended(lsp.FinishParams{Session: "s", Token: "a", Outcome: "end_turn", Messages: history})
	if r.Extract.State != "scheduled" || r.Recall != (lsp.FinishedRecall{Outcome: "not_started", Reason: "disabled"}) {
		t.Errorf("%+v", r)
	}
}

// A late end of an old turn leaves the recall of the present one alone; a
// continuation goes on using the pending recall, and its end gives that up.
func TestFinishEndsItsOwnRecall(t *testing.T) {
	s := newStore(t, gateways())
	stub, release := heldModel(t, modeltest.Choose("Gateway rule 4"))
	d := sit(t, lsp.MemoryOptions{}, asking(s, stub)).settled()
	old := d.pull("s", "old", "gateway timeout")
	now := d.pull("s", "now", "gateway timeout")
	if res, _ := d.answer(old); res.Reason != "new_query" {
		t.Errorf("%+v", res)
	}
	if r := d.ended(lsp.FinishParams{Session: "s", Token: "old", Outcome: "end_turn"}); r.Recall.Reason != "new_query" {
		t.Errorf("%+v", r)
	}
	d.call("memory/recall", lsp.RecallParams{Session: "s", Token: "more", Query: "x", Turn: "continue", Delivery: "pull"}, nil)
	release()
	d.answer(now)
	wantRefs(t, "in a continuation", refs(d.consume("s", "now", "tool_result").Documents), "project:g4.md")
	d.call("memory/resetSession", lsp.ResetSessionParams{Session: "s", Reason: "reset"}, nil)

	pending := d.pull("s", "third", "gateway timeout")
	d.answer(pending)
	d.call("memory/recall", lsp.RecallParams{Session: "s", Token: "again", Query: "x", Turn: "continue", Delivery: "pull"}, nil)
	d.ended(lsp.FinishParams{Session: "s", Token: "again", Outcome: "end_turn"})
	wantNothing(t, "after the end of its continuation", d.consume("s", "third", "tool_result"))
}

// A pushed recall that is pending when its turn ends is cancelled with the reason.
func TestFinishEndsAPushedRecall(t *testing.T) {
	s := newStore(t, gateways())
	stub := modeltest.New(t)
	stub.Otherwise(modeltest.Hang())
	d := sit(t, lsp.MemoryOptions{}, asking(s, stub)).settled()
	for outcome, reason := range map[string]string{"end_turn": "no_safe_delivery_point", "cancelled": "abort"} {
		p := lsp.RecallParams{Session: outcome, Token: "a", Query: "gateway timeout"}
		pending := d.begin(p)
		d.ended(lsp.FinishParams{Session: outcome, Outcome: outcome})
		r := d.finish(pending, p)
		if r.err != nil || r.response.Outcome != "cancelled" || r.response.Reason != reason || r.refined.Status != "cancelled" || r.refined.Reason != reason {
			t.Errorf("%s: %+v", outcome, r)
		}
	}
}
