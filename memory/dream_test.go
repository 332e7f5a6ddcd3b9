package memory_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memls/memls/memory"
)

// dreaming is a house with something that consolidates it, and a scripted model.
type dreaming struct {
	*house
	*memory.Dreamer
	model func(q memory.ClusterQuestion) []memory.Proposal
}

func (d *dreaming) Consolidate(_ context.Context, q memory.ClusterQuestion) ([]memory.Proposal, int, memory.Usage, error) {
	return d.model(q), 0, memory.Usage{Requests: 1}, nil
}

// Rank finds every memory of the scope related, those of the same first word
// first: the model decides.
func (d *dreaming) Rank(_ context.Context, snap *memory.Snapshot, q memory.RankQuery) ([]memory.Ranked, error) {
	var near, far []memory.Ranked
	for doc := range snap.All() {
		switch word, _, _ := strings.Cut(doc.Title, " "); {
		case !slices.Contains(q.Scopes, doc.Root.Scope):
		case strings.HasPrefix(q.Text, word):
			near = append(near, memory.Ranked{Doc: doc, Score: 2})
		default:
			far = append(far, memory.Ranked{Doc: doc, Score: 1})
		}
	}
	return append(near, far...), nil
}

func dream(t testing.TB, files map[string]string) *dreaming {
	t.Helper()
	d := &dreaming{house: keep(t, files, nil)}
	d.Dreamer = memory.NewDreamer(memory.DreamerOptions{
		Keeper: d.Keeper, Store: d.Store, Roots: func() []*memory.Root { return d.roots }, Snapshot: d.bench.Snapshot, Now: func() time.Time { return d.clock },
		Tools: func() memory.DreamTools {
			if d.model == nil {
				return memory.DreamTools{}
			}
			return memory.DreamTools{Ranker: d, Consolidator: d}
		},
	})
	return d
}

func (d *dreaming) run(q memory.Dream) *memory.Dreamt {
	d.t.Helper()
	q.Scope, q.Force = memory.ScopeProject, true
	out, err := d.Dream(d.t.Context(), q)
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

func skipReasons(out *memory.Dreamt) []memory.SkipReason {
	var rs []memory.SkipReason
	for _, s := range out.Skipped {
		rs = append(rs, s.Reason)
	}
	return rs
}

func dated(name, body string) string {
	return "---\nname: " + name + "\ntype: project\ncreated_at: 2026-01-05\n---\n\n" + body + "\n"
}

// shelf is a number of memories that have nothing to do with each other.
func shelf(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("project/fact%02d.md", i)] = dated(fmt.Sprintf("Fact %d", i), fmt.Sprintf("- Service number %d listens on port %d.\n- It never restarts before %d:00.", i, 4000+i, i))
	}
	return files
}

// A model that asks for nine tenths to go, in every form that it has.
func TestDREAM_01_DestructiveModelLosesNothing(t *testing.T) {
	d := dream(t, shelf(20))
	before := d.files()
	d.model = func(q memory.ClusterQuestion) []memory.Proposal {
		ids := make([]string, len(q.Known))
		for i, k := range q.Known {
			ids[i] = k.ID
		}
		return []memory.Proposal{
			{Op: "delete", Refs: ids},
			{Op: "merge", Refs: ids, Notes: []memory.Note{{Name: "All", Body: "Services listen on ports."}}},
			{Op: "merge", Refs: ids, Notes: []memory.Note{{Name: "All", Body: ""}}},
			{Op: "rewrite", Refs: ids[:1], Notes: []memory.Note{{Name: "MEMORY", Body: "See MEMORY.md."}}},
			{Op: "split", Refs: ids[:1], Notes: []memory.Note{{Name: "a", Body: "x"}, {Name: "b", Body: "y"}}},
			{Op: "merge", Refs: []string{"m1", "m99"}, Notes: []memory.Note{{Name: "All", Body: "x"}}},
			{Op: "merge", Refs: []string{"../../etc/passwd", "m1"}, Notes: []memory.Note{{Name: "All", Body: "x"}}},
		}
	}
	out := d.run(memory.Dream{Apply: true})
	if out.Plan != nil || out.Operation != nil {
		t.Errorf("it would do %+v, %+v", out.Plan, out.Operation)
	}
	d.wantFiles("after a destructive model", before)
	for _, want := range []memory.SkipReason{memory.SkipLoses, memory.SkipMalformed, memory.SkipUnknownRef} {
		if !slices.Contains(skipReasons(out), want) {
			t.Errorf("no row says %s: %v", want, out.Skipped)
		}
	}
}

