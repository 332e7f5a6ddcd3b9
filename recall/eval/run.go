package eval

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// Report is the outcome of a run: the same cases for every ranker.
type Report struct {
	Set         string         `json:"set"`
	Documents   int            `json:"documents"`
	Cases       int            `json:"cases"`
	Rankers     []RankerReport `json:"rankers"`     // contenders as given, then the upstream scorer, then the random floor
	Differences []Difference   `json:"differences"` // of every contender against the upstream scorer
}

// RankerReport is how one ranker did.
type RankerReport struct {
	Name      string   `json:"name"`
	Overall   Summary  `json:"overall"`
	Slices    []Group  `json:"slices"`    // sorted by name; empty when the set does not slice
	Languages []Group  `json:"languages"` // sorted by name
	Answers   []Answer `json:"answers"`   // in the order of the cases
}

// Group is a summary of the cases that share a slice or a language.
type Group struct {
	Name string `json:"name"`
	Summary
}

// Answer is what a ranker made of one case.
type Answer struct {
	Case     string   `json:"case"`
	Lang     string   `json:"lang,omitempty"`
	Slice    string   `json:"slice,omitempty"`
	Relevant []string `json:"relevant"`
	Ranked   []string `json:"ranked"` // at most Depth ids; null for the random floor, which has no one answer
	Score    Score    `json:"score"`
}

// Run puts the cases of the set to every contender, to the frozen upstream scorer and to the random floor. A ranker that
// answers more than it was asked for, an id twice, or an id outside the case's pool is an error: it could not be scored
// truthfully. Run ends early with ctx.
func Run(ctx context.Context, set *Set, contenders ...Contender) (*Report, error) {
	report := &Report{Set: set.Name, Documents: len(set.Docs), Cases: len(set.Cases)}
	names := map[string]bool{QwenCodeName: true, FloorName: true}
	for _, c := range contenders {
		if names[c.Name] {
			return nil, fmt.Errorf("evaluate %s: two rankers are named %q", set.Name, c.Name)
		}
		names[c.Name] = true
	}
	for _, c := range append(slices.Clip(contenders), Contender{QwenCodeName, NewQwenCode}) {
		answers, err := put(ctx, set, c)
		if err != nil {
			return nil, fmt.Errorf("evaluate %s: ranker %q: %w", set.Name, c.Name, err)
		}
		report.Rankers = append(report.Rankers, summarise(set, c.Name, answers))
	}
	upstream := &report.Rankers[len(contenders)]
	for i := range contenders {
		report.Differences = append(report.Differences, compare(&report.Rankers[i], upstream)...)
	}
	report.Rankers = append(report.Rankers, Floor(set))
	return report, nil
}

// Ranker answers the part of the report for the ranker of that name, or nil.
func (r *Report) Ranker(name string) *RankerReport {
	i := slices.IndexFunc(r.Rankers, func(rr RankerReport) bool { return rr.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Rankers[i]
}

// Floor answers what shuffling the active documents scores on the set in expectation.
func Floor(set *Set) RankerReport {
	pools := map[string][]Doc{}
	answers := make([]Answer, len(set.Cases))
	for i := range set.Cases {
		c := &set.Cases[i]
		pool, known := pools[c.Scope]
		if !known {
			pool = set.Pool(c.Scope)
			pools[c.Scope] = pool
		}
		answers[i] = answerTo(c, nil, floor(pool, c))
	}
	return summarise(set, FloorName, answers)
}

func answerTo(c *Case, ranked []string, s Score) Answer {
	return Answer{Case: c.ID, Lang: c.Lang, Slice: c.Slice, Relevant: c.Relevant, Ranked: ranked, Score: s}
}

// put asks one contender all cases. Cases of one scope share one ranker.
func put(ctx context.Context, set *Set, c Contender) ([]Answer, error) {
	type seat struct {
		ranker Ranker
		ids    map[string]bool
	}
	seats := map[string]*seat{}
	answers := make([]Answer, len(set.Cases))
	for i := range set.Cases {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		cs := &set.Cases[i]
		s := seats[cs.Scope]
		if s == nil {
			pool := set.Pool(cs.Scope)
			s = &seat{ranker: c.New(slices.Clone(pool)), ids: map[string]bool{}}
			for j := range pool {
				s.ids[pool[j].ID] = true
			}
			seats[cs.Scope] = s
		}
		ranked := s.ranker.Rank(cs.Query, Depth)
		if err := credible(ranked, s.ids); err != nil {
			return nil, fmt.Errorf("case %q: %w", cs.ID, err)
		}
		answers[i] = answerTo(cs, append([]string{}, ranked...), Measure(cs, ranked))
	}
	return answers, nil
}

func credible(ranked []string, pool map[string]bool) error {
	if len(ranked) > Depth {
		return fmt.Errorf("%d results where %d were asked for", len(ranked), Depth)
	}
	for i, id := range ranked {
		if !pool[id] {
			return fmt.Errorf("result %q is not in the pool", id)
		}
		if slices.Contains(ranked[:i], id) {
			return fmt.Errorf("result %q is listed twice", id)
		}
	}
	return nil
}

func summarise(set *Set, name string, answers []Answer) RankerReport {
	var all tally
	slicesOf, langs := map[string]*tally{}, map[string]*tally{}
	for i := range set.Cases {
		c, s := &set.Cases[i], answers[i].Score
		all.add(c, s)
		grouped(slicesOf, c.Slice).add(c, s)
		grouped(langs, c.Lang).add(c, s)
	}
	return RankerReport{Name: name, Overall: all.summary(), Slices: groups(slicesOf), Languages: groups(langs), Answers: answers}
}

func grouped(m map[string]*tally, key string) *tally {
	t := m[key]
	if t == nil {
		t = &tally{}
		m[key] = t
	}
	return t
}

// unnamed stands for cases without a slice or language in a set where others have one.
const unnamed = "(none)"

func groups(m map[string]*tally) []Group {
	out := []Group{}
	if len(m) == 1 && m[""] != nil {
		return out
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		name := key
		if key == "" {
			name = unnamed
		}
		out = append(out, Group{Name: name, Summary: m[key].summary()})
	}
	return out
}
