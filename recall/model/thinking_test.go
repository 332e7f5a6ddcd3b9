package model_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memls/memls/recall/model"
	"github.com/memls/memls/recall/model/modeltest"
)

// limits are the token limits of all requests, in order.
func limits(s *modeltest.Server) []int {
	var out []int
	for _, r := range s.Requests() {
		out = append(out, r.Chat.Limit())
	}
	return out
}

// The tokens that question allows, and those with room for thinking.
const (
	plain, think, ample = 256, 256 + 4096, 256 + 16384
)

// A model that thinks is asked again with room for it at once, and from then on
// from the start, whatever its endpoint calls its thinking.
func TestThinkingGetsRoom(t *testing.T) {
	for _, member := range []string{"content", "reasoning", "reasoning_content", "thinking"} {
		t.Run(member, func(t *testing.T) {
			s := modeltest.New(t)
			s.Otherwise(modeltest.Thinker(2000, member, "m1"))
			ask(t, client(t, s.URL()), 2)
			if got := limits(s); !slices.Equal(got, []int{plain, think, think}) {
				t.Errorf("limits = %d", got)
			}
		})
	}
	t.Run("only counted", func(t *testing.T) {
		s := modeltest.New(t)
		s.Otherwise(modeltest.Status(200, `{"choices":[{"message":{"content":"{\"ids\":[]}"}}],"usage":{"completion_tokens_details":{"reasoning_tokens":64}}}`))
		ask(t, client(t, s.URL()), 2)
		if got := limits(s); !slices.Equal(got, []int{plain, think}) {
			t.Errorf("limits = %d", got)
		}
	})
	t.Run("the end is not told", func(t *testing.T) {
		s := modeltest.New(t)
		s.Script(modeltest.Message(map[string]any{"content": "<think>Let me"}, "stop"))
		ask(t, client(t, s.URL()), 1)
		if got := limits(s); !slices.Equal(got, []int{plain, think}) {
			t.Errorf("limits = %d", got)
		}
	})
}

// Models that are known to think get room from the start.
func TestThinkingIsKnownByName(t *testing.T) {
	for _, name := range []string{
		"qwen3:8b", "Qwen/Qwen3-32B-AWQ", "deepseek-r1:14b", "deepseek-reasoner", "openai/gpt-oss-20b", "gpt-oss:120b", "magistral:24b", "qwq",
		"kimi-k2-thinking", "phi4-reasoning", "google/gemini-2.5-flash", "glm-4.6", "gpt-5-mini",
	} {
		s := modeltest.New(t)
		s.Otherwise(modeltest.Thinker(2000, "reasoning", "m1"))
		ask(t, named(t, s.URL(), name), 1)
		if got := limits(s); !slices.Equal(got, []int{think}) {
			t.Errorf("%s: limits = %d", name, got)
		}
	}
	for _, name := range []string{"llama3.2", "gpt-4.1-mini", "mistral-small", "qwen2.5:7b", "gemma3"} {
		s := modeltest.New(t)
		ask(t, named(t, s.URL(), name), 1)
		if got := limits(s); !slices.Equal(got, []int{plain}) {
			t.Errorf("%s: limits = %d", name, got)
		}
	}
}

// One that needs yet more gets it once in a question, and what helped is kept.
func TestRoomGrowsByWhatHelps(t *testing.T) {
	s := modeltest.New(t)
	s.Otherwise(modeltest.Thinker(10000, "reasoning", "m1"))
	c := client(t, s.URL())
	_, _, err := c.Complete(context.Background(), question())
	failed(t, err, model.Invalid)
	ask(t, c, 2)
	if got := limits(s); !slices.Equal(got, []int{plain, think, think, ample, ample}) {
		t.Errorf("limits = %d", got)
	}
}

// One that does not stop is not given more each time.
func TestRoomThatDidNotHelpIsForgotten(t *testing.T) {
	s := modeltest.New(t)
	s.Otherwise(modeltest.Length("Well, "))
	c := client(t, s.URL())
	for range 2 {
		_, _, err := c.Complete(context.Background(), question())
		failed(t, err, model.Invalid)
	}
	if got := limits(s); !slices.Equal(got, []int{plain, think, plain, think}) {
		t.Errorf("limits = %d", got)
	}
}

// An endpoint that cannot give the room is asked without.
func TestRoomIsRefused(t *testing.T) {
	for _, complaint := range []string{
		"This model's maximum context length is 4096 tokens. However, you requested 4652 tokens",
		"max_tokens is too large: 4352. This model supports at most 4096 completion tokens",
	} {
		roomy := func(c modeltest.Chat) bool { return c.Limit() > plain }
		s := modeltest.New(t)
		s.Otherwise(refusing(roomy, modeltest.Fail(400, complaint)))
		ask(t, named(t, s.URL(), "qwen3:8b"), 1)
		if got := limits(s); !slices.Equal(got, []int{think, plain}) {
			t.Errorf("%s: limits = %d", complaint, got)
		}

		s = modeltest.New(t)
		s.Otherwise(modeltest.Match(roomy, modeltest.Fail(400, complaint), modeltest.Thinker(2000, "reasoning")))
		_, _, err := client(t, s.URL()).Complete(context.Background(), question())
		e := failed(t, err, model.Invalid)
		if got := limits(s); !slices.Equal(got, []int{plain, think}) || !strings.Contains(e.Detail, "(256 asked for), and the model thinks") {
			t.Errorf("limits = %d, error = %v", got, err)
		}
	}
}

// Both requests share the one time.
func TestRoomUnderClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := &fakeTransport{delay: 20 * time.Second, body: modeltest.Completion(map[string]any{"reasoning": "Let me see"}, "length")}
		c, err := model.New(model.Config{BaseURL: "http://model.test/v1", Name: "stub"}, model.WithTransport(rt))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, usage, err := c.Complete(context.Background(), question())
		if e := failed(t, err, model.Timeout); !strings.Contains(e.Detail, "it thinks before it answers") {
			t.Errorf("detail = %q", e.Detail)
		}
		if took := time.Since(began); took != model.DefaultTimeout || rt.count() != 2 {
			t.Errorf("%d requests in %v", rt.count(), took)
		}
		if usage.CompletionTokens != 10 {
			t.Errorf("usage = %+v, want what the first answer cost", usage)
		}
	})
}
