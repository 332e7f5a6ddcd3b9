package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memls/memls/recall"
)

// Bounds of a list that a person looks through, as memory/search has them.
const (
	searchLimit    = 20
	maxSearchLimit = 100
)

type searchFlags struct {
	filterFlags
	inactive bool
}

func (p *program) searchCommand() *cobra.Command {
	var f searchFlags
	cmd := &cobra.Command{
		Use:   "search QUERY…",
		Short: "List all memories that share words with a query",
		Long: `search lists memories for a person to look through: every one that a content
word of the query meets, best first, where recall shows only what is about the
question. The last word may be unfinished.

Several arguments are one query; the argument - reads it from standard input.
` + rootHelp + `
--json prints one object: query, documents, matches (before the limit),
memories, skipped, roots, sample, rankMs, loadMs, totalMs, as recall has them.
` + documentJSONHelp + exitHelp,
		Example: `  memls search refund
  memls search retry budg --root .memory --limit 50
  memls search "gate closing" --inactive --json --root .memory`,
		Args: queryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return worked(p.search(cmd.Context(), &f, args))
		},
	}
	f.add(cmd, searchLimit, maxSearchLimit)
	cmd.Flags().BoolVar(&f.inactive, "inactive", false, "superseded and expired memories, too")
	return cmd
}

func (p *program) search(ctx context.Context, f *searchFlags, args []string) (err error) {
	text, err := p.question(args)
	if err != nil {
		return err
	}
	q, err := f.query(text, maxSearchLimit)
	if err != nil {
		return err
	}
	q.Prefix, q.Loose, q.Inactive = true, true, f.inactive
	out, err := p.newPage(f.color)
	if err != nil {
		return err
	}
	log, closeLog, err := p.logger(slog.LevelError)
	if err != nil {
		return err
	}
	defer closeLog()
	o, err := p.open(ctx, &f.roots, scanners(log), log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.close()) }()
	began := time.Now()
	ranking, err := recall.IndexOf(o.snap).Rank(ctx, q)
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	ranked := time.Since(began)
	if f.json {
		err = p.searchJSON(o, q, ranking, ranked)
	} else {
		err = p.searchPage(out, o, q, ranking, ranked)
	}
	if err == nil && len(ranking.Hits) == 0 {
		return exit(exitNothing)
	}
	return err
}

func (p *program) searchJSON(o *opened, q recall.Query, r *recall.Ranking, ranked time.Duration) error {
	out := struct {
		Query     string         `json:"query"`
		Documents []documentJSON `json:"documents"`
		searchedJSON
	}{q.Text, []documentJSON{}, newSearchedJSON(o, r.Total, ranked, time.Since(p.began))}
	for _, h := range r.Hits {
		out.Documents = append(out.Documents, newDocumentJSON(h, "", q.Now))
	}
	return p.printJSON(out)
}

func (p *program) searchPage(out *page, o *opened, q recall.Query, r *recall.Ranking, ranked time.Duration) error {
	for i, h := range r.Hits {
		out.printf("%3d  %s  %s\n", i+1, out.styled(styleBold, safeLine(h.Doc.Title)), out.styled(styleDim, about(h.Doc, q.Now)))
		if reasons := because(h.Why); reasons != "" {
			out.hanging("     ", reasons)
		}
	}
	if len(r.Hits) == 0 {
		fmt.Fprintf(p.stderr, "memls: %s\n", nothing(r))
	} else {
		out.printf("\n")
	}
	var b strings.Builder
	b.WriteString(matches(r.Total))
	switch left := r.Total - len(r.Hits); {
	case left > 0 && len(r.Hits) == q.Limit:
		fmt.Fprintf(&b, ", %d of them beyond the limit", left)
	case left > 0:
		fmt.Fprintf(&b, ", %d of them far weaker and not shown", left)
	}
	fmt.Fprintf(&b, ", in %s. %s in all, %s of it reading.", milliseconds(ranked), milliseconds(time.Since(p.began)), milliseconds(o.took))
	out.hanging("", b.String())
	out.hanging("", o.searched())
	return p.printFound(out, len(r.Hits))
}
