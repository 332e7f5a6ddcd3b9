package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/memory"
	"github.com/memls/memls/memory/transcript"
	"github.com/memls/memls/recall"
)

type extractFlags struct {
	changeFlags
	modelFlags
	transcript, format, session string
	dryRun, apply               bool
	perDay                      int
}

// defaultTokensPerDay is the contract's daily budget of background work.
const defaultTokensPerDay = 200_000

func (p *program) extractCommand() *cobra.Command {
	var f extractFlags
	cmd := &cobra.Command{
		Use:   "extract --transcript FILE",
		Short: "Learn from a conversation",
		Long: `extract goes through a conversation and proposes what should be remembered of
it: what a person asked to be remembered, and, with a model, what else they
stated that will still matter later. What it finds waits in the inbox, see memls
plans; --apply makes at once what contradicts no memory, and leaves the rest
there; --dry-run only shows.

The transcript is JSONL of Qwen Code or Claude Code, or messages with a role and
a text, one a line or as a list; which one is found out. A conversation is gone
through once: the next run begins where the last one ended.

What is left out is named, with the reason.
` + rootHelp + `
` + exitHelp,
		Example: `  memls extract --transcript chat.jsonl --root .memory
  memls extract --transcript - --dry-run --json < chat.jsonl
  memls extract --transcript chat.jsonl --apply --model-url http://localhost:11434/v1 --model qwen3:8b`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("extract takes no arguments; name the conversation with --transcript")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return worked(p.extract(cmd.Context(), &f))
		},
	}
	f.changeFlags.add(cmd)
	f.modelFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.transcript, "transcript", "", "the conversation in `FILE`, - for standard input")
	flags.StringVar(&f.format, "format", string(transcript.Auto), "how it is written, as `FORMAT`: auto, qwen, claude, plain")
	flags.StringVar(&f.session, "session", "", "the `NAME` of the conversation (default: what it says of itself, else its beginning)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only show what would be proposed")
	flags.BoolVar(&f.apply, "apply", false, "make at once what contradicts no memory")
	flags.IntVar(&f.perDay, "tokens-per-day", defaultTokensPerDay, "ask the model only while background work has taken fewer than `N` tokens today")
	complete(cmd, "format", transcript.Formats()...)
	cmd.MarkFlagsMutuallyExclusive("dry-run", "apply")
	return cmd
}

func (p *program) extract(ctx context.Context, f *extractFlags) error {
	switch {
	case f.transcript == "":
		return usage(errors.New("name the conversation with --transcript FILE"))
	case !slices.Contains(transcript.Formats(), f.format):
		return usagef("--format %q is none of auto, qwen, claude, plain", f.format)
	case f.perDay < 0:
		return usagef("--tokens-per-day %d is negative", f.perDay)
	}
	t, session, err := p.readTranscript(f)
	if err != nil {
		return err
	}
	m, err := f.client()
	if err != nil {
		return err
	}
	return p.changed(ctx, &f.changeFlags, m, func(c *changer) error {
		in := &memory.Extract{Session: session, Messages: t.Messages, Policy: memory.PolicyReview, DryRun: f.dryRun}
		if f.apply {
			in.Policy = memory.PolicyAuto
		}
		out, err := c.learner(m, f.perDay).Extract(ctx, in)
		if err != nil {
			return err
		}
		out.Skipped = append(out.Skipped, lsp.TranscriptProblems(t)...)
		if f.json {
			return p.printJSON(lsp.ExtractResultOf(out))
		}
		return c.learnt(out, f.dryRun)
	})
}

// readTranscript reads the conversation and names it.
func (p *program) readTranscript(f *extractFlags) (*transcript.Transcript, string, error) {
	in := p.stdin
	if f.transcript != "-" {
		file, err := os.Open(f.transcript)
		if err != nil {
			return nil, "", usage(err)
		}
		defer file.Close()
		in = file
	}
	raw, err := io.ReadAll(io.LimitReader(in, transcript.MaxBytes+1))
	if err != nil {
		return nil, "", failure(fmt.Errorf("read the transcript: %w", err))
	}
	t, err := transcript.Parse(string(raw), transcript.Format(f.format))
	if err != nil {
		return nil, "", usage(fmt.Errorf("%s: %w", safeLine(f.transcript), err))
	}
	switch {
	case f.session != "":
		return t, f.session, nil
	case t.Session != "":
		return t, t.Session, nil
	}
	first := sha256.Sum256([]byte(t.Messages[0].Role + "\x00" + t.Messages[0].Text))
	return t, "transcript-" + hex.EncodeToString(first[:8]), nil
}

// learner makes what learns, with a model or without.
func (c *changer) learner(m recall.Model, perDay int) *memory.Learner {
	d := &recall.Door{}
	if m != nil {
		d.Model = m
		d.Reserve = func(ctx context.Context, tokens int) (*memory.Reservation, error) {
			return c.store.Reserve(ctx, perDay, tokens)
		}
	}
	roots := func() []*memory.Root {
		var all []*memory.Root
		for _, r := range c.catalog.Snapshot().Roots() {
			all = append(all, r.Root)
		}
		return all
	}
	return memory.NewLearner(memory.LearnerOptions{
		Store: c.store, Keeper: c.keeper, Roots: roots, Snapshot: c.catalog.Snapshot, Sync: c.catalog.Sync,
		Tools: func() memory.LearnTools { return recall.LearnTools(d) }, Now: time.Now,
	})
}

// learnt prints what learning came to.
func (c *changer) learnt(out *memory.Extracted, dryRun bool) error {
	nothing := out.Plan == nil && out.Operation == nil
	if out.Operation != nil {
		for _, ch := range out.Operation.Changes {
			c.out.printf("%s  %s\n", c.out.styled(styleBold, visible(ch.Ref)), c.out.styled(styleDim, past(ch.Action)))
		}
		c.out.printf("Done. To take it back, until %s: memls undo %s%s\n", local(out.Operation.UndoUntil), out.Operation.ID, c.rootArgs())
	}
	if out.Plan != nil {
		c.out.planned(out.Plan, false, nil)
		if dryRun {
			c.out.printf("Nothing was kept.\n")
		} else {
			c.out.printf("It waits for you: memls apply %s%s\n", out.Plan.ID, c.rootArgs())
		}
	}
	for _, s := range out.Skipped {
		c.out.hanging("! ", fmt.Sprintf("%s: %s", s.Reason, visible(s.Detail)))
	}
	if u := out.Usage; u.Requests > 0 {
		c.out.printf("%s of the model, %s of questions and %s of answers.\n", count(u.Requests, "request"), count(u.PromptTokens, "token"), count(u.CompletionTokens, "token"))
	}
	if err := c.p.print(c.out); err != nil {
		return err
	}
	if nothing {
		fmt.Fprintln(c.p.stderr, "memls: nothing to remember was found")
		return exit(exitNothing)
	}
	return nil
}
