package lsp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
)

// mixedCall is one kind of call of the mixed test, with the code of its answer.
type mixedCall struct {
	method, params string
	cancel         bool
	code           int
}

var mixedCalls = []mixedCall{
	{method: "test/get"},
	{method: "test/getAsync"},
	{method: "test/echo", params: `{"text":"x"}`},
	{method: "workspace/executeCommand", params: `{"command":"memory.echo","arguments":[{"text":"x"}]}`},
	{method: "test/panic", code: -32603},
	{method: "test/panicOn", code: -32603},
	{method: "test/fail", code: -32803},
	{method: "test/nosuch", code: -32601},
	{method: "test/echo", params: `{"text":1}`, code: -32602},
	{method: "initialize", params: `{}`, code: -32600},
	{method: "test/sleep", cancel: true, code: -32800},
	{method: "test/released", cancel: true, code: -32800},
}

var mixedNotes = [][2]string{
	{"test/set", `{"n":1}`}, {"test/boom", `{}`}, {"test/grumble", `{}`}, {"$/weird", `[]`},
	{"$/cancelRequest", `{"id":null}`}, {"$/cancelRequest", `{"id":99999999999}`},
	{"$/cancelRequest", `[]`}, {"test/set", `{"n":"x"}`},
}

func TestMixedCallsEachGetOneAnswer(t *testing.T) {
	const workers, each = 8, 3750
	s := start(t, lsp.Options{})
	before := len(s.client.Log())
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(w)))
			for range each {
				if err := mixedStep(t.Context(), s.client, rnd); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	s.alive(t)
	answers := map[string]int{}
	for _, m := range s.client.Log()[before:] {
		answers[string(m.ID)]++
	}
	if len(answers) != workers*each+1 {
		t.Errorf("%d requests were answered, want %d", len(answers), workers*each+1)
	}
	for id, n := range answers {
		if n != 1 {
			t.Errorf("request %s got %d answers", id, n)
		}
	}
}

func mixedStep(ctx context.Context, c *lsptest.Client, rnd *rand.Rand) error {
	if rnd.IntN(3) == 0 {
		n := mixedNotes[rnd.IntN(len(mixedNotes))]
		if err := c.Notify(n[0], n[1]); err != nil {
			return err
		}
	}
	kind := mixedCalls[rnd.IntN(len(mixedCalls))]
	p, err := c.Start(kind.method, kind.params)
	if err != nil {
		return err
	}
	if kind.cancel {
		if err := p.Cancel(); err != nil {
			return err
		}
	}
	m, err := p.Wait(ctx)
	if err != nil {
		return err
	}
	got := 0
	if m.Error != nil {
		got = m.Error.Code
	}
	if got != kind.code {
		return fmt.Errorf("%s %s: code %d, want %d", kind.method, kind.params, got, kind.code)
	}
	return nil
}

// A cancellation that arrives in the same read as its request finds it.
func TestGluedCancelIsNeverLost(t *testing.T) {
	for _, method := range []string{"test/sleep", "test/released"} {
		t.Run(method, func(t *testing.T) {
			s := start(t, lsp.Options{})
			for i := range 2000 {
				id := 1000 + i
				glued := lsptest.Framed(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q}`, id, method)) +
					lsptest.Framed(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%d}}`, id))
				if err := s.client.Raw([]byte(glued)); err != nil {
					t.Fatal(err)
				}
				m, err := s.client.Await(t.Context(), 0, func(m lsptest.Message) bool { return string(m.ID) == strconv.Itoa(id) })
				if err != nil {
					t.Fatalf("round %d: %v", i, err)
				}
				if m.Error == nil || m.Error.Code != -32800 {
					t.Fatalf("round %d: answer %s %v", i, m.Result, m.Error)
				}
			}
		})
	}
}

// PROTO-02: a cancelled request gets exactly one answer, -32800.
func TestPROTO_02_CancelIsAnsweredOnce(t *testing.T) {
	s := start(t, lsp.Options{})
	for _, id := range []string{`7`, `"seven"`} {
		if err := s.client.Frame(`{"jsonrpc":"2.0","id":` + id + `,"method":"test/sleep","params":{}}`); err != nil {
			t.Fatal(err)
		}
		<-s.entered
		for range 3 { // a second and a late cancellation do nothing
			s.notify(t, "$/cancelRequest", `{"id":`+id+`}`)
		}
		m, err := s.client.Await(t.Context(), 0, func(m lsptest.Message) bool { return string(m.ID) == id })
		if err != nil || m.Error == nil || m.Error.Code != -32800 {
			t.Fatalf("id %s: %+v %v", id, m, err)
		}
		s.notify(t, "$/cancelRequest", `{"id":`+id+`}`)
		s.alive(t)
		if n := len(s.client.Answers(id)); n != 1 {
			t.Errorf("id %s got %d answers", id, n)
		}
	}
}

