package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/sashabaranov/go-openai"
)

// format is a rung of the ladder by which structured output is asked for.
type format int

const (
	bySchema format = iota // response_format json_schema
	byObject               // response_format json_object, schema in the prompt
	byPrompt               // schema in the prompt
)

// thinking is what is said about enable_thinking, a member that some vendors
// demand for calls that do not stream and that others do not know.
type thinking int

const (
	thinkUnsaid thinking = iota
	thinkOff
	thinkBarred // refused by an endpoint that was sent it
)

// room is how many tokens are granted on top of Request.MaxTokens, for thinking:
// endpoints count it and the answer against the one limit.
type room int

const (
	roomNone  room = iota
	roomThink      // for a model that thinks before it answers
	roomAmple      // for one that needed more
)

var roomTokens = [...]int{roomNone: 0, roomThink: 4096, roomAmple: 16384}

// traits is the dialect of one model at one endpoint.
// Inv: adapt and join only move forward in each field, so that learning ends.
type traits struct {
	format        format
	thinking      thinking
	noTemperature bool // temperature is refused
	newLimit      bool // max_completion_tokens instead of max_tokens
	limitSwitched bool // newLimit was corrected once by the endpoint
	noSystem      bool // the system's message goes into the user's
	thinks        bool // spends tokens on thinking
	room          room
	// tight: the endpoint refused this request for its room. It depends on the
	// length of the prompt, so that join leaves it out.
	tight bool
}

// reasoners are the name prefixes of models known to refuse max_tokens and any
// temperature.
var reasoners = []string{"o1", "o3", "o4", "gpt-5", "gpt-6"}

// thinkers occur in the names of models that think, or may be told to. Room that
// a model does not use costs nothing, so that a name too many does no harm.
var thinkers = []string{
	"qwen3", "qwq", "deepseek-r1", "deepseek-v3.1", "deepseek-v3.2", "r1-distill", "gpt-oss", "magistral",
	"think", "reason", "cogito", "exaone-deep", "glm-4.5", "glm-4.6", "glm-4.7", "glm-5", "glm-z1", "kimi-k2.5", "minimax-m",
	"gemini-2.5", "gemini-3", "grok-3-mini", "grok-4", "nemotron", "smollm3", "seed-oss", "marco-o1", "hunyuan",
}

// guess is the dialect to begin with; a wrong guess costs one refused request.
func guess(host, name string) traits {
	var t traits
	full := name
	// Routers put the vendor before the name: "openai/gpt-5".
	name = strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	for _, p := range reasoners {
		if strings.HasPrefix(name, p) {
			t.noTemperature, t.newLimit, t.thinks = true, true, true
		}
	}
	if containsAny(strings.ToLower(full), thinkers...) {
		t.room = roomThink
	}
	t = t.roomy()
	if strings.Contains(strings.ToLower(host), "dashscope") && strings.HasPrefix(name, "qwen3") {
		t.thinking = thinkOff
	}
	return t
}

// join is what both know.
func (t traits) join(o traits) traits {
	t.format = max(t.format, o.format)
	t.thinking = max(t.thinking, o.thinking)
	t.noTemperature = t.noTemperature || o.noTemperature
	t.noSystem = t.noSystem || o.noSystem
	t.thinks = t.thinks || o.thinks
	t.room = max(t.room, o.room)
	t = t.roomy()
	if o.limitSwitched && !t.limitSwitched {
		t.newLimit, t.limitSwitched = o.newLimit, true
	}
	return t
}

// formatWords occur in complaints about structured output.
var formatWords = []string{"response_format", "json_schema", "json_object", "json mode", "structured output", "schema", "grammar", "guided"}

// hopeless occur in complaints that no other dialect would answer better.
var hopeless = []string{
	"context length", "context_length", "context window", "maximum context", "too long", "too large",
	"api key", "api_key", "quota", "billing", "model_not_found",
}

// roomWords occur in complaints about a token limit that is too high, by itself
// or together with the prompt.
var roomWords = []string{
	"context length", "context_length", "context window", "maximum context", "context size", "too large", "too long", "at most", "less than", "maximum value",
}

