package recall

import (
	"context"
	"encoding/json"
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
	return askList(ctx, c.Door, Question{
		Purpose: "dream", System: system, Parts: []Part{{"notes", noteList(q.Known)}},
		Schema: json.RawMessage(consolidateSchema), MaxTokens: consolidateTokens,
	}, "operations", func(p *memory.Proposal) bool { return p.Op != "" && len(p.Refs) > 0 })
}

// noteList shows memories under their ids, whole.
func noteList(known []memory.ClusterMemory) string {
	var b strings.Builder
	for _, k := range known {
		d := k.Doc
		fmt.Fprintf(&b, "%s [%s%s] %s\n", k.ID, either(line(d.Type, 40), "untyped"), noteDates(d), line(d.Title, 200))
		if d.Description != "" {
			b.WriteString("   description: " + line(d.Description, renderedDescription) + "\n")
		}
		setIn(&b, unifyLines(d.BodyText()))
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
