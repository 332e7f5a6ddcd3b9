package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/model"
)

type recallFlags struct {
	filterFlags
	model  modelFlags
	prompt bool
}

func (p *program) recallCommand() *cobra.Command {
	var f recallFlags
	cmd := &cobra.Command{
		Use:   "recall QUERY…",
		Short: "Find the memories that a question is about",
		Long: `recall ranks the memories for a question and shows the best, at most five,
each with the passage that matched and why it was chosen. It stays silent when
no memory is about the question. The first two are the fast result, which an
agent gets at once; the others are the refined one. With a model (--model-url,
--model) the model chooses the refined ones, and may withdraw fast ones. With an
embedding model (--embedding-model) memories are found by what they mean, too.

Several arguments are one query; the argument - reads it from standard input.
` + rootHelp + recallJSONHelp + exitHelp,
		Example: `  memls recall "why is retryBudget different for Nordhavn"
  memls recall 座位保留多久 --root project=.memory --root user=$HOME/notes
  git log -1 --format=%B | memls recall - --root .memory --json
  memls recall "who is on call" --prompt --root .memory
  memls recall "refund after a storm" --root .memory \
      --model-url http://localhost:11434/v1 --model qwen3:8b`,
		Args: queryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return worked(p.recall(cmd.Context(), &f, args))
		},
	}
	f.add(cmd, recall.MaxRelevantDocs, recall.MaxRelevantDocs)
	f.model.add(cmd)
	f.model.embedding.add(cmd)
	cmd.Flags().BoolVar(&f.prompt, "prompt", false, "print the block that would be placed in an agent's prompt")
	cmd.MarkFlagsMutuallyExclusive("json", "prompt")
	return cmd
}

func queryArgs(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage(errors.New("no query: say what to look for"))
	}
	return nil
}

// recalled is one recall from its ranking to its selection.
type recalled struct {
	*opened
	query     recall.Query
	ranking   *recall.Ranking
	fast      []recall.Hit
	selection recall.Selection
	asked     bool // a model was named

	ranked, refined, total time.Duration
}

// kept are the fast hits that the model did not withdraw.
func (r *recalled) kept() []recall.Hit {
	return slices.DeleteFunc(slices.Clone(r.fast), func(h recall.Hit) bool {
		return slices.Contains(r.selection.Retract, h.Doc.Ref)
	})
}

// hits are all that the recall came to, the fast ones first.
func (r *recalled) hits() []recall.Hit { return slices.Concat(r.kept(), r.selection.Hits) }

// status is what became of the recall as a whole: that of the selection speaks of
// the refined result alone.
func (r *recalled) status() string {
	switch s := r.selection.Status; {
	case len(r.hits()) > 0:
		return recall.StatusDelivered
	case s == recall.StatusAlreadyDelivered, s == recall.StatusDelivered:
		return recall.StatusNoRelevant
	default:
		return s
	}
}

func (p *program) recall(ctx context.Context, f *recallFlags, args []string) (err error) {
	text, err := p.question(args)
	if err != nil {
		return err
	}
	r := &recalled{}
	if r.query, err = f.query(text, recall.MaxRelevantDocs); err != nil {
		return err
	}
	show, err := p.recallView(f)
	if err != nil {
		return err
	}
	log, closeLog, err := p.logger(slog.LevelError)
	if err != nil {
		return err
	}
	defer closeLog()
	m, err := f.model.client(model.WithLogger(log))
	if err != nil {
		return err
	}
	e, err := f.model.embedder(model.WithLogger(log))
	if err != nil {
		return err
	}
	r.asked = m != nil || e != nil
	if r.opened, err = p.open(ctx, &f.roots, scanners(log), log); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	near, err := r.meaning(ctx, p, e, log)
	if err != nil {
		return fmt.Errorf("recall: %w", err)
	}

	began := time.Now()
	if r.ranking, err = recall.IndexOf(r.snap).Rank(ctx, r.query); err != nil {
		return fmt.Errorf("recall: %w", err)
	}
	r.fast = r.ranking.Fast(r.query.Limit)
	r.ranked = time.Since(began)
	if err := show.fast(r); err != nil {
		return err
	}
	began = time.Now()
	r.selection, err = recall.NewEngine(r.catalog, m, f.model.timeout).WithMeaning(near).Settle(ctx, r.snap, r.query, r.ranking, r.fast)
	if err != nil {
		return fmt.Errorf("recall: %w", err)
	}
	r.refined = time.Since(began)
	r.markGone(ctx, log, r.fast, r.selection.Hits)
	r.total = time.Since(p.began)
	if err := show.settled(r); err != nil {
		return err
	}
	if len(r.hits()) == 0 {
		return exit(exitNothing)
	}
	return nil
}

// recallView shows a recall: its fast result, and then what it came to.
type recallView interface {
	fast(r *recalled) error
	settled(r *recalled) error
}

func (p *program) recallView(f *recallFlags) (recallView, error) {
	out, err := p.newPage(f.color)
	switch {
	case err != nil:
		return nil, err
	case f.json:
		return recallJSON{p}, nil
	case f.prompt:
		return recallPrompt{p}, nil
	}
	return &recallPage{p: p, out: out}, nil
}

// recallPrompt prints the block for an agent.
type recallPrompt struct{ p *program }

func (recallPrompt) fast(*recalled) error { return nil }

func (v recallPrompt) settled(r *recalled) error {
	v.p.degraded(r)
	block, err := recall.Render(r.hits(), r.query.Now)
	if err != nil {
		return err
	}
	if block.Left > 0 {
		fmt.Fprintf(v.p.stderr, "memls: the block has no room for %s\n", count(block.Left, "further memory"))
	}
	out := &page{}
	out.printf("%s", block.Text)
	return v.p.print(out)
}

// degraded tells what made the result less than it could be.
func (p *program) degraded(r *recalled) {
	for _, d := range r.selection.Degraded {
		fmt.Fprintf(p.stderr, "memls: %s: %s; this is the result without it\n", d.Reason, safeLine(d.Detail))
	}
}

// rounded is a duration in milliseconds with three decimals.
func rounded(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}