// statementsOf are the numbers that the statements of the shelf carry.
func statementsOf(files map[string]string) map[string]bool {
	out := map[string]bool{}
	for _, text := range files {
		for _, w := range strings.Fields(memory.Parse([]byte(text)).BodyText()) {
			if strings.ContainsAny(w, "0123456789") {
				out[strings.Trim(w, "*.")] = true
			}
		}
	}
	return out
}

// Whatever a model proposes and a person accepts, no statement goes, and no run
// removes more than a fifth.
func TestDreamProperties(t *testing.T) {
	seeds := 40
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed), 7))
		files := shelf(10 + rng.IntN(15))
		for i := range rng.IntN(6) {
			files[fmt.Sprintf("project/twin%d.md", i)] = dated(fmt.Sprintf("Twin %d", i), fmt.Sprintf("- service number %d listens on **port %d**.", i, 4000+i))
		}
		d := dream(t, files)
		d.model = func(q memory.ClusterQuestion) []memory.Proposal {
			var ps []memory.Proposal
			for range 1 + rng.IntN(4) {
				of := rng.Perm(len(q.Known))[:1+rng.IntN(len(q.Known))]
				p := memory.Proposal{Op: []string{"merge", "split", "rewrite", "supersede"}[rng.IntN(4)]}
				var body []string
				for _, i := range of {
					p.Refs = append(p.Refs, q.Known[i].ID)
					for l := range strings.Lines(q.Known[i].Doc.BodyText()) {
						if rng.IntN(8) > 0 {
							body = append(body, strings.TrimRight(l, "\n"))
						}
					}
				}
				p.Notes = []memory.Note{{Name: "Joined", Body: strings.Join(body, "\n")}}
				if p.Op == "split" && len(body) > 1 {
					p.Notes = []memory.Note{{Name: "First", Body: body[0]}, {Name: "Second", Body: strings.Join(body[1:], "\n")}}
				}
				if p.Op == "supersede" {
					p.Notes = nil
				}
				ps = append(ps, p)
			}
			return ps
		}
		before := d.files()
		out := d.run(memory.Dream{})
		if out.Plan == nil {
			continue
		}
		removed := 0
		for _, c := range out.Plan.Changes {
			if c.Action == memory.ActionDelete {
				removed++
			}
		}
		if removed*5 > len(before) {
			t.Errorf("seed %d: %d of %d files would go", seed, removed, len(before))
		}
		op, err := d.Apply(t.Context(), out.Plan.ID, memory.ApplyOptions{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		left := statementsOf(d.files())
		for w := range statementsOf(before) {
			if !left[w] {
				t.Errorf("seed %d: nothing says %s any more", seed, w)
			}
		}
		if _, err := d.Undo(t.Context(), op.ID); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		d.wantFiles(fmt.Sprintf("seed %d, taken back", seed), before)
	}
}

