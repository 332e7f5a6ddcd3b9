package meaning_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/memory/vectors"
	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/meaning"
	"github.com/memls/memls/recall/model"
	"github.com/memls/memls/recall/model/modeltest"
)

// space is what the embedding model of these tests knows.
func space() modeltest.Space {
	return modeltest.Space{Dimension: 96, Common: 1.2, Concepts: [][]string{
		{"revert", "zurückrollen"}, {"bill", "rechnung"}, {"cat", "katze"}, {"choir", "singen"},
	}}
}

// scripted is an embedding model in this process.
type scripted struct {
	id     string
	remote bool
	answer func(texts []string) ([][]float32, error)

	mu   sync.Mutex
	sent []string // texts of memories
	n    int      // requests
}

func knowing(s modeltest.Space) *scripted {
	e := &scripted{id: "stub"}
	e.answer = func(texts []string) ([][]float32, error) {
		out := make([][]float32, len(texts))
		for i, t := range texts {
			out[i] = s.Vector(t)
		}
		return out, nil
	}
	return e
}

func (e *scripted) Embed(ctx context.Context, r model.EmbedRequest) ([][]float32, model.Usage, error) {
	if err := ctx.Err(); err != nil {
		return nil, model.Usage{}, err
	}
	e.mu.Lock()
	e.n++
	if r.Purpose == "memories" {
		e.sent = append(e.sent, r.Texts...)
	}
	answer := e.answer
	e.mu.Unlock()
	got, err := answer(r.Texts)
	return got, model.Usage{PromptTokens: 10 * len(r.Texts)}, err
}
func (e *scripted) Name() string { return e.id }
func (e *scripted) ID() string   { return e.id }
func (e *scripted) Local() bool  { return !e.remote }

// took are the texts of memories that were sent since the last call.
func (e *scripted) took() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	sent := e.sent
	e.sent = nil
	return sent
}

func (e *scripted) requests() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.n
}

// stall is a store of memories with a search by meaning.
type stall struct {
	t     testing.TB
	dir   string
	now   time.Time
	waits []time.Duration
	snap  atomic.Pointer[memory.Snapshot]
	opt   meaning.Options
	*meaning.Service
}

func open(t testing.TB, e meaning.Embedder, docs ...*memory.Document) *stall {
	s := &stall{t: t, dir: t.TempDir(), now: now}
	s.snap.Store((&memory.Snapshot{}).Imagine(nil, docs))
	s.opt = meaning.Options{
		Embedder: e, Snapshot: s.snap.Load, Files: vectors.Open(s.dir), Now: func() time.Time { return s.now },
		After: func(d time.Duration) <-chan time.Time { // time passes at once
			s.waits = append(s.waits, d)
			s.now = s.now.Add(d)
			c := make(chan time.Time, 1)
			c <- s.now
			return c
		},
	}
	s.restart(e)
	return s
}

func (s *stall) restart(e meaning.Embedder) {
	s.opt.Embedder = e
	s.Service = meaning.New(s.opt)
}

func (s *stall) fill() *stall {
	s.t.Helper()
	if err := s.Fill(s.t.Context(), 20); err != nil {
		s.t.Fatal(err)
	}
	return s
}

func (s *stall) change(removed, added []*memory.Document) {
	s.snap.Store(s.snap.Load().Imagine(removed, added))
}

func (s *stall) near(text string, edit ...func(*recall.Query)) recall.Nearness {
	q := recall.Query{Text: text, Now: now}
	for _, e := range edit {
		e(&q)
	}
	return s.Near(context.Background(), q.Meaning())
}

func (s *stall) wants(text string, refs ...string) recall.Nearness {
	s.t.Helper()
	n := s.near(text)
	got := []string{}
	for _, h := range n.Near {
		got = append(got, h.Doc.Ref)
	}
	if !slices.Equal(got, refs) && len(got)+len(refs) > 0 {
		s.t.Errorf("%s: got %v, want %v (floor %.2f, %+v)", text, got, refs, n.Floor, n.Degraded)
	}
	return n
}

