// Package delivery measures whether the right memory reaches the model while it
// still helps: it drives real connections with a model endpoint that is right
// but slow, and reckons what an agent host would have had at each moment at
// which it may add text to a request.
package delivery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.lsp.dev/uri"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/recall/model/modeltest"
)

const (
	// initialWait is how long a host holds its first request back for a recall
	// that has brought nothing yet.
	initialWait = 100 * time.Millisecond
	// perConnection is how many recalls one connection has under way, no more
	// than its model client asks at once: otherwise waiting for a turn would be
	// measured, and not the endpoint.
	perConnection = 4
)

// Latencies are those of the selector that reports are made for.
func Latencies() []time.Duration {
	return []time.Duration{40 * time.Millisecond, 250 * time.Millisecond, 600 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second}
}

// Case is one query with the memories that answer it.
type Case struct {
	ID, Query string
	Relevant  []string // refs; empty when silence is right
	Titles    []string // of the relevant ones, by which the endpoint chooses
	// Lexical tells that query and answer share a word, so that the
	// deterministic result can be expected to have it.
	Lexical bool
	// Baseline are the refs that the design that memls starts from delivers at
	// once; see [Report.Baseline].
	Baseline []string
}

// Options are what is measured.
type Options struct {
	Dir         string // the memories, served as a project root
	Cases       []Case
	Latencies   []time.Duration
	Connections int // for each latency; default 4
	// InitialWait is how long a host holds the first request of a turn back for a
	// recall that has brought nothing yet; default 100 ms.
	InitialWait time.Duration
	// Setup makes the features of one connection, as for [lsp.Options].
	Setup func() func(*lsp.Server) error
}

// observation is what one recall brought and when, since its request.
type observation struct {
	fast, refined, retracted []string
	fastAt, refinedAt        time.Duration
	strategy                 string
}

// Run measures. It takes about twice as long as the slowest latency times the
// cases over what runs at once.
func Run(ctx context.Context, opt Options) (*Report, error) {
	if opt.Connections <= 0 {
		opt.Connections = 4
	}
	if opt.InitialWait <= 0 {
		opt.InitialWait = initialWait
	}
	report := &Report{Cases: len(opt.Cases), Baseline: baseline(&opt)}
	// One mode after the other, so that neither measures the load of both.
	pushed, err := observeAll(ctx, &opt, (*connection).recall)
	if err != nil {
		return nil, err
	}
	pulledTurns, err := observeAll(ctx, &opt, (*connection).turn)
	if err != nil {
		return nil, err
	}
	for i, latency := range opt.Latencies {
		report.Rows = append(report.Rows, reckon(&opt, pushed[i], latency)...)
		report.Rows = append(report.Rows, pulled(&opt, pulledTurns[i], latency)...)
		report.Waits = append(report.Waits, waits(pulledTurns[i], latency)...)
		report.miss(&opt, pushed[i])
	}
	return report, nil
}

// observeAll observes every latency.
func observeAll[T any](ctx context.Context, opt *Options, put func(*connection, context.Context, Case) (T, error)) ([][]T, error) {
	seen, errs := make([][]T, len(opt.Latencies)), make([]error, len(opt.Latencies))
	var group sync.WaitGroup
	for i, latency := range opt.Latencies {
		group.Go(func() { seen[i], errs[i] = observe(ctx, opt, latency, put) })
	}
	group.Wait()
	return seen, errors.Join(errs...)
}

