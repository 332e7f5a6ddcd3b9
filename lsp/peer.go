package lsp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
)

// maxInFlight bounds the requests of one connection that are being handled.
// An editor has a few dozen; a client with a thousand has lost control of
// itself, and each may hold a frame of up to maxFrame bytes.
const maxInFlight = 1024

const methodCancel = "$/cancelRequest"

// errOnReadLoop is a request to the client that could never be answered.
var errOnReadLoop = errors.New("a request to the client from the read loop: call Release first")

// router decides what a message means. Its methods run on the read loop.
type router interface {
	// call finds the method of a request. Params that differ from raw are
	// owned by the caller; otherwise they borrow the frame.
	call(method string, raw []byte) (m *Method, params []byte, err error)
	// notification finds a notification's handler; nil means that there is none.
	notification(method string) func(params []byte) error
}

// peer is the seam over jsonrpc2: nothing else sees its requests or contexts.
//
// A jsonrpc2 request and its context are pooled and die when the handler
// returns, and a context derived from one crashes the process later. So:
//
// Inv: handlers' contexts derive from base, never from a request's context.
// Inv: a call is in the cancellation table before the next message is read.
// Inv: handle returns nil for every notification; an error would close the
// connection.
// Inv: running counts handlers, returning their answers that have not yet
// entered the outbox; both zero means that every request has been answered.
type peer struct {
	conn    jsonrpc2.Conn
	stream  *stream
	out     *outbox
	router  router
	log     *slog.Logger
	base    context.Context
	stop    context.CancelFunc
	release func() // lets the read loop see its end

	mu        sync.Mutex
	settled   *sync.Cond // signalled when running or returning falls, or on failure
	calls     map[jsonrpc2.ID][]*call
	running   int
	returning int
	failure   error                   // why the client is lost
	after     map[jsonrpc2.ID][]*call // returning calls with something to do afterwards
	sealed    bool                    // the calls in the table have been answered for
	shut      chan struct{}           // closed when the outbox takes no more answers
}

// call is one request being handled. It is the context of its handler.
type call struct {
	context.Context
	cancel   context.CancelCauseFunc
	peer     *peer
	id       jsonrpc2.ID
	method   string
	request  context.Context // jsonrpc2's; for Async alone, until released
	released atomic.Bool
	after    []func() // guarded by peer.mu
}

type callKey struct{}

// Value implements [context.Context].
func (c *call) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// Release lets the connection read its next message while the handler of an
// ordered method goes on. Before it, everything the handler does is ordered
// before every later message; it must be called from the handler's own
// goroutine, and the raw params are no longer valid afterwards (decoded ones
// are). More than one call, and a call in a handler that is not ordered, do
// nothing.
func Release(ctx context.Context) {
	if c, ok := ctx.Value(callKey{}).(*call); ok && !c.released.Swap(true) {
		jsonrpc2.Async(c.request)
		c.request = nil
	}
}

// AfterAnswer has f called once when the answer to ctx's request has entered the
// outbox: what f sends, and what waits for f, comes after the answer. It must be
// called before the handler returns; f must be quick. When the connection is
// lost first, f may never be called.
func AfterAnswer(ctx context.Context, f func()) {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return
	}
	c.peer.mu.Lock()
	defer c.peer.mu.Unlock()
	c.after = append(c.after, f)
}

// newPeer wires a connection over rwc; start begins to read it. ended is
// called, more than once perhaps, when it should be closed: with io.EOF at the
// end of the input, else with the fault.
func newPeer(rwc io.ReadWriteCloser, r router, opt Options, ended func(error)) *peer {
	base, stop := context.WithCancel(context.Background())
	released := make(chan struct{})
	p := &peer{
		router: r, log: opt.Log, base: base, stop: stop,
		release: sync.OnceFunc(func() { close(released) }),
		calls:   map[jsonrpc2.ID][]*call{},
		after:   map[jsonrpc2.ID][]*call{},
		shut:    make(chan struct{}),
	}
	p.settled = sync.NewCond(&p.mu)
	p.out = newOutbox(rwc, opt.OutboxBytes, opt.WriteTimeout, func(err error) {
		p.lose(err)
		ended(err)
	})
	p.stream = &stream{
		in: newFrameReader(rwc), out: p.out, conn: rwc, log: opt.Log,
		ended: ended, answered: p.answered,
		released: released, closed: make(chan struct{}),
	}
	p.conn = jsonrpc2.NewConn(p.stream, jsonrpc2.WithCodec(codec{}))
	return p
}

