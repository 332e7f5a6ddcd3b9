package lsp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
	"go.uber.org/goleak"
)

type tick struct {
	Key string `json:"key"`
	N   int    `json:"n"`
	Sum int    `json:"sum"`
}

func announceTicks(s *lsp.Server) error {
	return errors.Join(
		s.Announce("test/tick", lsp.NewUnasked(
			func(t *tick) string { return t.Key },
			func(old, next *tick) *tick { return &tick{Key: next.Key, N: next.N, Sum: old.Sum + next.Sum} })),
		s.Announce("test/fact", lsp.NewOutgoing[tick]()))
}

// stuck is a server whose client has done its handshake and reads no more.
type stuck struct {
	*served
	conn net.Conn
	r    *bufio.Reader
}

func startStuck(t *testing.T, opt lsp.Options) *stuck {
	t.Helper()
	here, there := net.Pipe()
	s := &stuck{served: serve(t, there, opt), conn: here, r: bufio.NewReader(here)}
	t.Cleanup(func() { _ = here.Close() })
	s.send(t, 1, "initialize", `{"capabilities":{"experimental":{"memory":true}}}`)
	s.read(t)
	s.send(t, nil, "initialized", `{}`)
	s.send(t, 2, "test/get", nil)
	s.read(t)
	return s
}

