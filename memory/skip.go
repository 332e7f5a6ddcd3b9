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

	SkipSameSession   SkipReason = "same_session"
	SkipMinHours      SkipReason = "min_hours"
	SkipScanThrottled SkipReason = "scan_throttled"
	SkipMinSessions   SkipReason = "min_sessions"
	SkipRunning       SkipReason = "running"
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
