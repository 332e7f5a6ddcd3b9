package recall_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

func TestTiesGoToTheNewerFactNotToAType(t *testing.T) {
	same := func(name string, scope memory.Scope, days int) note {
		return note{name: name, desc: "how we deploy the gateway", body: "Deploy the gateway with the blue script.", scope: scope, days: days}
	}
	ix := indexOf(t, same("p1", memory.ScopeProject, 30), same("p2", memory.ScopeProject, 20), same("u1", memory.ScopeUser, 2),
		same("p3", memory.ScopeProject, 10), note{name: "x", body: "other"}, note{name: "y", body: "more"}, note{name: "z", body: "words"})
	r := rank(t, ix, "deploy gateway")
	var fast []string
	for _, h := range r.Fast(0) {
		fast = append(fast, h.Doc.Title)
	}
	wantNames(t, "the fast two", fast, "u1", "p3")

	equal := indexOf(t, same("b", memory.ScopeUser, 5), same("b", memory.ScopeTeam, 5), same("b", memory.ScopeProject, 5), note{name: "x", body: "other"})
	r = rank(t, equal, "deploy gateway")
	var scopes []memory.Scope
	for _, h := range r.Hits {
		scopes = append(scopes, h.Doc.Root.Scope)
	}
	if !slices.Equal(scopes, []memory.Scope{memory.ScopeProject, memory.ScopeUser, memory.ScopeTeam}) {
		t.Errorf("equal facts: %v", scopes)
	}
}

func TestWholeWordsBeforeInflectionsBeforeInsides(t *testing.T) {
	ix := indexOf(t,
		note{name: "a", body: "The coowner rule applies."}, note{name: "b", body: "The ownership rule applies."},
		note{name: "c", body: "The owners rule applies."}, note{name: "d", body: "The owner rule applies."},
		note{name: "e", body: "Nothing of that."}, note{name: "f", body: "Nor here."}, note{name: "g", body: "Nor there."})
	wantNames(t, "owner", ask(t, ix, "owner"), "d", "c", "b", "a")
}

// TestParticlesInsideNames wants names that begin with what is elsewhere a
// particle to be found by themselves.
func TestParticlesInsideNames(t *testing.T) {
	ix := indexOf(t, note{name: "n1", body: "에러 처리 규칙"}, note{name: "n2", body: "도커 이미지 크기"}, note{name: "n3", body: "会议纪要放在共享盘"},
		note{name: "n4", body: "网络要求与配置"}, note{name: "n5", body: "네트워크 설정"}, note{name: "x", body: "other"})
	for q, want := range map[string]string{"에러는?": "n1", "도커": "n2", "이미지": "n2", "会议": "n3", "要求": "n4", "네트워크": "n5"} {
		wantNames(t, q, ask(t, ix, q), want)
	}
}

func TestFiltersComeBeforeLimits(t *testing.T) {
	var notes []note
	for i := range 12 {
		notes = append(notes, note{name: fmt.Sprintf("team %d", i), body: "the quota quota quota", scope: memory.ScopeTeam})
	}
	notes = append(notes,
		note{name: "mine", body: "One remark on the quota among many other words of no use.", scope: memory.ScopeUser},
		note{name: "gone", body: "quota", header: []string{"expires_at: 2026-02-01"}},
		note{name: "old", body: "quota", header: []string{"status: superseded"}})
	for i := range 9 {
		notes = append(notes, note{name: fmt.Sprintf("other %d", i), body: "something else"})
	}
	ix := indexOf(t, notes...)
	onlyUser := func(q *recall.Query) { q.Scopes = []memory.Scope{memory.ScopeUser}; q.Limit = 1 }
	r := rank(t, ix, "quota", onlyUser)
	wantNames(t, "scope", names(r), "mine")
	if r.Total != 1 {
		t.Errorf("total %d counts what may not be seen", r.Total)
	}
	r = rank(t, ix, "quota", func(q *recall.Query) {
		q.Exclude = map[string]bool{"user:mine.md": true}
		q.Scopes = []memory.Scope{memory.ScopeUser, memory.ScopeProject}
	})
	wantNames(t, "excluded, expired and superseded", names(r))
	r = rank(t, ix, "quota", func(q *recall.Query) { q.Inactive = true; q.Scopes = []memory.Scope{memory.ScopeProject} })
	if r.Total != 2 {
		t.Errorf("inactive ones: %q", names(r))
	}
	wantNames(t, "type", ask(t, ix, "quota", func(q *recall.Query) { q.Types = []string{"feedback"} }))
}