// adapt is the dialect that a refusal asks for. It answers false when the
// refusal is about something else, or when nothing is left to try.
func (t traits) adapt(err error) (traits, bool) {
	var e *httpError
	if !errors.As(err, &e) {
		return t, false
	}
	text := complaint(e.body)
	aboutFormat := containsAny(text, formatWords...)
	switch e.status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented:
		if t.room > roomNone && !t.tight && !aboutFormat && containsAny(text, roomWords...) {
			t.tight = true
			return t, true
		}
		if !aboutFormat && containsAny(text, hopeless...) {
			return t, false
		}
	case http.StatusOK, http.StatusInternalServerError:
		// A failure in general is not about the dialect unless it says so.
		if !aboutFormat {
			return t, false
		}
	default:
		return t, false
	}
	switch {
	case strings.Contains(text, "enable_thinking") && t.thinking < thinkBarred:
		t.thinking++
	case strings.Contains(text, "temperature") && !t.noTemperature:
		t.noTemperature = true
	case strings.Contains(text, "max_completion_tokens") && !t.limitSwitched:
		t.newLimit, t.limitSwitched = !t.newLimit, true
	case aboutRoles(text) && !t.noSystem:
		t.noSystem = true
	case t.format < byPrompt:
		// Also for a refusal without a reason: response_format is the member
		// that the fewest endpoints know.
		t.format++
	default:
		return t, false
	}
	return t, true
}

func aboutRoles(text string) bool {
	return strings.Contains(text, "role") && containsAny(text, "system", "alternate", "only user")
}

// forRequest is the dialect to begin r in: the first rung takes a schema.
func (t traits) forRequest(r Request) traits {
	if len(r.Schema) == 0 {
		t.format = max(t.format, byObject)
	}
	return t
}

// ignored is the dialect after an answer that did not keep to its format.
func (t traits) ignored() traits {
	t.format = min(t.format+1, byPrompt)
	return t
}

// extra are the body's members that go-openai cannot send as they are meant: a
// temperature of 0 it leaves out, and by a model's name alone it refuses
// max_tokens before any server was asked.
func (t traits) extra(r Request) []byte {
	var m struct {
		Temperature         *int  `json:"temperature,omitempty"`
		MaxTokens           int   `json:"max_tokens,omitempty"`
		MaxCompletionTokens int   `json:"max_completion_tokens,omitempty"`
		EnableThinking      *bool `json:"enable_thinking,omitempty"`
	}
	if !t.noTemperature {
		m.Temperature = new(int)
	}
	if t.thinking == thinkOff {
		m.EnableThinking = new(bool)
	}
	limit := t.limit(r)
	if t.newLimit {
		m.MaxCompletionTokens = limit
	} else {
		m.MaxTokens = limit
	}
	// Inv: numbers and booleans always marshal.
	b, _ := json.Marshal(m)
	return b
}

// limit is the token limit to ask for, 0 for none.
func (t traits) limit(r Request) int {
	if r.MaxTokens <= 0 || t.tight {
		return max(r.MaxTokens, 0)
	}
	return r.MaxTokens + roomTokens[t.room]
}

// roomy is the dialect with the room that a model which thinks needs at least.
func (t traits) roomy() traits {
	if t.thinks {
		t.room = max(t.room, roomThink)
	}
	return t
}

// wider is the dialect with more room for r, if there is any.
func (t traits) wider(r Request) (traits, bool) {
	if r.MaxTokens <= 0 || t.tight || t.room == roomAmple {
		return t, false
	}
	t.room++
	return t, true
}

func (t traits) responseFormat(r Request) *openai.ChatCompletionResponseFormat {
	switch t.format {
	case bySchema:
		return &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
				Name: r.schemaName(), Schema: r.Schema, Strict: true,
			},
		}
	case byObject:
		return &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	}
	return nil
}

// messages words r, followed by a previous answer and what was wrong with it.
// The word JSON stands in every prompt: endpoints refuse json_object without.
func (t traits) messages(r Request, previous *unusable) []openai.ChatCompletionMessage {
	system := strings.TrimSpace(r.System + "\n\nAnswer with one JSON object and nothing else.")
	if len(r.Schema) > 0 && t.format > bySchema {
		system += " It must satisfy this JSON schema:\n" + string(r.Schema)
	}
	var out []openai.ChatCompletionMessage
	say := func(role, text string) {
		out = append(out, openai.ChatCompletionMessage{Role: role, Content: text})
	}
	if t.noSystem {
		say(openai.ChatMessageRoleUser, system+"\n\n"+r.User)
	} else {
		say(openai.ChatMessageRoleSystem, system)
		say(openai.ChatMessageRoleUser, r.User)
	}
	if previous == nil {
		return out
	}
	// Roles must alternate, so that even an empty answer is given a text.
	said := strings.TrimSpace(previous.text)
	if said == "" {
		said = "(no answer)"
	}
	say(openai.ChatMessageRoleAssistant, said)
	say(openai.ChatMessageRoleUser, fmt.Sprintf(
		"That answer cannot be used: %s. Answer again with one JSON object and nothing else.", previous.detail))
	return out
}

// LogValue shows the dialect.
func (t traits) LogValue() slog.Value { return slog.StringValue(fmt.Sprintf("%+v", t)) }
