// Package model is memls's one door to a language model: it asks an
// OpenAI-compatible chat endpoint for a single JSON object and answers either
// an object that the caller's own check accepted, or an error that says why
// there is none.
//
// Endpoints differ in what they understand and they lie about what they did.
// So nothing that an endpoint says is believed without a look: structured
// output is asked for by the strongest means that it accepts, the answer is
// cut out of whatever surrounds it and checked in Go, and failures of every
// shape become one of three kinds with one line of text fit for display.
package model

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sashabaranov/go-openai"
)

const (
	// DefaultTimeout bounds one Complete, waiting for a place included, when
	// Config.Timeout is zero: the ceiling of a refinement in the protocol.
	DefaultTimeout = 30 * time.Second
	// DefaultInFlight is how many requests a Client has at its endpoint at
	// once. Local servers compute one to four at a time; more would only move
	// the queue to where it can neither be seen nor left.
	DefaultInFlight = 4
	// DefaultWaiting is how many callers may wait for a place.
	DefaultWaiting = 64
	// DefaultIdle is how long an answer that has begun may send nothing.
	DefaultIdle = 15 * time.Second
	// MaxBody bounds an answer's body in bytes, after decompression.
	MaxBody = 4 << 20
)

// Request is one question.
type Request struct {
	System string // what the model is to do
	User   string // the data that it is to do it with
	// SchemaName names the schema to the endpoint; letters, digits, '_', '-'.
	SchemaName string
	// Schema is the JSON schema of the answer; nil asks for any JSON object.
	// Endpoints that enforce schemas want every property required and
	// additionalProperties false.
	Schema json.RawMessage
	// MaxTokens bounds the answer; 0 leaves it to the endpoint. Models that
	// think before they answer get room for it on top, and an answer that is cut
	// off all the same is asked for once more, with more of it.
	MaxTokens int
	// Purpose says in errors and logs what the question is for: "select".
	Purpose string
	// Check decides whether the caller can use the object. Its error reaches
	// Error.Detail and, with Retry, the model. Nil accepts any object.
	Check func(json.RawMessage) error
	// Retry asks once more, telling the model what was wrong, when an answer
	// cannot be used. It costs a second completion within the same time.
	Retry bool
	// Timeout takes the place of Config.Timeout; 0 leaves that. Work that nobody
	// waits for may take longer than an answer that is waited for.
	Timeout time.Duration
}

// Usage counts tokens as the endpoint reports them, over all completions that
// a call needed; zero where it reports none. It is valid beside an error.
type Usage struct{ PromptTokens, CompletionTokens int }

func (u *Usage) add(o openai.Usage) {
	u.PromptTokens += max(0, o.PromptTokens)
	u.CompletionTokens += max(0, o.CompletionTokens)
}

// What a client may be made for.
const (
	servesChat       = "chat"
	servesEmbeddings = "embeddings"
)

// Client asks one model at one endpoint. It is safe for concurrent use and
// remembers for its lifetime what the endpoint turned out to understand.
type Client struct {
	name     string
	serves   string // what it is asked for: chat, embeddings
	endpoint string
	keyless  bool
	timeout  time.Duration
	api      openai.ClientConfig
	http     *http.Client
	line     redactor
	gate     *gate
	set      settings

	mu     sync.Mutex
	traits traits // Inv: only grows, see traits.join
}

// settings are what Options change.
type settings struct {
	log       *slog.Logger
	transport http.RoundTripper
	pause     func(context.Context, time.Duration) error
	idle      time.Duration
	inFlight  int
	waiting   int
}

// Option changes a default of New.
type Option func(*settings)

// WithLogger sends a debug line per completion and per thing learned to log.
func WithLogger(log *slog.Logger) Option { return func(s *settings) { s.log = log } }

// WithTransport replaces the HTTP transport, connect time-out included.
func WithTransport(rt http.RoundTripper) Option { return func(s *settings) { s.transport = rt } }

// WithPause replaces the wait between retries. pause returns early, with the
// context's error, when the context ends.
func WithPause(pause func(context.Context, time.Duration) error) Option {
	return func(s *settings) { s.pause = pause }
}

// WithIdle replaces DefaultIdle.
func WithIdle(d time.Duration) Option { return func(s *settings) { s.idle = d } }

// WithConcurrency replaces DefaultInFlight and DefaultWaiting.
func WithConcurrency(inFlight, waiting int) Option {
	return func(s *settings) { s.inFlight, s.waiting = inFlight, waiting }
}

// New makes a client. It sends nothing; an error names the setting at fault.
func New(cfg Config, opts ...Option) (*Client, error) {
	set := settings{
		log: slog.New(slog.DiscardHandler), pause: pause, idle: DefaultIdle,
		inFlight: DefaultInFlight, waiting: DefaultWaiting,
	}
	for _, o := range opts {
		o(&set)
	}
	cfg, base, err := cfg.checked()
	if err != nil {
		return nil, err
	}
	if set.inFlight < 1 || set.waiting < 0 || set.idle <= 0 {
		return nil, errors.New("model: concurrency and idle time must be positive")
	}
	if set.transport == nil {
		set.transport = newTransport(set.inFlight)
	}
	api := openai.DefaultConfig(cfg.Key)
	api.BaseURL = base.String()
	return &Client{
		name:     cfg.Name,
		serves:   servesChat,
		endpoint: base.String(),
		keyless:  cfg.Key == "",
		timeout:  cfg.Timeout,
		api:      api,
		http:     &http.Client{Transport: set.transport, CheckRedirect: checkRedirect},
		line:     redactor{key: cfg.Key},
		gate:     newGate(set.inFlight, set.waiting),
		set:      set,
		traits:   guess(base.Hostname(), cfg.Name),
	}, nil
}

