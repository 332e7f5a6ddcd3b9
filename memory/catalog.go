package memory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// ErrStopped is returned by a catalog whose Run has ended.
var ErrStopped = errors.New("the catalog has stopped")

// Indexer keeps a search index beside the documents. It is called by the
// catalog's one writer only. prev is what it answered last, nil at first; a
// changed document is in both lists, its old value in removed and its new one in
// added. What it answers becomes part of a snapshot, and so may never change.
type Indexer interface {
	Update(prev any, removed, added []*Document) any
}

// Joiner is an [Indexer] that goes on with its work beside the catalog's writer, to
// make queries faster. Update, also one without a change, takes up what is done.
type Joiner interface {
	Indexer
	// Joined is told when there is something to take up.
	Joined() <-chan struct{}
	// Wait returns when no work is under way.
	Wait()
}

// FileChange is what a watcher found since its last one. Paths are files,
// slash-separated, below the root; those that its name filter does not keep are
// left out.
type FileChange struct {
	Changed []string // new, changed, or to be looked at again
	Removed []string
	// Skipped are all entries that are not watched, valid when SkipsKnown.
	Skipped    []Skip
	SkipsKnown bool
	Full       bool // a complete walk of the root stands behind it
	Missing    bool // the root itself is absent
}

// Watcher notices changes below one root. Run calls the sink from one goroutine,
// in order; the sink blocks while the changes are read. Status and Poke must not
// wait for the sink. Sync returns when the findings of a walk begun after the
// call have been taken by the sink.
type Watcher interface {
	Run(ctx context.Context) error
	Poke()
	Sync(ctx context.Context) error
	Status() WatchStatus
}

// WatchFactory makes the watcher of a root's directory.
type WatchFactory func(dir string, keep func(rel string, dir bool) bool, sink func(FileChange)) Watcher

// ChangeSet tells which documents a new revision changed, by ref: at most
// maxChangeRefs of them, and Truncated when there were more.
type ChangeSet struct {
	Revision                uint64
	Added, Updated, Removed []string
	Truncated               bool
}

// CatalogOptions is what a catalog needs. Only Watch is required.
type CatalogOptions struct {
	Roots []RootConfig
	Watch WatchFactory
	Index Indexer
	// Images keeps what was read for the next start.
	Images ImageOptions
	Log    *slog.Logger

	// OnChange is called after a revision is published, OnStatus after the state
	// of a root or of its watcher changed. Both are called by the writer: they
	// must be quick and must not call back into Sync or SetRoots.
	OnChange func(ChangeSet)
	OnStatus func()

	// Open opens every memory file; OpenFile when nil. A test counts with it what
	// is opened.
	Open OpenFunc
	// Now and After are the clock; that of package time when nil.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
	// Recheck is how often watchers are asked for their mode and files that could
	// not be read are tried again; 5 s when zero.
	Recheck time.Duration
}

const (
	// maxReaders bounds the files that are read at a time, over all roots.
	maxReaders = 4
	// maxChangeRefs bounds the refs of a ChangeSet, as memory/changed does.
	maxChangeRefs = 200

	defaultRecheck = 5 * time.Second
)

// Catalog keeps the documents of all roots. One goroutine, in Run, writes;
// everything else reads what it last published.
type Catalog struct {
	opt     CatalogOptions
	cur     atomic.Pointer[published]
	in      chan func(*writer) // what the writer does next
	readers chan struct{}      // tokens, one for each file being read
	ended   chan struct{}      // closed when Run has ended
	images  *images            // nil when none are kept

	mu      sync.Mutex // guards started, and until then w
	started bool
	w       *writer
}

// published is a snapshot with what goes along with it.
type published struct {
	snap *Snapshot
	next chan struct{} // closed when another one is published
	live []*source     // in the order of snap.roots
}

