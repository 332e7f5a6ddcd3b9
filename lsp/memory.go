package lsp

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/memory/discovery"
	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/meaning"
)

// MemoryOptions are what the memory features of a connection need. Only Watch
// is required.
type MemoryOptions struct {
	// Watch makes the watchers of roots; poll is the setting watcher: poll.
	Watch func(poll bool) memory.WatchFactory
	// Roots are served to a client that names none. They are taken as they are,
	// whatever the client trusts.
	Roots []memory.RootConfig
	// Discover finds the roots of a client that names none, when there are no
	// Roots either. Nil finds nothing.
	Discover func(discovery.Request) *discovery.Result
	// State is the directory in which journals, plans, operations and activity are
	// kept; empty: memories cannot be changed and there is no activity. See
	// [memory.StateHome].
	State string
	// DefaultModel is used for a client that names none; nil is none.
	DefaultModel *ModelOptions
	// Extract and Dream schedule what follows a turn that ended well, and return
	// at once. They are called at most once for a turn, from the read loop. A nil
	// Extract learns from the conversation, a nil Dream consolidates when its gates
	// are open.
	Extract, Dream func(t FinishedTurn) ScheduledWork
	// Activity keeps the person's activity, in State, also for a client that does not ask for it.
	Activity bool
	// Model makes a model of the settings; key is empty when no variable was
	// named. An error names the setting at fault. Default: [NewModel].
	Model func(o ModelOptions, key string) (recall.Model, error)
	// Embedder makes the embedding model of the settings, as Model does. Default:
	// [NewEmbedder].
	Embedder func(o ModelOptions, key string) (meaning.Embedder, error)

	Now    func() time.Time                       // default: time.Now
	After  func(time.Duration) <-chan time.Time   // default: time.After
	Getenv func(string) string                    // default: os.Getenv
	Lstat  func(path string) (fs.FileInfo, error) // default: os.Lstat
	Open   memory.OpenFunc                        // opens every memory file; default: memory.OpenFile
}

