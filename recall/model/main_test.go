package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/memls/memls/recall/model"
	"github.com/memls/memls/recall/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	key    = "sk-proj-0123456789abcdef"
	schema = `{"type":"object","additionalProperties":false,"required":["ids"],"properties":{"ids":{"type":"array","items":{"type":"string"}}}}`
)

// question asks for ids, which may be no more than five.
func question() model.Request {
	return model.Request{
		System: "Choose what fits.", User: "m1 Coffee\nm2 Tea\nm3 Juice", Purpose: "select",
		SchemaName: "selection", Schema: json.RawMessage(schema), MaxTokens: 256,
		Check: func(raw json.RawMessage) error {
			var a struct{ IDs *[]string }
			if err := json.Unmarshal(raw, &a); err != nil {
				return fmt.Errorf("decoding: %w", err)
			}
			switch {
			case a.IDs == nil:
				return errors.New("ids is missing")
			case len(*a.IDs) > 5:
				return fmt.Errorf("%d ids are too many", len(*a.IDs))
			}
			return nil
		},
	}
}

// pauses records the waits between retries instead of waiting.
type pauses struct {
	mu  sync.Mutex
	all []time.Duration
}

func (p *pauses) pause(ctx context.Context, d time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, d)
	return ctx.Err()
}

func (p *pauses) taken() []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]time.Duration(nil), p.all...)
}

// client is a client of the server that does not really wait between retries.
func client(t *testing.T, url string, opts ...model.Option) *model.Client {
	t.Helper()
	return named(t, url, "stub", opts...)
}

func named(t *testing.T, url, name string, opts ...model.Option) *model.Client {
	t.Helper()
	opts = append([]model.Option{model.WithPause(new(pauses).pause)}, opts...)
	c, err := model.New(model.Config{BaseURL: url, Name: name, Key: key}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// failed is err as *model.Error of a kind.
func failed(t *testing.T, err error, kind model.Kind) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("error = %v, want a *model.Error", err)
	}
	if e.Kind != kind {
		t.Fatalf("error = %v, want kind %v", e, kind)
	}
	return e
}

// formats are the response formats of all requests, in order.
func formats(s *modeltest.Server) []string {
	out := []string{}
	for _, r := range s.Requests() {
		out = append(out, r.Chat.Format())
	}
	return out
}
