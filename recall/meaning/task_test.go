package meaning_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/meaning"
)

// many are memories that take more than one request.
func many(n int) []*memory.Document {
	docs := make([]*memory.Document, n)
	for i := range docs {
		docs[i] = document("project", fmt.Sprintf("m%03d", i), "project", fmt.Sprintf("Note number %d is about the cat.", i))
	}
	return docs
}

// listed gives the vectors of a stall a place among the tasks of a state.
func (s *stall) listed(e meaning.Embedder) *memory.Store {
	s.t.Helper()
	store, err := memory.NewStore(memory.StoreOptions{State: s.t.TempDir(), Roots: func() []*memory.Root { return nil }})
	if err != nil {
		s.t.Fatal(err)
	}
	s.opt.Begin = func(ctx context.Context) (meaning.Task, error) { return store.Begin(ctx, memory.TaskEmbedding, nil) }
	s.restart(e)
	return store
}

func tasksOf(t *testing.T, store *memory.Store) []memory.Task {
	t.Helper()
	tasks, err := store.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

// Catching up with many memories is one task that everybody sees; what one request
// does is none.
func TestManyVectorsAreATask(t *testing.T) {
	e := knowing(space())
	s := open(t, e, many(20)...)
	store := s.listed(e)
	if s.fill(); len(tasksOf(t, store)) != 0 {
		t.Fatalf("of one request: %+v", tasksOf(t, store))
	}
	answer, seen := e.answer, []memory.Task(nil)
	e.answer = func(texts []string) ([][]float32, error) {
		seen = append(seen, tasksOf(t, store)...)
		return answer(texts)
	}
	s.change(nil, many(120)[20:])
	s.fill()
	tasks := tasksOf(t, store)
	if len(tasks) != 1 {
		t.Fatalf("%+v", tasks)
	}
	if got := tasks[0]; got.Kind != memory.TaskEmbedding || got.State != memory.TaskDone || got.Done != 120 || got.Total != 120 ||
		got.Usage.Requests < 4 || got.Usage.PromptTokens < 1000 || got.EndedAt.IsZero() {
		t.Errorf("at the end %+v", got)
	}
	last := seen[len(seen)-1]
	if seen[0].Done != 0 || last.State != memory.TaskRunning || last.Done <= 20 || last.Done >= 120 || last.Total != 120 || !strings.Contains(last.Detail, "stub") {
		t.Errorf("on the way first %+v, last %+v", seen[0], last)
	}
}

// Who cancels it gets no more requests until the next start, is told so, and then
// gets those vectors that are missing.
func TestMakingVectorsIsCancelled(t *testing.T) {
	e := knowing(space())
	s := open(t, e, many(100)...)
	store := s.listed(e)
	answer := e.answer
	e.answer = func(texts []string) ([][]float32, error) {
		if tasks := tasksOf(t, store); s.Status().Vectors > 0 && !tasks[0].State.Ended() {
			if err := store.CancelTask(context.Background(), tasks[0].ID); err != nil {
				t.Error(err)
			}
			return nil, errors.New("the client left")
		}
		return answer(texts)
	}
	s.fill()
	st := s.Status()
	if st.Vectors == 0 || st.Vectors >= 100 || !strings.Contains(st.Fault, "cancelled") {
		t.Errorf("%+v", st)
	}
	if got := tasksOf(t, store); len(got) != 1 || got[0].State != memory.TaskCancelled || got[0].Done != st.Vectors || !strings.Contains(got[0].Detail, "left") {
		t.Errorf("%+v", got)
	}
	asked := e.requests()
	s.change(nil, many(150)[100:])
	if s.fill(); e.requests() != asked {
		t.Errorf("%d requests after it was cancelled", e.requests()-asked)
	}
	if n := s.near("cat"); n.Degraded == nil || n.Degraded.Reason != "embedding_unavailable" || !strings.Contains(n.Degraded.Detail, "cancelled") {
		t.Errorf("%+v", n.Degraded)
	}

	e.answer = answer
	e.took()
	s.restart(e)
	s.fill()
	if st := s.Status(); st.Vectors != 150 || st.Fault != "" {
		t.Errorf("after a restart %+v", st)
	}
	if got := e.took(); len(got) != 150-st.Vectors {
		t.Errorf("%d texts sent, %d vectors were there", len(got), st.Vectors)
	}
}

// When no task can be listed, vectors are made all the same.
func TestVectorsWithoutATask(t *testing.T) {
	e := knowing(space())
	s := open(t, e, many(100)...)
	begun := 0
	s.opt.Begin = func(context.Context) (meaning.Task, error) { begun++; return nil, errors.New("read-only") }
	s.restart(e)
	if s.fill(); s.Status().Vectors != 100 || begun != 1 {
		t.Errorf("%+v, tried %d times", s.Status(), begun)
	}
}

// A service that ends leaves no task behind.
func TestTaskOfAServiceThatEnds(t *testing.T) {
	e := knowing(space())
	s := open(t, e, many(100)...)
	store := s.listed(e)
	ctx, cancel := context.WithCancel(t.Context())
	answer := e.answer
	e.answer = func(texts []string) ([][]float32, error) {
		if s.Status().Vectors > 0 {
			cancel()
		}
		return answer(texts)
	}
	s.Run(ctx)
	if got := tasksOf(t, store); len(got) != 1 || got[0].State != memory.TaskCancelled || !strings.Contains(got[0].Detail, "next start") {
		t.Errorf("%+v", got)
	}
}
