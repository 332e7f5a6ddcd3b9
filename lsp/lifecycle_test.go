package lsp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
)

// halfOpen connects a server and a client whose two directions close apart,
// as those of a process do. closeInput ends the server's input.
func halfOpen(t *testing.T, opt lsp.Options) (s *served, closeInput func()) {
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	s = serve(t, lsp.Join(serverIn, serverOut), opt)
	s.client = lsptest.New(t, lsp.Join(clientIn, clientOut))
	return s, func() { _ = clientOut.Close() }
}

func TestLifecycle(t *testing.T) {
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`
	frames := func(bodies ...string) (s string) {
		for _, b := range bodies {
			s += lsptest.Framed(b)
		}
		return s
	}
	call := func(id int, method string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q}`, id, method)
	}
	note := func(method string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, method) }
	for _, tc := range []struct {
		name  string
		input string
		eof   bool
		exit  int
		codes map[string]int // by id; 0 is a result
	}{
		{"orderly", frames(initialize, note("initialized"), call(2, "shutdown"), note("exit")), false, 0, map[string]int{"1": 0, "2": 0}},
		{"exit alone", frames(note("exit")), false, 1, nil},
		{"exit without shutdown", frames(initialize, note("exit")), false, 1, map[string]int{"1": 0}},
		{"end of input", frames(initialize), true, 1, map[string]int{"1": 0}},
		{"end of input at once", "", true, 1, nil},
		{"end of input inside a header", "Content-Le", true, 1, nil},
		{"end of input inside a frame", "Content-Length: 100\r\n\r\n{", true, 1, nil},
		{"end of input after shutdown", frames(initialize, call(2, "shutdown")), true, 0, map[string]int{"1": 0, "2": 0}},
		{"before initialize", frames(call(1, "test/get"), call(2, "memory/nosuch"), call(3, "shutdown"), note("test/boom"), note("exit")), false, 1,
			map[string]int{"1": -32002, "2": -32002, "3": -32002}},
		{"after shutdown", frames(initialize, call(2, "shutdown"), call(3, "test/get"), call(4, "initialize"), call(5, "shutdown"), note("test/set"), note("exit")), false, 0,
			map[string]int{"1": 0, "2": 0, "3": -32600, "4": -32600, "5": -32600}},
		{"initialize twice", frames(initialize, call(2, "initialize"), call(3, "test/get"), note("exit")), false, 1, map[string]int{"1": 0, "2": -32600, "3": 0}},
		{"without initialized", frames(initialize, call(2, "test/get"), note("exit")), false, 1, map[string]int{"1": 0, "2": 0}},
		{"what follows exit is not read", frames(initialize, note("exit"), call(2, "test/panic")), false, 1, map[string]int{"1": 0}},
		{"requests before the end of input are answered", frames(initialize, call(2, "test/getAsync"), call(3, "test/plain"), call(4, "test/sleep")), true, 1,
			map[string]int{"1": 0, "2": 0, "3": -32803, "4": -32800}},
		{"failed initialize may be repeated", frames(`{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"initializationOptions":5}}`, initialize, note("exit")), false, 1,
			map[string]int{"9": -32602, "1": 0}},
		{"params of initialize left out", frames(call(1, "initialize"), note("exit")), false, 1, map[string]int{"1": 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, closeInput := halfOpen(t, lsp.Options{})
			// What follows exit meets a closed pipe.
			if err := s.client.Raw([]byte(tc.input)); err != nil && !errors.Is(err, io.ErrClosedPipe) {
				t.Fatal(err)
			}
			if tc.eof {
				closeInput()
			}
			code, err := s.wait(t)
			if code != tc.exit || err != nil {
				t.Errorf("exit code %d, %v; want %d", code, err, tc.exit)
			}
			<-s.client.Ended()
			got := map[string]int{}
			for _, m := range s.client.Log() {
				if _, twice := got[string(m.ID)]; twice {
					t.Errorf("request %s answered twice", m.ID)
				}
				got[string(m.ID)] = 0
				if m.Error != nil {
					got[string(m.ID)] = m.Error.Code
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(tc.codes) {
				t.Errorf("answers %v, want %v", got, tc.codes)
			}
		})
	}
}

// PROTO-01: shutdown with requests in flight.
func TestPROTO_01_ShutdownAnswersWhatIsInFlight(t *testing.T) {
	for _, how := range []string{"shutdown", "exit", "end of input", "context", "deaf handler"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			var hooks atomic.Int32
			s, closeInput := halfOpen(t, lsp.Options{Setup: func(s *lsp.Server) error {
				s.OnShutdown(func(context.Context) { hooks.Add(1); panic("contained") })
				s.OnShutdown(func(context.Context) { hooks.Add(1) })
				return nil
			}})
			s.handshake(t, `{}`)
			method := "test/sleep"
			if how == "deaf handler" {
				method = "test/deaf"
				t.Cleanup(func() { close(s.wake) })
			}
			var pending []lsptest.Pending
			for range 5 {
				pending = append(pending, s.begin(t, method, nil))
				<-s.entered
			}
			exit := 1
			switch how {
			case "shutdown":
				s.call(t, "shutdown", nil, nil)
				for _, p := range pending { // all of them before shutdown's own
					if n := len(s.client.Answers(fmt.Sprint(p.ID()))); n != 1 {
						t.Errorf("request %d had %d answers when shutdown was answered", p.ID(), n)
					}
				}
				s.notify(t, "exit", nil)
				exit = 0
			case "exit", "deaf handler":
				s.notify(t, "exit", nil)
			case "end of input":
				closeInput()
			case "context":
				s.cancel()
			}
			if code, err := s.wait(t); code != exit || err != nil {
				t.Errorf("exit code %d, %v; want %d", code, err, exit)
			}
			<-s.client.Ended()
			for _, p := range pending {
				got := s.client.Answers(fmt.Sprint(p.ID()))
				if len(got) != 1 || got[0].Error == nil || got[0].Error.Code != -32800 {
					t.Errorf("answers %+v", got)
				}
			}
			if n := hooks.Load(); n != 2 {
				t.Errorf("%d shutdown hooks ran", n)
			}
		})
	}
}

