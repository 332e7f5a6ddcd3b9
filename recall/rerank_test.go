package recall_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/eval"
)

// The same words in the order of the query are a better answer than the same words
// apart.
func TestSequencesDecideBetweenLikeMatches(t *testing.T) {
	ix := indexOf(t,
		note{name: "Scattered", body: "Alder and birch grow by the cedar. A retry of the budget needs an order.", days: 1},
		note{name: "Together", body: "Agate and beryl lie by the coral. An order raised the retry budget.", days: 2},
		note{name: "Elsewhere", body: "Granite from the quarry in the north."},
	)
	wantNames(t, "together", ask(t, ix, "retry budget"), "Together", "Scattered")
}

// TestSequencesRaiseAndNeverAdmit holds that three-letter sequences change the order
// of what other matches found, and nothing else.
func TestSequencesRaiseAndNeverAdmit(t *testing.T) {
	set := eval.Synthetic(400, 3)
	ix := build(corpus(t, 400))
	on, off := recall.DefaultParams(), recall.DefaultParams()
	off.Sequences = 0
	if on.Sequences <= 0 {
		t.Fatal("sequences are not in use")
	}
	moved := false
	for i := range set.Cases {
		f := strings.Fields(set.Docs[i].Body)
		q := recall.Query{Text: "where is " + strings.Join(f[:6], " ") + " for " + f[40], Limit: 60, Now: time.Now()}
		with, err := ix.RankWith(t.Context(), q, on)
		if err != nil {
			t.Fatal(err)
		}
		without, err := ix.RankWith(t.Context(), q, off)
		if err != nil {
			t.Fatal(err)
		}
		a, b := names(with), names(without)
		moved = moved || !slices.Equal(a, b)
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(a, b) || with.Total != without.Total {
			t.Errorf("%q: found %d with and %d without", q.Text, with.Total, without.Total)
		}
	}
	if !moved {
		t.Error("no order changed")
	}
}