func TestCallsSeeEarlierNotifications(t *testing.T) {
	s := start(t, lsp.Options{})
	for i := range 2000 {
		s.notify(t, "test/set", number{i})
		method := []string{"test/get", "test/getAsync"}[i%2]
		pending := s.begin(t, method, nil)
		if i%2 == 0 { // an ordered call sees nothing of what comes later
			s.notify(t, "test/set", number{-1})
		}
		m := answer(t, pending)
		if want := fmt.Sprintf(`{"n":%d}`, i); string(m.Result) != want {
			t.Fatalf("%s: %s, want %s", method, m.Result, want)
		}
	}
}

func TestReleasedCallLetsLaterMessagesPass(t *testing.T) {
	s := start(t, lsp.Options{})
	p := s.begin(t, "test/released", nil)
	<-s.entered
	s.alive(t)
	if err := p.Cancel(); err != nil {
		t.Fatal(err)
	}
	if m := answer(t, p); m.Error == nil || m.Error.Code != -32800 {
		t.Fatalf("answer %+v", m)
	}
}

func TestPanicsAreContained(t *testing.T) {
	s := start(t, lsp.Options{Setup: func(s *lsp.Server) error {
		return s.Register("test/goPanics", lsp.NewCall(func(context.Context, *none) (any, error) {
			s.Go(func(context.Context) { panic("in background work") })
			return nil, nil
		}))
	}})
	for _, method := range []string{"test/panic", "test/panicOn", "test/explode"} {
		err := s.client.Call(t.Context(), method, nil, nil)
		if code(err) != -32603 || !strings.Contains(err.Error(), method) {
			t.Errorf("%s: %v", method, err)
		}
		if strings.Contains(err.Error(), "in a") || strings.Contains(err.Error(), "goroutine") {
			t.Errorf("%s: the answer shows the inside: %v", method, err)
		}
		s.alive(t)
	}
	s.notify(t, "test/boom", nil)
	s.call(t, "test/goPanics", nil, nil)
	s.alive(t)
}

func TestErrorCodes(t *testing.T) {
	s := start(t, lsp.Options{})
	for _, tc := range []struct {
		method, params string
		code           int
		message        string
		data           string
	}{
		{"test/nosuch", `{}`, -32601, "test/nosuch", ``},
		{"textDocument/hover", `{}`, -32601, "textDocument/hover", ``},
		{"test/set", `{}`, -32601, "test/set", ``}, // a notification is no request
		{strings.Repeat("long", 1000), `{}`, -32601, "…", ``},
		{"test/echo", `{"text":5}`, -32602, "test/echo: text: expected a string, got a number", `{"field":"text"}`},
		{"test/echo", `"text"`, -32602, "test/echo: params: expected an object, got a string", `{"field":"params"}`},
		{"test/echo", `[1]`, -32602, "test/echo: params", `{"field":"params"}`},
		{"test/flood", `{"n":1.5}`, -32602, "expected a whole number, got 1.5", `{"field":"n"}`},
		{"test/flood", `{"n":99999999999999999999}`, -32602, "n", `{"field":"n"}`},
		{"test/fail", ``, -32803, "test/fail: conflict", `{"kind":"conflict","detail":"the file changed: multiple Read calls return no data or error","refs":["project:a.md"]}`},
		{"test/plain", ``, -32803, "disk on fire", `{"kind":"io","detail":"disk on fire"}`},
		{"test/stray", ``, -32803, "test/stray", `{"kind":"io","detail":"context canceled"}`},
		{"test/panic", ``, -32603, "internal error in test/panic", ``},
		{"initialize", `{}`, -32600, "initialize", ``},
		{"workspace/executeCommand", `{"command":"memory.nosuch"}`, -32602, "memory.nosuch", `{"field":"command"}`},
		{"workspace/executeCommand", `{"command":"memory.noted"}`, -32602, "memory.noted", `{"field":"command"}`},
		{"workspace/executeCommand", `{"command":"other"}`, -32602, "other", `{"field":"command"}`},
		{"workspace/executeCommand", `{"command":"memory.echo","arguments":[{},{}]}`, -32602, "memory.echo", `{"field":"arguments"}`},
		{"workspace/executeCommand", `{"command":"memory.echo","arguments":[{"text":1}]}`, -32602, "memory/echo: text", `{"field":"text"}`},
	} {
		err := s.client.Call(t.Context(), tc.method, tc.params, nil)
		var e *lsptest.Error
		if !errors.As(err, &e) {
			t.Errorf("%s %s: %v", tc.method, tc.params, err)
			continue
		}
		if e.Code != tc.code || !strings.Contains(e.Message, tc.message) || string(e.Data) != tc.data {
			t.Errorf("%s %s:\n got %d %q %s\nwant %d %q %s", tc.method, tc.params, e.Code, e.Message, e.Data, tc.code, tc.message, tc.data)
		}
	}
	s.alive(t)
}

