package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/memory/vectors"
	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/meaning"
)

const (
	// vectorWait bounds the making of vectors that are missing, which a person waits
	// for. What is made is kept, so that the next command goes on from there.
	vectorWait = time.Minute
	// vectorTokens is what is sent away at most in a day for vectors, as for a server
	// whose client says nothing.
	vectorTokens = 200_000
)

// meaning makes a search by meaning over what was read, with all vectors that can be
// had within vectorWait; nil without an embedding model. The sample memory's are not
// kept.
func (o *opened) meaning(ctx context.Context, p *program, e meaning.Embedder, log *slog.Logger) (recall.Meaning, error) {
	if e == nil {
		return nil, nil
	}
	opt := meaning.Options{Embedder: e, Snapshot: o.catalog.Snapshot, Log: log}
	if state := stateHome(); state != "" && !o.sample {
		store, err := memory.NewStore(memory.StoreOptions{State: state, Roots: o.roots, Snapshot: o.catalog.Snapshot, Log: log})
		if err != nil {
			return nil, failure(err)
		}
		opt.Files, opt.Reserve = vectors.Open(state), meaning.ReserveOf(store, vectorTokens)
	}
	s := meaning.New(opt)
	bounded, cancel := context.WithTimeout(ctx, vectorWait)
	defer cancel()
	began := time.Now()
	err := s.Fill(bounded, 1)
	if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return nil, err
	}
	if took := time.Since(began); took > time.Second {
		st := s.Status()
		fmt.Fprintf(p.stderr, "memls: vectors of %d of %d passages are there after %s; they are kept\n", st.Vectors, st.Total, milliseconds(took))
	}
	return s, nil
}

// roots are those that were read.
func (o *opened) roots() []*memory.Root {
	roots := make([]*memory.Root, len(o.status))
	for i := range o.status {
		roots[i] = o.status[i].Root
	}
	return roots
}