func TestShutdownCauseIsVisible(t *testing.T) {
	cause := make(chan error, 2)
	s := start(t, lsp.Options{Setup: func(s *lsp.Server) error {
		return s.Register("test/cause", lsp.NewOrderedCall(func(ctx context.Context, _ *none) (any, error) {
			lsp.Release(ctx)
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return nil, context.Cause(ctx)
		}))
	}})
	p := s.begin(t, "test/cause", nil)
	if err := p.Cancel(); err != nil {
		t.Fatal(err)
	}
	if m := answer(t, p); m.Error == nil || m.Error.Code != -32800 {
		t.Errorf("%+v", m)
	}
	p = s.begin(t, "test/cause", nil)
	s.call(t, "shutdown", nil, nil)
	if m := answer(t, p); m.Error == nil || m.Error.Code != -32800 {
		t.Errorf("%+v", m)
	}
	if first, second := <-cause, <-cause; !errors.Is(first, lsp.ErrCancelled) || !errors.Is(second, lsp.ErrShutdown) {
		t.Errorf("causes %v, %v", first, second)
	}
}

func TestDeadParentEndsTheServer(t *testing.T) {
	var alive atomic.Bool
	alive.Store(true)
	opt := lsp.Options{ParentPoll: time.Millisecond, ParentAlive: func(pid int) bool {
		if pid != 4711 {
			t.Errorf("asked for process %d", pid)
		}
		return alive.Load()
	}}
	s := connect(t, opt)
	s.handshake(t, `{"processId":4711}`)
	s.alive(t)
	alive.Store(false)
	if code, err := s.wait(t); code != 1 || err == nil || !strings.Contains(err.Error(), "4711") {
		t.Errorf("exit code %d, %v", code, err)
	}

	invisible := connect(t, opt) // dead from the start: in another container
	invisible.handshake(t, `{"processId":4711}`)
	invisible.alive(t)
}

func TestInitializeResult(t *testing.T) {
	for _, tc := range []struct{ general, want string }{
		{`{}`, "utf-16"}, {`{"positionEncodings":["utf-16"]}`, "utf-16"}, {`{"positionEncodings":[]}`, "utf-16"},
		{`{"positionEncodings":["utf-32","utf-16"]}`, "utf-16"}, {`{"positionEncodings":["utf-16","utf-8"]}`, "utf-8"},
	} {
		s := connect(t, lsp.Options{Name: "memls", Version: "1.2.3"})
		var result struct {
			ServerInfo   struct{ Name, Version string }
			Capabilities struct {
				PositionEncoding       string
				ExecuteCommandProvider struct{ Commands []string }
				Experimental           struct{ Memory lsp.MemoryCapability }
			}
		}
		s.call(t, "initialize", `{"capabilities":{"general":`+tc.general+`}}`, &result)
		c := result.Capabilities
		if c.PositionEncoding != tc.want || s.server.Client().PositionEncoding != tc.want {
			t.Errorf("%s: encoding %q, want %q", tc.general, c.PositionEncoding, tc.want)
		}
		if want := []string{"memory.echo", "memory.get"}; !slices.Equal(c.ExecuteCommandProvider.Commands, want) {
			t.Errorf("commands %v, want %v", c.ExecuteCommandProvider.Commands, want)
		}
		m := c.Experimental.Memory
		if m.Version != 1 || !slices.Equal(m.Methods, []string{"memory/echo", "memory/get", "memory/noted"}) ||
			!slices.Equal(m.Notifications, []string{"memory/changed", "memory/plansChanged", "memory/recallFast", "memory/recallRefined", "memory/statusChanged", "memory/taskChanged"}) {
			t.Errorf("experimental.memory %+v", m)
		}
		if result.ServerInfo.Name != "memls" || result.ServerInfo.Version != "1.2.3" {
			t.Errorf("serverInfo %+v", result.ServerInfo)
		}
	}
}