// Name is the model's name as configured.
func (c *Client) Name() string { return c.name }

// Endpoint is the base URL in use; it holds no credentials.
func (c *Client) Endpoint() string { return c.endpoint }

// Close drops idle connections. Calls in flight end by their contexts.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// LogValue is String.
func (c *Client) LogValue() slog.Value { return slog.StringValue(c.String()) }

// String shows the model and endpoint.
func (c *Client) String() string { return c.name + " at " + c.endpoint }

// Format prints String whatever the verb: the fields below a Client hold the
// key, and fmt would walk them.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// Complete asks r and answers an object that r.Check accepted. Its errors are
// *Error, except that a call which the caller cancelled answers ctx.Err()
// wrapped. A deadline of ctx, like Config.Timeout, is an *Error of kind Timeout.
func (c *Client) Complete(ctx context.Context, r Request) (json.RawMessage, Usage, error) {
	if len(r.Schema) > 0 && !json.Valid(r.Schema) {
		return nil, Usage{}, fmt.Errorf("model: %s: the schema is not JSON", r.purpose())
	}
	bounded, cancel := context.WithTimeout(ctx, cmp.Or(r.Timeout, c.timeout))
	defer cancel()

	leave, err := c.gate.enter(bounded)
	if err != nil {
		return nil, Usage{}, c.explain(ctx, bounded, r, err)
	}
	defer leave()

	began := time.Now()
	raw, usage, err := c.converse(bounded, r)
	if err != nil {
		err = c.explain(ctx, bounded, r, err)
	}
	c.set.log.Debug("model call", "purpose", r.purpose(), "model", c.name, "took", time.Since(began),
		"promptTokens", usage.PromptTokens, "completionTokens", usage.CompletionTokens, "err", err)
	return raw, usage, err
}

// converse sends r until an answer can be used: again in another dialect when
// the endpoint names something that it does not understand, once with more room
// when the answer was cut off, and once more with the complaint when r.Retry
// allows.
func (c *Client) converse(ctx context.Context, r Request) (json.RawMessage, Usage, error) {
	var (
		usage    Usage
		previous *unusable
		cut      *unusable // for which more room was tried
	)
	t := c.known().forRequest(r)
	for {
		res, err := c.send(ctx, r, t, previous)
		if err != nil {
			next, ok := t.adapt(err)
			switch {
			case ok && cut != nil && next.tight:
				// Inv: the room that was cut off at is not asked for again.
				return nil, usage, cut
			case !ok:
				return nil, usage, after(cut, err)
			}
			c.set.log.Debug("model endpoint refuses a parameter", "purpose", r.purpose(), "from", t, "to", next)
			t = next
			continue
		}
		usage.add(res.Usage)
		raw, seen, bad := judge(r, t, res)
		// What was tried is kept only now that the endpoint took it: a refusal
		// for another reason must not cost the dialect anything. Of room, only
		// what helped is kept.
		learned := seen
		if bad != nil && bad.short {
			learned.room = roomNone
		}
		c.learn(r, learned)
		if bad == nil {
			return raw, usage, nil
		}
		if next, ok := seen.wider(r); ok && bad.short && cut == nil {
			c.set.log.Debug("model answer cut off", "purpose", r.purpose(), "from", t, "to", next)
			cut, t = bad, next
			continue
		}
		if !r.Retry || previous != nil || bad.final {
			return nil, usage, bad
		}
		previous, t = bad, seen.roomy()
	}
}

// after is err, and that an answer had been cut off before.
func after(cut *unusable, err error) error {
	if cut == nil {
		return err
	}
	return &againError{err}
}

// completion is an answer with what go-openai does not decode of it.
type completion struct {
	openai.ChatCompletionResponse
	thought bool // it holds thinking, in whichever member
}

// send makes one completion in the dialect t.
func (c *Client) send(ctx context.Context, r Request, t traits, previous *unusable) (completion, error) {
	api := c.api
	x := &exchange{http: c.http, extra: t.extra(r), pause: c.set.pause, idle: c.set.idle}
	api.HTTPClient = x
	req := openai.ChatCompletionRequest{
		Model:          c.name,
		Messages:       t.messages(r, previous),
		ResponseFormat: t.responseFormat(r),
	}
	res, err := openai.NewClientWithConfig(api).CreateChatCompletion(ctx, req)
	if err != nil {
		return completion{}, fmt.Errorf("asking the model: %w", err)
	}
	return completion{res, holdsThinking(x.answer)}, nil
}

func (c *Client) known() traits {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.traits
}

func (c *Client) learn(r Request, t traits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(r.Schema) == 0 {
		// Without a schema the ladder's first rung was not tried.
		t.format = c.traits.format
	}
	if next := c.traits.join(t); next != c.traits {
		c.set.log.Debug("model endpoint's dialect learned", "model", c.name, "from", c.traits, "to", next)
		c.traits = next
	}
}

func (r Request) purpose() string {
	if r.Purpose == "" {
		return "completion"
	}
	return r.Purpose
}

// schemaName is SchemaName reduced to what endpoints accept, 64 bytes at most.
func (r Request) schemaName() string {
	name := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
			return c
		}
		return '_'
	}, r.SchemaName)
	if name == "" {
		return "answer"
	}
	return name[:min(len(name), 64)]
}
