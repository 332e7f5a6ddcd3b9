package memory_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memls/memls/memory"
)

// mind is a model of which a test says what it answers.
type mind struct {
	mu     sync.Mutex
	answer func(q memory.ExtractQuestion) ([]memory.Patch, error)
	asked  []memory.ExtractQuestion
}

func (m *mind) Extract(_ context.Context, q memory.ExtractQuestion) ([]memory.Patch, int, memory.Usage, error) {
	m.mu.Lock()
	m.asked = append(m.asked, q)
	answer := m.answer
	m.mu.Unlock()
	patches, err := answer(q)
	return patches, 0, memory.Usage{Requests: 1, PromptTokens: 100, CompletionTokens: 10}, err
}

// literal answers each statement of a person with a patch that says just that.
func literal(q memory.ExtractQuestion) ([]memory.Patch, error) {
	var patches []memory.Patch
	for _, m := range q.Messages {
		if m.Role == memory.RoleUser && !strings.HasSuffix(m.Text, "?") {
			patches = append(patches, fact(m.Text, m.ID))
		}
	}
	return patches, nil
}

func fact(body string, evidence ...string) memory.Patch {
	return memory.Patch{Action: "create", Scope: "project", Type: "project", Body: body, Evidence: evidence, Confidence: 0.9}
}

// school is a house in which is learnt.
type school struct {
	*house
	*memory.Learner
	mind *mind
}

func learn(t testing.TB, files map[string]string, answer func(memory.ExtractQuestion) ([]memory.Patch, error)) *school {
	t.Helper()
	s := &school{house: keep(t, files, nil), mind: &mind{answer: answer}}
	s.Learner = memory.NewLearner(memory.LearnerOptions{
		Store: s.Store, Keeper: s.Keeper, Roots: func() []*memory.Root { return s.roots }, Snapshot: s.bench.Snapshot, Sync: s.bench.Sync,
		Tools: func() memory.LearnTools {
			if s.mind == nil {
				return memory.LearnTools{}
			}
			return memory.LearnTools{Extractor: s.mind}
		},
		Now: func() time.Time { return s.clock },
	})
	return s
}

func says(texts ...string) []memory.Message {
	var all []memory.Message
	for i, t := range texts {
		role, text, ok := strings.Cut(t, "> ")
		if !ok {
			role, text = memory.RoleUser, t
		}
		all = append(all, memory.Message{ID: "m" + strconv.Itoa(i), Role: role, Text: text})
	}
	return all
}

