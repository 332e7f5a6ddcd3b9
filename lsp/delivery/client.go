package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"sync"

	"go.lsp.dev/jsonrpc2"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/recall/model/modeltest"
)

// client is a minimal protocol client.
type client struct {
	conn jsonrpc2.Conn

	mu       sync.Mutex
	watchers map[string]func(method string, r *lsp.RecallResult)
}

func newClient(ctx context.Context, rwc net.Conn) *client {
	c := &client{conn: jsonrpc2.NewConn(telling{jsonrpc2.NewStream(rwc)}), watchers: map[string]func(string, *lsp.RecallResult){}}
	c.conn.Go(ctx, c.handle)
	return c
}

// handle takes what the server sends. Inv: it runs on the read loop, so that
// notifications are seen in order and before the response that follows them.
func (c *client) handle(_ context.Context, req *jsonrpc2.Request) (any, error) {
	if req.IsCall() {
		return nil, jsonrpc2.Errorf(jsonrpc2.MethodNotFound, "this client answers nothing")
	}
	method := req.Method()
	if method != lsp.NotifyRecallFast && method != lsp.NotifyRecallRefined {
		return nil, nil
	}
	var r lsp.RecallResult
	if err := json.Unmarshal(req.Params(), &r); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.watchers[r.Session]; w != nil {
		w(method, &r)
	}
	return nil, nil
}

// watch calls f for the recall results of a session, until the returned stop.
func (c *client) watch(session string, f func(string, *lsp.RecallResult)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watchers[session] = f
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watchers, session)
	}
}

func (c *client) call(ctx context.Context, method string, params, result any) error {
	wait, err := c.start(ctx, method, params)
	if err != nil {
		return err
	}
	return wait(result)
}

// start sends a request; what it returns waits for the answer. The request has
// been written when start returns, so that what is sent next comes behind it.
func (c *client) start(ctx context.Context, method string, params any) (wait func(result any) error, err error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("encode the params of %s: %w", method, err)
	}
	written := make(chan struct{})
	answered := make(chan error, 1)
	var answer jsonrpc2.RawMessage
	go func() {
		_, err := c.conn.Call(context.WithValue(ctx, writtenKey{}, written), method, jsonrpc2.RawMessage(raw), &answer)
		answered <- err
	}()
	select {
	case <-written:
	case err := <-answered: // it could not be written, or was answered by now
		answered <- err
	}
	return func(result any) error {
		if err := <-answered; err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(answer, result); err != nil {
			return fmt.Errorf("decode the result of %s: %w", method, err)
		}
		return nil
	}, nil
}

// writtenKey is the context key of a channel that is closed when the message that
// the context was made for has been written.
type writtenKey struct{}

// telling is a stream that says when a message has been written.
type telling struct{ jsonrpc2.Stream }

// Write implements [jsonrpc2.Stream].
func (t telling) Write(ctx context.Context, msg jsonrpc2.Message) (int64, error) {
	n, err := t.Stream.Write(ctx, msg)
	if written, ok := ctx.Value(writtenKey{}).(chan struct{}); ok {
		close(written)
	}
	return n, err
}

func (c *client) notify(ctx context.Context, method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encode the params of %s: %w", method, err)
	}
	return c.conn.Notify(ctx, method, jsonrpc2.RawMessage(raw))
}

func (c *client) close() {
	_ = c.conn.Close() // the server notices the end of its input and leaves
	<-c.conn.Done()
}

// requestSection finds the user's words in a selector's question.
var requestSection = regexp.MustCompile(`(?s)^<request-[0-9a-f]+>\n(.*?)\n</request-`)

func requestOf(chat modeltest.Chat) string {
	if m := requestSection.FindStringSubmatch(chat.Text("user")); m != nil {
		return m[1]
	}
	return ""
}
