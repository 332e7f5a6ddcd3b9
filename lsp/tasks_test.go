package lsp_test

import (
	"testing"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/memory"
)

// What another process works on is listed with how far it is, counted in the
// status, and can be cancelled over the wire.
func TestTasksOfAnotherProcess(t *testing.T) {
	b := furnish(t, gateways(), nil, func(o *lsp.InitializationOptions) { o.BackgroundTokensPerDay = pointer(5000) })
	if r := asks[lsp.TasksResult](b.desk, "memory/tasks", lsp.TasksParams{}); len(r.Tasks) != 0 || r.TokensPerDay != 5000 || r.SpentToday != 0 {
		t.Errorf("before: %+v", r)
	}
	roots, err := memory.ResolveRoots([]memory.RootConfig{{Scope: memory.ScopeProject, Path: b.project.dir}})
	if err != nil {
		t.Fatal(err)
	}
	other, err := memory.NewStore(memory.StoreOptions{State: b.state, Roots: func() []*memory.Root { return roots }})
	if err != nil {
		t.Fatal(err)
	}
	run, err := other.Begin(t.Context(), memory.TaskExtract, roots[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Reserve(t.Context(), 1000, 300); err != nil {
		t.Fatal(err)
	}
	if err := run.Step(1, 3, "asking the model"); err != nil {
		t.Fatal(err)
	}
	run.Spend(memory.Usage{Requests: 1, PromptTokens: 250, CompletionTokens: 50})
	r := asks[lsp.TasksResult](b.desk, "memory/tasks", lsp.TasksParams{})
	if len(r.Tasks) != 1 || r.SpentToday != 300 {
		t.Fatalf("%+v", r)
	}
	if got := r.Tasks[0]; got.ID != run.ID() || got.State != "running" || got.Progress != (lsp.TaskProgress{Done: 1, Total: 3}) || got.Usage.PromptTokens != 250 || got.Root != "project" {
		t.Errorf("%+v", got)
	}
	if s := b.status(); s.Tasks != 1 {
		t.Errorf("the status counts %d tasks", s.Tasks)
	}
	asks[lsp.CancelTaskResult](b.desk, "memory/cancelTask", lsp.CancelTaskParams{Task: run.ID()})
	stepped := run.Step(2, 3, "writing")
	if s := memory.SkippedOf(stepped); s == nil || s.Reason != memory.SkipCancelled {
		t.Errorf("stepped: %v", stepped)
	}
	run.End(memory.Task{}, stepped)
	if r := asks[lsp.TasksResult](b.desk, "memory/tasks", lsp.TasksParams{}); r.Tasks[0].State != "cancelled" || r.Tasks[0].EndedAt.IsZero() {
		t.Errorf("cancelled: %+v", r.Tasks[0])
	}
	b.fails(lsp.KindNotFound, "memory/cancelTask", lsp.CancelTaskParams{Task: run.ID()})
	b.fails(lsp.KindNotFound, "memory/cancelTask", lsp.CancelTaskParams{Task: "t-x"})
	b.malformed("task", "memory/cancelTask", lsp.CancelTaskParams{})
}

// A price that cannot be one is refused by its name.
func TestModelPriceIsChecked(t *testing.T) {
	d := ring(t, lsp.MemoryOptions{})
	err := d.initialize(lsp.InitializationOptions{Model: &lsp.ModelOptions{BaseURL: "http://localhost:1/v1", Name: "x", Price: lsp.ModelPrice{Input: -1}}})
	if code(err) != -32602 {
		t.Errorf("answered %v", err)
	}
}
