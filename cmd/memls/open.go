package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// opened is the memory as one command sees it.
type opened struct {
	catalog *memory.Catalog
	snap    *memory.Snapshot
	status  []memory.RootStatus
	sample  bool
	found   *surroundings // nil when the roots were named
	took    time.Duration // reading and indexing
	ends    []func() error
}

// open reads the roots that the flags name, or those that are found, or the
// sample memory without any, and waits until all is read. The caller must close
// what it gets.
func (p *program) open(ctx context.Context, f *rootFlags, watch memory.WatchFactory, log *slog.Logger) (o *opened, err error) {
	began := time.Now()
	configs, found, err := p.choose(f)
	if err != nil {
		return nil, err
	}
	o = &opened{sample: len(configs) == 0 && !f.bare, found: found}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.close())
			o = nil
		}
	}()
	if o.sample {
		roots, remove, err := writeSample()
		if err != nil {
			return o, err
		}
		configs = roots
		o.ends = append(o.ends, remove)
	}
	if err := o.read(ctx, memory.CatalogOptions{Roots: configs, Watch: watch, Index: recall.NewIndexer(), Log: log, Images: o.images()}); err != nil {
		return o, err
	}
	o.took = time.Since(began)
	if o.sample {
		fmt.Fprintf(p.stderr, "memls: no memories are kept for this directory: using the built-in sample (%s of an invented project); name yours with --root DIR\n",
			count(o.snap.Len(), "note"))
	}
	for _, r := range o.status {
		if twice := r.Root.Twice(); twice != "" {
			fmt.Fprintf(p.stderr, "memls: %s\n", safeLine(twice))
		}
	}
	if f.shows {
		return o, nil
	}
	return o, o.served(p, found == nil, f.writes)
}

// images are those that a server keeps: a command reads them, and writes none.
func (o *opened) images() memory.ImageOptions {
	if o.sample {
		return memory.ImageOptions{}
	}
	return memory.ImageOptions{State: stateHome()}
}

func (o *opened) read(ctx context.Context, opt memory.CatalogOptions) error {
	catalog, err := memory.NewCatalog(opt)
	if err != nil {
		return fmt.Errorf("open the memory: %w", err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- catalog.Run(running) }()
	o.catalog = catalog
	o.ends = append(o.ends, func() error { stop(); return <-ended })
	if err := catalog.Sync(ctx); err != nil {
		return fmt.Errorf("read the memory: %w", err)
	}
	o.snap, o.status = catalog.Snapshot(), catalog.Status()
	return nil
}

// broken tells whether a root is not there, or cannot be read. For a command
// that writes, a missing one is still to be made.
func broken(r memory.RootStatus, writes bool) bool {
	return r.State == memory.StateError || r.State == memory.StateMissing && !writes
}

// served says which roots cannot be read. It is an error only when none can. Of
// roots that were named it has been said which are not there.
func (o *opened) served(p *program, named, writes bool) error {
	var faults []string
	for _, r := range o.status {
		if r.Root.Untrusted || r.Root.Refused != "" {
			continue // reported when it was found
		}
		if named && checkRoot(memory.RootConfig{Path: r.Root.Path}) != nil {
			continue
		}
		if broken(r, writes) {
			faults = append(faults, fmt.Sprintf("memory root %s: %s", r.Root.Path, r.Reason))
		}
	}
	if len(o.status) > 0 && !slices.ContainsFunc(o.status, func(r memory.RootStatus) bool { return !broken(r, writes) }) {
		return failure(errors.New(strings.Join(faults, "; ")))
	}
	for _, f := range faults {
		fmt.Fprintf(p.stderr, "memls: %s; it is left out\n", safeLine(f))
	}
	return nil
}

// skipped counts the files that are there and were not read.
func (o *opened) skipped() int {
	n := 0
	for _, r := range o.status {
		n += len(r.Skipped)
	}
	return n
}

// close ends everything that open began, last first.
func (o *opened) close() error {
	var errs []error
	for i := len(o.ends) - 1; i >= 0; i-- {
		errs = append(errs, o.ends[i]())
	}
	return errors.Join(errs...)
}
