package recall

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/model"
)

const (
	// extractTokens bounds an answer: some ten patches, which is more than a stretch
	// of a conversation holds.
	extractTokens = 3000
	// knownRunes is how much of the text of a known memory a model is shown.
	knownRunes = 700
)

// extractSchema describes the answer. Every property is required, as strict
// structured output wants.
const extractSchema = `{"type":"object","properties":{"patches":{"type":"array","items":{"type":"object","properties":{` +
	`"action":{"type":"string","enum":["create","update"]},"ref":{"type":"string"},"scope":{"type":"string","enum":["user","project","team"]},` +
	`"type":{"type":"string","enum":["user","feedback","project","reference"]},"name":{"type":"string"},"description":{"type":"string"},` +
	`"keywords":{"type":"array","items":{"type":"string"}},"body":{"type":"string"},"why":{"type":"string"},"howToApply":{"type":"string"},` +
	`"evidence":{"type":"array","items":{"type":"string"}},"confidence":{"type":"number"}},` +
	`"required":["action","ref","scope","type","name","description","keywords","body","why","howToApply","evidence","confidence"],"additionalProperties":false}}},` +
	`"required":["patches"],"additionalProperties":false}`

// Extractor has a model say what a stretch of a conversation adds to the memory.
// It satisfies [memory.Extractor].
type Extractor struct{ Door *Door }

// LearnTools are the tools of learning: the ranker, and through the door, when it
// leads to a model, that.
func LearnTools(d *Door) memory.LearnTools {
	t := memory.LearnTools{Ranker: Ranker{}, Content: ContentWord, Tokens: model.Tokens}
	if d != nil && d.Model != nil {
		t.Extractor = &Extractor{d}
	}
	return t
}

// Extract implements [memory.Extractor]. An answer of which no patch has the form
// of one is asked for once more, and then is none.
func (e *Extractor) Extract(ctx context.Context, q memory.ExtractQuestion) (patches []memory.Patch, malformed int, used memory.Usage, err error) {
	system, err := Prompt("extract")
	if err != nil {
		return nil, 0, used, err
	}
	return askList(ctx, e.Door, Question{
		Purpose: "extract", System: system + "\n\nToday is " + q.Now.UTC().Format("Monday, "+time.DateOnly) + ".",
		Parts:  []Part{{"known", knownList(q.Known, q.Now)}, {"conversation", conversation(q.Messages)}},
		Schema: json.RawMessage(extractSchema), MaxTokens: extractTokens,
	}, "patches", func(p *memory.Patch) bool { return p.Action != "" && p.Evidence != nil })
}

// knownList shows memories under their ids.
func knownList(known []memory.KnownMemory, now time.Time) string {
	var b strings.Builder
	for _, k := range known {
		d := k.Doc
		fmt.Fprintf(&b, "%s [%s, %s, %s] %s", k.ID, d.Root.Scope, either(line(d.Type, 40), "untyped"), ago(AgeDays(d, now)), line(d.Title, 200))
		if d.Pinned {
			b.WriteString(" (pinned: cannot be changed)")
		}
		if d.Description != "" {
			b.WriteString(": " + line(d.Description, renderedDescription))
		}
		b.WriteByte('\n')
		if body := line(d.BodyText(), knownRunes); body != "" {
			b.WriteString("   text: " + body + "\n")
		}
	}
	return b.String()
}

// conversation shows messages under their ids, with who said them.
func conversation(messages []memory.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s %s:\n", m.ID, m.Role)
		setIn(&b, m.Text)
	}
	return b.String()
}

// setIn writes a text with every line set in, so that none looks like the head of
// a message or of a memory.
func setIn(b *strings.Builder, text string) {
	for l := range strings.Lines(text) {
		b.WriteString("   " + strings.TrimRight(l, "\n") + "\n")
	}
}