// observe puts every case, by put, to a server whose model takes latency to be
// right.
func observe[T any](ctx context.Context, opt *Options, latency time.Duration, put func(*connection, context.Context, Case) (T, error)) ([]T, error) {
	stub := modeltest.Start()
	defer stub.Close()
	titles := make(map[string][]string, len(opt.Cases))
	for _, c := range opt.Cases {
		titles[c.Query] = c.Titles
	}
	stub.Otherwise(modeltest.After(latency, modeltest.ChooseBy(func(chat modeltest.Chat) []string {
		return chat.IDs(titles[requestOf(chat)]...)
	})))
	seen := make([]T, len(opt.Cases))
	work := make(chan int)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	conns, err := connectAll(ctx, opt, stub.URL())
	defer func() {
		for _, c := range conns {
			c.close()
		}
	}()
	if err != nil {
		return nil, fmt.Errorf("selector latency %v: %w", latency, err)
	}
	var group sync.WaitGroup
	for _, conn := range conns {
		for range perConnection {
			group.Go(func() {
				for i := range work {
					o, err := put(conn, ctx, opt.Cases[i])
					if err != nil {
						cancel(fmt.Errorf("selector latency %v, case %s: %w", latency, opt.Cases[i].ID, err))
						return
					}
					seen[i] = o
				}
			})
		}
	}
feed:
	for i := range opt.Cases {
		select {
		case work <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(work)
	group.Wait()
	return seen, context.Cause(ctx)
}

// connection is a host's end of one connection.
type connection struct {
	client *client
	ended  chan struct{}
}

// connectAll opens the connections; with an error it returns those that it opened.
func connectAll(ctx context.Context, opt *Options, modelURL string) ([]*connection, error) {
	var conns []*connection
	for range opt.Connections {
		c, err := connect(ctx, opt, modelURL)
		if err != nil {
			return conns, err
		}
		conns = append(conns, c)
	}
	return conns, nil
}

func connect(ctx context.Context, opt *Options, modelURL string) (*connection, error) {
	here, there := net.Pipe()
	c := &connection{client: newClient(ctx, here), ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		_, _ = lsp.Serve(ctx, there, lsp.Options{Setup: opt.Setup()})
	}()
	dir, err := filepath.Abs(opt.Dir)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", opt.Dir, err)
	}
	err = c.client.call(ctx, "initialize", map[string]any{
		"processId": nil, "capabilities": map[string]any{}, "rootUri": uri.File(dir),
		"initializationOptions": map[string]any{
			"trusted": true,
			"roots":   []any{map[string]any{"scope": "project", "path": dir}},
			"model":   map[string]any{"baseURL": modelURL, "name": "measured"},
		},
	}, nil)
	if err != nil {
		c.close()
		return nil, fmt.Errorf("initialize: %w", err)
	}
	if err := c.client.notify(ctx, "initialized", map[string]any{}); err != nil {
		c.close()
		return nil, fmt.Errorf("initialized: %w", err)
	}
	if err := c.settled(ctx); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// settled waits until the server has read its root, so that no case measures the
// first scan.
func (c *connection) settled(ctx context.Context) error {
	for {
		var status lsp.StatusResult
		if err := c.client.call(ctx, "memory/status", map[string]any{}, &status); err != nil {
			return fmt.Errorf("ask for the status: %w", err)
		}
		if !slices.ContainsFunc(status.Roots, func(r lsp.RootStatus) bool { return r.State == "loading" }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (c *connection) recall(ctx context.Context, cs Case) (observation, error) {
	var o observation
	session := "delivery-" + cs.ID
	began := time.Now()
	stop := c.client.watch(session, func(method string, r *lsp.RecallResult) {
		refs := refsOf(r)
		switch method {
		case lsp.NotifyRecallFast:
			o.fast, o.fastAt = refs, time.Since(began)
		case lsp.NotifyRecallRefined:
			o.refined, o.refinedAt, o.strategy = refs, time.Since(began), r.Strategy
			o.retracted = r.Retract
		}
	})
	defer stop()
	var answer lsp.RecallResponse
	err := c.client.call(ctx, "memory/recall", lsp.RecallParams{Token: "t", Session: session, Query: cs.Query}, &answer)
	if err != nil {
		return o, err
	}
	if answer.Outcome == "settled" && o.strategy == "" {
		return o, fmt.Errorf("settled without a refined result")
	}
	return o, nil
}

func (c *connection) close() {
	c.client.close()
	<-c.ended
}
