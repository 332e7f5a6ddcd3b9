package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// maxComplaint bounds what is looked at of a failure's body, in bytes. It is
// long enough for a validation error over every field that is sent.
const maxComplaint = 16 << 10

var htmlTitle = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// serverMessage is what a failure's body says to people, in whatever of the
// usual shapes: {"error":{"message"}}, {"error":"…"}, {"message"}, {"detail"}
// as a text or as a list of {"loc","msg"}, an HTML page, plain text.
func serverMessage(body []byte) string {
	text := bytes.TrimSpace(body)
	if !json.Valid(text) {
		return describe(text)
	}
	if m := messageIn(text, 4); m != "" {
		return m
	}
	return describe(text)
}

// messageIn looks for a message at most depth levels down.
func messageIn(raw json.RawMessage, depth int) string {
	if depth == 0 {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		var parts []string
		for _, item := range list[:min(len(list), 3)] {
			if m := messageIn(item, depth-1); m != "" {
				parts = append(parts, m)
			}
		}
		return strings.Join(parts, "; ")
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return ""
	}
	for _, name := range []string{"error", "message", "msg", "detail", "errors", "code"} {
		if m := messageIn(object[name], depth-1); m != "" {
			return m
		}
	}
	return ""
}

// describe shows a body that holds no message.
func describe(text []byte) string {
	switch {
	case len(text) == 0:
		return "an empty body"
	case text[0] == '<':
		if m := htmlTitle.FindSubmatch(text[:min(len(text), maxComplaint)]); m != nil {
			return fmt.Sprintf("an HTML page (%s)", bytes.TrimSpace(m[1]))
		}
		return "an HTML page"
	case bytes.HasPrefix(text, []byte("data:")):
		return "an event stream"
	}
	return string(text[:min(len(text), 4*maxDetail)])
}

// complaint is the lower-case text in which the names of refused parameters
// are looked for: all texts of the body but those that quote the request,
// which names every parameter there is.
func complaint(body []byte) string {
	body = body[:min(len(body), maxComplaint)]
	var value any
	if json.Unmarshal(body, &value) != nil {
		return strings.ToLower(string(body))
	}
	var b strings.Builder
	collect(&b, value, 8)
	return strings.ToLower(b.String())
}

func collect(b *strings.Builder, value any, depth int) {
	if depth == 0 {
		return
	}
	switch v := value.(type) {
	case string:
		b.WriteString(v)
		b.WriteByte('\n')
	case []any:
		for _, item := range v {
			collect(b, item, depth-1)
		}
	case map[string]any:
		for name, item := range v {
			if name != "input" && name != "body" && name != "url" {
				collect(b, item, depth-1)
			}
		}
	}
}

func containsAny(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
