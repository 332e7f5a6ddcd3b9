package eval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memls/memls/recall/eval"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// canned answers every query with the ids that it was told.
type canned map[string][]string

func (c canned) Rank(query string, _ int) []string { return c[query] }

func of(answers canned) eval.Factory { return func([]eval.Doc) eval.Ranker { return answers } }

// twoSlices has ten documents and five cases whose figures are worked out by hand below.
func twoSlices() (*eval.Set, canned) {
	set := &eval.Set{Name: "two slices", Docs: documents(10), Cases: []eval.Case{
		{ID: "c1", Query: "q1", Relevant: []string{"d1"}, Lang: "en", Slice: "plain"},
		{ID: "c2", Query: "q2", Relevant: []string{"d1", "d2"}, Lang: "de", Slice: "plain"},
		{ID: "c3", Query: "q3", Relevant: []string{"d3"}, Lang: "en", Slice: "plain"},
		{ID: "c4", Query: "q4", Lang: "en", Slice: "silence"},
		{ID: "c5", Query: "q5", Lang: "de", Slice: "silence"},
	}}
	return set, canned{
		"q1": {"d1"},
		"q2": {"d2", "d5", "d1"},
		"q3": nil,
		"q4": nil,
		"q5": {"d9"},
	}
}

func TestRunByHand(t *testing.T) {
	set, answers := twoSlices()
	report, err := eval.Run(context.Background(), set, eval.Contender{Name: "ours", New: of(answers)})
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, 3)
	for _, r := range report.Rankers {
		names = append(names, r.Name)
	}
	if !slices.Equal(names, []string{"ours", eval.QwenCodeName, eval.FloorName}) {
		t.Fatalf("rankers: %v", names)
	}
	ours := report.Ranker("ours")
	c2 := (1 + 0.5) / (1 + 1/math.Log2(3)) // places 1 and 3 of two relevant ones
	want := map[string][2]float64{
		"Recall@2":            {float64(ours.Overall.Recall2), (1 + 0.5 + 0) / 3},
		"Recall@5":            {float64(ours.Overall.Recall5), (1. + 1 + 0) / 3},
		"top-1":               {float64(ours.Overall.Top1), 2. / 3},
		"MRR":                 {float64(ours.Overall.MRR), 2. / 3},
		"nDCG@5":              {float64(ours.Overall.NDCG5), (1 + c2 + 0) / 3},
		"no-result precision": {float64(ours.Overall.NoResultPrecision), 0.5},
		"no-result recall":    {float64(ours.Overall.NoResultRecall), 0.5},
		"de: nDCG@5":          {float64(ours.Languages[0].NDCG5), c2},
		"de: no-result rec.":  {float64(ours.Languages[0].NoResultRecall), 0},
		"plain: no-result P":  {float64(ours.Slices[0].NoResultPrecision), 0},
		"plain: no-result R":  {float64(ours.Slices[0].NoResultRecall), math.NaN()},
		"silence: Recall@5":   {float64(ours.Slices[1].Recall5), math.NaN()},
		"floor: Recall@5":     {float64(report.Ranker(eval.FloorName).Overall.Recall5), 0.5},
	}
	for name, pair := range want {
		if !near(pair[0], pair[1]) {
			t.Errorf("%s = %v, want %v", name, pair[0], pair[1])
		}
	}
	if ours.Overall.Cases != 5 || ours.Overall.Answerable != 3 || ours.Overall.Unanswerable != 2 || ours.Overall.Silent != 2 {
		t.Errorf("counts: %+v", ours.Overall)
	}
	if ours.Languages[0].Name != "de" || ours.Slices[1].Name != "silence" {
		t.Errorf("groups: %+v, %+v", ours.Languages, ours.Slices)
	}
	if report.Ranker("other") != nil {
		t.Error("a ranker that took no part")
	}
}

