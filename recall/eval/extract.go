package eval

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/model"
	"github.com/memls/memls/recall/model/modeltest"
)

// ExtractCase is a conversation with what should, and must not, be learnt from it.
type ExtractCase struct {
	ID   string `json:"id"`
	Lang string `json:"lang"`
	Kind string `json:"kind"` // fact, update, contradiction, nothing, fault, attack, …
	// Known are the memories that there are, by scope and path: "user/x.md".
	Known    map[string]string `json:"known,omitempty"`
	Messages []memory.Message  `json:"messages"`
	// Answers are what a model said, as it said it, to the questions in turn; a
	// number is the status of a failure.
	Answers []string `json:"answers"`
	// Expect holds for each change that should be proposed texts that all stand in
	// what it adds; MustNot texts that no change may add.
	Expect  [][]string `json:"expect"`
	MustNot []string   `json:"mustNot,omitempty"`
	// Skipped are reasons that must be among the rows of the result. Policy is what
	// the conversation is tried under; review when empty. Waits says that something
	// may be proposed, for a person to see through.
	Skipped []memory.SkipReason `json:"skipped,omitempty"`
	Policy  memory.WritePolicy  `json:"policy,omitempty"`
	Waits   bool                `json:"waits,omitempty"`
}

// ExtractOutcome is what learning from one case came to.
type ExtractOutcome struct {
	Case *ExtractCase `json:"-"`
	ID   string       `json:"id"`
	// Added is what each change adds, Wrong those that nobody expects, Missing the
	// expectations that no change meets, Violations what must not be there.
	Added      []string         `json:"added"`
	Right      int              `json:"right"`
	Wrong      []string         `json:"wrong,omitempty"`
	Missing    [][]string       `json:"missing,omitempty"`
	Violations []string         `json:"violations,omitempty"`
	Unnamed    []string         `json:"unnamed,omitempty"` // reasons that should be named and are not
	Duplicates []string         `json:"duplicates,omitempty"`
	Applied    []string         `json:"applied,omitempty"` // refs that were changed without a person
	Skipped    []memory.Skipped `json:"skipped"`
	Usage      memory.Usage     `json:"usage"`
}

// ExtractReport sums outcomes up.
type ExtractReport struct {
	Cases      int               `json:"cases"`
	Expected   int               `json:"expected"`
	Proposed   int               `json:"proposed"`
	Right      int               `json:"right"`
	Violations int               `json:"violations"`
	Duplicates int               `json:"duplicates"`
	Usage      memory.Usage      `json:"usage"`
	Outcomes   []*ExtractOutcome `json:"outcomes"`
}

// Precision is the part of the proposed changes that somebody expects, Recall the
// part of the expected ones that were proposed; 1 where there are none.
func (r *ExtractReport) Precision() float64 { return part(r.Right, r.Proposed) }

// Recall is described at Precision.
func (r *ExtractReport) Recall() float64 { return part(r.Right, r.Expected) }

func part(n, of int) float64 {
	if of == 0 {
		return 1
	}
	return float64(n) / float64(of)
}

// LoadExtract reads a set of conversations: every .jsonl file of a directory, one
// case a line.
func LoadExtract(dir string) ([]*ExtractCase, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("set %s: %w", dir, err)
	}
	var all []*ExtractCase
	seen := map[string]bool{}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("set %s: %w", dir, err)
		}
		lines := bufio.NewScanner(strings.NewReader(string(raw)))
		lines.Buffer(nil, 4<<20)
		for n := 1; lines.Scan(); n++ {
			if strings.TrimSpace(lines.Text()) == "" {
				continue
			}
			c := &ExtractCase{}
			dec := json.NewDecoder(strings.NewReader(lines.Text()))
			dec.DisallowUnknownFields()
			if err := dec.Decode(c); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, n, err)
			}
			if c.ID == "" || len(c.Messages) == 0 || seen[c.ID] {
				return nil, fmt.Errorf("%s:%d: a case needs an id of its own and messages", name, n)
			}
			seen[c.ID] = true
			for i := range c.Messages {
				if c.Messages[i].ID == "" {
					c.Messages[i].ID = fmt.Sprintf("m%d", i)
				}
			}
			all = append(all, c)
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("set %s: no .jsonl file with cases", dir)
	}
	return all, nil
}

