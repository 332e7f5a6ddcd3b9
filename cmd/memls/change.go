package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"github.com/memls/memls/memory/activity"
	"github.com/memls/memls/memory/vectors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// changeFlags are those of every command that changes memories, or shows what
// was or can be changed.
type changeFlags struct {
	roots rootFlags
	json  bool
	color string
}

func (f *changeFlags) add(cmd *cobra.Command) {
	f.roots.add(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object, as the protocol has it")
	addColorFlag(cmd, &f.color)
}

// changer is the memory as a command sees it that changes it.
type changer struct {
	*opened
	p      *program
	out    *page
	store  *memory.Store
	keeper *memory.Keeper
	roots  []string // as they were named
	served func() []*memory.Root
}

// openChanger opens the memory to change it. m lets a model choose what a query
// means; nil does without.
func (p *program) openChanger(ctx context.Context, f *changeFlags, m recall.Model) (*changer, error) {
	out, err := p.newPage(f.color)
	if err != nil {
		return nil, err
	}
	log, closeLog, err := p.logger(slog.LevelError)
	if err != nil {
		return nil, err
	}
	// A watcher that looks again when it is asked to: what is decided is decided by
	// what is there at that moment.
	o, err := p.open(ctx, &f.roots, followers(true, log), log)
	if err != nil {
		closeLog()
		return nil, err
	}
	o.ends = append(o.ends, func() error { closeLog(); return nil })
	if o.sample {
		return nil, errors.Join(usage(errors.New("the built-in sample memory cannot be changed; name yours with --root DIR")), o.close())
	}
	c := &changer{opened: o, p: p, out: out, roots: f.roots.named}
	if err := c.start(m, log); err != nil {
		return nil, errors.Join(err, o.close())
	}
	return c, nil
}

// start makes the store.
func (c *changer) start(m recall.Model, log *slog.Logger) error {
	state, err := memory.StateHome()
	if err != nil {
		return failure(err)
	}
	roots := func() []*memory.Root {
		var all []*memory.Root
		for _, r := range c.catalog.Snapshot().Roots() {
			all = append(all, r.Root)
		}
		return all
	}
	c.served = roots
	c.store, err = memory.NewStore(memory.StoreOptions{
		State: state, Roots: roots, Snapshot: c.catalog.Snapshot, Log: log,
		Secrets: func(before, after string) []string { return memory.SecretRules(memory.AddedSecrets(before, after)) },
		Purge: func(ctx context.Context, gone memory.Forgotten) error {
			return gone.EachRoot(func(root string, refs []string) error { return vectors.Open(state).Forget(ctx, root, refs) })
		},
	})
	if err != nil {
		return failure(err)
	}
	tools := memory.ForgetTools{Ranker: recall.Ranker{}, Content: recall.ContentWord}
	if m != nil {
		tools.Selector = recall.NewForgetSelector(m, 0)
	}
	c.keeper = memory.NewKeeper(memory.KeeperOptions{
		Store: c.store, Roots: roots, Snapshot: c.catalog.Snapshot, Sync: c.catalog.Sync,
		Tools: func() memory.ForgetTools { return tools },
		Purged: func(ctx context.Context, root *memory.Root, refs []string) error {
			return activity.Open(state).Forget(ctx, root.ID, refs)
		},
	})
	return nil
}

// recover finishes what a crash interrupted. Commands that only show what was
// changed leave it to the next change: they need no right to write.
func (c *changer) recover(ctx context.Context) error {
	recovered, err := c.store.Recover(ctx)
	for _, r := range recovered {
		what := "taken back"
		if r.Finished {
			what = "finished"
		}
		fmt.Fprintf(c.p.stderr, "memls: an operation that was interrupted (%s) was %s: %s\n", r.Kind, what, safeLine(strings.Join(r.Refs, ", ")))
	}
	if err != nil {
		return refusal(err)
	}
	if len(recovered) == 0 {
		return nil
	}
	return c.catalog.Sync(ctx)
}

// refusal gives a refusal the exit code that fits it.
func refusal(err error) error {
	r, ok := errors.AsType[*memory.Refusal](err)
	if !ok {
		return err
	}
	shown := errors.New(r.Detail)
	switch r.Kind {
	case memory.RefusedNotFound:
		return &exitError{exitNothing, shown}
	case memory.RefusedInput, memory.RefusedSecret, memory.RefusedTooLarge, memory.RefusedEscape:
		return usage(shown)
	}
	// What was asked for is sound, and cannot be done here, or now.
	return failure(shown)
}

// changed runs a command that changes memories, with everything that it opened.
func (p *program) changed(ctx context.Context, f *changeFlags, m recall.Model, run func(*changer) error) error {
	return p.shown(ctx, f, m, func(c *changer) error {
		if err := c.recover(ctx); err != nil {
			return err
		}
		return run(c)
	})
}

// shown runs a command that shows what was or can be changed, and changes nothing
// itself.
func (p *program) shown(ctx context.Context, f *changeFlags, m recall.Model, run func(*changer) error) (err error) {
	c, err := p.openChanger(ctx, f, m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	return refusal(run(c))
}

// Styles of a diff.
const (
	styleAdded   = "\x1b[32m"
	styleRemoved = "\x1b[31m"
)

// diff prints a unified diff, line by line.
func (p *page) diff(diff string) {
	for line := range strings.Lines(diff) {
		line = visible(strings.TrimRight(line, "\r\n"))
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "@@"):
			line = p.styled(styleDim, line)
		case strings.HasPrefix(line, "+"):
			line = p.styled(styleAdded, line)
		case strings.HasPrefix(line, "-"):
			line = p.styled(styleRemoved, line)
		}
		p.printf("  %s\n", line)
	}
}