func (p *peer) start() {
	go p.out.run()
	p.conn.Go(p.base, p.handle)
}

// handle is the [jsonrpc2.Handler]; it starts on the read loop.
func (p *peer) handle(rctx context.Context, req *jsonrpc2.Request) (any, error) {
	if !req.IsCall() {
		p.notification(req)
		return nil, nil
	}
	c := p.begin(rctx, req.ID())
	result, err := p.serve(c, req)
	if err == nil {
		return result, nil
	}
	return nil, err
}

// begin registers a call. It runs on the read loop, so that a cancellation
// right behind the request finds it.
func (p *peer) begin(rctx context.Context, id jsonrpc2.ID) *call {
	c := &call{peer: p, id: id, request: rctx}
	c.Context, c.cancel = context.WithCancelCause(p.base)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[id] = append(p.calls[id], c)
	p.running++
	return c
}

// serve handles a call and returns its encoded result, or a coded error.
func (p *peer) serve(c *call, req *jsonrpc2.Request) (result jsonrpc2.RawMessage, err error) {
	defer p.end(c)
	defer func() {
		if r := recover(); r != nil {
			p.log.Error("panic in a request", "method", c.method, "panic", r, "stack", string(debug.Stack()))
			result, err = nil, jsonrpc2.Errorf(codeInternalError, "internal error in %s", c.method)
		}
	}()
	value, err := p.dispatch(c, req)
	if err == nil {
		result, err = encode(value)
	}
	if err != nil {
		coded := wireError(c, c.method, err)
		p.log.Debug("request failed", "method", c.method, "code", int(coded.Code), "err", err)
		return nil, coded
	}
	return result, nil
}

func (p *peer) dispatch(c *call, req *jsonrpc2.Request) (any, error) {
	m, params, err := p.router.call(req.Method(), req.Params())
	if err != nil {
		c.method = short(req.Method())
		return nil, err
	}
	c.method = m.name
	if p.load() > maxInFlight && m.name != methodShutdown {
		return nil, Fail(KindTooLarge, "%d requests are being handled", maxInFlight)
	}
	if !m.Ordered {
		borrowed := len(params) > 0 && len(req.Params()) > 0 && &params[0] == &req.Params()[0]
		Release(c)
		if borrowed {
			params = req.Params() // Async has made it our own
		}
	}
	return m.call(c, params)
}

func (p *peer) load() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}

// end takes a call out of the table; its answer is about to be written. After
// seal it has been answered already, and waits until nothing more is written.
func (p *peer) end(c *call) {
	if p.settle(c) {
		return
	}
	<-p.shut
}

func (p *peer) settle(c *call) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.cancel(nil)
	if p.sealed {
		return false
	}
	left := slices.DeleteFunc(p.calls[c.id], func(other *call) bool { return other == c })
	if len(left) == 0 {
		delete(p.calls, c.id)
	} else {
		p.calls[c.id] = left
	}
	p.running--
	p.returning++
	if len(c.after) > 0 {
		p.after[c.id] = append(p.after[c.id], c)
	}
	return true
}

// answered notes that an answer, with this body, has entered the outbox.
func (p *peer) answered(body []byte) {
	p.mu.Lock()
	p.returning--
	after := p.takeAfter(body)
	p.settled.Broadcast()
	p.mu.Unlock()
	for _, f := range after {
		f()
	}
}

// takeAfter returns what is to be done after an answer. Of calls that share an
// id, which only a confused client has, the first is taken. Inv: mu is held.
func (p *peer) takeAfter(body []byte) []func() {
	if len(p.after) == 0 {
		return nil
	}
	id, _ := parseID(answerID(body))
	calls := p.after[id]
	switch len(calls) {
	case 0:
		return nil
	case 1:
		delete(p.after, id)
	default:
		p.after[id] = calls[1:]
	}
	return calls[0].after
}

// notification handles a notification on the read loop.
func (p *peer) notification(req *jsonrpc2.Request) {
	defer func() {
		if r := recover(); r != nil {
			p.log.Error("panic in a notification", "method", short(req.Method()), "panic", r, "stack", string(debug.Stack()))
		}
	}()
	if req.Method() == methodCancel {
		p.cancelRequest(req.Params())
		return
	}
	handler := p.router.notification(req.Method())
	if handler == nil {
		p.log.Debug("notification ignored", "method", short(req.Method()))
		return
	}
	if err := handler(req.Params()); err != nil {
		p.log.Warn("notification failed", "method", short(req.Method()), "err", err)
	}
}

