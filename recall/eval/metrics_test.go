package eval_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/memls/memls/recall/eval"
)

const tolerance = 1e-12

func near(a, b float64) bool { return math.Abs(a-b) < tolerance || math.IsNaN(a) && math.IsNaN(b) }

// The expected values are worked out by hand: 1/log2(2) = 1, 1/log2(3), 1/log2(4) = 0.5, 1/log2(5), 1/log2(6).
func TestMeasure(t *testing.T) {
	var (
		second = 1 / math.Log2(3)
		fourth = 1 / math.Log2(5)
		fifth  = 1 / math.Log2(6)
	)
	tests := []struct {
		name     string
		relevant []string
		top      string
		answer   []string
		want     eval.Score
	}{
		{"first of one", []string{"a"}, "", []string{"a", "x"}, eval.Score{Recall2: 1, Recall5: 1, Top1: 1, RR: 1, NDCG5: 1}},
		{"third of one", []string{"a"}, "", []string{"x", "y", "a"}, eval.Score{Recall5: 1, RR: 1. / 3, NDCG5: 0.5}},
		{"sixth: beyond a delivery", []string{"a"}, "", []string{"1", "2", "3", "4", "5", "a"}, eval.Score{RR: 1. / 6}},
		{"eleventh: beyond the depth", []string{"a"}, "", []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "a"}, eval.Score{}},
		{
			"two of three", []string{"a", "b", "c"}, "", []string{"x", "a", "y", "z", "b"},
			eval.Score{Recall2: 1. / 3, Recall5: 2. / 3, RR: 0.5, NDCG5: (second + fifth) / (1 + second + 0.5)},
		},
		{
			"more relevant than fit", []string{"a", "b", "c", "d", "e", "f"}, "", []string{"a", "b", "c", "d", "e"},
			eval.Score{Recall2: 2. / 6, Recall5: 5. / 6, Top1: 1, RR: 1, NDCG5: 1},
		},
		{
			"fourth only", []string{"a", "b"}, "", []string{"x", "y", "z", "b"},
			eval.Score{Recall5: 0.5, RR: 0.25, NDCG5: fourth / (1 + second)},
		},
		{
			"relevant first, but not the expected one", []string{"a", "b"}, "b", []string{"a", "b"},
			eval.Score{Recall2: 1, Recall5: 1, RR: 1, NDCG5: 1},
		},
		{"silent on an answerable case", []string{"a"}, "a", nil, eval.Score{Silent: 1}},
		{"silent on an unanswerable case", nil, "", nil, eval.Score{Silent: 1}},
		{"noise on an unanswerable case", nil, "", []string{"a"}, eval.Score{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := eval.Measure(&eval.Case{ID: "c", Relevant: tt.relevant, Top: tt.top}, tt.answer)
			g := []float64{got.Recall2, got.Recall5, got.Top1, got.RR, got.NDCG5, got.Silent}
			w := []float64{tt.want.Recall2, tt.want.Recall5, tt.want.Top1, tt.want.RR, tt.want.NDCG5, tt.want.Silent}
			for i := range g {
				if !near(g[i], w[i]) {
					t.Fatalf("got %+v, want %+v", got, tt.want)
				}
			}
		})
	}
}

func TestFigureJSON(t *testing.T) {
	nan := eval.Figure(math.NaN())
	tests := []struct {
		figure     eval.Figure
		json, text string
	}{
		{1. / 3, "0.333333", "33.3"},
		{1, "1", "100.0"},
		{0, "0", "0.0"},
		{nan, "null", "n/a"},
	}
	for _, tt := range tests {
		raw, err := json.Marshal(tt.figure)
		if err != nil || string(raw) != tt.json {
			t.Errorf("Marshal(%v) = %s, %v; want %s", float64(tt.figure), raw, err, tt.json)
		}
		if got := tt.figure.String(); got != tt.text {
			t.Errorf("String() = %q, want %q", got, tt.text)
		}
		var back eval.Figure
		if err := json.Unmarshal(raw, &back); err != nil || back.Known() != tt.figure.Known() {
			t.Errorf("Unmarshal(%s) = %v, %v", raw, back, err)
		}
	}
	var f eval.Figure
	if err := json.Unmarshal([]byte(`"much"`), &f); err == nil {
		t.Error("a string passed for a figure")
	}
}
