package lsp_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/memory/vectors"
	"github.com/memls/memls/recall/model/modeltest"
)

// meanings are what the embedding models of these tests know: words of several
// languages that mean the same.
func meanings() modeltest.Space {
	return modeltest.Space{Dimension: 96, Common: 1.2, Concepts: [][]string{
		{"rollback", "roll back", "revert", "yesterday's version", "回滚", "откатить", "zurückrollen"},
		{"invoice", "bill", "rechnung", "счёт"}, {"cat", "pet", "小动物", "katze"}, {"holiday", "vacation", "urlaub"},
		{"harbour", "port", "hafen"}, {"password", "credential"}, {"gravel", "kies"}, {"choir", "singing"},
	}}
}

// embedding are settings with an embedding model and none that chooses.
func embedding(s store, stub *modeltest.Server) lsp.InitializationOptions {
	settings := serving(s)
	settings.Model = &lsp.ModelOptions{BaseURL: stub.URL(), EmbeddingName: "stub-embed"}
	return settings
}

// indexed waits until all vectors are there.
func (d *desk) indexed() *desk {
	d.t.Helper()
	d.settled()
	deadline := time.Now().Add(20 * time.Second)
	for {
		e := d.status().Embeddings
		if e.State == "ready" && e.Floor > 0 {
			return d
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("not indexed: %+v", e)
		}
		time.Sleep(time.Millisecond)
	}
}

func meant() map[string]string {
	return map[string]string{
		"deploy.md": note("Bad releases", "what to do", "Revert with the green button; the previous image is kept for a week."),
		"bill.md":   note("Customers' money", "how it is asked for", "Each bill has its own number. Gaps are not allowed."),
		"cat.md":    note("Who feeds it", "the animal of the office", "The cat eats at nine, and again at four."),
		"choir.md":  note("Thursdays", "in the hall", "The choir meets at eight."),
		"gravel.md": note("Yard", "what lies there", "Gravel was delivered twice."),
		"port.md":   note("Quays", "where ships lie", "The harbour closes at storm."),
	}
}

// A query that shares no word with its memory finds it by what it means, in the refined
// result; the fast one stays as it is.
func TestMeaningFindsWhatWordsDoNot(t *testing.T) {
	s := newStore(t, meant())
	stub := modeltest.New(t)
	stub.Embeddings(modeltest.Vectors(meanings().Vector))
	d := sit(t, lsp.MemoryOptions{}, embedding(s, stub)).indexed()
	for query, want := range map[string]string{
		"如何回滚有问题的版本": "project:deploy.md", "zurückrollen": "project:deploy.md", "Rechnung": "project:bill.md", "小动物谁来照顾": "project:cat.md",
	} {
		r := d.recall(lsp.RecallParams{Session: query, Query: query, Trace: true})
		if len(r.fast.Documents) != 0 || r.fast.Strategy != "none" {
			t.Errorf("%s: fast %+v", query, r.fast)
		}
		wantRefs(t, query, refs(r.refined.Documents), want)
		if r.refined.Strategy != "hybrid" || r.refined.Status != "delivered" || len(r.refined.Degraded) != 0 {
			t.Fatalf("%s: refined %+v", query, r.refined)
		}
		why := r.refined.Documents[0].Why
		if len(why) == 0 || why[len(why)-1].Match != "semantic" || r.refined.Documents[0].Body == "" || !strings.Contains(r.refined.Prompt, r.refined.Documents[0].Body) {
			t.Errorf("%s: %+v", query, r.refined.Documents[0])
		}
		c := r.refined.Trace.Candidates[0]
		if c.Ref != want || c.Rank != 1 || c.Verdict != "returned" || len(c.Signals) != 1 || c.Signals[0].Name != "vector" || c.Signals[0].Rank != 1 || c.Signals[0].Score < 0.5 {
			t.Errorf("%s: %+v", query, c)
		}
	}
	// What nothing is about stays silent, and so does what asks for nothing.
	for _, query := range []string{"astronomie", "ok thanks", "what is the"} {
		if r := d.ask(query); len(r.all()) != 0 {
			t.Errorf("%s: %v", query, r.all())
		}
	}
	e := explain(d, lsp.ExplainParams{Query: "Rechnung", Ref: "project:cat.md"})
	if c := e.Candidate; c.Verdict != "floor" || c.Rank != 0 || !strings.Contains(c.Detail, "asked for") || len(c.Signals) != 1 {
		t.Errorf("why not: %+v", c)
	}
	if e := explain(d, lsp.ExplainParams{Query: "Rechnung", Ref: "project:bill.md"}); e.Candidate.Verdict != "returned" || e.Candidate.Rank != 1 {
		t.Errorf("why: %+v", e.Candidate)
	}
}