// RunExtract learns from every case in memories of its own. With a nil live each
// case is answered by its recording, over HTTP, as an endpoint would.
func RunExtract(ctx context.Context, cases []*ExtractCase, live recall.Model, watch memory.WatchFactory) (*ExtractReport, error) {
	r := &ExtractReport{Cases: len(cases)}
	for _, c := range cases {
		o, err := runCase(ctx, c, live, watch)
		if err != nil {
			return nil, fmt.Errorf("case %s: %w", c.ID, err)
		}
		r.Outcomes = append(r.Outcomes, o)
		r.Expected += len(c.Expect)
		r.Proposed += o.Right + len(o.Wrong)
		r.Right += o.Right
		r.Violations += len(o.Violations)
		r.Duplicates += len(o.Duplicates)
		r.Usage = r.Usage.Plus(o.Usage)
	}
	return r, nil
}

// extractDay is the day on which the conversations of a set take place.
var extractDay = time.Date(2026, time.March, 4, 9, 0, 0, 0, time.UTC)

func runCase(ctx context.Context, c *ExtractCase, live recall.Model, watch memory.WatchFactory) (o *ExtractOutcome, err error) {
	dir, remove, err := caseFiles(c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	b, err := openBench(ctx, dir, watch)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	o = &ExtractOutcome{Case: c, ID: c.ID}
	first, err := b.learn(ctx, c, live, "first")
	if err != nil {
		return nil, err
	}
	o.Skipped, o.Usage = first.Skipped, first.Usage
	if first.Operation != nil {
		for _, ch := range first.Operation.Changes {
			o.Applied = append(o.Applied, ch.Ref)
		}
	}
	o.Added = slices.Concat(addedBy(first.Plan), b.addedSince(o.Applied))
	o.judge()
	if first.Plan != nil {
		if _, err := b.keeper.Apply(ctx, first.Plan.ID, memory.ApplyOptions{}); err != nil {
			return nil, fmt.Errorf("applying what was proposed: %w", err)
		}
	}
	// The same conversation once more, as if nobody had ever gone through it.
	again, err := b.learn(ctx, c, live, "second")
	if err != nil {
		return nil, err
	}
	o.Duplicates = addedBy(again.Plan)
	if again.Operation != nil {
		for _, ch := range again.Operation.Changes {
			o.Duplicates = append(o.Duplicates, ch.Ref)
		}
	}
	return o, nil
}

// judge compares what was added with what is expected.
func (o *ExtractOutcome) judge() {
	met := make([]bool, len(o.Case.Expect))
	for _, text := range o.Added {
		right := false
		for i, want := range o.Case.Expect {
			if !met[i] && holdsAll(text, want) {
				met[i], right = true, true
				o.Right++
				break
			}
		}
		if !right {
			o.Wrong = append(o.Wrong, text)
		}
		for _, bad := range o.Case.MustNot {
			if strings.Contains(strings.ToLower(text), strings.ToLower(bad)) {
				o.Violations = append(o.Violations, bad)
			}
		}
	}
	for i, want := range o.Case.Expect {
		if !met[i] {
			o.Missing = append(o.Missing, want)
		}
	}
	for _, reason := range o.Case.Skipped {
		if !slices.ContainsFunc(o.Skipped, func(s memory.Skipped) bool { return s.Reason == reason }) {
			o.Unnamed = append(o.Unnamed, string(reason))
		}
	}
}

func holdsAll(text string, want []string) bool {
	text = strings.ToLower(text)
	return !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(text, strings.ToLower(w)) })
}

// addedBy is what each change of a plan adds.
func addedBy(p *memory.Plan) []string {
	if p == nil {
		return nil
	}
	var all []string
	for i := range p.Changes {
		var b strings.Builder
		for line := range strings.Lines(p.Changes[i].Diff) {
			if added, ok := strings.CutPrefix(line, "+"); ok && !strings.HasPrefix(line, "+++") {
				b.WriteString(added)
			}
		}
		all = append(all, b.String())
	}
	return all
}

