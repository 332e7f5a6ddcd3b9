package lsp

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The wire types of changing memories. The rules of types.go hold for them.

// MemoryTarget names a memory or one of its entries, as it stood when the caller
// saw it. A string stands for a target without a version.
type MemoryTarget struct {
	Ref     string `json:"ref"`              // may end in #<n>
	Version string `json:"version,omitzero"` // a mismatch is a conflict
}

// UnmarshalJSON takes a ref alone for a target.
func (t *MemoryTarget) UnmarshalJSON(raw []byte) error {
	if jsontext.Value(raw).Kind() == '"' {
		return json.Unmarshal(raw, &t.Ref, wireJSON)
	}
	var plain struct {
		Ref     *string `json:"ref"`
		Version string  `json:"version"`
	}
	if err := json.Unmarshal(raw, &plain, wireJSON); err != nil {
		return err
	}
	if plain.Ref == nil {
		return errors.New("a target without its ref")
	}
	t.Ref, t.Version = *plain.Ref, plain.Version
	return nil
}

// Plan is a set of changes that has not been made.
type Plan struct {
	ID        string       `json:"id"`
	Kind      string       `json:"kind"` // remember, forget, move, extract, dream
	CreatedAt time.Time    `json:"createdAt"`
	ExpiresAt time.Time    `json:"expiresAt"`
	Changes   []PlanChange `json:"changes"`
	Usage     *UsageCounts `json:"usage,omitzero"` // what models were asked for to make it
	Warnings  []string     `json:"warnings"`
}

// PlanChange is one change of one file in a plan.
type PlanChange struct {
	ID       string      `json:"id"`
	Action   string      `json:"action"` // create, update, delete
	Ref      string      `json:"ref"`    // ends in #<n> when an entry goes
	URI      string      `json:"uri"`
	Base     string      `json:"base,omitzero"` // the version that it was computed from; absent for a new file
	Diff     string      `json:"diff"`          // unified
	Reason   string      `json:"reason"`
	Why      []WhyReason `json:"why,omitzero"`
	Score    float64     `json:"score,omitzero"`
	Evidence []string    `json:"evidence,omitzero"` // ids of messages
}

// Operation is a change that was made. Without an id nothing had to change.
type Operation struct {
	ID        string            `json:"id,omitzero"`
	Kind      string            `json:"kind"` // remember, forget, move, pin, index, undo, extract, dream
	At        time.Time         `json:"at"`
	Changes   []OperationChange `json:"changes"`
	UndoUntil time.Time         `json:"undoUntil,omitzero"` // absent when it cannot be undone
	Undoes    string            `json:"undoes,omitzero"`    // the operation that it took back
	Purged    bool              `json:"purged,omitzero"`    // no trace of what it removed was kept
	Usage     *UsageCounts      `json:"usage,omitzero"`     // what models were asked for on the way to it
	Warnings  []string          `json:"warnings,omitzero"`
}

// OperationChange is what an operation did to one file.
type OperationChange struct {
	Ref    string `json:"ref"`
	Action string `json:"action"`          // create, update, delete
	From   string `json:"from,omitzero"`   // the version before; absent for a new file
	To     string `json:"to,omitzero"`     // the version after; absent when the file is gone
	Purged bool   `json:"purged,omitzero"` // the file was erased for good since, and ref does not name it any more
}

// RememberParams are the params of memory/remember.
type RememberParams struct {
	Text     string   `json:"text"`
	Scope    string   `json:"scope,omitzero"`
	Type     string   `json:"type,omitzero"`
	Name     string   `json:"name,omitzero"`
	Keywords []string `json:"keywords,omitzero"`
	Session  string   `json:"session,omitzero"`
	Folder   string   `json:"folder,omitzero"`
	Apply    *bool    `json:"apply,omitzero"` // default true
}

// RememberResult is the result of memory/remember: the fields of an [Operation],
// with apply false those of a [Plan], or the memories that say it already.
type RememberResult struct {
	ID        string             `json:"id,omitzero"`
	Kind      string             `json:"kind,omitzero"`
	At        time.Time          `json:"at,omitzero"`
	CreatedAt time.Time          `json:"createdAt,omitzero"`
	ExpiresAt time.Time          `json:"expiresAt,omitzero"`
	Changes   []RememberedChange `json:"changes"`
	UndoUntil time.Time          `json:"undoUntil,omitzero"`
	Warnings  []string           `json:"warnings,omitzero"`
	Unchanged []string           `json:"unchanged,omitzero"` // refs of what says it already
}

