package lsp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/model"
	"github.com/memls/memls/recall/model/modeltest"
)

// Whatever a host does, in whatever order, while files change, the model takes
// its time and the clock goes on: what tells every interleaving apart from a
// broken one is checked by a host that knows what it did. See host.
func TestTurnInterleavings(t *testing.T) {
	seeds := 120
	if soak() {
		seeds = 20_000
	}
	seen := map[string]int{}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			newHost(t, uint64(seed), seen).run(80)
		})
	}
	t.Logf("%d interleavings: %v", seeds, seen)
	for _, what := range []string{
		"fast initial", "refined initial", "refined tool_result", "fast push", "refined push", "model", "heuristic",
		"new_query", "reset", "abort", "no_safe_delivery_point", "already_delivered", "no_relevant_results",
		"waited", "ceiling", "overtaken", "late finish", "died",
	} {
		if seen[what] == 0 {
			t.Errorf("never happened: %s", what)
		}
	}
}

// told makes watchers that a test tells what has changed.
type told struct {
	mu    sync.Mutex
	sinks []func(memory.FileChange)
}

func (w *told) factory(bool) memory.WatchFactory {
	return func(dir string, _ func(string, bool) bool, sink func(memory.FileChange)) memory.Watcher {
		return &toldWatcher{told: w, dir: dir, sink: sink}
	}
}

func (w *told) change(c memory.FileChange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, sink := range w.sinks {
		sink(c)
	}
}

type toldWatcher struct {
	told *told
	dir  string
	sink func(memory.FileChange)
}

func (w *toldWatcher) Run(ctx context.Context) error {
	names, err := filepath.Glob(filepath.Join(w.dir, "*.md"))
	if err != nil {
		return err
	}
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	w.sink(memory.FileChange{Changed: names, Full: true})
	w.told.mu.Lock()
	w.told.sinks = append(w.told.sinks, w.sink)
	w.told.mu.Unlock()
	<-ctx.Done()
	return nil
}

func (w *toldWatcher) Poke()                      {}
func (w *toldWatcher) Sync(context.Context) error { return nil }
func (w *toldWatcher) Status() memory.WatchStatus { return memory.WatchStatus{Mode: "fsnotify"} }

// fickle is a model that takes any time to choose anything.
type fickle struct {
	t   *testing.T
	mu  sync.Mutex
	rnd *rand.Rand
	// active are the questions of each session that are being thought about.
	active map[string]int
}

// thinking are the times that it takes: within the wait of a turn's start, at its
// end, later, and too long.
var thinking = []time.Duration{
	0, 40 * time.Millisecond, 99 * time.Millisecond, initialCeiling, 101 * time.Millisecond,
	250 * time.Millisecond, 3 * time.Second, 40 * time.Second,
}

var errFickle = errors.New("not today")

func (m *fickle) Complete(ctx context.Context, r model.Request) (json.RawMessage, model.Usage, error) {
	chat := modeltest.Chat{Messages: []modeltest.ChatMessage{{Role: "user", Content: r.User}}}
	ids := chat.AllIDs()
	_, rest, ok := strings.Cut(r.User, "host")
	if !ok {
		m.t.Error("the question does not say whose it is")
		return nil, model.Usage{}, errFickle
	}
	session := rest[:1]
	m.mu.Lock()
	m.active[session]++
	delay := thinking[m.rnd.IntN(len(thinking))]
	m.rnd.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	ids = ids[:m.rnd.IntN(min(len(ids), 5)+1)]
	fails := m.rnd.IntN(6) == 0
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.active[session]--
	}()
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return nil, model.Usage{}, ctx.Err()
	}
	if fails {
		return nil, model.Usage{}, errFickle
	}
	raw, err := json.Marshal(map[string][]string{"ids": ids})
	return raw, model.Usage{}, err
}

// host drives a server at random and knows what must hold.
//
// Its model of a session is what the contract says: a pending recall at most,
// which ends by being taken, by the next one, a reset, the end of its turn or a
// cancellation; what each recall has given; and which texts the context holds.
type host struct {
	t        *testing.T
	rnd      *rand.Rand
	s        store
	d        *desk
	watch    told
	model    fickle
	work     scheduler
	sessions [3]hostSession
	editions int
	started  int               // recalls
	received int               // documents, over all recalls
	lasting  int               // turns that extraction must follow
	resets   map[string]string // ids of requests that clear the context of a session
	seen     map[string]int    // what happened, over all hosts
}

