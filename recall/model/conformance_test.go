package model_test

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/memls/memls/recall/model"
	"github.com/memls/memls/recall/model/modeltest"
)

// Every shape in which endpoints answer, and what becomes of it.
func TestCompleteShapes(t *testing.T) {
	const ids = `{"ids":["m2","m1"]}`
	const ok = model.Kind(0)
	cases := []struct {
		name   string
		step   modeltest.Step // for every request
		kind   model.Kind
		want   string // the answer, or a part of Detail
		resent int    // requests beyond the first
	}{
		{"plain", modeltest.Say(ids), ok, ids, 0},
		{"plain with blanks", modeltest.Say("\n " + ids + "\n"), ok, ids, 0},
		{"byte order mark", modeltest.Say("\ufeff" + ids), ok, ids, 0},
		{"empty ids", modeltest.IDs(), ok, `{"ids":[]}`, 0},
		{"unknown ids", modeltest.IDs("m1", "nope.md", "../x"), ok, `{"ids":["m1","nope.md","../x"]}`, 0},
		{"code fence", modeltest.Fenced(ids), ok, ids, 0},
		{"bare code fence", modeltest.Say("```\n" + ids + "\n```"), ok, ids, 0},
		{"leading prose", modeltest.Say("The best are: " + ids + " and {nothing} else"), ok, ids, 0},
		{"braces in prose before", modeltest.Say(`In the form {"ids": [...]}: ` + ids), ok, ids, 0},
		{"braces in strings", modeltest.Say(`Well: {"ids":["}{\"}"]}.`), ok, `{"ids":["}{\"}"]}`, 0},
		{"thinking", modeltest.Think(ids), ok, ids, 0},
		{"thinking closed only", modeltest.Say("Hm {\"ids\":[\"m9\"]}\n</think>\n" + ids), ok, ids, 0},
		{"thinking and fence", modeltest.Say("<THINKING >x</Thinking>```json\n" + ids + "```"), ok, ids, 0},
		{"tag within a string", modeltest.Say(`{"ids":["</think>"]}`), ok, `{"ids":["</think>"]}`, 0},
		{"reasoning beside, as Ollama names it", modeltest.Thinker(0, "reasoning", "m2", "m1"), ok, ids, 0},
		{"reasoning beside", modeltest.Message(map[string]any{"content": ids, "reasoning_content": "hm"}, "stop"), ok, ids, 0},
		{"content in parts", modeltest.Message(map[string]any{"content": []any{
			map[string]any{"type": "text", "text": `{"ids":`}, map[string]any{"type": "text", "text": `["m1"]}`},
		}}, "stop"), ok, `{"ids":["m1"]}`, 0},
		{"blank lines before the body", modeltest.Status(200, "\n\n\n"+modeltest.Completion(map[string]any{"content": ids}, "stop")), ok, ids, 0},
		{"null error beside choices", modeltest.Status(200, `{"error":null,"choices":[{"message":{"content":"{\"ids\":[]}"}}]}`), ok, `{"ids":[]}`, 0},

		{"prose", modeltest.Prose(), model.Invalid, "no JSON object", 0},
		{"broken JSON", modeltest.BrokenJSON(), model.Invalid, "no JSON object", 0},
		{"object within a broken one", modeltest.Say(`{"list": [{"ids":["m1"]}, oops`), model.Invalid, "no JSON object", 0},
		{"array", modeltest.Say(`["m1"]`), model.Invalid, "no JSON object", 0},
		{"thinking never ends", modeltest.Say("<think>I could say " + ids), model.Invalid, "thought and then answered nothing", 1},
		{"reasoning only", modeltest.Message(map[string]any{"reasoning_content": ids}, "stop"), model.Invalid, "thought and then answered nothing", 1},
		{"50 ids", modeltest.IDs(strings.Fields(strings.Repeat("m1 ", 50))...), model.Invalid, "50 ids are too many", 0},
		{"wrong member", modeltest.Say(`{"id":"m1"}`), model.Invalid, "ids is missing", 0},
		{"cut off", modeltest.Length(`{"ids":["m1"`), model.Invalid, "cut off at its token limit (4352 asked for): the model says more", 1},
		{"cut off in thinking", modeltest.Thinker(30000, "reasoning"), model.Invalid, "cut off at its token limit (4352 asked for), and the model thinks", 1},
		{"context full", modeltest.FullContext(`{"ids":["m1"`, 77), model.Invalid, "the endpoint's own limit: give its model a larger context", 0},
		{"refusal", modeltest.Refusal("I can't help\nwith that"), model.Invalid, "refused: I can't help with that", 0},
		{"content filter", modeltest.Message(map[string]any{"content": "x"}, "content_filter"), model.Invalid, "content filter", 0},
		{"empty content", modeltest.Say(""), model.Invalid, "answer is empty", 0},
		{"no choices", modeltest.NoChoices(), model.Invalid, "no choice", 0},
		{"HTML as success", modeltest.HTML(200), model.Invalid, "HTML page (200 OK); is the base URL right?", 0},
		{"event stream", modeltest.Status(200, "data: {}\n\n"), model.Invalid, "event stream", 0},
		{"empty body", modeltest.Status(200, ""), model.Invalid, "empty body", 0},
		{"half an envelope", modeltest.Status(200, `{"choices":[`), model.Invalid, "not a chat completion", 0},
		{"wrong envelope", modeltest.Status(200, `{"choices":[{"message":5}]}`), model.Invalid, "not a chat completion", 0},
		{"huge", modeltest.Huge(model.MaxBody), model.Invalid, "larger than", 0},

		{"error as success", modeltest.Fail(200, "no capacity"), model.Unavailable, "HTTP 200): no capacity", 0},
		{"error object as success", modeltest.Status(200, `{"object":"error","message":"gone"}`), model.Unavailable, "gone", 0},
		{"bad key", modeltest.Fail(401, "Incorrect API key provided: "+key), model.Unavailable, "refuses the key (HTTP 401): Incorrect API key provided: [key]", 0},
		{"unknown model", modeltest.Fail(404, "model 'stub' not found"), model.Unavailable, "knows no model stub", 0},
		{"string error", modeltest.Status(404, `{"error":"model not loaded"}`), model.Unavailable, ": model not loaded", 0},
		{"error list", modeltest.Status(403, `{"error":{"message":["a","b"]}}`), model.Unavailable, ": a; b", 0},
		{"top-level message", modeltest.Status(403, `{"object":"error","message":"no such thing","code":40301}`), model.Unavailable, ": no such thing", 0},
		{"detail text", modeltest.Status(404, `{"detail":"Not Found"}`), model.Unavailable, ": Not Found", 0},
		{"detail list", modeltest.Status(403, `{"detail":[{"loc":["body","x"],"msg":"field required"}]}`), model.Unavailable, ": field required", 0},
		{"no message", modeltest.Status(403, `{"a":1}`), model.Unavailable, `: {"a":1}`, 0},
		{"HTML without a title", modeltest.Status(403, "<p>no</p>"), model.Unavailable, ": an HTML page", 0},
		{"message too deep", modeltest.Status(403, `{"error":{"error":{"error":{"error":"x"}}}}`), model.Unavailable, `: {"error":{"err`, 0},
		{"long and steering", modeltest.Status(403, "a\u202eb\r\n\tc\x00\xff"+strings.Repeat("中", 9999)), model.Unavailable, ": ab c\ufffd中", 0},
		{"empty failure", modeltest.Status(403, ""), model.Unavailable, "an empty body", 0},
		{"HTML 502", modeltest.HTML(502), model.Unavailable, "HTML page (502 Bad Gateway)", 2},
		{"HTML 504", modeltest.HTML(504), model.Timeout, "gave up waiting", 2},
		{"overloaded", modeltest.Fail(529, "overloaded"), model.Unavailable, "overloaded", 2},
		{"no quota", modeltest.Status(429, `{"error":{"message":"pay","code":"insufficient_quota"}}`), model.Unavailable, "pay", 0},
		{"too many", modeltest.Fail(429, "slow down"), model.Unavailable, "wants fewer requests (HTTP 429): slow down", 2},
		{"too long", modeltest.Fail(400, "This model's maximum context length is 4096 tokens"), model.Unavailable, "maximum context length", 0},
		{"reset", modeltest.Reset(), model.Unavailable, "no answer from", 2},
		{"disconnect in the body", modeltest.Disconnect(), model.Unavailable, "broke off in the middle", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := modeltest.New(t)
			s.Otherwise(c.step)
			raw, usage, err := client(t, s.URL()).Complete(context.Background(), question())
			if c.kind == ok {
				if err != nil {
					t.Fatal(err)
				}
				if string(raw) != c.want {
					t.Errorf("answer = %s, want %s", raw, c.want)
				}
				if strings.Contains(c.name, "null error") {
					return // the one answer that reports no usage
				}
				if usage != (model.Usage{PromptTokens: 100, CompletionTokens: 10}) {
					t.Errorf("usage = %+v", usage)
				}
				return
			}
			e := failed(t, err, c.kind)
			if !strings.Contains(e.Detail, c.want) {
				t.Errorf("detail = %q, want it to hold %q", e.Detail, c.want)
			}
			if raw != nil {
				t.Errorf("an answer beside the error: %s", raw)
			}
			if n := len(s.Requests()) - 1; n != c.resent {
				t.Errorf("sent again %d times, want %d", n, c.resent)
			}
			wantPresentable(t, e)
		})
	}
}

