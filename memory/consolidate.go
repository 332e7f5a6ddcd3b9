package memory

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Bounds of what a model is shown and may propose in one run.
const (
	maxClusters     = 24
	maxClusterSize  = 6
	maxShownRunes   = 3000 // a longer memory is not shown, and so not changed
	maxProposals    = 64   // of one answer; what comes behind is dropped
	clusterNearest  = 4    // neighbours of one memory
	minCarriedWords = 0.85 // the part of the words of each statement that must stay
)

// Note is what a model would write in the place of memories.
type Note struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Keywords    []string `json:"keywords"`
	Body        string   `json:"body"`
}

// Proposal is one operation that a model proposes over the memories of a cluster.
type Proposal struct {
	Op     string   `json:"op"`    // merge, split, rewrite, supersede
	Refs   []string `json:"refs"`  // short ids of the cluster; of supersede the older one first
	Notes  []Note   `json:"notes"` // one of merge and rewrite, several of split, none of supersede
	Reason string   `json:"reason"`
}

// ClusterQuestion is what a model is asked about related memories.
type ClusterQuestion struct {
	Known []ClusterMemory
}

// ClusterMemory is a memory under the short id by which a model names it.
type ClusterMemory struct {
	ID  string
	Doc *Document
}

// Consolidator has a model propose how related memories are made fewer and
// clearer. Its answer is not trusted. malformed counts what had no usable form.
type Consolidator interface {
	Consolidate(ctx context.Context, q ClusterQuestion) (proposals []Proposal, malformed int, used Usage, err error)
}

// consolidate asks the model, cluster by cluster, and takes of its answers what
// loses nothing and invents nothing. It all waits for a person.
func (d *Dreamer) consolidate(ctx context.Context, snap *Snapshot, roots []*Root, files int, found *findingsOfRun, out *Dreamt, step func(int, int, string) error) error {
	tools := d.opt.Tools()
	if tools.Consolidator == nil {
		out.Skipped = append(out.Skipped, Skipped{Reason: SkipModelUnavailable, Detail: "no model is configured: only what rules find was looked for"})
		return nil
	}
	clusters, more, err := d.clusters(ctx, snap, roots, found, tools.Ranker)
	if err != nil {
		return err
	}
	if more > 0 {
		out.Skipped = append(out.Skipped, Skipped{Reason: SkipBounded, Detail: fmt.Sprintf("%d more groups of related memories wait for the next run", more)})
	}
	c := &consolidation{d: d, files: files, found: found, out: out, used: map[string]bool{}}
	for i, docs := range clusters {
		if err := step(len(roots)+i, len(roots)+len(clusters), "asking the model about related memories"); err != nil {
			return err
		}
		proposals, malformed, used, err := tools.Consolidator.Consolidate(ctx, ClusterQuestion{Known: shortIDs(docs)})
		out.Usage = out.Usage.Plus(used)
		if s := SkippedOf(err); s != nil && s.Reason != SkipCancelled {
			out.Skipped = append(out.Skipped, *s)
			if s.Reason == SkipModelInvalid {
				continue // another group may be answered better
			}
			return nil
		}
		if err != nil {
			return err
		}
		if malformed > 0 {
			c.skip(SkipMalformed, "%d proposals had no usable form", malformed)
		}
		c.take(ctx, docs, proposals)
	}
	return nil
}

// shortIDs gives the memories of a cluster their short ids.
func shortIDs(docs []*Document) []ClusterMemory {
	out := make([]ClusterMemory, len(docs))
	for i, d := range docs {
		out[i] = ClusterMemory{"m" + strconv.Itoa(i+1), d}
	}
	return out
}

