package recall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/memls/memls/memory"
)

// consolidateTokens bounds an answer: the texts of one group of memories, twice.
const consolidateTokens = 6000

// consolidateSchema describes the answer. Every property is required, as strict
// structured output wants.
const consolidateSchema = `{"type":"object","properties":{"operations":{"type":"array","items":{"type":"object","properties":{` +
	`"op":{"type":"string","enum":["merge","split","rewrite","supersede"]},"refs":{"type":"array","items":{"type":"string"}},` +
	`"notes":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"description":{"type":"string"},` +
	`"keywords":{"type":"array","items":{"type":"string"}},"body":{"type":"string"}},` +
	`"required":["name","description","keywords","body"],"additionalProperties":false}},"reason":{"type":"string"}},` +
	`"required":["op","refs","notes","reason"],"additionalProperties":false}}},"required":["operations"],"additionalProperties":false}`

// Consolidator has a model propose how related memories are made fewer and
// clearer. It satisfies [memory.Consolidator].
type Consolidator struct{ Door *Door }

// DreamTools are the tools of consolidation: the ranker, and through the door,
// when it leads to a model, that.
func DreamTools(d *Door) memory.DreamTools {
	t := memory.DreamTools{Ranker: Ranker{}}
	if d != nil && d.Model != nil {
		t.Consolidator = &Consolidator{d}
	}
	return t
}

// Consolidate implements [memory.Consolidator]. An answer that is no list of
// operations is asked for once more, and then is none.
func (c *Consolidator) Consolidate(ctx context.Context, q memory.ClusterQuestion) (proposals []memory.Proposal, malformed int, used memory.Usage, err error) {
	system, err := Prompt("dream")
	if err != nil {
		return nil, 0, used, err
	}
	raw, used, err := c.Door.Ask(ctx, Question{
		Purpose: "dream", System: system, Parts: []Part{{"notes", noteList(q.Known)}},
		Schema: json.RawMessage(consolidateSchema), MaxTokens: consolidateTokens,
		Check: func(raw json.RawMessage) error {
			found, malformed, err := parseProposals(raw)
			if err == nil && malformed > 0 && len(found) == 0 {
				err = errors.New("none of the operations has the form that the schema describes")
			}
			return err
		},
	})
	if err != nil {
		return nil, 0, used, err
	}
	proposals, malformed, err = parseProposals(raw)
	return proposals, malformed, used, err
}

// parseProposals reads the operations of an answer one by one: a wrong one takes
// none of the others along.
func parseProposals(raw json.RawMessage) (proposals []memory.Proposal, malformed int, err error) {
	var answer struct {
		Operations *[]json.RawMessage `json:"operations"`
	}
	if json.Unmarshal(raw, &answer) != nil || answer.Operations == nil {
		return nil, 0, errors.New(`the answer is not an object with a list of objects named "operations"`)
	}
	for _, one := range *answer.Operations {
		var p memory.Proposal
		if json.Unmarshal(one, &p) != nil || p.Op == "" || len(p.Refs) == 0 {
			malformed++
			continue
		}
		proposals = append(proposals, p)
	}
	return proposals, malformed, nil
}

// noteList shows memories under their ids, whole. Every line of a text is set in,
// so that none looks like the head of a note.
func noteList(known []memory.ClusterMemory) string {
	var b strings.Builder
	for _, k := range known {
		d := k.Doc
		fmt.Fprintf(&b, "%s [%s%s] %s\n", k.ID, either(line(d.Type, 40), "untyped"), noteDates(d), line(d.Title, 200))
		if d.Description != "" {
			b.WriteString("   description: " + line(d.Description, renderedDescription) + "\n")
		}
		for l := range strings.Lines(unifyLines(d.BodyText())) {
			b.WriteString("   " + strings.TrimRight(l, "\n") + "\n")
		}
	}
	return b.String()
}

// noteDates are the days that a memory tells of itself.
func noteDates(d *memory.Document) string {
	out := ""
	for _, t := range []struct {
		what string
		at   time.Time
	}{{"created", d.CreatedAt}, {"updated", d.UpdatedAt}} {
		if !t.at.IsZero() {
			out += ", " + t.what + " " + t.at.UTC().Format(time.DateOnly)
		}
	}
	return out
}