// An empty table of a language with one table type arrives as [].
func TestEmptyTablesAreObjects(t *testing.T) {
	s := start(t, lsp.Options{})
	for _, params := range []string{``, `null`, `[]`, `[ ]`, `{}`} {
		var got text
		s.call(t, "test/echo", params, &got)
		command := `{"command":"memory.get"}`
		if params != "" {
			command = `{"command":"memory.get","arguments":[` + params + `]}`
		}
		s.call(t, "workspace/executeCommand", command, &got)
	}
	s.notify(t, "test/set", `[]`)
	s.alive(t)
}

// Some libraries send [null] when their caller passes no params.
func TestNullInAnArrayIsNoParams(t *testing.T) {
	s := start(t, lsp.Options{})
	for _, params := range []string{`[null]`, ` [ null ] `} {
		var got text
		s.call(t, "test/echo", params, &got)
		err := s.client.Call(t.Context(), "test/echo", `[null,null]`, nil)
		var e *lsptest.Error
		if !errors.As(err, &e) || e.Code != -32602 {
			t.Errorf("[null,null]: %v", err)
		}
	}
	s.call(t, "shutdown", `[null]`, nil)
}

func TestEmptyListsAreArrays(t *testing.T) {
	s := start(t, lsp.Options{})
	m := answer(t, s.begin(t, "test/lists", nil))
	for _, want := range []string{`"documents":[]`, `"alreadyDelivered":[]`, `"degraded":[]`} {
		if !strings.Contains(string(m.Result), want) {
			t.Errorf("%s is missing in %s", want, m.Result)
		}
	}
}

func TestExecuteCommandKeepsTheOrderOfItsMethod(t *testing.T) {
	s := start(t, lsp.Options{})
	for i := range 200 {
		s.notify(t, "test/set", number{i})
		p := s.begin(t, "workspace/executeCommand", `{"command":"memory.get","arguments":[{}]}`)
		s.notify(t, "test/set", number{-1})
		if m := answer(t, p); string(m.Result) != fmt.Sprintf(`{"n":%d}`, i) {
			t.Fatalf("round %d: %s", i, m.Result)
		}
	}
}

func TestTooManyRequestsAreRefusedAndTheOthersLive(t *testing.T) {
	const bound = 1024
	s := start(t, lsp.Options{})
	var pending []lsptest.Pending
	for range bound {
		pending = append(pending, s.begin(t, "test/sleep", nil))
		<-s.entered
	}
	err := s.client.Call(t.Context(), "test/getAsync", nil, nil)
	if code(err) != -32803 || data[lsp.FailureData](t, err).Kind != lsp.KindTooLarge {
		t.Errorf("request over the bound: %v", err)
	}
	if err := pending[0].Cancel(); err != nil {
		t.Fatal(err)
	}
	answer(t, pending[0])
	s.alive(t)
	pending[0] = s.begin(t, "test/sleep", nil)
	<-s.entered
	s.call(t, "shutdown", nil, nil) // never refused
	for _, p := range pending {
		if m := answer(t, p); m.Error == nil || m.Error.Code != -32800 {
			t.Fatalf("answer %+v", m)
		}
	}
}

func TestRepeatedIDsAreBothAnswered(t *testing.T) {
	s := start(t, lsp.Options{})
	for range 2 {
		if err := s.client.Frame(`{"jsonrpc":"2.0","id":5000,"method":"test/sleep"}`); err != nil {
			t.Fatal(err)
		}
		<-s.entered
	}
	s.notify(t, "$/cancelRequest", `{"id":5000}`)
	seen := 0
	for seq := 0; seen < 2; seen++ {
		m, err := s.client.Await(t.Context(), seq, func(m lsptest.Message) bool { return string(m.ID) == "5000" })
		if err != nil {
			t.Fatal(err)
		}
		seq = m.Seq + 1
	}
}

