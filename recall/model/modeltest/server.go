// Package modeltest is a language model endpoint for tests and measurements: a
// real HTTP server that answers as scripted, slowly, wrongly or not at all, and
// records what it was asked. It imports nothing of memls and not "testing", so
// that an evaluation outside of tests can run against it too.
package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// Server answers requests by Steps: those of Script in turn, one a request,
// then the one of Otherwise.
type Server struct {
	http    *httptest.Server
	closing chan struct{}
	arrived chan Request
	gone    chan Request

	mu        sync.Mutex
	script    []Step
	otherwise Step
	// embeddings answers requests to the embeddings method.
	embeddings Step
	seen       []Request
	active     int
	peak       int
}

// backlog is how many signals Arrived and Gone hold for a slow reader; more
// are dropped there, but never from Requests.
const backlog = 1024

// Start starts a server that answers {"ids":[]} until told otherwise.
func Start() *Server {
	s := &Server{
		closing:    make(chan struct{}),
		arrived:    make(chan Request, backlog),
		gone:       make(chan Request, backlog),
		otherwise:  IDs(),
		embeddings: Vectors(Space{Dimension: 64, Common: 1}.Vector),
	}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// TB is what New needs of *testing.T.
type TB interface {
	Helper()
	Cleanup(func())
}

// New starts a server that ends with the test.
func New(t TB) *Server {
	t.Helper()
	s := Start()
	t.Cleanup(s.Close)
	return s
}

// Refused is a base URL at which nothing listens.
func Refused() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	if err := l.Close(); err != nil {
		return "", fmt.Errorf("freeing the port: %w", err)
	}
	return "http://" + l.Addr().String() + "/v1", nil
}

// URL is the base URL to configure.
func (s *Server) URL() string { return s.http.URL + "/v1" }

// Script appends steps for the coming requests.
func (s *Server) Script(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, steps...)
}

// Otherwise sets the step for requests beyond the script.
func (s *Server) Otherwise(step Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.otherwise = step
}

// Requests are all requests so far, in the order of their coming.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.seen...)
}

// Peak is the largest number of requests that were at the server at once.
func (s *Server) Peak() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// Arrived receives each request when it has come in whole, before its step.
func (s *Server) Arrived() <-chan Request { return s.arrived }

// Gone receives each request whose client went away before it was answered.
func (s *Server) Gone() <-chan Request { return s.gone }

// Close ends all requests and the server. It may be called twice.
func (s *Server) Close() {
	s.mu.Lock()
	select {
	case <-s.closing:
	default:
		close(s.closing)
	}
	s.mu.Unlock()
	s.http.CloseClientConnections()
	s.http.Close()
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	// Read whole: net/http notices a client that leaves only afterwards.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	req := Request{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: body}
	// A body of another shape leaves Chat empty; tests look at Body then.
	if !isEmbedding(req.Path, body, &req.Embedding) {
		_ = json.Unmarshal(body, &req.Chat)
	}

	step := s.enter(req)
	defer s.leave()
	defer func() {
		if r.Context().Err() != nil {
			signal(s.gone, req)
		}
	}()
	signal(s.arrived, req)
	c := &Call{Request: req, w: w, http: r, closing: s.closing}
	step(c)
	if !c.begun {
		// Left alone, net/http would answer an empty success.
		panic(http.ErrAbortHandler)
	}
}

func (s *Server) enter(req Request) Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, req)
	s.active++
	s.peak = max(s.peak, s.active)
	if strings.HasSuffix(req.Path, EmbeddingsPath) {
		return s.embeddings
	}
	if len(s.script) == 0 {
		return s.otherwise
	}
	step := s.script[0]
	s.script = s.script[1:]
	return step
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
}

func signal(ch chan Request, req Request) {
	select {
	case ch <- req:
	default:
	}
}
