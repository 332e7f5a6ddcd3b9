package lsp

import (
	"context"

	"github.com/memls/memls/memory"
)

// taskMethods are the requests about background work as such.
func (f *features) taskMethods() map[string]Method {
	return map[string]Method{
		"memory/tasks":      NewCall(f.tasks),
		"memory/cancelTask": NewCall(f.cancelTask),
	}
}

// tasks serves memory/tasks.
func (f *features) tasks(_ context.Context, _ *TasksParams) (*TasksResult, error) {
	r := &TasksResult{TokensPerDay: f.s.Settings().BackgroundTokensPerDay}
	c := f.changer.Load()
	if c.store == nil {
		return r, nil
	}
	tasks, err := c.store.Tasks()
	if err != nil {
		return nil, refusals(err)
	}
	for i := range tasks {
		r.Tasks = append(r.Tasks, *TaskOf(&tasks[i]))
	}
	if r.SpentToday, err = c.store.SpentToday(); err != nil {
		return nil, err
	}
	return r, nil
}

// cancelTask serves memory/cancelTask.
func (f *features) cancelTask(ctx context.Context, p *CancelTaskParams) (*CancelTaskResult, error) {
	if err := required("task", p.Task); err != nil {
		return nil, err
	}
	c := f.changer.Load()
	if c.store == nil {
		return nil, Fail(KindNotFound, "there is no such task: %s", c.fault)
	}
	if err := c.store.CancelTask(ctx, p.Task); err != nil {
		return nil, refusals(err)
	}
	return &CancelTaskResult{}, nil
}

// taskChanged sends memory/taskChanged.
func (f *features) taskChanged(t memory.Task) {
	f.notify(NotifyTaskChanged, &TaskChangedParams{
		Task: t.ID, Kind: string(t.Kind), State: string(t.State), Detail: t.Detail, Progress: TaskProgress{t.Done, t.Total},
	})
}

// runningTasks counts the tasks that have not ended.
func (f *features) runningTasks() int {
	c := f.changer.Load()
	if c == nil || c.store == nil {
		return 0
	}
	tasks, err := c.store.Tasks()
	if err != nil {
		f.s.Log().Error("the tasks of background work cannot be read", "err", err)
	}
	n := 0
	for _, t := range tasks {
		if !t.State.Ended() {
			n++
		}
	}
	return n
}

// TaskOf words a task.
func TaskOf(t *memory.Task) *TaskInfo {
	return &TaskInfo{
		ID: t.ID, Kind: string(t.Kind), State: string(t.State), Root: t.Root, Detail: t.Detail, Progress: TaskProgress{t.Done, t.Total},
		CreatedAt: t.CreatedAt.UTC(), EndedAt: wireTime(t.EndedAt), Usage: UsageOf(t.Usage), Plan: t.Plan, Operation: t.Operation,
		Skipped: SkippedOf(t.Skipped),
	}
}

// UsageOf words what models were asked for; nil when none was.
func UsageOf(u memory.Usage) *UsageCounts {
	if u == (memory.Usage{}) {
		return nil
	}
	return &UsageCounts{
		Requests: u.Requests, PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens,
		Estimated: u.Estimated, Cost: u.Cost, Currency: u.Currency,
	}
}

// SkippedOf words what was not done.
func SkippedOf(skipped []memory.Skipped) []SkippedWork {
	out := []SkippedWork{}
	for _, s := range skipped {
		out = append(out, SkippedWork{Reason: string(s.Reason), Detail: s.Detail})
	}
	return out
}
