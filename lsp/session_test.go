package lsp_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/memls/memls/lsp"
)

// A session that nobody has used for a day is forgotten, with what nobody took;
// one that is used is not.
func TestSessionsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, map[string]string{"a.md": note("Aquarium", "fish tank", "zebrafish port is 7433")})
		var watch told
		d := sit(t, lsp.MemoryOptions{Watch: watch.factory}, telling(serving(s))).settled()
		d.recall(lsp.RecallParams{Session: "left", Query: "zebrafish port"})
		d.recall(lsp.RecallParams{Session: "used", Query: "zebrafish port"})
		d.answer(d.pull("untaken", "a", "zebrafish port"))
		for range 5 {
			time.Sleep(6 * time.Hour)
			d.notify("memory/toolUsed", lsp.ToolUsedParams{Session: "used", Tool: "t", Status: "ok"})
		}
		events := d.told("memory.recall.delivery")
		if last := events[len(events)-1]; last != event("refined", "discarded", "no_safe_delivery_point", "heuristic", 0) {
			t.Errorf("%+v", last)
		}
		if err := d.refused("memory/consume", lsp.ConsumeParams{Session: "untaken", Token: "a", Point: "initial"}); code(err) != -32803 {
			t.Errorf("%v", err)
		}
		for session, want := range map[string]int{"left": 1, "used": 0} {
			if got := d.recall(lsp.RecallParams{Session: session, Query: "zebrafish port"}).all(); len(got) != want {
				t.Errorf("%s: %v, want %d", session, got, want)
			}
		}
	})
}
