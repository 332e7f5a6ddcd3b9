package model_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/recall/model"
	"github.com/memls/memls/recall/model/modeltest"
)

func TestNewChecksSettings(t *testing.T) {
	good := model.Config{BaseURL: "http://localhost:11434/v1", Name: "qwen3"}
	with := func(change func(*model.Config)) model.Config {
		c := good
		change(&c)
		return c
	}
	url := func(s string) model.Config { return with(func(c *model.Config) { c.BaseURL = s }) }
	for _, c := range []struct {
		cfg  model.Config
		want string // of the error; empty: none
	}{
		{good, ""},
		{url("https://api.example.com/compatible-mode/v1/"), ""},
		{url("http://[::1]:8080"), ""},
		{url(" http://localhost/v1/chat/completions\n"), ""},
		{url(""), "model.baseURL: empty"},
		{url("localhost:11434/v1"), "model.baseURL: must begin with http:// or https://"},
		{url("/v1"), "model.baseURL: must begin"},
		{url("ftp://host/v1"), "model.baseURL: must begin"},
		{url("http://"), "model.baseURL: names no host"},
		{url("http://:80/v1"), "model.baseURL: names no host"},
		{url("http://host:port/v1"), "model.baseURL: not a valid URL"},
		{url("https://user:" + key + "@host/v1"), "model.baseURL: must not hold a user"},
		{url("https://host/v1?api-version=1"), "model.baseURL: must not have a query"},
		{url("https://host/v1#x"), "model.baseURL: must not have a query"},
		{with(func(c *model.Config) { c.Name = " " }), "model.name: empty"},
		{with(func(c *model.Config) { c.Key = key + "\n" }), ""},
		{with(func(c *model.Config) { c.Key = key + "\nX: y" }), "model.apiKeyEnv"},
		{with(func(c *model.Config) { c.Timeout = -time.Second }), "model.requestTimeoutMs: negative"},
	} {
		_, err := model.New(c.cfg)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.cfg.BaseURL, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error = %v, want %q", c.cfg.BaseURL, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), key) {
			t.Errorf("the key shows in %v", err)
		}
	}
}

func TestNewChecksOptions(t *testing.T) {
	cfg := model.Config{BaseURL: "http://localhost/v1", Name: "x"}
	for _, o := range []model.Option{model.WithConcurrency(0, 1), model.WithConcurrency(1, -1), model.WithIdle(0)} {
		if _, err := model.New(cfg, o); err == nil {
			t.Error("an impossible option was taken")
		}
	}
}

// The key shows nowhere: not in what prints a value, not in logs, and not in
// errors, whatever an endpoint echoes.
func TestKeyIsNeverShown(t *testing.T) {
	var shown bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&shown, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := modeltest.New(t)
	cfg := model.Config{BaseURL: s.URL(), Name: "stub", Key: key}
	c, err := model.New(cfg, model.WithLogger(log), model.WithPause(new(pauses).pause))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		fmt.Fprintf(&shown, verb+"\n", c)
		if verb != "%d" && verb != "%x" {
			fmt.Fprintf(&shown, verb+"\n"+verb+"\n", cfg, &cfg)
		}
	}
	log.Info("made", "config", cfg, "client", c)
	if err := json.NewEncoder(&shown).Encode(cfg); err != nil {
		t.Fatal(err)
	}

	split := key[:8] + "\u200b" + key[8:]
	s.Script(
		modeltest.Fail(401, "bad "+key), modeltest.Status(418, "no teapot for "+split), modeltest.Status(403, key),
		modeltest.Say("not "+key), modeltest.Refusal(key), modeltest.Say(`{"ids":null,"`+key+`":1}`),
		modeltest.Fail(400, "response_format "+key), modeltest.Fail(400, key), modeltest.Fail(400, key),
		modeltest.Status(404, strings.Repeat("x", 230)+key),
	)
	q := question()
	q.Check = func(raw json.RawMessage) error { return errors.New("no: " + string(raw)) }
	s.Script(modeltest.Say(`{"` + split + `":1}`))
	for len(s.Requests()) < 11 {
		_, _, err := c.Complete(context.Background(), q)
		if err == nil {
			t.Fatal("an answer without a good step")
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			fmt.Fprintf(&shown, "%v\n%+v\n%#v\n", e, e, e)
		}
	}
	if text := shown.String(); strings.Contains(text, key) || strings.Contains(text, split) || strings.Contains(text, key[:12]) {
		t.Errorf("the key shows:\n%s", text)
	}
}

func TestKindNames(t *testing.T) {
	for kind, want := range map[model.Kind]string{
		model.Unavailable: "model_unavailable", model.Timeout: "model_timeout", model.Invalid: "model_invalid",
	} {
		if got := kind.Reason(); got != want {
			t.Errorf("Reason = %q, want %q", got, want)
		}
	}
}

// Whatever a model says: a whole object or a presentable error, never more.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		`{"ids":[]}`, "```json\n{}\n```", "<think>{</think>{\"a\":\"}\"}", "{{{{", `{"a":"\`, "</think><think>", "\x00{}\u202e", "{}{}", `{"\u`,
	} {
		f.Add(s)
	}
	rt := new(fakeTransport)
	c, err := model.New(model.Config{BaseURL: "http://model.test/v1", Name: "stub", Key: key}, model.WithTransport(rt))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rt.body = modeltest.Completion(map[string]any{"content": text}, "stop")
		rt.asked = nil
		q := question()
		q.Check = func(raw json.RawMessage) error {
			if len(raw)%2 == 1 {
				return errors.New(string(raw))
			}
			return nil
		}
		raw, _, err := c.Complete(context.Background(), q)
		if err != nil {
			wantPresentable(t, failed(t, err, model.Invalid))
			return
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(raw, &object); err != nil || object == nil {
			t.Errorf("answer %q is no object: %v", raw, err)
		}
	})
}
