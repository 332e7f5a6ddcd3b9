package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/memls/memls/recall/eval"
)

// evalExtract learns from the conversations of a set and prints how well.
func (p *program) evalExtract(ctx context.Context, f *evalFlags, dir string) error {
	cases, err := eval.LoadExtract(dir)
	if err != nil {
		return usage(err)
	}
	m, err := f.client()
	if err != nil {
		return err
	}
	r, err := eval.RunExtract(ctx, cases, m, followers(false, slog.New(slog.DiscardHandler)))
	if err != nil {
		return failure(err)
	}
	if f.json {
		return p.printJSON(r)
	}
	out, err := p.newPage("auto")
	if err != nil {
		return err
	}
	out.printf("%s, %s expected, %s proposed\n", count(r.Cases, "conversation"), count(r.Expected, "memory"), count(r.Proposed, "memory"))
	out.printf("  precision   %.3f\n  recall      %.3f\n  must not    %d\n  duplicates  %d after a second run\n", r.Precision(), r.Recall(), r.Violations, r.Duplicates)
	if u := r.Usage; u.Requests > 0 {
		out.printf("  %s, %s of questions and %s of answers\n", count(u.Requests, "request"), count(u.PromptTokens, "token"), count(u.CompletionTokens, "token"))
	}
	for _, o := range r.Outcomes {
		if f.misses && len(o.Wrong)+len(o.Missing)+len(o.Violations)+len(o.Duplicates) > 0 {
			out.hanging("  ", visible(fmt.Sprintf("%s: missing %q, wrong %q, must not %q, again %q", o.ID, o.Missing, o.Wrong, o.Violations, o.Duplicates)))
		}
	}
	return p.print(out)
}
