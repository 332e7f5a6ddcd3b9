package lsp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.lsp.dev/jsonrpc2"
)

// Options configure one connection. The zero value of each field means the
// stated default.
type Options struct {
	Log *slog.Logger // default: nothing is logged

	Name, Version string // serverInfo; default "memls" and ""

	// Setup registers the methods, notifications and hooks of the features.
	Setup func(*Server) error

	OutboxBytes  int           // bound of what waits for the client; default 32 MiB
	WriteTimeout time.Duration // bound of one write of at most 64 KiB; default 30 s

	// ParentAlive says whether the process that initialize names still runs;
	// nil means that nobody looks. A parent that is already invisible at
	// initialize, for instance one in another container, is not looked for.
	ParentAlive func(pid int) bool
	ParentPoll  time.Duration // default 30 s
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Name == "" {
		o.Name = "memls"
	}
	if o.OutboxBytes <= 0 {
		o.OutboxBytes = defaultOutboxBytes
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = defaultWriteTimeout
	}
	if o.ParentPoll <= 0 {
		o.ParentPoll = defaultParentPoll
	}
	return o
}

// Server is one connection with one client.
//
// Inv: the tables and hooks do not change once the connection is open.
type Server struct {
	opt  Options
	log  *slog.Logger
	peer *peer
	open atomic.Bool // the tables are closed

	methods  map[string]*Method
	outgoing map[string]Outgoing
	asked    map[string]Asked

	checkSettings []func(Settings) error
	onInitialize  []func(*Initialization) error
	onReady       []func()
	onSettings    []func(old, now Settings)
	onShutdown    []func(context.Context)
	hooksOnce     sync.Once
	hooksDone     chan struct{}

	phase    atomic.Int32 // a phase; written on the read loop and by finish
	shutdown atomic.Bool  // the client has asked for shutdown
	client   atomic.Pointer[Client]
	settings atomic.Pointer[Settings]

	settingsMu  sync.Mutex
	rawSettings rawSettings

	noteMu sync.Mutex
	ready  bool
	held   []heldNote

	tasks  tasks
	ending chan ending // of capacity one; the first reason counts
}

func newServer(opt Options) *Server {
	s := &Server{
		opt: opt, log: opt.Log,
		methods: map[string]*Method{}, outgoing: map[string]Outgoing{}, asked: map[string]Asked{},
		hooksDone: make(chan struct{}),
		ending:    make(chan ending, 1),
	}
	defaults, err := InitializationOptions{}.Settings()
	if err != nil {
		panic(fmt.Sprintf("lsp: the default settings are wrong: %v", err))
	}
	s.settings.Store(&defaults)
	s.client.Store(&Client{PositionEncoding: encodingUTF16})
	s.announceOwn()
	return s
}

// Serve speaks with the client at the other end of rwc until it leaves, and
// closes rwc. It returns the exit code of the process, 0 after an orderly
// shutdown and else 1, and why the connection was given up, if it was: a
// client that stopped reading, framing that made no sense, a dead parent.
//
// When ctx ends, the connection is closed in the orderly way; that takes less
// than two seconds, always.
func Serve(ctx context.Context, rwc io.ReadWriteCloser, opt Options) (exitCode int, err error) {
	opt = opt.withDefaults()
	s := newServer(opt)
	s.peer = newPeer(rwc, s, opt, s.inputEnded)
	if err := s.setUp(); err != nil {
		s.peer.stop()
		<-s.tasks.done()
		return 1, errors.Join(fmt.Errorf("set up the server: %w", err), rwc.Close())
	}
	s.peer.start()
	var why ending
	select {
	case why = <-s.ending:
	case <-ctx.Done():
		why = ending{}
	}
	s.finish(why)
	if s.shutdown.Load() {
		return 0, why.err
	}
	return 1, why.err
}

func (s *Server) setUp() error {
	defer s.open.Store(true)
	if err := s.registerLifecycle(); err != nil || s.opt.Setup == nil {
		return err
	}
	return s.opt.Setup(s)
}

