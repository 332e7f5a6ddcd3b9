package delivery

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/memls/memls/lsp"
)

// taken is what one turn with pull delivery was given.
type taken struct {
	initial, later []string
	wait           time.Duration // of the start of the turn
	fast           bool          // there was a fast result to take
}

// turn is a turn with tools: its first request takes what there is, and a later
// one what stands when the selection has settled. A turn without tools ends after
// the first request; what that has is the same.
func (c *connection) turn(ctx context.Context, cs Case) (taken, error) {
	var t taken
	session, token := "delivery-"+cs.ID, "t"
	var answer lsp.RecallResponse
	answered := make(chan error, 1)
	settled, err := c.client.start(ctx, "memory/recall", lsp.RecallParams{Token: token, Session: session, Query: cs.Query, Delivery: "pull"})
	if err != nil {
		return t, err
	}
	go func() { answered <- settled(&answer) }()
	began := time.Now()
	first, err := c.consume(ctx, session, token, "initial")
	t.wait = time.Since(began)
	t.initial = first
	if ended := <-answered; ended != nil {
		return t, ended
	}
	if err != nil {
		return t, err
	}
	if answer.Outcome != "settled" || answer.Fast == nil {
		return t, fmt.Errorf("the recall has ended as %s", answer.Outcome)
	}
	t.fast = len(answer.Fast.Refs) > 0
	if t.later, err = c.consume(ctx, session, token, "tool_result"); err != nil {
		return t, err
	}
	return t, c.client.call(ctx, "memory/finish", lsp.FinishParams{Session: session, Token: token, Outcome: "end_turn"}, nil)
}

func (c *connection) consume(ctx context.Context, session, token, point string) ([]string, error) {
	var r *lsp.RecallResult
	err := c.client.call(ctx, "memory/consume", lsp.ConsumeParams{Session: session, Token: token, Point: point}, &r)
	if err != nil || r == nil {
		return nil, err
	}
	return refsOf(r), nil
}

func refsOf(r *lsp.RecallResult) []string {
	refs := make([]string, len(r.Documents))
	for i := range r.Documents {
		refs[i] = r.Documents[i].Ref
	}
	return refs
}

// pulled are the two rows of a latency with pull delivery.
func pulled(opt *Options, turns []taken, latency time.Duration) []Row {
	var rows []Row
	for _, tools := range []bool{false, true} {
		r := Row{LatencyMs: latency.Milliseconds(), Mode: ModePull, Path: PathFast, Tools: tools}
		r.fill(opt, func(i int) (initial, later []string) {
			if tools {
				later = turns[i].later
			}
			return turns[i].initial, later
		})
		for i := range turns {
			r.Overlap += overlap(turns[i].initial, turns[i].later)
		}
		rows = append(rows, r)
	}
	return rows
}

// Wait is how long the start of a turn was kept waiting, in milliseconds.
type Wait struct {
	LatencyMs int64   `json:"latencyMs"` // of the selector
	Fast      bool    `json:"fast"`      // there was a fast result
	Turns     int     `json:"turns"`
	P50Ms     float64 `json:"p50Ms"`
	P99Ms     float64 `json:"p99Ms"`
	MaxMs     float64 `json:"maxMs"`
}

// waits tells apart turns that had something to take at once and others.
func waits(turns []taken, latency time.Duration) []Wait {
	var out []Wait
	for _, fast := range []bool{true, false} {
		var times []time.Duration
		for i := range turns {
			if turns[i].fast == fast {
				times = append(times, turns[i].wait)
			}
		}
		if len(times) == 0 {
			continue
		}
		slices.Sort(times)
		out = append(out, Wait{
			LatencyMs: latency.Milliseconds(), Fast: fast, Turns: len(times),
			P50Ms: milliseconds(times[len(times)/2]), P99Ms: milliseconds(times[len(times)*99/100]), MaxMs: milliseconds(times[len(times)-1]),
		})
	}
	return out
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
