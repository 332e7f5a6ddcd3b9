package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sashabaranov/go-openai"
)

// Kind says what a caller can make of a failure.
type Kind int

const (
	// Unavailable: no answer could be had (unreachable, refused, overloaded).
	Unavailable Kind = iota + 1
	// Timeout: no answer in time.
	Timeout
	// Invalid: an answer came and cannot be used.
	Invalid
)

// String is "unavailable", "timeout" or "invalid".
func (k Kind) String() string {
	switch k {
	case Unavailable:
		return "unavailable"
	case Timeout:
		return "timeout"
	case Invalid:
		return "invalid"
	}
	return fmt.Sprintf("kind %d", int(k))
}

// Reason is the kind as the protocol names it: "model_unavailable" and so on.
func (k Kind) Reason() string { return "model_" + k.String() }

// Error is why Complete has no answer.
type Error struct {
	Kind Kind
	// Detail is one line for people: no control, bidi or zero-width
	// characters, never the key, at most maxDetail characters.
	Detail string
	// Err is the cause for errors.Is and errors.As; its text holds no key.
	// It is nil when an answer's faults were found here.
	Err error
	// RetryAfter is how long the endpoint asked to be left alone; 0 when it did not.
	RetryAfter time.Duration
	// Status is the HTTP status of an answer that is a failure, else 0.
	Status int
}

func (e *Error) Error() string { return "model " + e.Kind.String() + ": " + e.Detail }

func (e *Error) Unwrap() error { return e.Err }

// maxDetail is the longest Error.Detail in characters: what fits a status
// line's tool tip and still names the fault.
const maxDetail = 240

// unusable is an answer that came and is of no use.
type unusable struct {
	detail string
	err    error
	text   string // what the model said, to be shown to it again
	final  bool   // asking again cannot help
	short  bool   // more room may help
}

func (u *unusable) Error() string { return u.detail }

func (u *unusable) Unwrap() error { return u.err }

// againError is the failure of a request that followed an answer which was cut
// off.
type againError struct{ err error }

func (e *againError) Error() string { return "asking again with more room: " + e.err.Error() }

func (e *againError) Unwrap() error { return e.err }

// explain turns an inner error into what Complete answers. caller is the
// context that the caller gave, bounded the same under the client's time-out.
func (c *Client) explain(caller, bounded context.Context, r Request, err error) error {
	if e := caller.Err(); errors.Is(e, context.Canceled) {
		return fmt.Errorf("model: %s: %w", r.purpose(), e)
	}
	kind, detail, cause := c.classify(bounded, err)
	if cause != nil && c.line.holdsKey(flatten(cause.Error())) {
		cause = errors.New(c.line.clean(cause.Error()))
	}
	failure := &Error{Kind: kind, Detail: c.line.clean(detail), Err: cause}
	var failed *httpError
	if errors.As(err, &failed) {
		failure.RetryAfter, failure.Status = failed.wait, failed.status
	}
	return failure
}

// classify answers an error's kind, its detail in raw form, and of its causes
// the part that callers may see: never what holds text of the endpoint.
func (c *Client) classify(bounded context.Context, err error) (kind Kind, detail string, cause error) {
	var (
		bad    *unusable
		failed *httpError
	)
	switch {
	case errors.As(err, &bad):
		return Invalid, bad.detail, bad.err
	case expired(bounded):
		if errors.Is(err, errWaiting) {
			return Timeout, "no place at the endpoint came free in time", context.DeadlineExceeded
		}
		return Timeout, "no answer in time from " + c.endpoint + c.lateness(err), context.DeadlineExceeded
	case errors.Is(err, errBusy):
		return Unavailable, fmt.Sprintf("%d requests are waiting already", c.set.waiting), errBusy
	case errors.Is(err, errStalled):
		return Timeout, fmt.Sprintf("the answer began and then stalled for %s", c.set.idle), errStalled
	case errors.Is(err, errTooLarge):
		return Invalid, fmt.Sprintf("the answer is larger than %d bytes", MaxBody), errTooLarge
	case errors.Is(err, errNotJSON):
		return Invalid, err.Error() + "; is the base URL right?", errNotJSON
	case errors.As(err, &failed):
		return c.classifyStatus(failed)
	case errors.Is(err, openai.ErrChatCompletionInvalidModel):
		return Unavailable, c.name + " is no chat model", openai.ErrChatCompletionInvalidModel
	}
	return c.classifyTransport(err)
}

