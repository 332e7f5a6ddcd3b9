package eval_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/memls/memls/recall/eval"
)

func documents(n int) []eval.Doc {
	docs := make([]eval.Doc, n)
	for i := range docs {
		docs[i] = eval.Doc{ID: fmt.Sprint("d", i), Title: fmt.Sprint("title ", i)}
	}
	return docs
}

func TestFloorByHand(t *testing.T) {
	// Of 10 documents one is relevant and every place equally likely.
	set := &eval.Set{Name: "s", Docs: documents(10), Cases: []eval.Case{{ID: "c", Query: "q", Relevant: []string{"d3"}}}}
	got := eval.Floor(set).Overall
	harmonic := 0.0
	for i := 1; i <= 10; i++ {
		harmonic += 1 / float64(i)
	}
	for name, pair := range map[string][2]float64{
		"Recall@2": {float64(got.Recall2), 0.2},
		"Recall@5": {float64(got.Recall5), 0.5},
		"top-1":    {float64(got.Top1), 0.1},
		"MRR":      {float64(got.MRR), harmonic / 10},
	} {
		if !near(pair[0], pair[1]) {
			t.Errorf("%s = %v, want %v", name, pair[0], pair[1])
		}
	}
	if got.NoResultPrecision.Known() || got.NoResultRecall.Known() {
		t.Errorf("no-result figures without an unanswerable case: %+v", got)
	}
}

// The closed form agrees with a ranker that really shuffles.
func TestFloorIsTheMeanOfShuffles(t *testing.T) {
	docs := documents(12)
	docs[0].Status, docs[1].Status = "superseded", "expired"
	active := docs[2:]
	cases := []eval.Case{
		{ID: "one", Query: "q", Relevant: []string{"d4"}},
		{ID: "three, one named", Query: "q", Relevant: []string{"d4", "d5", "d6"}, Top: "d5"},
		{ID: "seven", Query: "q", Relevant: []string{"d2", "d3", "d4", "d5", "d6", "d7", "d8"}},
		{ID: "half inactive", Query: "q", Relevant: []string{"d0", "d9"}, Top: "d0"},
		{ID: "all inactive", Query: "q", Relevant: []string{"d1"}},
		{ID: "none", Query: "q"},
	}
	floor := eval.Floor(&eval.Set{Name: "s", Docs: docs, Cases: cases})
	rng := rand.New(rand.NewPCG(1, 2))
	const rounds = 40_000
	for i := range cases {
		var sum eval.Score
		for range rounds {
			answer := make([]string, 0, eval.Depth)
			for _, j := range rng.Perm(len(active))[:eval.Depth] {
				answer = append(answer, active[j].ID)
			}
			s := eval.Measure(&cases[i], answer)
			sum.Recall2 += s.Recall2 / rounds
			sum.Recall5 += s.Recall5 / rounds
			sum.Top1 += s.Top1 / rounds
			sum.RR += s.RR / rounds
			sum.NDCG5 += s.NDCG5 / rounds
		}
		got := floor.Answers[i].Score
		for name, pair := range map[string][2]float64{
			"Recall@2": {got.Recall2, sum.Recall2}, "Recall@5": {got.Recall5, sum.Recall5}, "top-1": {got.Top1, sum.Top1},
			"MRR": {got.RR, sum.RR}, "nDCG@5": {got.NDCG5, sum.NDCG5},
		} {
			// Four standard errors of a mean of values in [0, 1] over 40,000 rounds is 0.01 at the most.
			if math.Abs(pair[0]-pair[1]) > 0.01 {
				t.Errorf("%s, %s: closed form %.4f, shuffled %.4f", cases[i].ID, name, pair[0], pair[1])
			}
		}
	}
}

func TestFloorOfPoolSmallerThanADelivery(t *testing.T) {
	set := &eval.Set{Name: "s", Docs: documents(3), Cases: []eval.Case{{ID: "c", Query: "q", Relevant: []string{"d0"}}}}
	got := eval.Floor(set).Overall
	if !near(float64(got.Recall5), 1) || !near(float64(got.Recall2), 2./3) {
		t.Errorf("Recall@5 = %v, Recall@2 = %v", float64(got.Recall5), float64(got.Recall2))
	}
}