// cancelRequest serves $/cancelRequest. An id that names nothing is ignored:
// the request may have been answered meanwhile.
func (p *peer) cancelRequest(params []byte) {
	var v struct {
		ID jsontext.Value `json:"id"`
	}
	if err := decodeParams(params, &v); err != nil {
		p.log.Debug("malformed cancellation", "err", err)
		return
	}
	id, ok := parseID(v.ID)
	if !ok {
		p.log.Debug("cancellation without an id")
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.calls[id] {
		c.cancel(ErrCancelled)
	}
}

// cancelCalls ends every request's context but that of except.
func (p *peer) cancelCalls(cause error, except *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, calls := range p.calls {
		for _, c := range calls {
			if c != except {
				c.cancel(cause)
			}
		}
	}
}

// waitAnswered waits until at most but requests are unanswered, the client is
// lost, or ctx ends.
func (p *peer) waitAnswered(ctx context.Context, but int) {
	wake := context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.settled.Broadcast()
	})
	defer wake()
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.running+p.returning > but && p.failure == nil && ctx.Err() == nil {
		p.settled.Wait()
	}
}

// seal answers, in the name of handlers that do not return, what is still
// unanswered, and takes no more frames. ctx bounds the wait for answers that
// are being written at this moment.
func (p *peer) seal(ctx context.Context) {
	var ids []jsonrpc2.ID
	p.mu.Lock()
	p.sealed = true
	for id, calls := range p.calls {
		for _, c := range calls {
			p.log.Error("a handler did not end", "method", c.method)
			ids = append(ids, id)
		}
	}
	stuck := p.running
	p.mu.Unlock()
	p.waitAnswered(ctx, stuck)
	for _, id := range ids {
		err := p.out.push(frame(128, func(dst []byte) []byte {
			return jsonrpc2.AppendResponse(dst, id, nil, jsonrpc2.Errorf(codeRequestCancelled, "%v", ErrShutdown))
		}))
		if err != nil {
			p.log.Debug("answer not sent", "err", err)
		}
	}
	p.out.close()
	close(p.shut)
}

// lose notes that the client is gone.
func (p *peer) lose(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failure == nil {
		p.failure = err
	}
	p.settled.Broadcast()
}

// lost reports why the client is gone, or nil.
func (p *peer) lost() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failure
}

// close ends the read loop, the writer and every context of the connection,
// and waits for them until ctx ends: a read of a terminal or of a pipe cannot
// be interrupted on every system, and ends with the process then.
func (p *peer) close(ctx context.Context) {
	p.stop()
	p.out.close()
	_ = p.stream.Close() // never fails
	p.release()
	for _, end := range []<-chan struct{}{p.conn.Done(), p.out.done, p.stream.closed} {
		select {
		case <-end:
		case <-ctx.Done():
			p.log.Debug("the connection's goroutines end with the process")
			return
		}
	}
}

// notify sends a notification that is never merged.
func (p *peer) notify(method string, v any) error {
	f, err := notificationFrame(method, v)
	if err != nil {
		return err
	}
	return p.out.push(f)
}

func notificationFrame(method string, v any) ([]byte, error) {
	params, err := encode(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return frame(len(params)+len(method)+64, func(dst []byte) []byte {
		return jsonrpc2.AppendNotification(dst, method, params)
	}), nil
}

// request asks the client and waits for its answer. When ctx ends first, the
// client is told to cancel.
func (p *peer) request(ctx context.Context, method string, params, result any) error {
	if c, ok := ctx.Value(callKey{}).(*call); ok && !c.released.Load() {
		return fmt.Errorf("%s: %w", method, errOnReadLoop)
	}
	id, err := p.conn.Call(ctx, method, params, result)
	if err != nil && ctx.Err() != nil {
		n, _ := id.Number()
		if nerr := p.notify(methodCancel, struct {
			ID int64 `json:"id"`
		}{n}); nerr != nil {
			p.log.Debug("cancellation not sent", "method", method, "err", nerr)
		}
	}
	var refused *jsonrpc2.Error
	switch {
	case errors.As(err, &refused):
		return &ClientError{Method: method, Code: int(refused.Code), Message: refused.Message}
	case err != nil:
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}
