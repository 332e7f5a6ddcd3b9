package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Step answers one request. The connection of a step that answers nothing is
// dropped.
type Step func(*Call)

// Call is a request that waits for its answer.
type Call struct {
	Request
	w       http.ResponseWriter
	http    *http.Request
	closing <-chan struct{}
	begun   bool // an answer, or the connection was taken over
}

// Context ends when the client goes.
func (c *Call) Context() context.Context { return c.http.Context() }

// Wait waits for ready and answers false when the client went or the server
// closes first.
func (c *Call) Wait(ready <-chan struct{}) bool {
	select {
	case <-ready:
		return true
	case <-c.Context().Done():
	case <-c.closing:
	}
	return false
}

// Sleep is Wait for a duration.
func (c *Call) Sleep(d time.Duration) bool {
	ready := make(chan struct{})
	t := time.AfterFunc(d, func() { close(ready) })
	defer t.Stop()
	return c.Wait(ready)
}

// Reply sends a status and a body.
func (c *Call) Reply(status int, contentType, body string) {
	c.begun = true
	c.w.Header().Set("Content-Type", contentType)
	c.w.WriteHeader(status)
	// The client may be gone; then there is nobody to tell.
	_, _ = c.w.Write([]byte(body))
}

// Completion is the body of a chat completion with the members of message and
// a finish reason. It reports 100 prompt and 10 completion tokens.
func Completion(message map[string]any, finish string) string {
	return completion(message, finish, 10)
}

func completion(message map[string]any, finish string, tokens int) string {
	m := map[string]any{"role": "assistant", "content": nil}
	maps.Copy(m, message)
	return encode(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "stub",
		"choices": []any{map[string]any{"index": 0, "message": m, "finish_reason": finish}},
		"usage":   map[string]any{"prompt_tokens": 100, "completion_tokens": tokens, "total_tokens": 100 + tokens},
	})
}

// encode panics on what cannot be JSON: a mistake in the test at hand.
func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("modeltest: encoding an answer: %v", err))
	}
	return string(b)
}

// Message answers a completion of any message and finish reason.
func Message(message map[string]any, finish string) Step {
	return Status(http.StatusOK, Completion(message, finish))
}

// Say answers a completion with a text.
func Say(text string) Step { return Message(map[string]any{"content": text}, "stop") }

// IDs answers a selection of ids, in any number and of any shape.
func IDs(ids ...string) Step { return Say(idsText(ids)) }

func idsText(ids []string) string {
	if ids == nil {
		ids = []string{}
	}
	return encode(map[string][]string{"ids": ids})
}

// Choose answers the ids of the manifest lines that hold the titles.
func Choose(titles ...string) Step {
	return func(c *Call) { IDs(c.Chat.IDs(titles...)...)(c) }
}

// ChooseBy answers the ids that choose picks from the request.
func ChooseBy(choose func(Chat) []string) Step {
	return func(c *Call) { IDs(choose(c.Chat)...)(c) }
}

// Fenced answers a text in a code fence with prose around it.
func Fenced(text string) Step {
	return Say("Here is what I found:\n\n```json\n" + text + "\n```\n\nTell me if you need more.")
}

// Prose answers no JSON at all.
func Prose() Step {
	return Say("I would look at the first and the third memory, they seem to fit best.")
}

// Think answers a text behind inline thinking that mentions another object.
func Think(text string) Step {
	return Say("<think>\nMaybe {\"ids\":[\"m9\"]}? No.\n</think>\n\n" + text)
}

// BrokenJSON answers an object that breaks off within its content.
func BrokenJSON() Step { return Say(`{"ids": ["m1", "m`) }

// Length answers a text that was cut off at the token limit that was asked for.
func Length(text string) Step {
	return func(c *Call) { c.cutOff(map[string]any{"content": text}, c.Chat.Limit()) }
}

// FullContext answers a text that was cut off after n tokens, whatever was asked
// for.
func FullContext(text string, n int) Step {
	return func(c *Call) { c.cutOff(map[string]any{"content": text}, n) }
}

func (c *Call) cutOff(message map[string]any, tokens int) {
	c.Reply(http.StatusOK, "application/json", completion(message, "length", tokens))
}

// Thinker answers ids after so many tokens of thinking, which it gives in the
// member named, or before the answer when that is "content". Where the limit
// does not reach it is cut off before it answers.
func Thinker(tokens int, member string, ids ...string) Step {
	return thinker(tokens, member, func(Chat) []string { return ids })
}

// ThinkerChoosing is Thinker with the ids of the manifest lines that hold the
// titles.
func ThinkerChoosing(tokens int, member string, titles ...string) Step {
	return thinker(tokens, member, func(c Chat) []string { return c.IDs(titles...) })
}