type hostSession struct {
	name    string
	recalls []*hostRecall
}

type hostRecall struct {
	session *hostSession
	token   string
	topic   string
	pull    bool
	request lsptest.Pending
	ended   bool // by something that the host did; what is taken later is wrong
	asked   bool // at the start of the turn
	fast    int  // results of each phase
	refined int
	refs    []string // that it gave
	done    bool     // its turn was finished
}

func newHost(t *testing.T, seed uint64, seen map[string]int) *host {
	h := &host{t: t, rnd: rand.New(rand.NewPCG(seed, 11)), resets: map[string]string{}, seen: seen}
	h.model = fickle{t: t, rnd: rand.New(rand.NewPCG(seed, 12)), active: map[string]int{}}
	h.s = store{t, t.TempDir()}
	for i := range 9 {
		h.write(i)
	}
	for i := range h.sessions {
		h.sessions[i] = hostSession{name: fmt.Sprint("s", i)}
	}
	settings := telling(learning(serving(h.s)))
	settings.Model = &lsp.ModelOptions{BaseURL: "http://model", Name: "m"}
	opt := h.work.options()
	opt.Watch = h.watch.factory
	opt.Model = func(lsp.ModelOptions, string) (recall.Model, error) { return &h.model, nil }
	h.d = sit(t, opt, settings).settled()
	return h
}

// topics have words of their own, so that an answer to one tells itself apart
// from an answer to another; no memory is about the last.
var topics = []string{"gateway", "walrus", "okapi"}

func (h *host) name(i int) string { return fmt.Sprintf("%s%d.md", topics[i%2], i) }

func (h *host) write(i int) {
	h.editions++
	topic := topics[i%2]
	h.s.write(h.name(i), note(fmt.Sprintf("%s rule %d", topic, i), topic+" timeouts",
		strings.Repeat(topic+" timeout. ", 1+i/2)+fmt.Sprintf("Edition q%dz.", h.editions)))
}

func (h *host) run(steps int) {
	for range steps {
		h.step()
		if h.rnd.IntN(2) == 0 {
			h.rest()
		}
		if n := h.rnd.IntN(8); n < 5 {
			time.Sleep([]time.Duration{time.Millisecond, 50 * time.Millisecond, initialCeiling, time.Second, 31 * time.Second}[n])
		}
		if h.t.Failed() {
			return
		}
	}
	h.end()
}

// rest lets everything come to its rest: nothing but the clock can go on.
func (h *host) rest() {
	synctest.Wait()
	h.model.mu.Lock()
	defer h.model.mu.Unlock()
	for session, n := range h.model.active {
		if n > 1 {
			h.t.Errorf("%d recalls of session %s are pending", n, session)
		}
	}
}

func (h *host) step() {
	s := &h.sessions[h.rnd.IntN(len(h.sessions))]
	switch n := h.rnd.IntN(100); {
	case n < 25:
		h.recall(s)
	case n < 45:
		h.initial(s)
	case n < 68:
		if r := h.any(s); r != nil && r.pull {
			must := h.mustGive(r)
			got := h.d.consume(s.name, r.token, "tool_result")
			if h.took(r, "tool_result", got); must && got == nil {
				answer := h.d.client.Answers(strconv.Itoa(r.request.ID()))[0]
				var list lsp.ListResult
				h.d.call("memory/list", lsp.ListParams{}, &list)
				h.t.Errorf("the selection of %s is lost: %s; %v", r.token, answer.Result, list)
			}
		}
	case n < 74:
		h.d.notify("memory/toolUsed", lsp.ToolUsedParams{Session: s.name, Tool: fmt.Sprint("tool", h.rnd.IntN(30)), Status: "ok"})
	case n < 79:
		if r := h.any(s); r != nil {
			h.cancel(r)
		}
	case n < 86:
		if r := h.any(s); r != nil {
			h.finish(s, r)
		}
	case n < 90:
		h.reset(s, []string{"reset", "compacted"}[h.rnd.IntN(2)])
	case n < 93:
		h.passed(s)
	default:
		h.edit()
	}
}

