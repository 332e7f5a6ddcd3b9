package eval_test

import (
	"path/filepath"
	"testing"

	"github.com/memls/memls/recall/eval"
)

// The labelled set that the project is judged by must itself be worth judging by: large enough that chance does not flatter
// anybody, and broad enough that no script or failing hides.
func TestCoreSetIsWorthMeasuringWith(t *testing.T) {
	const (
		leastCases     = 150
		leastLanguages = 12
		leastInSlice   = 5
		highestFloor   = 0.25 // of the random ranker's Recall@5
	)
	set, err := eval.Load(filepath.Join("..", "..", "testdata", "eval", "core"))
	if err != nil {
		t.Fatal(err)
	}
	floor := eval.Floor(set)
	if n := len(set.Cases); n < leastCases {
		t.Errorf("%d cases, want %d", n, leastCases)
	}
	if n := len(floor.Languages); n < leastLanguages {
		t.Errorf("%d languages, want %d", n, leastLanguages)
	}
	groups := map[string]eval.Summary{"all": floor.Overall}
	for _, g := range floor.Slices {
		groups[g.Name] = g.Summary
	}
	for name, s := range groups {
		if s.Recall5.Known() && s.Recall5 > highestFloor {
			t.Errorf("%s: a random ranker reaches Recall@5 %s %%", name, s.Recall5)
		}
	}
	for _, name := range []string{
		"cyrillic", "greek", "accented-latin", "arabic", "devanagari", "thai", "single-cjk", "long-cjk", "body-only", "late-in-body",
		"mixed-script", "nfkc", "identifier", "inflection", "near-miss", "unanswerable", "no-shared-word",
	} {
		if n := groups[name].Cases; n < leastInSlice {
			t.Errorf("slice %s: %d cases, want %d", name, n, leastInSlice)
		}
	}
	if s := groups["unanswerable"]; s.Answerable > 0 {
		t.Errorf("slice unanswerable: %d cases have an answer", s.Answerable)
	}
	for i := range set.Cases {
		if c := &set.Cases[i]; c.Lang == "" || c.Slice == "" {
			t.Errorf("case %s has no language or no slice", c.ID)
		}
	}
}

// A case whose answer is superseded or expired contradicts what a recall returns.
func TestCoreSetAnswersAreActive(t *testing.T) {
	set, err := eval.Load(filepath.Join("..", "..", "testdata", "eval", "core"))
	if err != nil {
		t.Fatal(err)
	}
	active := map[string]bool{}
	for i := range set.Docs {
		active[set.Docs[i].ID] = set.Docs[i].Active()
	}
	for i := range set.Cases {
		for _, id := range set.Cases[i].Relevant {
			if !active[id] {
				t.Errorf("case %s wants %s, which is not active", set.Cases[i].ID, id)
			}
		}
	}
}
