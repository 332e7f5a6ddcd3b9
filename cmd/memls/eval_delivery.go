package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/delivery"
	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/eval"
)

// evalDelivery writes the set as memory files and measures what reaches an agent
// over real connections while a model takes its time.
func (p *program) evalDelivery(ctx context.Context, set *eval.Set, asJSON bool) (err error) {
	cases, dir, err := deliverySet(set)
	if err != nil {
		return err
	}
	defer func() {
		if gone := os.RemoveAll(filepath.Dir(dir)); gone != nil && err == nil {
			err = failure(gone)
		}
	}()
	quiet := slog.New(slog.DiscardHandler)
	report, err := delivery.Run(ctx, delivery.Options{
		Dir: dir, Cases: cases, Latencies: delivery.Latencies(),
		Setup: func() func(*lsp.Server) error {
			return lsp.Memory(lsp.MemoryOptions{Watch: func(bool) memory.WatchFactory { return scanners(quiet) }})
		},
	})
	if err != nil {
		return failure(err)
	}
	if asJSON {
		enc := json.NewEncoder(p.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(report)
	}
	fmt.Fprintf(p.stdout, "set: %s, %d documents\n", set.Name, len(set.Docs))
	return report.WriteText(p.stdout)
}

// deliverySet writes the documents of a set into a folder of a new directory and
// answers its cases with the refs that the folder gives the documents.
func deliverySet(set *eval.Set) (cases []delivery.Case, dir string, err error) {
	temp, err := os.MkdirTemp("", "memls-eval-")
	if err != nil {
		return nil, "", failure(err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(temp) // the error that is answered says more
		}
	}()
	dir = filepath.Join(temp, "memory")
	paths, err := set.WriteMemory(dir)
	if err != nil {
		return nil, "", failure(err)
	}
	titles := make(map[string]string, len(set.Docs))
	for i := range set.Docs {
		titles[set.Docs[i].ID] = set.Docs[i].Title
	}
	upstream := eval.NewQwenCode(set.Docs)
	for i := range set.Cases {
		c := &set.Cases[i]
		if c.Scope != "" {
			return nil, "", usagef("case %q has a scope: --delivery serves a set as one memory, and takes none with scopes", c.ID)
		}
		d := delivery.Case{ID: c.ID, Query: c.Query, Lexical: set.SharesWord(c)}
		for _, id := range c.Relevant {
			d.Relevant = append(d.Relevant, memory.Ref{Scope: memory.ScopeProject, Rel: paths[id]}.File())
			d.Titles = append(d.Titles, titles[id])
		}
		for _, id := range upstream.Rank(c.Query, recall.MaxFastDocs) {
			d.Baseline = append(d.Baseline, memory.Ref{Scope: memory.ScopeProject, Rel: paths[id]}.File())
		}
		cases = append(cases, d)
	}
	return cases, dir, nil
}
