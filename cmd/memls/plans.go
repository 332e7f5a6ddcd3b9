package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/memory"
)

type plansFlags struct {
	changeFlags
	discard bool
}

func (p *program) plansCommand() *cobra.Command {
	var f plansFlags
	cmd := &cobra.Command{
		Use:   "plans [PLAN…]",
		Short: "Show the changes that wait for you",
		Long: `plans lists the inbox: changes that were proposed and wait for a person. With
the id of a plan it shows its diffs; with --discard it drops them.
` + rootHelp + `
` + exitHelp,
		Example: `  memls plans --root .memory
  memls plans p-019c1b2a3b4-a2b3c4d5e6f7 --root .memory
  memls plans p-019c1b2a3b4-a2b3c4d5e6f7 --discard --root .memory`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return worked(p.plans(cmd.Context(), &f, args))
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.discard, "discard", false, "drop the plans")
	return cmd
}

func (p *program) plans(ctx context.Context, f *plansFlags, ids []string) error {
	if f.discard && len(ids) == 0 {
		return usagef("--discard needs the ids of plans")
	}
	with := p.shown
	if f.discard {
		with = p.changed
	}
	return with(ctx, &f.changeFlags, nil, func(c *changer) error {
		plans, err := c.store.Plans()
		if err != nil {
			return err
		}
		if len(ids) > 0 {
			plans = plans[:0]
		}
		for _, id := range ids {
			plan, err := c.store.Plan(id)
			if err != nil {
				return err
			}
			plans = append(plans, plan)
		}
		switch {
		case f.discard:
			for _, plan := range plans {
				if err := c.keeper.Discard(ctx, plan.ID); err != nil {
					return err
				}
				c.out.printf("%s  discarded\n", plan.ID)
			}
			return p.print(c.out)
		case f.json:
			out := lsp.PlansResult{Plans: []lsp.Plan{}}
			for _, plan := range plans {
				out.Plans = append(out.Plans, *lsp.PlanOf(plan))
			}
			return p.printJSON(out)
		}
		return c.listPlans(plans, len(ids) > 0)
	})
}

func (c *changer) listPlans(plans []*memory.Plan, whole bool) error {
	for _, plan := range plans {
		c.out.printf("%s  %s  %s\n", c.out.styled(styleBold, plan.ID), plan.Kind,
			c.out.styled(styleDim, fmt.Sprintf("%s, made %s, until %s", count(len(plan.Changes), "change"), local(plan.CreatedAt), local(plan.ExpiresAt))))
		if whole {
			c.out.printf("\n")
			c.out.planned(plan, false, nil)
			continue
		}
		for i := range plan.Changes {
			ch := &plan.Changes[i]
			c.out.hanging("  ", fmt.Sprintf("%s  %s %s: %s", ch.ID, ch.Action, visible(ch.Ref), ch.Reason))
		}
	}
	if len(plans) == 0 {
		fmt.Fprintln(c.p.stderr, "memls: no plan waits")
		return exit(exitNothing)
	}
	return c.p.print(c.out)
}

type applyFlags struct {
	changeFlags
	only  []string
	edits []string
	purge bool
}

func (p *program) applyCommand() *cobra.Command {
	var f applyFlags
	cmd := &cobra.Command{
		Use:   "apply PLAN",
		Short: "Make the changes of a plan that waits",
		Long: `apply makes the changes of a plan of the inbox, or those that --only names; the
others go on waiting. --edit takes your own text of a file in the place of what
the plan proposes. Nothing is changed when a file is no longer what the plan was
made from.
` + rootHelp + `
` + exitHelp,
		Example: `  memls apply p-019c1b2a3b4-a2b3c4d5e6f7 --root .memory
  memls apply p-019c1b2a3b4-a2b3c4d5e6f7 --only c1 --edit c1=better.md --root .memory`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("apply takes the id of one plan")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return worked(p.apply(cmd.Context(), &f, args[0]))
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&f.only, "only", nil, "only the changes with these `IDS`")
	flags.StringArrayVar(&f.edits, "edit", nil, "the text of `ID=FILE` in the place of a change; may be repeated")
	flags.BoolVar(&f.purge, "purge", false, "keep no trace of what is removed: it cannot be undone")
	return cmd
}

func (p *program) apply(ctx context.Context, f *applyFlags, id string) error {
	o := memory.ApplyOptions{Only: f.only, Purge: f.purge}
	for _, e := range f.edits {
		change, file, ok := strings.Cut(e, "=")
		if !ok || change == "" || file == "" {
			return usagef("--edit %q is not ID=FILE", e)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return usage(err)
		}
		if o.Edits == nil {
			o.Edits = map[string]string{}
		}
		if o.Edits[change], err = memory.DecodeText(text); err != nil {
			return usage(fmt.Errorf("%s: %w", file, err))
		}
	}
	return p.changed(ctx, &f.changeFlags, nil, func(c *changer) error {
		op, err := c.keeper.Apply(ctx, id, o)
		if err != nil {
			return err
		}
		return c.done(op, f.json)
	})
}

