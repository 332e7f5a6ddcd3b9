package lsp_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/memls/memls/lsp"
)

// twins are two memories that say the same beside eight that do not.
func twins() map[string]string {
	files := map[string]string{
		"one.md": note("Deploys", "when we deploy", "- Deploys run on Mondays.\n- Rollbacks take a minute."),
		"two.md": note("Deploys", "when we deploy", "- deploys run on **Mondays**"),
	}
	for _, name := range strings.Fields("alder birch cedar elder maple willow poplar hazel") {
		files[name+".md"] = note(name, name, "A note about "+name+" alone.")
	}
	return files
}

func TestDreamOverTheWire(t *testing.T) {
	b := furnish(t, twins(), nil)
	b.malformed("scope", "memory/dream", lsp.DreamParams{Scope: "all"})
	if r := asks[lsp.DreamResult](b.desk, "memory/dream", lsp.DreamParams{Scope: "project"}); r.Plan != nil || len(r.Skipped) != 1 || r.Skipped[0].Reason != "min_sessions" {
		t.Errorf("without force: %+v", r)
	}
	r := asks[lsp.DreamResult](b.desk, "memory/dream", lsp.DreamParams{Scope: "project", Force: true})
	if r.Plan == nil || len(r.Plan.Changes) != 1 || r.Plan.Changes[0].Ref != "project:two.md" || r.Plan.Changes[0].Action != "delete" || r.Task == "" {
		t.Fatalf("%+v", r)
	}
	tasks := asks[lsp.TasksResult](b.desk, "memory/tasks", lsp.TasksParams{}).Tasks
	if !slices.ContainsFunc(tasks, func(k lsp.TaskInfo) bool { return k.ID == r.Task && k.State == "done" && k.Plan == r.Plan.ID }) {
		t.Errorf("the task is not told: %+v", tasks)
	}
	if !strings.Contains(b.project.text("two.md"), "Mondays") {
		t.Error("a plan that waits has changed a file")
	}
	op := asks[lsp.Operation](b.desk, "memory/apply", lsp.ApplyParams{Plan: r.Plan.ID})
	if got := b.recall(lsp.RecallParams{Query: "deploys on Mondays"}).all(); slices.Contains(got, "project:two.md") || !slices.Contains(got, "project:one.md") {
		t.Errorf("recalled %v", got)
	}
	asks[lsp.Operation](b.desk, "memory/undo", lsp.UndoParams{Operation: op.ID})
	if !strings.Contains(b.project.text("two.md"), "Mondays") {
		t.Error("it was not taken back")
	}
}

func TestDreamByPolicy(t *testing.T) {
	b := furnish(t, twins(), nil, func(o *lsp.InitializationOptions) { o.WritePolicy = "auto" })
	r := asks[lsp.DreamResult](b.desk, "memory/dream", lsp.DreamParams{Scope: "project", Force: true})
	if r.Plan != nil || r.Operation == nil || len(r.Operation.Changes) != 1 {
		t.Errorf("auto: %+v", r)
	}
	b = furnish(t, twins(), nil, func(o *lsp.InitializationOptions) { o.WritePolicy = "off" })
	r = asks[lsp.DreamResult](b.desk, "memory/dream", lsp.DreamParams{Scope: "project", Force: true})
	if r.Plan != nil || r.Operation != nil || len(r.Skipped) != 1 || r.Skipped[0].Reason != "disabled" {
		raw, _ := json.Marshal(r)
		t.Errorf("off: %s", raw)
	}
}