var steering = regexp.MustCompile(`[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]`)

// wantPresentable holds an error to what its fields promise.
func wantPresentable(t *testing.T, e *model.Error) {
	t.Helper()
	if e.Detail == "" || !utf8.ValidString(e.Detail) || steering.MatchString(e.Detail) {
		t.Errorf("detail is not one clean line: %q", e.Detail)
	}
	if n := utf8.RuneCountInString(e.Detail); n > 240 {
		t.Errorf("detail has %d characters", n)
	}
	for err := error(e); err != nil; {
		if strings.Contains(err.Error(), key) {
			t.Errorf("the key shows in %q", err)
		}
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			break
		}
		err = u.Unwrap()
	}
}

func TestCompleteNobodyListens(t *testing.T) {
	url, err := modeltest.Refused()
	if err != nil {
		t.Fatal(err)
	}
	var p pauses
	_, _, err = client(t, url, model.WithPause(p.pause)).Complete(context.Background(), question())
	e := failed(t, err, model.Unavailable)
	if !strings.Contains(e.Detail, "cannot reach "+url) {
		t.Errorf("detail = %q", e.Detail)
	}
	if n := len(p.taken()); n != 0 {
		t.Errorf("tried again %d times where nobody listens", n)
	}
}

// What a request looks like on the wire.
func TestCompleteRequest(t *testing.T) {
	s := modeltest.New(t)
	if _, _, err := client(t, s.URL()+"/chat/completions/").Complete(context.Background(), question()); err != nil {
		t.Fatal(err)
	}
	r := s.Requests()[0]
	if r.Method != http.MethodPost || r.Path != "/v1/chat/completions" {
		t.Errorf("request = %s %s", r.Method, r.Path)
	}
	if got := r.Header.Get("Authorization"); got != "Bearer "+key {
		t.Errorf("Authorization = %q", got)
	}
	if r.Chat.Temperature == nil || *r.Chat.Temperature != 0 {
		t.Errorf("temperature = %v, want 0 sent", r.Chat.Temperature)
	}
	if r.Chat.MaxTokens == nil || *r.Chat.MaxTokens != 256 || r.Chat.MaxCompletion != nil {
		t.Errorf("limits in %s", r.Body)
	}
	if r.Chat.EnableThinking != nil {
		t.Error("enable_thinking was sent to an endpoint that did not ask")
	}
	f := r.Chat.ResponseFormat
	if r.Chat.Format() != "json_schema" || f.JSONSchema.Name != "selection" || !f.JSONSchema.Strict || string(f.JSONSchema.Schema) != schema {
		t.Errorf("response_format in %s", r.Body)
	}
	if r.Chat.Model != "stub" || !strings.Contains(r.Chat.Text("user"), "m2 Tea") || !strings.Contains(r.Chat.Text("system"), "JSON") {
		t.Errorf("messages in %s", r.Body)
	}
}

