package memory_test

import (
	"context"
	"fmt"
	"maps"
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

// house is a keeper over a project, a user and a team root, with a catalog and a
// store of their own.
type house struct {
	*memory.Keeper
	*shop
	bench *bench
	tools memory.ForgetTools
	clock time.Time
}

// keep opens a house with files, named "project/x.md", "user/x.md" or "team/x.md".
func keep(t testing.TB, files map[string]string, tune func(*memory.StoreOptions)) *house {
	t.Helper()
	h := &house{clock: time.Date(2026, 2, 6, 9, 0, 0, 0, time.UTC)}
	h.shop = openStore(t, func(o *memory.StoreOptions) {
		o.Secrets = func(before, after string) []string { return memory.SecretRules(memory.AddedSecrets(before, after)) }
		o.Now = func() time.Time { return h.clock }
		o.Index = nil // the store's own
		if tune != nil {
			tune(o)
		}
	})
	for name, text := range files {
		write(t, filepath.Dir(h.dirs[0]), name, text)
	}
	h.bench = open(t, h.dirs[0], func(o *memory.CatalogOptions) {
		o.Roots, o.Index = nil, nil
		for _, r := range h.roots {
			o.Roots = append(o.Roots, memory.RootConfig{Scope: r.Scope, Path: r.Path, ReadOnly: r.ReadOnly, Untrusted: r.Untrusted})
		}
	})
	h.bench.ready()
	h.Keeper = memory.NewKeeper(memory.KeeperOptions{
		Store: h.Store, Roots: func() []*memory.Root { return h.roots }, Snapshot: h.bench.Snapshot, Sync: h.bench.Sync,
		Tools: func() memory.ForgetTools { return h.tools }, Now: func() time.Time { return h.clock },
	})
	return h
}

// files are all memory files, by scope and path; the indexes follow from them.
func (h *house) files() map[string]string {
	h.t.Helper()
	base := filepath.Dir(h.dirs[0])
	out := map[string]string{}
	for path, text := range tree(h.t, h.dirs...) {
		rel, err := filepath.Rel(base, path)
		if err != nil {
			h.t.Fatal(err)
		}
		if filepath.Base(rel) != memory.IndexName {
			out[filepath.ToSlash(rel)] = text
		}
	}
	return out
}

func (h *house) wantFiles(what string, want map[string]string) {
	h.t.Helper()
	if got := h.files(); !maps.Equal(got, want) {
		h.t.Errorf("%s: the files are\n%q\nwant\n%q", what, got, want)
	}
}

func (h *house) target(ref string) memory.Target {
	h.t.Helper()
	tg, err := memory.ParseTarget(ref, "")
	if err != nil {
		h.t.Fatal(err)
	}
	return tg
}

func (h *house) forget(q memory.Forget) *memory.Plan {
	h.t.Helper()
	p, err := h.Forget(h.t.Context(), q)
	if err != nil {
		h.t.Fatal(err)
	}
	return p
}

func (h *house) forgetRefs(refs ...string) *memory.Plan {
	h.t.Helper()
	var q memory.Forget
	for _, r := range refs {
		q.Targets = append(q.Targets, h.target(r))
	}
	return h.forget(q)
}

func (h *house) apply(p *memory.Plan, o memory.ApplyOptions) *memory.Operation {
	h.t.Helper()
	op, err := h.Keeper.Apply(h.t.Context(), p.ID, o)
	if err != nil {
		h.t.Fatal(err)
	}
	if len(op.Warnings) > 0 {
		h.t.Errorf("warnings: %q", op.Warnings)
	}
	return op
}

func (h *house) remember(q memory.Remember) *memory.Kept {
	h.t.Helper()
	kept, err := h.Remember(h.t.Context(), q, true)
	if err != nil {
		h.t.Fatal(err)
	}
	return kept
}

func (h *house) refused(kind memory.RefusalKind, err error) *memory.Refusal {
	h.t.Helper()
	return wantRefusal(h.t, err, kind)
}

func planRefs(p *memory.Plan) []string {
	var out []string
	for i := range p.Changes {
		out = append(out, p.Changes[i].Ref)
	}
	return out
}

func only(ids ...string) memory.ApplyOptions { return memory.ApplyOptions{Only: ids} }

const three = "---\nname: Editor\ntype: user\ncustom: [a, b] # kept\n---\n\n# Editor\n\n- dark mode in the editor\n  Why: eyes\n- dark mode in the terminal\n\n  ```sh\n  - not an entry\n  ```\n\n- tabs, never spaces\n"

func TestFORGET_01_OfTwoLikeMemoriesOnlyTheNamedOneGoes(t *testing.T) {
	files := map[string]string{"user/editor.md": "dark mode in the editor\n", "user/terminal.md": "dark mode in the terminal\n", "user/other.md": "light shoes\n"}
	h := keep(t, files, nil)
	p := h.forget(memory.Forget{Query: "dark mode"})
	if got := planRefs(p); !slices.Equal(slices.Sorted(slices.Values(got)), []string{"user:editor.md", "user:terminal.md"}) {
		t.Fatalf("candidates %q", got)
	}
	for i := range p.Changes {
		if c := &p.Changes[i]; c.Score != 1 || len(c.Why) != 2 || c.Diff == "" || c.Base == "" {
			t.Errorf("candidate without reasons: %+v", c)
		}
	}
	h.wantFiles("the query", files)
	_, err := h.Keeper.Apply(t.Context(), p.ID, memory.ApplyOptions{})
	if r := h.refused(memory.RefusedInput, err); r.Field != "only" {
		t.Errorf("%+v", r)
	}
	h.wantFiles("an ambiguous plan", files)
	h.apply(h.forgetRefs("user:terminal.md"), memory.ApplyOptions{})
	delete(files, "user/terminal.md")
	h.wantFiles("the second by its ref", files)
}

func TestFORGET_02_ScopeIsRespectedAndNamed(t *testing.T) {
	files := map[string]string{"user/prefs.md": "use tabs\n", "project/prefs.md": "use tabs\n"}
	h := keep(t, files, nil)
	p := h.forget(memory.Forget{Query: "tabs", Scopes: []memory.Scope{memory.ScopeUser}})
	if got := planRefs(p); !slices.Equal(got, []string{"user:prefs.md"}) {
		t.Fatalf("candidates %q", got)
	}
	op := h.apply(p, memory.ApplyOptions{})
	if c := op.Changes[0]; c.Ref != "user:prefs.md" || c.Action != memory.ActionDelete {
		t.Errorf("%+v", c)
	}
	delete(files, "user/prefs.md")
	h.wantFiles("forget in the user scope", files)
	if _, ok := h.bench.Snapshot().Get("project:prefs.md"); !ok {
		t.Error("the other scope lost its memory")
	}
}

func TestFORGET_06_TwoSteps(t *testing.T) {
	files := map[string]string{"user/a.md": three}
	h := keep(t, files, nil)
	p := h.forgetRefs("user:a.md#2")
	h.wantFiles("step one", files)
	h.apply(p, memory.ApplyOptions{})
	_, err := h.Keeper.Apply(t.Context(), p.ID, memory.ApplyOptions{})
	h.refused(memory.RefusedNotFound, err)

	p = h.forgetRefs("user:a.md#0")
	changed := h.read(1, "a.md") + "- written meanwhile\n"
	h.write(1, "a.md", changed)
	_, err = h.Keeper.Apply(t.Context(), p.ID, memory.ApplyOptions{})
	if r := h.refused(memory.RefusedStale, err); !slices.Equal(r.Refs, []string{"user:a.md"}) {
		t.Errorf("%+v", r)
	}
	if got := h.read(1, "a.md"); got != changed {
		t.Errorf("a stale plan changed the file: %q", got)
	}
}

func TestFORGET_07_OneEntryOfSeveralAndTheLastOne(t *testing.T) {
	h := keep(t, map[string]string{"user/three.md": three, "user/one.md": "---\nname: One\n---\n\n# One\n\n- the only thing\n", "user/MEMORY.md": "* [One](one.md)\n* [Editor](three.md)\n"}, nil)
	h.apply(h.forgetRefs("user:three.md#1"), memory.ApplyOptions{})
	at := strings.Index(three, "- dark mode in the terminal")
	end := strings.Index(three, "- tabs")
	// The blank line before the next entry is no part of this one.
	want := three[:at] + "\n" + three[end:]
	if got := h.read(1, "three.md"); got != want {
		t.Errorf("one of three: %q, want %q", got, want)
	}
	h.apply(h.forgetRefs("user:one.md#0"), memory.ApplyOptions{})
	h.gone(1, "one.md")
	if got := h.read(1, "MEMORY.md"); got != "* [Editor](three.md)\n" {
		t.Errorf("the index is %q", got)
	}
	// All entries, one by one in a single plan.
	h.apply(h.forgetRefs("user:three.md#0", "user:three.md#1"), memory.ApplyOptions{})
	h.gone(1, "three.md")
}

func TestFORGET_08_EveryRefThatIsListedCanBeForgotten(t *testing.T) {
	names := []string{"with space.md", "a#b.md", "100%.md", "座位/保留 多久.md", "UPPER/Case.md", "deep/er/and/deeper.md", "q?x&y=z.md", "e\u0301.md", "[x] (y).md"}
	files := map[string]string{}
	for i, n := range names {
		files["project/"+n] = fmt.Sprintf("note %d\n", i)
	}
	h := keep(t, files, nil)
	listed := refs(h.bench.Snapshot())
	if len(listed) != len(names) {
		t.Fatalf("listed %q", listed)
	}
	for _, ref := range listed {
		h.apply(h.forgetRefs(ref), memory.ApplyOptions{})
		_, err := h.Forget(t.Context(), memory.Forget{Targets: []memory.Target{h.target(ref)}})
		h.refused(memory.RefusedNotFound, err)
	}
	h.wantFiles("forgetting all", map[string]string{})
}

// Removal of an entry is a cut: whatever the encoding, line ends and structure,
// all other bytes are those that were there.
func TestForgetCutsAndNothingElse(t *testing.T) {
	shapes := map[string]string{
		"lf":        three,
		"crlf":      strings.ReplaceAll(three, "\n", "\r\n"),
		"cr":        strings.ReplaceAll(three, "\n", "\r"),
		"bom":       "\uFEFF" + three,
		"no header": "- dark mode in the editor\n- dark mode in the terminal\n- tabs, never spaces",
		"comments":  "---\n# a comment\nname: &x Editor\nalias: *x\nblock: |\n  text\n   more\n---\n<!-- note -->\n\n## A\n\n- dark mode in the editor\n\n## B\n\n1. dark mode in the terminal\n2. tabs, never spaces\n\n***\n",
		"broken":    "---\ndescription: \"abc \"def\" ghi\"\ntags: x\nstatus: active\n---\n- dark mode in the editor\n- dark mode in the terminal\n- tabs, never spaces\n",
		"invalid":   "- dark mode \xff\xfe in the editor\n- dark mode in the terminal\n- tabs, never spaces \xc3\n",
		"nested":    "- a\n  - dark mode in the editor\n    - deeper\n\n  **Why:** because\n\n  How to apply: so\n- dark mode in the terminal\n- tabs, never spaces\n",
		"quotes":    "> dark mode in the editor\n\n| dark mode | in the terminal |\n|---|---|\n| a | b |\n\ntabs, never spaces\n",
	}
	cuts, outside := 0, 0
	for name, text := range shapes {
		t.Run(name, func(t *testing.T) {
			n := len(memory.Entries(memory.Parse([]byte(text))))
			for i := range n {
				h := keep(t, map[string]string{"project/a.md": text, "project/b.md": "other\n"}, nil)
				h.apply(h.forgetRefs(fmt.Sprintf("project:a.md#%d", i)), memory.ApplyOptions{})
				got := h.read(0, "a.md")
				head := sharedPrefix(text, got)
				tail := sharedPrefix(reversed(text), reversed(got))
				if len(got) >= len(text) || head+tail < len(got) {
					t.Errorf("entry %d: more than a cut: %q", i, got)
				}
				before, after := memory.Entries(memory.Parse([]byte(text))), memory.Entries(memory.Parse([]byte(got)))
				if len(after) != n-1 {
					t.Errorf("entry %d: %d entries stay of %d", i, len(after), n)
				}
				for k, e := range after {
					if old := before[k+b2i(k >= i)]; old.Summary != e.Summary || old.Why != e.Why {
						t.Errorf("entry %d: %q became %q", i, old.Summary, e.Summary)
					}
				}
				cuts++
				outside += len(got) - min(len(got), head+tail)
			}
		})
	}
	t.Logf("%d cuts, %d bytes changed outside of them", cuts, outside)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func sharedPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// A file whose header does not parse is never deleted as a side effect; asked
// for by name it goes.
func TestForgetNeverDropsAFileThatDoesNotParse(t *testing.T) {
	broken := "---\ndescription: \"abc \"def\" ghi\"\ntags: x\n---\n"
	h := keep(t, map[string]string{"user/a.md": broken + "- only\n"}, nil)
	h.apply(h.forgetRefs("user:a.md#0"), memory.ApplyOptions{})
	if got := h.read(1, "a.md"); got != broken {
		t.Errorf("%q", got)
	}
	h.apply(h.forgetRefs("user:a.md"), memory.ApplyOptions{})
	h.gone(1, "a.md")
}

func TestForgetRefusesWhatNamesNothing(t *testing.T) {
	files := map[string]string{"user/a.md": "a banana\n", "project/b.md": "another banana, a big one\n", "user/日.md": "日曜日は休み\n"}
	h := keep(t, files, nil)
	for _, query := range []string{"a", "", "   ", "!!! ??", ".*", "%", "*", "ん", "\x00", "b"} {
		_, err := h.Forget(t.Context(), memory.Forget{Query: query})
		if r := h.refused(memory.RefusedInput, err); r.Field != "query" {
			t.Errorf("%q: %+v", query, r)
		}
	}
	for _, query := range []string{"an", "ban", "anan", "bananas", "zebra", "another apple tree house"} {
		_, err := h.Forget(t.Context(), memory.Forget{Query: query})
		h.refused(memory.RefusedNotFound, err)
	}
	for _, query := range []string{"曜", "休日", "日本"} {
		if p, err := h.Forget(t.Context(), memory.Forget{Query: query}); query == "曜" && (err != nil || len(p.Changes) != 1) || query != "曜" && err == nil {
			t.Errorf("%q: %v, %v", query, p, err)
		}
	}
	for query, want := range map[string]string{"日曜日は休みですか": "user:%E6%97%A5.md", "banana": "project:b.md user:a.md", "BIG": "project:b.md", "日曜": "user:%E6%97%A5.md", "big banana": "project:b.md"} {
		got := planRefs(h.forget(memory.Forget{Query: query}))
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%q finds %q", query, got)
		}
	}
	h.wantFiles("queries", files)
}

// A query that matches everything proposes a few and says how many more there
// are; nothing goes without being chosen.
func TestForgetOfEverythingIsAChoice(t *testing.T) {
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("user/%02d.md", i)] = fmt.Sprintf("the same topic, number %d\n", i)
	}
	h := keep(t, files, nil)
	p := h.forget(memory.Forget{Query: "topic"})
	if len(p.Changes) != memory.DefaultForgetLimit || len(p.Warnings) != 1 || !strings.HasPrefix(p.Warnings[0], "35 more") {
		t.Errorf("%d candidates, warnings %q", len(p.Changes), p.Warnings)
	}
	_, err := h.Keeper.Apply(t.Context(), p.ID, memory.ApplyOptions{})
	h.refused(memory.RefusedInput, err)
	h.wantFiles("nothing chosen", files)
	h.apply(p, only(p.Changes[0].ID))
	if got := len(h.files()); got != 39 {
		t.Errorf("%d files left", got)
	}
}

