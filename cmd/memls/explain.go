package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/model"
)

type explainFlags struct {
	filterFlags
	tools []string
	model modelFlags
}

func (p *program) explainCommand() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain QUERY [REF]",
		Short: "Say why a memory is found for a question, or why it is not",
		Long: `explain makes the ranking that recall makes and shows what decided about each
candidate: which words of the question it meets and in which field, how much of
the question that is and how much would have to be, its place in the ranking, and
the rule that left it out. The question is one argument; REF names a memory, as
recall and search show it (project:gate.md), or its path. Without REF the best
candidates are shown, and those that came nearest.

The verdicts: returned; relative (its score is far below the best); limit (others
are better); gate (it meets too little of the question); no_match; floor (no word
is met, and the meaning is not near enough); noise (it only describes a tool in
use); and empty, superseded, expired, scope, type: a filter left it out.
` + rootHelp + `
--json prints one object: query, terms (a list of {term, weight, documents,
evidence}), considered (memories that pass the gate), candidate (with REF), and
candidates: each with ref, path, title, rank (from 1; 0: not ranked), score,
share and needed (of the weight of the question), signals (a list of {name, rank,
score}), why (a list of {field, term, match}), verdict, detail, feedback.
` + exitHelp,
		Example: `  memls explain "why is retryBudget different for Nordhavn"
  memls explain "who is on call" project:on_call.md --root .memory
  memls explain "gate closing" .memory/gate.md --root .memory --json`,
		Args: explainArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return worked(p.explain(cmd.Context(), &f, args))
		},
	}
	f.add(cmd, recall.MaxRelevantDocs, recall.MaxRelevantDocs)
	cmd.Flags().StringVar(&f.model.url, "model-url", "", "with --embedding-model: base `URL` of an OpenAI-compatible endpoint")
	cmd.Flags().StringVar(&f.model.keyEnv, "model-key-env", "", "environment `VARIABLE` that holds the endpoint's key")
	f.model.embedding.add(cmd)
	cmd.Flags().StringSliceVar(&f.tools, "tool", nil, "as if the tool `NAME` were in use; may be repeated")
	return cmd
}

func explainArgs(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage(errors.New("no query: say what to look for"))
	}
	if len(args) > 2 {
		return usage(errors.New("more than a query and a memory: put the query in quotes"))
	}
	return nil
}

func (p *program) explain(ctx context.Context, f *explainFlags, args []string) (err error) {
	text, err := p.question(args[:1])
	if err != nil {
		return err
	}
	q, err := f.query(text, recall.MaxRelevantDocs)
	if err != nil {
		return err
	}
	q.RecentTools = f.tools
	out, err := p.newPage(f.color)
	if err != nil {
		return err
	}
	log, closeLog, err := p.logger(slog.LevelError)
	if err != nil {
		return err
	}
	defer closeLog()
	e, err := f.model.embedder(model.WithLogger(log))
	if err != nil {
		return err
	}
	o, err := p.open(ctx, &f.roots, scanners(log), log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.close()) }()
	near, err := o.meaning(ctx, p, e, log)
	if err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	var asked *memory.Document
	if len(args) == 2 {
		if asked, err = o.named(args[1]); err != nil {
			return err
		}
	}
	ranking, lacks, err := recall.NewEngine(o.catalog, nil, 0).WithMeaning(near).Explain(ctx, o.snap, q, asked)
	if err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	if lacks != nil {
		fmt.Fprintf(p.stderr, "memls: %s: %s; this is the ranking without it\n", lacks.Reason, safeLine(lacks.Detail))
	}
	if f.json {
		return p.explainJSON(q, ranking)
	}
	return p.explainPage(out, o, q, ranking)
}

// named is the memory that a person names by its ref or by its path.
func (o *opened) named(name string) (*memory.Document, error) {
	if ref, err := memory.ParseRef(name); err == nil {
		if d, ok := o.snap.Get(ref.File()); ok {
			return d, nil
		}
		return nil, &exitError{exitNothing, fmt.Errorf("there is no memory %s", name)}
	}
	if path, err := filepath.Abs(name); err == nil {
		if place, ok := o.snap.Locate(path); ok {
			if d, ok := o.snap.Get(place.Ref()); ok {
				return d, nil
			}
		}
	}
	return nil, &exitError{exitNothing, fmt.Errorf("%s is neither the name of a memory (as project:gate.md) nor the path of one", name)}
}

func (p *program) explainPage(out *page, o *opened, q recall.Query, r *recall.Ranking) error {
	t := r.Trace
	if !r.Searchable {
		out.hanging("", "The query holds no word to look for.")
	}
	if len(t.Terms) > 0 {
		out.hanging("words  ", understood(t.Terms))
		out.printf("\n")
	}
	if t.Asked != nil {
		explainOne(out, t.Asked, q)
	}
	if len(t.Candidates) > 0 {
		explainTable(out, t)
	}
	s := fmt.Sprintf("%s past the gate", count(r.Total, "memory"))
	if t.Truncated {
		s += "; more were weighed than are listed"
	}
	out.hanging("", s+".")
	out.hanging("", o.searched())
	return p.print(out)
}

