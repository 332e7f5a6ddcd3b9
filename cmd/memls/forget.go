package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/memory"
)

type forgetFlags struct {
	changeFlags
	modelFlags
	refs, scopes []string
	only         []string
	limit        int
	yes, purge   bool
}

func (p *program) forgetCommand() *cobra.Command {
	var f forgetFlags
	cmd := &cobra.Command{
		Use:   "forget [QUERY…]",
		Short: "Forget a memory, or one entry of it",
		Long: `forget shows what it would remove, and removes it when you agree. A query
proposes what it may mean: memories, or entries of memories, that hold its words
as whole words, or what a model chooses among them; you say which. --ref names
exactly one, as recall and search print it, with #N for its Nth entry, from 0.

What is removed can be brought back for a day with memls undo, unless --purge
erases it from everything that memls keeps.

Several arguments are one query; the argument - reads it from standard input.
With --json the plan is printed and nothing is removed, unless --yes is given;
then the operation is printed.
` + rootHelp + `
` + exitHelp,
		Example: `  memls forget dark mode --root .memory
  memls forget --ref project:editor.md#2 --yes --root .memory
  memls forget "the old port" --only 1 --yes --purge --root user=$HOME/notes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return worked(p.forget(cmd.Context(), &f, args))
		},
	}
	f.changeFlags.add(cmd)
	f.modelFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.refs, "ref", nil, "forget exactly `REF`; may be repeated")
	flags.StringSliceVar(&f.scopes, "scope", nil, "only memories of this `SCOPE`: project, user, team; may be repeated")
	flags.IntVar(&f.limit, "limit", memory.DefaultForgetLimit, fmt.Sprintf("propose at most `N`, 1 to %d", memory.MaxForgetLimit))
	flags.StringSliceVar(&f.only, "only", nil, "of what is proposed, only these `NUMBERS`, from 1, as 1,3 or 2-4, or all")
	flags.BoolVar(&f.yes, "yes", false, "do not ask")
	flags.BoolVar(&f.purge, "purge", false, "keep no trace of it: it cannot be undone")
	completeScopes(cmd)
	return cmd
}

// request makes what is to be forgotten of the arguments and flags.
func (f *forgetFlags) request(p *program, args []string) (q memory.Forget, err error) {
	if len(f.refs) == 0 && len(args) == 0 {
		return q, usage(errors.New("say what to forget: a query, or --ref"))
	}
	if len(f.refs) > 0 && len(args) > 0 {
		return q, usage(errors.New("either a query or --ref"))
	}
	if f.limit < 1 || f.limit > memory.MaxForgetLimit {
		return q, usagef("--limit %d is not within 1 to %d", f.limit, memory.MaxForgetLimit)
	}
	q.Limit = f.limit
	for _, s := range f.scopes {
		if !memory.Scope(s).Valid() {
			return q, usagef("--scope %q is none of project, user, team", s)
		}
		q.Scopes = append(q.Scopes, memory.Scope(s))
	}
	for _, r := range f.refs {
		t, err := memory.ParseTarget(r, "")
		if err != nil {
			return q, refusal(err)
		}
		q.Targets = append(q.Targets, t)
	}
	if len(args) > 0 {
		q.Query, err = p.question(args)
	}
	return q, err
}

func (p *program) forget(ctx context.Context, f *forgetFlags, args []string) error {
	q, err := f.request(p, args)
	if err != nil {
		return err
	}
	m, err := f.client()
	if err != nil {
		return err
	}
	with := p.changed
	if f.json && !f.yes {
		with = p.shown
	}
	return with(ctx, &f.changeFlags, m, func(c *changer) error {
		plan, err := c.keeper.Forget(ctx, q)
		if err != nil {
			return err
		}
		if f.json && !f.yes {
			return p.printJSON(lsp.PlanOf(plan))
		}
		chosen, err := f.chosen(c, plan)
		if err != nil || len(chosen) == 0 {
			return err
		}
		op, err := c.keeper.Apply(ctx, plan.ID, memory.ApplyOptions{Only: chosen, Purge: f.purge})
		if err != nil {
			return err
		}
		return c.done(op, f.json)
	})
}

// chosen are the ids of the changes to make; none when the person said no.
func (f *forgetFlags) chosen(c *changer, plan *memory.Plan) ([]string, error) {
	several := plan.Query && len(plan.Changes) > 1
	var numbers []int
	var err error
	if len(f.only) > 0 {
		if numbers, err = chosenNumbers(strings.Join(f.only, ","), len(plan.Changes)); err != nil {
			return nil, err
		}
	}
	if !f.json {
		c.out.planned(plan, several, numbers)
	}
	switch {
	case len(f.only) == 0 && several && f.yes:
		if err := c.p.print(c.out); err != nil {
			return nil, err
		}
		return nil, usagef("the query may mean %d things: say which with --only", len(plan.Changes))
	case len(f.only) == 0 && several:
		answer, err := c.answer(fmt.Sprintf("Which shall be forgotten%s? [1-%d, all, none] ", f.forGood(), len(plan.Changes)))
		if err != nil {
			return nil, err
		}
		if numbers, err = chosenNumbers(answer, len(plan.Changes)); err != nil {
			return nil, err
		}
	default:
		question := fmt.Sprintf("Forget number %s%s?", numbersText(numbers), f.forGood())
		if len(f.only) == 0 {
			numbers, question = everyNumber(len(plan.Changes)), fmt.Sprintf("Forget this%s?", f.forGood())
		}
		if len(numbers) > 0 && !f.yes {
			ok, err := c.agreed(question)
			if err != nil {
				return nil, err
			}
			if !ok {
				numbers = nil
			}
		}
	}
	if len(numbers) == 0 {
		fmt.Fprintln(c.p.stderr, "memls: nothing was forgotten")
		return nil, exit(exitNothing)
	}
	var ids []string
	for _, n := range numbers {
		ids = append(ids, plan.Changes[n-1].ID)
	}
	return ids, nil
}

func (f *forgetFlags) forGood() string {
	if f.purge {
		return " for good"
	}
	return ""
}

// chosenNumbers reads a choice such as "1, 3", "2-4" or "all".
func chosenNumbers(answer string, most int) ([]int, error) {
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "", "none", "no", "n":
		return nil, nil
	case "all":
		return everyNumber(most), nil
	}
	var out []int
	for part := range strings.FieldsFuncSeq(answer, func(r rune) bool { return r == ',' || r == ' ' }) {
		from, to, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(from)
		last := first
		if err == nil && isRange {
			last, err = strconv.Atoi(to)
		}
		if err != nil || first < 1 || last > most || last < first {
			return nil, usagef("%q is no choice among 1 to %d; nothing was forgotten", part, most)
		}
		for n := first; n <= last; n++ {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out, nil
}

func everyNumber(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i + 1
	}
	return out
}

func numbersText(numbers []int) string {
	var parts []string
	for _, n := range numbers {
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(parts, ", ")
}