// lacks wants no answer, and why.
func (s *stall) lacks(text, reason, detail string) {
	s.t.Helper()
	n := s.near(text)
	if len(n.Near) != 0 || n.Degraded == nil || n.Degraded.Reason != reason || !strings.Contains(n.Degraded.Detail, detail) {
		s.t.Errorf("%s: %+v, want %s with %q", text, n, reason, detail)
	}
}

func shelf() []*memory.Document {
	return []*memory.Document{
		document("project", "deploy", "project", "Revert with the green button."), document("project", "money", "project", "Each bill has a number."),
		document("user", "animal", "user", "The cat eats at nine."), document("team", "hall", "project", "The choir meets at eight."),
	}
}

// E5, E6: vectors come and go with their memories; only what is new is sent, and what is
// kept are the vectors of what is there.
func TestVectorsFollowTheMemories(t *testing.T) {
	e := knowing(space())
	docs := shelf()
	s := open(t, e, docs...).fill()
	s.wants("zurückrollen", "project:deploy.md")
	s.wants("Katze", "user:animal.md")
	if got := e.took(); len(got) != 4 || !strings.Contains(strings.Join(got, "|"), "deploy\nRevert with the green button.") {
		t.Errorf("sent %q", got)
	}
	kept := func() (rows int, raw string) {
		found, _ := filepath.Glob(filepath.Join(s.dir, "*", "vectors-*.bin"))
		for _, path := range found {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			raw += string(b)
		}
		for _, scope := range scopes {
			if f, err := vectors.Open(s.dir).Load(roots[scope].ID, "stub"); err == nil {
				rows += len(f.Rows)
			}
		}
		return rows, raw
	}
	rows, before := kept()
	if rows != 4 || strings.Contains(before, "green") {
		t.Errorf("%d rows kept", rows)
	}
	// Nothing new: nothing is sent, and nothing is written.
	s.fill()
	if _, after := kept(); len(e.took()) != 0 || after != before {
		t.Error("the same again")
	}
	// Pinned, and moved: the text is the same.
	pinned := document("project", "deploy", "project", "Revert with the green button.", func(d *memory.Document) { d.Pinned = true })
	s.change(docs[:1], []*memory.Document{pinned})
	s.fill().wants("zurückrollen", "project:deploy.md")
	if got := e.took(); len(got) != 0 {
		t.Errorf("sent for a pin: %q", got)
	}
	// Changed: the old text is found no more, the new one is.
	changed := document("project", "deploy", "project", "The cat again.")
	s.change([]*memory.Document{pinned}, []*memory.Document{changed})
	s.wants("zurückrollen")
	if n := s.fill().wants("zurückrollen"); n.Degraded != nil {
		t.Errorf("%+v", n.Degraded)
	}
	if got := e.took(); len(got) != 1 {
		t.Errorf("sent for a change: %q", got)
	}
	// Gone: at once, and from what is kept.
	s.change([]*memory.Document{changed, docs[1]}, nil)
	s.wants("Rechnung")
	s.fill()
	if rows, _ := kept(); rows != 2 || s.Status().Vectors != 2 || s.Status().Total != 2 {
		t.Errorf("%d rows kept, %+v", rows, s.Status())
	}
}