// bench is a memory of its own for one case.
type bench struct {
	catalog *memory.Catalog
	store   *memory.Store
	keeper  *memory.Keeper
	stop    context.CancelFunc
	ended   chan error
}

func openBench(ctx context.Context, dir string, watch memory.WatchFactory) (*bench, error) {
	var configs []memory.RootConfig
	for _, s := range []memory.Scope{memory.ScopeProject, memory.ScopeUser, memory.ScopeTeam} {
		configs = append(configs, memory.RootConfig{Scope: s, Path: filepath.Join(dir, string(s))})
	}
	catalog, err := memory.NewCatalog(memory.CatalogOptions{Roots: configs, Watch: watch, Index: recall.NewIndexer()})
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	b := &bench{catalog: catalog, stop: stop, ended: make(chan error, 1)}
	go func() { b.ended <- catalog.Run(running) }()
	if err := catalog.Sync(ctx); err != nil {
		return nil, errors.Join(err, b.close())
	}
	b.store, err = memory.NewStore(memory.StoreOptions{
		State: filepath.Join(dir, "state"), Roots: b.roots, Snapshot: catalog.Snapshot, Now: func() time.Time { return extractDay },
		Secrets: func(before, after string) []string { return memory.SecretRules(memory.AddedSecrets(before, after)) },
	})
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	b.keeper = memory.NewKeeper(memory.KeeperOptions{
		Store: b.store, Roots: b.roots, Snapshot: catalog.Snapshot, Sync: catalog.Sync, Now: func() time.Time { return extractDay },
	})
	return b, nil
}

func (b *bench) roots() []*memory.Root {
	var all []*memory.Root
	for _, r := range b.catalog.Snapshot().Roots() {
		all = append(all, r.Root)
	}
	return all
}

func (b *bench) close() error {
	b.stop()
	return <-b.ended
}

// addedSince are the whole texts of memories that were changed without a person.
func (b *bench) addedSince(refs []string) []string {
	var all []string
	for _, ref := range refs {
		if d, ok := b.catalog.Snapshot().Get(ref); ok {
			all = append(all, d.Text)
		}
	}
	return all
}

// learn learns from the conversation of a case.
func (b *bench) learn(ctx context.Context, c *ExtractCase, live recall.Model, session string) (*memory.Extracted, error) {
	m := live
	if m == nil {
		server := modeltest.Start()
		defer server.Close()
		for _, a := range c.Answers {
			server.Script(recorded(a))
		}
		server.Otherwise(modeltest.Say(`{"patches":[]}`))
		if n := len(c.Answers); n > 0 {
			server.Otherwise(recorded(c.Answers[n-1]))
		}
		client, err := model.New(model.Config{BaseURL: server.URL(), Name: "recorded"},
			model.WithPause(func(context.Context, time.Duration) error { return nil }))
		if err != nil {
			return nil, err
		}
		defer client.Close()
		m = client
	}
	learner := memory.NewLearner(memory.LearnerOptions{
		Store: b.store, Roots: b.roots, Snapshot: b.catalog.Snapshot, Sync: b.catalog.Sync, Keeper: b.keeper,
		Tools: func() memory.LearnTools { return recall.LearnTools(&recall.Door{Model: m}) }, Now: func() time.Time { return extractDay },
	})
	policy := c.Policy
	if policy == "" {
		policy = memory.PolicyReview
	}
	return learner.Extract(ctx, &memory.Extract{Session: session, Messages: c.Messages, Policy: policy})
}

// recorded is the step that a recording stands for.
func recorded(answer string) modeltest.Step {
	switch answer {
	case "<401>":
		return modeltest.Fail(401, "no key")
	case "<500>":
		return modeltest.Fail(500, "failed")
	case "<disconnect>":
		return modeltest.Disconnect()
	case "<html>":
		return modeltest.HTML(502)
	case "<cut>":
		return modeltest.Length(`{"patches":[{"action":"create","ref":"","sco`)
	}
	return modeltest.Say(answer)
}