// What a model merges well waits for a person, and in part only in the order in
// which nothing is lost.
func TestDreamMergeWaitsAndIsWhole(t *testing.T) {
	files := shelf(10)
	files["project/zoo1.md"] = dated("Zoo", "- The zoo bundle is built by `make zoo`.")
	files["project/zoo2.md"] = dated("Zoo port", "- The zoo listens on port 9090.")
	d := dream(t, files)
	d.model = func(q memory.ClusterQuestion) []memory.Proposal {
		p := memory.Proposal{Op: "merge", Reason: "both are about the zoo", Notes: []memory.Note{{Name: "Zoo", Description: "The zoo bundle and its port", Body: "- The zoo bundle is built by `make zoo`.\n- The zoo listens on port 9090."}}}
		for _, k := range q.Known {
			if strings.Contains(k.Doc.Rel, "zoo") {
				p.Refs = append(p.Refs, k.ID)
			}
		}
		return []memory.Proposal{p}
	}
	before := d.files()
	out := d.run(memory.Dream{Apply: true})
	if out.Operation != nil || out.Plan == nil || len(out.Plan.Changes) != 2 {
		t.Fatalf("%+v, %+v, %v", out.Operation, out.Plan, out.Skipped)
	}
	goes := out.Plan.Changes[1]
	if goes.Action != memory.ActionDelete {
		t.Fatalf("%+v", out.Plan.Changes)
	}
	_, err := d.Apply(t.Context(), out.Plan.ID, memory.ApplyOptions{Only: []string{goes.ID}})
	wantRefusal(t, err, memory.RefusedConflict)
	d.wantFiles("after a removal alone", before)
	if _, err := d.Apply(t.Context(), out.Plan.ID, memory.ApplyOptions{Only: []string{out.Plan.Changes[0].ID}}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Apply(t.Context(), out.Plan.ID, memory.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := d.files(); len(got) != len(before)-1 {
		t.Errorf("%d files", len(got))
	}
}

// A memory does not go when what carries it has changed since.
func TestDreamLooksAgainAtWhatCarries(t *testing.T) {
	files := shelf(10)
	files["project/a.md"] = dated("A", "- Deploys run on Mondays.\n- Rollbacks take a minute.")
	files["project/b.md"] = dated("A", "- deploys run on mondays")
	d := dream(t, files)
	out := d.run(memory.Dream{})
	if out.Plan == nil || len(out.Plan.Changes) != 1 || out.Plan.Changes[0].Ref != "project:b.md" {
		t.Fatalf("%+v", out.Plan)
	}
	write(t, d.dirs[0], "a.md", dated("A", "- Rollbacks take a minute."))
	_, err := d.Apply(t.Context(), out.Plan.ID, memory.ApplyOptions{})
	wantRefusal(t, err, memory.RefusedStale)
	if _, ok := d.files()["project/b.md"]; !ok {
		t.Error("it went")
	}
}

// Edits that a person makes while the model thinks are kept and named.
func TestDREAM_06_EditsWhileTheModelThinks(t *testing.T) {
	files := shelf(10)
	d := dream(t, files)
	var edits sync.Once
	d.model = func(q memory.ClusterQuestion) []memory.Proposal {
		edits.Do(func() {
			write(t, d.dirs[0], "fact00.md", "by hand\n")
			if err := os.Remove(filepath.Join(d.dirs[0], "fact01.md")); err != nil {
				t.Error(err)
			}
		})
		var ps []memory.Proposal
		for _, k := range q.Known {
			ps = append(ps, memory.Proposal{Op: "rewrite", Refs: []string{k.ID}, Notes: []memory.Note{{Name: "Clearer", Body: k.Doc.BodyText()}}})
		}
		return ps
	}
	out := d.run(memory.Dream{})
	if !slices.Contains(skipReasons(out), memory.SkipChanged) {
		t.Errorf("nothing says that a file changed: %v", out.Skipped)
	}
	if out.Plan != nil {
		if _, err := d.Apply(t.Context(), out.Plan.ID, memory.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	got := d.files()
	if got["project/fact00.md"] != "by hand\n" || got["project/fact01.md"] != "" {
		t.Errorf("%q, %q", got["project/fact00.md"], got["project/fact01.md"])
	}
}

// What looks alike and says something else stays, by rules and with a model that
// would have it one.
func TestDreamNearDuplicatesStayApart(t *testing.T) {
	pairs := [][2]string{
		{"Staging runs on port 8080.", "Production runs on port 8080."},
		{"Retry 3 times.", "Retry 5 times."},
		{"Use spaces in YAML.", "Never use spaces in YAML."},
		{"Ask Ana about billing.", "Ask Ben about billing."},
		{"Не обновляй схему по пятницам.", "Обновляй схему по пятницам."},
		{"金曜日にはデプロイしない。", "金曜日にはデプロイする。"},
		{"周五不要部署。", "周五部署。"},
		{"Timeout > 5 s is an alert.", "Timeout < 5 s is an alert."},
		{"The C client is old.", "The C++ client is old."},
		{"Freitags nicht ausrollen.", "Freitags ausrollen."},
	}
	files := shelf(12)
	for i, p := range pairs {
		files[fmt.Sprintf("project/p%da.md", i)] = dated("Pair", "- "+p[0])
		files[fmt.Sprintf("project/p%db.md", i)] = dated("Pair", "- "+p[1])
	}
	d := dream(t, files)
	d.model = func(q memory.ClusterQuestion) []memory.Proposal {
		var ps []memory.Proposal
		for i := 1; i < len(q.Known); i++ {
			a := q.Known[i-1]
			ps = append(ps, memory.Proposal{Op: "merge", Refs: []string{a.ID, q.Known[i].ID}, Notes: []memory.Note{{Name: "Pair", Body: a.Doc.BodyText()}}})
		}
		return ps
	}
	out := d.run(memory.Dream{Apply: true})
	if out.Plan != nil || out.Operation != nil {
		t.Errorf("wrongly: %+v %+v", out.Plan, out.Operation)
	}
}

// A run that follows turns comes once a day, after five sessions.
func TestDreamGates(t *testing.T) {
	d := dream(t, shelf(3))
	follow := func(session string) memory.SkipReason {
		t.Helper()
		out, err := d.Dream(t.Context(), memory.Dream{Scope: memory.ScopeProject, Automatic: true, Session: session})
		if err != nil {
			t.Fatal(err)
		}
		if out.Task != "" || len(out.Skipped) == 0 {
			return ""
		}
		return out.Skipped[0].Reason
	}
	for i := range 4 {
		if got := follow(fmt.Sprint("s", i)); got != memory.SkipMinSessions {
			t.Errorf("session %d: %q", i, got)
		}
		d.clock = d.clock.Add(11 * time.Minute)
	}
	d.clock = d.clock.Add(-10 * time.Minute)
	if got := follow("s4"); got != memory.SkipScanThrottled {
		t.Errorf("a minute later: %q", got)
	}
	d.clock = d.clock.Add(20 * time.Minute)
	if got := follow("s4"); got != "" {
		t.Errorf("after five sessions: %q", got)
	}
	if got := follow("s4"); got != memory.SkipSameSession {
		t.Errorf("the same session again: %q", got)
	}
	for i := range 6 {
		d.clock = d.clock.Add(time.Hour)
		if got := follow(fmt.Sprint("t", i)); got != memory.SkipMinHours {
			t.Errorf("hour %d: %q", i, got)
		}
	}
	d.clock = d.clock.Add(-48 * time.Hour) // set back: it neither runs nor fails
	if got := follow("u"); got != memory.SkipMinHours {
		t.Errorf("with the clock set back: %q", got)
	}
	d.clock = d.clock.Add(96 * time.Hour)
	if got := follow("v"); got != "" {
		t.Errorf("days later: %q", got)
	}
}

// What stays for another memory does not go itself, and the names of what goes
// stay with it, also beside a change that waits.
func TestDreamChainsOfDuplicates(t *testing.T) {
	files := shelf(12)
	files["project/a.md"] = dated("Alpha", "- Deploys run on Mondays.")
	files["project/b.md"] = dated("Bravo", "- Deploys run on Mondays.\n- Rollbacks take a minute.")
	files["project/c.md"] = dated("Charlie", "- Deploys run on Mondays.\n- Rollbacks take a minute.\n- See [gone](nowhere.md).")
	d := dream(t, files)
	out := d.run(memory.Dream{Apply: true})
	if out.Operation == nil || out.Plan == nil || len(out.Plan.Changes) != 1 {
		t.Fatalf("%+v, %+v, %v", out.Operation, out.Plan, out.Skipped)
	}
	got := d.files()
	all := got["project/b.md"] + got["project/c.md"]
	if got["project/a.md"] != "" || !strings.Contains(all, "keywords: [Alpha]") {
		t.Errorf("the name of what went is not kept: %q", all)
	}
	for _, name := range []string{"Bravo", "Charlie"} {
		if !strings.Contains(all, name) {
			t.Errorf("nothing is called %s any more", name)
		}
	}
}

// Turns that follow each other faster than the gates are looked through do not put
// a run off for ever, and neither does a clock that was ahead for a time.
func TestDreamComesInTheEnd(t *testing.T) {
	d := dream(t, shelf(3))
	ran := func(turns int, apart time.Duration) bool {
		for i := range turns {
			out, err := d.Dream(t.Context(), memory.Dream{Scope: memory.ScopeProject, Automatic: true, Session: fmt.Sprint("s", d.clock.Unix(), i)})
			if err != nil {
				t.Fatal(err)
			}
			if out.Task != "" {
				return true
			}
			d.clock = d.clock.Add(apart)
		}
		return false
	}
	if !ran(20, 3*time.Minute) {
		t.Error("an hour of turns brought none")
	}
	d.clock = d.clock.Add(365 * 24 * time.Hour)
	if !ran(20, 3*time.Minute) {
		t.Error("a year later there was none")
	}
	d.clock = d.clock.Add(-365 * 24 * time.Hour)
	if !ran(40, time.Hour) {
		t.Error("after the clock was put right there was none in 40 hours")
	}
}