// any is one of the last recalls of a session.
func (h *host) any(s *hostSession) *hostRecall {
	if len(s.recalls) == 0 {
		return nil
	}
	return s.recalls[max(0, len(s.recalls)-1-h.rnd.IntN(3))]
}

func (s *hostSession) latest() *hostRecall {
	if len(s.recalls) == 0 {
		return nil
	}
	return s.recalls[len(s.recalls)-1]
}

func (s *hostSession) endAll() {
	for _, r := range s.recalls {
		r.ended = true
	}
}

func (h *host) recall(s *hostSession) {
	r := &hostRecall{session: s, token: fmt.Sprint("t", len(s.recalls)), topic: topics[h.rnd.IntN(3)], pull: h.rnd.IntN(5) > 0}
	p := lsp.RecallParams{
		Session: s.name, Token: r.token, Query: r.topic + " rule", Limit: pointer(1 + h.rnd.IntN(5)),
		RecentTools: []string{"host" + s.name[1:]}, // tells the model whose question it is
	}
	if h.rnd.IntN(8) == 0 {
		p.Query = "ok thanks" // no model is asked, and nothing found
	}
	if r.pull {
		p.Delivery = "pull"
	}
	s.endAll()
	h.started++
	r.request = h.d.begin(p)
	s.recalls = append(s.recalls, r)
	if h.rnd.IntN(2) == 0 {
		h.initial(s)
	}
}

// passed is a turn that recalls nothing and disturbs nothing.
func (h *host) passed(s *hostSession) {
	var response lsp.RecallResponse
	turn := []string{"retry", "continue", "restore", "runtime"}[h.rnd.IntN(4)]
	h.d.call("memory/recall", lsp.RecallParams{Session: s.name, Token: "passed", Query: "gateway", Turn: turn}, &response)
	if response.Outcome != "not_started" {
		h.t.Errorf("%s: %+v", turn, response)
	}
	wantNothing(h.t, turn, h.d.consume(s.name, "passed", "initial"))
}

// initial asks at the start of a turn. One that is kept waiting is, now and then,
// overtaken by the end of its recall.
func (h *host) initial(s *hostSession) {
	r := h.any(s)
	if h.rnd.IntN(2) == 0 {
		r = s.latest()
	}
	if r == nil || !r.pull {
		return
	}
	first := !r.asked && !r.ended
	r.asked = true
	sent := time.Now()
	p, err := h.d.client.Start("memory/consume", lsp.ConsumeParams{Session: s.name, Token: r.token, Point: "initial"})
	if err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
	waits := len(h.d.client.Answers(strconv.Itoa(p.ID()))) == 0
	if waits && h.rnd.IntN(2) == 0 {
		h.overtake(s, r, p)
		return
	}
	m, err := p.Wait(h.t.Context())
	if err != nil || m.Error != nil {
		h.t.Fatalf("initial of %s: %v %v", r.token, m.Error, err)
	}
	result := decode[*lsp.RecallResult](h.t, m.Result)
	took := time.Since(sent)
	if took > 0 {
		h.seen["waited"]++
	}
	if took == initialCeiling {
		h.seen["ceiling"]++
	}
	switch {
	case took > initialCeiling:
		h.t.Errorf("initial took %v", took)
	case took > 0 && !first:
		h.t.Errorf("an initial that has nothing to wait for took %v", took)
	case took > 0 && result != nil && result.Phase == "fast":
		h.t.Errorf("a fast result was waited for: %v", took)
	}
	h.took(r, "initial", result)
}

// overtake ends a recall, or gives up, while an initial waits: that must end it
// at once, and empty.
func (h *host) overtake(s *hostSession, r *hostRecall, p lsptest.Pending) {
	h.seen["overtaken"]++
	refused := false
	switch h.rnd.IntN(5) {
	case 0:
		h.recall(s)
	case 1:
		h.reset(s, "reset")
	case 2:
		h.finish(s, s.recalls[len(s.recalls)-1])
	case 3:
		h.cancel(r)
	default:
		if err := p.Cancel(); err != nil {
			h.t.Fatal(err)
		}
		refused, r.asked = true, false
	}
	synctest.Wait()
	answers := h.d.client.Answers(strconv.Itoa(p.ID()))
	if len(answers) != 1 || refused != (answers[0].Error != nil) || !refused && string(answers[0].Result) != "null" {
		h.t.Errorf("an initial that was overtaken: %+v", answers)
	}
}