// A restart reads what was kept, and sends nothing of the memories again; what changed
// meanwhile is sent, and what is damaged is made anew.
func TestRestart(t *testing.T) {
	e := knowing(space())
	docs := shelf()
	s := open(t, e, docs...).fill()
	e.took()
	s.restart(e)
	s.fill().wants("Katze", "user:animal.md")
	if got := e.took(); len(got) != 0 {
		t.Errorf("sent again: %q", got)
	}
	s.change(docs[1:2], []*memory.Document{document("project", "new", "project", "Singen on Mondays, a choir.")})
	s.restart(e)
	s.fill().wants("Rechnung")
	if got := e.took(); len(got) != 1 {
		t.Errorf("sent: %q", got)
	}
	found, err := filepath.Glob(filepath.Join(s.dir, "*", "vectors-*.bin"))
	if err != nil || len(found) != 3 {
		t.Fatal(found, err)
	}
	for i, path := range found {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		switch i {
		case 0:
			raw = raw[:len(raw)/2]
		case 1:
			raw[len(raw)-9] ^= 1
		case 2: // that of another root
			if raw, err = os.ReadFile(found[0]); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.restart(e)
	s.fill().wants("Katze", "user:animal.md")
	if got := e.took(); len(got) != 4 {
		t.Errorf("made anew: %q", got)
	}
	s.restart(e)
	if s.fill(); len(e.took()) != 0 {
		t.Error("what was made anew was not kept")
	}
}

// P9: vectors of the model before are never used; going back to it sends nothing.
func TestAnotherModel(t *testing.T) {
	one, two := knowing(space()), knowing(modeltest.Space{Dimension: 96, Common: 0.2, Concepts: space().Concepts})
	two.id = "another"
	s := open(t, one, shelf()...).fill()
	s.restart(two)
	s.lacks("Katze", recall.DegradedEmbedding, "no vector yet")
	s.fill().wants("Katze", "user:animal.md")
	if len(two.took()) != 4 {
		t.Error("the other model was not asked for all")
	}
	one.took()
	s.restart(one)
	s.fill().wants("Katze", "user:animal.md")
	if got := one.took(); len(got) != 0 {
		t.Errorf("sent again: %q", got)
	}
}

// Another model under the same name shows by the length of its vectors: all are made
// anew. One that answers now this and now that is given up, and not asked for ever.
func TestOtherLengthUnderTheSameName(t *testing.T) {
	e := knowing(space())
	s := open(t, e, shelf()...).fill()
	s.wants("Katze", "user:animal.md")
	e.mu.Lock()
	e.answer = knowing(modeltest.Space{Dimension: 40, Common: 1.2, Concepts: space().Concepts}).answer
	e.mu.Unlock()
	s.lacks("Rechnung", recall.DegradedEmbedding, "another model goes by the name")
	s.fill().wants("Rechnung", "project:money.md")
	if st := s.Status(); st.Dimension != 40 || st.Vectors != 4 {
		t.Errorf("%+v", st)
	}
	s.restart(e)
	s.fill().wants("Katze", "user:animal.md")

	flips := &scripted{id: "flips"}
	flips.answer = func(texts []string) ([][]float32, error) {
		return knowing(modeltest.Space{Dimension: 8 + flips.n%3, Common: 1}).answer(texts)
	}
	var docs []*memory.Document
	for i := range 80 {
		docs = append(docs, document("project", fmt.Sprintf("m%02d", i), "project", fmt.Sprintf("text %d", i)))
	}
	s = open(t, flips, docs...)
	s.fill()
	if st := s.Status(); !strings.Contains(st.Fault, "length") && !strings.Contains(st.Fault, "numbers") || flips.n > 200 {
		t.Errorf("after %d requests %+v", flips.n, st)
	}
	if n := s.near("Katze"); n.Degraded == nil {
		t.Errorf("%+v", n)
	}
}

// refusing is an error as endpoints answer it.
func refusing(status int, wait time.Duration) error {
	return &model.Error{Kind: model.Unavailable, Detail: fmt.Sprintf("the endpoint says %d", status), Status: status, RetryAfter: wait}
}

// One text that a model does not take costs no other its vector, and is not sent for
// ever.
func TestOneTextThatIsRefused(t *testing.T) {
	e := knowing(space())
	plain := e.answer
	for name, fault := range map[string]error{"refused": refusing(400, 0), "too long": refusing(413, 0), "a NaN for it": &model.Error{Kind: model.Invalid, Detail: "NaN"}} {
		e.answer = func(texts []string) ([][]float32, error) {
			if slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, "poison") }) {
				return nil, fault
			}
			return plain(texts)
		}
		var docs []*memory.Document
		for i := range 90 {
			docs = append(docs, document("project", fmt.Sprintf("m%02d", i), "project", fmt.Sprintf("text %d", i)))
		}
		docs = append(docs, document("project", "bad", "project", "poison"))
		docs = append(docs, shelf()...)
		e.n = 0
		s := open(t, e, docs...).fill()
		if st := s.Status(); st.Vectors != 94 || st.Refused != 1 || st.Fault != "" || e.n > 40 {
			t.Errorf("%s: after %d requests %+v", name, e.n, st)
		}
		if n := s.wants("Katze", "user:animal.md"); n.Degraded != nil {
			t.Errorf("%s: %+v", name, n.Degraded)
		}
	}
}