func (o MemoryOptions) withDefaults() MemoryOptions {
	if o.Model == nil {
		o.Model = NewModel
	}
	if o.Embedder == nil {
		o.Embedder = NewEmbedder
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Lstat == nil {
		o.Lstat = os.Lstat
	}
	return o
}

// Memory returns a set-up for [Options] that serves the memory of the roots
// that the client names: recall, search and reading.
func Memory(opt MemoryOptions) func(*Server) error {
	return func(s *Server) error {
		if opt.Watch == nil {
			return errors.New("memory features without a watcher")
		}
		f := &features{s: s, opt: opt.withDefaults(), changes: newChanges()}
		f.sessions = newSessions(s.Log(), f.opt.Now, f.giveUp)
		f.started = f.opt.Now()
		f.models = &models{server: s, opt: &f.opt}
		f.embeddings = &embeddings{f: f}
		f.activity = newRecorder(f)
		return f.register()
	}
}

// features are the memory features of one connection.
type features struct {
	s        *Server
	opt      MemoryOptions
	started  time.Time
	sessions *sessions
	models   *models

	embeddings *embeddings
	changes    *changes
	activity   *recorder
	editing

	uses    usages
	calls   atomic.Pointer[callNames]      // what memories are called, of the last revision that was asked about
	running atomic.Pointer[memory.Catalog] // nil before initialize
	open    atomic.Pointer[workspace]
	poll    atomic.Bool
	changer atomic.Pointer[changing] // set along with running
	stuck   atomic.Int32             // looks at files that have not come back in time
	recent  recent

	rootLog rootLog
	rootsMu sync.Mutex // one change of roots at a time
	configs atomic.Pointer[[]memory.RootConfig]

	choosing sync.Mutex // one choice of roots at a time
	found    atomic.Pointer[discovery.Result]
}

func (f *features) register() error {
	methods := map[string]Method{
		"memory/recall":       NewOrderedCall(f.recall),
		"memory/consume":      NewOrderedCall(f.consume),
		"memory/finish":       NewOrderedCall(f.finish),
		"memory/resetSession": NewOrderedCall(f.resetSession),
		"memory/toolUsed":     NewNotification(f.toolUsed),
		"memory/search":       NewCall(f.search),
		"memory/explain":      NewCall(f.explain),
		"memory/list":         NewCall(f.list),
		"memory/get":          NewCall(f.get),
		"memory/status":       NewCall(f.status),
	}
	maps.Copy(methods, f.changeMethods())
	maps.Copy(methods, f.taskMethods())
	maps.Copy(methods, f.dreamMethods())
	for name, m := range methods {
		if err := f.s.Register(name, m); err != nil {
			return err
		}
	}
	if err := f.registerDiscovery(); err != nil {
		return err
	}
	if err := f.registerEditing(); err != nil {
		return err
	}
	if err := f.registerLanguage(); err != nil {
		return err
	}
	if err := f.registerActivity(); err != nil {
		return err
	}
	f.s.CheckSettings(checkRoots)
	f.s.OnInitialize(f.initialize)
	f.s.OnSettings(f.reconfigure)
	f.s.OnReady(f.models.handshakeDone)
	f.s.OnReady(f.embeddings.handshakeDone)
	f.s.OnShutdown(f.endAll)
	return nil
}

// catalog is the catalog of the connection. Inv: it is set before any request
// is admitted.
func (f *features) catalog() *memory.Catalog { return f.running.Load() }

// workspace are the client's folders.
func (f *features) workspace() workspace {
	if w := f.open.Load(); w != nil {
		return *w
	}
	return workspace{}
}

// engine is the engine over the present catalog and model.
func (f *features) engine() *recall.Engine {
	e := recall.NewEngine(f.catalog(), nil, 0)
	if m := f.models.current(); m != nil {
		e = recall.NewEngine(f.catalog(), m, selectorTimeout(m.options))
	}
	if m := f.embeddings.current(); m != nil {
		return e.WithMeaning(m)
	}
	return e
}

// initialize opens the catalog.
func (f *features) initialize(i *Initialization) error {
	w := newWorkspace(i.Client.Folders)
	f.open.Store(&w)
	configs, err := f.chooseRoots(i.Settings, w)
	if err != nil {
		return err
	}
	f.configs.Store(&configs)
	f.poll.Store(i.Settings.Watcher == "poll")
	f.models.configure(i.Settings.Model)
	if f.running.Load() != nil {
		// An earlier initialize failed in a later hook.
		f.applyRoots(false)
		return nil
	}
	catalog, err := memory.NewCatalog(memory.CatalogOptions{
		Roots: configs, Index: recall.NewIndexer(), Log: f.s.Log(), Open: f.opt.Open, Now: f.opt.Now,
		Watch: func(dir string, keep func(string, bool) bool, sink func(memory.FileChange)) memory.Watcher {
			return f.opt.Watch(f.poll.Load())(dir, keep, sink)
		},
		Images:   memory.ImageOptions{State: f.opt.State, Write: true},
		OnChange: f.catalogChanged, OnStatus: f.statusChanged,
	})
	if err != nil {
		return err
	}
	f.running.Store(catalog)
	f.changer.Store(f.openChanging())
	f.embeddings.configure(i.Settings)
	f.s.Go(func(ctx context.Context) {
		if err := catalog.Run(ctx); err != nil {
			f.s.Log().Error("the catalog ended", "err", err)
		}
	})
	f.s.Go(f.reportChanges)
	if f.opt.Discover != nil {
		f.s.Go(f.rediscover)
	}
	f.s.Go(f.expireSessions)
	f.s.Go(f.activity.write)
	f.s.Go(f.activity.follow)
	f.s.Go(f.recoverChanges)
	f.s.Go(func(ctx context.Context) {
		<-ctx.Done()
		f.models.close()
		f.embeddings.close()
	})
	return nil
}

// reconfigure takes new settings. Before initialize has come this far, there is
// nothing to change yet.
func (f *features) reconfigure(old, now Settings) {
	if f.running.Load() == nil {
		return
	}
	f.activity.look()
	f.models.configure(now.Model)
	f.embeddings.configure(now)
	f.poll.Store(now.Watcher == "poll")
	f.reroot(old.Watcher != now.Watcher)
	if old.Trusted != now.Trusted {
		f.anchors.forget()
		f.publisher.everything()
	}
}

// rootsWait is how long changed settings hold up the messages behind them, so
// that these find the new roots. It takes that long only when a directory that
// is let go of does not answer.
const rootsWait = 250 * time.Millisecond

// applyRoots serves the configured roots. Inv: a root that has been taken away
// is out of the snapshot when it returns, or soon after if the catalog is busy.
func (f *features) applyRoots(rewatch bool) {
	ctx, cancel := context.WithTimeout(f.s.peer.base, rootsWait)
	defer cancel()
	if err := f.setRoots(ctx, rewatch); err == nil || f.s.peer.base.Err() != nil {
		return
	}
	f.s.Go(func(ctx context.Context) {
		if err := f.setRoots(ctx, rewatch); err != nil && ctx.Err() == nil {
			f.s.Log().Error("roots not changed", "err", err)
		}
	})
}

func (f *features) setRoots(ctx context.Context, rewatch bool) error {
	f.rootsMu.Lock()
	defer f.rootsMu.Unlock()
	if rewatch {
		// A root that stays keeps its watcher.
		if err := f.catalog().SetRoots(ctx, nil); err != nil {
			return err
		}
	}
	return f.catalog().SetRoots(ctx, *f.configs.Load())
}

// serves tells whether there is a root that memories may come from.
func (f *features) serves() bool {
	if len(*f.configs.Load()) == 0 {
		return false
	}
	roots := f.catalog().Snapshot().Roots()
	return len(roots) == 0 || slices.ContainsFunc(roots, func(r memory.RootStatus) bool {
		return r.Catalogued > 0 || r.State != memory.StateUntrusted && r.State != memory.StateError &&
			(r.State != memory.StateMissing || !f.isNew(r.Root.Path))
	})
}

// loaded is the snapshot for a request that reads: it waits for a first scan
// that is under way, as a refinement does.
func (f *features) loaded(ctx context.Context) (*memory.Snapshot, error) {
	if f.catalog().Snapshot().Loading() {
		f.ready(ctx, sweptWait)
	}
	return f.catalog().Snapshot(), ctx.Err()
}