// RememberedChange is an [OperationChange], or with apply false a [PlanChange].
type RememberedChange struct {
	ID     string `json:"id,omitzero"`
	Action string `json:"action"`
	Ref    string `json:"ref"`
	URI    string `json:"uri,omitzero"`
	From   string `json:"from,omitzero"`
	To     string `json:"to,omitzero"`
	Base   string `json:"base,omitzero"`
	Diff   string `json:"diff,omitzero"`
	Reason string `json:"reason,omitzero"`
}

// ForgetParams are the params of memory/forget, whose result is a [Plan]. Either
// query or refs is given.
type ForgetParams struct {
	Query  string         `json:"query,omitzero"`
	Refs   []MemoryTarget `json:"refs,omitzero"`
	Scopes []string       `json:"scopes,omitzero"`
	Limit  *int           `json:"limit,omitzero"` // 1 to 100, default 5
	Folder string         `json:"folder,omitzero"`
}

// ConfirmForgetParams are the params of memory/confirmForget, whose result is an
// [Operation].
type ConfirmForgetParams struct {
	Ref     string `json:"ref"` // may end in #<n>
	Version string `json:"version,omitzero"`
}

// MoveParams are the params of memory/move, whose result is a [Plan].
type MoveParams struct {
	Ref     string `json:"ref"`
	Version string `json:"version,omitzero"`
	Scope   string `json:"scope"`
	Folder  string `json:"folder,omitzero"`
}

// PlansParams are the params of memory/plans.
type PlansParams struct {
	Kinds []string `json:"kinds,omitzero"` // default all
}

// PlansResult is the result of memory/plans: the inbox, oldest first.
type PlansResult struct {
	Plans []Plan `json:"plans"`
}

// ApplyParams are the params of memory/apply, whose result is an [Operation].
type ApplyParams struct {
	Plan  string            `json:"plan"`
	Only  []string          `json:"only,omitzero"`  // ids of changes
	Edits map[string]string `json:"edits,omitzero"` // whole texts of files, by the id of a change
	Purge bool              `json:"purge,omitzero"`
}

// DiscardParams are the params of memory/discard.
type DiscardParams struct {
	Plan string `json:"plan"`
}

// DiscardResult is the result of memory/discard: an empty object.
type DiscardResult struct{}

// OperationsParams are the params of memory/operations.
type OperationsParams struct {
	Limit *int `json:"limit,omitzero"` // 1 to 1000, default 50
}

// OperationsResult is the result of memory/operations, newest first.
type OperationsResult struct {
	Operations []Operation `json:"operations"`
	Truncated  bool        `json:"truncated,omitzero"` // there are more
}

// UndoParams are the params of memory/undo, whose result is an [Operation].
type UndoParams struct {
	Operation string `json:"operation"`
}

// PinParams are the params of memory/pin, whose result is an [Operation].
type PinParams struct {
	Ref     string `json:"ref"`
	Version string `json:"version,omitzero"`
	Pinned  bool   `json:"pinned"`
}

// FeedbackParams are the params of memory/feedback.
type FeedbackParams struct {
	Ref     string `json:"ref"`
	Session string `json:"session,omitzero"`
	Verdict string `json:"verdict"` // useful, wrong, outdated
}

// FeedbackResult is the result of memory/feedback.
type FeedbackResult struct {
	Ref      string         `json:"ref"`
	Feedback FeedbackCounts `json:"feedback"` // with this one
}

// RebuildIndexParams are the params of memory/rebuildIndex, whose result is an
// [Operation].
type RebuildIndexParams struct {
	Scope  string `json:"scope"`
	Folder string `json:"folder,omitzero"`
}

// PlansChangedParams are the params of the notification memory/plansChanged.
type PlansChangedParams struct {
	Pending int `json:"pending"` // plans in the inbox
}
