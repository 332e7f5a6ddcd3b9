package recall

import (
	"context"
	"encoding/json"
	"errors"
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
	raw, used, err := e.Door.Ask(ctx, Question{
		Purpose: "extract", System: system + "\n\nToday is " + q.Now.UTC().Format("Monday, "+time.DateOnly) + ".",
		Parts:  []Part{{"known", knownList(q.Known, q.Now)}, {"conversation", conversation(q.Messages)}},
		Schema: json.RawMessage(extractSchema), MaxTokens: extractTokens,
		Check: func(raw json.RawMessage) error {
			patches, malformed, err := parsePatches(raw)
			if err == nil && malformed > 0 && len(patches) == 0 {
				err = errors.New("none of the patches has the form that the schema describes")
			}
			return err
		},
	})
	if err != nil {
		return nil, 0, used, err
	}
	patches, malformed, err = parsePatches(raw)
	return patches, malformed, used, err
}

// parsePatches reads the patches of an answer one by one: a wrong one takes none of
// the others along.
func parsePatches(raw json.RawMessage) (patches []memory.Patch, malformed int, err error) {
	var answer struct {
		Patches *[]json.RawMessage `json:"patches"`
	}
	if json.Unmarshal(raw, &answer) != nil || answer.Patches == nil {
		return nil, 0, errors.New(`the answer is not an object with a list of objects named "patches"`)
	}
	for _, one := range *answer.Patches {
		var p memory.Patch
		if json.Unmarshal(one, &p) != nil || p.Action == "" || p.Evidence == nil {
			malformed++
			continue
		}
		patches = append(patches, p)
	}
	return patches, malformed, nil
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

// conversation shows messages under their ids, with who said them. Every line of
// a text is set in, so that none looks like the head of a message.
func conversation(messages []memory.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s %s:\n", m.ID, m.Role)
		for l := range strings.Lines(m.Text) {
			b.WriteString("   " + strings.TrimRight(l, "\n") + "\n")
		}
	}
	return b.String()
}