// clusters are groups of related memories of one root and type, each memory in
// one group at most, the same for the same files. more counts those left out.
func (d *Dreamer) clusters(ctx context.Context, snap *Snapshot, roots []*Root, found *findingsOfRun, ranker Ranker) (out [][]*Document, more int, err error) {
	if ranker == nil {
		return nil, 0, nil
	}
	now := d.opt.Now()
	taken := map[string]bool{}
	fit := func(o *Document) bool {
		return o.ActiveAt(now) && !o.Pinned && !o.Truncated && !o.Lossy && !found.isGone(o.Ref) && !taken[o.Ref] && len([]rune(o.BodyText())) <= maxShownRunes
	}
	for _, r := range roots {
		for _, doc := range snap.Of(r) {
			if !fit(doc) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, 0, fmt.Errorf("looking for related memories: %w", err)
			}
			near, err := ranker.Rank(ctx, snap, RankQuery{Text: doc.Title + "\n" + doc.Description + "\n" + doc.BodyText(), Scopes: []Scope{r.Scope}, Limit: clusterNearest + 1, Now: now})
			if err != nil {
				return nil, 0, fmt.Errorf("looking for related memories: %w", err)
			}
			group := []*Document{doc}
			for _, n := range near {
				if n.Doc != doc && n.Doc.Root == r && n.Doc.Type == doc.Type && fit(n.Doc) && len(group) < maxClusterSize {
					group = append(group, n.Doc)
				}
			}
			if len(group) < 2 {
				continue
			}
			if len(out) == maxClusters {
				more++
				continue
			}
			for _, g := range group {
				taken[g.Ref] = true
			}
			out = append(out, group)
		}
	}
	return out, more, nil
}

// consolidation takes proposals in.
type consolidation struct {
	d     *Dreamer
	files int
	found *findingsOfRun
	out   *Dreamt
	used  map[string]bool // refs that a proposal changes
}

func (c *consolidation) skip(reason SkipReason, format string, args ...any) {
	c.out.Skipped = append(c.out.Skipped, Skipped{Reason: reason, Detail: fmt.Sprintf(format, args...)})
}

// take judges proposals one by one: a wrong one takes none of the others along.
func (c *consolidation) take(ctx context.Context, docs []*Document, proposals []Proposal) {
	if n := len(proposals) - maxProposals; n > 0 {
		c.skip(SkipBounded, "%d proposals of one answer were too many", n)
		proposals = proposals[:maxProposals]
	}
	for _, p := range proposals {
		edits, s := c.judge(docs, p)
		if s != nil {
			c.out.Skipped = append(c.out.Skipped, *s)
			continue
		}
		if _, err := c.d.opt.Store.plan(ctx, Draft{Kind: KindDream, Edits: edits}); err != nil {
			if s := leftOut(edits[0], err); s != nil {
				c.out.Skipped = append(c.out.Skipped, *s)
			} else {
				c.skip(SkipUnchangeable, "a proposal cannot be carried out")
				c.d.opt.Log.Error("a proposal cannot be planned", "error", err)
			}
			continue
		}
		for _, e := range edits {
			if e.Doc != nil {
				c.used[e.Doc.Ref] = true
			}
			if e.Action == ActionDelete {
				c.found.removed++
			}
			c.found.tidied = append(c.found.tidied, tidied{edit: e, review: true})
		}
	}
}

// judge turns a proposal into edits, or says what is wrong with it.
func (c *consolidation) judge(docs []*Document, p Proposal) ([]Edit, *Skipped) {
	of, s := c.sources(docs, p)
	if s != nil {
		return nil, s
	}
	reason := clipWords(CleanLine(p.Reason), maxTitleRunes)
	if p.Op == "supersede" {
		return supersede(of, reason)
	}
	for i := range p.Notes {
		p.Notes[i].clean()
	}
	if s := faithful(of, p.Notes); s != nil {
		return nil, s
	}
	switch p.Op {
	case "merge":
		return c.merge(of, p.Notes[0], reason)
	case "split":
		return c.split(of[0], p.Notes, reason)
	}
	e, s := rewrite(of[0], p.Notes[0], "rewritten", reason)
	if s != nil {
		return nil, s
	}
	return []Edit{*e}, nil
}

// sources are the memories that a proposal is about.
func (c *consolidation) sources(docs []*Document, p Proposal) ([]*Document, *Skipped) {
	bad := func(reason SkipReason, detail string) ([]*Document, *Skipped) {
		return nil, &Skipped{Reason: reason, Detail: detail}
	}
	var of []*Document
	for _, id := range p.Refs {
		n, err := strconv.Atoi(strings.TrimPrefix(id, "m"))
		if err != nil || n < 1 || n > len(docs) || id != "m"+strconv.Itoa(n) {
			return bad(SkipUnknownRef, "a proposal names a memory that it was not shown")
		}
		d := docs[n-1]
		if slices.Contains(of, d) {
			return bad(SkipMalformed, "a proposal names "+d.Ref+" twice")
		}
		if c.used[d.Ref] {
			return bad(SkipBounded, "two proposals are about "+d.Ref+"; the first counts")
		}
		of = append(of, d)
	}
	want, notes := map[string]int{"merge": 2, "split": 1, "rewrite": 1, "supersede": 2}[p.Op], map[string]int{"merge": 1, "split": 2, "rewrite": 1}[p.Op]
	switch {
	case want == 0:
		return bad(SkipMalformed, "a proposal is none of merge, split, rewrite, supersede")
	case len(of) < want || p.Op != "merge" && len(of) != want:
		return bad(SkipMalformed, "a "+p.Op+" of the wrong number of memories")
	case len(p.Notes) < notes || p.Op != "split" && len(p.Notes) != notes:
		return bad(SkipMalformed, "a "+p.Op+" with the wrong number of texts")
	}
	return of, nil
}

