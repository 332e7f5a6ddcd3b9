package lsp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
)

const (
	// maxFrame is the largest frame that is read: twice the largest document
	// that editors are known to send whole.
	maxFrame = 64 << 20

	// maxSkip is the largest frame that is skipped to stay in sync. A header
	// that announces more is taken for garbage.
	maxSkip = 1 << 30

	// maxHeader bounds one header block.
	maxHeader = 8 << 10

	// keepBuffer is the largest read buffer that is kept for the next frame.
	keepBuffer = 1 << 20

	// sketchBytes is how much of an oversized frame is searched for its id.
	sketchBytes = 4 << 10
)

// headerError is a header block that says nowhere where its body ends, so that
// no later frame can be found either.
type headerError struct{ problem string }

func (e *headerError) Error() string { return "bad frame header: " + e.problem }

// oversizedFrame is a frame that is skipped. The stream stays in sync.
type oversizedFrame struct {
	size  int64
	start []byte // its first bytes, at most sketchBytes
}

func (e *oversizedFrame) Error() string {
	return fmt.Sprintf("frame of %d bytes exceeds the bound of %d", e.size, maxFrame)
}

// frameReader cuts a byte stream into frame bodies.
type frameReader struct {
	r    *bufio.Reader
	buf  []byte // the last body; borrowed by the caller until the next call
	skip int64  // bytes of an oversized body that are still to be skipped
}

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{r: bufio.NewReaderSize(r, 32<<10)}
}

// next returns the next body, valid until the following call. Errors: io.EOF
// between frames, io.ErrUnexpectedEOF inside one, [*oversizedFrame] after
// which reading goes on, [*headerError] after which it cannot.
func (f *frameReader) next() ([]byte, error) {
	if _, err := io.CopyN(io.Discard, f.r, f.skip); err != nil {
		return nil, cut(err)
	}
	f.skip = 0
	size, err := f.header()
	switch {
	case err != nil:
		return nil, err
	case size > maxSkip:
		return nil, &headerError{problem: fmt.Sprintf("a body of %d bytes is announced", size)}
	case size > maxFrame:
		start, err := f.r.Peek(sketchBytes)
		if err != nil {
			return nil, cut(err)
		}
		f.skip = size
		return nil, &oversizedFrame{size: size, start: bytes.Clone(start)}
	}
	return f.body(int(size))
}

// body reads n bytes. The buffer grows with what arrives: a header alone makes
// nobody allocate 64 MiB.
func (f *frameReader) body(n int) ([]byte, error) {
	buf := f.buf[:0]
	if cap(buf) > keepBuffer {
		buf = nil
	}
	for len(buf) < n {
		start := len(buf)
		end := min(n, start+max(start, 64<<10))
		if cap(buf) < end {
			buf = append(make([]byte, 0, end), buf...)
		}
		buf = buf[:end]
		if _, err := io.ReadFull(f.r, buf[start:]); err != nil {
			return nil, cut(err)
		}
	}
	f.buf = buf
	return buf, nil
}

// header reads one header block and returns its Content-Length.
func (f *frameReader) header() (int64, error) {
	size, read := int64(-1), 0
	for {
		line, err := f.r.ReadSlice('\n')
		read += len(line)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) || read > maxHeader:
			return 0, &headerError{problem: fmt.Sprintf("longer than %d bytes", maxHeader)}
		case errors.Is(err, io.EOF) && read == 0:
			return 0, io.EOF
		case err != nil:
			return 0, cut(err)
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			if size >= 0 {
				return size, nil
			}
			if read > 2 {
				return 0, &headerError{problem: "no Content-Length"}
			}
			continue // a line end left over before the block
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			return 0, &headerError{problem: fmt.Sprintf("line %.40q has no colon", line)}
		}
		if !bytes.EqualFold(bytes.TrimSpace(name), []byte("Content-Length")) {
			continue
		}
		n, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 63)
		if err != nil || size >= 0 && size != int64(n) {
			return 0, &headerError{problem: fmt.Sprintf("Content-Length %.40q", value)}
		}
		size = int64(n)
	}
}

// cut names the end of the stream inside a frame.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// refusal is the answer to a frame that is not a message we can take.
type refusal struct {
	id     jsonrpc2.ID // unset, and null on the wire, where none was found
	err    *jsonrpc2.Error
	silent bool // the frame is a broken answer: answering it would be noise
}

// decodeFrame decodes one frame body, or says how to answer it. The message
// borrows body.
func decodeFrame(body []byte) (jsonrpc2.Message, *refusal) {
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	valid := jsontext.Value(body).IsValid(wireJSON)
	switch {
	case !valid:
		return nil, refuse(body, codeParseError, "malformed JSON")
	case trimmed[0] == '[':
		return nil, &refusal{err: jsonrpc2.Errorf(codeInvalidRequest, "batches are not part of the Language Server Protocol")}
	}
	msg, err := jsonrpc2.DecodeMessage(body)
	if err != nil {
		return nil, refuse(body, codeInvalidRequest, "not a JSON-RPC 2.0 message")
	}
	return msg, nil
}