// A query with a scope meets a ranker that has seen the documents of that scope only.
func TestRunKeepsScopesApart(t *testing.T) {
	set := &eval.Set{
		Name: "s",
		Docs: []eval.Doc{{ID: "a", Body: "deploy", Scope: "1"}, {ID: "b", Body: "deploy", Scope: "2"}},
		Cases: []eval.Case{
			{ID: "x", Query: "deploy", Relevant: []string{"a"}, Scope: "1"},
			{ID: "y", Query: "deploy", Relevant: []string{"b"}, Scope: "2"},
			{ID: "z", Query: "deploy", Relevant: []string{"a", "b"}},
			{ID: "x2", Query: "deploy", Relevant: []string{"a"}, Scope: "1"},
		},
	}
	built := 0
	report, err := eval.Run(context.Background(), set, eval.Contender{Name: "counted", New: func(docs []eval.Doc) eval.Ranker {
		built++
		return eval.NewQwenCode(docs)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if built != 3 {
		t.Errorf("%d rankers built, want one a scope", built)
	}
	if got := report.Ranker("counted").Overall; got.Top1 != 1 || got.Recall5 != 1 {
		t.Errorf("got %+v", got)
	}
	if got := float64(report.Ranker(eval.FloorName).Answers[0].Score.Top1); got != 1 {
		t.Errorf("floor of a pool of one: %v", got)
	}
}

func TestRunRefusesWhatItCannotScore(t *testing.T) {
	set, good := twoSlices()
	eleven := make([]string, 11)
	for i := range eleven {
		eleven[i] = fmt.Sprint("d", i)
	}
	tests := []struct {
		name       string
		contenders []eval.Contender
		want       string
	}{
		{"unknown id", []eval.Contender{{Name: "r", New: of(canned{"q1": {"d1", "nope"}})}}, `ranker "r": case "c1": result "nope" is not in the pool`},
		{"twice", []eval.Contender{{Name: "r", New: of(canned{"q1": {"d1", "d1"}})}}, `result "d1" is listed twice`},
		{"too many", []eval.Contender{{Name: "r", New: of(canned{"q1": eleven})}}, "11 results where 10 were asked for"},
		{"one name for two", []eval.Contender{{Name: "r", New: of(good)}, {Name: "r", New: of(good)}}, `two rankers are named "r"`},
		{"a yardstick's name", []eval.Contender{{Name: eval.FloorName, New: of(good)}}, `two rankers are named "random"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := eval.Run(context.Background(), set, tt.contenders...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := eval.Run(ctx, set); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestDifferences(t *testing.T) {
	set, answers := twoSlices()
	report, err := eval.Run(context.Background(), set, eval.Contender{Name: "ours", New: of(answers)})
	if err != nil {
		t.Fatal(err)
	}
	// The yardstick finds none of the queries q1 to q5, so the gap is our own figure.
	d := report.Differences[0]
	if d.Ranker != "ours" || d.Against != eval.QwenCodeName || d.Metric != "recall5" || !near(float64(d.Mean), 2./3) {
		t.Errorf("got %+v", d)
	}
	// With three cases of gaps 1, 1, 0 more than one resample in forty is all zeroes (1/27) or all ones (8/27).
	if d.Low != 0 || d.High != 1 {
		t.Errorf("interval %v to %v, want 0 to 1", float64(d.Low), float64(d.High))
	}
	set.Cases = set.Cases[3:]
	report, err = eval.Run(context.Background(), set, eval.Contender{Name: "ours", New: of(answers)})
	if err != nil {
		t.Fatal(err)
	}
	if report.Differences[0].Mean.Known() {
		t.Errorf("a difference without answerable cases: %+v", report.Differences[0])
	}
}

func TestReports(t *testing.T) {
	set, answers := twoSlices()
	report, err := eval.Run(context.Background(), set, eval.Contender{Name: "ours", New: of(answers)})
	if err != nil {
		t.Fatal(err)
	}
	var text, misses, raw bytes.Buffer
	if err := errors.Join(report.WriteText(&text, true), report.Ranker("ours").WriteMisses(&misses), report.WriteJSON(&raw)); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.golden", text.Bytes())
	golden(t, "misses.golden", misses.Bytes())

	var back eval.Report
	if err := json.Unmarshal(raw.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Rankers) != 3 || back.Rankers[0].Overall.Recall5 != 0.666667 || back.Rankers[0].Slices[1].Recall5.Known() ||
		!slices.Equal(back.Rankers[0].Answers[1].Ranked, answers["q2"]) || back.Set != set.Name {
		t.Errorf("JSON does not read back: %s", raw.Bytes())
	}
	if !bytes.Contains(raw.Bytes(), []byte(`"noResultPrecision": null`)) {
		t.Error("n/a is not null in JSON")
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; -update rewrites it.\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestReportsSayWhenTheyCannotBeWritten(t *testing.T) {
	set, answers := twoSlices()
	report, err := eval.Run(context.Background(), set, eval.Contender{Name: "ours", New: of(answers)})
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"text": report.WriteText(brokenPipe{}, false), "JSON": report.WriteJSON(brokenPipe{}),
		"misses": report.Ranker("ours").WriteMisses(brokenPipe{}),
	} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
