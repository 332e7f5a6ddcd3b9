// Package lsptest is a fake editor: a client of the base protocol that keeps
// everything it was sent, in order, and shares no code with the server.
package lsptest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Patience bounds every wait of a test that has no context of its own. It only
// ends tests that would hang.
const Patience = 60 * time.Second

// ErrClosed is the error of a call whose connection ended before its answer.
var ErrClosed = errors.New("the connection has ended")

// Message is one message from the server.
type Message struct {
	Seq    int             `json:"-"`  // from 0, in order of arrival
	ID     json.RawMessage `json:"id"` // nil when absent, "null" when null
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
}

// Error is the error object of an answer.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%d %s %s", e.Code, e.Message, e.Data) }

// IsAnswer reports whether the message answers a request.
func (m Message) IsAnswer() bool { return m.Method == "" }

// Handler answers a request of the server.
type Handler func(params json.RawMessage) (any, error)

// Client is the fake editor. Its methods may be called from any goroutine.
type Client struct {
	rwc io.ReadWriteCloser

	write sync.Mutex // one frame at a time

	mu       sync.Mutex
	arrived  *sync.Cond
	log      []Message
	answers  map[string][]Message // by id, every answer that came
	handlers map[string]Handler
	nextID   int
	err      error // why reading ended

	ended chan struct{}
}

// New starts a client on rwc and closes it when the test ends.
func New(t testing.TB, rwc io.ReadWriteCloser) *Client {
	c := &Client{
		rwc: rwc, answers: map[string][]Message{}, handlers: map[string]Handler{},
		ended: make(chan struct{}),
	}
	c.arrived = sync.NewCond(&c.mu)
	go c.read()
	t.Cleanup(c.Close)
	return c
}

// Close closes the connection and waits for the reader.
func (c *Client) Close() {
	_ = c.rwc.Close()
	<-c.ended
}

// Handle answers the server's requests for method.
func (c *Client) Handle(method string, h Handler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handlers[method] = h
}

func (c *Client) read() {
	defer close(c.ended)
	r := bufio.NewReader(c.rwc)
	for {
		body, err := ReadFrame(r)
		var m Message
		if err == nil {
			err = json.Unmarshal(body, &m)
		}
		c.mu.Lock()
		if err != nil {
			c.err = err
			c.arrived.Broadcast()
			c.mu.Unlock()
			return
		}
		m.Seq = len(c.log)
		c.log = append(c.log, m)
		if m.IsAnswer() {
			c.answers[string(m.ID)] = append(c.answers[string(m.ID)], m)
		}
		h := c.handlers[m.Method]
		c.arrived.Broadcast()
		c.mu.Unlock()
		if m.ID != nil && !m.IsAnswer() {
			go c.answer(m, h)
		}
	}
}

// answer serves a request of the server; failing to write means that the
// connection has ended, which the reader reports.
func (c *Client) answer(m Message, h Handler) {
	answer := map[string]any{"jsonrpc": "2.0", "id": m.ID}
	if h == nil {
		answer["error"] = Error{Code: -32601, Message: "method not found"}
	} else if result, err := h(m.Params); err != nil {
		answer["error"] = Error{Code: -32803, Message: err.Error()}
	} else {
		answer["result"] = result
	}
	body, err := json.Marshal(answer)
	if err == nil {
		_ = c.Frame(string(body))
	}
}

// ReadFrame reads one frame and returns its body.
func ReadFrame(r *bufio.Reader) ([]byte, error) {
	size := -1
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			break
		}
		if v, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			if size, err = strconv.Atoi(v); err != nil {
				return nil, fmt.Errorf("header %q: %w", line, err)
			}
		}
	}
	if size < 0 {
		return nil, errors.New("frame without Content-Length")
	}
	body := make([]byte, size)
	_, err := io.ReadFull(r, body)
	return body, err
}

// Framed puts a header before body.
func Framed(body string) string {
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

// Raw writes bytes as they are.
func (c *Client) Raw(b []byte) error {
	c.write.Lock()
	defer c.write.Unlock()
	_, err := c.rwc.Write(b)
	return err
}

// Frame writes one frame with the given body, which may be anything.
func (c *Client) Frame(body string) error { return c.Raw([]byte(Framed(body))) }

// Body renders a message. A nil id makes a notification; params that are a
// string are sent as raw JSON, nil ones are left out.
func Body(id any, method string, params any) (string, error) {
	m := struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      any             `json:"id,omitempty"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params,omitempty"`
	}{JSONRPC: "2.0", ID: id, Method: method}
	var err error
	switch p := params.(type) {
	case nil:
	case string:
		m.Params = json.RawMessage(p)
	default:
		m.Params, err = json.Marshal(p)
	}
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err = enc.Encode(m)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// Notify sends a notification.
func (c *Client) Notify(method string, params any) error {
	body, err := Body(nil, method, params)
	if err != nil {
		return err
	}
	return c.Frame(body)
}

// Pending is a request that has been sent.
type Pending struct {
	c  *Client
	id int
}

// ID is the request's id.
func (p Pending) ID() int { return p.id }

// Start sends a request without waiting for its answer.
func (c *Client) Start(method string, params any) (Pending, error) {
	c.mu.Lock()
	c.nextID++
	p := Pending{c: c, id: c.nextID}
	c.mu.Unlock()
	body, err := Body(p.id, method, params)
	if err != nil {
		return p, err
	}
	return p, c.Frame(body)
}

// Wait returns the answer.
func (p Pending) Wait(ctx context.Context) (Message, error) {
	key := strconv.Itoa(p.id)
	return p.c.await(ctx, func() (Message, bool) {
		if got := p.c.answers[key]; len(got) > 0 {
			return got[0], true
		}
		return Message{}, false
	})
}

// Cancel asks for the request to be cancelled.
func (p Pending) Cancel() error {
	return p.c.Notify("$/cancelRequest", map[string]int{"id": p.id})
}

// Call sends a request and decodes the result into result, unless that is nil.
// The error is an [*Error] when the server answered with one.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	p, err := c.Start(method, params)
	if err != nil {
		return err
	}
	m, err := p.Wait(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", method, err)
	case m.Error != nil:
		return m.Error
	case result == nil:
		return nil
	}
	return json.Unmarshal(m.Result, result)
}

// Await returns the first message from place seq on that matches, waiting for
// it if it has not come yet.
func (c *Client) Await(ctx context.Context, seq int, match func(Message) bool) (Message, error) {
	return c.await(ctx, func() (Message, bool) {
		for ; seq < len(c.log); seq++ {
			if match(c.log[seq]) {
				return c.log[seq], true
			}
		}
		return Message{}, false
	})
}

// Method matches notifications and requests by name.
func Method(name string) func(Message) bool {
	return func(m Message) bool { return m.Method == name }
}

// await waits until found holds, the connection has ended, or ctx ends.
func (c *Client) await(ctx context.Context, found func() (Message, bool)) (Message, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.arrived.Broadcast()
	})
	defer stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if m, ok := found(); ok {
			return m, nil
		}
		switch {
		case c.err != nil:
			return Message{}, fmt.Errorf("%w: %w", ErrClosed, c.err)
		case ctx.Err() != nil:
			return Message{}, ctx.Err()
		}
		c.arrived.Wait()
	}
}

// Ended returns a channel that is closed when the server's side has ended.
func (c *Client) Ended() <-chan struct{} { return c.ended }

// Log returns everything that has arrived, in order.
func (c *Client) Log() []Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Message(nil), c.log...)
}

// Answers returns every answer that has come for an id, as JSON renders it.
func (c *Client) Answers(id string) []Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Message(nil), c.answers[id]...)
}
