// Package transcript reads the conversations that coding agents keep: those of
// Qwen Code and of Claude Code, one JSON object a line, and plain messages with a
// role and a text. What is no message of a person, an assistant or a tool is left
// out; a line that cannot be read is named and takes no other along.
package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/memls/memls/memory"
)

// Format is how a transcript is written.
type Format string

// The formats. Auto finds out which of the others it is.
const (
	Auto   Format = "auto"
	Qwen   Format = "qwen"
	Claude Format = "claude"
	Plain  Format = "plain"
)

// Formats are the names that Parse takes.
func Formats() []string { return []string{string(Auto), string(Qwen), string(Claude), string(Plain)} }

// MaxBytes bounds a transcript (64 MiB): the longest of real sessions have some
// twenty.
const MaxBytes = 64 << 20

// maxProblems bounds the problems that are named.
const maxProblems = 20

// Transcript is a conversation that was read.
type Transcript struct {
	Format   Format
	Session  string // as the agent names it; empty when it does not
	Messages []memory.Message
	// Problems name the lines that cannot be read, without what stands there.
	Problems []string
}

// Parse reads a transcript. The error says that it is none at all.
func Parse(text string, format Format) (*Transcript, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the transcript has %d bytes; at most %d are read", len(text), MaxBytes)
	}
	rows, problems := records(strings.TrimPrefix(strings.ToValidUTF8(text, "\uFFFD"), "\uFEFF"))
	if len(rows) == 0 {
		return nil, errors.New("no line of the transcript is a JSON object; it is JSONL of Qwen Code or Claude Code, or messages with role and text")
	}
	t := &Transcript{Format: format, Problems: problems}
	if format == Auto || format == "" {
		t.Format = detect(rows)
	}
	seen := map[string]bool{}
	for _, r := range rows {
		var m *memory.Message
		switch t.Format {
		case Qwen:
			m = t.qwen(r)
		case Claude:
			m = t.claude(r)
		case Plain:
			m = t.plain(r)
		default:
			return nil, fmt.Errorf("%.40q is none of %s", string(format), strings.Join(Formats(), ", "))
		}
		if m == nil || m.Text == "" && len(m.Wrote) == 0 {
			continue
		}
		if m.ID == "" || seen[m.ID] {
			m.ID = fmt.Sprintf("m%d", len(t.Messages))
		}
		seen[m.ID] = true
		t.Messages = append(t.Messages, *m)
	}
	if len(t.Messages) == 0 {
		return nil, fmt.Errorf("the transcript holds no message (read as %s)", t.Format)
	}
	return t, nil
}

// record is one line, as far as any format knows it.
type record struct {
	Type        string          `json:"type"`
	Role        string          `json:"role"`
	Text        *string         `json:"text"`
	Content     json.RawMessage `json:"content"`
	ID          string          `json:"id"`
	UUID        string          `json:"uuid"`
	SessionID   string          `json:"sessionId"`
	Message     json.RawMessage `json:"message"`
	IsMeta      bool            `json:"isMeta"`
	IsSidechain bool            `json:"isSidechain"`
	IsSummary   bool            `json:"isCompactSummary"`
	Messages    json.RawMessage `json:"messages"`
	Wrote       []string        `json:"wrote"`
}

// records are the objects of a transcript: one a line, or those of one array, or
// of the member messages of one object.
func records(text string) (rows []record, problems []string) {
	trimmed := strings.TrimSpace(text)
	var list []json.RawMessage
	var whole record
	switch {
	case strings.HasPrefix(trimmed, "["):
		if err := json.Unmarshal([]byte(trimmed), &list); err != nil {
			return nil, []string{"the list of messages is not JSON"}
		}
	case json.Unmarshal([]byte(trimmed), &whole) == nil && whole.Messages != nil:
		if err := json.Unmarshal(whole.Messages, &list); err != nil {
			return nil, []string{"messages is no list"}
		}
	}
	if list == nil {
		for line := range strings.Lines(text) {
			list = append(list, json.RawMessage(line))
		}
	}
	bad := 0
	for i, raw := range list {
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 {
			continue
		}
		var r record
		if err := json.Unmarshal(raw, &r); err != nil {
			if bad++; bad <= maxProblems {
				problems = append(problems, fmt.Sprintf("line %d is no JSON object of a message", i+1))
			}
			continue
		}
		rows = append(rows, r)
	}
	if bad > maxProblems {
		problems = append(problems, fmt.Sprintf("%d further lines are none", bad-maxProblems))
	}
	return rows, problems
}

// detect is the format that most lines have.
func detect(rows []record) Format {
	var qwen, claude, plain int
	for _, r := range rows {
		var m message
		_ = json.Unmarshal(r.Message, &m) // what is none counts for nobody
		switch {
		case m.Parts != nil:
			qwen++
		case m.Content != nil:
			claude++
		case r.Role != "":
			plain++
		}
	}
	switch {
	case qwen > 0 && qwen >= claude && qwen >= plain:
		return Qwen
	case claude > 0 && claude >= plain:
		return Claude
	}
	return Plain
}

// message is the message of a line, in the form of either agent.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Parts   []part          `json:"parts"`
}

