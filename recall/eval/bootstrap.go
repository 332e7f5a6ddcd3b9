package eval

import (
	"math/rand/v2"
	"slices"
)

// Difference is how much better one ranker is than another on the answerable cases, with the interval that holds 95 % of the
// means of resampled cases. An interval that spans 0 says that the set is too small to tell the two apart.
type Difference struct {
	Ranker  string `json:"ranker"`
	Against string `json:"against"`
	Metric  string `json:"metric"` // as in the JSON of a Score
	Mean    Figure `json:"mean"`
	Low     Figure `json:"low"`
	High    Figure `json:"high"`
}

const (
	resamples     = 2000
	resampleSeed  = 1 // fixed: the same answers give the same report
	intervalShare = 0.95
)

// compare is the paired bootstrap of two rankers over the cases that have an answer.
func compare(a, b *RankerReport) []Difference {
	var out []Difference
	for _, m := range []struct {
		name string
		of   func(*Score) float64
	}{
		{"recall5", func(s *Score) float64 { return s.Recall5 }},
		{"ndcg5", func(s *Score) float64 { return s.NDCG5 }},
	} {
		var gaps []float64
		for i := range a.Answers {
			if len(a.Answers[i].Relevant) > 0 {
				gaps = append(gaps, m.of(&a.Answers[i].Score)-m.of(&b.Answers[i].Score))
			}
		}
		d := Difference{Ranker: a.Name, Against: b.Name, Metric: m.name}
		d.Mean, d.Low, d.High = interval(gaps)
		out = append(out, d)
	}
	return out
}

// interval answers the mean and the percentile interval of the mean; all n/a when there is no value.
func interval(values []float64) (mid, low, high Figure) {
	total := 0.0
	for _, v := range values {
		total += v
	}
	mid = mean(total, len(values))
	if len(values) == 0 {
		return mid, mid, mid
	}
	rng := rand.New(rand.NewPCG(resampleSeed, uint64(len(values))))
	means := make([]float64, resamples)
	for i := range means {
		sum := 0.0
		for range values {
			sum += values[rng.IntN(len(values))]
		}
		means[i] = sum / float64(len(values))
	}
	slices.Sort(means)
	outside := int(resamples * (1 - intervalShare) / 2)
	return mid, Figure(means[outside]), Figure(means[resamples-1-outside])
}
