package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/memls/memls/memory"
)

func TestRememberMakesOneMemory(t *testing.T) {
	for _, tt := range []struct {
		text        string
		ref         string
		name, desc  string
		typ, body   string
		withProject bool
	}{
		{text: "I prefer short answers", ref: "user:i-prefer-short-answers.md", name: "I prefer short answers", typ: "user", body: "I prefer short answers"},
		{text: "Remember that the staging database is rebuilt every Monday. It takes an hour.", ref: "user:the-staging-database-is-rebuilt-every-monday.md",
			name: "the staging database is rebuilt every Monday", typ: "user", body: "the staging database is rebuilt every Monday. It takes an hour."},
		{text: "always run the linter, then the tests", ref: "user:always-run-the-linter.md", name: "always run the linter", desc: "always run the linter, then the tests", typ: "feedback", body: "always run the linter, then the tests"},
		{text: "in this project, deploys need two approvals", ref: "project:in-this-project-deploys-need-two-approvals.md", name: "in this project, deploys need two approvals", typ: "user", body: "in this project, deploys need two approvals"},
		{text: "The dashboard is https://grafana.internal/d/12", ref: "user:the-dashboard-is-https-grafana-internal-d-12.md", name: "The dashboard is https://grafana.internal/d/12", typ: "reference", body: "The dashboard is https://grafana.internal/d/12"},
		{text: "# Tides\n\n- high at six\n- low at noon\n", ref: "user:tides.md", name: "Tides", typ: "user", body: "# Tides\n\n- high at six\n- low at noon"},
		{text: "ok", ref: "user:ok.md", name: "ok", typ: "user", body: "ok"},
		{text: "Merk dir bitte, dass Ana die Deploys freigibt", ref: "user:ana-die-deploys-freigibt.md", name: "Ana die Deploys freigibt", typ: "user", body: "Ana die Deploys freigibt"},
		{text: "Souviens-toi que l'échéance est vendredi", ref: "user:léchéance-est-vendredi.md", name: "l'échéance est vendredi", typ: "project", body: "l'échéance est vendredi"},
		{text: "Recuerda que nunca hay que tocar main", ref: "user:nunca-hay-que-tocar-main.md", name: "nunca hay que tocar main", typ: "feedback", body: "nunca hay que tocar main"},
		{text: "запомни, что всегда нужны два ревью", ref: "user:всегда-нужны-два-ревью.md", name: "всегда нужны два ревью", typ: "feedback", body: "всегда нужны два ревью"},
		{text: "Θυμήσου ότι το κύριο κλαδί λέγεται trunk", ref: "user:το-κύριο-κλαδί-λέγεται-trunk.md", name: "το κύριο κλαδί λέγεται trunk", typ: "user", body: "το κύριο κλαδί λέγεται trunk"},
		{text: "请记住：座位保留十分钟。之后释放。", ref: "user:座位保留十分钟.md", name: "座位保留十分钟", typ: "user", body: "座位保留十分钟。之后释放。"},
		{text: "デプロイは木曜日だけということを覚えておいて", ref: "user:デプロイは木曜日だけ.md", name: "デプロイは木曜日だけ", typ: "user", body: "デプロイは木曜日だけ"},
		{text: "배포는 항상 목요일이라는 것을 기억해줘", ref: "user:배포는-항상-목요일이.md", name: "배포는 항상 목요일이", typ: "feedback", body: "배포는 항상 목요일이"},
		{text: "تذكر أن النشر يوم الخميس", ref: "user:النشر-يوم-الخميس.md", name: "النشر يوم الخميس", typ: "user", body: "النشر يوم الخميس"},
		{text: "याद रखो कि हमेशा टैब का उपयोग करें", ref: "user:हमेशा-टैब-का-उपयोग-करें.md", name: "हमेशा टैब का उपयोग करें", typ: "feedback", body: "हमेशा टैब का उपयोग करें"},
		{text: "จำไว้ว่าใช้แท็บเสมอ", ref: "user:ใช้แท็บเสมอ.md", name: "ใช้แท็บเสมอ", typ: "feedback", body: "ใช้แท็บเสมอ"},
		{text: "hãy nhớ rằng bản phát hành vào thứ sáu", ref: "user:bản-phát-hành-vào-thứ-sáu.md", name: "bản phát hành vào thứ sáu", typ: "user", body: "bản phát hành vào thứ sáu"},
	} {
		t.Run(tt.ref, func(t *testing.T) {
			h := keep(t, nil, nil)
			kept := h.remember(memory.Remember{Text: tt.text})
			if got := mustUnescape(t, kept.Operation.Changes[0].Ref); got != tt.ref {
				t.Fatalf("remembered as %s", got)
			}
			d, ok := h.bench.Snapshot().Get(kept.Operation.Changes[0].Ref)
			if !ok {
				t.Fatal("not in the catalog when remember returns")
			}
			if tt.desc == "" {
				tt.desc = tt.name
			}
			if d.Title != tt.name || d.Description != tt.desc || d.Type != tt.typ || d.BodyText() != tt.body || len(d.Problems) > 0 {
				t.Errorf("name %q, description %q, type %q, body %q, problems %v", d.Title, d.Description, d.Type, d.BodyText(), d.Problems)
			}
			if d.CreatedAt != h.clock {
				t.Errorf("created at %v", d.CreatedAt)
			}
			// Saying it again changes nothing.
			again := h.remember(memory.Remember{Text: tt.text})
			if again.Operation != nil || len(again.Unchanged) == 0 || !strings.HasPrefix(again.Unchanged[0], d.Ref) {
				t.Errorf("said again: %+v", again)
			}
		})
	}
}

