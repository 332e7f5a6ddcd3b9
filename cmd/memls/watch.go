package main

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/watcher"
)

// This file fits package watcher to what the catalog wants of a watcher; the
// two know nothing of each other.

// keepFunc is a name filter of the catalog.
type keepFunc = func(rel string, dir bool) bool

// followers makes watchers that follow a root for as long as they run: by
// events where there are any, or by polling when poll is set.
func followers(poll bool, log *slog.Logger) memory.WatchFactory {
	return func(dir string, keep func(rel string, dir bool) bool, sink func(memory.FileChange)) memory.Watcher {
		return newFollower(dir, poll, keep, sink, log)
	}
}

func newFollower(dir string, poll bool, keep keepFunc, sink func(memory.FileChange), log *slog.Logger) *follower {
	w := watcher.New(dir, watcher.Options{Poll: poll, Keep: keep, Log: log}, func(b watcher.Batch) { sink(fileChange(b)) })
	return &follower{Watcher: w, poll: poll}
}

// follower is a [memory.Watcher].
type follower struct {
	*watcher.Watcher
	poll bool
}

// askedToPoll is how package watcher words the reason of a mode that is just
// what was asked for. The catalog wants no reason then.
const askedToPoll = "polling was asked for"

// Status implements [memory.Watcher].
func (f *follower) Status() memory.WatchStatus {
	s := f.Watcher.Status()
	if f.poll {
		s.Reason = strings.TrimSuffix(strings.TrimSuffix(s.Reason, askedToPoll), "; ")
	}
	return memory.WatchStatus{
		Mode: string(s.Mode), Reason: s.Reason, Since: s.Since, LastEvent: s.LastEvent, LastSweep: s.LastSweep,
	}
}

// scanners makes watchers that look at a root once, for a command that reads
// the memory, answers and ends: no events are subscribed to.
func scanners(log *slog.Logger) memory.WatchFactory {
	return func(dir string, keep func(rel string, dir bool) bool, sink func(memory.FileChange)) memory.Watcher {
		s := &scanner{seen: make(chan struct{}), ended: make(chan struct{})}
		s.follower = newFollower(dir, true, keep, func(c memory.FileChange) {
			sink(c)
			if c.Full || c.Missing {
				s.once.Do(func() { close(s.seen) })
			}
		}, log)
		return s
	}
}

// scanner is a [memory.Watcher] of one walk.
type scanner struct {
	*follower
	once        sync.Once
	seen, ended chan struct{} // the walk has been taken; Run has ended
}

// Run walks the root, and waits for ctx to end.
func (s *scanner) Run(ctx context.Context) error {
	defer close(s.ended)
	walk, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.seen:
			cancel()
		case <-walk.Done():
		}
	}()
	if err := s.follower.Run(walk); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// Poke does nothing: what the walk found is the answer.
func (s *scanner) Poke() {}

// Sync returns when the walk has been taken by the sink.
func (s *scanner) Sync(ctx context.Context) error {
	select {
	case <-s.seen:
		return nil
	case <-s.ended:
		return watcher.ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fileChange is a batch in the catalog's words. Its lists are in no order.
func fileChange(b watcher.Batch) memory.FileChange {
	c := memory.FileChange{
		Changed: slices.Collect(maps.Keys(b.Changed)), Removed: slices.Collect(maps.Keys(b.Removed)),
		SkipsKnown: b.SkipsKnown, Full: b.Full, Missing: b.Missing,
	}
	for _, s := range b.Skipped {
		c.Skipped = append(c.Skipped, memory.Skip{Path: s.Path, Reason: s.Reason})
	}
	return c
}