// An endpoint that refuses everything is at fault, and not every text; when it is well
// again, all vectors are made.
func TestEndpointThatRecovers(t *testing.T) {
	for name, fault := range map[string]error{
		"broken": refusing(500, 0), "no key": refusing(401, 0), "nobody there": &model.Error{Kind: model.Unavailable, Detail: "cannot reach it"},
		"too few": &model.Error{Kind: model.Invalid, Detail: "0 vectors for 4 texts"}, "hangs": &model.Error{Kind: model.Timeout, Detail: "no answer in time"},
		"unknown": errors.New("something else"),
	} {
		e := knowing(space())
		well := e.answer
		e.answer = func([]string) ([][]float32, error) { return nil, fault }
		s := open(t, e, shelf()...).fill()
		if st := s.Status(); st.Vectors != 0 || st.Refused != 0 || st.Fault == "" || e.n > 60 {
			t.Errorf("%s: after %d requests %+v", name, e.n, st)
		}
		s.lacks("Katze", recall.DegradedEmbedding, "no vector yet: ")
		for i, w := range s.waits {
			if w < time.Second || w > 5*time.Minute {
				t.Errorf("%s: wait %d is %s", name, i, w)
			}
		}
		e.mu.Lock()
		e.answer = well
		e.mu.Unlock()
		if s.fill(); s.Status().Vectors != 4 || s.Status().Fault != "" {
			t.Errorf("%s: recovered to %+v", name, s.Status())
		}
		s.wants("Katze", "user:animal.md")
	}
}

// An endpoint that wants fewer requests is left alone for as long as it says.
func TestStormOfRefusals(t *testing.T) {
	e := knowing(space())
	well := e.answer
	left := 12
	e.answer = func(texts []string) ([][]float32, error) {
		if left--; left >= 0 {
			return nil, refusing(429, 90*time.Second)
		}
		return well(texts)
	}
	s := open(t, e, shelf()...).fill()
	s.wants("Katze", "user:animal.md")
	if len(s.waits) < 12 || e.n > 20 {
		t.Errorf("%d waits, %d requests", len(s.waits), e.n)
	}
	for _, w := range s.waits {
		if w < 90*time.Second {
			t.Errorf("asked again after %s", w)
		}
	}
}

// E2, E3: what goes wrong with a query is a reason and no result, in bounded time; and an
// endpoint that does not answer is not waited for with every query.
func TestQueriesThatGetNoVector(t *testing.T) {
	e := knowing(space())
	s := open(t, e, shelf()...)
	s.opt.QueryTimeout = time.Millisecond
	s.restart(e)
	s.fill()
	well := e.answer
	set := func(answer func([]string) ([][]float32, error)) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.answer = answer
	}
	set(func([]string) ([][]float32, error) { return nil, refusing(429, time.Hour) })
	s.lacks("Katze", recall.DegradedEmbedding, "429")
	set(func([]string) ([][]float32, error) {
		return nil, &model.Error{Kind: model.Timeout, Detail: "no answer in time"}
	})
	s.lacks("Katze", recall.DegradedEmbedding, "no answer in time")
	s.lacks("Katze", recall.DegradedEmbedding, "no answer in time")
	before := e.n
	s.lacks("Katze", recall.DegradedEmbedding, "not asked for a while")
	if e.n != before {
		t.Error("asked all the same")
	}
	set(well)
	s.now = s.now.Add(time.Minute)
	s.wants("Katze", "user:animal.md")
	// What was asked before is known, whatever the endpoint does now.
	set(func([]string) ([][]float32, error) { return nil, refusing(500, 0) })
	s.wants("Katze", "user:animal.md")
}

