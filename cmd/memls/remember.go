package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/memory"
)

type rememberFlags struct {
	changeFlags
	scope, typ, name string
	keywords         []string
	dryRun           bool
}

func (p *program) rememberCommand() *cobra.Command {
	var f rememberFlags
	cmd := &cobra.Command{
		Use:   "remember TEXT…",
		Short: "Remember a text as one memory",
		Long: `remember writes a text as one memory: a Markdown file that recall finds from
then on. Scope, type, name and description are taken from the text where no flag
gives them. A memory that says the same stays as it is; one that says less, or
has the same name, is updated instead of twinned. Credentials are refused.

Several arguments are one text; the argument - reads it from standard input.
` + rootHelp + `
` + exitHelp,
		Example: `  memls remember "the staging database is rebuilt every Monday" --root .memory
  memls remember --scope user --type feedback "always run the linter first" --root user=$HOME/notes
  git log -1 --format=%B | memls remember - --name "Last release" --root .memory`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("no text: say what to remember")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return worked(p.remember(cmd.Context(), &f, args))
		},
	}
	f.add(cmd)
	f.roots.writes = true
	flags := cmd.Flags()
	flags.StringVar(&f.scope, "scope", "", "`SCOPE` to write to: project, user, team (default: what the text says, else user)")
	flags.StringVar(&f.typ, "type", "", "`TYPE`: user, feedback, project, reference or any other (default: what the text says, else user)")
	flags.StringVar(&f.name, "name", "", "`NAME` of the memory (default: its first clause)")
	flags.StringSliceVar(&f.keywords, "keyword", nil, "a `WORD` that it is to be found by, too; may be repeated")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would be written, and write nothing")
	completeScopes(cmd)
	complete(cmd, "type", memory.TypeUser, memory.TypeFeedback, memory.TypeProject, memory.TypeReference)
	return cmd
}

func (p *program) remember(ctx context.Context, f *rememberFlags, args []string) error {
	text, err := p.words(args, "text")
	if err != nil {
		return err
	}
	with := p.changed
	if f.dryRun {
		with = p.shown
	}
	return with(ctx, &f.changeFlags, nil, func(c *changer) error {
		kept, err := c.keeper.Remember(ctx, memory.Remember{
			Text: text, Scope: memory.Scope(f.scope), Type: f.typ, Name: f.name, Keywords: f.keywords,
		}, !f.dryRun)
		switch {
		case err != nil:
			return err
		case f.json:
			return p.printJSON(lsp.RememberResultOf(kept))
		case kept.Plan != nil:
			c.out.planned(kept.Plan, false, nil)
			return p.print(c.out)
		case kept.Operation != nil:
			return c.done(kept.Operation, false)
		}
		for _, ref := range kept.Unchanged {
			c.out.printf("%s  %s\n", c.out.styled(styleBold, visible(ref)), c.out.styled(styleDim, "says it already"))
		}
		return p.print(c.out)
	})
}