// The vectors of many memories are a task that the client sees.
func TestVectorsOfManyMemoriesAreATask(t *testing.T) {
	files := meant()
	for i := range 100 {
		files[fmt.Sprintf("n%03d.md", i)] = note(fmt.Sprintf("Note %d", i), "of many", fmt.Sprintf("Number %d of the choir.", i))
	}
	s := newStore(t, files)
	stub := modeltest.New(t)
	stub.Embeddings(modeltest.Vectors(meanings().Vector))
	d := sit(t, lsp.MemoryOptions{State: t.TempDir()}, embedding(s, stub)).indexed()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		r := asks[lsp.TasksResult](d, "memory/tasks", lsp.TasksParams{})
		if len(r.Tasks) == 1 && r.Tasks[0].State == "done" {
			if got := r.Tasks[0]; got.Kind != "embedding" || got.Progress.Done < len(files) || got.Progress.Done != got.Progress.Total || got.Usage == nil || got.Usage.Requests < 4 {
				t.Errorf("%+v", got)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", r)
		}
	}
}

// Words and meaning count together, and what a session holds is passed over in both.
func TestMeaningInASession(t *testing.T) {
	files := meant()
	files["words.md"] = note("Bill", "the postman", "Bill brings letters.")
	s := newStore(t, files)
	stub := modeltest.New(t)
	stub.Embeddings(modeltest.Vectors(meanings().Vector))
	d := sit(t, lsp.MemoryOptions{}, embedding(s, stub)).indexed()
	r := d.recall(lsp.RecallParams{Session: "s", Query: "Rechnung", Limit: pointer(1)})
	wantRefs(t, "first", r.all(), "project:words.md")
	r = d.recall(lsp.RecallParams{Session: "s", Query: "Rechnung", Limit: pointer(1)})
	wantRefs(t, "then", r.all(), "project:bill.md")
	wantRefs(t, "held", r.refined.AlreadyDelivered, "project:words.md")
	r = d.recall(lsp.RecallParams{Session: "s", Query: "Rechnung", Limit: pointer(1)})
	if len(r.all()) != 0 || r.refined.Status != "already_delivered" {
		t.Errorf("at last %+v", r.refined)
	}
	// Filters hold for meaning as for words.
	for _, p := range []lsp.RecallParams{{Scopes: []string{"user"}}, {Types: []string{"user"}}, {Exclude: []string{"project:bill.md", "project:words.md"}}} {
		p.Session, p.Query = "f", "Rechnung"
		if r := d.recall(p); len(r.all()) != 0 || len(r.refined.AlreadyDelivered) != 0 {
			t.Errorf("%+v: %v", p, r.all())
		}
	}
	// A memory that goes is found no more; one that comes is.
	s.remove("bill.md")
	s.write("new.md", note("Finance", "numbers", "An invoice is sent on Mondays."))
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		r := d.recall(lsp.RecallParams{Session: d.token(), Query: "Rechnung"})
		got := strings.Join(r.all(), " ")
		if strings.Contains(got, "new.md") && !strings.Contains(got, "bill.md") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after the change %s", got)
		}
	}
}