// lateness says what is known of why there was no answer in time.
func (c *Client) lateness(err error) string {
	var again *againError
	if errors.As(err, &again) || c.known().thinks {
		return "; it thinks before it answers: one that does not is quicker"
	}
	return ""
}

// classifyStatus words an answer that is a failure.
func (c *Client) classifyStatus(e *httpError) (Kind, string, error) {
	kind, what := Unavailable, "the endpoint failed"
	switch e.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		what = "the endpoint refuses the key"
		if c.keyless {
			what = "the endpoint wants a key and none is named"
		}
	case http.StatusNotFound:
		what = "the endpoint knows no model " + c.name + ", or serves no " + c.serves
	case http.StatusTooManyRequests:
		what = "the endpoint wants fewer requests"
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		kind, what = Timeout, "the endpoint gave up waiting for its model"
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		what = "the endpoint refuses the request"
	}
	detail := fmt.Sprintf("%s (HTTP %d): %s", what, e.status, serverMessage(e.body))
	if e.wait > 0 {
		detail += fmt.Sprintf("; it asks to wait %s", e.wait.Round(time.Millisecond))
	}
	return kind, detail, fmt.Errorf("HTTP status %d", e.status)
}

// classifyTransport words a request that got no answer, or half of one.
func (c *Client) classifyTransport(err error) (Kind, string, error) {
	var (
		redirect *redirectError
		broken   *bodyError
		dial     *net.OpError
		outer    *url.Error
	)
	cause := err
	if errors.As(err, &outer) {
		cause = outer.Err
	}
	switch {
	case errors.As(err, &redirect):
		return Unavailable, redirect.Error(), redirect
	case errors.As(err, &broken):
		return Unavailable, "the connection broke off in the middle of the answer", broken
	case errors.As(err, &outer) && errors.As(err, &dial) && dial.Op == "dial":
		return Unavailable, "cannot reach " + c.endpoint + ": " + dial.Err.Error(), cause
	case errors.As(err, &outer):
		if errors.Is(cause, io.EOF) {
			return Unavailable, "no answer from " + c.endpoint + ": it hung up", cause
		}
		return Unavailable, "no answer from " + c.endpoint + ": " + cause.Error(), cause
	}
	// What is left is an answer that decodes into no completion.
	if inner := errors.Unwrap(err); inner != nil {
		cause = inner
	}
	if c.serves != servesChat {
		return Invalid, "the answer is not one of " + c.serves, cause
	}
	return Invalid, "the answer is not a chat completion", cause
}

// expired also holds for a deadline that has passed but has not yet been
// signalled: dialling keeps its own timer for the same instant.
func expired(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

// redactor makes foreign text fit for a status line.
type redactor struct{ key string }

// minRedact is the shortest key that is looked for in texts: shorter ones are
// no secrets but placeholders ("x") that occur in any sentence.
const minRedact = 4

func (r redactor) holdsKey(s string) bool {
	return len(r.key) >= minRedact && (strings.Contains(s, r.key) || strings.Contains(s, url.QueryEscape(r.key)))
}

// clean is s on one line, without the key and without characters that steer a
// display, cut at maxDetail characters with an ellipsis.
func (r redactor) clean(s string) string {
	s = flatten(s)
	// Hidden only now: what flatten removes may have split the key.
	if r.holdsKey(s) {
		s = strings.NewReplacer(r.key, "[key]", url.QueryEscape(r.key), "[key]").Replace(s)
	}
	if utf8.RuneCountInString(s) <= maxDetail {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:maxDetail-1]), " ") + "…"
}

// flatten is s with runs of white space as one blank, and without control and
// format characters (among them bidi overrides and those of no width).
func flatten(s string) string {
	s = strings.Map(func(c rune) rune {
		switch {
		case unicode.IsSpace(c):
			return ' '
		case unicode.IsControl(c), unicode.Is(unicode.Cf, c):
			return -1
		}
		return c
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}
