package lsp

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// The wire types of extraction. The rules of types.go hold for them.

// ExtractParams are the params of memory/extract. Either messages or a transcript
// is given.
type ExtractParams struct {
	Session       string           `json:"session"`
	Messages      []TurnMessage    `json:"messages,omitzero"`
	MessagesFrom  *MessageCursor   `json:"messagesFrom,omitzero"` // Messages are the tail from here
	Transcript    *TranscriptInput `json:"transcript,omitzero"`
	Trigger       string           `json:"trigger,omitzero"` // manual (default), auto
	Folder        string           `json:"folder,omitzero"`
	DryRun        bool             `json:"dryRun,omitzero"` // nothing is kept
	WorkDoneToken ProgressToken    `json:"workDoneToken,omitzero"`
}

// TranscriptInput is a conversation as an agent keeps it.
type TranscriptInput struct {
	Text   string `json:"text"`
	Format string `json:"format,omitzero"` // auto (default), qwen, claude, plain
}

// ExtractResult is the result of memory/extract.
type ExtractResult struct {
	Plan      *Plan         `json:"plan,omitzero"`
	Operation *Operation    `json:"operation,omitzero"`
	Skipped   []SkippedWork `json:"skipped"`
	Cursor    MessageCursor `json:"cursor"`
	Task      string        `json:"task,omitzero"`
	Usage     *UsageCounts  `json:"usage,omitzero"`
}

// ProgressToken is a token of the client for $/progress, a string or an integer,
// as it was sent.
type ProgressToken string

// UnmarshalJSON takes a string or a number.
func (t *ProgressToken) UnmarshalJSON(raw []byte) error {
	switch jsontext.Value(raw).Kind() {
	case '"', '0':
		*t = ProgressToken(raw)
		return nil
	}
	return errors.New("a token is a string or an integer")
}

// MarshalJSON is the token as it was sent.
func (t ProgressToken) MarshalJSON() ([]byte, error) { return []byte(t), nil }

// progressParams are the params of LSP's $/progress.
type progressParams struct {
	Token ProgressToken `json:"token"`
	Value progressValue `json:"value"`
}

type progressValue struct {
	Kind        string `json:"kind"` // begin, report, end
	Title       string `json:"title,omitzero"`
	Message     string `json:"message,omitzero"`
	Percentage  *int   `json:"percentage,omitzero"`
	Cancellable bool   `json:"cancellable,omitzero"`
}