func TestInitializeReadsTheClient(t *testing.T) {
	for _, tc := range []struct {
		params string
		want   lsp.Client
	}{
		{`{"clientInfo":{"name":"ed","version":"9"},"processId":null,"rootUri":"file:///r","workspaceFolders":[{"uri":"file:///w","name":"w"}],
		   "capabilities":{"experimental":{"memory":{}},"workspace":{"configuration":true},"window":{"workDoneProgress":true},"textDocument":{"diagnostic":{}}}}`,
			lsp.Client{Name: "ed", Version: "9", Folders: []lsp.Folder{{URI: "file:///w", Name: "w"}}, PositionEncoding: "utf-16",
				Memory: true, Configuration: true, WorkDoneProgress: true, PullDiagnostics: true}},
		{`{"rootUri":"file:///r","rootPath":"/p","workspaceFolders":null,"capabilities":[]}`,
			lsp.Client{Folders: []lsp.Folder{{URI: "file:///r"}}, PositionEncoding: "utf-16"}},
		{`{"rootPath":"/p q","rootUri":null,"workspaceFolders":[],"capabilities":{"experimental":null,"window":[],"textDocument":{"completion":{"weird":7}}}}`,
			lsp.Client{Folders: []lsp.Folder{{URI: "file:///p%20q"}}, PositionEncoding: "utf-16"}},
	} {
		s := connect(t, lsp.Options{})
		s.call(t, "initialize", tc.params, nil)
		got, want := fmt.Sprintf("%+v", *s.server.Client()), fmt.Sprintf("%+v", tc.want)
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", tc.params, got, want)
		}
	}
}

func TestHooksShapeInitialize(t *testing.T) {
	ready := make(chan none, 1)
	s := connect(t, lsp.Options{Setup: func(s *lsp.Server) error {
		s.OnInitialize(func(i *lsp.Initialization) error {
			if i.Client.Name == "bad" {
				return lsp.InvalidParam("clientInfo.name", "is bad")
			}
			i.Capabilities.HoverProvider = nil
			i.Capabilities.PositionEncoding = "utf-32"
			return nil
		})
		s.OnReady(func() { ready <- none{} })
		return nil
	}})
	err := s.client.Call(t.Context(), "initialize", `{"clientInfo":{"name":"bad"}}`, nil)
	if code(err) != -32602 || data[lsp.ParamErrorData](t, err).Field != "clientInfo.name" {
		t.Errorf("refused by a hook: %v", err)
	}
	var result struct{ Capabilities map[string]json.RawMessage }
	s.call(t, "initialize", `{}`, &result)
	if string(result.Capabilities["positionEncoding"]) != `"utf-32"` {
		t.Errorf("capabilities %s", result.Capabilities)
	}
	s.notify(t, "initialized", nil)
	<-ready
}

func TestSetupErrors(t *testing.T) {
	method := lsp.NewNotification(func(*none) error { return nil })
	var ended atomic.Bool // the background work of a set-up that fails
	for name, setup := range map[string]func(*lsp.Server) error{
		"with work begun": func(s *lsp.Server) error {
			s.Go(func(ctx context.Context) { <-ctx.Done(); ended.Store(true) })
			return errors.New("no")
		},
		"its own":           func(*lsp.Server) error { return errors.New("no") },
		"a standard method": func(s *lsp.Server) error { return s.Register("initialize", method) },
		"the cancellation":  func(s *lsp.Server) error { return s.Register("$/cancelRequest", method) },
		"a method twice":    func(s *lsp.Server) error { return errors.Join(s.Register("a", method), s.Register("a", method)) },
		"an own notice":     func(s *lsp.Server) error { return s.Announce(lsp.NotifyChanged, lsp.NewOutgoing[none]()) },
		"an own request":    func(s *lsp.Server) error { return s.Expect(lsp.AskSecret, lsp.NewAsked[none, none]()) },
	} {
		here, there := net.Pipe()
		code, err := lsp.Serve(t.Context(), there, lsp.Options{Setup: setup})
		if code != 1 || err == nil {
			t.Errorf("%s: exit code %d, %v", name, code, err)
		}
		if _, err := here.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("%s: the connection was left open: %v", name, err)
		}
	}
	if !ended.Load() {
		t.Error("background work outlived the server")
	}
	s := start(t, lsp.Options{})
	if s.server.Register("late", method) == nil {
		t.Error("a method was registered on an open connection")
	}
}
