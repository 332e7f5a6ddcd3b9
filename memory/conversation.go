package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// The roles of a [Message]. Any other is taken for the program's own: what
// frames a conversation is not what people said in it.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Message is one message of a conversation.
type Message struct {
	ID   string `json:"id"` // unique in the conversation
	Role string `json:"role"`
	Text string `json:"text"`
	// Wrote are the files that a tool call of this message changed.
	Wrote []string `json:"wrote,omitempty"`
}

// deliveredBlock finds what memls put into a request: a block of memories, as
// recall renders it, also when its end was cut off.
var deliveredBlock = regexp.MustCompile(`(?s)<memls-memory\b[^>\n]*>.*?(?:</memls-memory\b[^>\n]*>|\z)`)

// reminders are what programs put into messages of people: the blocks of hosts,
// and what surrounds the output of commands.
var reminders = regexp.MustCompile(`(?s)<(system-reminder|system_reminder|local-command-stdout|local-command-stderr|command-name|command-message|command-args|ide_opened_file|ide_selection|environment_details|memory-context)\b[^>\n]*>.*?(?:</(?:system-reminder|system_reminder|local-command-stdout|local-command-stderr|command-name|command-message|command-args|ide_opened_file|ide_selection|environment_details|memory-context)>|\z)`)

// recalledLegacy is the block of memories that Qwen Code places before the words
// of a person: up to the last of its notes.
var recalledLegacy = regexp.MustCompile(`(?s)\A## Relevant memory\n.*?(?:\n\n---\n|\z)`)

// said is what somebody said in a message: without what memls delivered and
// without what programs added.
func (m *Message) said() string {
	text := deliveredBlock.ReplaceAllString(m.Text, "")
	text = reminders.ReplaceAllString(text, "")
	text = recalledLegacy.ReplaceAllString(strings.TrimLeft(text, whitespace), "")
	return strings.TrimSpace(cleanText(text))
}

// stated is what a person says in a message in their own words: not what they
// quote, and not what stands between code fences or tags, which are pasted.
func stated(text string) string {
	var b strings.Builder
	fence, tag := "", ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
		case tag != "":
			if strings.Contains(trimmed, "</"+tag) {
				tag = ""
			}
		case fenceMark(trimmed) != "":
			fence = fenceMark(trimmed)
		case strings.HasPrefix(trimmed, ">"):
		case pastedTag.MatchString(trimmed):
			if name := pastedTag.FindStringSubmatch(trimmed)[1]; !strings.Contains(trimmed, "</"+name) {
				tag = name
			}
		default:
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}

var pastedTag = regexp.MustCompile(`\A<([A-Za-z][\w-]*)\b[^<]*>`)

// Cursor is how far a conversation has been learnt from.
type Cursor struct {
	Offset int `json:"offset"` // messages before it
	// Digest is of these, in their order; empty at the beginning.
	Digest string `json:"digest"`
}

// chain is the digest of a history that one more message follows.
func chain(before string, m *Message) string {
	h := sha256.New()
	for _, part := range []string{before, m.Role, m.Text} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// mark is a message as it is known again in a history of which the beginning was
// summed up: by itself and the message before it.
func mark(before, m *Message) string {
	h := sha256.New()
	for _, other := range []*Message{before, m} {
		if other != nil {
			h.Write([]byte(other.Role + "\x00" + other.Text + "\x00"))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}