type undoFlags struct {
	changeFlags
	yes bool
}

func (p *program) undoCommand() *cobra.Command {
	var f undoFlags
	cmd := &cobra.Command{
		Use:   "undo [OPERATION]",
		Short: "Take back what was changed",
		Long: `undo takes an operation back: every file that it changed becomes what it was,
byte for byte. Nothing is done when one of them has changed since. Without an id
it takes back the last one that can be, after asking. An undo can be undone.
` + rootHelp + `
` + exitHelp,
		Example: `  memls undo --root .memory
  memls undo o-019c1b2a3b5-m4n5p6q7r2s3 --root .memory`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("undo takes the id of one operation")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return worked(p.undo(cmd.Context(), &f, args))
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	return cmd
}

func (p *program) undo(ctx context.Context, f *undoFlags, args []string) error {
	return p.changed(ctx, &f.changeFlags, nil, func(c *changer) error {
		if len(args) == 1 {
			return c.undo(ctx, args[0], f.json)
		}
		ops, _, err := c.store.Operations(0)
		if err != nil {
			return err
		}
		last, ok := undoable(ops)
		if !ok {
			fmt.Fprintln(p.stderr, "memls: there is nothing to take back")
			return exit(exitNothing)
		}
		if !f.yes {
			c.operation(last)
			ok, err := c.agreed("Take this back?")
			if err != nil {
				return err
			}
			if !ok {
				fmt.Fprintln(p.stderr, "memls: nothing was taken back")
				return exit(exitNothing)
			}
		}
		return c.undo(ctx, last.ID, f.json)
	})
}

func (c *changer) undo(ctx context.Context, id string, asJSON bool) error {
	op, err := c.keeper.Undo(ctx, id)
	if err != nil {
		return err
	}
	return c.done(op, asJSON)
}

// undoable is the newest operation that can be taken back and has not been: what
// an undo took back, and the undo itself, are passed over.
func undoable(ops []memory.Operation) (*memory.Operation, bool) {
	undone := map[string]bool{}
	for i := range ops {
		op := &ops[i]
		switch {
		case op.Undoes != "":
			undone[op.Undoes] = true
		case !undone[op.ID] && !op.UndoUntil.IsZero():
			return op, true
		}
	}
	return nil, false
}

type logFlags struct {
	changeFlags
	limit int
}

const (
	logLimit    = 20
	maxLogLimit = 1000
)

func (p *program) logCommand() *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use:   "log",
		Short: "List what was changed",
		Long: `log lists the operations on the memory, newest first: what was changed, when,
and until when it can be taken back. It names files and no text.
` + rootHelp + `
` + exitHelp,
		Example: `  memls log --root .memory
  memls log --limit 100 --json --root .memory --root user=$HOME/notes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return worked(p.log(cmd.Context(), &f))
		},
	}
	f.add(cmd)
	cmd.Flags().IntVar(&f.limit, "limit", logLimit, fmt.Sprintf("at most `N` operations, 1 to %d", maxLogLimit))
	return cmd
}

func (p *program) log(ctx context.Context, f *logFlags) error {
	if f.limit < 1 || f.limit > maxLogLimit {
		return usagef("--limit %d is not within 1 to %d", f.limit, maxLogLimit)
	}
	return p.shown(ctx, &f.changeFlags, nil, func(c *changer) error {
		ops, more, err := c.store.Operations(f.limit)
		if err != nil {
			return err
		}
		if f.json {
			out := lsp.OperationsResult{Operations: []lsp.Operation{}, Truncated: more}
			for i := range ops {
				out.Operations = append(out.Operations, *lsp.OperationOf(&ops[i]))
			}
			return p.printJSON(out)
		}
		for i := range ops {
			c.operation(&ops[i])
		}
		if more {
			c.out.printf("… and older ones.\n")
		}
		if len(ops) == 0 {
			fmt.Fprintln(p.stderr, "memls: nothing was changed yet")
			return exit(exitNothing)
		}
		return p.print(c.out)
	})
}

// operation prints one operation in a few lines.
func (c *changer) operation(op *memory.Operation) {
	state := "until " + local(op.UndoUntil) + " it can be taken back"
	switch {
	case op.Purged:
		state = "no trace kept"
	case op.UndoUntil.IsZero():
		state = "can no longer be taken back"
	}
	if op.Undoes != "" {
		state = "took back " + op.Undoes + "; " + state
	}
	c.out.printf("%s  %s  %s\n", c.out.styled(styleBold, op.ID), op.Kind, c.out.styled(styleDim, local(op.At)+"; "+state))
	for _, ch := range op.Changes {
		what := past(ch.Action) + " " + visible(ch.Ref)
		if ch.Purged {
			what = past(ch.Action) + " a memory that is erased since"
		}
		c.out.hanging("  ", what)
	}
}
