package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// recallPage shows a recall to a person.
type recallPage struct {
	p    *program
	out  *page
	next int // number of the last hit shown
}

func (v *recallPage) fast(r *recalled) error {
	for _, h := range r.fast {
		v.hit(h, "fast", r.query.Now)
	}
	if !r.asked {
		return nil // the rest follows at once
	}
	return v.p.print(v.out)
}

func (v *recallPage) settled(r *recalled) error {
	v.p.degraded(r)
	label := "refined"
	switch r.selection.Strategy {
	case recall.StrategyModel:
		label = "refined by the model"
	case recall.StrategyHybrid:
		label = "by words and meaning"
	}
	for _, h := range r.selection.Hits {
		v.hit(h, label, r.query.Now)
	}
	for _, ref := range r.selection.Retract {
		v.out.printf("The model withdrew %s.\n", place(r, ref))
	}
	if len(r.hits()) == 0 {
		fmt.Fprintf(v.p.stderr, "memls: %s\n", nothing(r.ranking))
	}
	v.summary(r)
	return v.p.printFound(v.out, v.next)
}

// nothing words an empty result.
func nothing(r *recall.Ranking) string {
	switch {
	case !r.Searchable:
		return "the query holds no word to look for"
	case len(r.Hits) > 0:
		return "nothing relevant: the model withdrew what shares words with the query"
	}
	return "no memory is about this"
}

// place names a memory the way a person knows it: with its path in plain text.
func place(r *recalled, ref string) string {
	if d, ok := r.snap.Get(ref); ok {
		return placeOf(d)
	}
	return ref
}

func placeOf(d *memory.Document) string { return safeLine(d.Root.Prefix + ":" + d.Rel) }

// about is what stands below a title: place, type, age and what is special.
func about(d *memory.Document, now time.Time) string {
	kind := d.Type
	if kind == "" {
		kind = untyped
	}
	s := placeOf(d) + " · " + safeLine(kind) + " · " + ago(recall.AgeDays(d, now))
	if d.Pinned {
		s += " · pinned"
	}
	if d.Status != memory.StatusActive {
		s += " · " + safeLine(d.Status)
	} else if !d.ActiveAt(now) {
		s += " · " + memory.StatusExpired
	}
	return s
}

// hit shows one memory.
func (v *recallPage) hit(h recall.Hit, label string, now time.Time) {
	v.next++
	out, d := v.out, h.Doc
	title := safeLine(d.Title)
	out.printf("%2d  %s", v.next, out.styled(styleBold, title))
	if gap := out.columns - 4 - cells(title) - len(label); gap > 1 {
		out.printf("%s%s\n", strings.Repeat(" ", gap), out.styled(styleDim, label))
	} else {
		out.printf("  %s\n", out.styled(styleDim, label))
	}
	out.printf("    %s\n", out.styled(styleDim, about(d, now)))
	if reasons := because(h.Why); reasons != "" {
		out.hanging("    why  ", reasons)
	}
	if d.Description != "" && met(h.Why, recall.FieldDescription) || h.Passage.Len() == 0 {
		s := safeLine(d.Description)
		out.wrapped("    │ ", s, marks(s, h.Why))
	}
	if h.Passage.Len() > 0 {
		v.passage(h)
	}
	out.printf("\n")
}

func (v *recallPage) passage(h recall.Hit) {
	d := h.Doc
	if met(h.Why, recall.FieldDescription) && d.Description != "" {
		v.out.wrapped("    │", "", nil)
	}
	if h.Passage.Start > d.Body.Start {
		v.out.wrapped("    │ ", "[…]", nil)
	}
	s := strings.ReplaceAll(d.Text[h.Passage.Start:h.Passage.End], "\r\n", "\n")
	s = strings.ReplaceAll(s, "\r", "\n")
	v.out.wrapped("    │ ", s, marks(s, h.Why))
	if h.Passage.End < d.Body.End {
		v.out.wrapped("    │ ", "[…]", nil)
	}
}

func met(why []recall.Why, field string) bool {
	for _, w := range why {
		if w.Field == field {
			return true
		}
	}
	return false
}

// fieldNames are the fields in a person's words.
var fieldNames = map[string]string{
	recall.FieldTitle: "title", recall.FieldDescription: "description", recall.FieldKeywords: "keywords",
	recall.FieldScenarios: "usage scenarios", recall.FieldBody: "text",
}

// matchNames word a match that is not plainly the same word.
var matchNames = map[string]string{
	recall.MatchFold: "but for accents", recall.MatchPart: "part", recall.MatchPrefix: "form", recall.MatchGram: "similar", recall.MatchConcept: "same thing",
}

// because words the reasons of a hit, field by field.
func because(why []recall.Why) string {
	var b strings.Builder
	field := ""
	for i, w := range why {
		if w.Field != field {
			field = w.Field
			if i > 0 {
				b.WriteString("; ")
			}
			name := fieldNames[field]
			if name == "" {
				name = field
			}
			b.WriteString(name + ": ")
		} else {
			b.WriteString(", ")
		}
		if w.Match == recall.MatchSemantic {
			b.WriteString("near in meaning")
			continue
		}
		b.WriteString(safeLine(w.Term))
		if how := matchNames[w.Match]; how != "" {
			b.WriteString(" (" + how + ")")
		}
	}
	return b.String()
}

// summary tells how the result came about.
func (v *recallPage) summary(r *recalled) {
	s := fmt.Sprintf("%s: %d fast in %s", matches(r.ranking.Total), len(r.fast), milliseconds(r.ranked))
	if r.asked || len(r.selection.Hits) > 0 {
		s += fmt.Sprintf(", %d refined in %s", len(r.selection.Hits), milliseconds(r.refined))
	}
	v.out.hanging("", fmt.Sprintf("%s. %s in all, %s of it reading.", s, milliseconds(r.total), milliseconds(r.took)))
	v.out.hanging("", r.searched())
}

func matches(n int) string { return count(n, "match") }

// searched tells what was looked through.
func (o *opened) searched() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s (", count(o.snap.Len(), "memory"), count(len(o.status), "root"))
	for i, s := range o.status {
		if i > 0 {
			b.WriteString(", ")
		}
		where := s.Root.Path
		if o.sample {
			where = sampleName
		}
		fmt.Fprintf(&b, "%s %s: %d", s.Root.Scope, safeLine(where), s.Catalogued)
	}
	b.WriteString(")")
	if n := o.skipped(); n > 0 {
		fmt.Fprintf(&b, "; %d skipped, see memls status", n)
	}
	b.WriteString(".")
	return b.String()
}