// NewCatalog resolves the roots and makes a catalog that is still empty. A root
// that does not exist or is no directory has a status that says so; an error
// means that the options are wrong.
func NewCatalog(opt CatalogOptions) (*Catalog, error) {
	if opt.Watch == nil {
		return nil, errors.New("catalog without a watcher")
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Open == nil {
		opt.Open = OpenFile
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.After == nil {
		opt.After = time.After
	}
	if opt.Recheck <= 0 {
		opt.Recheck = defaultRecheck
	}
	if opt.Images.Aged <= 0 {
		opt.Images.Aged = racyWindow
	}
	c := &Catalog{
		opt: opt, in: make(chan func(*writer)),
		readers: make(chan struct{}, maxReaders), ended: make(chan struct{}),
	}
	roots, err := resolveRoots(opt.Roots)
	if err != nil {
		return nil, err
	}
	if c.images, err = newImages(&c.opt); err != nil {
		return nil, err
	}
	c.w = newWriter(c)
	c.w.setRoots(roots)
	return c, nil
}

// Run keeps the catalog current until ctx ends, and returns nil then. Everything
// that it started has ended when it returns; the last snapshot stays readable.
// It can be called once.
func (c *Catalog) Run(ctx context.Context) error {
	c.mu.Lock()
	if c.started {
		c.mu.Unlock()
		return errors.New("the catalog has been started before")
	}
	c.started = true
	c.mu.Unlock()
	defer close(c.ended)
	var images sync.WaitGroup
	defer images.Wait()
	if c.images != nil && c.images.opt.Write {
		images.Go(func() { c.keepImages(ctx) })
	}
	c.w.run(ctx)
	return nil
}

// Snapshot is the newest snapshot: never nil, never waited for.
func (c *Catalog) Snapshot() *Snapshot { return c.cur.Load().snap }

// Changed is closed when a snapshot newer than the present one is published. Take
// it before Snapshot, so that none is missed.
func (c *Catalog) Changed() <-chan struct{} { return c.cur.Load().next }

// Status is Snapshot().Roots() with what the watchers say now.
func (c *Catalog) Status() []RootStatus {
	p := c.cur.Load()
	roots := p.snap.Roots()
	for i, src := range p.live {
		if src.watch != nil {
			roots[i] = roots[i].watched(src.watch.Status())
		}
	}
	return roots
}

// Ready waits until no root is loading.
func (c *Catalog) Ready(ctx context.Context) error {
	for {
		p := c.cur.Load()
		if !p.snap.Loading() {
			return nil
		}
		select {
		case <-p.next:
		case <-c.ended:
			return ErrStopped
		case <-ctx.Done():
			return fmt.Errorf("waiting for the first scan: %w", ctx.Err())
		}
	}
}

// Poke asks every watcher to look soon. It never blocks.
func (c *Catalog) Poke() {
	for _, src := range c.cur.Load().live {
		if src.watch != nil {
			src.watch.Poke()
		}
	}
}

// Sync returns when everything that was on disk at the call is in the snapshot.
func (c *Catalog) Sync(ctx context.Context) error {
	// Nothing to wait for before the writer, and with it the watchers, runs.
	var live []*source
	if err := c.do(ctx, func(*writer) { live = c.cur.Load().live }); err != nil {
		return err
	}
	errs := make([]error, len(live))
	var wg sync.WaitGroup
	for i, src := range live {
		wg.Go(func() { errs[i] = src.sync(ctx) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	settled := make(chan struct{})
	if err := c.do(ctx, func(w *writer) { w.whenSettled(settled) }); err != nil {
		return err
	}
	select {
	case <-settled:
		return nil
	case <-c.ended:
		return ErrStopped
	case <-ctx.Done():
		return fmt.Errorf("waiting for files that are being saved: %w", ctx.Err())
	}
}

// SetRoots replaces the roots. A root that stays keeps its documents and its
// watcher; it returns when those that went have released theirs.
func (c *Catalog) SetRoots(ctx context.Context, configs []RootConfig) error {
	roots, err := resolveRoots(configs)
	if err != nil {
		return err
	}
	c.mu.Lock()
	if !c.started {
		defer c.mu.Unlock()
		c.w.setRoots(roots)
		return nil
	}
	c.mu.Unlock()
	var gone []*source
	if err := c.do(ctx, func(w *writer) { gone = w.setRoots(roots) }); err != nil {
		return err
	}
	for _, src := range gone {
		select {
		case <-src.done:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the watcher of %s to end: %w", src.real, ctx.Err())
		}
	}
	return nil
}

// do has the writer call f and waits until it has.
func (c *Catalog) do(ctx context.Context, f func(*writer)) error {
	done := make(chan struct{})
	select {
	case c.in <- func(w *writer) { defer close(done); f(w) }:
		<-done
		return nil
	case <-c.ended:
		return ErrStopped
	case <-ctx.Done():
		return fmt.Errorf("waiting for the catalog: %w", ctx.Err())
	}
}
