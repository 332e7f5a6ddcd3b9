package lsp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type (
	none   struct{}
	number struct {
		N int `json:"n"`
	}
	text struct {
		Text string `json:"text"`
	}
	explosive struct{}
)

func (explosive) MarshalJSON() ([]byte, error) { panic("in a result") }

// probe registers methods that do one thing each.
type probe struct {
	server  *lsp.Server
	value   atomic.Int64
	entered chan none // receives once for every test/sleep and test/deaf that begins
	wake    chan none // ends every test/deaf when closed
}

func newProbe() *probe {
	return &probe{entered: make(chan none, 1<<12), wake: make(chan none)}
}

func (p *probe) setup(s *lsp.Server) error {
	p.server = s
	get := func(context.Context, *none) (number, error) { return number{int(p.value.Load())}, nil }
	echo := func(_ context.Context, t *text) (text, error) { return *t, nil }
	sleep := func(ctx context.Context, _ *none) (any, error) {
		lsp.Release(ctx)
		select {
		case p.entered <- none{}:
		case <-ctx.Done():
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for name, m := range map[string]lsp.Method{
		"test/set":      lsp.NewNotification(func(n *number) error { p.value.Store(int64(n.N)); return nil }),
		"test/boom":     lsp.NewNotification(func(*none) error { panic("in a notification") }),
		"test/grumble":  lsp.NewNotification(func(*none) error { return errors.New("no") }),
		"test/get":      lsp.NewOrderedCall(get),
		"test/getAsync": lsp.NewCall(get),
		"test/echo":     lsp.NewCall(echo),
		"memory/echo":   lsp.NewCall(echo),
		"memory/get":    lsp.NewOrderedCall(get),
		"memory/noted":  lsp.NewNotification(func(*none) error { return nil }),
		"test/length":   lsp.NewCall(func(_ context.Context, t *text) (number, error) { return number{len(t.Text)}, nil }),
		"test/sleep":    lsp.NewCall(sleep),
		"test/released": lsp.NewOrderedCall(sleep),
		"test/panic":    lsp.NewCall(func(context.Context, *none) (any, error) { panic("in a call") }),
		"test/panicOn":  lsp.NewOrderedCall(func(context.Context, *none) (any, error) { panic("on the read loop") }),
		"test/explode":  lsp.NewCall(func(context.Context, *none) (any, error) { return explosive{}, nil }),
		"test/plain":    lsp.NewCall(func(context.Context, *none) (any, error) { return nil, errors.New("disk on fire") }),
		"test/stray":    lsp.NewCall(func(context.Context, *none) (any, error) { return nil, context.Canceled }),
		"test/fail": lsp.NewCall(func(context.Context, *none) (any, error) {
			f := lsp.Fail(lsp.KindConflict, "the file changed: %w", io.ErrNoProgress)
			f.Refs = []string{"project:a.md"}
			return nil, f
		}),
		"test/lists": lsp.NewCall(func(context.Context, *none) (*lsp.RecallResult, error) { return &lsp.RecallResult{}, nil }),
		"test/deaf": lsp.NewCall(func(context.Context, *none) (any, error) {
			p.entered <- none{}
			<-p.wake
			return nil, nil
		}),
		"test/flood": lsp.NewCall(func(_ context.Context, n *number) (any, error) {
			return text{string(make([]byte, n.N))}, nil
		}),
	} {
		if err := s.Register(name, m); err != nil {
			return err
		}
	}
	return nil
}

// served is a running server.
type served struct {
	*probe
	client *lsptest.Client
	cancel context.CancelFunc
	done   chan none
	code   int
	err    error
}

// serve starts a server on rwc.
func serve(t testing.TB, rwc io.ReadWriteCloser, opt lsp.Options) *served {
	s := &served{probe: newProbe(), done: make(chan none)}
	extra := opt.Setup
	opt.Setup = func(server *lsp.Server) error {
		if err := s.setup(server); err != nil || extra == nil {
			return err
		}
		return extra(server)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() {
		defer close(s.done)
		s.code, s.err = lsp.Serve(ctx, rwc, opt)
	}()
	t.Cleanup(func() {
		cancel()
		<-s.done
	})
	return s
}

// connect starts a server and a client that has not yet sent initialize.
func connect(t testing.TB, opt lsp.Options) *served {
	here, there := net.Pipe()
	s := serve(t, there, opt)
	s.client = lsptest.New(t, here)
	return s
}

// start starts a server and a client that is through with the handshake.
func start(t testing.TB, opt lsp.Options) *served {
	s := connect(t, opt)
	s.handshake(t, `{"processId":null,"capabilities":{"experimental":{"memory":{"version":1}}}}`)
	return s
}

func (s *served) handshake(t testing.TB, params string) {
	t.Helper()
	s.call(t, "initialize", params, nil)
	s.notify(t, "initialized", "{}")
}

// call calls and fails the test on an error.
func (s *served) call(t testing.TB, method string, params, result any) {
	t.Helper()
	if err := s.client.Call(t.Context(), method, params, result); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

func (s *served) notify(t testing.TB, method string, params any) {
	t.Helper()
	if err := s.client.Notify(method, params); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

func (s *served) begin(t testing.TB, method string, params any) lsptest.Pending {
	t.Helper()
	p, err := s.client.Start(method, params)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return p
}

func answer(t testing.TB, p lsptest.Pending) lsptest.Message {
	t.Helper()
	m, err := p.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// alive fails the test unless the server still answers.
func (s *served) alive(t testing.TB) {
	t.Helper()
	var got text
	s.call(t, "test/echo", text{"alive"}, &got)
	if got.Text != "alive" {
		t.Fatalf("echo answered %q", got.Text)
	}
}

// wait returns how the server ended.
func (s *served) wait(t testing.TB) (int, error) {
	t.Helper()
	select {
	case <-s.done:
	case <-t.Context().Done():
		t.Fatal("the server did not end")
	}
	return s.code, s.err
}

func code(err error) int {
	var e *lsptest.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func data[T any](t testing.TB, err error) T {
	t.Helper()
	var (
		e *lsptest.Error
		v T
	)
	if !errors.As(err, &e) {
		t.Fatalf("no error answer: %v", err)
	}
	if err := json.Unmarshal(e.Data, &v); err != nil {
		t.Fatalf("data %q of %v: %v", e.Data, e, err)
	}
	return v
}
