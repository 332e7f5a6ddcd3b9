// Package meaning finds memories by what they mean: it has an embedding model turn
// them into vectors, in the background, as they change, and compares a query's vector
// with theirs. It keeps no text: a vector is named by the digest of what it was made
// of, belongs to one model, and goes when its memory goes.
package meaning

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/memory/vectors"
	"github.com/memls/memls/recall/model"
)

const (
	// MaxVectors bounds the vectors that are compared with a query. Beyond it there is
	// no search by meaning, and results say so: a part of the memories would be a
	// window that nobody sees.
	MaxVectors = 200_000
	// QueryTimeout bounds the wait for the vector of a query.
	QueryTimeout = 2 * time.Second
	// batchTimeout bounds one request for vectors of memories: a local model without a
	// graphics card takes seconds for a batch, and half a minute while it is loaded.
	batchTimeout = 2 * time.Minute
	// maxBatch is how many texts one request holds.
	maxBatch = 32

	// gatherPause is how long changes gather before they are looked at.
	gatherPause = 50 * time.Millisecond
	// savePause is how often vectors are saved while more are made.
	savePause = 20 * time.Second

	firstRetry, lastRetry = time.Second, 5 * time.Minute
	// maxRefusals is how many texts in a row an endpoint may refuse one by one before
	// the endpoint is taken to be at fault, and not the texts.
	maxRefusals = 3
	// maxResets is how often vectors may turn out to be of another length before the
	// endpoint is given up for now.
	maxResets = 2
)

// Embedder makes vectors. [*model.Embedder] is one.
type Embedder interface {
	Embed(ctx context.Context, r model.EmbedRequest) ([][]float32, model.Usage, error)
	Name() string
	ID() string  // tells apart models whose vectors must not be mixed
	Local() bool // what is sent stays on this machine
}

// Files keeps vectors between runs. [*vectors.Store] is one.
type Files interface {
	Load(root, model string) (*vectors.File, error)
	Save(ctx context.Context, f *vectors.File) error
}

// Options are what a [Service] needs.
type Options struct {
	Embedder Embedder
	Snapshot func() *memory.Snapshot
	Files    Files // nil keeps nothing
	// Reserve is asked before texts of memories are sent to an endpoint that is not on
	// this machine; nil sends them all.
	Reserve Reserve
	// Begin opens a task when many vectors are to be made; nil shows nobody.
	Begin func(ctx context.Context) (Task, error)
	Log   *slog.Logger
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
	// QueryTimeout is at most, and by default, [QueryTimeout].
	QueryTimeout time.Duration
	// MaxVectors is [MaxVectors] when it is 0.
	MaxVectors int
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	if o.QueryTimeout <= 0 || o.QueryTimeout > QueryTimeout {
		o.QueryTimeout = QueryTimeout
	}
	if o.MaxVectors == 0 {
		o.MaxVectors = MaxVectors
	}
	return o
}

// Service keeps the vectors of the memories of one catalog, for one model. It is safe
// for concurrent use.
type Service struct {
	opt   Options
	index *Exact
	wake  chan struct{} // of capacity one

	mu        sync.Mutex
	docs      map[*memory.Document]*entry
	byKey     map[key]int // text -> a row that has its vector
	roots     map[string]*root
	queue     []*memory.Document // with passages that wait for vectors, the newest first
	wanted    int                // passages of all documents
	counts    [states]int        // of them, by state
	snap      *memory.Snapshot   // the last that was looked at
	synced    bool               // a whole catalog was looked at
	reference []float32
	batch     int
	refusals  int // of single texts, one after the other
	resets    int
	fault     string // why vectors are not made now; empty when they are
	broke     bool   // because the day's budget is spent
	retry     time.Duration
	notBefore time.Time
	saved     time.Time

	cancelled bool // no vectors are made any more

	// Of the goroutine that works.
	task   Task
	untold bool // there was no task to be had for what waits

	asked asked
}

// root is what is known of one root of the catalog.
type root struct {
	of      *memory.Root
	total   int                 // its documents
	stored  map[key]vectors.Row // loaded, and not yet claimed by a document
	sample  []float32           // quantiles of the similarities of unrelated texts
	sampled int                 // documents that the root had then
	docs    int                 // that have a vector
	dirty   bool                // not saved as it is
}

// The states of a passage, as the row of one without a vector.
const (
	waiting   = -1 - iota // for a vector
	withheld              // holds a credential, which is not sent away
	refused               // the endpoint takes everything but this text
	forgotten             // purged, and about to go

	states = 5
)

// entry is one document with its passages.
type entry struct {
	keys []key
	rows []int // a row of the index, or a state below zero
}

// New returns a service. Nothing happens before it runs.
func New(opt Options) *Service {
	opt = opt.withDefaults()
	return &Service{
		opt: opt, index: NewExact(opt.Embedder.ID()), wake: make(chan struct{}, 1), batch: maxBatch,
		docs: map[*memory.Document]*entry{}, byKey: map[key]int{}, roots: map[string]*root{},
	}
}

// Changed says that the catalog has changed. It does not wait.
func (s *Service) Changed() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run keeps vectors current until ctx ends.
func (s *Service) Run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := s.turn(ctx)
		s.save(ctx, wait > 0)
		if wait == 0 {
			continue
		}
		select {
		case <-ctx.Done():
		case <-s.opt.After(wait):
		case <-s.wake:
			select {
			case <-ctx.Done():
			case <-s.opt.After(gatherPause):
			}
		}
	}
	s.endTask(errStopped.Detail, errStopped)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	s.save(last, true)
}

// Fill makes the vectors that are missing, for as long as ctx allows, and saves them.
// It gives up after so many failures of the endpoint in a row; [Service.Near] then says
// what is missing, and why.
func (s *Service) Fill(ctx context.Context, tries int) error {
	for failed := 0; ; {
		wait := s.turn(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		if wait == 0 {
			failed = 0
			continue
		}
		s.mu.Lock()
		done := s.fault == "" || s.broke
		s.mu.Unlock()
		if failed++; done || failed >= tries {
			s.save(ctx, true)
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.opt.After(wait):
		}
	}
}
