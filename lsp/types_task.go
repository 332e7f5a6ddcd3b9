package lsp

import "time"

// The wire types of background work. The rules of types.go hold for them.

// SkippedWork is background work, or a part of it, that was not done.
type SkippedWork struct {
	Reason string `json:"reason"`
	Detail string `json:"detail"`
}

// UsageCounts is what models were asked for.
type UsageCounts struct {
	Requests         int     `json:"requests"`
	PromptTokens     int     `json:"promptTokens"`
	CompletionTokens int     `json:"completionTokens"`
	Estimated        bool    `json:"estimated,omitzero"` // the endpoint did not count
	Cost             float64 `json:"cost,omitzero"`      // by model.price
	Currency         string  `json:"currency,omitzero"`
}

// TaskInfo is one piece of background work, of whichever process.
type TaskInfo struct {
	ID        string        `json:"id"`
	Kind      string        `json:"kind"`  // extract, dream
	State     string        `json:"state"` // queued, running, done, skipped, failed, cancelled, interrupted
	Root      string        `json:"root,omitzero"`
	Detail    string        `json:"detail"`
	Progress  TaskProgress  `json:"progress"`
	CreatedAt time.Time     `json:"createdAt"`
	EndedAt   time.Time     `json:"endedAt,omitzero"`
	Usage     *UsageCounts  `json:"usage,omitzero"`
	Plan      string        `json:"plan,omitzero"`
	Operation string        `json:"operation,omitzero"`
	Skipped   []SkippedWork `json:"skipped"`
}

// TaskProgress says how many of a task's steps are over.
type TaskProgress struct {
	Done  int `json:"done"`
	Total int `json:"total"` // 0: not known yet
}

// TasksParams are the params of memory/tasks.
type TasksParams struct{}

// TasksResult is the result of memory/tasks, newest first.
type TasksResult struct {
	Tasks []TaskInfo `json:"tasks"`
	// SpentToday and TokensPerDay are the budget of background work, by UTC.
	SpentToday   int `json:"spentToday"`
	TokensPerDay int `json:"tokensPerDay"`
}

// CancelTaskParams are the params of memory/cancelTask.
type CancelTaskParams struct {
	Task string `json:"task"`
}

// CancelTaskResult is the result of memory/cancelTask: an empty object.
type CancelTaskResult struct{}

// TaskChangedParams are the params of the notification memory/taskChanged.
type TaskChangedParams struct {
	Task     string       `json:"task"`
	Kind     string       `json:"kind"`
	State    string       `json:"state"`
	Detail   string       `json:"detail"`
	Progress TaskProgress `json:"progress"`
}

// DreamParams are the params of memory/dream.
type DreamParams struct {
	Scope  string `json:"scope"`
	Folder string `json:"folder,omitzero"`
	Force  bool   `json:"force,omitzero"` // skips the gates of time and sessions
}

// DreamResult is the result of memory/dream.
type DreamResult struct {
	Plan      *Plan         `json:"plan,omitzero"`      // what waits for a person
	Operation *Operation    `json:"operation,omitzero"` // what was made at once, with the write policy auto
	Skipped   []SkippedWork `json:"skipped"`
	Task      string        `json:"task,omitzero"`
	Usage     *UsageCounts  `json:"usage,omitzero"`
}