func (s *stuck) send(t *testing.T, id any, method string, params any) {
	t.Helper()
	body, err := lsptest.Body(id, method, params)
	if err == nil {
		_, err = s.conn.Write([]byte(lsptest.Framed(body)))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (s *stuck) read(t *testing.T) lsptest.Message {
	t.Helper()
	body, err := lsptest.ReadFrame(s.r)
	var m lsptest.Message
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Notifications of one key merge while they wait; all others keep their order
// and their number.
func TestWaitingNotificationsMerge(t *testing.T) {
	const rounds = 1000
	s := startStuck(t, lsp.Options{Setup: announceTicks})
	want := map[string]int{}
	for n := 1; n <= rounds; n++ {
		for _, key := range []string{"a", "b"} {
			if err := s.server.Notify("test/tick", &tick{Key: key, N: n, Sum: n}); err != nil {
				t.Fatal(err)
			}
			want[key] += n
		}
		if n%100 == 0 {
			if err := s.server.Notify("test/fact", &tick{N: n}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var facts []int
	ticks, sums, last := 0, map[string]int{}, map[string]int{}
	for last["a"] < rounds || last["b"] < rounds || len(facts) < rounds/100 {
		m := s.read(t)
		var got tick
		if err := json.Unmarshal(m.Params, &got); err != nil {
			t.Fatal(err)
		}
		if m.Method == "test/fact" {
			facts = append(facts, got.N)
			continue
		}
		ticks++
		sums[got.Key] += got.Sum
		last[got.Key] = got.N
	}
	if ticks > 6 { // what the writer held already, and one of each key behind it
		t.Errorf("%d ticks arrived, so they did not merge", ticks)
	}
	if sums["a"] != want["a"] || sums["b"] != want["b"] {
		t.Errorf("sums %v, want %v", sums, want)
	}
	if !slices.IsSorted(facts) || len(facts) != rounds/100 {
		t.Errorf("facts %v", facts)
	}
}

func TestAStuckClientIsDisconnectedAndStallsNobody(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	t.Run("beyond the bound", func(t *testing.T) {
		const bound = 1 << 20
		opt := lsp.Options{OutboxBytes: bound, Setup: announceTicks}
		slow, other := startStuck(t, opt), start(t, opt)
		var sent int
		for {
			err := slow.server.Notify("test/fact", &tick{Key: strings.Repeat("x", 1000)})
			other.alive(t)
			if err != nil {
				break
			}
			sent += 1000
			if sent > 2*bound {
				t.Fatal("the outbox has no bound")
			}
		}
		if sent < bound/2 {
			t.Errorf("disconnected after %d bytes, the bound is %d", sent, bound)
		}
		code, err := slow.wait(t)
		if code != 1 || err == nil || !strings.Contains(err.Error(), "outbox full") {
			t.Errorf("exit code %d, %v", code, err)
		}
		if err := slow.server.Notify("test/fact", &tick{}); err == nil {
			t.Error("a notification after the end was taken for delivered")
		}
		other.alive(t)
	})
	t.Run("by its own requests", func(t *testing.T) {
		slow := startStuck(t, lsp.Options{OutboxBytes: 1 << 20})
		for id := range 64 {
			body, err := lsptest.Body(100+id, "test/flood", number{64 << 10})
			if err != nil {
				t.Fatal(err)
			}
			// The server hangs up somewhere on the way.
			if _, err := slow.conn.Write([]byte(lsptest.Framed(body))); err != nil {
				break
			}
		}
		if _, err := slow.wait(t); err == nil || !strings.Contains(err.Error(), "outbox full") {
			t.Errorf("ended with %v", err)
		}
	})
	t.Run("a write that hangs", func(t *testing.T) {
		slow := startStuck(t, lsp.Options{WriteTimeout: 20 * time.Millisecond, Setup: announceTicks})
		if err := slow.server.Notify("test/fact", &tick{}); err != nil {
			t.Fatal(err)
		}
		if _, err := slow.wait(t); err == nil || !strings.Contains(err.Error(), "timed out") {
			t.Errorf("ended with %v", err)
		}
	})
	t.Run("with requests in flight", func(t *testing.T) {
		slow := startStuck(t, lsp.Options{WriteTimeout: 20 * time.Millisecond})
		for id := range 10 {
			slow.send(t, 100+id, "test/sleep", nil)
			<-slow.entered
		}
		slow.send(t, 200, "test/get", nil)
		if _, err := slow.wait(t); err == nil {
			t.Error("not disconnected")
		}
	})
	if err := goleak.Find(leaks); err != nil {
		t.Error(err)
	}
}

// One answer larger than the bound is delivered to a client that reads.
func TestAnAnswerOverTheBoundIsDelivered(t *testing.T) {
	s := start(t, lsp.Options{OutboxBytes: 1 << 10})
	var got text
	s.call(t, "test/flood", number{1 << 20}, &got)
	if len(got.Text) != 1<<20 {
		t.Errorf("%d bytes arrived", len(got.Text))
	}
	s.alive(t)
}

func TestUnaskedNotificationsWaitForTheHandshake(t *testing.T) {
	for _, tc := range []struct {
		capability string
		want       int
	}{{`{"memory":{"version":1}}`, 2}, {`{"memory":[]}`, 2}, {`{"memory":true}`, 2}, {`{"memory":false}`, 0}, {`{}`, 0}} {
		t.Run(tc.capability, func(t *testing.T) {
			s := connect(t, lsp.Options{Setup: func(s *lsp.Server) error {
				s.OnInitialize(func(*lsp.Initialization) error {
					for n := range 10 {
						if err := s.Notify("test/tick", &tick{N: n, Sum: n}); err != nil {
							return err
						}
					}
					return nil
				})
				return announceTicks(s)
			}})
			s.handshake(t, `{"capabilities":{"experimental":`+tc.capability+`}}`)
			s.alive(t)
			if err := s.server.Notify("test/tick", &tick{N: 10}); err != nil {
				t.Fatal(err)
			}
			s.alive(t)
			var got []string
			for _, m := range s.client.Log() {
				if m.Method != "" {
					got = append(got, string(m.Params))
				}
			}
			want := []string{`{"key":"","n":9,"sum":45}`, `{"key":"","n":10,"sum":0}`}[:tc.want]
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if first := s.client.Log()[0]; first.Method != "" {
				t.Errorf("%s came before the answer to initialize", first.Method)
			}
		})
	}
}

func TestUnknownNotificationIsAnError(t *testing.T) {
	s := start(t, lsp.Options{})
	if err := s.server.Notify("test/never", nil); err == nil {
		t.Error("sent")
	}
	if err := s.server.Request(context.Background(), "test/never", nil, nil); err == nil {
		t.Error("asked")
	}
}

func TestChangesMerge(t *testing.T) {
	refs := func(n int, prefix string) (refs []string) {
		for i := range n {
			refs = append(refs, fmt.Sprintf("%s%03d", prefix, i))
		}
		return refs
	}
	for _, tc := range []struct {
		name      string
		old, next lsp.ChangedParams
		want      lsp.ChangedParams
	}{
		{"apart",
			lsp.ChangedParams{Revision: 1, Added: []string{"a"}},
			lsp.ChangedParams{Revision: 2, Removed: []string{"b"}},
			lsp.ChangedParams{Revision: 2, Added: []string{"a"}, Removed: []string{"b"}}},
		{"added and edited is added",
			lsp.ChangedParams{Added: []string{"a"}}, lsp.ChangedParams{Updated: []string{"a"}},
			lsp.ChangedParams{Added: []string{"a"}}},
		{"added and removed is nothing",
			lsp.ChangedParams{Added: []string{"a"}}, lsp.ChangedParams{Removed: []string{"a"}},
			lsp.ChangedParams{}},
		{"removed and added again is edited",
			lsp.ChangedParams{Removed: []string{"a"}}, lsp.ChangedParams{Added: []string{"a"}},
			lsp.ChangedParams{Updated: []string{"a"}}},
		{"edited and removed is removed",
			lsp.ChangedParams{Updated: []string{"a"}}, lsp.ChangedParams{Removed: []string{"a"}},
			lsp.ChangedParams{Removed: []string{"a"}}},
		{"too many",
			lsp.ChangedParams{Added: refs(150, "a")}, lsp.ChangedParams{Updated: refs(150, "b")},
			lsp.ChangedParams{Added: refs(150, "a"), Updated: refs(50, "b"), Truncated: true}},
		{"truncated before",
			lsp.ChangedParams{Truncated: true}, lsp.ChangedParams{}, lsp.ChangedParams{Truncated: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := connect(t, lsp.Options{Setup: func(s *lsp.Server) error {
				s.OnInitialize(func(*lsp.Initialization) error {
					return errors.Join(s.Notify(lsp.NotifyChanged, &tc.old), s.Notify(lsp.NotifyChanged, &tc.next))
				})
				return nil
			}})
			s.handshake(t, `{"capabilities":{"experimental":{"memory":{}}}}`)
			m, err := s.client.Await(t.Context(), 0, lsptest.Method(lsp.NotifyChanged))
			if err != nil {
				t.Fatal(err)
			}
			var got lsp.ChangedParams
			if err := json.Unmarshal(m.Params, &got); err != nil {
				t.Fatal(err)
			}
			same := got.Revision == tc.want.Revision && got.Truncated == tc.want.Truncated &&
				slices.Equal(got.Added, tc.want.Added) && slices.Equal(got.Updated, tc.want.Updated) && slices.Equal(got.Removed, tc.want.Removed)
			if !same {
				t.Errorf("got %+v\nwant %+v", got, tc.want)
			}
			if !strings.Contains(string(m.Params), `"added":[`) || !strings.Contains(string(m.Params), `"removed":[`) {
				t.Errorf("a list is missing in %s", m.Params)
			}
		})
	}
}