func mustUnescape(t *testing.T, ref string) string {
	t.Helper()
	r, err := memory.ParseRef(ref)
	if err != nil {
		t.Fatal(err)
	}
	return r.Prefix() + ":" + r.Rel
}

func TestRememberUpdatesInsteadOfTwinning(t *testing.T) {
	head := func(name string) string {
		return "---\nname: " + name + "\ndescription: " + name + "\ntype: user\ncreated_at: 2026-01-01T00:00:00Z\n---\n\n"
	}
	now := "updated_at: 2026-02-06T09:00:00Z\n"
	stamped := func(s string) string { return strings.Replace(s, "00:00:00Z\n", "00:00:00Z\n"+now, 1) }
	for name, tt := range map[string]struct {
		before, text, given string
		want                string // empty: unchanged
		twin                bool   // a second file is right
	}{
		"the same":                     {before: head("Tabs") + "Use tabs in Go files\n", text: "use tabs, in Go files!"},
		"one sentence of it":           {before: head("Tabs") + "Use tabs in Go files. It is the style of gofmt.\n", text: "it is the style of gofmt"},
		"as an entry":                  {before: head("Style") + "- Use tabs in Go files\n- Short names\n", text: "Use tabs in Go files"},
		"more":                         {before: head("Use tabs in Go") + "Use tabs in Go\n", text: "Use tabs in Go and in Makefiles", want: stamped(head("Use tabs in Go and in Makefiles")) + "Use tabs in Go and in Makefiles\n"},
		"more, as an entry":            {before: head("Style") + "* short names\n* use tabs in Go\n  Why: gofmt\n", text: "use tabs in Go always", want: stamped(head("Style")) + "* short names\n* use tabs in Go always\n  Why: gofmt\n"},
		"the opposite":                 {before: head("Use tabs in Go files") + "Use tabs in Go files\n", text: "Never use tabs in Go files", twin: true},
		"the opposite, in Russian":     {before: head("Деплой") + "Мы деплоим по пятницам\n", text: "Мы не деплоим по пятницам", twin: true},
		"the opposite, in Chinese":     {before: head("部署") + "周五可以部署\n", text: "周五不可以部署", twin: true},
		"what is denied is not known":  {before: head("Tabs") + "Never use tabs in Go\n", text: "use tabs in Go", twin: true},
		"不 is not dropped":             {before: head("缩进") + "不要使用制表符缩进代码\n", text: "使用制表符缩进代码", twin: true},
		"another value, the same name": {before: head("SSH port") + "The SSH port is 22\n", text: "The SSH port is 49222", given: "ssh PORT", want: stamped(head("SSH port")) + "The SSH port is 49222\n"},
		"another value in its name":    {before: head("Port") + "The SSH port is 22\n", text: "The SSH port is 49222", twin: true},
		"another thing":                {before: head("Dark mode in the editor") + "Dark mode in the editor\n", text: "Dark mode in the terminal", twin: true},
		"a long twin of another thing": {before: head("Deploys") + "The staging deploy needs the VPN before it is run by anyone on the platform team\n", text: "The production deploy needs the VPN before it is run by anyone on the platform team", twin: true},
		"another sign":                 {before: head("Limit") + "The limit is > 5\n", text: "The limit is < 5", twin: true},
		"another language":             {before: head("C") + "I write C\n", text: "I write C++", twin: true},
		"the same name":                {before: head("Tides") + "High at six\n", text: "Low at noon", given: "tides", want: stamped(head("Tides")) + "High at six\n\nLow at noon\n"},
		"the same name, a list":        {before: head("Tides") + "- High at six\n- Calm\n\n", text: "Low\nat noon", given: "Tides", want: stamped(head("Tides")) + "- High at six\n- Calm\n- Low\n  at noon\n\n"},
		"the same name, nothing yet":   {before: head("Tides") + "# Tides\n\n_No entries yet._\n", text: "Low at noon", given: "Tides", want: stamped(head("Tides")) + "# Tides\n\nLow at noon\n"},
		"superseded":                   {before: "---\nname: Tides\nstatus: superseded\n---\nLow at noon\n", text: "Low at noon", given: "Tides", twin: true},
		"crlf":                         {before: "---\r\nname: Tides\r\n---\r\n- High at six\r\n", text: "Low\nat noon", given: "Tides", want: "---\r\nname: Tides\r\n---\r\n- High at six\r\n- Low\r\n  at noon\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			h := keep(t, map[string]string{"user/old.md": tt.before}, nil)
			kept := h.remember(memory.Remember{Text: tt.text, Name: tt.given, Scope: memory.ScopeUser})
			files := h.files()
			switch {
			case tt.twin:
				if len(files) != 2 || files["user/old.md"] != tt.before {
					t.Errorf("files %q", files)
				}
			case tt.want == "":
				if kept.Operation != nil || len(kept.Unchanged) != 1 {
					t.Errorf("%+v", kept)
				}
				h.wantFiles("unchanged", map[string]string{"user/old.md": tt.before})
			default:
				h.wantFiles("updated", map[string]string{"user/old.md": tt.want})
			}
		})
	}
}