func (n *Note) clean() {
	n.Body = strings.TrimSpace(cleanText(n.Body))
	n.Name = clipWords(CleanLine(n.Name), maxNameRunes)
	n.Description = clipWords(CleanLine(n.Description), maxTitleRunes)
	var ks []string
	for _, k := range n.Keywords {
		if k, _ = clipRunes(CleanLine(k), maxItemRunes); k != "" && !slices.Contains(ks, k) && len(ks) < 16 {
			ks = append(ks, k)
		}
	}
	n.Keywords = ks
}

// faithful checks that the texts say all that their sources say, and nothing that
// these do not: every number and name of each statement stays, the most of its
// other words and whether it negates; and no number or name is new.
func faithful(of []*Document, notes []Note) *Skipped {
	said := map[string]bool{}
	var all [][]string
	for _, n := range notes {
		if n.Body == "" || len(n.Body) > MaxRememberBytes || n.Name == "" {
			return &Skipped{Reason: SkipMalformed, Detail: "a proposal without a text or a name"}
		}
		for _, e := range Entries(Parse([]byte(n.Body + "\n"))) {
			all = append(all, words(e.sourceIn(n.Body+"\n")))
		}
		for _, w := range words(n.Body) {
			said[w] = true
		}
	}
	known := map[string]bool{}
	sources := ""
	for _, d := range of {
		sources += d.BodyText() + "\n"
		for _, w := range words(d.Title + "\n" + d.Description + "\n" + strings.Join(d.Keywords, "\n") + "\n" + d.BodyText()) {
			known[w] = true
		}
		for i, e := range Entries(d) {
			if !stays(words(d.Text[e.Span.Start:e.Span.End]), said, all) {
				return &Skipped{Reason: SkipLoses, Detail: fmt.Sprintf("entry %d of %s would be lost", i+1, d.Ref)}
			}
		}
	}
	for _, n := range notes {
		for _, w := range words(n.Name + "\n" + n.Description + "\n" + n.Body) {
			if hard(w) && !known[w] {
				return &Skipped{Reason: SkipInvents, Detail: "a proposal says a number or name that its sources do not"}
			}
		}
		if !sameTongue(n.Body, sources) {
			return &Skipped{Reason: SkipForeign, Detail: "a proposal is written in another language than its sources"}
		}
	}
	return nil
}

// sourceIn is the text of an entry of a text that was parsed alone.
func (e Entry) sourceIn(text string) string { return text[e.Span.Start:min(e.Span.End, len(text))] }

// stays tells whether a statement is still said: word for word, or with all that
// is hard in it, nearly all of its other words, and as much of a negation, within
// one statement.
func stays(ws []string, said map[string]bool, all [][]string) bool {
	if len(ws) == 0 {
		return true
	}
	for _, w := range ws {
		if hard(w) && !said[w] {
			return false
		}
	}
	return slices.ContainsFunc(all, func(now []string) bool {
		if relate(now, ws) == alreadySaid {
			return true
		}
		if negated(now) != negated(ws) {
			return false
		}
		in := map[string]bool{}
		for _, w := range now {
			in[w] = true
		}
		kept := 0
		for _, w := range ws {
			if in[w] {
				kept++
			} else if hard(w) {
				return false
			}
		}
		return float64(kept) >= minCarriedWords*float64(len(ws))
	})
}

// hard tells whether a word carries a fact that no other word can stand for: one
// with a digit or a sign in it.
func hard(w string) bool {
	return strings.ContainsFunc(w, func(r rune) bool { return unicode.IsNumber(r) || !wordRune(r) && !apostrophe(r) })
}
