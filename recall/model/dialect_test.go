package model_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/memls/memls/recall/model"
	"github.com/memls/memls/recall/model/modeltest"
)

// ask completes n questions, all of which must succeed.
func ask(t *testing.T, c *model.Client, n int) {
	t.Helper()
	for range n {
		if _, _, err := c.Complete(context.Background(), question()); err != nil {
			t.Fatal(err)
		}
	}
}

// refusing answers requests that use a refused feature by fail, others well.
func refusing(uses func(modeltest.Chat) bool, fail modeltest.Step) modeltest.Step {
	return modeltest.Match(uses, fail, modeltest.IDs("m1"))
}

func formatIs(names ...string) func(modeltest.Chat) bool {
	return func(c modeltest.Chat) bool { return slices.Contains(names, c.Format()) }
}

// What a refusal teaches is used at once and remembered.
func TestLadderRefused(t *testing.T) {
	cases := []struct {
		name    string
		refuses []string
		fail    modeltest.Step
		want    []string // formats of the first and second question
	}{
		{"schema, as OpenAI says it", []string{"json_schema"},
			modeltest.Fail(400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."),
			[]string{"json_schema", "json_object", "json_object"}},
		{"both, as LM Studio says it", []string{"json_schema", "json_object"},
			modeltest.Status(400, `{"error":"'response_format.type' must be 'text'"}`),
			[]string{"json_schema", "json_object", "", ""}},
		{"both, as FastAPI says it", []string{"json_schema", "json_object"},
			modeltest.Status(422, `{"detail":[{"type":"extra_forbidden","loc":["body","response_format"],"msg":"Extra inputs are not permitted","input":{"temperature":0,"max_completion_tokens":1,"enable_thinking":false}}]}`),
			[]string{"json_schema", "json_object", "", ""}},
		{"without a reason", []string{"json_schema", "json_object"}, modeltest.Status(400, "Bad Request"),
			[]string{"json_schema", "json_object", "", ""}},
		{"as an inner failure", []string{"json_schema"}, modeltest.Fail(500, "failed to parse grammar"),
			[]string{"json_schema", "json_object", "json_object"}},
		{"as a success", []string{"json_schema"}, modeltest.Fail(200, "json_schema is not supported"),
			[]string{"json_schema", "json_object", "json_object"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := modeltest.New(t)
			s.Otherwise(refusing(formatIs(c.refuses...), c.fail))
			ask(t, client(t, s.URL()), 2)
			if got := formats(s); !slices.Equal(got, c.want) {
				t.Errorf("formats = %q, want %q", got, c.want)
			}
			last := s.Requests()[len(c.want)-1].Chat
			if !strings.Contains(last.Text("system"), schema) {
				t.Error("below the first rung the prompt must hold the schema")
			}
		})
	}
}

// An endpoint that takes response_format and does not keep to it is asked by
// other means the next time.
func TestLadderIgnored(t *testing.T) {
	cases := []struct {
		name string
		step modeltest.Step
		fine bool
		want []string
	}{
		{"prose", modeltest.Prose(), false, []string{"json_schema", "json_object", "", ""}},
		{"fence", modeltest.Fenced(`{"ids":[]}`), true, []string{"json_schema", "json_object", "", ""}},
		{"another object", modeltest.Say(`{"answer":1}`), false, []string{"json_schema", "json_object", "", ""}},
		{"kept to, but for another fault", modeltest.IDs("1", "2", "3", "4", "5", "6"), false, []string{"json_schema", "json_schema", "json_schema", "json_schema"}},
		{"thinking is no fault", modeltest.Think(`{"ids":[]}`), true, []string{"json_schema", "json_schema", "json_schema", "json_schema"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := modeltest.New(t)
			s.Otherwise(c.step)
			m := client(t, s.URL())
			for range c.want {
				_, usage, err := m.Complete(context.Background(), question())
				if (err == nil) != c.fine {
					t.Fatalf("error = %v", err)
				}
				if usage.CompletionTokens != 10 {
					t.Errorf("usage = %+v, want what the answer cost, also when it is of no use", usage)
				}
			}
			if got := formats(s); !slices.Equal(got, c.want) {
				t.Errorf("formats = %q, want %q", got, c.want)
			}
		})
	}
}

// A failure that has nothing to do with the dialect must not cost it anything.
func TestLadderForgetsWhatDidNotHelp(t *testing.T) {
	s := modeltest.New(t)
	bad := modeltest.Status(400, "Bad Request")
	s.Script(bad, bad, bad)
	c := client(t, s.URL())
	_, _, err := c.Complete(context.Background(), question())
	failed(t, err, model.Unavailable)
	ask(t, c, 1)
	if got, want := formats(s), []string{"json_schema", "json_object", "", "json_schema"}; !slices.Equal(got, want) {
		t.Errorf("formats = %q, want %q", got, want)
	}
}

// A question without a schema starts at json_object and teaches nothing about
// json_schema.
func TestLadderWithoutSchema(t *testing.T) {
	s := modeltest.New(t)
	s.Otherwise(refusing(formatIs("json_object"), modeltest.Fail(400, "response_format must be json_schema or text")))
	c := client(t, s.URL())
	q := question()
	q.Schema = nil
	if _, _, err := c.Complete(context.Background(), q); err != nil {
		t.Fatal(err)
	}
	ask(t, c, 1)
	if got, want := formats(s), []string{"json_object", "", "json_schema"}; !slices.Equal(got, want) {
		t.Errorf("formats = %q, want %q", got, want)
	}
}

func TestLadderConcurrently(t *testing.T) {
	s := modeltest.New(t)
	s.Otherwise(refusing(formatIs("json_schema", "json_object"), modeltest.Fail(400, "response_format is not supported")))
	c := client(t, s.URL())
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, _, err := c.Complete(context.Background(), question()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	before := len(s.Requests())
	ask(t, c, 1)
	if got := formats(s)[before:]; !slices.Equal(got, []string{""}) {
		t.Errorf("formats afterwards = %q", got)
	}
}

func TestDialectParameters(t *testing.T) {
	type chat = modeltest.Chat
	demands := "parameter.enable_thinking must be set to false for non-streaming calls"
	cases := []struct {
		name, model string
		step        modeltest.Step
		requests    int // that the first question takes
		want        func(chat) bool
	}{
		{"thinking must be off", "qwen3-8b",
			refusing(func(c chat) bool { return c.EnableThinking == nil }, modeltest.Fail(400, demands)), 2,
			func(c chat) bool { return c.EnableThinking != nil && !*c.EnableThinking && c.Format() == "json_schema" }},
		{"thinking must be off, then is unknown", "qwen3-8b",
			modeltest.Once(modeltest.Fail(400, demands), refusing(func(c chat) bool { return c.EnableThinking != nil },
				modeltest.Fail(400, "unknown member enable_thinking"))), 3,
			func(c chat) bool { return c.EnableThinking == nil && c.Format() == "json_schema" }},
		{"a temperature is refused", "next-model",
			refusing(func(c chat) bool { return c.Temperature != nil }, modeltest.Fail(400, "'temperature' does not support 0 with this model")), 2,
			func(c chat) bool { return c.Temperature == nil && c.Format() == "json_schema" }},
		{"the limit has another name", "next-model",
			refusing(func(c chat) bool { return c.MaxTokens != nil }, modeltest.Fail(400, "Use 'max_completion_tokens' instead of 'max_tokens'.")), 2,
			func(c chat) bool { return c.MaxTokens == nil && *c.MaxCompletion == 256 }},
		{"the limit has its old name", "gpt-5-local",
			refusing(func(c chat) bool { return c.MaxCompletion != nil }, modeltest.Status(422, `{"detail":[{"loc":["body","max_completion_tokens"],"msg":"extra"}]}`)), 2,
			func(c chat) bool { return *c.MaxTokens > 256 && c.MaxCompletion == nil }},
		{"no system role", "gemma",
			refusing(func(c chat) bool { return c.Messages[0].Role == "system" }, modeltest.Fail(400, "System role not supported")), 2,
			func(c chat) bool {
				return len(c.Messages) == 1 && strings.Contains(c.Text("user"), "Choose what fits.") && strings.Contains(c.Text("user"), "m2 Tea")
			}},
		{"reasoning model", "gpt-5-mini", modeltest.IDs(), 1, reasons},
		{"reasoning model behind a router", "openai/O3-mini", modeltest.IDs(), 1, reasons},
		{"newest reasoning model", "gpt-6-luna", modeltest.IDs(), 1, reasons},
		{"thinks unexpectedly", "next-model", modeltest.Think(`{"ids":[]}`), 1,
			func(c chat) bool { return *c.MaxTokens > 256 }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := modeltest.New(t)
			s.Otherwise(c.step)
			m := named(t, s.URL(), c.model)
			ask(t, m, 1)
			if n := len(s.Requests()); n != c.requests {
				t.Errorf("the first question took %d requests, want %d", n, c.requests)
			}
			ask(t, m, 1)
			all := s.Requests()
			if len(all) != c.requests+1 {
				t.Errorf("the second question took %d requests; it must know by now", len(all)-c.requests)
			}
			if last := all[len(all)-1]; !c.want(last.Chat) {
				t.Errorf("request = %s", last.Body)
			}
		})
	}
}

func reasons(c modeltest.Chat) bool {
	return c.Temperature == nil && c.MaxTokens == nil && *c.MaxCompletion > 256
}

// The hosts that demand it are not asked twice.
func TestDialectGuessedByHost(t *testing.T) {
	rt := &fakeTransport{body: modeltest.Completion(map[string]any{"content": `{"ids":[]}`}, "stop")}
	c := named(t, "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "qwen3-32b", model.WithTransport(rt))
	ask(t, c, 1)
	if !strings.Contains(rt.last(), `"enable_thinking":false`) {
		t.Errorf("request = %s", rt.last())
	}
}

// Retry shows the model its fault, once.
func TestRetry(t *testing.T) {
	cases := []struct {
		name     string
		first    modeltest.Step
		requests int
		tell     string
	}{
		{"a rejected answer", modeltest.Say(`{"ids":["1","2","3","4","5","6"]}`), 2, "6 ids are too many"},
		{"prose", modeltest.Prose(), 2, "no JSON object"},
		{"prose without end", modeltest.Say(strings.Repeat("中", 9999)), 2, "no JSON object"},
		{"nothing", modeltest.Say(""), 2, "answer is empty"},
		{"a refusal is final", modeltest.Refusal("no"), 1, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := modeltest.New(t)
			s.Script(c.first)
			q := question()
			q.Retry = true
			_, usage, err := client(t, s.URL()).Complete(context.Background(), q)
			all := s.Requests()
			if len(all) != c.requests {
				t.Fatalf("%d requests, want %d", len(all), c.requests)
			}
			if usage.PromptTokens != 100*c.requests {
				t.Errorf("usage = %+v over %d completions", usage, c.requests)
			}
			if c.requests == 1 {
				failed(t, err, model.Invalid)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			m := all[1].Chat.Messages
			if len(m) != 4 || m[2].Role != "assistant" || m[2].Content == "" || len(m[2].Content) > 9000 || !strings.Contains(m[3].Content, c.tell) {
				t.Errorf("messages = %+v", m)
			}
		})
	}
}

func TestRetryOnlyOnce(t *testing.T) {
	s := modeltest.New(t)
	s.Otherwise(modeltest.Prose())
	q := question()
	q.Retry = true
	_, _, err := client(t, s.URL()).Complete(context.Background(), q)
	failed(t, err, model.Invalid)
	if n := len(s.Requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}
