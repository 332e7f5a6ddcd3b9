package model_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memls/memls/recall/model"
	"github.com/memls/memls/recall/model/modeltest"
)

// serialTransport computes one answer at a time.
type serialTransport struct {
	fake  fakeTransport
	place chan struct{}
}

func newSerial(each time.Duration) *serialTransport {
	return &serialTransport{
		fake:  fakeTransport{delay: each, body: modeltest.Completion(map[string]any{"content": `{"ids":[]}`}, "stop")},
		place: make(chan struct{}, 1),
	}
}

func (s *serialTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case s.place <- struct{}{}:
		defer func() { <-s.place }()
		return s.fake.RoundTrip(r)
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func clockClient(t *testing.T, rt http.RoundTripper, opts ...model.Option) *model.Client {
	t.Helper()
	c, err := model.New(model.Config{BaseURL: "http://model.test/v1", Name: "stub", Key: key},
		append([]model.Option{model.WithTransport(rt)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// callAll makes n calls at once and answers their errors.
func callAll(c *model.Client, n int) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { _, _, errs[i] = c.Complete(context.Background(), question()) })
	}
	wg.Wait()
	return errs
}

// Callers at an endpoint that computes one answer at a time: those whose turn
// comes within the ceiling get the model's answer, and the others are told that
// theirs did not; nothing passes as normal that is not.
func TestDELIV_10_SerialEndpoint(t *testing.T) {
	for _, c := range []struct {
		name          string
		each          time.Duration
		callers, good int
	}{
		{"five within the ceiling", 3 * time.Second, 5, 5},
		{"nine, of which three fit", 9 * time.Second, 9, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				good := 0
				for _, err := range callAll(clockClient(t, newSerial(c.each)), c.callers) {
					if err == nil {
						good++
						continue
					}
					failed(t, err, model.Timeout)
				}
				if good != c.good {
					t.Errorf("%d of %d were answered, want %d", good, c.callers, c.good)
				}
			})
		})
	}
}

func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := &fakeTransport{delay: time.Second, body: modeltest.Completion(map[string]any{"content": `{"ids":[]}`}, "stop")}
		c := clockClient(t, rt, model.WithConcurrency(2, 2))
		call := func(ctx context.Context) <-chan error {
			done := make(chan error, 1)
			go func() {
				_, _, err := c.Complete(ctx, question())
				done <- err
			}()
			synctest.Wait() // until it waits for its answer or for a place
			return done
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		a, b := call(context.Background()), call(context.Background())
		waiting, leaver := call(context.Background()), call(ctx)
		if rt.count() != 2 {
			t.Fatalf("%d requests at once, want 2", rt.count())
		}

		e := failed(t, <-call(context.Background()), model.Unavailable)
		if !strings.Contains(e.Detail, "2 requests are waiting") {
			t.Errorf("detail = %q", e.Detail)
		}

		cancel()
		if err := <-leaver; !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v, want a cancellation", err)
		}
		late := call(context.Background()) // takes the place that was left
		for i, done := range []<-chan error{a, b, waiting, late} {
			if err := <-done; err != nil {
				t.Errorf("call %d: %v", i, err)
			}
		}
	})
}

func TestTimeoutInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clockClient(t, &fakeTransport{delay: time.Hour}, model.WithConcurrency(1, 1))
		first := make(chan error, 1)
		go func() {
			_, _, err := c.Complete(context.Background(), question())
			first <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, _, err := c.Complete(ctx, question())
		if e := failed(t, err, model.Timeout); !strings.Contains(e.Detail, "no place") {
			t.Errorf("detail = %q", e.Detail)
		}
		_, _, err = c.Complete(ctx, question())
		failed(t, err, model.Timeout) // over before it began
		failed(t, <-first, model.Timeout)
	})
}

func TestInFlightAtARealServer(t *testing.T) {
	s := modeltest.New(t)
	s.Otherwise(modeltest.Serial(modeltest.Choose("Tea")))
	for _, err := range callAll(client(t, s.URL()), 20) {
		if err != nil {
			t.Error(err)
		}
	}
	if s.Peak() > model.DefaultInFlight {
		t.Errorf("%d requests at once, want %d at most", s.Peak(), model.DefaultInFlight)
	}
}
