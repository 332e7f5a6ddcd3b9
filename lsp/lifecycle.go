package lsp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

const (
	methodInitialize  = "initialize"
	methodInitialized = "initialized"
	methodShutdown    = "shutdown"
	methodExit        = "exit"

	encodingUTF8  = "utf-8"
	encodingUTF16 = "utf-16"

	defaultParentPoll = 30 * time.Second
)

// The steps of closing and what each may take. An editor kills a server that
// takes 2 s; the sum of the steps after exit is 1.5 s. The answer to shutdown
// comes within hookTime + cancelTime.
const (
	graceTime  = 250 * time.Millisecond // requests that precede the end of the input may still succeed
	hookTime   = 400 * time.Millisecond // shutdown hooks
	cancelTime = 400 * time.Millisecond // cancelled requests end
	flushTime  = 300 * time.Millisecond // the outbox empties
	closeTime  = 300 * time.Millisecond // goroutines end
)

// phase is where in its life a connection is.
type phase int32

const (
	phaseNew      phase = iota // before initialize
	phaseRunning               // from the answer to initialize
	phaseShutdown              // from the request shutdown
	phaseClosing               // from exit, or the end of the connection
)

var errParentGone = errors.New("the parent process has ended")

// ending is why a connection closes.
type ending struct {
	err   error // nil when the client left in an orderly way, or we were asked to stop
	grace bool  // the client may still be waiting for answers to what it sent
}

// end asks for the connection to be closed. The first reason counts.
func (s *Server) end(why ending) {
	select {
	case s.ending <- why:
	default:
	}
}

// inputEnded is told how reading ended, or that writing has failed.
func (s *Server) inputEnded(err error) {
	switch {
	case errors.Is(err, io.EOF):
		s.end(ending{grace: true})
	case errors.Is(err, io.ErrUnexpectedEOF):
		s.log.Warn("the input ends inside a frame")
		s.end(ending{grace: true})
	default:
		s.end(ending{err: err})
	}
}

// admit says whether a request may be served now.
func (s *Server) admit(method string) error {
	switch phase(s.phase.Load()) {
	case phaseNew:
		if method != methodInitialize {
			return jsonrpc2.Errorf(codeNotInitialized, "%s before initialize", short(method))
		}
	case phaseRunning:
		if method == methodInitialize {
			return jsonrpc2.Errorf(codeInvalidRequest, "initialize comes only once")
		}
		s.handshakeDone()
	default:
		return jsonrpc2.Errorf(codeInvalidRequest, "%s after shutdown", short(method))
	}
	return nil
}

// admitNotification says whether a notification is taken now.
func (s *Server) admitNotification(method string) bool {
	if phase(s.phase.Load()) == phaseRunning {
		s.handshakeDone()
		return true
	}
	return method == methodExit
}

func (s *Server) registerLifecycle() error {
	for name, m := range map[string]Method{
		methodInitialize:             NewOrderedCall(s.initialize),
		methodInitialized:            NewNotification(s.initialized),
		methodShutdown:               NewOrderedCall(s.shutDown),
		methodExit:                   NewNotification(s.exit),
		methodDidChangeConfiguration: NewNotification(s.didChangeConfiguration),
	} {
		if err := s.Register(name, m); err != nil {
			return err
		}
	}
	return nil
}

type nothing struct{}