// mustGive tells whether a recall has settled, nothing has ended it, and what it
// chose still exists: then it is there to take.
func (h *host) mustGive(r *hostRecall) bool {
	synctest.Wait()
	answers := h.d.client.Answers(strconv.Itoa(r.request.ID()))
	if r.ended || len(answers) == 0 || answers[0].Error != nil {
		return false
	}
	response := decode[lsp.RecallResponse](h.t, answers[0].Result)
	for _, ref := range response.Refined.Refs {
		if _, err := os.Stat(h.s.path(strings.TrimPrefix(ref, "project:"))); err == nil {
			return true
		}
	}
	return false
}

// took checks what was taken against what may be.
func (h *host) took(r *hostRecall, point string, result *lsp.RecallResult) {
	if result == nil {
		return
	}
	if r.ended || !r.pull {
		h.t.Errorf("%s of %s was delivered after its end", result.Phase, r.token)
	}
	if point == "tool_result" && result.Phase == "fast" {
		h.t.Errorf("fast at %s", point)
	}
	h.received += len(result.Documents)
	h.gave(r, result)
	if result.Phase == "refined" {
		r.ended = true
	}
}

// gave checks a result, pushed or taken.
func (h *host) gave(r *hostRecall, result *lsp.RecallResult) {
	if result.Token != r.token || result.Session != r.session.name {
		h.t.Errorf("a result of %s %s for %s", result.Session, result.Token, r.token)
	}
	if result.Phase == "fast" {
		r.fast++
	} else {
		r.refined++
	}
	if r.fast > 1 || r.refined > 1 || r.fast > 0 && r.pull && !r.asked {
		h.t.Errorf("%s: fast %d times, refined %d times", r.token, r.fast, r.refined)
	}
	for _, doc := range result.Documents {
		switch {
		case slices.Contains(r.refs, doc.Ref):
			h.t.Errorf("%s gives %s twice", r.token, doc.Ref)
		case result.Strategy != "model" && !strings.Contains(doc.Ref, r.topic):
			h.t.Errorf("%s, about %s, gives %s", r.token, r.topic, doc.Ref)
		case !strings.Contains(result.Prompt, doc.Title):
			h.t.Errorf("the prompt of %s lacks %s", r.token, doc.Title)
		}
		r.refs = append(r.refs, doc.Ref)
	}
}

// reset clears the context of a session.
func (h *host) reset(s *hostSession, reason string) {
	h.rest() // nothing is under way that could come before the answer or after it
	p, err := h.d.client.Start("memory/resetSession", lsp.ResetSessionParams{Session: s.name, Reason: reason})
	if err != nil {
		h.t.Fatal(err)
	}
	h.resets[strconv.Itoa(p.ID())] = s.name
	h.d.answer(p)
	if reason == "reset" {
		s.endAll()
	}
}

// cancel cancels a request; it comes too late for one that has been answered.
func (h *host) cancel(r *hostRecall) {
	if err := r.request.Cancel(); err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
	answers := h.d.client.Answers(strconv.Itoa(r.request.ID()))
	if len(answers) != 1 {
		h.t.Errorf("%s has %d answers after it was cancelled", r.token, len(answers))
		return
	}
	if answers[0].Error != nil {
		r.ended = true
	}
}

func (h *host) finish(s *hostSession, r *hostRecall) {
	outcome := []string{"end_turn", "cancelled", "error", "loop_protection", "limit"}[h.rnd.IntN(5)]
	got := h.d.ended(lsp.FinishParams{Session: s.name, Token: r.token, Outcome: outcome, Messages: history})
	if !r.done && outcome == "end_turn" {
		h.lasting++
	}
	if !r.done && (got.Extract.State == "scheduled") != (outcome == "end_turn") {
		h.t.Errorf("%s: %+v", outcome, got)
	}
	if r != s.recalls[len(s.recalls)-1] {
		h.seen["late finish"]++
	}
	r.done = true
	for _, earlier := range s.recalls {
		earlier.ended = true
		if earlier == r {
			break
		}
	}
	h.work.mu.Lock()
	defer h.work.mu.Unlock()
	if len(h.work.extract) != h.lasting || len(h.work.dream) != h.lasting {
		h.t.Errorf("extraction was scheduled %d times, consolidation %d, want %d", len(h.work.extract), len(h.work.dream), h.lasting)
	}
}