// What a query may not see shows in nothing: neither in what is admitted nor in
// scores, whatever it is hidden for.
func TestWhatIsHiddenInfluencesNothing(t *testing.T) {
	rest := func(d *memory.Document, folder string, scope memory.Scope) *memory.Document {
		d.Root = &memory.Root{Scope: scope, Prefix: string(scope), Folders: memory.InFolders(folder)}
		return d
	}
	var seen, hidden []*memory.Document
	excluded := map[string]bool{}
	for i, d := range corpus(t, 60) {
		seen = append(seen, rest(d, "/here", memory.ScopeProject))
		for j := range 8 {
			text := strings.Repeat(d.BodyText()+" ", 1+j%3)
			n := note{name: fmt.Sprintf("%s again %d", d.Title, j), desc: d.Description, body: text}
			other := n.doc(t)
			other.Ref = fmt.Sprintf("project:hidden/%d-%d.md", i, j)
			switch j % 5 {
			case 4:
				rest(other, "/here", memory.ScopeProject).Type = memory.TypeUser
			case 0:
				rest(other, "/elsewhere", memory.ScopeProject)
			case 1:
				rest(other, "/here", memory.ScopeTeam)
			case 2:
				rest(other, "/here", memory.ScopeProject).Status = memory.StatusSuperseded
			default:
				rest(other, "/here", memory.ScopeProject).Status = memory.StatusExpired
			}
			hidden = append(hidden, other)
			excluded[other.Ref] = other.Root.Folders == "/elsewhere"
		}
	}
	typed := func(ds []*memory.Document) (out []*memory.Document) {
		return slices.DeleteFunc(slices.Clone(ds), func(d *memory.Document) bool { return d.Type == memory.TypeUser })
	}
	for name, tc := range map[string]struct {
		hidden []*memory.Document
		edit   func(*recall.Query)
	}{
		"by where they lie": {typed(hidden), func(*recall.Query) {}},
		"by type": {hidden, func(q *recall.Query) {
			q.Types = []string{memory.TypeProject, memory.TypeFeedback, memory.TypeReference, ""}
		}},
		"by name": {typed(hidden), func(q *recall.Query) { q.Exclude = excluded }},
	} {
		t.Run(name, func(t *testing.T) {
			sameAlone(t, seen, tc.hidden, tc.edit)
		})
	}
}

