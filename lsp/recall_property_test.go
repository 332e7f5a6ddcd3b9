package lsp_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
	"github.com/memls/memls/recall/model/modeltest"
)

// Whatever a client does in whatever order while files change and the model
// takes its time: in a session one recall at a time is pending, each that was
// started ends exactly once, fast before refined before the answer, and nothing
// comes twice that has not changed.
func TestRandomInterleavings(t *testing.T) {
	seeds := 6
	if soak() {
		seeds = 200
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			newInterleaving(t, uint64(seed)).run(60)
		})
	}
}

// interleaving is one randomised client.
type interleaving struct {
	t     *testing.T
	rnd   *rand.Rand
	s     store
	d     *desk
	gate  *gate
	edits map[string]int

	sessions [3]struct {
		live  []lsptest.Pending
		all   []lsp.RecallParams
		reset bool // the ledger was cleared: repeats are right
	}
}

// gate lets model calls through when the test says so.
type gate struct {
	mu   sync.Mutex
	next chan none
}

func (g *gate) step(step modeltest.Step) modeltest.Step {
	return func(c *modeltest.Call) {
		g.mu.Lock()
		next := g.next
		g.mu.Unlock()
		ready := make(chan struct{})
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			select {
			case <-next:
				close(ready)
			case <-stop:
			}
		}()
		if c.Wait(ready) {
			step(c)
		}
	}
}

// open lets everything through that waits now.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.next)
	g.next = make(chan none)
}

func newInterleaving(t *testing.T, seed uint64) *interleaving {
	x := &interleaving{
		t: t, rnd: rand.New(rand.NewPCG(seed, 7)), s: newStore(t, gateways()),
		gate: &gate{next: make(chan none)}, edits: map[string]int{},
	}
	stub := modeltest.New(t)
	var mu sync.Mutex
	rnd := rand.New(rand.NewPCG(seed, 8))
	choose := modeltest.ChooseBy(func(c modeltest.Chat) []string {
		mu.Lock()
		defer mu.Unlock()
		ids := c.AllIDs()
		rnd.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		return ids[:rnd.IntN(min(len(ids), 5)+1)]
	})
	stub.Otherwise(x.gate.step(choose))
	x.d = sit(t, lsp.MemoryOptions{}, asking(x.s, stub)).settled()
	return x
}

func (x *interleaving) run(steps int) {
	for range steps {
		i := x.rnd.IntN(len(x.sessions))
		s := &x.sessions[i]
		name := fmt.Sprint("s", i)
		switch n := x.rnd.IntN(20); {
		case n < 9:
			p := lsp.RecallParams{Token: fmt.Sprint("t", len(s.all)), Session: name, Query: x.query(), Limit: pointer(1 + x.rnd.IntN(5))}
			if x.rnd.IntN(4) == 0 {
				p.Query = "ok thanks" // no selector is asked
			}
			pending := x.d.begin(p)
			s.live, s.all = append(s.live, pending), append(s.all, p)
		case n < 12:
			if len(s.live) > 0 {
				if err := s.live[x.rnd.IntN(len(s.live))].Cancel(); err != nil {
					x.t.Fatal(err)
				}
			}
		case n < 13:
			reason := []string{"reset", "compacted"}[x.rnd.IntN(2)]
			s.reset = true
			if _, err := x.d.client.Start("memory/resetSession", lsp.ResetSessionParams{Session: name, Reason: reason}); err != nil {
				x.t.Fatal(err)
			}
		case n < 15:
			x.edit()
		case n < 18:
			x.gate.open()
		default:
			if len(s.live) > 0 {
				x.gate.open()
				x.wait(s.live[len(s.live)-1])
			}
		}
	}
	x.end()
}

func (x *interleaving) query() string {
	return []string{"gateway timeout", "gateway rule", "nine colours palette", "who is on call", "zebrafish"}[x.rnd.IntN(5)]
}

func (x *interleaving) edit() {
	i := x.rnd.IntN(5)
	name := fmt.Sprintf("g%d.md", i)
	if x.rnd.IntN(4) == 0 {
		x.edits[name]++
		x.s.write(name, "no memory any more")
		return
	}
	x.edits[name]++
	x.s.write(name, note(fmt.Sprintf("Gateway rule %d", i), "gateway timeouts", fmt.Sprintf("gateway timeout, edition %d", x.edits[name])))
}

// wait waits for an answer while model calls go through.
func (x *interleaving) wait(p lsptest.Pending) {
	done := make(chan none)
	go func() {
		defer close(done)
		if _, err := p.Wait(x.t.Context()); err != nil {
			x.t.Error(err)
		}
	}()
	for {
		select {
		case <-done:
			return
		default:
			x.gate.open()
		}
	}
}

func (x *interleaving) end() {
	for i := range x.sessions {
		s := &x.sessions[i]
		tokens := map[string]string{}
		for j := range s.live {
			tokens[fmt.Sprint(s.live[j].ID())] = s.all[j].Token
			x.wait(s.live[j])
			// Inv: checks the number and order of events.
			x.d.finish(s.live[j], s.all[j])
		}
		name := fmt.Sprint("s", i)
		wantOneAtATime(x.t, x.d, name, tokens)
		if !s.reset {
			x.noRepeats(name)
		}
	}
}

// noRepeats checks that no passage of an unchanged text came twice.
func (x *interleaving) noRepeats(session string) {
	seen := map[string][]lsp.RecallDocument{}
	tokens := map[string][]string{}
	for _, m := range x.d.client.Log() {
		if !strings.HasPrefix(m.Method, "memory/recall") {
			continue
		}
		r := decode[lsp.RecallResult](x.t, m.Params)
		if r.Session != session {
			continue
		}
		for _, doc := range r.Documents {
			if slices.Contains(tokens[r.Token], doc.Ref) {
				x.t.Errorf("%s: recall %s delivers %s twice", session, r.Token, doc.Ref)
			}
			tokens[r.Token] = append(tokens[r.Token], doc.Ref)
			for _, old := range seen[doc.Ref] {
				if old.Title == doc.Title && old.Description == doc.Description && old.Body == doc.Body {
					x.t.Errorf("%s: %s came again in %s, unchanged", session, doc.Ref, r.Token)
				}
			}
			seen[doc.Ref] = append(seen[doc.Ref], doc)
		}
		for _, ref := range r.Retract {
			if !slices.Contains(tokens[r.Token], ref) {
				x.t.Errorf("%s: %s retracts %s, which it did not deliver", session, r.Token, ref)
			}
		}
		for _, ref := range r.AlreadyDelivered {
			if slices.Contains(tokens[r.Token], ref) {
				x.t.Errorf("%s: %s names %s, which it delivered itself, as held", session, r.Token, ref)
			}
		}
	}
}
