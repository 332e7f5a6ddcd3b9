package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetries is how often a request is repeated that found no answer.
const maxRetries = 2

// backoffBase doubles per retry and is spread by jitter between half and one
// and a half of it.
const backoffBase = 300 * time.Millisecond

var (
	errStalled  = errors.New("the answer stalled")
	errTooLarge = errors.New("the answer is too large")
	errNotJSON  = errors.New("the endpoint does not answer JSON")
)

// httpError is an answer that is a failure. go-openai's own errors lose the
// body, the text or the status depending on the failure's shape, so that
// failures leave the exchange in this one form before it sees them.
type httpError struct {
	status int
	body   []byte
	wait   time.Duration // Retry-After; 0: none given
}

func (e *httpError) Error() string { return fmt.Sprintf("HTTP status %d", e.status) }

// bodyError is an answer that broke off.
type bodyError struct{ err error }

func (e *bodyError) Error() string { return "reading the answer: " + e.err.Error() }

func (e *bodyError) Unwrap() error { return e.err }

// exchange is one request of go-openai with its retries: an openai.HTTPDoer.
// It completes the body by the members that the library cannot express, and
// hands on only whole, bounded bodies of successful answers.
type exchange struct {
	http  *http.Client
	extra []byte                   // JSON object whose members are added to the body
	trim  func(body []byte) []byte // takes out what the library need not have sent; nil: nothing
	pause func(context.Context, time.Duration) error
	idle  time.Duration

	answer []byte // the body that was handed on
}

// Do implements openai.HTTPDoer.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	if x.trim != nil {
		body = x.trim(body)
	}
	body = splice(body, x.extra)
	for attempt := 0; ; attempt++ {
		res, err := x.once(req, body)
		if err == nil {
			return res, nil
		}
		wait, ok := retryWait(err, attempt)
		if deadline, bounded := ctx.Deadline(); !ok || bounded && time.Until(deadline) <= wait {
			return nil, err
		}
		if e := x.pause(ctx, wait); e != nil {
			return nil, fmt.Errorf("waiting to try again after %w: %w", err, e)
		}
	}
}

// once sends the request and reads its whole answer.
func (x *exchange) once(req *http.Request, body []byte) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	defer cancel(nil)
	r := req.Clone(ctx)
	r.ContentLength = int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()

	res, err := x.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("sending: %w", err)
	}
	defer res.Body.Close()

	// Cancelling is what ends a Read that waits for a silent server.
	watch := time.AfterFunc(x.idle, func() { cancel(errStalled) })
	defer watch.Stop()
	var answer bytes.Buffer
	_, err = io.Copy(&answer, io.LimitReader(readFunc(func(p []byte) (int, error) {
		n, err := res.Body.Read(p)
		if n > 0 {
			watch.Reset(x.idle)
		}
		return n, err
	}), MaxBody+1))
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errStalled):
		return nil, errStalled
	case err != nil:
		return nil, &bodyError{err}
	case answer.Len() > MaxBody:
		return nil, errTooLarge
	}
	if err := failureOf(res, answer.Bytes()); err != nil {
		return nil, err
	}
	x.answer = answer.Bytes()
	res.Body = io.NopCloser(bytes.NewReader(x.answer))
	return res, nil
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// failureOf answers the failure that a response is, whatever its status says.
func failureOf(res *http.Response, body []byte) error {
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return &httpError{status: res.StatusCode, body: body, wait: retryAfter(res.Header, time.Now())}
	}
	text := bytes.TrimSpace(body)
	if !bytes.HasPrefix(text, []byte("{")) {
		return fmt.Errorf("%w but %s", errNotJSON, describe(text))
	}
	var envelope struct {
		Object  json.RawMessage   `json:"object"`
		Choices []json.RawMessage `json:"choices"`
		Error   json.RawMessage   `json:"error"`
	}
	// A body that does not decode is left to the decoder proper, which fails
	// on it with a better message.
	decoded := json.Unmarshal(text, &envelope) == nil
	failed := len(envelope.Error) > 0 && string(envelope.Error) != "null" || string(envelope.Object) == `"error"`
	if decoded && failed && len(envelope.Choices) == 0 {
		return &httpError{status: res.StatusCode, body: body}
	}
	return nil
}

// retryWait says whether a failed attempt may be repeated, and after what.
// Inv: never once an answer's body was seen to begin, for then the model has
// worked and would work again.
func retryWait(err error, attempt int) (time.Duration, bool) {
	if attempt >= maxRetries {
		return 0, false
	}
	var failed *httpError
	switch {
	case errors.As(err, &failed):
		if !failed.passing() {
			return 0, false
		}
		if failed.wait > 0 {
			return failed.wait, true
		}
	case !dropped(err):
		return 0, false
	}
	base := backoffBase << attempt
	return base/2 + rand.N(base), true
}

// passing says whether the failure may be gone in a moment.
func (e *httpError) passing() bool {
	switch e.status {
	case http.StatusTooManyRequests:
		// Money does not come back within seconds.
		return !containsAny(complaint(e.body), "insufficient_quota", "billing")
	case http.StatusInternalServerError:
		return !containsAny(complaint(e.body), formatWords...)
	case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout, statusOverloaded:
		return true
	}
	return false
}

// statusOverloaded is what some vendors answer instead of 503.
const statusOverloaded = 529

// dropped says whether the server hung up without an answer. A refused
// connection is not among them: nothing listens there, and a retry would only
// delay the fallback. The operation is looked at rather than the error number,
// which every system names differently.
func dropped(err error) bool {
	var broken *bodyError
	if errors.As(err, &broken) {
		return false
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return (op.Op == "read" || op.Op == "write") && !op.Timeout()
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// retryAfter reads Retry-After, which is seconds or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		// A day is longer than any deadline here, and keeps the product in range.
		return time.Duration(min(s, 86400) * float64(time.Second))
	}
	if t, err := http.ParseTime(v); err == nil && t.After(now) {
		return t.Sub(now)
	}
	return 0
}

// pause waits for d or for the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// splice puts the members of the object extra at the head of the object body.
func splice(body, extra []byte) []byte {
	if len(extra) <= len("{}") || len(body) <= len("{}") {
		return body
	}
	out := make([]byte, 0, len(body)+len(extra))
	out = append(out, extra[:len(extra)-1]...)
	out = append(out, ',')
	return append(out, body[1:]...)
}
