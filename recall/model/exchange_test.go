package model_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memls/memls/recall/model"
	"github.com/memls/memls/recall/model/modeltest"
)

// fakeTransport answers without a network, for tests under a fake clock.
type fakeTransport struct {
	status int           // 0: 200
	body   string        // sent at once
	rest   io.ReadCloser // read after body
	delay  time.Duration // before the headers
	header http.Header

	mu    sync.Mutex
	asked []string
}

func (f *fakeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.asked = append(f.asked, string(b))
	f.mu.Unlock()
	select {
	case <-time.After(f.delay):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	res := &http.Response{StatusCode: f.status, Header: f.header, Request: r}
	if f.status == 0 {
		res.StatusCode = http.StatusOK
	}
	var body io.Reader = strings.NewReader(f.body)
	if f.rest != nil {
		// A real transport ends a read when the request's context ends.
		context.AfterFunc(r.Context(), func() { _ = f.rest.Close() })
		body = io.MultiReader(body, f.rest)
	}
	res.Body = io.NopCloser(body)
	return res, nil
}

func (f *fakeTransport) last() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[len(f.asked)-1]
}

func (f *fakeTransport) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

func TestRetriesRecover(t *testing.T) {
	for name, step := range map[string]modeltest.Step{
		"429": modeltest.Fail(429, "slow down"), "500": modeltest.Fail(500, "oops"),
		"503": modeltest.HTML(503), "reset": modeltest.Reset(),
	} {
		t.Run(name, func(t *testing.T) {
			s := modeltest.New(t)
			s.Script(step, step)
			var p pauses
			if _, _, err := client(t, s.URL(), model.WithPause(p.pause)).Complete(context.Background(), question()); err != nil {
				t.Fatal(err)
			}
			waits := p.taken()
			if len(waits) != 2 {
				t.Fatalf("waits = %v, want two", waits)
			}
			for i, w := range waits {
				if base := 300 * time.Millisecond << i; w < base/2 || w >= base*3/2 {
					t.Errorf("wait %d = %v, want around %v", i, w, base)
				}
			}
			if got := formats(s); len(got) != 3 || got[0] != got[2] {
				t.Errorf("formats = %q", got)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	cases := []struct {
		name, header string
		min, max     time.Duration // of the wait; 0 for none taken
	}{
		{"seconds", "7", 7 * time.Second, 7 * time.Second},
		{"fraction", "0.5", 500 * time.Millisecond, 500 * time.Millisecond},
		{"date", time.Now().Add(20 * time.Second).UTC().Format(http.TimeFormat), time.Second, 20 * time.Second},
		{"past", "Mon, 02 Jan 2006 15:04:05 GMT", 150 * time.Millisecond, 450 * time.Millisecond},
		{"nonsense", "soon", 150 * time.Millisecond, 450 * time.Millisecond},
		{"beyond the deadline", "3600", 0, 0},
		{"absurd", "1e300", 0, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := modeltest.New(t)
			s.Script(modeltest.RetryAfter(429, c.header))
			var p pauses
			_, _, err := client(t, s.URL(), model.WithPause(p.pause)).Complete(context.Background(), question())
			waits := p.taken()
			if c.max == 0 {
				e := failed(t, err, model.Unavailable)
				if len(waits) != 0 || len(s.Requests()) != 1 {
					t.Errorf("waited %v for a time beyond the deadline", waits)
				}
				if !strings.Contains(e.Detail, "asks to wait") {
					t.Errorf("detail = %q", e.Detail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(waits) != 1 || waits[0] < c.min || waits[0] > c.max {
				t.Errorf("waits = %v, want one of %v to %v", waits, c.min, c.max)
			}
		})
	}
}

// The real pause waits what it is told, and ends with the call.
func TestPauseUnderClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := &fakeTransport{status: 503, body: "{}", header: http.Header{"Retry-After": {"9"}}}
		c, err := model.New(model.Config{BaseURL: "http://model.test/v1", Name: "stub", Timeout: 20 * time.Second}, model.WithTransport(rt))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, _, err = c.Complete(context.Background(), question())
		failed(t, err, model.Unavailable)
		// The clock is fake, so that this is arithmetic: two waits of 9 s fit
		// into 20 s.
		if rt.count() != 3 || time.Since(began) != 18*time.Second {
			t.Errorf("%d requests in %v", rt.count(), time.Since(began))
		}

		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			_, _, err := c.Complete(ctx, question())
			done <- err
		}()
		synctest.Wait() // it is in its pause now
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v, want a cancellation", err)
		}
	})
}

func TestStallUnderClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		rt := &fakeTransport{body: `{"id":`, rest: r}
		c, err := model.New(model.Config{BaseURL: "http://model.test/v1", Name: "stub", Timeout: time.Hour}, model.WithTransport(rt))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			// Blanks that keep a connection alive count as a sign of life.
			for range 10 {
				time.Sleep(model.DefaultIdle - time.Second)
				if _, err := w.Write([]byte(" ")); err != nil {
					return
				}
			}
		}()
		began := time.Now()
		_, _, err = c.Complete(context.Background(), question())
		if e := failed(t, err, model.Timeout); !strings.Contains(e.Detail, "stalled") {
			t.Errorf("detail = %q", e.Detail)
		}
		if took, want := time.Since(began), 10*(model.DefaultIdle-time.Second)+model.DefaultIdle; took != want {
			t.Errorf("gave up after %v, want %v", took, want)
		}
		if rt.count() != 1 {
			t.Errorf("%d requests, want none after a body began", rt.count())
		}
	})
}