func TestRememberChoosesTheRoot(t *testing.T) {
	readOnlyUser := func(h *house) { h.roots[1] = cloneRoot(h.roots[1], func(r *memory.Root) { r.ReadOnly = true }) }
	h := keep(t, nil, nil)
	if got := h.remember(memory.Remember{Text: "one thing"}).Operation.Changes[0].Ref; got != "user:one-thing.md" {
		t.Error(got)
	}
	readOnlyUser(h)
	if got := h.remember(memory.Remember{Text: "another thing"}).Operation.Changes[0].Ref; got != "project:another-thing.md" {
		t.Error(got)
	}
	_, err := h.Remember(t.Context(), memory.Remember{Text: "a third", Scope: memory.ScopeUser}, true)
	h.refused(memory.RefusedReadOnly, err)
	h.roots[2] = cloneRoot(h.roots[2], func(r *memory.Root) { r.Untrusted = true })
	_, err = h.Remember(t.Context(), memory.Remember{Text: "a third", Scope: memory.ScopeTeam}, true)
	h.refused(memory.RefusedUntrusted, err)
	h.roots = h.roots[1:2]
	_, err = h.Remember(t.Context(), memory.Remember{Text: "a third", Scope: memory.ScopeTeam}, true)
	h.refused(memory.RefusedNotFound, err)
	// Only roots of the folder are written to.
	h.roots = []*memory.Root{cloneRoot(h.roots[0], func(r *memory.Root) { r.Scope, r.Folders, r.ReadOnly = memory.ScopeProject, "/elsewhere", false })}
	_, err = h.Remember(t.Context(), memory.Remember{Text: "a third", Folder: "/here"}, true)
	h.refused(memory.RefusedNotFound, err)
}

func cloneRoot(r *memory.Root, change func(*memory.Root)) *memory.Root {
	c := *r
	change(&c)
	return &c
}

func TestRememberRefuses(t *testing.T) {
	h := keep(t, nil, nil)
	for _, tt := range []struct {
		q     memory.Remember
		kind  memory.RefusalKind
		field string
	}{
		{memory.Remember{Text: ""}, memory.RefusedInput, "text"},
		{memory.Remember{Text: " \n\t\u200b"}, memory.RefusedInput, "text"},
		{memory.Remember{Text: "..."}, memory.RefusedInput, "text"},
		{memory.Remember{Text: "x", Scope: "galaxy"}, memory.RefusedInput, "scope"},
		{memory.Remember{Text: strings.Repeat("x", memory.MaxRememberBytes+1)}, memory.RefusedTooLarge, ""},
		{memory.Remember{Text: "the token is ghp_" + drawn(base62, 36, 3)}, memory.RefusedSecret, ""},
		{memory.Remember{Text: "fine", Name: "sk-ant-api03-" + drawn(base62, 90, 4)}, memory.RefusedSecret, ""},
		{memory.Remember{Text: "fine", Keywords: []string{"AKI" + "A" + drawn(upper32, 16, 5)}}, memory.RefusedSecret, ""},
	} {
		for _, scope := range []memory.Scope{"", memory.ScopeProject, memory.ScopeTeam} {
			if tt.q.Scope == "" {
				tt.q.Scope = scope
			}
			for _, apply := range []bool{true, false} {
				_, err := h.Remember(t.Context(), tt.q, apply)
				r := h.refused(tt.kind, err)
				if r.Field != tt.field || strings.Contains(r.Detail, "ghp_") || strings.Contains(r.Detail, "sk-ant") {
					t.Errorf("%.40q: %+v", tt.q.Text, r)
				}
				if tt.kind == memory.RefusedSecret && !strings.Contains(r.Detail, "-token") && !strings.Contains(r.Detail, "-key") {
					t.Errorf("the rule is not named: %q", r.Detail)
				}
			}
		}
	}
	h.wantFiles("refused", map[string]string{})
}