// edit writes a memory, or removes it.
func (h *host) edit() {
	i := h.rnd.IntN(9)
	change := memory.FileChange{Changed: []string{h.name(i)}}
	if h.rnd.IntN(4) == 0 {
		if err := os.Remove(h.s.path(h.name(i))); err != nil && !errors.Is(err, os.ErrNotExist) {
			h.t.Fatal(err)
		}
		change = memory.FileChange{Removed: []string{h.name(i)}}
	} else {
		h.write(i)
	}
	h.watch.change(change)
}

// end lets a part of the hosts die in the middle of everything; the others end
// their sessions and look at all that was said.
func (h *host) end() {
	if h.rnd.IntN(4) == 0 {
		h.seen["died"]++
		h.texts()
		h.d.client.Close()
		return
	}
	for i := range h.sessions {
		h.reset(&h.sessions[i], "reset")
	}
	h.rest()
	h.texts()
	for session, n := range h.model.active {
		if n != 0 {
			h.t.Errorf("the model still thinks about session %s", session)
		}
	}
	h.answers()
	h.events()
}

// texts checks that no session was given a text that its context held.
func (h *host) texts() {
	held := map[string]bool{}
	for _, m := range h.d.client.Log() {
		if session := h.resets[string(m.ID)]; m.IsAnswer() && session != "" {
			for key := range held {
				if strings.HasPrefix(key, session+"\n") {
					delete(held, key)
				}
			}
			continue
		}
		raw := m.Result
		if strings.HasPrefix(m.Method, "memory/recall") {
			raw = m.Params
		} else if !m.IsAnswer() || !strings.Contains(string(raw), `"phase"`) {
			continue
		}
		result := decode[lsp.RecallResult](h.t, raw)
		for _, doc := range result.Documents {
			key := strings.Join([]string{result.Session, doc.Ref, doc.Title, doc.Description, doc.Body}, "\n")
			if held[key] {
				h.t.Errorf("%s gives %s to %s, which has it", result.Token, doc.Ref, result.Session)
			}
			held[key] = true
		}
	}
}

// answers checks that every recall was answered once, and as it was asked for.
func (h *host) answers() {
	for i := range h.sessions {
		for _, r := range h.sessions[i].recalls {
			answers := h.d.client.Answers(strconv.Itoa(r.request.ID()))
			if len(answers) != 1 {
				h.t.Errorf("%s has %d answers", r.token, len(answers))
				continue
			}
			pushed := h.d.events(h.sessions[i].name, r.token)
			if r.pull != (len(pushed) == 0) {
				h.t.Errorf("%s, pull %v: %d notifications", r.token, r.pull, len(pushed))
			}
			for _, m := range pushed {
				h.received += len(decode[lsp.RecallResult](h.t, m.Params).Documents)
			}
		}
	}
}

// events checks that every recall had one terminal event, and that what was told
// as delivered is what arrived.
func (h *host) events() {
	terminal, documents := 0, 0
	for _, e := range h.d.told("memory.recall.delivery") {
		documents += e.Documents
		h.seen[strings.TrimSpace(e.DiscardReason)]++
		h.seen[e.Phase+" "+e.DeliveryPoint]++
		h.seen[e.Strategy]++
		if e.Phase == "refined" {
			terminal++
		}
		if (e.DeliveryPoint == "discarded") != (e.Documents == 0) || (e.DiscardReason != "") != (e.Documents == 0) {
			h.t.Errorf("event %+v", e)
		}
		if e.Phase == "fast" && (e.DeliveryPoint == "tool_result" || e.Strategy != "heuristic") {
			h.t.Errorf("event %+v", e)
		}
	}
	if terminal != h.started || documents != h.received {
		h.t.Errorf("%d terminal events for %d recalls, %d documents told for %d received", terminal, h.started, documents, h.received)
	}
}
