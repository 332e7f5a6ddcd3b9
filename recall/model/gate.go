package model

import (
	"context"
	"errors"
	"fmt"
)

var (
	errBusy    = errors.New("too many requests are waiting")
	errWaiting = errors.New("waiting for a place")
)

// gate admits a bounded number of holders and keeps a bounded number waiting,
// in the order of their coming.
type gate struct {
	places chan struct{} // one token per holder
	queue  chan struct{} // one token per caller inside enter or holding
}

func newGate(holders, waiting int) *gate {
	return &gate{places: make(chan struct{}, holders), queue: make(chan struct{}, holders+waiting)}
}

// enter waits for a place and answers how to leave it. It fails at once with
// errBusy when the queue is full, and with errWaiting around the context's
// error when that ends first.
func (g *gate) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", errWaiting, err)
	}
	select {
	case g.queue <- struct{}{}:
	default:
		return nil, errBusy
	}
	select {
	case g.places <- struct{}{}:
		return func() { <-g.places; <-g.queue }, nil
	case <-ctx.Done():
		<-g.queue
		return nil, fmt.Errorf("%w: %w", errWaiting, ctx.Err())
	}
}