// part is a piece of a message of Qwen Code.
type part struct {
	Text             string           `json:"text"`
	Thought          bool             `json:"thought"`
	FunctionCall     *call            `json:"functionCall"`
	FunctionResponse *json.RawMessage `json:"functionResponse"`
}

// call is a call of a tool, whatever its arguments are named.
type call struct {
	Name  string                     `json:"name"`
	Args  map[string]json.RawMessage `json:"args"`
	Input map[string]json.RawMessage `json:"input"`
}

// writers are the tools that change a file, by the words in their names.
var writers = []string{"write", "edit", "replace", "create"}

// wrote is the file that a call changes; empty when it changes none.
func (c *call) wrote() string {
	name := strings.ToLower(c.Name)
	changes := false
	for _, w := range writers {
		changes = changes || strings.Contains(name, w)
	}
	if !changes {
		return ""
	}
	for _, args := range []map[string]json.RawMessage{c.Args, c.Input} {
		for _, key := range []string{"file_path", "absolute_path", "path", "target_file", "notebook_path"} {
			var path string
			if json.Unmarshal(args[key], &path) == nil && path != "" {
				return path
			}
		}
	}
	return ""
}

func (t *Transcript) qwen(r record) *memory.Message {
	t.named(r.SessionID)
	var m message
	if json.Unmarshal(r.Message, &m) != nil || r.IsSidechain {
		return nil
	}
	out := &memory.Message{ID: r.UUID}
	switch {
	case r.Type == "tool_result":
		out.Role = memory.RoleTool
	case m.Role == "user":
		out.Role = memory.RoleUser
	case m.Role == "model", m.Role == "assistant":
		out.Role = memory.RoleAssistant
	default:
		return nil
	}
	var texts []string
	for _, p := range m.Parts {
		switch {
		case p.Thought:
		case p.FunctionCall != nil:
			if path := p.FunctionCall.wrote(); path != "" {
				out.Wrote = append(out.Wrote, path)
			}
		case p.FunctionResponse != nil:
			out.Role = memory.RoleTool
			texts = append(texts, responseText(*p.FunctionResponse))
		case p.Text != "":
			texts = append(texts, p.Text)
		}
	}
	out.Text = strings.Join(texts, "\n")
	return out
}

// responseText is what a tool answered.
func responseText(raw json.RawMessage) string {
	var r struct {
		Response struct {
			Output json.RawMessage `json:"output"`
			Error  json.RawMessage `json:"error"`
		} `json:"response"`
	}
	_ = json.Unmarshal(raw, &r) // of another form: nothing is shown of it
	for _, v := range []json.RawMessage{r.Response.Output, r.Response.Error} {
		var s string
		if json.Unmarshal(v, &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// block is a piece of a message of Claude Code.
type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"`
	call
}

func (t *Transcript) claude(r record) *memory.Message {
	t.named(r.SessionID)
	var m message
	if r.IsMeta || r.IsSidechain || r.IsSummary || r.Type != "user" && r.Type != "assistant" || json.Unmarshal(r.Message, &m) != nil {
		return nil
	}
	out := &memory.Message{ID: r.UUID, Role: memory.RoleUser}
	if m.Role == "assistant" || r.Type == "assistant" {
		out.Role = memory.RoleAssistant
	}
	texts, tool := blocksOf(m.Content, out)
	if tool {
		out.Role = memory.RoleTool
	}
	out.Text = strings.Join(texts, "\n")
	return out
}

// blocksOf are the texts of a content, which is a text or a list of blocks; tool
// says that it holds what a tool answered. What tools changed is noted in m.
func blocksOf(raw json.RawMessage, m *memory.Message) (texts []string, tool bool) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []string{text}, false
	}
	var list []block
	if json.Unmarshal(raw, &list) != nil {
		return nil, false
	}
	for _, b := range list {
		switch b.Type {
		case "text", "":
			if b.Text != "" {
				texts = append(texts, b.Text)
			}
		case "tool_use":
			if path := b.wrote(); path != "" {
				m.Wrote = append(m.Wrote, path)
			}
		case "tool_result":
			inner, _ := blocksOf(b.Content, &memory.Message{})
			texts, tool = append(texts, inner...), true
		}
	}
	return texts, tool
}

func (t *Transcript) plain(r record) *memory.Message {
	t.named(r.SessionID)
	out := &memory.Message{ID: r.ID, Wrote: r.Wrote}
	switch strings.ToLower(r.Role) {
	case "user", "human":
		out.Role = memory.RoleUser
	case "assistant", "model", "ai":
		out.Role = memory.RoleAssistant
	case "tool", "function", "tool_result":
		out.Role = memory.RoleTool
	default:
		return nil
	}
	if r.Text != nil {
		out.Text = *r.Text
		return out
	}
	texts, tool := blocksOf(r.Content, out)
	if tool && out.Role == memory.RoleUser {
		out.Role = memory.RoleTool
	}
	out.Text = strings.Join(texts, "\n")
	return out
}

// named keeps the first name of the session.
func (t *Transcript) named(session string) {
	if t.Session == "" {
		t.Session = session
	}
}