func TestTimeoutUnderClock(t *testing.T) {
	type bound struct{ own, callers, want time.Duration }
	for name, b := range map[string]bound{
		"default":         {0, 0, model.DefaultTimeout},
		"configured":      {3 * time.Second, 0, 3 * time.Second},
		"caller's sooner": {3 * time.Second, 2 * time.Second, 2 * time.Second},
		"caller's later":  {3 * time.Second, time.Minute, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := model.New(model.Config{BaseURL: "http://model.test/v1", Name: "stub", Timeout: b.own},
					model.WithTransport(&fakeTransport{delay: time.Hour}))
				if err != nil {
					t.Fatal(err)
				}
				ctx := context.Background()
				if b.callers > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, b.callers)
					defer cancel()
				}
				began := time.Now()
				_, _, err = c.Complete(ctx, question())
				failed(t, err, model.Timeout)
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != b.want {
					t.Errorf("error = %v after %v, want after %v", err, time.Since(began), b.want)
				}
			})
		})
	}
}

func TestCancelReachesTheServer(t *testing.T) {
	for name, step := range map[string]modeltest.Step{"before headers": modeltest.Hang(), "in the body": modeltest.Stall()} {
		t.Run(name, func(t *testing.T) {
			s := modeltest.New(t)
			s.Otherwise(step)
			c := client(t, s.URL())
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() {
				<-s.Arrived()
				cancel()
			}()
			_, _, err := c.Complete(ctx, question())
			var e *model.Error
			if !errors.Is(err, context.Canceled) || errors.As(err, &e) {
				t.Errorf("error = %v, want the cancellation and no *model.Error", err)
			}
			<-s.Gone()
		})
	}
}

func TestStallReachesTheServer(t *testing.T) {
	s := modeltest.New(t)
	s.Otherwise(modeltest.Stall())
	_, _, err := client(t, s.URL(), model.WithIdle(30*time.Millisecond)).Complete(context.Background(), question())
	failed(t, err, model.Timeout)
	<-s.Gone()
}

func TestRedirects(t *testing.T) {
	other := modeltest.New(t)
	cases := []struct {
		name string
		code int
		to   string
		want string // of the detail; empty for success
	}{
		{"kept", 307, "/v2/chat/completions", ""},
		{"kept for good", 308, "/v2/chat/completions", ""},
		{"would become a GET", 301, "/v2/chat/completions", "drop the question"},
		{"another port", 307, other.URL() + "/chat/completions", "another server"},
		{"another host", 308, "http://evil.invalid/?k=" + key, "redirects to http://evil.invalid, which is another server"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := modeltest.New(t)
			s.Script(modeltest.Redirect(c.code, c.to))
			_, _, err := client(t, s.URL()).Complete(context.Background(), question())
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				last := s.Requests()[1]
				if last.Path != "/v2/chat/completions" || last.Header.Get("Authorization") == "" || last.Chat.Model == "" {
					t.Errorf("followed with %+v", last)
				}
				return
			}
			e := failed(t, err, model.Unavailable)
			if !strings.Contains(e.Detail, c.want) {
				t.Errorf("detail = %q", e.Detail)
			}
			wantPresentable(t, e)
		})
	}
	if n := len(other.Requests()); n != 0 {
		t.Errorf("the other server got %d requests", n)
	}
}

func TestRedirectLoop(t *testing.T) {
	s := modeltest.New(t)
	s.Otherwise(modeltest.Redirect(307, "/v1/chat/completions"))
	_, _, err := client(t, s.URL()).Complete(context.Background(), question())
	if e := failed(t, err, model.Unavailable); !strings.Contains(e.Detail, "once too often") {
		t.Errorf("detail = %q", e.Detail)
	}
}