func TestRememberAsAPlanWritesNothing(t *testing.T) {
	h := keep(t, nil, nil)
	kept, err := h.Remember(t.Context(), memory.Remember{Text: "tides are high"}, false)
	if err != nil || kept.Plan == nil || kept.Operation != nil {
		t.Fatalf("%+v, %v", kept, err)
	}
	h.wantFiles("a plan", map[string]string{})
	h.apply(kept.Plan, memory.ApplyOptions{})
	if got := len(h.files()); got != 1 {
		t.Errorf("%d files", got)
	}
}

// Text that would be something else in a header, or in a list, stays what it is.
func TestRememberedTextIsData(t *testing.T) {
	for _, text := range []string{
		"yes: no", "# heading", "'quoted' and \"quoted\"", "a: b: c #d", "- [ ] task", "--- not a fence", "---\nname: evil\npinned: true\n---\nbody", "{a: b}", "[x]", "*alias", "&anchor",
		"!!python/object", "null", "true", "2026-01-01", "%TAG", "@at", "`code` first", "back\\slash \\n", "colon:", "> quote", "| pipe |", "trailing # comment", "emoji 🚀 only", "~", "=", "tab\there",
	} {
		for _, name := range []string{"", text} {
			h := keep(t, nil, nil)
			kept := h.remember(memory.Remember{Text: "About this thing\n\n" + text, Name: name, Keywords: []string{text, "plain"}})
			d, ok := h.bench.Snapshot().Get(kept.Operation.Changes[0].Ref)
			if !ok {
				t.Fatalf("%q is not catalogued", text)
			}
			want := memory.CleanLine(name)
			if name == "" {
				want = "About this thing"
			}
			if d.Title != want || !strings.HasSuffix(d.BodyText(), text) || d.Pinned || len(d.Problems) > 0 || len(d.Keywords) != 2 || d.Keywords[0] != memory.CleanLine(text) {
				t.Errorf("%q: title %q, keywords %q, pinned %v, problems %v, body %q", text, d.Title, d.Keywords, d.Pinned, d.Problems, d.BodyText())
			}
		}
	}
}

func TestRememberNamesAreFree(t *testing.T) {
	h := keep(t, map[string]string{"user/feedback/x.md": "x\n", "user/user/tides.MD": "---\nname: one\n---\ntaken by case\n", "user/user/tides-2.md": "---\nname: two\n---\ntaken\n"}, nil)
	kept := h.remember(memory.Remember{Text: "something new", Name: "Tides!"})
	if got := kept.Operation.Changes[0].Ref; got != "user:user/tides-3.md" {
		t.Errorf("remembered as %s", got)
	}
	if len(h.files()) != 4 {
		t.Errorf("files %v", h.files())
	}
}

// Whoever says the same at once makes one memory.
func TestRememberTogether(t *testing.T) {
	h := keep(t, nil, nil)
	var wg sync.WaitGroup
	made := make([]bool, 8)
	for i := range made {
		wg.Go(func() {
			kept, err := h.Remember(t.Context(), memory.Remember{Text: "tides are high at six"}, true)
			if err != nil {
				t.Error(err)
				return
			}
			made[i] = kept.Operation != nil
		})
	}
	wg.Wait()
	if n := len(slices.DeleteFunc(made, func(b bool) bool { return !b })); n != 1 || len(h.files()) != 1 {
		t.Errorf("%d made, files %v", n, h.files())
	}
}

// The ranker only saves work: what it finds and what a look at everything finds
// are treated alike.
func TestRememberManyStayApart(t *testing.T) {
	h := keep(t, nil, nil)
	for i := range 30 {
		h.remember(memory.Remember{Text: fmt.Sprintf("Berth %d belongs to ship %d", i, i*i), Scope: memory.ScopeProject})
	}
	if got := len(h.files()); got != 30 {
		t.Errorf("%d files", got)
	}
}