func (s *school) hear(policy memory.WritePolicy, messages ...string) *memory.Extracted {
	s.t.Helper()
	out, err := s.Learner.Extract(s.t.Context(), &memory.Extract{Session: "s", Messages: says(messages...), Policy: policy})
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

func reasons(out *memory.Extracted) []string {
	var all []string
	for _, s := range out.Skipped {
		all = append(all, string(s.Reason))
	}
	return all
}

// The cursor stays where a model failed, and what was said there is learnt once
// when it recovers.
func TestEXTR_01_CursorStaysOnFailure(t *testing.T) {
	for _, reason := range []memory.SkipReason{memory.SkipModelInvalid, memory.SkipModelUnavailable, memory.SkipBudgetExhausted} {
		s := learn(t, nil, func(memory.ExtractQuestion) ([]memory.Patch, error) {
			return nil, &memory.Skipped{Reason: reason, Detail: "it answered prose"}
		})
		out := s.hear(memory.PolicyAuto, "We moved the ledger to Bergen.")
		if out.Cursor.Offset != 0 || !slices.Equal(reasons(out), []string{string(reason)}) || len(s.files()) != 0 {
			t.Errorf("%s: %+v", reason, out)
		}
		s.mind.answer = literal
		out = s.hear(memory.PolicyAuto, "We moved the ledger to Bergen.", "assistant> Noted.", "The ferry office closes at noon.")
		if out.Cursor.Offset != 3 || out.Operation == nil || len(s.files()) != 2 {
			t.Errorf("%s: recovered: %+v, files %q", reason, out, s.files())
		}
		if out = s.hear(memory.PolicyAuto, "We moved the ledger to Bergen.", "assistant> Noted.", "The ferry office closes at noon."); !slices.Equal(reasons(out), []string{"no_new_messages"}) {
			t.Errorf("%s: once more: %+v", reason, out)
		}
	}
}

// After a failure a run by itself waits; one that a person asks for does not, and
// a clock that is set back does not make it longer.
func TestRestAfterFailures(t *testing.T) {
	s := learn(t, nil, func(memory.ExtractQuestion) ([]memory.Patch, error) {
		return nil, &memory.Skipped{Reason: memory.SkipModelUnavailable, Detail: "429", Retry: 10 * time.Minute}
	})
	auto := func() []string {
		out, err := s.Learner.Extract(t.Context(), &memory.Extract{Session: "s", Messages: says("The ferry office closes at noon."), Policy: memory.PolicyAuto, Auto: true})
		if err != nil {
			t.Fatal(err)
		}
		return reasons(out)
	}
	auto()
	auto()
	if n := len(s.mind.asked); n != 1 {
		t.Errorf("asked %d times", n)
	}
	s.clock = s.clock.Add(11 * time.Minute)
	auto()
	s.clock = s.clock.AddDate(0, -1, 0)
	auto()
	if n := len(s.mind.asked); n != 3 {
		t.Errorf("asked %d times", n)
	}
}

// Running twice, and two processes at once, make one file of one content, and the
// second run touches nothing.
func TestEXTR_05_TwiceIsOnce(t *testing.T) {
	s := learn(t, nil, literal)
	s.hear(memory.PolicyAuto, "The ferry office closes at noon.")
	before := s.files()
	name := filepath.Join(s.dirs[0], "the-ferry-office-closes-at-noon.md")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, session := range []string{"t", "u"} {
		out, err := s.Learner.Extract(t.Context(), &memory.Extract{Session: session, Messages: says("The ferry office closes at noon."), Policy: memory.PolicyAuto})
		if err != nil || out.Plan != nil || out.Operation != nil || !slices.Contains(reasons(out), "known") {
			t.Errorf("%+v, error %v", out, err)
		}
	}
	s.wantFiles("after further runs", before)
	if again, err := os.Stat(name); err != nil || !again.ModTime().Equal(info.ModTime()) {
		t.Errorf("the file was touched: %v", err)
	}
}

// Names that make one slug are one memory when they are one name, and files of
// their own when they are not.
func TestEXTR_09_OneSlug(t *testing.T) {
	names := map[string]string{
		"CI/CD setup": "The pipeline runs on the Bergen runners.", "CI CD setup": "Deployments need two approvals.", "ci-cd-setup": "Artifacts are kept for ninety days.",
		"部署 A": "部署用蓝绿方式。", "部署 B": "回滚要通知港口。",
	}
	s := learn(t, nil, func(q memory.ExtractQuestion) ([]memory.Patch, error) {
		patches, err := literal(q)
		for i := range patches {
			for name, body := range names {
				if body == patches[i].Body {
					patches[i].Name = name
				}
			}
		}
		return patches, err
	})
	out := s.hear(memory.PolicyAuto, slices.Sorted(maps2(names))...)
	text := fmt.Sprint(s.files())
	for name, body := range names {
		if !strings.Contains(text, body) {
			t.Errorf("%s is lost: %+v\n%s", name, out, text)
		}
	}
}

func maps2(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

// A memory under another spelling of its name is updated, not twinned.
func TestEXTR_10_OtherNamingStyle(t *testing.T) {
	s := learn(t, map[string]string{"project/site-roadmap.md": "---\nname: Site Roadmap\ntype: project\n---\n\nThe site opens in May.\n"},
		func(memory.ExtractQuestion) ([]memory.Patch, error) {
			p := fact("The harbour map comes in June.", "e1")
			p.Name = "Site roadmap"
			return []memory.Patch{p}, nil
		})
	s.hear(memory.PolicyAuto, "On the site roadmap: the harbour map comes in June.")
	s.wantFiles("updated", map[string]string{
		"project/site-roadmap.md": "---\nname: Site Roadmap\ntype: project\n---\n\nThe site opens in May.\n\nThe harbour map comes in June.\n",
	})
}

// A file that grew by hand while the model thought keeps what was written.
func TestEXTR_11_HandEditsSurvive(t *testing.T) {
	const name = "project/site.md"
	var s *school
	s = learn(t, map[string]string{name: "---\nname: Site\noriginSessionId: s0\n---\n\nThe site has 3 piers.\n"}, func(q memory.ExtractQuestion) ([]memory.Patch, error) {
		write(t, filepath.Dir(s.dirs[0]), name, "---\nname: Site\noriginSessionId: s0\n---\n\nThe site has 3 piers.\n\nA day of notes.\n")
		p := fact("The site has 4 piers.", "e1")
		p.Action, p.Ref = "update", q.Known[0].ID
		return []memory.Patch{p}, nil
	})
	out := s.hear(memory.PolicyAuto, "The site has 4 piers by now.")
	if got := s.read(0, "site.md"); !strings.Contains(got, "A day of notes.") || !strings.Contains(got, "4 piers") {
		t.Errorf("%q, %+v", got, out)
	}
}

// A history that was compacted goes on after the last message that is known, an
// edited one where it was edited, and a tail that does not fit is refused by name.
func TestHistoryThatIsAnother(t *testing.T) {
	s := learn(t, nil, literal)
	first := []string{"The ferry office closes at noon.", "assistant> Noted.", "The crane is green.", "assistant> Fine."}
	out := s.hear(memory.PolicyReview, first...)
	count := func() int { return len(s.mind.asked[len(s.mind.asked)-1].Messages) }
	asked := len(s.mind.asked)
	compacted := append([]string{"assistant> Summary of what was said."}, append(first[1:], "The pier is closed on Sundays.")...)
	s.hear(memory.PolicyReview, compacted...)
	if len(s.mind.asked) != asked+1 || count() > 3 {
		t.Errorf("compacted: asked about %d messages", count())
	}
	if len(out.Plan.Changes) != 2 {
		t.Errorf("%+v", out.Plan)
	}
	tail, err := s.Learner.Extract(t.Context(), &memory.Extract{Session: "s", Messages: says("New."), From: &memory.Cursor{Offset: 90, Digest: "sha256:x"}, Policy: memory.PolicyReview})
	if err != nil || !slices.Equal(reasons(tail), []string{"history_gap"}) {
		t.Errorf("a tail that does not fit: %+v, %v", tail, err)
	}
}

// What was rejected in the inbox, and what was forgotten, is not proposed again.
func TestRejectedStaysOut(t *testing.T) {
	s := learn(t, nil, literal)
	out := s.hear(memory.PolicyReview, "The ferry office closes at noon.")
	if err := s.Keeper.Discard(t.Context(), out.Plan.ID); err != nil {
		t.Fatal(err)
	}
	again, err := s.Learner.Extract(t.Context(), &memory.Extract{Session: "other", Messages: says("The ferry office closes at noon."), Policy: memory.PolicyReview})
	if err != nil || again.Plan != nil || !slices.Contains(reasons(again), "forgotten") {
		t.Errorf("%+v, error %v", again, err)
	}
}

// A plan whose file has changed since shows both sides and waits.
func TestStaleCandidatesShowBothSides(t *testing.T) {
	text := "---\nname: Site\n---\n\nThe site has 3 piers.\n"
	s := learn(t, map[string]string{"project/site.md": text}, func(q memory.ExtractQuestion) ([]memory.Patch, error) {
		p := fact("The site has 4 piers.", "e1")
		p.Action, p.Ref = "update", q.Known[0].ID
		return []memory.Patch{p}, nil
	})
	out := s.hear(memory.PolicyAuto, "The site has 4 piers by now.")
	if out.Operation != nil || out.Plan == nil || !strings.Contains(out.Plan.Changes[0].Reason, "conflict") {
		t.Fatalf("what a person wrote was changed: %+v", out)
	}
	write(t, filepath.Dir(s.dirs[0]), "project/site.md", strings.Replace(text, "3 piers", "5 piers", 1))
	_, err := s.Keeper.Apply(t.Context(), out.Plan.ID, memory.ApplyOptions{})
	r := wantRefusal(t, err, memory.RefusedStale)
	plan, perr := s.Store.Plan(out.Plan.ID)
	if perr != nil || !strings.Contains(r.Detail, "both sides") {
		t.Fatalf("%v, %v", r, perr)
	}
	if diff := plan.Changes[0].Diff; !strings.Contains(diff, "5 piers") || !strings.Contains(diff, "+The site has 4 piers.") || !strings.Contains(plan.Changes[0].Reason, "conflict") {
		t.Errorf("%s: %s", plan.Changes[0].Reason, diff)
	}
	if _, err := s.Keeper.Apply(t.Context(), plan.ID, memory.ApplyOptions{}); err != nil {
		t.Error(err)
	}
}

// What comes while a run is under way follows it once, with the newest messages.
func TestRunsCoalesce(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	s := learn(t, nil, nil)
	s.mind.answer = func(q memory.ExtractQuestion) ([]memory.Patch, error) {
		if len(s.mind.asked) == 1 {
			close(begun)
			<-goOn
		}
		return literal(q)
	}
	done := make(chan *memory.Extracted)
	go func() { done <- s.hear(memory.PolicyAuto, "The ferry office closes at noon.") }()
	<-begun
	for _, more := range [][]string{{"The crane is green."}, {"The crane is green.", "The pier is closed on Sundays."}} {
		if out := s.hear(memory.PolicyAuto, append([]string{"The ferry office closes at noon."}, more...)...); !slices.Equal(reasons(out), []string{"queued"}) {
			t.Errorf("%+v", out)
		}
	}
	close(goOn)
	<-done
	if len(s.mind.asked) != 2 || len(s.files()) != 3 {
		t.Errorf("asked %d times, files %q", len(s.mind.asked), s.files())
	}
}

// The turn that changed memory itself is left out, and no later one for its sake.
func TestTurnThatWroteMemory(t *testing.T) {
	s := learn(t, nil, literal)
	wrote := says("Write that down.", "assistant> Done.")
	wrote[1].Wrote = []string{filepath.Join(s.dirs[0], "x.md")}
	hear := func(messages []memory.Message) []string {
		out, err := s.Learner.Extract(t.Context(), &memory.Extract{Session: "s", Messages: messages, Policy: memory.PolicyReview, Auto: true})
		if err != nil {
			t.Fatal(err)
		}
		return reasons(out)
	}
	if got := hear(wrote); !slices.Equal(got, []string{"memory_tool"}) {
		t.Errorf("skipped %v", got)
	}
	if got := hear(append(wrote, memory.Message{ID: "m2", Role: "user", Text: "The crane is green."})); slices.Contains(got, "memory_tool") {
		t.Errorf("the next turn: %v", got)
	}
}

// Ten thousand patches are a fault of the model, and named.
func TestTooManyPatches(t *testing.T) {
	s := learn(t, nil, func(memory.ExtractQuestion) ([]memory.Patch, error) {
		var all []memory.Patch
		for i := range 10_000 {
			all = append(all, fact(fmt.Sprintf("The crane is green %d.", i), "e1"))
		}
		return all, nil
	})
	out := s.hear(memory.PolicyAuto, "The crane is green.")
	if !slices.Contains(reasons(out), "too_many") || out.Operation != nil || len(out.Skipped) > 250 {
		t.Errorf("%d rows, %+v", len(out.Skipped), out.Operation)
	}
}

// history is the conversation of the process that is killed.
func history() []memory.Message {
	var texts []string
	for i := range 12 {
		texts = append(texts, fmt.Sprintf("The pier %c is closed on day %d because of the %s works.", 'A'+i, 100+i, strings.Repeat("harbour ", 1+i%3)), "assistant> Noted.")
	}
	return says(texts...)
}

// learning goes through a conversation, turn after turn, until it is killed.
func learning(t *testing.T, s *shop) {
	served := open(t, s.dirs[0], func(o *memory.CatalogOptions) {
		o.Roots, o.Index = nil, nil
		for _, r := range s.roots {
			o.Roots = append(o.Roots, memory.RootConfig{Scope: r.Scope, Path: r.Path})
		}
	})
	served.ready()
	if _, err := s.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	keeper := memory.NewKeeper(memory.KeeperOptions{Store: s.Store, Roots: func() []*memory.Root { return s.roots }, Snapshot: served.Snapshot, Sync: served.Sync})
	learner := memory.NewLearner(memory.LearnerOptions{
		Store: s.Store, Keeper: keeper, Roots: func() []*memory.Root { return s.roots }, Snapshot: served.Snapshot, Sync: served.Sync,
		Tools: func() memory.LearnTools { return memory.LearnTools{Extractor: &mind{answer: literal}} },
	})
	all := history()
	for n := 2; n <= len(all); n += 2 {
		fmt.Println("turn", n)
		if _, err := learner.Extract(t.Context(), &memory.Extract{Session: "s", Messages: all[:n], Policy: memory.PolicyAuto}); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Println("end")
}

// TestKilledLearner kills a process that learns at any moment, again and again,
// until it has come to the end: each fact is there once.
func TestKilledLearner(t *testing.T) {
	rounds := 15
	if os.Getenv("MEMLS_SOAK") != "" {
		rounds = 200
	}
	kills := 0
	s := openStoreIn(t, tempDir(t), nil)
	base := filepath.Dir(s.state)
	for round := 0; ; round++ {
		cmd, out := child(t, base, "learning")
		rng := rand.New(rand.NewPCG(uint64(round), 9))
		ended := false
		for steps := 0; out.Scan(); steps++ {
			if ended = ended || out.Text() == "end"; ended || round >= rounds || steps != round%4 {
				continue
			}
			kills++
			time.AfterFunc(time.Duration(rng.IntN(15000))*time.Microsecond, func() { cmd.Process.Kill() })
		}
		cmd.Wait()
		if ended {
			break
		}
		if round > rounds+3 {
			t.Fatal("it never comes to the end")
		}
	}
	// What a process had proposed and not yet applied when it died waits for a person.
	text := fmt.Sprint(tree(t, s.dirs...))
	plans, err := s.again(nil).Plans()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plans {
		for _, c := range p.Changes {
			text += "\n" + string(c.Text)
		}
	}
	for i := range 12 {
		if n := strings.Count(text, fmt.Sprintf("\nThe pier %c is closed on day %d", 'A'+i, 100+i)); n != 1 {
			t.Errorf("fact %d is there %d times", i, n)
		}
	}
	t.Logf("killed %d times", kills)
}
