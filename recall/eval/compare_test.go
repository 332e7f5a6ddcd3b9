package eval_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/eval"
)

// twoChoices is a set on which stems and the gate's shares each decide one case.
func twoChoices() *eval.Set {
	set := &eval.Set{Name: "two", Docs: []eval.Doc{
		{ID: "walk", Title: "Walking", Body: "Walks by the river."},
		{ID: "long", Title: "Kestrelhouse", Body: "Opens at eight."},
		{ID: "other", Title: "Granite", Body: "A quarry in the north."},
	}}
	set.Cases = []eval.Case{
		{ID: "stem", Query: "who walked", Relevant: []string{"walk"}},
		{ID: "whole", Query: "where is the kestrelhouse", Relevant: []string{"long"}},
		{ID: "silence", Query: "marathon plan with a quarry and taper"},
	}
	return set
}

func TestCompare(t *testing.T) {
	variants, err := eval.Choose(eval.Variants(), []string{"no-stems", "no-shares"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := eval.Compare(t.Context(), twoChoices(), false, variants)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"memls 100.0 100.0", "no-stems 50.0 100.0", "no-shares 100.0 0.0"}
	var have []string
	for _, v := range got.Variants {
		have = append(have, v.Name+" "+v.Overall.Recall5.String()+" "+v.Overall.NoResultRecall.String())
	}
	if !slices.Equal(have, want) {
		t.Errorf("got %q, want %q", have, want)
	}
	if len(got.Variants[0].Differences) != 0 {
		t.Errorf("the first differs from itself: %+v", got.Variants[0].Differences)
	}
	// Of two cases one is lost: a resample loses none, one or both of them.
	if d := got.Variants[1].Differences[0]; d.Metric != "recall5" || d.Mean != -0.5 || d.Low != -1 || d.High != 0 || d.Against != "memls" {
		t.Errorf("difference %+v", d)
	}
	var b bytes.Buffer
	if err := eval.WriteComparisons(&b, []*eval.Comparison{got, got}); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, s := range []string{"two: 3 documents, 3 cases (2 answerable, 1 not), as recall ranks", "no-stems", "50.0", "-50.0 [-100.0, 0.0]", "100.0",
		"Recall@5 / nDCG@5", "-50.0 / -50.0", "no-stems: inflections do not meet", "95 % of resampled"} {
		i := strings.Index(b.String()[at:], s)
		if i < 0 {
			t.Fatalf("%q is missing, or not in its place, in\n%s", s, b.String())
		}
		at += i
	}
}

// TestVariantsDiffer holds that a variant is not the scorer in use under another
// name, and that names are unique.
func TestVariantsDiffer(t *testing.T) {
	seen := map[string]bool{}
	for i, v := range eval.Variants() {
		if seen[v.Name] || v.Name == "" || v.About == "" {
			t.Errorf("variant %d: name %q, about %q", i, v.Name, v.About)
		}
		seen[v.Name] = true
		if i > 0 && v.Params == recall.DefaultParams() {
			t.Errorf("%s is the scorer in use", v.Name)
		}
	}
}

func TestChooseNamesWhatItDoesNotKnow(t *testing.T) {
	_, err := eval.Choose(eval.Variants(), []string{"no-stems", "no-such"})
	if err == nil || !strings.Contains(err.Error(), `no scorer "no-such"; known are no-accents, no-stems`) {
		t.Errorf("got %v", err)
	}
}

func TestCompareEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := eval.Compare(ctx, twoChoices(), true, eval.Variants()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestParts holds that parts share no case, leave none out, and are of like size.
func TestParts(t *testing.T) {
	set := &eval.Set{Name: "s"}
	for i := range 1000 {
		set.Cases = append(set.Cases, eval.Case{ID: fmt.Sprint("q", i)})
	}
	seen := map[string]bool{}
	for k := 1; k <= 3; k++ {
		part := set.Part(k, 3)
		if n := len(part.Cases); n < 280 || n > 390 {
			t.Errorf("part %d holds %d of 1000 cases", k, n)
		}
		for _, c := range part.Cases {
			if seen[c.ID] {
				t.Errorf("%s is in two parts", c.ID)
			}
			seen[c.ID] = true
		}
	}
	if len(seen) != len(set.Cases) {
		t.Errorf("%d cases are in a part, of %d", len(seen), len(set.Cases))
	}
}
