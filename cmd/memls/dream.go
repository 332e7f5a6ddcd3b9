package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

type dreamFlags struct {
	changeFlags
	modelFlags
	scopes        []string
	dryRun, apply bool
}

func (p *program) dreamCommand() *cobra.Command {
	var f dreamFlags
	cmd := &cobra.Command{
		Use:   "dream",
		Short: "Propose how memories are made fewer and tidier",
		Long: `dream looks for duplicates, expired memories, dead links and days that are told
from another day, and with a model for related memories that could be one. It
shows what it would do as a plan, which waits until you apply it. Nothing that
one memory says alone goes.
` + rootHelp + `
` + exitHelp,
		Example: `  memls dream --root .memory
  memls dream --dry-run --scope project
  memls dream --apply --model-url http://localhost:11434/v1 --model qwen3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return worked(p.dream(cmd.Context(), &f))
		},
	}
	f.changeFlags.add(cmd)
	f.modelFlags.add(cmd)
	f.roots.writes = true
	flags := cmd.Flags()
	flags.StringSliceVar(&f.scopes, "scope", nil, "`SCOPE` to look at: project, user, team (default: project and user)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would be proposed, and keep nothing")
	flags.BoolVar(&f.apply, "apply", false, "make at once what loses no statement, except in team memory")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "apply")
	completeScopes(cmd)
	return cmd
}

func (p *program) dream(ctx context.Context, f *dreamFlags) error {
	m, err := f.client()
	if err != nil {
		return err
	}
	return p.changed(ctx, &f.changeFlags, m, func(c *changer) error {
		d := memory.NewDreamer(memory.DreamerOptions{
			Keeper: c.keeper, Store: c.store, Roots: c.served, Snapshot: c.catalog.Snapshot,
			Tools: func() memory.DreamTools { return recall.DreamTools(&recall.Door{Model: m}) },
		})
		var all []*memory.Dreamt
		for _, scope := range f.wanted(c) {
			out, err := d.Dream(ctx, memory.Dream{Scope: scope, Force: true, Apply: f.apply, DryRun: f.dryRun})
			if err != nil {
				return err
			}
			all = append(all, out)
			if !f.json {
				c.dreamt(scope, out)
			}
		}
		if f.json {
			return p.printJSON(dreamJSON(all))
		}
		return p.print(c.out)
	})
}

// wanted are the scopes to look at: those that were named, or those of project and
// user that can be written to.
func (f *dreamFlags) wanted(c *changer) []memory.Scope {
	var out []memory.Scope
	for _, s := range f.scopes {
		out = append(out, memory.Scope(s))
	}
	if len(out) > 0 {
		return out
	}
	for _, s := range []memory.Scope{memory.ScopeProject, memory.ScopeUser} {
		if _, err := memory.WritableRoot(c.served(), s, ""); err == nil {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		out = append(out, memory.ScopeProject) // whose refusal says why
	}
	return out
}

func dreamJSON(all []*memory.Dreamt) any {
	results := []*lsp.DreamResult{}
	for _, d := range all {
		results = append(results, lsp.DreamResultOf(d))
	}
	return struct {
		Results []*lsp.DreamResult `json:"results"`
	}{results}
}

// dreamt shows what came of one scope.
func (c *changer) dreamt(scope memory.Scope, d *memory.Dreamt) {
	if d.Operation != nil {
		c.out.printf("%s  %s\n", c.out.styled(styleBold, d.Operation.ID), c.out.styled(styleDim, fmt.Sprintf("%s changed in %s memory; memls undo takes it back", count(len(d.Operation.Changes), "file"), scope)))
		for _, ch := range d.Operation.Changes {
			c.out.hanging("  ", fmt.Sprintf("%s %s", ch.Action, visible(ch.Ref)))
		}
	}
	if d.Plan != nil {
		c.out.planned(d.Plan, false, nil)
	}
	if d.Plan == nil && d.Operation == nil {
		c.out.printf("%s memory: there is nothing to tidy\n", scope)
	}
	for _, s := range d.Skipped {
		c.out.hanging("  ", fmt.Sprintf("%s: %s", s.Reason, visible(s.Detail)))
	}
}