// sameAlone wants the same answers from documents among hidden ones as alone.
func sameAlone(t *testing.T, seen, hidden []*memory.Document, edit func(*recall.Query)) {
	alone, among := build(seen), build(append(slices.Clone(hidden), seen...))
	for i, d := range seen {
		words := strings.Fields(d.BodyText())
		q := recall.Query{
			Text: strings.Join([]string{words[0], words[i%len(words)], words[len(words)/2], fmt.Sprint("record", i)}, " "),
			Now:  now, Folder: "/here", Scopes: []memory.Scope{memory.ScopeProject, memory.ScopeUser}, Trace: true,
		}
		edit(&q)
		want, err := alone.Rank(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := among.Rank(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		wantNames(t, q.Text, names(got), names(want)...)
		if got.Total != want.Total || !reflect.DeepEqual(got.Trace.Terms, want.Trace.Terms) || !reflect.DeepEqual(got.Trace.Candidates, want.Trace.Candidates) {
			t.Errorf("%q: total %d, want %d\n got %+v\nwant %+v", q.Text, got.Total, want.Total, got.Trace, want.Trace)
		}
	}
}

func TestToolNoise(t *testing.T) {
	ix := indexOf(t,
		note{name: "grep schema", desc: "tool schema of grep_files", body: "MCP tool grep_files: parameter schema is pattern, path."},
		note{name: "grep gotcha", desc: "gotcha of grep_files", body: "Known issue: grep_files tool usage hides dot files; workaround: pass hidden."},
		note{name: "other", body: "words"})
	wantNames(t, "not in use", ask(t, ix, "grep_files pattern"), "grep schema", "grep gotcha")
	for _, tool := range []string{"grep_files", "GREP_FILES", "mcp__fs__grep_files", "server::grep_files"} {
		wantNames(t, tool, ask(t, ix, "grep_files pattern", func(q *recall.Query) { q.RecentTools = []string{tool} }), "grep gotcha")
	}
}

// What tells a memory about a tool apart survives the joining of segments.
func TestToolNoiseInAGrowingIndex(t *testing.T) {
	in := recall.NewIndexer()
	usage := note{name: "grep schema", desc: "tool schema of grep_files", body: "parameter schema of grep_files: pattern, path."}.doc(t)
	ix := in.Update(nil, nil, []*memory.Document{usage})
	for i := range 40 {
		ghost := note{name: fmt.Sprintf("ghost %d", i), body: "mcp tool ghost"}.doc(t)
		ix = in.Update(ix, nil, []*memory.Document{note{name: fmt.Sprintf("other %d", i), body: "words"}.doc(t), ghost})
		ix = in.Update(ix, []*memory.Document{ghost}, nil)
	}
	index := ix.(*recall.Index)
	wantNames(t, "not in use", ask(t, index, "grep_files pattern"), "grep schema")
	wantNames(t, "in use", ask(t, index, "grep_files pattern", func(q *recall.Query) { q.RecentTools = []string{"grep_files"} }))
}

// TestSameInputsSameOrder builds the same documents in many orders and in many
// portions, with deletions between, and wants the same answer to the last bit.
func TestSameInputsSameOrder(t *testing.T) {
	docs := corpus(t, 300)
	ghosts := corpus(t, 330)[300:]
	r := rand.New(rand.NewPCG(3, 4))
	queries := make([]string, 12)
	for i := range queries {
		f := strings.Fields(docs[r.IntN(300)].BodyText())
		queries[i] = fmt.Sprintf("%s %s %s record%d", f[1], f[9], f[30], r.IntN(300))
	}
	want := answers(t, build(docs), queries)
	for round := range 8 {
		order := slices.Clone(docs)
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		in := recall.NewIndexer()
		var ix any
		for rest := order; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(40))
			ix = in.Update(ix, nil, append(slices.Clone(rest[:n]), ghosts...))
			ix = in.Update(ix, ghosts, nil)
			rest = rest[n:]
		}
		if got := answers(t, ix.(*recall.Index), queries); got != want {
			t.Fatalf("round %d: the order of building shows:\n got %s\nwant %s", round, got, want)
		}
	}
}

