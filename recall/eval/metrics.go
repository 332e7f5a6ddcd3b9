package eval

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Depth is how many results of a ranker are looked at; the reciprocal rank of a document beyond it counts 0.
// The other cut-offs are those of a delivery: 2 documents in a fast result, 5 in a refined one.
const (
	Depth       = 10
	fastCut     = 2
	deliveryCut = 5
)

// Score is how one answer does on one case. The first five fields mean something for answerable cases only. For the random
// floor they are expected values, otherwise Top1 and Silent are 0 or 1.
type Score struct {
	Recall2 float64 `json:"recall2"` // share of the relevant documents among the first 2 results
	Recall5 float64 `json:"recall5"` // the same among the first 5
	Top1    float64 `json:"top1"`    // the expected document stands first (any relevant one when the case names none)
	RR      float64 `json:"rr"`      // 1/rank of the first relevant document, 0 beyond Depth
	NDCG5   float64 `json:"ndcg5"`   // discounted gain of the first 5, over that of the best order
	Silent  float64 `json:"silent"`  // nothing was returned
}

// Measure scores the answer of a ranker, best first, on a case.
func Measure(c *Case, answer []string) Score {
	if len(answer) == 0 {
		return Score{Silent: 1}
	}
	if !c.Answerable() {
		return Score{}
	}
	relevant := make(map[string]bool, len(c.Relevant))
	for _, id := range c.Relevant {
		relevant[id] = true
	}
	var s Score
	for i, id := range answer {
		if i >= Depth {
			break
		}
		if !relevant[id] {
			continue
		}
		if s.RR == 0 {
			s.RR = 1 / float64(i+1)
		}
		if i < fastCut {
			s.Recall2++
		}
		if i < deliveryCut {
			s.Recall5++
			s.NDCG5 += discount(i)
		}
	}
	total := float64(len(c.Relevant))
	s.Recall2 /= total
	s.Recall5 /= total
	s.NDCG5 /= idealGain(len(c.Relevant))
	if answer[0] == c.Top || c.Top == "" && relevant[answer[0]] {
		s.Top1 = 1
	}
	return s
}

// discount is the weight of a hit at a place counted from zero, as in the usual nDCG: 1/log2(place+2).
func discount(place int) float64 { return 1 / math.Log2(float64(place)+2) }

// idealGain is the gain of an answer that lists n relevant documents first.
func idealGain(n int) float64 {
	sum := 0.0
	for i := range min(n, deliveryCut) {
		sum += discount(i)
	}
	return sum
}

// Figure is a mean between 0 and 1; NaN where there was nothing to take the mean of, printed "n/a" and null in JSON.
type Figure float64

// Known says whether the figure is a number and not "n/a".
func (f Figure) Known() bool { return !math.IsNaN(float64(f)) }

// String prints the figure in percent with one decimal, or "n/a".
func (f Figure) String() string {
	if !f.Known() {
		return "n/a"
	}
	return strconv.FormatFloat(float64(f)*100, 'f', 1, 64)
}

// MarshalJSON writes the figure as a number between 0 and 1 with at most six decimals, or null.
func (f Figure) MarshalJSON() ([]byte, error) {
	if !f.Known() {
		return []byte("null"), nil
	}
	const places = 1e6
	return json.Marshal(math.Round(float64(f)*places) / places)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Figure) UnmarshalJSON(raw []byte) error {
	var v *float64
	if err := json.Unmarshal(raw, &v); err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	*f = Figure(math.NaN())
	if v != nil {
		*f = Figure(*v)
	}
	return nil
}

func mean(sum float64, n int) Figure { return Figure(sum / float64(n)) } // 0/0 is NaN: not available

// Summary is the mean over a group of cases. Recall, top-1, MRR and nDCG are over the answerable cases.
type Summary struct {
	Cases        int     `json:"cases"`
	Answerable   int     `json:"answerable"`
	Unanswerable int     `json:"unanswerable"`
	Silent       float64 `json:"silent"` // cases answered with nothing

	Recall2 Figure `json:"recall2"`
	Recall5 Figure `json:"recall5"`
	Top1    Figure `json:"top1"`
	MRR     Figure `json:"mrr"`
	NDCG5   Figure `json:"ndcg5"`

	NoResultPrecision Figure `json:"noResultPrecision"` // of the silent cases, those that have no answer
	NoResultRecall    Figure `json:"noResultRecall"`    // of the cases that have no answer, the silent ones
}

// tally adds up scores until a summary is asked for.
type tally struct {
	sum                      Score
	answerable, unanswerable int
	rightlySilent            float64
}

func (t *tally) add(c *Case, s Score) {
	t.sum.Silent += s.Silent
	if !c.Answerable() {
		t.unanswerable++
		t.rightlySilent += s.Silent
		return
	}
	t.answerable++
	t.sum.Recall2 += s.Recall2
	t.sum.Recall5 += s.Recall5
	t.sum.Top1 += s.Top1
	t.sum.RR += s.RR
	t.sum.NDCG5 += s.NDCG5
}

func (t *tally) summary() Summary {
	return Summary{
		Cases: t.answerable + t.unanswerable, Answerable: t.answerable, Unanswerable: t.unanswerable, Silent: t.sum.Silent,
		Recall2:           mean(t.sum.Recall2, t.answerable),
		Recall5:           mean(t.sum.Recall5, t.answerable),
		Top1:              mean(t.sum.Top1, t.answerable),
		MRR:               mean(t.sum.RR, t.answerable),
		NDCG5:             mean(t.sum.NDCG5, t.answerable),
		NoResultPrecision: Figure(t.rightlySilent / t.sum.Silent),
		NoResultRecall:    mean(t.rightlySilent, t.unanswerable),
	}
}
