package lsp

import (
	"context"
	"fmt"
	"time"

	"github.com/memls/memls/memory"
)

const askMessage = "window/showMessageRequest"

// personWait is how long a person may take to say yes.
const personWait = 10 * time.Minute

// What a person is asked, and what they may answer.
const (
	answerForget = "Forget"
	answerCancel = "Cancel"
)

// messageRequestParams are LSP's ShowMessageRequestParams.
type messageRequestParams struct {
	Type    int           `json:"type"` // LSP's: 1 error, 2 warning, 3 information, 4 log
	Message string        `json:"message"`
	Actions []messageItem `json:"actions"`
}

// messageItem is LSP's MessageActionItem.
type messageItem struct {
	Title string `json:"title"`
}

// askPerson shows a person a question with answers and returns theirs; empty when they
// gave none.
func (f *features) askPerson(ctx context.Context, question string, answers ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, personWait)
	defer cancel()
	p := &messageRequestParams{Type: 2, Message: question}
	for _, a := range answers {
		p.Actions = append(p.Actions, messageItem{Title: a})
	}
	var answer *messageItem
	if err := f.s.Request(ctx, askMessage, p, &answer); err != nil {
		return "", fmt.Errorf("asking with %s: %w", askMessage, err)
	}
	if answer == nil {
		return "", nil
	}
	return answer.Title, nil
}

// confirmForget serves memory/confirmForget: forget and apply, with a person's yes
// between them. It is what a command behind a code action or a menu can run in any
// editor.
func (f *features) confirmForget(ctx context.Context, p *ConfirmForgetParams) (*Operation, error) {
	t, err := target("ref", p.Ref, p.Version)
	if err != nil {
		return nil, err
	}
	k, store, err := f.keeper(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := k.Forget(ctx, memory.Forget{Targets: []memory.Target{t}})
	if err != nil {
		return nil, refusals(err)
	}
	answer, err := f.askPerson(ctx, f.forgetQuestion(plan), answerForget, answerCancel)
	if err != nil || answer != answerForget {
		// The plan would only be in the way. That it is gone already is as well.
		_ = store.Discard(context.WithoutCancel(ctx), plan.ID)
		if err != nil {
			return nil, err
		}
		return &Operation{Kind: string(memory.KindForget), At: f.opt.Now().UTC()}, nil
	}
	op, err := k.Apply(ctx, plan.ID, memory.ApplyOptions{})
	if err != nil {
		return nil, refusals(err)
	}
	return OperationOf(op), nil
}

// questionRunes bounds what of a memory a question shows.
const questionRunes = 160

// forgetQuestion words what a plan would take away. What comes from the memory is
// one clean line.
func (f *features) forgetQuestion(plan *memory.Plan) string {
	c := &plan.Changes[0]
	ref, err := memory.ParseRef(c.Ref)
	if err != nil {
		return "Forget " + c.Ref + "?"
	}
	title, entry := c.Ref, ""
	if d, ok := f.catalog().Snapshot().Get(ref.File()); ok {
		title = d.Title
		if entries := memory.Entries(d); ref.Entry >= 0 && ref.Entry < len(entries) {
			entry = entries[ref.Entry].Summary
		}
	}
	question := fmt.Sprintf("Forget “%s” (%s)?", shortened(title, questionRunes), ref.File())
	if entry != "" {
		question = fmt.Sprintf("Forget “%s” in “%s” (%s)?", shortened(entry, questionRunes), shortened(title, questionRunes), ref.File())
	}
	for _, w := range plan.Warnings {
		question += "\n" + w
	}
	return question
}

// shortened is one clean line of at most n characters.
func shortened(s string, n int) string {
	r := []rune(memory.CleanLine(s))
	if len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return string(r)
}