// visible is a line without what a terminal would obey. Its blanks stay.
func visible(line string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case hidden(r):
			return -1
		}
		return r
	}, line)
}

// planned prints a plan, or only some of its changes, by their numbers from 1.
// The numbers stand before the changes when one has to be chosen.
func (p *page) planned(plan *memory.Plan, numbered bool, only []int) {
	for i := range plan.Changes {
		c := &plan.Changes[i]
		if only != nil && !slices.Contains(only, i+1) {
			continue
		}
		label := ""
		if numbered {
			label = fmt.Sprintf("%d  ", i+1)
		}
		p.printf("%s%s  %s\n", label, p.styled(styleBold, visible(c.Ref)), p.styled(styleDim, visible(string(c.Action)+", "+c.Reason)))
		if why := grounds(c.Why); why != "" {
			p.hanging("  ", why)
		}
		p.diff(c.Diff)
		p.printf("\n")
	}
	for _, w := range plan.Warnings {
		p.hanging("! ", w)
	}
}

// grounds words why a change was proposed.
func grounds(why []memory.Ground) string {
	var parts []string
	for _, g := range why {
		switch g.Match {
		case "semantic":
			parts = append(parts, "chosen by the model")
		default:
			parts = append(parts, fmt.Sprintf("%q in the %s", g.Term, g.Field))
		}
	}
	if len(why) > 0 && why[0].Field == "ref" {
		return ""
	}
	return safeLine(strings.Join(parts, ", "))
}

// done prints an operation.
func (c *changer) done(op *memory.Operation, asJSON bool) error {
	if asJSON {
		return c.p.printJSON(lsp.OperationOf(op))
	}
	for _, ch := range op.Changes {
		c.out.printf("%s  %s\n", c.out.styled(styleBold, visible(ch.Ref)), c.out.styled(styleDim, past(ch.Action)))
	}
	switch {
	case op.ID == "" || len(op.Changes) == 0:
		c.out.printf("Nothing had to change.\n")
	case op.Purged:
		c.out.printf("Done, and no trace kept.\n")
	default:
		c.out.printf("Done. To take it back, until %s: memls undo %s%s\n", local(op.UndoUntil), op.ID, c.rootArgs())
	}
	for _, w := range op.Warnings {
		c.out.hanging("! ", w)
	}
	return c.p.print(c.out)
}

// rootArgs are the roots that the command was given, as they are given again.
func (c *changer) rootArgs() string {
	var b strings.Builder
	for _, r := range c.roots {
		if strings.Trim(r, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./=@:+") != "" {
			r = "'" + strings.ReplaceAll(visible(r), "'", `'\''`) + "'"
		}
		b.WriteString(" --root " + r)
	}
	return b.String()
}

func past(a memory.Action) string {
	switch a {
	case memory.ActionCreate:
		return "created"
	case memory.ActionDelete:
		return "removed"
	}
	return "changed"
}

// maxAnswer bounds what a person answers.
const maxAnswer = 4 << 10

// answer asks a person and returns the answer in lower case; empty when there is
// none, as at the end of the input.
func (c *changer) answer(question string) (string, error) {
	if err := c.p.print(c.out); err != nil {
		return "", err
	}
	fmt.Fprint(c.p.stderr, question)
	line, err := bufio.NewReader(io.LimitReader(c.p.stdin, maxAnswer)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", failure(fmt.Errorf("read the answer: %w", err))
	}
	if !strings.HasSuffix(line, "\n") {
		fmt.Fprintln(c.p.stderr)
	}
	return strings.ToLower(strings.TrimSpace(line)), nil
}

// agreed asks for a yes.
func (c *changer) agreed(question string) (bool, error) {
	a, err := c.answer(question + " [y/N] ")
	return a == "y" || a == "yes", err
}

// completeScopes completes --scope.
func completeScopes(cmd *cobra.Command) {
	complete(cmd, "scope", string(memory.ScopeProject), string(memory.ScopeUser), string(memory.ScopeTeam))
}

// local words a time for a person.
func local(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }
