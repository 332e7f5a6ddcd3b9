package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/eval"
)

type evalFlags struct {
	modelFlags
	full, misses, json, delivery, search bool
	extract                              bool
	minRecall5                           float64
	compare                              string
	embedding                            embeddingFlags
	part                                 string
}

func (f *evalFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.extract, "extract", false, "learn from the conversations of the set, instead")
	flags.BoolVar(&f.full, "full", false, "every metric of every slice and language, too")
	flags.BoolVar(&f.misses, "misses", false, "list the cases that memls got wrong, too")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	flags.BoolVar(&f.delivery, "delivery", false, "measure what reaches an agent while a model takes its time, instead")
	f.embedding.add(cmd)
	flags.Lookup("embedding-model").Usage = "measure with this embedding model, too: its `NAME` at --embedding-url"
	flags.Float64Var(&f.minRecall5, "min-recall5", 0, "end with exit code 1 when Recall@5 of memls is below `X`, 0 to 1")
	flags.StringVar(&f.compare, "compare", "", "compare the scorer in use with those of the comma-separated `NAMES`, or all, instead")
	flags.Lookup("compare").NoOptDefVal = allVariants
	flags.BoolVar(&f.search, "search", false, "with --compare: rank as search does")
	flags.StringVar(&f.part, "part", "", "take only part `K/N` of the cases, such as 1/2")
	cmd.MarkFlagsMutuallyExclusive("json", "full")
	cmd.MarkFlagsMutuallyExclusive("json", "misses")
	for _, other := range []string{"full", "misses", "min-recall5"} {
		cmd.MarkFlagsMutuallyExclusive("delivery", other)
		cmd.MarkFlagsMutuallyExclusive("compare", other)
	}
	cmd.MarkFlagsMutuallyExclusive("compare", "delivery")
	for _, other := range []string{"full", "min-recall5", "delivery", "compare", "search", "part"} {
		cmd.MarkFlagsMutuallyExclusive("extract", other)
	}
}

func (p *program) evalCommand() *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "eval DIR...",
		Short: "Measure the ranker over a labelled set",
		Long: `eval puts the queries of a labelled set to the ranker and prints Recall@2,
Recall@5, top-1, MRR, nDCG@5 and how often silence was right, by slice and by
language. "memls" is what recall does, "memls-search" what search does; beside
them stand a frozen copy of the scorer that qwen-code ships and what a random
order would score.

DIR holds two files of one JSON object a line, in one of two formats.

Our own format describes memories. Unknown keys are errors; of a document only
id is required. An empty "relevant" says that silence is right; "top" names the
one relevant document that belongs first.

  corpus.jsonl  {"id", "title", "description", "type", "body", "keywords": […],
                 "status", "updated_at"}
  cases.jsonl   {"id", "query", "relevant": [ids], "lang", "slice", "top"}

The general format of retrieval sets may hold further keys. With a scope, a
query searches only the documents of that scope.

  corpus.jsonl   {"id", "text", "title", "description", "type", "scope"}
  queries.jsonl  {"id", "text", "relevant": [ids], "lang", "slice", "scope"}

--embedding-url and --embedding-model put the cases to recall with that embedding
model, too, as memls-hybrid. Every text of the set is sent there.

--delivery serves the set over real connections, with a model endpoint that
chooses what is right after 40 ms to 3 s, and prints which memories were there
when an agent sent the first request of a turn, and the later ones.

--compare puts the queries to the scorer in use and to the same with one of its
choices undone, each in turn, and prints what every choice is worth, with the
span in which the difference lies for 95 % of resampled sets. It takes several
sets, and with --search ranks as search does. --compare=NAME,NAME compares some.

--extract learns from the conversations of a set, and prints how much of what
should be remembered was proposed, how much of what was proposed should be, and
what must not be there. Without a model the recorded answers of the set are
used; with one it is asked, and the texts of the set are sent to it.

--part 1/2 takes one of that many parts of the cases: choose constants on one
part, and judge them on the other.

--json prints one object with the figures (0 to 1, null where there is nothing
to measure) and the answer to every case: set, documents, cases, rankers,
differences.
` + exitHelp,
		Example: `  memls eval testdata/eval/core
  memls eval testdata/eval/core --misses
  memls eval testdata/eval/core --delivery
  memls eval testdata/eval/core --embedding-url http://localhost:11434/v1 --embedding-model bge-m3
  memls eval testdata/eval/core --compare
  memls eval my/notes my/other --compare=no-stems,no-spellings --part 1/2
  memls eval --extract testdata/extract
  memls eval testdata/eval/core --json --min-recall5 0.9`,
		Args: evalArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("compare") {
				return worked(p.evalCompare(cmd.Context(), &f, args))
			}
			return worked(p.eval(cmd.Context(), &f, args[0], cmd.Flags().Changed("min-recall5")))
		},
	}
	f.modelFlags.add(cmd)
	f.add(cmd)
	return cmd
}

