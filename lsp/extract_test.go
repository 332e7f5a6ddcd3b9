package lsp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/recall/model/modeltest"
)

// pnpm is what a model makes of the conversation below.
const pnpm = `Sure! {"patches":[{"action":"create","ref":"","scope":"project","type":"project","name":"Package manager","description":"which one","keywords":["npm"],` +
	`"body":"We moved to pnpm 10, npm is gone.","why":"","howToApply":"","evidence":["e1"],"confidence":0.9}]}`

var moved = []lsp.TurnMessage{{Role: "user", Text: "We moved to pnpm 10, npm is gone."}, {Role: "assistant", Text: "Noted."}}

// pupil is a bureau with a model that is asked about conversations.
func pupil(t *testing.T, policy string, steps ...modeltest.Step) (*bureau, *modeltest.Server) {
	t.Helper()
	server := modeltest.New(t)
	server.Script(steps...)
	server.Otherwise(modeltest.Say(`{"patches":[]}`))
	b := furnish(t, gateways(), nil, func(o *lsp.InitializationOptions) {
		o.WritePolicy, o.Telemetry = policy, true
		o.Extract = lsp.SwitchOption{Enabled: pointer(true)}
		o.Model = &lsp.ModelOptions{BaseURL: server.URL(), Name: "stub", Price: lsp.ModelPrice{Input: 1, Output: 2, Currency: "EUR"}}
	})
	return b, server
}

// What is learnt waits with its evidence, is accepted, and is known from then on;
// the task, the plan and the operation say what it took.
func TestExtractReviewed(t *testing.T) {
	b, _ := pupil(t, "review", modeltest.Say(pnpm))
	r := asks[lsp.ExtractResult](b.desk, "memory/extract", lsp.ExtractParams{Session: "s", Messages: moved, WorkDoneToken: `"p1"`})
	if r.Plan == nil || len(r.Plan.Changes) != 1 || r.Plan.Changes[0].Evidence[0] != "m0" || r.Plan.Usage == nil || r.Cursor.Offset != 2 {
		t.Fatalf("%+v", r)
	}
	op := asks[lsp.Operation](b.desk, "memory/apply", lsp.ApplyParams{Plan: r.Plan.ID})
	if len(op.Changes) != 1 || op.Changes[0].Ref != "project:package-manager.md" || op.Usage == nil || op.Usage.Currency != "EUR" {
		t.Errorf("%+v", op)
	}
	tasks := asks[lsp.TasksResult](b.desk, "memory/tasks", lsp.TasksParams{})
	if len(tasks.Tasks) != 1 || tasks.Tasks[0].ID != r.Task || tasks.Tasks[0].State != "done" || tasks.Tasks[0].Usage == nil || tasks.SpentToday == 0 {
		t.Errorf("%+v", tasks)
	}
	again := asks[lsp.ExtractResult](b.desk, "memory/extract", lsp.ExtractParams{Session: "s", Messages: moved})
	if again.Plan != nil || len(again.Skipped) != 1 || again.Skipped[0].Reason != "no_new_messages" {
		t.Errorf("%+v", again)
	}
	if got := b.told("memory.extract"); len(got) != 2 || got[0].Status != "done" || got[0].Documents != 1 || got[0].Tokens == 0 || got[1].Status != "no_new_messages" {
		t.Errorf("telemetry %+v", got)
	}
	if got := b.told("memory.apply"); len(got) != 1 || got[0].Kind != "extract" {
		t.Errorf("telemetry %+v", got)
	}
}

// A turn that ended well is learnt from by itself; under the policy auto what
// contradicts nothing is there.
func TestExtractFollowsTurns(t *testing.T) {
	b, server := pupil(t, "auto", modeltest.IDs(), modeltest.Say(pnpm))
	b.ask("gateway timeout")
	if r := b.ended(lsp.FinishParams{Session: "s", Outcome: "end_turn", Messages: moved}); r.Extract.State != "scheduled" {
		t.Fatalf("%+v", r)
	}
	b.until("it is learnt", func(l lsp.ListResult) bool {
		for _, d := range l.Documents {
			if d.Title == "Package manager" {
				return true
			}
		}
		return false
	})
	for range server.Requests() {
		// Each question is answered; what is left is the end of its task.
		for asks[lsp.StatusResult](b.desk, "memory/status", lsp.StatusParams{}).Tasks > 0 {
			continue
		}
	}
}

// Agents' transcripts are taken as they are; what is none is refused by name.
func TestExtractTranscripts(t *testing.T) {
	for name, text := range map[string]string{
		"qwen":   `{"type":"user","sessionId":"x","message":{"role":"user","parts":[{"text":"We moved to pnpm 10, npm is gone."}]}}` + "\n" + `{"type":"assistant","message":{"role":"model","parts":[{"thought":true,"text":"hm"},{"text":"Noted."}]}}`,
		"claude": `{"type":"summary","summary":"x"}` + "\n" + `{"type":"user","message":{"role":"user","content":"We moved to pnpm 10, npm is gone."},"uuid":"u1","sessionId":"x"}` + "\n" + `{"type":"assistant","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Noted."}]}}`,
		"plain":  `[{"role":"user","text":"We moved to pnpm 10, npm is gone."},{"role":"assistant","content":"Noted."}]`,
	} {
		b, _ := pupil(t, "review", modeltest.Say(pnpm))
		r := asks[lsp.ExtractResult](b.desk, "memory/extract", lsp.ExtractParams{Session: "s", Transcript: &lsp.TranscriptInput{Text: text}, DryRun: true})
		if r.Plan == nil || len(r.Plan.Changes) != 1 || r.Cursor.Offset != 0 {
			raw, _ := json.Marshal(r)
			t.Errorf("%s: %s", name, raw)
		}
		if plans := asks[lsp.PlansResult](b.desk, "memory/plans", lsp.PlansParams{}); len(plans.Plans) != 0 {
			t.Errorf("%s: a dry run left %d plans", name, len(plans.Plans))
		}
	}
	b, _ := pupil(t, "off")
	b.malformed("transcript.text", "memory/extract", lsp.ExtractParams{Session: "s", Transcript: &lsp.TranscriptInput{Text: "# Minutes\n"}})
	b.malformed("transcript.format", "memory/extract", lsp.ExtractParams{Session: "s", Transcript: &lsp.TranscriptInput{Text: "{}", Format: "pdf"}})
	b.malformed("transcript", "memory/extract", lsp.ExtractParams{Session: "s", Messages: moved, Transcript: &lsp.TranscriptInput{Text: "{}"}})
	b.malformed("session", "memory/extract", lsp.ExtractParams{Session: strings.Repeat("x", 300)})
	if r := asks[lsp.ExtractResult](b.desk, "memory/extract", lsp.ExtractParams{Session: "s", Messages: moved}); len(r.Skipped) != 1 || r.Skipped[0].Reason != "disabled" {
		t.Errorf("policy off: %+v", r)
	}
}