func thinker(tokens int, member string, choose func(Chat) []string) Step {
	return func(c *Call) {
		limit, short := c.Chat.Limit(), false
		if limit > 0 && limit < tokens+10 {
			short = true
		}
		m := map[string]any{"content": ""}
		if !short {
			m["content"] = idsText(choose(c.Chat))
		}
		switch {
		case member != "content":
			m[member] = "Let me see."
		case short:
			m["content"] = "<think>Let me see"
		default:
			m["content"] = fmt.Sprint("<think>Let me see.</think>", m["content"])
		}
		if short {
			c.cutOff(m, limit)
			return
		}
		c.Reply(http.StatusOK, "application/json", completion(m, "stop", tokens+10))
	}
}

// Refusal answers a refusal.
func Refusal(text string) Step { return Message(map[string]any{"refusal": text}, "stop") }

// NoChoices answers a completion without any.
func NoChoices() Step { return Status(http.StatusOK, `{"object":"chat.completion","choices":[]}`) }

// Status answers any status with a JSON body.
func Status(code int, body string) Step {
	return func(c *Call) { c.Reply(code, "application/json", body) }
}

// Fail answers a status with an error as OpenAI words it.
func Fail(code int, message string) Step {
	return Status(code, encode(map[string]any{
		"error": map[string]any{"message": message, "type": "error", "param": nil, "code": nil},
	}))
}

// HTML answers a status with a page, as proxies and wrong addresses do.
func HTML(code int) Step {
	page := fmt.Sprintf("<!DOCTYPE html><html><head><title>%d %s</title></head><body><h1>nginx</h1></body></html>",
		code, http.StatusText(code))
	return func(c *Call) { c.Reply(code, "text/html", page) }
}

// RetryAfter answers a failure that names a time to wait.
func RetryAfter(code int, header string) Step {
	return func(c *Call) {
		c.w.Header().Set("Retry-After", header)
		Fail(code, "slow down")(c)
	}
}

// Redirect answers a redirect.
func Redirect(code int, to string) Step {
	return func(c *Call) {
		c.w.Header().Set("Location", to)
		c.Reply(code, "text/plain", "moved")
	}
}

// Huge answers a completion of more than n bytes.
func Huge(n int) Step { return Say(strings.Repeat("x", n)) }

// Reset drops the connection before any answer.
func Reset() Step {
	return func(c *Call) {
		conn, _, err := http.NewResponseController(c.w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		c.begun = true
		if tcp, ok := conn.(*net.TCPConn); ok {
			// Without lingering the close is a reset. Where that is not to be
			// had it is an end of file, which says the same to a client.
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
}

// Disconnect drops the connection in the middle of the body.
func Disconnect() Step {
	return func(c *Call) {
		c.begin(`{"id":"chatcmpl-1","object":"chat.compl`)
		panic(http.ErrAbortHandler)
	}
}

// Stall sends headers and the body's beginning, then nothing until the client
// goes.
func Stall() Step {
	return func(c *Call) {
		c.begin(`{"id":"chatcmpl-1",`)
		c.Wait(nil)
		panic(http.ErrAbortHandler)
	}
}

func (c *Call) begin(text string) {
	c.Reply(http.StatusOK, "application/json", text)
	_ = http.NewResponseController(c.w).Flush()
}

// Hang never answers.
func Hang() Step { return func(c *Call) { c.Wait(nil) } }

// After takes step after a time, unless the client goes before.
func After(d time.Duration, step Step) Step {
	return func(c *Call) {
		if c.Sleep(d) {
			step(c)
		}
	}
}

// When takes step once ready is closed, unless the client goes before.
func When(ready <-chan struct{}, step Step) Step {
	return func(c *Call) {
		if c.Wait(ready) {
			step(c)
		}
	}
}

// Serial is step for one request at a time: a server without parallel slots.
// Requests wait in the order of their coming, unless their client goes.
func Serial(step Step) Step {
	place := make(chan struct{}, 1)
	return func(c *Call) {
		select {
		case place <- struct{}{}:
			defer func() { <-place }()
			step(c)
		case <-c.Context().Done():
		case <-c.closing:
		}
	}
}

// Match takes step for the requests that accepts wants, else otherwise.
func Match(accepts func(Chat) bool, step, otherwise Step) Step {
	return func(c *Call) {
		if accepts(c.Chat) {
			step(c)
			return
		}
		otherwise(c)
	}
}

// Once takes first for its first request and then for all others.
func Once(first, then Step) Step {
	var once sync.Once
	return func(c *Call) {
		step := then
		once.Do(func() { step = first })
		step(c)
	}
}
