package recall

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/model"
)

// AskCeiling is the longest that one question of background work waits for its
// answer, a second try included. Nobody waits for it, and small machines think
// for minutes about a long prompt.
const AskCeiling = 5 * time.Minute

// Part is a piece of data in a question: what memories, messages or people say.
type Part struct {
	Name string // of its fence: small letters and hyphens
	Text string
}

// Question is what a model is asked in background work. Instructions are ours
// alone; whatever comes from elsewhere goes into Parts.
type Question struct {
	Purpose string // "extract", "dream": names it in logs and to the endpoint
	System  string // instructions, see [Prompt]
	Parts   []Part
	// Schema is the JSON schema of the answer. Every property is required and
	// additionalProperties is false, as strict structured output wants.
	Schema    json.RawMessage
	MaxTokens int // of the answer
	// Check decides whether the answer can be used as a whole. An error is told to
	// the model, which may then answer once more. Inv: it says nothing that a
	// memory or a message said.
	Check func(json.RawMessage) error
}

// Door is the one way by which background work asks a model: fenced data,
// checked answers with one retry, the budget of the day, and the count of what
// it took. The zero Door asks nobody.
type Door struct {
	Model Model // nil: none is configured
	// Reserve sets tokens aside before a question, as [memory.Store.Reserve] does;
	// nil asks without a budget.
	Reserve func(ctx context.Context, tokens int) (*memory.Reservation, error)
	Price   memory.Price
	// Wait is the longest that an answer is waited for; [AskCeiling] when zero.
	Wait time.Duration
}

// Ask asks and answers an object that q.Check accepted, with what that took, also
// beside an error. The error is a [*memory.Skipped] when there is no answer:
// model_unavailable, model_invalid, budget_exhausted; ctx's own, wrapped, when the
// caller ended it.
func (d *Door) Ask(ctx context.Context, q Question) (json.RawMessage, memory.Usage, error) {
	if d.Model == nil {
		return nil, memory.Usage{}, &memory.Skipped{Reason: memory.SkipModelUnavailable, Detail: "no model is configured"}
	}
	data, err := fence(q.Parts)
	if err != nil {
		return nil, memory.Usage{}, err
	}
	asked := model.Tokens(q.System) + model.Tokens(string(q.Schema)) + model.Tokens(data)
	var set *memory.Reservation
	if d.Reserve != nil {
		if set, err = d.Reserve(ctx, asked+q.MaxTokens); err != nil {
			return nil, memory.Usage{}, err
		}
	}
	wait := d.Wait
	if wait <= 0 {
		wait = AskCeiling
	}
	raw, counted, err := d.Model.Complete(ctx, model.Request{
		System: q.System, User: data, SchemaName: "memory_" + q.Purpose, Schema: q.Schema,
		MaxTokens: q.MaxTokens, Purpose: q.Purpose, Check: q.Check, Retry: true, Timeout: wait,
	})
	used := d.usage(counted, asked, len(raw), err)
	if set != nil {
		if serr := set.Settle(context.WithoutCancel(ctx), used.Tokens()); serr != nil && err == nil {
			err = serr
		}
	}
	if err != nil {
		return nil, used, noAnswer(ctx, err)
	}
	return raw, used, nil
}

// askList asks for a list that the answer has under a name, and takes what usable
// accepts of it: a wrong member takes none of the others along. An answer without
// a usable member, though it has some, is asked for once more. malformed counts
// what was not taken.
func askList[T any](ctx context.Context, d *Door, q Question, name string, usable func(*T) bool) (list []T, malformed int, used memory.Usage, err error) {
	q.Check = func(raw json.RawMessage) error {
		list, malformed, err := parseList(raw, name, usable)
		if err == nil && malformed > 0 && len(list) == 0 {
			err = fmt.Errorf("none of the %s has the form that the schema describes", name)
		}
		return err
	}
	raw, used, err := d.Ask(ctx, q)
	if err != nil {
		return nil, 0, used, err
	}
	list, malformed, err = parseList(raw, name, usable)
	return list, malformed, used, err
}

func parseList[T any](raw json.RawMessage, name string, usable func(*T) bool) (list []T, malformed int, err error) {
	var answer map[string]json.RawMessage
	var members []json.RawMessage
	err = json.Unmarshal(raw, &answer)
	for key, value := range answer {
		if strings.EqualFold(key, name) { // models are not exact about it
			err = json.Unmarshal(value, &members)
		}
	}
	if err != nil || members == nil {
		return nil, 0, fmt.Errorf("the answer is not an object with a list of objects named %q", name)
	}
	for _, one := range members {
		var m T
		if json.Unmarshal(one, &m) != nil || !usable(&m) {
			malformed++
			continue
		}
		list = append(list, m)
	}
	return list, malformed, nil
}

// usage is what a question took: what the endpoint counted, else an estimate.
// Nothing was used where nobody answered.
func (d *Door) usage(counted model.Usage, asked, answered int, err error) memory.Usage {
	u := memory.Usage{PromptTokens: counted.PromptTokens, CompletionTokens: counted.CompletionTokens, Requests: 1}
	if me, ok := errors.AsType[*model.Error](err); ok && me.Kind == model.Unavailable {
		return d.Price.Of(u)
	}
	if u.PromptTokens == 0 {
		u.PromptTokens, u.Estimated = asked, true
	}
	if u.CompletionTokens == 0 {
		u.CompletionTokens, u.Estimated = (answered+3)/4, true
	}
	return d.Price.Of(u)
}

// noAnswer says why there is no answer.
func noAnswer(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("asking the model: %w", context.Cause(ctx))
	}
	me, ok := errors.AsType[*model.Error](err)
	if !ok {
		if memory.SkippedOf(err) != nil {
			return err
		}
		return &memory.Skipped{Reason: memory.SkipModelUnavailable, Detail: modelFault(err).Detail}
	}
	s := &memory.Skipped{Reason: memory.SkipModelUnavailable, Detail: me.Detail, Retry: me.RetryAfter}
	if me.Kind == model.Invalid {
		s.Reason = memory.SkipModelInvalid
	}
	return s
}

// fence writes parts between markers that carry a number made for this request,
// so that no text can end its part, and takes from what looks like a marker its
// bracket, whatever number it carries.
func fence(parts []Part) (string, error) {
	var nonce [8]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return "", fmt.Errorf("making a fence: %w", err)
	}
	return fenced(parts, hex.EncodeToString(nonce[:])), nil
}

func fenced(parts []Part, nonce string) string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = regexp.QuoteMeta(p.Name)
	}
	marker := regexp.MustCompile(`(?i)<(\s*/?\s*(?:` + strings.Join(names, "|") + `)\b)`)
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "<%s-%s>\n", p.Name, nonce)
		for l := range strings.Lines(unifyLines(strings.ToValidUTF8(p.Text, "�"))) {
			b.WriteString(marker.ReplaceAllString(escape(strings.TrimRight(l, "\n")), "&lt;$1") + "\n")
		}
		fmt.Fprintf(&b, "</%s-%s>\n", p.Name, nonce)
	}
	return b.String()
}
