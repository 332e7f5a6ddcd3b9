package modeltest

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
)

// Request is one that came in.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         []byte
	Chat         Chat
	Embedding    Embedding // of a request to the embeddings method
}

// Chat is the decoded body of a chat completion request. Pointers are nil for
// members that were not sent.
type Chat struct {
	Model          string        `json:"model"`
	Messages       []ChatMessage `json:"messages"`
	Temperature    *float64      `json:"temperature"`
	MaxTokens      *int          `json:"max_tokens"`
	MaxCompletion  *int          `json:"max_completion_tokens"`
	EnableThinking *bool         `json:"enable_thinking"`
	ResponseFormat *struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Name   string          `json:"name"`
			Strict bool            `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

// ChatMessage is one of a chat.
type ChatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Format is the type of response_format, empty when none was sent.
func (c Chat) Format() string {
	if c.ResponseFormat == nil {
		return ""
	}
	return c.ResponseFormat.Type
}

// Limit is how many tokens were asked for at most, 0 for no limit.
func (c Chat) Limit() int {
	for _, n := range []*int{c.MaxCompletion, c.MaxTokens} {
		if n != nil {
			return *n
		}
	}
	return 0
}

// Text is all messages of a role, or of every role when it is empty.
func (c Chat) Text(role string) string {
	var parts []string
	for _, m := range c.Messages {
		if role == "" || m.Role == role {
			parts = append(parts, m.Content)
		}
	}
	return strings.Join(parts, "\n")
}

// manifestID is a candidate's short id as a manifest writes it.
var manifestID = regexp.MustCompile(`\bm[0-9]+\b`)

// IDs are the ids of the first manifest line that holds each title, in the
// order of titles; a title that no line holds yields none. A line's id is the
// first short id in it.
func (c Chat) IDs(titles ...string) []string {
	lines := strings.Split(c.Text("user"), "\n")
	ids := []string{}
	for _, title := range titles {
		for _, line := range lines {
			if id := manifestID.FindString(line); id != "" && strings.Contains(line, title) {
				ids = append(ids, id)
				break
			}
		}
	}
	return ids
}

// AllIDs are all ids of the manifest in its order, each once.
func (c Chat) AllIDs() []string {
	seen := map[string]bool{}
	ids := []string{}
	for line := range strings.SplitSeq(c.Text("user"), "\n") {
		if id := manifestID.FindString(line); id != "" && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}