// understood words what a query was taken for.
func understood(terms []recall.TraceTerm) string {
	var b strings.Builder
	for i, t := range terms {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s (weight %.1f, in %d", safeLine(t.Term), t.Weight, t.Documents)
		if !t.Evidence {
			b.WriteString(", no evidence")
		}
		b.WriteString(")")
	}
	return b.String()
}

// explainOne shows all that is known of one candidate.
func explainOne(out *page, c *recall.TraceCandidate, q recall.Query) {
	out.printf("%s\n", out.styled(styleBold, safeLine(c.Doc.Title)))
	out.hanging("  ", about(c.Doc, q.Now))
	verdict := c.Verdict
	if c.Detail != "" {
		verdict += ": " + c.Detail
	}
	out.hanging("  verdict  ", verdict)
	if c.Rank >= 0 {
		out.hanging("  rank     ", fmt.Sprintf("%d, score %.2f", c.Rank+1, c.Score))
	}
	for _, s := range c.Signals {
		place := "in no rank"
		if s.Rank >= 0 {
			place = fmt.Sprintf("rank %d", s.Rank+1)
		}
		out.hanging("  signal   ", fmt.Sprintf("%s: %s, score %.3f", s.Name, place, s.Score))
	}
	if c.Share > 0 || c.Needed > 0 {
		out.hanging("  share    ", fmt.Sprintf("%.0f %% of the query, %.0f %% are asked for", 100*c.Share, 100*c.Needed))
	}
	reasons := because(c.Why)
	if reasons == "" {
		reasons = "no word of the query"
	}
	out.hanging("  meets    ", reasons)
	if c.Feedback != 0 {
		out.hanging("  feedback ", fmt.Sprintf("%+d", c.Feedback))
	}
	out.printf("\n")
}

// explainTable shows the candidates, one or two lines each.
func explainTable(out *page, t *recall.Trace) {
	out.printf("%s\n", out.styled(styleDim, "rank   score  share  verdict     memory"))
	for i := range t.Candidates {
		c := &t.Candidates[i]
		rank := "-"
		if c.Rank >= 0 {
			rank = fmt.Sprint(c.Rank + 1)
		}
		out.printf("%4s %7.3g  %4d%%  %-10s  %s\n", rank, c.Score, int(100*c.Share+0.01), c.Verdict, placeOf(c.Doc))
		if reasons := because(c.Why); reasons != "" {
			out.hanging("                      ", reasons)
		}
		if c.Detail != "" {
			out.hanging("                      ", c.Detail)
		}
	}
	out.printf("\n")
}

type explainedJSON struct {
	Ref      string       `json:"ref"`
	Path     string       `json:"path"`
	Title    string       `json:"title"`
	Rank     int          `json:"rank"`
	Score    float64      `json:"score"`
	Share    float64      `json:"share"`
	Needed   float64      `json:"needed"`
	Signals  []signalJSON `json:"signals"`
	Why      []whyJSON    `json:"why"`
	Verdict  string       `json:"verdict"`
	Detail   string       `json:"detail,omitempty"`
	Feedback int          `json:"feedback,omitempty"`
}

type signalJSON struct {
	Name  string  `json:"name"`
	Rank  int     `json:"rank"`
	Score float64 `json:"score"`
}

type termJSON struct {
	Term      string  `json:"term"`
	Weight    float64 `json:"weight"`
	Documents int     `json:"documents"`
	Evidence  bool    `json:"evidence"`
}

func newExplainedJSON(c *recall.TraceCandidate) explainedJSON {
	j := explainedJSON{
		Ref: c.Doc.Ref, Path: pathOf(c.Doc), Title: c.Doc.Title, Rank: c.Rank + 1, Score: c.Score, Share: c.Share, Needed: c.Needed,
		Signals: []signalJSON{}, Why: []whyJSON{}, Verdict: c.Verdict, Detail: c.Detail, Feedback: c.Feedback,
	}
	for _, s := range c.Signals {
		j.Signals = append(j.Signals, signalJSON{s.Name, s.Rank + 1, s.Score})
	}
	for _, w := range c.Why {
		j.Why = append(j.Why, whyJSON{w.Field, w.Term, w.Match})
	}
	return j
}

func (p *program) explainJSON(q recall.Query, r *recall.Ranking) error {
	out := struct {
		Query      string          `json:"query"`
		Terms      []termJSON      `json:"terms"`
		Considered int             `json:"considered"`
		Candidate  *explainedJSON  `json:"candidate,omitempty"`
		Candidates []explainedJSON `json:"candidates"`
		Truncated  bool            `json:"truncated,omitempty"`
	}{Query: q.Text, Terms: []termJSON{}, Considered: r.Total, Candidates: []explainedJSON{}, Truncated: r.Trace.Truncated}
	for _, t := range r.Trace.Terms {
		out.Terms = append(out.Terms, termJSON(t))
	}
	if r.Trace.Asked != nil {
		c := newExplainedJSON(r.Trace.Asked)
		out.Candidate = &c
	}
	for i := range r.Trace.Candidates {
		out.Candidates = append(out.Candidates, newExplainedJSON(&r.Trace.Candidates[i]))
	}
	return p.printJSON(out)
}