// refuse answers with the id of the frame, when one stands before the fault:
// the client can then settle the request that it waits for.
func refuse(start []byte, code jsonrpc2.Code, problem string) *refusal {
	r := &refusal{err: jsonrpc2.Errorf(code, "%s", problem)}
	dec := jsontext.NewDecoder(bytes.NewReader(start), wireJSON)
	if dec.PeekKind() != '{' {
		return r
	}
	var method, answer bool
	_, err := dec.ReadToken()
	for err == nil && dec.PeekKind() == '"' {
		var name jsontext.Token
		if name, err = dec.ReadToken(); err != nil {
			break
		}
		switch name.String() {
		case "id":
			var raw jsontext.Value
			if raw, err = dec.ReadValue(); err == nil {
				r.id, _ = parseID(raw)
			}
			continue
		case "method":
			method = true
		case "result", "error":
			answer = true
		}
		err = dec.SkipValue()
	}
	r.silent = answer && !method
	return r
}

// parseID reads a request id: a string or an integer, as LSP has it.
func parseID(raw jsontext.Value) (jsonrpc2.ID, bool) {
	switch raw.Kind() {
	case '0':
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			return jsonrpc2.ID{}, false
		}
		return jsonrpc2.NewNumberID(n), true
	case '"':
		// Of a lone surrogate an error is reported, and U+FFFD in its place.
		s, _ := jsontext.AppendUnquote(nil, raw)
		return jsonrpc2.NewStringID(string(s)), true
	default:
		return jsonrpc2.ID{}, false
	}
}

// stream is the [jsonrpc2.Stream] of a connection. Reading answers broken
// frames by itself; writing is entering the outbox.
//
// Inv: Read is called by one goroutine at a time, the connection's read loop.
// Inv: Read returns an error only after released is closed, because
// jsonrpc2.Conn drops every answer once it has seen one.
type stream struct {
	in       *frameReader
	out      *outbox
	conn     io.Closer
	log      *slog.Logger
	ended    func(error)       // told once that nothing more will be read
	answered func(body []byte) // told that an answer has entered the outbox
	released <-chan struct{}   // closed when everything has been answered

	stopped atomic.Bool // set by exit: what follows it is not read
	closing sync.Once
	closed  chan struct{} // closed when conn has been closed
}

// Read implements [jsonrpc2.Stream].
func (s *stream) Read(context.Context) (jsonrpc2.Message, int64, error) {
	for {
		if s.stopped.Load() {
			return s.hold(io.EOF)
		}
		body, err := s.in.next()
		var big *oversizedFrame
		switch {
		case errors.As(err, &big):
			s.refuse(refuse(big.start, codeInvalidRequest, big.Error()))
			continue
		case err != nil:
			return s.hold(err)
		}
		msg, bad := decodeFrame(body)
		if bad == nil {
			return msg, int64(len(body)), nil
		}
		s.refuse(bad)
	}
}

// hold keeps the end of the input from the connection until every request has
// been answered.
func (s *stream) hold(err error) (jsonrpc2.Message, int64, error) {
	s.ended(err)
	<-s.released
	return nil, 0, err
}

func (s *stream) refuse(r *refusal) {
	s.log.Warn("broken frame", "code", int(r.err.Code), "problem", r.err.Message, "id", fmt.Sprintf("%q", r.id))
	if r.silent {
		return
	}
	err := s.out.push(frame(128, func(dst []byte) []byte {
		return jsonrpc2.AppendResponse(dst, r.id, nil, r.err)
	}))
	if err != nil {
		s.log.Debug("answer to a broken frame not sent", "err", err)
	}
}

// answerPrefix starts every answer that jsonrpc2 writes and nothing else: its
// requests and notifications have "method" in this place. The peer's tests
// hold this.
var answerPrefix = []byte(`{"jsonrpc":"2.0","id":`)

// Write implements [jsonrpc2.Stream]. It never blocks. The context, which is
// jsonrpc2's pooled one for an answer, is not looked at: a finished request's
// answer must go out.
func (s *stream) Write(_ context.Context, msg jsonrpc2.Message) (int64, error) {
	f := frame(256, func(dst []byte) []byte { return jsonrpc2.AppendMessage(dst, msg) })
	if err := s.out.push(f); err != nil {
		return 0, err
	}
	body := f[bytes.Index(f, []byte("\r\n\r\n"))+4:]
	if bytes.HasPrefix(body, answerPrefix) {
		s.answered(body)
	}
	return int64(len(f)), nil
}

// answerID is the id in an answer that jsonrpc2 wrote. Inv: body begins with
// answerPrefix.
func answerID(body []byte) jsontext.Value {
	id, err := jsontext.NewDecoder(bytes.NewReader(body[len(answerPrefix):])).ReadValue()
	if err != nil { // nothing can be wrong with our own answer
		return nil
	}
	return id
}

// Close implements [jsonrpc2.Stream]. It does not wait: closing a file that
// another thread reads may block on some systems.
func (s *stream) Close() error {
	s.closing.Do(func() {
		go func() {
			defer close(s.closed)
			if err := s.conn.Close(); err != nil {
				s.log.Debug("close the connection", "err", err)
			}
		}()
	})
	return nil
}

// Join makes one stream of the two ends that standard input and output are.
func Join(in io.ReadCloser, out io.WriteCloser) io.ReadWriteCloser { return joined{in, out} }

type joined struct {
	in  io.ReadCloser
	out io.WriteCloser
}

func (j joined) Read(b []byte) (int, error)  { return j.in.Read(b) }
func (j joined) Write(b []byte) (int, error) { return j.out.Write(b) }

// Close closes both ends.
func (j joined) Close() error { return errors.Join(j.in.Close(), j.out.Close()) }
