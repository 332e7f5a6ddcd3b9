package lsp

import (
	"context"
	"fmt"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/memory/transcript"
	"github.com/memls/memls/recall"
)

// What starts an extraction.
const (
	triggerManual = "manual"
	triggerAuto   = "auto"
)

// openLearner makes what learns from conversations.
func (f *features) openLearner(c *changing) *memory.Learner {
	return memory.NewLearner(memory.LearnerOptions{
		Store: c.store, Keeper: c.keeper, Roots: f.roots, Snapshot: func() *memory.Snapshot { return f.catalog().Snapshot() },
		Sync:   func(ctx context.Context) error { return f.catalog().Sync(ctx) },
		Tools:  func() memory.LearnTools { return recall.LearnTools(f.door()) },
		Strain: f.strain,
		Go:     f.s.Go, Ended: f.observeExtract, Now: f.opt.Now, Log: f.s.Log(),
	})
}

// extract serves memory/extract.
func (f *features) extract(ctx context.Context, p *ExtractParams) (*ExtractResult, error) {
	in, skipped, err := f.extractInput(p)
	if err != nil {
		return nil, err
	}
	if _, _, err := f.keeper(ctx); err != nil {
		return nil, err
	}
	progress := f.progress(p.WorkDoneToken, "Learning from a conversation")
	in.Step = progress.step
	out, err := f.changer.Load().learner.Extract(ctx, in)
	progress.end()
	if err != nil {
		return nil, refusals(err)
	}
	out.Skipped = append(out.Skipped, skipped...)
	return ExtractResultOf(out), nil
}

// ExtractResultOf words what learning from a conversation came to.
func ExtractResultOf(out *memory.Extracted) *ExtractResult {
	r := &ExtractResult{
		Skipped: SkippedOf(out.Skipped), Cursor: MessageCursor{Offset: out.Cursor.Offset, Digest: out.Cursor.Digest}, Task: out.Task, Usage: UsageOf(out.Usage),
	}
	if out.Plan != nil {
		r.Plan = PlanOf(out.Plan)
	}
	if out.Operation != nil {
		r.Operation = OperationOf(out.Operation)
	}
	return r
}

// extractInput checks the params. What of a transcript could not be read is a row.
func (f *features) extractInput(p *ExtractParams) (*memory.Extract, []memory.Skipped, error) {
	if err := checkName("session", p.Session); err != nil {
		return nil, nil, err
	}
	if p.Trigger != "" {
		if err := oneOf("trigger", p.Trigger, triggerManual, triggerAuto); err != nil {
			return nil, nil, err
		}
	}
	if p.Transcript != nil && p.Messages != nil {
		return nil, nil, InvalidParam("transcript", "either messages or a transcript")
	}
	if err := checkTail(p.Messages, p.MessagesFrom); err != nil {
		return nil, nil, err
	}
	in := &memory.Extract{
		Session: p.Session, Folder: f.folder(p.Folder), Messages: messagesOf(p.Messages, p.MessagesFrom), From: cursorOf(p.MessagesFrom),
		Policy: memory.WritePolicy(f.s.Settings().WritePolicy), Auto: p.Trigger == triggerAuto, DryRun: p.DryRun,
	}
	if p.Transcript == nil {
		return in, nil, nil
	}
	if p.Transcript.Format != "" {
		if err := oneOf("transcript.format", p.Transcript.Format, transcript.Formats()...); err != nil {
			return nil, nil, err
		}
	}
	t, err := transcript.Parse(p.Transcript.Text, transcript.Format(p.Transcript.Format))
	if err != nil {
		return nil, nil, InvalidParam("transcript.text", "%s", err.Error())
	}
	in.Messages = t.Messages
	return in, TranscriptProblems(t), nil
}

// TranscriptProblems words what of a transcript could not be read.
func TranscriptProblems(t *transcript.Transcript) []memory.Skipped {
	var rows []memory.Skipped
	for _, problem := range t.Problems {
		rows = append(rows, memory.Skipped{Reason: memory.SkipUnreadable, Detail: problem})
	}
	return rows
}

// messagesOf are messages of the wire, each with an id by its place in the history.
func messagesOf(messages []TurnMessage, from *MessageCursor) []memory.Message {
	start := 0
	if from != nil {
		start = from.Offset
	}
	out := make([]memory.Message, len(messages))
	for i, m := range messages {
		out[i] = memory.Message{ID: either(m.ID, fmt.Sprintf("m%d", start+i)), Role: m.Role, Text: m.Text, Wrote: m.Wrote}
	}
	return out
}

func cursorOf(from *MessageCursor) *memory.Cursor {
	if from == nil {
		return nil
	}
	return &memory.Cursor{Offset: from.Offset, Digest: from.Digest}
}

// followTurn schedules extraction after a turn that ended well. It runs on the read
// loop and returns at once.
func (f *features) followTurn(t FinishedTurn) ScheduledWork {
	c := f.changer.Load()
	if c.learner == nil {
		return ScheduledWork{State: workSkipped, Reason: string(memory.SkipDisabled)}
	}
	policy := memory.WritePolicy(f.s.Settings().WritePolicy)
	if policy == memory.PolicyOff {
		return ScheduledWork{State: workSkipped, Reason: string(memory.SkipDisabled)}
	}
	in := &memory.Extract{
		Session: t.Session, Folder: t.Folder, Messages: messagesOf(t.Messages, t.From), From: cursorOf(t.From), Policy: policy, Auto: true,
	}
	f.s.Go(func(ctx context.Context) {
		if _, err := f.loaded(ctx); err != nil {
			return
		}
		if _, err := c.learner.Extract(ctx, in); err != nil && ctx.Err() == nil {
			f.s.Log().Error("learning from a conversation", "err", err)
		}
	})
	return ScheduledWork{State: workScheduled}
}

// observeExtract tells how a run ended.
func (f *features) observeExtract(in *memory.Extract, out *memory.Extracted, err error, took time.Duration) {
	e := &TelemetryEvent{Type: eventExtract, Status: "done", Tokens: out.Usage.Tokens(), LatencyMs: took.Milliseconds(), Trigger: triggerManual}
	if in.Auto {
		e.Trigger = triggerAuto
	}
	if out.Plan != nil {
		e.Documents += len(out.Plan.Changes)
	}
	if out.Operation != nil {
		e.Documents += len(out.Operation.Changes)
	}
	for _, s := range out.Skipped {
		if e.Documents == 0 && s.EndsRun() {
			e.Status = string(s.Reason)
		}
	}
	if err != nil {
		e.Status = "failed"
	}
	f.tell(e)
}

// progressReport tells a client how far a request is, if it wants to know.
type progressReport struct {
	f     *features
	token ProgressToken
}

func (f *features) progress(token ProgressToken, title string) *progressReport {
	r := &progressReport{f: f, token: token}
	zero := 0
	r.send(progressValue{Kind: "begin", Title: title, Percentage: &zero, Cancellable: true})
	return r
}

func (r *progressReport) step(done, total int) {
	percent := 100 * done / max(1, total)
	r.send(progressValue{Kind: "report", Percentage: &percent})
}

func (r *progressReport) end() { r.send(progressValue{Kind: "end"}) }

func (r *progressReport) send(v progressValue) {
	if r.token == "" {
		return
	}
	r.f.notify(notifyProgress, &progressParams{Token: r.token, Value: v})
}
