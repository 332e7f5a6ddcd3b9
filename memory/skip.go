package memory

import (
	"errors"
	"time"
)

// SkipReason names, for a program, why background work was not done, or why part
// of it was not. The values are those of the wire contract.
type SkipReason string

// Why extraction or consolidation as a whole was not done, or ended early.
const (
	SkipDisabled         SkipReason = "disabled"
	SkipMemoryTool       SkipReason = "memory_tool"     // the turn wrote memory itself
	SkipAlreadyRunning   SkipReason = "already_running" // and nothing could be queued
	SkipQueued           SkipReason = "queued"          // it follows the run that is under way
	SkipNoNewMessages    SkipReason = "no_new_messages"
	SkipHistoryGap       SkipReason = "history_gap" // messages are missing between the cursor and what came
	SkipBudgetExhausted  SkipReason = "budget_exhausted"
	SkipModelUnavailable SkipReason = "model_unavailable" // none is configured, or it does not answer
	SkipModelInvalid     SkipReason = "model_invalid"     // it answered twice what cannot be used
	SkipLocked           SkipReason = "locked"
	SkipMemoryPressure   SkipReason = "memory_pressure"
	SkipOnBattery        SkipReason = "on_battery"
	SkipInboxFull        SkipReason = "inbox_full"
	SkipCancelled        SkipReason = "cancelled"
	SkipReadOnly         SkipReason = "read_only" // no root may be written to

	SkipUnreadable SkipReason = "unreadable" // a part of a transcript that is no message
	SkipNoRoot     SkipReason = "no_root"    // nothing is served that could be written to

	SkipSameSession   SkipReason = "same_session"
	SkipMinHours      SkipReason = "min_hours"
	SkipScanThrottled SkipReason = "scan_throttled"
	SkipMinSessions   SkipReason = "min_sessions"
	SkipRunning       SkipReason = "running"
)

// Why one thing that a model or a cue proposed was dropped.
const (
	DropMalformed   SkipReason = "malformed"        // no patch, by its form
	DropTooMany     SkipReason = "too_many"         // beyond what one stretch of a conversation can hold
	DropEmpty       SkipReason = "empty"            // it says nothing
	DropQuestion    SkipReason = "question"         // it asks
	DropTaskLocal   SkipReason = "task_local"       // it holds for the task or the day only
	DropLanguage    SkipReason = "language"         // it is written otherwise than its evidence
	DropEvidence    SkipReason = "unknown_evidence" // it names messages that there are not
	DropUnconfirmed SkipReason = "unconfirmed"      // no person said or confirmed it
	DropNotStated   SkipReason = "not_stated"       // its evidence does not say it
	DropRef         SkipReason = "unknown_ref"      // it changes a memory that there is not
	DropUnsure      SkipReason = "unsure"
	DropSecret      SkipReason = "secret"
	DropInstruction SkipReason = "instruction" // it is addressed to a program
	DropForgotten   SkipReason = "forgotten"   // it was forgotten, or rejected before
	DropKnown       SkipReason = "known"       // a memory, or a plan that waits, says it already
	DropPinned      SkipReason = "pinned"
)

// Skipped is work, or a part of it, that was not done. As an error it ends a step
// without being a failure: whoever asked gets it as a row of the result.
type Skipped struct {
	Reason SkipReason `json:"reason"`
	// Detail is one clean line for a person. Inv: it never holds a secret or a text
	// of a memory or message.
	Detail string `json:"detail"`
	// Retry is how long to wait before it is worth another try; 0 is not known.
	Retry time.Duration `json:"-"`

	taken bool // it is of a candidate, and said again when those are taken again
}

// EndsRun tells whether a whole run was skipped or ended by it, and not only
// something that was found.
func (s *Skipped) EndsRun() bool {
	switch s.Reason {
	case DropMalformed, DropTooMany, DropEmpty, DropQuestion, DropTaskLocal, DropLanguage, DropEvidence, DropUnconfirmed, DropNotStated, DropRef,
		DropUnsure, DropSecret, DropInstruction, DropForgotten, DropKnown, DropPinned, SkipUnreadable:
		return false
	}
	return true
}

// Error implements error.
func (s *Skipped) Error() string { return string(s.Reason) + ": " + s.Detail }

// SkippedOf is the skip that an error is, also when it is a refusal that background
// work meets as a matter of course: a lock, a full inbox, a root that is not to be
// written to. Nil for everything else.
func SkippedOf(err error) *Skipped {
	if s, ok := errors.AsType[*Skipped](err); ok {
		return s
	}
	r, ok := errors.AsType[*Refusal](err)
	if !ok {
		return nil
	}
	switch r.Kind {
	case RefusedLocked:
		return &Skipped{Reason: SkipLocked, Detail: r.Detail}
	case RefusedBudget:
		return &Skipped{Reason: SkipInboxFull, Detail: r.Detail}
	case RefusedReadOnly, RefusedUntrusted:
		return &Skipped{Reason: SkipReadOnly, Detail: r.Detail}
	}
	return nil
}