func TestClientNames(t *testing.T) {
	c := named(t, "http://localhost:1/v1/chat/completions", "stub")
	if c.Name() != "stub" || c.Endpoint() != "http://localhost:1/v1" {
		t.Errorf("client = %q at %q", c.Name(), c.Endpoint())
	}
}

// Schema names are reduced to what endpoints accept.
func TestCompleteSchemaName(t *testing.T) {
	for name, want := range map[string]string{
		"": "answer", "a b/ü": "a_b__", strings.Repeat("x", 99): strings.Repeat("x", 64),
	} {
		s := modeltest.New(t)
		q := question()
		q.SchemaName = name
		if _, _, err := client(t, s.URL()).Complete(context.Background(), q); err != nil {
			t.Fatal(err)
		}
		if got := s.Requests()[0].Chat.ResponseFormat.JSONSchema.Name; got != want {
			t.Errorf("schema name = %q, want %q", got, want)
		}
	}
}

func TestCompleteWithoutKey(t *testing.T) {
	s := modeltest.New(t)
	s.Script(modeltest.Fail(401, "no key"))
	c, err := model.New(model.Config{BaseURL: s.URL(), Name: "stub"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _, err = c.Complete(context.Background(), question())
	if e := failed(t, err, model.Unavailable); !strings.Contains(e.Detail, "wants a key and none is named") {
		t.Errorf("detail = %q", e.Detail)
	}
	if got, ok := s.Requests()[0].Header["Authorization"]; ok {
		t.Errorf("Authorization = %q without a key", got)
	}
}

func TestCompleteBadSchema(t *testing.T) {
	s := modeltest.New(t)
	q := question()
	q.Schema = []byte("{")
	if _, _, err := client(t, s.URL()).Complete(context.Background(), q); err == nil || !strings.Contains(err.Error(), "select: the schema") {
		t.Errorf("error = %v", err)
	}
	if len(s.Requests()) != 0 {
		t.Error("a broken schema was sent")
	}
}