func answers(t *testing.T, ix *recall.Index, queries []string) string {
	var b strings.Builder
	for _, q := range queries {
		r := rank(t, ix, q)
		fmt.Fprintf(&b, "%d:", r.Total)
		for _, h := range r.Hits {
			fmt.Fprintf(&b, " %s=%b", h.Doc.Ref, h.Score)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestOldSnapshotsStayAsTheyWere reads an index while newer ones are made from it.
func TestOldSnapshotsStayAsTheyWere(t *testing.T) {
	docs := corpus(t, 200)
	in := recall.NewIndexer()
	old := in.Update(nil, nil, docs).(*recall.Index)
	query := []string{"record3 record77 record150"}
	want := answers(t, old, query)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var ix any = old
		for i := range docs {
			c := *docs[i]
			ix = in.Update(ix, docs[i:i+1], []*memory.Document{&c})
		}
		if n := ix.(*recall.Index).Len(); n != len(docs) {
			t.Errorf("%d documents left of %d", n, len(docs))
		}
	}()
	for range 200 {
		if got := answers(t, old, query); got != want {
			t.Fatalf("an old index changed: %s", got)
		}
	}
	<-done
}

// TestPassageHoldsWhatAdmitted checks the promise over many long documents: when
// a word of the body admitted it, one of those words is in what is delivered.
func TestPassageHoldsWhatAdmitted(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	var notes []note
	for i := range 60 {
		words := strings.Fields(filler(900))
		for _, w := range []string{"kestrel", "tarragon"} {
			words[r.IntN(len(words))] = w
		}
		sep := []string{" ", "\n", "\n\n", ". "}[i%4]
		notes = append(notes, note{name: fmt.Sprintf("n%d", i), body: strings.Join(words, sep)})
	}
	for i := range 40 {
		notes = append(notes, note{name: fmt.Sprintf("o%d", i), body: "unrelated words"})
	}
	ix := indexOf(t, notes...)
	for _, q := range []string{"kestrel", "tarragon", "kestrel tarragon"} {
		rk := rank(t, ix, q, func(q *recall.Query) { q.Limit = 60; q.Loose = true })
		if len(rk.Hits) != 60 {
			t.Fatalf("%q: %d hits", q, len(rk.Hits))
		}
		for _, h := range rk.Hits {
			p := h.Doc.Text[h.Passage.Start:h.Passage.End]
			if !strings.Contains(p, "kestrel") && !strings.Contains(p, "tarragon") {
				t.Fatalf("%q: the passage of %s misses the match: %q", q, h.Doc.Title, p)
			}
			if n := utf8.RuneCountInString(p); n > recall.PassageRunes || !utf8.ValidString(p) {
				t.Fatalf("%q: passage of %d code points", q, n)
			}
			if before := h.Doc.Text[:h.Passage.Start]; before != strings.TrimRight(before, "abcdefghijklmnopqrstuvwxyz") {
				t.Fatalf("%q: the passage begins inside a word: …%q", q, p[:20])
			}
			if after := h.Doc.Text[h.Passage.End:]; after != "" && after[0] >= 'a' && after[0] <= 'z' {
				t.Fatalf("%q: the passage ends inside a word: %q…", q, p[len(p)-20:])
			}
			if h.Passage.Start < h.Doc.Body.Start || h.Passage.End > h.Doc.Body.End || !h.Truncated {
				t.Fatalf("%q: passage %v of body %v, truncated %v", q, h.Passage, h.Doc.Body, h.Truncated)
			}
		}
	}
}

func TestQueryKeepsBothEnds(t *testing.T) {
	ix := indexOf(t, note{name: "head", body: "kestrel migration"}, note{name: "tail", body: "tarragon harvest"},
		note{name: "x", body: "other"}, note{name: "y", body: "more"})
	var mid []string
	for i := range 400 {
		mid = append(mid, fmt.Sprintf("padding%d", i))
	}
	long := "kestrel migration " + strings.Join(mid, " ") + " tarragon harvest"
	got := ask(t, ix, long, func(q *recall.Query) { q.Loose = true })
	slices.Sort(got)
	wantNames(t, "400 words between", got, "head", "tail")
	huge := "kestrel migration " + strings.Repeat("padding ", 4<<20) + " tarragon harvest"
	got = ask(t, ix, huge)
	slices.Sort(got)
	wantNames(t, "32 MiB between", got, "head", "tail")
}

func TestUnfinishedLastWord(t *testing.T) {
	ix := indexOf(t, note{name: "saga", body: "BookingSaga retries"}, note{name: "seat", body: "seat map"}, note{name: "x", body: "other"})
	typed := func(q *recall.Query) { q.Prefix, q.Loose = true, true }
	for _, q := range []string{"boo", "book", "bookin", "BookingS", "retr"} {
		wantNames(t, q, ask(t, ix, q, typed), "saga")
	}
	wantNames(t, "finished by a space", ask(t, ix, "boo ", typed))
	wantNames(t, "not typed", ask(t, ix, "boo", func(q *recall.Query) { q.Loose = true }))
}

// A document that meets just as much of a query as it must is admitted in every
// store: how figures round in one of its size decides nothing.
func TestAdmissionDoesNotHangOnRounding(t *testing.T) {
	notes := []note{{name: "one", body: "the kestrel lives here"}}
	for n := range 120 {
		notes = append(notes, note{name: fmt.Sprint("other", n), body: fmt.Sprint("filler", n)})
		if n < 8 {
			continue
		}
		if got := ask(t, indexOf(t, notes...), "kestrel hyrax"); len(got) != 1 {
			t.Errorf("%d documents: got %q", len(notes), got)
		}
	}
}

// A query means the same composed and taken apart, in any script.
func TestComposedOrNotIsTheSame(t *testing.T) {
	ix := indexOf(t,
		note{name: "coupon", body: "오늘 쿠폰 서버가 멈췄다"}, note{name: "log", body: "운영 서버에서 디버그 로그를 켜지 말 것"},
		note{name: "Müller", body: "Müller owns billing"}, note{name: "gateway", body: "ガイドとパスワード"}, note{name: "x", body: "other"})
	for _, q := range []string{"오늘 저녁 뭐 먹을까", "운영 서버에서 디버그 로그를 켜도 되나", "Müller", "ガイド"} {
		wantNames(t, q, ask(t, ix, norm.NFD.String(q)), ask(t, ix, q)...)
	}
	typed := func(q *recall.Query) { q.Prefix, q.Loose = true, true }
	wantNames(t, "typed", ask(t, ix, norm.NFD.String("Mülle"), typed), "Müller")
}

// held is a caller's record for tests.
type held map[string][]memory.Span

func (h held) Delivered(d *memory.Document) ([]memory.Span, bool) {
	spans, ok := h[d.Ref]
	return spans, ok && spans == nil
}

func (h held) Len() int { return len(h) }

// However much a session holds of a subject, and however many memories about tools
// in use are on it, what it does not hold surfaces.
func TestWhatIsPassedOverHidesNothing(t *testing.T) {
	var notes []note
	for i := range 300 {
		notes = append(notes,
			note{name: fmt.Sprintf("Kestrel %d", i), desc: "kestrel", body: "kestrel kestrel kestrel " + fmt.Sprint("own", i)},
			note{name: fmt.Sprintf("Kestrel tool %d", i), desc: "kestrel", body: "kestrel kestrel kestrel tool usage of kestrel_find"},
			note{name: fmt.Sprintf("Other %d", i), body: fmt.Sprint("nothing", i)})
	}
	notes = append(notes, note{name: "Last", desc: "of the kestrel", body: "What is known of its nest in the tower " + filler(40)})
	ix := indexOf(t, notes...)
	h := held{}
	for _, n := range notes[:900] {
		if d := n.doc(t); !strings.HasPrefix(n.name, "Other") && !strings.HasPrefix(n.name, "Kestrel tool") {
			h[d.Ref] = []memory.Span{d.Body}
		}
	}
	got := ask(t, ix, "kestrel", func(q *recall.Query) { q.Held, q.RecentTools = h, []string{"kestrel_find"} })
	wantNames(t, "not held, no noise", got, "Last")
}

func TestHeldDocumentsMakeRoom(t *testing.T) {
	long := "kestrel at the start. " + filler(600) + "\n\nAnd a kestrel at the end of it."
	ix := indexOf(t, note{name: "long", body: long}, note{name: "short", body: "kestrel"}, note{name: "third", body: "a kestrel, among other birds"}, note{name: "x", body: "other"}, note{name: "y", body: "else"})
	first := rank(t, ix, "kestrel")
	if len(first.Hits) != 3 {
		t.Fatalf("%q", names(first))
	}
	h := held{}
	var long0 recall.Hit
	for _, hit := range first.Hits {
		h[hit.Doc.Ref] = []memory.Span{hit.Passage}
		if hit.Doc.Title == "long" {
			long0 = hit
		}
	}
	again := rank(t, ix, "kestrel", func(q *recall.Query) { q.Held = h })
	wantNames(t, "another passage of the long one", names(again), "long")
	if got := again.Hits[0]; got.State != recall.StateMore || got.Passage.Start < long0.Passage.End && long0.Passage.Start < got.Passage.End {
		t.Errorf("state %s, passage %v overlaps %v", got.State, got.Passage, long0.Passage)
	}
	if len(again.Held) != 2 {
		t.Errorf("held: %q", again.Held)
	}
	h["project:long.md"] = append(h["project:long.md"], again.Hits[0].Passage)
	h["project:short.md"] = nil
	last := rank(t, ix, "kestrel", func(q *recall.Query) { q.Held = h })
	wantNames(t, "an edited one comes again", names(last), "short")
	if last.Hits[0].State != recall.StateUpdated {
		t.Errorf("state %s", last.Hits[0].State)
	}
}

// A session that holds passages of many long memories gets its fast result all
// the same soon: what would have to be read again first comes with the rest.
func TestFastPutsOffReadingLongHeldMemories(t *testing.T) {
	const words = 7_000 // of filler: three bodies are more than a fast result reads again
	var notes []note
	h := held{}
	for i := range 5 {
		// The last two have more to say, the first three do not.
		body := strings.Repeat("kestrel ", 6-i) + "at the start. " + filler(words)
		if i >= 3 {
			body += "\n\nAnd a kestrel at the end of it."
		}
		notes = append(notes, note{name: fmt.Sprintf("kestrel kestrel %d", i), desc: "kestrel", body: body})
	}
	notes = append(notes, note{name: "short", body: "a kestrel, among other birds"})
	for i := range 12 {
		notes = append(notes, note{name: fmt.Sprintf("other %d", i), body: "nothing"})
	}
	ix := indexOf(t, notes...)
	for _, n := range notes[:5] {
		d := n.doc(t)
		h[d.Ref] = []memory.Span{{Start: d.Body.Start, End: d.Body.Start + 1000}}
	}
	q := recall.Query{Text: "kestrel", Now: now, Held: h}
	r, err := ix.RankFast(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	wantNames(t, "fast", names(r), "short")
	r.Complete()
	wantNames(t, "all", names(r), "short", "kestrel kestrel 3", "kestrel kestrel 4")
	if got := r.Hits[1]; got.State != recall.StateMore || !strings.Contains(got.Doc.Text[got.Passage.Start:got.Passage.End], "end of it") {
		t.Errorf("%s %v", got.State, got.Passage)
	}
	whole, err := ix.Rank(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	wantNames(t, "held", r.Held, whole.Held...)
	got, want := names(r), names(whole)
	slices.Sort(got)
	slices.Sort(want)
	wantNames(t, "the same memories as without the hurry", got, want...)
}

func TestWhyNamesTheMeeting(t *testing.T) {
	ix := indexOf(t, note{name: "retryBudget of Résumé", desc: "deployments", body: "A kestrel."}, note{name: "x", body: "other"})
	r := rank(t, ix, "budget resume deploys kestrel")
	if len(r.Hits) != 1 {
		t.Fatalf("%q", names(r))
	}
	want := []recall.Why{
		{Field: recall.FieldTitle, Term: "Budget", Match: recall.MatchPart}, {Field: recall.FieldTitle, Term: "Résumé", Match: recall.MatchFold},
		{Field: recall.FieldDescription, Term: "deployments", Match: recall.MatchPrefix}, {Field: recall.FieldBody, Term: "kestrel", Match: recall.MatchExact},
	}
	for _, w := range want {
		if !slices.Contains(r.Hits[0].Why, w) {
			t.Errorf("missing %+v in %+v", w, r.Hits[0].Why)
		}
	}
}

func TestTraceNamesVerdicts(t *testing.T) {
	ix := indexOf(t, note{name: "one", body: "kestrel"}, note{name: "two", body: "kestrel bird"}, note{name: "secret", body: "kestrel", scope: memory.ScopeUser}, note{name: "x", body: "other"})
	r := rank(t, ix, "the kestrel", func(q *recall.Query) {
		q.Trace, q.Limit, q.Scopes = true, 1, []memory.Scope{memory.ScopeProject}
	})
	if r.Trace == nil || len(r.Trace.Candidates) != 2 || r.Trace.Candidates[0].Verdict != recall.VerdictReturned || r.Trace.Candidates[1].Verdict != recall.VerdictLimit {
		t.Fatalf("trace: %+v", r.Trace)
	}
	for _, c := range r.Trace.Candidates {
		if c.Doc.Root.Scope == memory.ScopeUser {
			t.Errorf("the trace shows what may not be seen: %s", c.Doc.Ref)
		}
	}
}

func TestRankEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := build(corpus(t, 10)).Rank(ctx, recall.Query{Text: "record1 record2", Now: now})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAnEmptyIndexAnswersNothing(t *testing.T) {
	for name, ix := range map[string]*recall.Index{"no update": recall.IndexOf(&memory.Snapshot{}), "no documents": build(nil)} {
		if r := rank(t, ix, "kestrel retryBudget 数据库", func(q *recall.Query) { q.Trace = true }); len(r.Hits) != 0 || r.Total != 0 {
			t.Errorf("%s: %q", name, names(r))
		}
	}
}

func FuzzRank(f *testing.F) {
	docs := corpus(f, 40)
	ix := build(docs)
	for _, s := range []string{"record3", "数据库", "C++", "a\xff", strings.Repeat("x", 300), "น้ำตาล", "\u0301", "^$", "retryBudget"} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, s string, open bool) {
		r, err := ix.Rank(t.Context(), recall.Query{Text: s, Now: now, Prefix: open, Trace: true})
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range r.Hits {
			if h.Passage.Start > h.Passage.End || h.Passage.End > len(h.Doc.Text) || i > 0 && h.Score > r.Hits[i-1].Score+1e-6 && h.Doc.Fact().Equal(r.Hits[i-1].Doc.Fact()) {
				t.Fatalf("hit %d: %+v", i, h)
			}
		}
	})
}

// TestAWordUsedInPassing: one word that many texts use makes none of them about
// it, unless it stands in the head of one.
func TestAWordUsedInPassing(t *testing.T) {
	var notes []note
	for i := range 30 {
		body := "something else " + filler(20)
		if i < 9 {
			body += " and the callers of it"
		}
		notes = append(notes, note{name: fmt.Sprintf("n%d", i), body: body})
	}
	wantNames(t, "in passing", ask(t, indexOf(t, notes...), "who is on call"))
	found := ask(t, indexOf(t, notes...), "who is on call", func(q *recall.Query) { q.Loose, q.Limit = true, 20 })
	if len(found) != 9 {
		t.Errorf("a search lists %d", len(found))
	}
	notes = append(notes, note{name: "rota", desc: "Who has the call this week", body: "Farid"})
	wantNames(t, "in a description", ask(t, indexOf(t, notes...), "who is on call"), "rota")
	// What the caller may not see does not make a word common.
	notes = append(notes, note{name: "mine", body: "I call Farid.", scope: memory.ScopeUser})
	wantNames(t, "the only one in its scope", ask(t, indexOf(t, notes...), "who is on call", func(q *recall.Query) { q.Scopes = []memory.Scope{memory.ScopeUser} }), "mine")
}

// TestAWordInsideAnother counts when what stands before it can be a word.
func TestAWordInsideAnother(t *testing.T) {
	ix := indexOf(t, note{name: "plotter", body: "the plotter is out of ink"}, note{name: "seeotter", body: "ein Seeotter"},
		note{name: "x", body: "other things"}, note{name: "y", body: "more of them"})
	wantNames(t, "otter", ask(t, ix, "otter"), "seeotter")
}

// TestPassagesBeginWithSentences: also where the end of the body leaves room for
// text before what was asked for.
func TestPassagesBeginWithSentences(t *testing.T) {
	body := strings.Repeat("Sentences of this text are short. ", 120) + "The kestrel comes last."
	ix := indexOf(t, note{name: "long", body: body}, note{name: "x", body: "other"}, note{name: "y", body: "more"})
	r := rank(t, ix, "kestrel")
	if len(r.Hits) != 1 {
		t.Fatalf("%q", names(r))
	}
	p := r.Hits[0].Passage
	if got := r.Hits[0].Doc.Text[p.Start:p.End]; !strings.HasPrefix(got, "Sentences of") || !strings.HasSuffix(got, "comes last.") || len(got) < recall.PassageRunes-40 {
		t.Errorf("%d bytes: %q … %q", len(got), got[:30], got[len(got)-30:])
	}
}