// With a model that chooses, it chooses among what both found; when it fails, both
// together are the answer.
func TestMeaningAndAModel(t *testing.T) {
	s := newStore(t, meant())
	stub := modeltest.New(t)
	stub.Embeddings(modeltest.Vectors(meanings().Vector))
	settings := embedding(s, stub)
	settings.Model.Name = "stub"
	stub.Script(modeltest.Choose("Bad releases"), modeltest.Fail(401, "no"))
	d := sit(t, lsp.MemoryOptions{}, settings).indexed()
	r := d.recall(lsp.RecallParams{Session: "1", Query: "zurückrollen"})
	if wantRefs(t, "chosen", r.all(), "project:deploy.md"); r.refined.Strategy != "model" {
		t.Errorf("%+v", r.refined)
	}
	r = d.recall(lsp.RecallParams{Session: "2", Query: "zurückrollen"})
	wantRefs(t, "fallback", r.all(), "project:deploy.md")
	if r.refined.Strategy != "hybrid" || len(r.refined.Degraded) != 1 || r.refined.Degraded[0].Reason != "model_unavailable" {
		t.Errorf("%+v", r.refined)
	}
}

// A host that pulls gets the fast result without waiting for a vector, and the refined
// one with meaning.
func TestMeaningPulled(t *testing.T) {
	s := newStore(t, meant())
	stub := modeltest.New(t)
	vectors := modeltest.Vectors(meanings().Vector)
	stub.Embeddings(vectors)
	d := sit(t, lsp.MemoryOptions{}, embedding(s, stub)).indexed()
	release := make(chan struct{})
	stub.Embeddings(modeltest.When(release, vectors))
	pending := d.pull("s", "a", "harbour Rechnung")
	first := d.consume("s", "a", "initial")
	if first == nil || first.Phase != "fast" {
		t.Fatalf("first %+v", first)
	}
	wantRefs(t, "fast", refs(first.Documents), "project:port.md")
	close(release)
	if a := answer(t, pending); a.Error != nil {
		t.Fatal(a.Error)
	}
	then := d.consume("s", "a", "tool_result")
	if then == nil || then.Strategy != "hybrid" {
		t.Fatalf("then %+v", then)
	}
	wantRefs(t, "refined", refs(then.Documents), "project:bill.md")
}

// After a purge no vector is left of what it removed, in no file and no result.
func TestPurgeLeavesNoVector(t *testing.T) {
	files := meant()
	s := newStore(t, files)
	stub := modeltest.New(t)
	stub.Embeddings(modeltest.Vectors(meanings().Vector))
	state := filepath.Join(t.TempDir(), "state")
	d := sit(t, lsp.MemoryOptions{State: state}, embedding(s, stub)).indexed()
	rows := func() (n int, cat bool) {
		found, _ := filepath.Glob(filepath.Join(state, "*", "vectors-*.bin"))
		for _, path := range found {
			f, err := vectors.Open(state).Load(filepath.Base(filepath.Dir(path)), "stub-embed at "+stub.URL())
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range f.Rows {
				n++
				cat = cat || r.File == vectors.FileOf("project:cat.md")
			}
		}
		return n, cat
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if n, cat := rows(); n == len(files) && cat {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the vectors are not kept")
		}
	}
	plan := asks[lsp.Plan](d, "memory/forget", lsp.ForgetParams{Refs: []lsp.MemoryTarget{{Ref: "project:cat.md"}}})
	if op := asks[lsp.Operation](d, "memory/apply", lsp.ApplyParams{Plan: plan.ID, Purge: true}); !op.Purged {
		t.Fatalf("%+v", op)
	}
	if n, cat := rows(); n != len(files)-1 || cat {
		t.Errorf("%d rows are left, that of the memory among them: %v", n, cat)
	}
	if r := d.ask("小动物谁来照顾"); len(r.all()) != 0 {
		t.Errorf("found: %v", r.all())
	}
}
