package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/sashabaranov/go-openai"
)

// maxEcho bounds in bytes what of an answer is shown to the model again.
const maxEcho = 8 << 10

// judge takes the object out of a completion. seen is t with what the answer
// betrays of the endpoint: that it thinks, or that it ignored what it was asked
// for by response_format.
func judge(r Request, t traits, res completion) (raw json.RawMessage, seen traits, bad *unusable) {
	if len(res.Choices) == 0 {
		return nil, t, &unusable{detail: "the answer holds no choice"}
	}
	choice := res.Choices[0]
	answer, inline := afterThinking(spoken(choice.Message))
	if res.thought || inline {
		t.thinks = true
	}
	if bad := withheld(r, t, res, answer); bad != nil {
		return nil, t, bad
	}
	raw, bare := object(answer)
	if !bare {
		t = t.ignored()
	}
	if raw == nil {
		return nil, t, &unusable{detail: "the answer holds no JSON object", text: clip(answer, maxEcho)}
	}
	if r.Check == nil {
		return raw, t, nil
	}
	if err := r.Check(raw); err != nil {
		if bare && lacksRequired(r.Schema, raw) {
			t = t.ignored()
		}
		return nil, t, &unusable{
			detail: "the answer does not pass: " + err.Error(),
			err:    fmt.Errorf("checking the answer: %w", err),
			text:   clip(answer, maxEcho),
		}
	}
	return raw, t, nil
}

// withheld answers why there is no whole answer to look at, if so. t is the
// dialect that was asked in, and whether the model thinks.
func withheld(r Request, t traits, res completion, answer string) *unusable {
	choice := res.Choices[0]
	limit := t.limit(r)
	switch {
	case choice.Message.Refusal != "":
		return &unusable{detail: "the model refused: " + choice.Message.Refusal, final: true}
	case choice.FinishReason == openai.FinishReasonContentFilter:
		return &unusable{detail: "the endpoint's content filter withheld the answer", final: true}
	case choice.FinishReason == openai.FinishReasonLength,
		// Not every endpoint says so.
		answer == "" && limit > 0 && res.Usage.CompletionTokens >= limit:
		// Thinking is not counted everywhere.
		own := ownLimit(limit, res.Usage.CompletionTokens) && (answer != "" || !t.thinks)
		return &unusable{detail: cutOff(limit, res.Usage.CompletionTokens, t.thinks), short: !own}
	case answer == "" && t.thinks:
		return &unusable{detail: "the model thought and then answered nothing", short: t.room == roomNone}
	case answer == "":
		return &unusable{detail: "the answer is empty"}
	}
	return nil
}

// ownLimit tells whether an answer was cut off clearly before the limit that was
// asked for, so that a higher one would change nothing. spent is what was used;
// 0 is unknown. Both are tokens.
func ownLimit(limit, spent int) bool {
	return limit == 0 || 0 < spent && spent < limit-limit/10
}

// cutOff says where an answer was cut off, and what would help.
func cutOff(limit, spent int, thinks bool) string {
	switch {
	case ownLimit(limit, spent):
		return "the answer was cut off at the endpoint's own limit: give its model a larger context window, or take one that says less"
	case thinks:
		return fmt.Sprintf("the answer was cut off at its token limit (%d asked for), and the model thinks before it answers: take one that does not, or thinks less", limit)
	}
	return fmt.Sprintf("the answer was cut off at its token limit (%d asked for): the model says more than it should; take one that follows instructions better", limit)
}

// holdsThinking tells whether the body of a completion holds thinking beside the
// answer. Endpoints call that reasoning_content (DeepSeek, vLLM, llama.cpp) or
// reasoning (Ollama, OpenRouter), and OpenAI's only counts it.
func holdsThinking(body []byte) bool {
	var c struct {
		Choices []struct {
			Message struct {
				ReasoningContent json.RawMessage `json:"reasoning_content"`
				Reasoning        json.RawMessage `json:"reasoning"`
				Details          json.RawMessage `json:"reasoning_details"`
				Thinking         json.RawMessage `json:"thinking"`
			} `json:"message"`
		} `json:"choices"`
		Usage struct {
			Details struct {
				Reasoning int `json:"reasoning_tokens"`
			} `json:"completion_tokens_details"`
		} `json:"usage"`
	}
	// What does not decode has been refused by the decoder proper.
	if json.Unmarshal(body, &c) != nil {
		return false
	}
	if len(c.Choices) > 0 {
		m := c.Choices[0].Message
		for _, v := range []json.RawMessage{m.ReasoningContent, m.Reasoning, m.Details, m.Thinking} {
			switch strings.TrimSpace(string(v)) {
			case "", "null", `""`, "[]", "{}", "false":
			default:
				return true
			}
		}
	}
	return c.Usage.Details.Reasoning > 0
}

// spoken is a message's text, which some endpoints deliver in parts.
func spoken(m openai.ChatCompletionMessage) string {
	if len(m.MultiContent) == 0 {
		return m.Content
	}
	var b strings.Builder
	for _, part := range m.MultiContent {
		b.WriteString(part.Text)
	}
	return b.String()
}

var thinkTag = regexp.MustCompile(`(?i)<(/?)think(?:ing)?\s*>`)

// afterThinking removes thinking that was left in the text. A template may have
// written the opening tag in the prompt, so that a closing tag alone ends
// thinking that began with the text; an opening tag alone never ended.
func afterThinking(text string) (answer string, thought bool) {
	text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "\uFEFF"))
	if isObject(text) {
		// Tags in here are part of some string.
		return text, false
	}
	var b strings.Builder
	rest, inside := text, false
	for {
		m := thinkTag.FindStringSubmatchIndex(rest)
		if m == nil {
			break
		}
		thought = true
		closing := m[2] != m[3]
		switch {
		case closing && !inside:
			b.Reset()
		case !closing && !inside:
			b.WriteString(rest[:m[0]])
		}
		inside = !closing
		rest = rest[m[1]:]
	}
	if !inside {
		b.WriteString(rest)
	}
	return strings.TrimSpace(b.String()), thought
}

func isObject(s string) bool { return strings.HasPrefix(s, "{") && json.Valid([]byte(s)) }

// object is the first whole JSON object in text, nil when there is none; bare
// says that it is all there is. Braces that close but hold no JSON are passed
// over as a whole, and braces that never close end the search: an object taken
// from inside a broken one would be an answer that nobody gave. Each byte is
// looked at a bounded number of times.
func object(text string) (raw json.RawMessage, bare bool) {
	if isObject(text) {
		return json.RawMessage(text), true
	}
	for {
		start := strings.IndexByte(text, '{')
		if start < 0 {
			return nil, false
		}
		text = text[start:]
		end := closing(text)
		if end < 0 {
			return nil, false
		}
		if json.Valid([]byte(text[:end])) {
			return json.RawMessage(text[:end]), false
		}
		text = text[end:]
	}
}

// closing is the offset behind the brace that closes the one that s begins
// with, -1 when none does. Braces within strings do not count.
func closing(s string) int {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// lacksRequired says whether an object misses a property that the schema
// requires at its top, which an endpoint that enforces schemas cannot produce.
func lacksRequired(schema, raw json.RawMessage) bool {
	var want struct {
		Required []string `json:"required"`
	}
	var have map[string]json.RawMessage
	if errors.Join(json.Unmarshal(schema, &want), json.Unmarshal(raw, &have)) != nil {
		return false
	}
	for _, name := range want.Required {
		if _, ok := have[name]; !ok {
			return true
		}
	}
	return false
}

// clip is at most n bytes of s, whole characters only.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
