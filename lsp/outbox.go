package lsp

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

const (
	// defaultOutboxBytes bounds what waits for a client that reads slowly. It
	// holds some three hundred complete recall results of five documents with
	// their prompts, or several memory/list answers over a very large store;
	// a client further behind than that does not come back.
	defaultOutboxBytes = 32 << 20

	// defaultWriteTimeout is how long one write of at most writePiece bytes
	// may take before the client counts as gone. An editor that is stopped in
	// a debugger for longer is disconnected.
	defaultWriteTimeout = 30 * time.Second

	// writePiece is the most that one write carries: the capacity of a Linux
	// pipe. Small frames are joined up to it, large ones are cut by it, so
	// that the write time-out measures progress and not the size of a frame.
	writePiece = 64 << 10

	// never is when a timer fires that only Reset arms.
	never = time.Duration(1<<63 - 1)

	// headerRoom holds "Content-Length: ", any int64 and two line ends.
	headerRoom = 16 + 19 + 4
)

var (
	errOutboxClosed = errors.New("the connection no longer takes frames")
	errOutboxFull   = errors.New("the client does not read: outbox full")
	errWriteStuck   = errors.New("the client does not read: write timed out")
)

// outbox is the one way out of a connection. Frames leave in the order in
// which they entered; entering never blocks.
//
// Inv: size is the sum of the queued frames and of what the writer still holds.
// Inv: size > limit only by a single frame that entered an empty outbox.
type outbox struct {
	w       io.Writer
	limit   int
	timeout time.Duration
	failed  func(error) // called once, without locks held

	mu     sync.Mutex
	queue  []*outgoing
	merge  map[string]*outgoing // the queued frames that may still be replaced
	size   int
	closed bool
	err    error         // why the outbox failed; nil while it works
	idle   chan struct{} // closed when size falls to zero; nil when nobody waits

	wake chan struct{} // of capacity one
	done chan struct{} // closed when the writer has ended
}

// outgoing is one frame in the queue.
type outgoing struct {
	frame []byte
	key   string // "" for a frame that must not be merged
	value any    // what frame encodes, kept while it may be merged
}

func newOutbox(w io.Writer, limit int, timeout time.Duration, failed func(error)) *outbox {
	return &outbox{
		w: w, limit: limit, timeout: timeout, failed: failed,
		merge: map[string]*outgoing{},
		wake:  make(chan struct{}, 1),
		done:  make(chan struct{}),
	}
}

// frame lays out one message with its header. body appends the message.
func frame(sizeHint int, body func(dst []byte) []byte) []byte {
	buf := body(make([]byte, headerRoom, headerRoom+sizeHint))
	var head [headerRoom]byte
	h := append(head[:0], "Content-Length: "...)
	h = strconv.AppendInt(h, int64(len(buf)-headerRoom), 10)
	h = append(h, "\r\n\r\n"...)
	start := headerRoom - len(h)
	copy(buf[start:], h)
	return buf[start:]
}

// push queues a frame that is delivered as it is. A nil error means that the
// frame has entered the outbox.
func (o *outbox) push(frame []byte) error {
	return o.enter(func() error { return o.add(&outgoing{frame: frame}) })
}

// pushMerged queues v, or merges it into the value queued under the same key,
// which keeps its place. merge and encode run under the outbox's lock: they
// must be quick and must not use the connection.
func (o *outbox) pushMerged(key string, v any, merge func(old, next any) any, encode func(v any) ([]byte, error)) error {
	return o.enter(func() error {
		old := o.merge[key]
		if old != nil {
			v = merge(old.value, v)
		}
		frame, err := encode(v)
		if err != nil {
			return err
		}
		if old == nil {
			next := &outgoing{frame: frame, key: key, value: v}
			if err := o.add(next); err != nil {
				return err
			}
			o.merge[key] = next
			return nil
		}
		o.size += len(frame) - len(old.frame)
		old.frame, old.value = frame, v
		return nil
	})
}