// Client is what the client said about itself in initialize.
type Client struct {
	Name, Version    string
	ProcessID        int      // 0 when it was not given
	Folders          []Folder // the workspace folders, or the root
	PositionEncoding string   // negotiated: utf-8 or utf-16
	Memory           bool     // wants unasked notifications and answers memory/secret
	Configuration    bool     // answers workspace/configuration
	WorkDoneProgress bool     // takes progress that the server starts
	PullDiagnostics  bool     // asks for diagnostics itself

	PublishDiagnostics bool    // shows diagnostics, also of files that are not open
	RefreshDiagnostics bool    // can be told to ask for diagnostics again
	RefreshLenses      bool    // the same of code lenses
	Support            Support // of the language features
}

// Folder is one workspace folder.
type Folder struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
}

// Client returns what is known of the client. The result must not be changed.
func (s *Server) Client() *Client { return s.client.Load() }

// Settings returns the settings in force. What it refers to must not be changed.
func (s *Server) Settings() Settings { return *s.settings.Load() }

// Log returns the connection's log.
func (s *Server) Log() *slog.Logger { return s.log }

// CheckSettings adds a check of settings beyond their form. Its error, a
// [*ParamError] relative to the options, refuses them whole: at initialize it
// fails the request, later the previous settings stay in force.
func (s *Server) CheckSettings(check func(Settings) error) {
	s.checkSettings = append(s.checkSettings, check)
}

// OnInitialize adds a hook that runs on the read loop during initialize, in
// the order of adding. An error fails initialize; it may be a [*ParamError]
// whose field is relative to the params.
func (s *Server) OnInitialize(hook func(*Initialization) error) {
	s.onInitialize = append(s.onInitialize, hook)
}

// OnReady adds a hook that runs on the read loop when the client has sent
// initialized: from here on the server may send requests.
func (s *Server) OnReady(hook func()) { s.onReady = append(s.onReady, hook) }

// OnSettings adds a hook that runs when settings have changed, first during
// initialize, before the initialize hooks. Calls do not overlap.
func (s *Server) OnSettings(hook func(old, now Settings)) {
	s.onSettings = append(s.onSettings, hook)
}

// OnShutdown adds a hook that runs once when the connection begins to close,
// while requests may still be running. The context bounds it to a fraction of
// a second.
func (s *Server) OnShutdown(hook func(context.Context)) {
	s.onShutdown = append(s.onShutdown, hook)
}

// Go runs work that ends with the connection: its context ends then, and
// closing waits a moment for it. A panic in it is logged and contained. Work
// that comes when the connection is closing is not started. Go may be called
// from Setup on.
func (s *Server) Go(work func(ctx context.Context)) {
	ctx := s.peer.base
	started := s.tasks.start(func() {
		defer s.contain("background work")
		work(ctx)
	})
	if !started {
		s.log.Debug("background work came too late")
	}
}

// tasks counts goroutines that closing waits for.
type tasks struct {
	mu     sync.Mutex
	closed bool
	group  sync.WaitGroup
}

func (t *tasks) start(work func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.group.Go(work)
	}
	return !t.closed
}

// done starts no more tasks and returns what is closed when all have ended.
func (t *tasks) done() <-chan struct{} {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		t.group.Wait()
		close(ended)
	}()
	return ended
}

// call implements router.
func (s *Server) call(method string, raw []byte) (*Method, []byte, error) {
	if err := s.admit(method); err != nil {
		return nil, nil, err
	}
	if method == methodExecuteCommand {
		return s.command(raw)
	}
	m := s.methods[method]
	if m == nil || m.call == nil {
		return nil, nil, jsonrpc2.Errorf(codeMethodNotFound, "method not found: %s", short(method))
	}
	return m, raw, nil
}

// notification implements router.
func (s *Server) notification(method string) func([]byte) error {
	if !s.admitNotification(method) {
		return nil
	}
	if m := s.methods[method]; m != nil {
		return m.notify
	}
	return nil
}