// The targets that lead elsewhere, and the plans of other times and places, are
// refused by kind, and touch nothing.
func TestSEC_02_ForgetAndRememberStayInTheirRoot(t *testing.T) {
	files := map[string]string{"project/a.md": "a note\n"}
	h := keep(t, files, nil)
	outside := write(t, filepath.Dir(h.dirs[0]), "escape.md", "outside\n")
	for ref, kind := range map[string]memory.RefusalKind{
		"project:../escape.md": memory.RefusedEscape, "project:/etc/cron.d/x": memory.RefusedEscape, `project:..\x`: memory.RefusedEscape,
		"project:%2e%2e/x": memory.RefusedEscape, "project:%2E%2E/escape.md": memory.RefusedEscape, "project:a/./../../b": memory.RefusedEscape, "project:C:x": memory.RefusedEscape,
		"project:a%00.md": memory.RefusedEscape, "project:a\x00.md": memory.RefusedEscape, "../escape.md": memory.RefusedEscape, "/etc/passwd": memory.RefusedEscape,
		"project:" + strings.Repeat("x", 300): memory.RefusedInput, "nowhere:a.md": memory.RefusedInput, "": memory.RefusedInput, "project:a.md#x": memory.RefusedInput,
	} {
		_, err := memory.ParseTarget(ref, "")
		r := h.refused(kind, err)
		if kind == memory.RefusedInput && r.Field != "ref" {
			t.Errorf("%q: %+v", ref, r)
		}
	}
	for _, name := range []string{"../escape", "/etc/cron.d/x", `..\x`, "%2e%2e/x", "a/./../../b", "C:x", "a\x00b", strings.Repeat("x", 300), "MEMORY", ".hidden", "CON"} {
		kept := h.remember(memory.Remember{Text: "Something about " + name, Name: name, Scope: memory.ScopeProject})
		ref, err := memory.ParseRef(kept.Operation.Changes[0].Ref)
		if err != nil || strings.ContainsAny(ref.Rel, `/\`) {
			t.Errorf("name %q makes %q, %v", name, ref.Rel, err)
		}
		if _, err := os.Stat(filepath.Join(h.dirs[0], ref.Rel)); err != nil {
			t.Errorf("name %q: %v", name, err)
		}
	}
	if raw, err := os.ReadFile(outside); err != nil || string(raw) != "outside\n" {
		t.Errorf("outside: %q, %v", raw, err)
	}
	base, err := os.ReadDir(filepath.Dir(h.dirs[0]))
	if err != nil {
		t.Fatal(err)
	}
	if len(base) != 5 { // the three roots, the state, the file outside
		t.Errorf("beside the roots: %v", base)
	}
}

// A name that was swapped for a link between plan and apply leads nowhere, and
// neither does an index that is one.
func TestSEC_04_LinksThatArePlanted(t *testing.T) {
	h := keep(t, map[string]string{"project/a.md": "a note\n", "project/sub/b.md": "b note\n"}, nil)
	victim := write(t, tempDir(t), "bashrc", "a note\n")
	byFile, byFolder := h.forgetRefs("project:a.md"), h.forgetRefs("project:sub/b.md")
	if err := os.Remove(filepath.Join(h.dirs[0], "a.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(h.dirs[0], "a.md")); err != nil {
		t.Fatal(err)
	}
	_, err := h.Keeper.Apply(t.Context(), byFile.ID, memory.ApplyOptions{})
	h.refused(memory.RefusedEscape, err)
	elsewhere := tempDir(t)
	write(t, elsewhere, "b.md", "b note\n")
	if err := os.RemoveAll(filepath.Join(h.dirs[0], "sub")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(h.dirs[0], "sub")); err != nil {
		t.Fatal(err)
	}
	_, err = h.Keeper.Apply(t.Context(), byFolder.ID, memory.ApplyOptions{})
	h.refused(memory.RefusedEscape, err)
	for path, want := range map[string]string{victim: "a note\n", filepath.Join(elsewhere, "b.md"): "b note\n"} {
		if raw, err := os.ReadFile(path); err != nil || string(raw) != want {
			t.Errorf("%s: %q, %v", path, raw, err)
		}
	}
	// A new file is not written through a link that has its name.
	if err := os.Symlink(victim, filepath.Join(h.dirs[0], "deploy.md")); err != nil {
		t.Fatal(err)
	}
	kept := h.remember(memory.Remember{Text: "Deploy on Thursdays", Name: "Deploy", Scope: memory.ScopeProject})
	if got := kept.Operation.Changes[0].Ref; got != "project:deploy-2.md" {
		t.Errorf("remembered as %s", got)
	}
	if raw, _ := os.ReadFile(victim); string(raw) != "a note\n" {
		t.Errorf("the target of a link was written: %q", raw)
	}
}

// Forgetting an entry of a file with CRLF deleted the file, with all others in it.
func TestUPSTREAM_01_EntryOfACRLFFile(t *testing.T) {
	h := keep(t, map[string]string{"user/a.md": strings.ReplaceAll(three, "\n", "\r\n")}, nil)
	h.apply(h.forgetRefs("user:a.md#0"), memory.ApplyOptions{})
	got := h.read(1, "a.md")
	if strings.Contains(strings.ReplaceAll(got, "\r\n", ""), "\n") || len(memory.Entries(memory.Parse([]byte(got)))) != 2 {
		t.Errorf("%q", got)
	}
}

// The entries that stay lost their headings, code fences, nesting and labels.
func TestUPSTREAM_02_WhatStaysIsNotRewritten(t *testing.T) {
	h := keep(t, map[string]string{"user/a.md": three}, nil)
	h.apply(h.forgetRefs("user:a.md#2"), memory.ApplyOptions{})
	if got, want := h.read(1, "a.md"), strings.TrimSuffix(three, "- tabs, never spaces\n"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Without a model, one letter deleted up to 400 entries at once.
func TestUPSTREAM_03_OneLetterDeletesNothing(t *testing.T) {
	files := map[string]string{"user/a.md": three, "user/b.md": "an apple a day\n"}
	h := keep(t, files, nil)
	for _, s := range []memory.Selector{nil, failing{}} {
		h.tools.Selector = s
		_, err := h.Forget(t.Context(), memory.Forget{Query: "a"})
		h.refused(memory.RefusedInput, err)
	}
	h.wantFiles("a letter", files)
}

// What was forgotten was gone for good, and there was no way to have it gone for
// good.
func TestUPSTREAM_04_UndoAndPurge(t *testing.T) {
	files := map[string]string{"user/b.md": "an apple a day\n"}
	h := keep(t, files, nil)
	op := h.apply(h.forgetRefs("user:b.md"), memory.ApplyOptions{})
	h.gone(1, "b.md")
	if _, err := h.Keeper.Undo(t.Context(), op.ID); err != nil {
		t.Fatal(err)
	}
	h.wantFiles("undone", files)
	op = h.apply(h.forgetRefs("user:b.md"), memory.ApplyOptions{Purge: true})
	_, err := h.Keeper.Undo(t.Context(), op.ID)
	h.refused(memory.RefusedStale, err)
	h.gone(1, "b.md")
}

// Two processes that kept something beside the files lost each other's updates.
func TestUPSTREAM_08_StateOfTwoProcesses(t *testing.T) {
	h := keep(t, map[string]string{"user/a.md": "a\n"}, nil)
	d, _ := h.bench.Snapshot().Get("user:a.md")
	stores := []*memory.Store{h.Store, h.again(nil)}
	const each = 20
	var wg sync.WaitGroup
	for i, s := range stores {
		wg.Go(func() {
			for n := range each {
				if _, err := s.Vote(t.Context(), d, memory.VoteUseful); err != nil {
					t.Error(err)
				}
				if err := s.Block(t.Context(), h.roots[1], []string{fmt.Sprintf("statement %d of process %d", n, i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	again := h.again(nil)
	if err := again.LoadFeedback(); err != nil {
		t.Fatal(err)
	}
	if got := again.Feedback()["user:a.md"].Useful; got != each*len(stores) {
		t.Errorf("%d of %d verdicts are there", got, each*len(stores))
	}
	for i := range stores {
		for n := range each {
			if b, err := again.Blocked(h.roots[1], fmt.Sprintf("Statement %d of process %d.", n, i)); err != nil || !b {
				t.Errorf("statement %d of process %d is not kept: %v", n, i, err)
			}
		}
	}
}

// Any entries of a file, forgotten in one plan, leave what cutting them one by
// one leaves.
func TestForgetComposes(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	cut, kept := 0, 0
	for range 60 {
		var b strings.Builder
		b.WriteString([]string{"", "\uFEFF", "---\nname: x\n---\n", "# Title\n\n"}[rng.IntN(4)])
		for range 2 + rng.IntN(8) {
			b.WriteString([]string{"- item %d\n", "- item %d\n  more\n\n", "paragraph %d\n\n", "- item %d\n  - nested\n  ```\n  code\n  ```\n", "> quote %d\n\n", "## Heading\n\n1. number %d\n"}[rng.IntN(6)])
		}
		text := b.String()
		for i := 0; strings.Contains(text, "%d"); i++ {
			text = strings.Replace(text, "%d", fmt.Sprint(i), 1)
		}
		if rng.IntN(3) == 0 {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		h := keep(t, map[string]string{"project/a.md": text}, nil)
		d, _ := h.bench.Snapshot().Get("project:a.md")
		entries := memory.Entries(d)
		var refs []string
		want := d.Text
		for i := len(entries) - 1; i >= 0; i-- {
			if rng.IntN(2) == 0 && len(refs) < len(entries)-1 {
				refs = append(refs, fmt.Sprintf("project:a.md#%d", i))
				s := entries[i].Removal(d)
				want = want[:s.Start] + want[s.End:]
				cut++
			}
		}
		if len(refs) == 0 {
			continue
		}
		h.apply(h.forgetRefs(refs...), memory.ApplyOptions{})
		if d.BOM {
			want = "\uFEFF" + want
		}
		if got := h.read(0, "a.md"); got != want {
			t.Fatalf("%q less %q is %q, want %q", text, refs, got, want)
		}
		kept += len(want)
	}
	t.Logf("%d entries cut, %d bytes beside them unchanged, 0 others changed", cut, kept)
}

// What a person puts in the place of a change is looked through for credentials
// as the change itself is; what undo brings back is not.
func TestSecretsInWhatIsApplied(t *testing.T) {
	secret := "glpat-" + drawn(base62, 20, 9)
	h := keep(t, map[string]string{"user/a.md": "- one\n- two " + secret + "\n"}, nil)
	p := h.forgetRefs("user:a.md#0")
	_, err := h.Keeper.Apply(t.Context(), p.ID, memory.ApplyOptions{Edits: map[string]string{"c1": "- one glpat-" + drawn(base62, 20, 10) + "\n"}})
	if r := h.refused(memory.RefusedSecret, err); !strings.Contains(r.Detail, "gitlab-token") || strings.Contains(r.Detail, "glpat-") {
		t.Errorf("%+v", r)
	}
	// Around the one that stood there, everything goes on.
	op := h.apply(p, memory.ApplyOptions{Edits: map[string]string{"c1": "- rewritten\n- and moved: " + secret + "\n"}})
	if _, err := h.Keeper.Undo(t.Context(), op.ID); err != nil {
		t.Fatal(err)
	}
	op = h.apply(h.forgetRefs("user:a.md#1"), memory.ApplyOptions{})
	if strings.Contains(h.read(1, "a.md"), secret) {
		t.Error("not forgotten")
	}
	if _, err := h.Keeper.Undo(t.Context(), op.ID); err != nil {
		t.Errorf("bringing it back: %v", err)
	}
}

type failing struct{}

func (failing) Select(context.Context, string, []memory.Candidate, int) ([]int, error) {
	return nil, fmt.Errorf("model_timeout: no answer in time")
}

// choosing answers what a test says, and notes what it was shown.
type choosing struct {
	choose func(cs []memory.Candidate) []int
	shown  []string
}

func (c *choosing) Select(_ context.Context, _ string, cs []memory.Candidate, _ int) ([]int, error) {
	c.shown = nil
	for i := range cs {
		c.shown = append(c.shown, cs[i].Ref())
	}
	return c.choose(cs), nil
}

func TestForgetByMeaning(t *testing.T) {
	files := map[string]string{"user/a.md": three, "user/b.md": "prefers short answers\n", "project/c.md": "the berth closes at six\n"}
	h := keep(t, files, nil)
	model := &choosing{choose: func(cs []memory.Candidate) []int {
		i := slices.IndexFunc(cs, func(c memory.Candidate) bool { return c.Ref() == "user:b.md" })
		return []int{i, -1, 999, i}
	}}
	h.tools.Selector = model
	p := h.forget(memory.Forget{Query: "brevity"})
	if got := planRefs(p); !slices.Equal(got, []string{"user:b.md"}) || p.Changes[0].Why[0].Match != "semantic" {
		t.Errorf("chose %q: %+v", got, p.Changes[0].Why)
	}
	if len(model.shown) != 5 {
		t.Errorf("was shown %q", model.shown)
	}
	model.choose = func([]memory.Candidate) []int { return nil }
	_, err := h.Forget(t.Context(), memory.Forget{Query: "dark mode"})
	h.refused(memory.RefusedNotFound, err)
	h.tools.Selector = failing{}
	p = h.forget(memory.Forget{Query: "berth"})
	if got := planRefs(p); !slices.Equal(got, []string{"project:c.md"}) || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "model_timeout") {
		t.Errorf("without an answer: %q, %q", got, p.Warnings)
	}
	h.wantFiles("plans", files)
}

// A model sees at most 400 candidates, of every scope its share, and the literal
// matches among them; without one every memory is looked at.
func TestForgetBoundsWhatAModelSees(t *testing.T) {
	files := map[string]string{"project/zz.md": "the needle is here\n"}
	for i := range 500 {
		files[fmt.Sprintf("user/%03d.md", i)] = fmt.Sprintf("hay %d\n", i)
	}
	for i := range 50 {
		files[fmt.Sprintf("team/%03d.md", i)] = fmt.Sprintf("straw %d\n", i)
	}
	h := keep(t, files, nil)
	model := &choosing{choose: func([]memory.Candidate) []int { return []int{0} }}
	h.tools.Selector = model
	p := h.forget(memory.Forget{Query: "needle"})
	if len(model.shown) != 400 || planRefs(p)[0] != "project:zz.md" {
		t.Errorf("%d shown, chose %q", len(model.shown), planRefs(p))
	}
	count := map[string]int{}
	for _, ref := range model.shown {
		scope, _, _ := strings.Cut(ref, ":")
		count[scope]++
	}
	if count["project"] != 1 || count["team"] != 50 || count["user"] != 349 {
		t.Errorf("shown by scope: %v", count)
	}
	h.tools.Selector = nil
	if got := planRefs(h.forget(memory.Forget{Query: "hay 499"})); !slices.Equal(got, []string{"user:499.md"}) {
		t.Errorf("the oldest of all: %q", got)
	}
}

func TestForgetSaysWhatStays(t *testing.T) {
	h := keep(t, map[string]string{
		"project/berth.md": "---\nname: The berth closes at six\n---\n\n- The berth closes at six\n- Tides are high\n",
		"project/a.md":     "see [[berth]]\n", "project/b.md": "and [berth](berth.md)\n",
	}, nil)
	if p := h.forgetRefs("project:berth.md#0"); len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "repeats it") {
		t.Errorf("%q", p.Warnings)
	}
	if p := h.forgetRefs("project:berth.md"); !slices.Equal(p.Warnings, []string{"project:a.md links to project:berth.md", "project:b.md links to project:berth.md"}) {
		t.Errorf("%q", p.Warnings)
	}
}

func TestForgetChecksTheVersion(t *testing.T) {
	h := keep(t, map[string]string{"user/a.md": three}, nil)
	d, _ := h.bench.Snapshot().Get("user:a.md")
	for version, kind := range map[string]memory.RefusalKind{d.Version: "", "sha256:00": memory.RefusedConflict} {
		tg, err := memory.ParseTarget("user:a.md#1", version)
		if err != nil {
			t.Fatal(err)
		}
		_, err = h.Forget(t.Context(), memory.Forget{Targets: []memory.Target{tg}})
		if kind == "" && err != nil {
			t.Error(err)
		}
		if kind != "" {
			h.refused(kind, err)
		}
	}
	_, err := h.Forget(t.Context(), memory.Forget{Targets: []memory.Target{h.target("user:a.md#3")}})
	h.refused(memory.RefusedNotFound, err)
}

// What was forgotten is not learnt again by going through the same conversation,
// unless somebody asks for it or takes the forgetting back. No text of it is kept
// for that.
func TestForgottenIsNotLearntAgain(t *testing.T) {
	const said = "The harbour master is called Ophelia Quist"
	h := keep(t, map[string]string{"user/a.md": "- " + said + "\n- something else entirely\n"}, nil)
	blocked := func(text string) bool {
		t.Helper()
		b, err := h.Blocked(h.roots[1], text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if blocked(said) {
		t.Error("blocked before it was forgotten")
	}
	op := h.apply(h.forgetRefs("user:a.md#0"), memory.ApplyOptions{})
	for text, want := range map[string]bool{
		said: true, strings.ToLower(said) + ".": true, "Our harbour master is called Ophelia Quist": true, "Noted. " + said + "!": true,
		"something else entirely": false, "The harbour master is on holiday": false,
	} {
		if blocked(text) != want {
			t.Errorf("%q: blocked %v", text, !want)
		}
	}
	again := h.again(nil)
	if b, err := again.Blocked(h.roots[1], said); err != nil || !b {
		t.Errorf("after a restart: %v, %v", b, err)
	}
	if _, err := h.Keeper.Undo(t.Context(), op.ID); err != nil {
		t.Fatal(err)
	}
	if blocked(said) {
		t.Error("blocked after the forgetting was taken back")
	}
	h.apply(h.forgetRefs("user:a.md#0"), memory.ApplyOptions{Purge: true})
	if !blocked(said) {
		t.Error("not blocked after a purge")
	}
	for path, text := range tree(t, h.state) {
		if strings.Contains(text, "Ophelia") || strings.Contains(text, "harbour") {
			t.Errorf("%s keeps the text: %q", path, text)
		}
	}
	h.remember(memory.Remember{Text: "Remember that " + strings.ToLower(said[:1]) + said[1:], Scope: memory.ScopeUser})
	if blocked(said) {
		t.Error("blocked after somebody asked to remember it")
	}
}

func TestFORGET_04_LinksToWhatIsGoneAreNotFollowed(t *testing.T) {
	index := "# My notes\n\nWhat I keep here.\n\n- [a](a.md) - first\n- [Gone](gone.md) - plans\n- [b](b.md)\n"
	h := keep(t, map[string]string{"project/a.md": "see [[gone]]\n", "project/b.md": "see [x](gone.md)\n", "project/gone.md": "hidden plans\n", "project/MEMORY.md": index}, nil)
	op := h.apply(h.forgetRefs("project:gone.md"), memory.ApplyOptions{})
	snap := h.bench.Snapshot()
	for _, ref := range []string{"project:a.md", "project:b.md"} {
		d, _ := snap.Get(ref)
		if to, ok := memory.Resolve(snap, d, memory.Links(d)[0].Target); ok {
			t.Errorf("%s leads to %s", ref, to.Ref)
		}
	}
	h.gone(0, "gone.md")
	if got, want := h.read(0, "MEMORY.md"), strings.Replace(index, "- [Gone](gone.md) - plans\n", "", 1); got != want {
		t.Errorf("the index is %q, want %q", got, want)
	}
	if _, err := h.Keeper.Undo(t.Context(), op.ID); err != nil {
		t.Fatal(err)
	}
	if got := h.read(0, "MEMORY.md"); !strings.Contains(got, "(gone.md)") || !strings.HasPrefix(got, "# My notes\n\nWhat I keep here.\n") {
		t.Errorf("after undo the index is %q", got)
	}
}

// The index says after every change what there is, and can be made anew.
func TestIndexesFollowChanges(t *testing.T) {
	h := keep(t, map[string]string{"user/b.md": "---\nname: B\n---\ny\n"}, nil)
	h.remember(memory.Remember{Text: "tides are high", Scope: memory.ScopeUser})
	if got := h.read(1, "MEMORY.md"); !strings.Contains(got, "(b.md)") || !strings.Contains(got, "[tides are high](tides-are-high.md)") {
		t.Errorf("%q", got)
	}
	h.apply(h.forgetRefs("user:b.md"), memory.ApplyOptions{})
	if got := h.read(1, "MEMORY.md"); strings.Contains(got, "(b.md)") {
		t.Errorf("%q", got)
	}
	op, err := h.RebuildIndex(t.Context(), memory.ScopeUser, "")
	if err != nil || op.ID != "" {
		t.Errorf("rebuilt: %+v, %v", op, err)
	}
	h.write(1, "MEMORY.md", "- [nothing](gone.md)\n")
	if op, err = h.RebuildIndex(t.Context(), memory.ScopeUser, ""); err != nil || len(op.Changes) != 1 {
		t.Fatalf("%+v, %v", op, err)
	}
	if got := h.read(1, "MEMORY.md"); strings.Contains(got, "(gone.md)") || !strings.Contains(got, "(tides-are-high.md)") {
		t.Errorf("%q", got)
	}
	// qwen-code keeps a folder for each type.
	h.roots[0] = cloneRoot(h.roots[0], func(r *memory.Root) { r.Profile = "qwen" })
	h.remember(memory.Remember{Text: "moorings are wet", Scope: memory.ScopeProject})
	if got := h.read(0, "user/moorings-are-wet.md"); !strings.Contains(got, "moorings are wet") {
		t.Errorf("%q", got)
	}
}

func TestPinIsOneKeyOfTheHeader(t *testing.T) {
	for name, tt := range map[string]struct{ before, pinned, unpinned string }{
		"a key is added":   {"---\nname: A # why\ntags: [x,   y]\n---\nbody\n", "---\nname: A # why\ntags: [x,   y]\npinned: true\n---\nbody\n", "---\nname: A # why\ntags: [x,   y]\npinned: false\n---\nbody\n"},
		"a key is changed": {"---\npinned:  no   # for now\nname: 'A'\n---\nbody\n", "---\npinned:  true   # for now\nname: 'A'\n---\nbody\n", "---\npinned:  false   # for now\nname: 'A'\n---\nbody\n"},
		"quoted":           {"---\n\"pinned\": \"false\"\n---\nbody\n", "---\n\"pinned\": true\n---\nbody\n", "---\n\"pinned\": false\n---\nbody\n"},
		"empty":            {"---\npinned:\nname: A\n---\nbody\n", "---\npinned: true\nname: A\n---\nbody\n", "---\npinned: false\nname: A\n---\nbody\n"},
		"no header":        {"body\n", "---\npinned: true\n---\n\nbody\n", "---\npinned: false\n---\n\nbody\n"},
		"crlf":             {"---\r\nname: A\r\n---\r\nbody\r\n", "---\r\nname: A\r\npinned: true\r\n---\r\nbody\r\n", "---\r\nname: A\r\npinned: false\r\n---\r\nbody\r\n"},
		"bom":              {"\uFEFFbody\n", "\uFEFF---\npinned: true\n---\n\nbody\n", "\uFEFF---\npinned: false\n---\n\nbody\n"},
	} {
		t.Run(name, func(t *testing.T) {
			h := keep(t, map[string]string{"user/a.md": tt.before}, nil)
			for _, step := range []struct {
				pinned bool
				want   string
			}{{true, tt.pinned}, {false, tt.unpinned}, {true, tt.pinned}} {
				op, err := h.Pin(t.Context(), h.target("user:a.md"), step.pinned)
				if err != nil {
					t.Fatal(err)
				}
				if got := h.read(1, "a.md"); got != step.want || len(op.Changes) != 1 {
					t.Errorf("pinned %v: %q, want %q", step.pinned, got, step.want)
				}
				if again, err := h.Pin(t.Context(), h.target("user:a.md"), step.pinned); err != nil || again.ID != "" || len(again.Changes) != 0 {
					t.Errorf("pinned %v again: %+v, %v", step.pinned, again, err)
				}
			}
		})
	}
	h := keep(t, map[string]string{"user/pinned/a.md": "body\n"}, nil)
	_, err := h.Pin(t.Context(), h.target("user:pinned/a.md"), false)
	h.refused(memory.RefusedConflict, err)
}

// A pin that comes right after somebody has written the same changes nothing.
func TestPinOfWhatWasPinnedMeanwhile(t *testing.T) {
	h := keep(t, map[string]string{"user/a.md": "---\nname: A\n---\nbody\n"}, nil)
	for range 20 {
		write(t, filepath.Dir(h.dirs[0]), "user/a.md", "---\nname: A\npinned: true\n---\nbody\n")
		if op, err := h.Pin(t.Context(), h.target("user:a.md"), true); err != nil || op.ID != "" || op.Kind != memory.KindPin {
			t.Fatalf("%+v, %v", op, err)
		}
		write(t, filepath.Dir(h.dirs[0]), "user/a.md", "---\nname: A\n---\nbody\n")
		if op, err := h.Pin(t.Context(), h.target("user:a.md"), false); err != nil || op == nil {
			t.Fatalf("%+v, %v", op, err)
		}
	}
}

func TestPARSE_08_HeadersThatDoNotParseStay(t *testing.T) {
	broken := "---\ndescription: \"abc \"def\" ghi\"\ntags: x\nstatus: active\n---\n\n- The port of the berth is 22\n- other\n"
	h := keep(t, map[string]string{"user/ssh.md": broken}, nil)
	_, err := h.Pin(t.Context(), h.target("user:ssh.md"), true)
	h.refused(memory.RefusedConflict, err)
	h.remember(memory.Remember{Text: "The port of the berth is 22, since May", Scope: memory.ScopeUser})
	want := strings.Replace(broken, "berth is 22", "berth is 22, since May", 1)
	if got := h.read(1, "ssh.md"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	h.apply(h.forgetRefs("user:ssh.md#1"), memory.ApplyOptions{})
	if got := h.read(1, "ssh.md"); got != strings.Replace(want, "- other\n", "", 1) {
		t.Errorf("%q", got)
	}
}

func TestPARSE_10_OnlyOwnKeysAreTouched(t *testing.T) {
	before := "---\n# a comment\nname:    'The port is 22'   # quoted\ncustom: &a {x: 1}\nalias: *a\nblock: |\n  text\n\n  more\ncreated_at: 2026-01-01\nupdated_at: 2026-01-02 # by hand\n---\n\nThe port is 22\n"
	h := keep(t, map[string]string{"user/port.md": before}, nil)
	h.remember(memory.Remember{Text: "The port is 49222", Name: "The port is 22", Scope: memory.ScopeUser})
	want := strings.Replace(before, "2026-01-02 # by hand", "2026-02-06T09:00:00Z # by hand", 1)
	want = strings.Replace(want, "\nThe port is 22\n", "\nThe port is 49222\n", 1)
	if got := h.read(1, "port.md"); got != want {
		t.Errorf("%q, want\n%q", got, want)
	}
}

func TestFeedbackIsKeptBesideTheFiles(t *testing.T) {
	files := map[string]string{"user/a.md": "a\n"}
	h := keep(t, files, nil)
	for _, v := range []memory.Opinion{"useful", "useful", "wrong", "outdated"} {
		if _, err := h.Keeper.Vote(t.Context(), h.target("user:a.md"), v); err != nil {
			t.Fatal(err)
		}
	}
	_, err := h.Keeper.Vote(t.Context(), h.target("user:a.md"), "great")
	h.refused(memory.RefusedInput, err)
	_, err = h.Keeper.Vote(t.Context(), h.target("user:none.md"), "useful")
	h.refused(memory.RefusedNotFound, err)
	again := h.again(nil)
	if err := again.LoadFeedback(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*memory.Store{h.Store, again} {
		if v := s.Feedback()["user:a.md"]; v.Useful != 2 || v.Wrong != 1 || v.Outdated != 1 || v.Net() != 0 {
			t.Errorf("%+v", v)
		}
	}
	h.wantFiles("verdicts", files)
	// Broken state is put aside and reported, and does not stop the next verdict.
	path := filepath.Join(h.state, h.roots[1].ID, "feedback", "votes.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := again.LoadFeedback(); err == nil {
		t.Error("broken votes were read")
	}
	if _, err := h.Keeper.Vote(t.Context(), h.target("user:a.md"), "useful"); err != nil {
		t.Fatal(err)
	}
	if v := h.Store.Feedback()["user:a.md"]; v.Useful != 1 {
		t.Errorf("%+v", v)
	}
}