func TestServerAsksTheClient(t *testing.T) {
	ask := make(chan error, 1)
	s := start(t, lsp.Options{Setup: func(s *lsp.Server) error {
		secret := func(ctx context.Context, t *text) (text, error) {
			value, err := s.Secret(ctx, t.Text)
			ask <- err
			return text{value}, err
		}
		return errors.Join(
			s.Register("test/secret", lsp.NewCall(secret)),
			s.Register("test/secretOrdered", lsp.NewOrderedCall(secret)),
			s.Register("test/secretReleased", lsp.NewOrderedCall(func(ctx context.Context, t *text) (text, error) {
				lsp.Release(ctx)
				return secret(ctx, t)
			})))
	}})

	var got text
	err := s.client.Call(t.Context(), "test/secret", text{"KEY"}, &got)
	var refused *lsp.ClientError
	if cause := <-ask; code(err) != -32803 || !errors.As(cause, &refused) || refused.Code != -32601 {
		t.Errorf("a client without the method: %v, %v", err, cause)
	}

	s.client.Handle("memory/secret", func(params json.RawMessage) (any, error) {
		if string(params) != `{"name":"KEY"}` {
			return nil, fmt.Errorf("params %s", params)
		}
		return map[string]string{"value": "swordfish"}, nil
	})
	for _, method := range []string{"test/secret", "test/secretReleased"} {
		s.call(t, method, text{"KEY"}, &got)
		if err := <-ask; err != nil || got.Text != "swordfish" {
			t.Errorf("%s: %q %v", method, got.Text, err)
		}
	}
	err = s.client.Call(t.Context(), "test/secretOrdered", text{"KEY"}, nil)
	if cause := <-ask; cause == nil || code(err) != -32803 {
		t.Errorf("a request from the read loop: %v", err)
	}
	s.alive(t)
}

func TestRequestToTheClientIsCancelled(t *testing.T) {
	s := start(t, lsp.Options{Setup: func(s *lsp.Server) error {
		return s.Register("test/secret", lsp.NewCall(func(ctx context.Context, _ *none) (string, error) {
			return s.Secret(ctx, "KEY")
		}))
	}})
	forever := make(chan none)
	defer close(forever)
	s.client.Handle("memory/secret", func(json.RawMessage) (any, error) { <-forever; return nil, errors.New("late") })
	p := s.begin(t, "test/secret", nil)
	asked, err := s.client.Await(t.Context(), 0, lsptest.Method("memory/secret"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Cancel(); err != nil {
		t.Fatal(err)
	}
	cancelled, err := s.client.Await(t.Context(), 0, lsptest.Method("$/cancelRequest"))
	if err != nil || string(cancelled.Params) != `{"id":`+string(asked.ID)+`}` {
		t.Errorf("cancellation %s, %v; asked %s", cancelled.Params, err, asked.ID)
	}
	if m := answer(t, p); m.Error == nil || m.Error.Code != -32800 {
		t.Errorf("answer %+v", m)
	}
}

// What is done after an answer comes after it on the wire, however the request
// went and whatever its id is.
func TestAfterAnswer(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		s := start(t, lsp.Options{Setup: func(s *lsp.Server) error {
			after := func(ctx context.Context, n *number) (any, error) {
				for _, token := range []string{"a", "b"} {
					lsp.AfterAnswer(ctx, func() {
						if err := s.Notify(lsp.NotifyRecallFast, &lsp.RecallResult{Token: token, LatencyMs: int64(n.N)}); err != nil {
							t.Error(err)
						}
					})
				}
				switch n.N {
				case 1:
					return nil, errors.New("no")
				case 2:
					panic("after AfterAnswer")
				}
				return nil, nil
			}
			m := lsp.NewCall(after)
			if ordered {
				m = lsp.NewOrderedCall(after)
			}
			return s.Register("test/after", m)
		}})
		ids := []string{`7`, `"x\"y"`, `"7"`, `-1`, `""`}
		for i, id := range ids {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"test/after","params":{"n":%d}}`, id, i)
			if err := s.client.Frame(body); err != nil {
				t.Fatal(err)
			}
			last, err := s.client.Await(t.Context(), 0, func(m lsptest.Message) bool {
				return m.Method == lsp.NotifyRecallFast && strings.Contains(string(m.Params), fmt.Sprintf(`"latencyMs":%d,`, i)) &&
					strings.Contains(string(m.Params), `"token":"b"`)
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.client.Answers(id); len(got) != 1 || got[0].Seq != last.Seq-2 {
				t.Errorf("%s: answers %+v, the last notification is message %d", id, got, last.Seq)
			}
		}
	}
	lsp.AfterAnswer(t.Context(), func() { t.Error("outside of a request") })
}