func evalArgs(cmd *cobra.Command, args []string) error {
	several := cmd.Flags().Changed("compare")
	switch {
	case several && len(args) == 0:
		return usagef("eval --compare takes directories, got none")
	case !several && len(args) != 1:
		return usagef("eval takes one directory, got %d arguments", len(args))
	}
	return nil
}

func (p *program) eval(ctx context.Context, f *evalFlags, dir string, bounded bool) error {
	if math.IsNaN(f.minRecall5) || f.minRecall5 < 0 || f.minRecall5 > 1 {
		return usagef("--min-recall5 %v is not within 0 to 1", f.minRecall5)
	}
	if f.search {
		return usagef("--search goes with --compare: without it, search stands in the table beside recall")
	}
	if f.extract {
		return p.evalExtract(ctx, f, dir)
	}
	if f.url != "" {
		return usagef("--model-url goes with --extract")
	}
	set, err := loadSet(dir, f.part)
	if err != nil {
		return err
	}
	if f.delivery {
		return p.evalDelivery(ctx, set, f.json)
	}
	contenders := []eval.Contender{
		{Name: eval.MemlsName, New: eval.Memls(recall.DefaultParams())},
		{Name: eval.MemlsSearchName, New: eval.MemlsSearch(recall.DefaultParams())},
	}
	embedder, err := (&modelFlags{embedding: f.embedding, timeout: recall.SelectorCeiling}).embedder()
	if err != nil {
		return err
	}
	var hybrid *eval.Hybrid
	if embedder != nil {
		hybrid = eval.NewHybrid(ctx, embedder)
		contenders = slices.Insert(contenders, 1, eval.Contender{Name: eval.MemlsHybridName, New: hybrid.New})
	}
	report, err := eval.Run(ctx, set, contenders...)
	if err != nil {
		return err
	}
	if hybrid != nil {
		for _, fault := range slices.Sorted(maps.Keys(hybrid.Faults())) {
			fmt.Fprintf(p.stderr, "memls: %s: %s (%s)\n", eval.MemlsHybridName, safeLine(fault), count(hybrid.Faults()[fault], "time"))
		}
	}
	if err := p.evalReport(report, f); err != nil {
		return failure(err)
	}
	got := report.Ranker(eval.MemlsName).Overall.Recall5
	if bounded && !(got.Known() && float64(got) >= f.minRecall5) {
		fmt.Fprintf(p.stderr, "memls: Recall@5 is %s %%, less than %s %%\n", got, eval.Figure(f.minRecall5))
		return exit(exitNothing)
	}
	return nil
}

func (p *program) evalReport(report *eval.Report, f *evalFlags) error {
	if f.json {
		return report.WriteJSON(p.stdout)
	}
	if err := report.WriteText(p.stdout, f.full); err != nil {
		return err
	}
	if !f.misses {
		return nil
	}
	out := &page{}
	out.printf("\nCases that %s got wrong:\n", eval.MemlsName)
	if err := report.Ranker(eval.MemlsName).WriteMisses(&out.b); err != nil {
		return err
	}
	return p.print(out)
}