// A real endpoint that hangs holds a query up no longer than its bound.
func TestQueryOfAnEndpointThatHangs(t *testing.T) {
	stub := modeltest.New(t)
	stub.Embeddings(modeltest.Vectors(space().Vector))
	e, err := model.NewEmbedder(model.Config{BaseURL: stub.URL(), EmbeddingName: "stub"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	s := open(t, e, shelf()...)
	s.opt.QueryTimeout = 20 * time.Millisecond
	s.restart(e)
	s.fill()
	stub.Embeddings(modeltest.Hang())
	s.lacks("Katze", recall.DegradedEmbedding, "no answer in time")
	stub.Embeddings(modeltest.Vectors(space().Vector))
	s.wants("Katze", "user:animal.md")
}

// What holds a credential is not sent away, and is found by its words; to this machine
// it is sent.
func TestSecretsAreNotSentAway(t *testing.T) {
	const key = "AKIA" + "QYLPMN5HHHFPZAM2"
	docs := append(shelf(), document("project", "cloud", "project", "The katze key is "+key+"."))
	for _, remote := range []bool{true, false} {
		e := knowing(space())
		e.remote = remote
		s := open(t, e, docs...).fill()
		sent := strings.Contains(strings.Join(e.took(), "\n"), key)
		if st := s.Status(); sent == remote || (st.Withheld == 1) != remote || st.Vectors+st.Withheld != 5 {
			t.Errorf("remote %v: sent %v, %+v", remote, sent, st)
		}
		n := s.near("the cat of " + key)
		if remote && (n.Degraded == nil || strings.Contains(n.Degraded.Detail, key)) || !remote && n.Degraded != nil {
			t.Errorf("remote %v: a query with a key: %+v", remote, n.Degraded)
		}
	}
}

// What is sent away a day is bounded; what is sent to this machine is not.
func TestBudgetOfADay(t *testing.T) {
	var docs []*memory.Document
	for i := range 200 {
		docs = append(docs, document("project", fmt.Sprintf("m%03d", i), "project", fmt.Sprintf("text %d", i)))
	}
	e := knowing(space())
	e.remote = true
	s := open(t, e, docs...)
	store, err := memory.NewStore(memory.StoreOptions{
		State: s.dir, Roots: func() []*memory.Root { return nil }, Snapshot: s.snap.Load, Now: func() time.Time { return s.now },
		Secrets: func(string, string) []string { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.opt.Reserve = meaning.ReserveOf(store, 1500)
	s.restart(e)
	s.fill()
	first := s.Status()
	if first.Vectors == 0 || first.Vectors > 150 || first.Fault == "" {
		t.Errorf("the first day: %+v", first)
	}
	if n, err := store.SpentToday(); err != nil || n == 0 || n > 1500 {
		t.Errorf("%d spent, %v", n, err)
	}
	if n := s.near("text 199"); n.Degraded == nil || n.Degraded.Reason != recall.DegradedBudget {
		t.Errorf("%+v", n.Degraded)
	}
	s.restart(e) // a restart does not fill the purse
	if s.fill(); s.Status().Vectors != first.Vectors {
		t.Errorf("after a restart: %+v", s.Status())
	}
	for range 5 {
		s.now = s.now.Add(24 * time.Hour)
		s.fill()
	}
	if st := s.Status(); st.Vectors != 200 || st.Fault != "" {
		t.Errorf("days later: %+v", st)
	}
}

// Beyond the bound there is no search by meaning, and no part of one; it says so.
func TestTooManyPassages(t *testing.T) {
	e := knowing(space())
	s := open(t, e, shelf()...)
	s.opt.MaxVectors = 3
	s.restart(e)
	s.fill()
	s.lacks("Katze", recall.DegradedTruncated, "4 passages")
	if !s.Status().Truncated || e.n != 0 {
		t.Errorf("%+v after %d requests", s.Status(), e.n)
	}
	s.change([]*memory.Document{shelf()[0]}, nil)
	s.fill().wants("Katze", "user:animal.md")
}

// How near unrelated texts lie is measured for each model: whatever it is, what is
// meant is found and what is not is not. Roots that a query does not reach do not move
// the floor.
func TestFloorOfAModel(t *testing.T) {
	for _, common := range []float64{0.1, 1, 3} {
		for _, fillers := range []int{0, 100} {
			sp := space()
			sp.Common = common
			docs := shelf()
			for i := range fillers {
				docs = append(docs, document("project", fmt.Sprintf("note %03d", i), "project", fmt.Sprintf("subject %d of its own", i)))
			}
			s := open(t, knowing(sp), docs...).fill()
			for query, ref := range map[string]string{"zurückrollen": "project:deploy.md", "Rechnung": "project:money.md", "Katze": "user:animal.md"} {
				s.wants(query, ref)
			}
			for _, query := range []string{"astronomie", "fußball", "数据库", "ธุรกิจ"} {
				s.wants(query)
			}
			all := s.near("Katze")
			only := s.near("Katze", func(q *recall.Query) { q.Scopes = []memory.Scope{memory.ScopeUser} })
			alone := open(t, knowing(sp), shelf()[2]).fill().near("Katze")
			if only.Floor != alone.Floor || fillers > 0 && only.Floor == all.Floor {
				t.Errorf("common %v, %d more: floors %v over all, %v in one root, %v alone", common, fillers, all.Floor, only.Floor, alone.Floor)
			}
		}
	}
}

// A long memory is found by what stands late in it, and that passage is delivered.
func TestPassages(t *testing.T) {
	long := strings.Repeat("Gravel, sand and stones were delivered to the yard. ", 80)
	d := document("project", "long", "project", long+"\n\nThe cat came, too.")
	s := open(t, knowing(space()), append(shelf()[:2], d)...).fill()
	n := s.near("Katze")
	if len(n.Near) != 1 || n.Near[0].Doc != d {
		t.Fatalf("%+v", n)
	}
	p := n.Near[0].Passage
	if text := d.Text[p.Start:p.End]; !strings.Contains(text, "The cat came, too.") || len([]rune(text)) > recall.PassageRunes {
		t.Errorf("passage %q", text)
	}
	if st := s.Status(); st.Total != 2+5 {
		t.Errorf("%+v", st)
	}
}

// Purged memories lose their vectors at once, and get no new ones while their old text
// is still in the catalog.
func TestForgottenVectors(t *testing.T) {
	e := knowing(space())
	s := open(t, e, shelf()...).fill()
	e.took()
	s.Service.Forget([]string{"user:animal.md"})
	s.wants("Katze")
	s.fill().wants("Katze")
	if got := e.took(); len(got) != 0 {
		t.Errorf("sent again: %q", got)
	}
	if f, err := vectors.Open(s.dir).Load(roots["user"].ID, "stub"); err == nil {
		t.Errorf("kept: %+v", f)
	}
}

// Many memories under one title and with one text are one text to the model, and each
// is found.
func TestManyMemoriesOfOneTitle(t *testing.T) {
	const n = 50_000
	docs := make([]*memory.Document, n+1)
	one := document("project", "The cat", "project", "The cat eats.")
	for i := range n {
		d := *one
		d.Rel = fmt.Sprintf("m%05d.md", i)
		d.Ref = "project:" + d.Rel
		docs[i] = &d
	}
	docs[n] = document("project", "other", "project", "Each bill has a number.")
	e := knowing(space())
	s := open(t, e, docs...).fill()
	if got := e.took(); len(got) != 2 || s.Status().Vectors != n+1 {
		t.Errorf("%d texts sent, %+v", len(got), s.Status())
	}
	s.wants("Rechnung", "project:other.md")
	near := s.near("Katze")
	if len(near.Near) != 100 || near.Near[0].Doc.Ref != "project:m00000.md" || near.Near[99].Doc.Ref != "project:m00099.md" {
		t.Errorf("%d near, %+v", len(near.Near), near.Near[:min(1, len(near.Near))])
	}
}

// Run follows the catalog by itself, and ends with its context.
func TestRun(t *testing.T) {
	e := knowing(space())
	s := open(t, e, shelf()[:3]...)
	s.opt.After, s.opt.Now = nil, nil
	s.restart(e)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Run(ctx) }()
	await := func(vectors int) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); s.Status().Vectors != vectors; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%+v", s.Status())
			}
		}
	}
	await(3)
	s.change(nil, shelf()[3:])
	s.Changed()
	await(4)
	cancel()
	<-ended
	if f, err := vectors.Open(s.dir).Load(roots["team"].ID, "stub"); err != nil || len(f.Rows) != 1 {
		t.Errorf("not kept at the end: %v %v", f, err)
	}
}