// enter runs add under the lock and fails the outbox when it has overflowed.
func (o *outbox) enter(add func() error) error {
	err := func() error {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.closed {
			return o.closedError()
		}
		return add()
	}()
	if errors.Is(err, errOutboxFull) {
		o.fail(err)
		return err
	}
	if err == nil {
		o.signal()
	}
	return err
}

func (o *outbox) add(f *outgoing) error {
	if o.size > 0 && o.size+len(f.frame) > o.limit {
		return fmt.Errorf("%w (%d bytes wait, the bound is %d)", errOutboxFull, o.size, o.limit)
	}
	o.queue = append(o.queue, f)
	o.size += len(f.frame)
	return nil
}

func (o *outbox) closedError() error {
	if o.err != nil {
		return fmt.Errorf("%w: %w", errOutboxClosed, o.err)
	}
	return errOutboxClosed
}

// drained returns a channel that is closed as soon as nothing is left to write,
// or the outbox has failed.
func (o *outbox) drained() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.idle == nil {
		o.idle = make(chan struct{})
		defer o.announceIdle()
	}
	return o.idle
}

// announceIdle tells who waits for it that nothing is left to write. Inv: mu
// is held.
func (o *outbox) announceIdle() {
	if o.idle != nil && (o.size == 0 || o.err != nil) {
		close(o.idle)
		o.idle = nil
	}
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// close takes no more frames and lets the writer end when the queue is empty.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.signal()
}

// fail gives the client up: what is queued is dropped.
func (o *outbox) fail(err error) {
	o.mu.Lock()
	first := o.err == nil
	if first {
		o.err = err
	}
	o.closed = true
	o.size -= queuedBytes(o.queue)
	o.queue = nil
	clear(o.merge)
	o.announceIdle()
	o.mu.Unlock()
	o.signal()
	if first {
		o.failed(err)
	}
}

func queuedBytes(queue []*outgoing) (n int) {
	for _, f := range queue {
		n += len(f.frame)
	}
	return n
}

// run writes until the outbox is closed and empty, or has failed.
func (o *outbox) run() {
	defer close(o.done)
	stuck := time.AfterFunc(never, func() {
		o.fail(fmt.Errorf("%w after %v", errWriteStuck, o.timeout))
	})
	defer stuck.Stop()
	scratch := make([]byte, 0, 4<<10)
	for {
		batch, more := o.take(scratch[:0])
		if !more {
			return
		}
		if len(batch) == 0 {
			<-o.wake
			continue
		}
		if cap(batch) <= writePiece {
			scratch = batch
		}
		if err := o.write(batch, stuck); err != nil {
			o.fail(fmt.Errorf("write to the client: %w", err))
			return
		}
	}
}

// take removes the next frames from the queue: as many as fit one write, or a
// large one alone. more is false when nothing can follow.
func (o *outbox) take(scratch []byte) (batch []byte, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, f := range o.queue {
		if n > 0 && len(scratch)+len(f.frame) > writePiece {
			break
		}
		if f.key != "" {
			delete(o.merge, f.key)
		}
		n++
		if len(f.frame) > writePiece {
			scratch = f.frame
			break
		}
		scratch = append(scratch, f.frame...)
	}
	clear(o.queue[:n])
	if o.queue = o.queue[n:]; len(o.queue) == 0 {
		o.queue = nil
	}
	return scratch, n > 0 || !o.closed
}

func (o *outbox) write(batch []byte, stuck *time.Timer) error {
	for len(batch) > 0 {
		piece := batch[:min(len(batch), writePiece)]
		stuck.Reset(o.timeout)
		_, err := o.w.Write(piece)
		stuck.Stop()
		if err != nil {
			return err
		}
		batch = batch[len(piece):]
		o.mu.Lock()
		o.size -= len(piece)
		o.announceIdle()
		o.mu.Unlock()
	}
	return nil
}
