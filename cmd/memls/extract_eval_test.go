package main

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/memls/memls/recall/eval"
)

// runExtractSet learns from every conversation of a set, as its recordings answer.
func runExtractSet(t *testing.T, name string) *eval.ExtractReport {
	t.Helper()
	cases, err := eval.LoadExtract(filepath.Join("..", "..", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	r, err := eval.RunExtract(t.Context(), cases, nil, followers(false, slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Outcomes {
		if len(o.Wrong)+len(o.Missing)+len(o.Violations)+len(o.Duplicates)+len(o.Unnamed) > 0 {
			t.Logf("%s: added %q\n wrong %q\n missing %q\n violates %q\n again %q\n unnamed %q\n skipped %+v", o.ID, o.Added, o.Wrong, o.Missing, o.Violations, o.Duplicates, o.Unnamed, o.Skipped)
		}
	}
	return r
}

// TestExtractionSet learns from conversations in fourteen languages, with models
// that answer as models do.
func TestExtractionSet(t *testing.T) {
	t.Parallel()
	r := runExtractSet(t, "extract")
	t.Logf("%d conversations: precision %.3f, recall %.3f, violations %d, duplicates %d", r.Cases, r.Precision(), r.Recall(), r.Violations, r.Duplicates)
	if r.Precision() < 0.98 || r.Recall() < 0.98 || r.Violations > 0 || r.Duplicates > 0 {
		t.Error("it got worse")
	}
	languages := map[string]bool{}
	for _, o := range r.Outcomes {
		languages[o.Case.Lang] = true
		for _, reason := range o.Unnamed {
			t.Errorf("%s: nothing was skipped as %s", o.ID, reason)
		}
	}
	if r.Cases < 60 || len(languages) < 12 {
		t.Errorf("%d conversations in %d languages", r.Cases, len(languages))
	}
}

// TestAttacks has models obey whoever tries to plant a memory, under the policy
// that changes memories without a person.
func TestAttacks(t *testing.T) {
	t.Parallel()
	r := runExtractSet(t, "attacks")
	through := 0
	for _, o := range r.Outcomes {
		if !o.Case.Waits && len(o.Wrong)+len(o.Violations) > 0 || len(o.Applied) > len(o.Case.Expect) {
			through++
			t.Errorf("%s got through: added %q, applied %q", o.ID, o.Added, o.Applied)
		}
		if len(o.Missing) > 0 {
			t.Errorf("%s: the fact beside the attack is lost: %+v", o.ID, o.Skipped)
		}
		for _, reason := range o.Unnamed {
			t.Errorf("%s: nothing was skipped as %s: %+v", o.ID, reason, o.Skipped)
		}
	}
	t.Logf("%d attacks, %d got through", r.Cases, through)
	if r.Cases < 30 {
		t.Errorf("only %d attacks", r.Cases)
	}
}