// initializeParams are what memls reads of LSP's InitializeParams: a client
// with an odd value elsewhere in its capabilities is served all the same.
type initializeParams struct {
	ProcessID  *int `json:"processId"`
	ClientInfo struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"clientInfo"`
	RootPath         string         `json:"rootPath"`
	RootURI          string         `json:"rootUri"`
	WorkspaceFolders []Folder       `json:"workspaceFolders"`
	Options          jsontext.Value `json:"initializationOptions"`
	Capabilities     struct {
		General struct {
			PositionEncodings []string `json:"positionEncodings"`
		} `json:"general"`
		Workspace struct {
			Configuration bool `json:"configuration"`
			Diagnostics   struct {
				RefreshSupport bool `json:"refreshSupport"`
			} `json:"diagnostics"`
			CodeLens struct {
				RefreshSupport bool `json:"refreshSupport"`
			} `json:"codeLens"`
			WorkspaceEdit jsontext.Value `json:"workspaceEdit"`
		} `json:"workspace"`
		Window struct {
			WorkDoneProgress bool           `json:"workDoneProgress"`
			ShowDocument     jsontext.Value `json:"showDocument"`
		} `json:"window"`
		TextDocument struct {
			Diagnostic         jsontext.Value `json:"diagnostic"`
			PublishDiagnostics jsontext.Value `json:"publishDiagnostics"`
			Completion         jsontext.Value `json:"completion"`
			Hover              jsontext.Value `json:"hover"`
			Definition         jsontext.Value `json:"definition"`
			DocumentSymbol     jsontext.Value `json:"documentSymbol"`
			CodeAction         jsontext.Value `json:"codeAction"`
			Rename             jsontext.Value `json:"rename"`
			FoldingRange       jsontext.Value `json:"foldingRange"`
		} `json:"textDocument"`
		Experimental struct {
			Memory jsontext.Value `json:"memory"`
		} `json:"experimental"`
	} `json:"capabilities"`
}

// Initialization is what an initialize hook sees and may change.
type Initialization struct {
	Client       *Client
	Settings     Settings
	Capabilities *protocol.ServerCapabilities // what the server will declare
}

func (s *Server) initialize(_ context.Context, p *initializeParams) (*protocol.InitializeResult, error) {
	client := p.client()
	s.client.Store(client)
	if err := s.applySettings(p.Options); err != nil {
		var param *ParamError
		if errors.As(err, &param) {
			return nil, param.within("initializationOptions")
		}
		return nil, err
	}
	memory, err := encode(map[string]MemoryCapability{"memory": s.capability()})
	if err != nil {
		return nil, err
	}
	result := &protocol.InitializeResult{
		Capabilities: protocol.ServerCapabilities{
			PositionEncoding:       protocol.PositionEncodingKind(client.PositionEncoding),
			ExecuteCommandProvider: protocol.ExecuteCommandOptions{Commands: s.commands()},
			Experimental:           protocol.LSPAny(memory),
		},
		ServerInfo: protocol.ServerInfo{Name: s.opt.Name, Version: protocol.NewOptional(s.opt.Version)},
	}
	for _, hook := range s.onInitialize {
		err := hook(&Initialization{Client: client, Settings: s.Settings(), Capabilities: &result.Capabilities})
		if err != nil {
			return nil, err
		}
	}
	s.watchParent(client.ProcessID)
	s.enter(phaseRunning)
	return result, nil
}

// client turns the params into what the features want to know.
func (p *initializeParams) client() *Client {
	c := &Client{
		Name: p.ClientInfo.Name, Version: p.ClientInfo.Version,
		Folders:          p.WorkspaceFolders,
		PositionEncoding: encodingUTF16,
		Memory:           declared(p.Capabilities.Experimental.Memory),
		Configuration:    p.Capabilities.Workspace.Configuration,
		WorkDoneProgress: p.Capabilities.Window.WorkDoneProgress,
		PullDiagnostics:  declared(p.Capabilities.TextDocument.Diagnostic),

		PublishDiagnostics: declared(p.Capabilities.TextDocument.PublishDiagnostics),
		RefreshDiagnostics: p.Capabilities.Workspace.Diagnostics.RefreshSupport,
		RefreshLenses:      p.Capabilities.Workspace.CodeLens.RefreshSupport,
		Support:            p.support(),
	}
	if slices.Contains(p.Capabilities.General.PositionEncodings, encodingUTF8) {
		c.PositionEncoding = encodingUTF8
	}
	if p.ProcessID != nil {
		c.ProcessID = *p.ProcessID
	}
	root := p.RootURI
	if root == "" && p.RootPath != "" {
		root = string(uri.File(p.RootPath))
	}
	if len(c.Folders) == 0 && root != "" {
		c.Folders = []Folder{{URI: root}}
	}
	return c
}

// declared says whether a capability is set, to whatever but null and false.
func declared(v jsontext.Value) bool { return !isNull(v) && string(v) != "false" }

func (s *Server) capability() MemoryCapability {
	return MemoryCapability{
		Version:       ProtocolVersion,
		Methods:       memoryNames(s.methods, func(*Method) bool { return true }),
		Notifications: memoryNames(s.outgoing, func(Outgoing) bool { return true }),
	}
}

func (s *Server) initialized(*nothing) error {
	for _, hook := range s.onReady {
		hook()
	}
	return nil
}

// shutDown answers when every other request has been answered.
func (s *Server) shutDown(ctx context.Context, _ *nothing) (any, error) {
	s.enter(phaseShutdown)
	s.shutdown.Store(true)
	Release(ctx)
	s.runShutdownHooks()
	self, _ := ctx.Value(callKey{}).(*call)
	s.peer.cancelCalls(ErrShutdown, self)
	wait, cancel := context.WithTimeout(ctx, cancelTime)
	defer cancel()
	s.peer.waitAnswered(wait, 1)
	return nil, nil
}

func (s *Server) exit(*nothing) error {
	s.peer.stream.stopped.Store(true)
	s.end(ending{})
	return nil
}

// enter moves on to a later phase, never back.
func (s *Server) enter(next phase) {
	for {
		now := s.phase.Load()
		if now >= int32(next) || s.phase.CompareAndSwap(now, int32(next)) {
			return
		}
	}
}

// runShutdownHooks runs the hooks once and waits for them at most hookTime.
func (s *Server) runShutdownHooks() {
	ctx, cancel := context.WithTimeout(context.Background(), hookTime)
	s.hooksOnce.Do(func() {
		go func() {
			defer close(s.hooksDone)
			for _, hook := range s.onShutdown {
				func() {
					defer s.contain("a shutdown hook")
					hook(ctx)
				}()
			}
		}()
	})
	select {
	case <-s.hooksDone:
	case <-ctx.Done():
		s.log.Warn("shutdown hooks take too long")
	}
	cancel()
}

// contain logs a panic and lets the process live.
func (s *Server) contain(what string) {
	if r := recover(); r != nil {
		s.log.Error("panic in "+what, "panic", r, "stack", string(debug.Stack()))
	}
}

// finish answers what is still open and closes the connection, within the sum
// of the steps' times.
func (s *Server) finish(why ending) {
	step := func(d time.Duration, work func(context.Context)) {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		defer cancel()
		work(ctx)
	}
	if why.err != nil {
		s.log.Error("connection given up", "err", why.err)
	}
	if why.grace {
		step(graceTime, func(ctx context.Context) { s.peer.waitAnswered(ctx, 0) })
	}
	s.enter(phaseClosing)
	s.runShutdownHooks()
	s.peer.cancelCalls(ErrShutdown, nil)
	step(cancelTime, func(ctx context.Context) { s.peer.waitAnswered(ctx, 0) })
	step(flushTime, func(ctx context.Context) {
		s.peer.seal(ctx)
		if s.peer.lost() == nil {
			wait(ctx, s.peer.out.done)
		}
	})
	step(closeTime, func(ctx context.Context) {
		s.peer.close(ctx)
		if !wait(ctx, s.tasks.done()) {
			s.log.Error("background work did not end")
		}
	})
}

// wait reports whether c was closed before ctx ended.
func wait(ctx context.Context, c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-ctx.Done():
		return false
	}
}

// watchParent ends the connection when the process that started the server
// has gone without a word.
func (s *Server) watchParent(pid int) {
	alive := s.opt.ParentAlive
	if pid <= 0 || alive == nil || !alive(pid) {
		return
	}
	s.Go(func(ctx context.Context) {
		tick := time.NewTicker(s.opt.ParentPoll)
		defer tick.Stop()
		for alive(pid) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
		s.end(ending{err: fmt.Errorf("%w (process %d)", errParentGone, pid)})
	})
}
