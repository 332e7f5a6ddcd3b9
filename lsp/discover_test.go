package lsp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/memory"
	"github.com/memls/memls/memory/discovery"
	"github.com/memls/memls/recall/model/modeltest"
)

// finding is a machine whose home directory and variables are those of the test.
type finding struct {
	store
	env map[string]string
}

func newFinding(t *testing.T) finding {
	s := newStore(t, nil)
	dir, err := filepath.EvalSymlinks(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	s.dir = dir
	return finding{s, map[string]string{}}
}

func (f finding) options() lsp.MemoryOptions {
	return lsp.MemoryOptions{Discover: func(r discovery.Request) *discovery.Result {
		return discovery.Find(discovery.Env{Getenv: func(name string) string { return f.env[name] }, Home: f.path("home"), State: f.path("state")}, r)
	}}
}

// slug is the directory that agents keep the memory of a project in.
func (f finding) slug(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, f.path(name))
}

func (d *desk) folders(added, removed []string) {
	d.t.Helper()
	event := map[string][]lsp.Folder{"added": {}, "removed": {}}
	for _, path := range added {
		event["added"] = append(event["added"], lsp.Folder{URI: "file://" + path})
	}
	for _, path := range removed {
		event["removed"] = append(event["removed"], lsp.Folder{URI: "file://" + path})
	}
	d.notify("workspace/didChangeWorkspaceFolders", map[string]any{"event": event})
}

// titles are those of what a query finds, of all that is served to a folder.
func (d *desk) titles(query string, folder ...string) string {
	d.t.Helper()
	p := lsp.SearchParams{Query: query}
	if len(folder) > 0 {
		p.Folder = "file://" + folder[0]
	}
	var found lsp.SearchResult
	d.call("memory/search", p, &found)
	var out []string
	for _, doc := range found.Documents {
		out = append(out, doc.Title)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// Without roots the workspace's memories are found where agents and people keep
// them, and the status tells every place that was looked at.
func TestRootsAreDiscovered(t *testing.T) {
	f := newFinding(t)
	f.write("ws/.git/HEAD", "")
	f.write("ws/sub/x.go", "")
	f.write("ws/.memory/a.md", note("Plain fish", "d", "zebrafish"))
	f.write("ws/.qwen/team-memory/t.md", note("Team fish", "d", "zebrafish"))
	f.write("home/.qwen/projects/"+f.slug("ws")+"/memory/q.md", note("Qwen fish", "d", "zebrafish"))
	f.write("home/.claude/projects/"+f.slug("ws")+"/memory/c.md", note("Claude fish", "d", "zebrafish"))
	f.write("home/.qwen/memories/u.md", note("User fish", "d", "zebrafish"))
	d := sit(t, f.options(), lsp.InitializationOptions{Trusted: true}, memoryClient{Folders: []string{f.path("ws/sub")}}).settled()
	if got := d.titles("zebrafish"); got != "Claude fish, Plain fish, Qwen fish, Team fish, User fish" {
		t.Errorf("found %s", got)
	}
	s := d.status()
	states := map[string]int{}
	for _, p := range s.Discovered {
		states[p.State]++
		if p.State == "served" == (p.Reason != "") {
			t.Errorf("%+v", p)
		}
	}
	if states["served"] != 5 || states["absent"] == 0 || len(s.Roots) != 5 || s.Roots[0].Profile != "qwen" || !slices.Equal(s.Roots[0].Folders, []string{f.path("ws/sub")}) {
		t.Errorf("%v %+v", states, s)
	}
	// Roots that are named replace discovery, and null brings it back.
	d.configure(`{"roots":[]}`)
	if s := d.settled().status(); len(s.Roots) != 0 || len(s.Discovered) != 0 {
		t.Errorf("%+v", s)
	}
	d.configure(`{"roots":null,"profile":"claude"}`)
	if got := d.settled().titles("zebrafish"); got != "Claude fish" {
		t.Errorf("of one profile: %s", got)
	}
	// Those of the command line, too.
	opt := f.options()
	opt.Roots = []memory.RootConfig{{Scope: memory.ScopeProject, Path: f.path("ws/.memory")}}
	if got := sit(t, opt, lsp.InitializationOptions{}).settled().titles("zebrafish"); got != "Plain fish" {
		t.Errorf("of the command line: %s", got)
	}
}

// SEC-07: a workspace that is not trusted is listed and not read, trust opens
// it, and nothing that lies in it grants any.
func TestSEC_07_DiscoveredInAnUntrustedWorkspace(t *testing.T) {
	f := newFinding(t)
	f.write("ws/.git/HEAD", "")
	f.write("ws/.memory/a.md", note("Project fish", "d", "zebrafish"))
	f.write("ws/.qwen/team-memory/t.md", note("Team fish", "d", "zebrafish"))
	f.write("ws/.vscode/settings.json", `{"memls.trusted":true,"memls":{"trusted":true,"roots":[{"scope":"user","path":"/"}],"model":{"baseURL":"http://127.0.0.1:9"}}}`)
	f.write("ws/.qwen/settings.json", `{"trusted":true,"memory":{"enableTeamMemory":true}}`)
	f.write("home/.qwen/memories/u.md", note("User fish", "d", "zebrafish"))
	ws := f.path("ws")
	d := sit(t, f.options(), lsp.InitializationOptions{}, memoryClient{Folders: []string{ws}}).settled()
	if got := d.titles("zebrafish"); got != "User fish" {
		t.Errorf("untrusted: %s", got)
	}
	untrusted := 0
	for _, r := range d.status().Roots {
		if r.State == "untrusted" {
			untrusted++
		}
	}
	if s := d.status(); untrusted != 2 || s.Model.State != "none" {
		t.Errorf("%+v", s)
	}
	d.configure(`{"trusted":true}`)
	if got := d.settled().titles("zebrafish"); got != "Project fish, Team fish, User fish" {
		t.Errorf("trusted: %s", got)
	}
	d.configure(`{"trusted":false}`)
	if got := d.settled().titles("zebrafish"); got != "User fish" {
		t.Errorf("no longer trusted: %s", got)
	}
}

// Several folders are several projects: each sees its own and what they share.
func TestSEC_09_DiscoveredFoldersAreApart(t *testing.T) {
	f := newFinding(t)
	for _, name := range []string{"one", "two"} {
		f.write(name+"/.git/HEAD", "")
		f.write(name+"/.memory/same.md", note(name+" fish", "d", "zebrafish"))
	}
	f.write("home/.qwen/memories/u.md", note("user fish", "d", "zebrafish"))
	d := sit(t, f.options(), lsp.InitializationOptions{Trusted: true}, memoryClient{Folders: []string{f.path("one"), f.path("two")}}).settled()
	for folder, want := range map[string]string{"one": "one fish, user fish", "two": "two fish, user fish", "three": "user fish"} {
		if got := d.titles("zebrafish", f.path(folder)); got != want {
			t.Errorf("%s: %s", folder, got)
		}
		r := d.recall(lsp.RecallParams{Session: folder, Query: "zebrafish", Folder: "file://" + f.path(folder)})
		if len(r.all()) != strings.Count(want, ",")+1 {
			t.Errorf("recall in %s: %v", folder, r.all())
		}
	}
	if got := d.titles("zebrafish"); got != "one fish, user fish" {
		t.Errorf("the first folder: %s", got)
	}
	// Folders of one repository share what belongs to all of it.
	f.write("one/a/.memory/a.md", note("a fish", "d", "zebrafish"))
	f.write("one/b/x", "")
	d.folders([]string{f.path("one/a"), f.path("one/b")}, []string{f.path("one"), f.path("two")})
	d.settled()
	if got := d.titles("zebrafish", f.path("one/a")); got != "a fish, one fish, user fish" {
		t.Errorf("a: %s", got)
	}
	if got := d.titles("zebrafish", f.path("one/b")); got != "one fish, user fish" {
		t.Errorf("b: %s", got)
	}
}

// PROTO-06: folders come and go while a recall is under way; results are those
// of the folders that are open, and a folder that has gone is let go of.
func TestPROTO_06_FoldersChangeWhileARecallRuns(t *testing.T) {
	f := newFinding(t)
	for name, text := range gateways() {
		f.write("a/.memory/"+name, text)
	}
	f.write("b/.memory/g.md", note("Gateway of B", "gateway timeouts", "gateway timeout"))
	for name, text := range others() {
		f.write("b/.memory/"+name, text)
	}
	stub := modeltest.New(t)
	release := make(chan struct{})
	stub.Otherwise(modeltest.When(release, modeltest.Choose("Gateway rule 4")))
	settings := asking(f.store, stub)
	settings.Roots = nil
	d := sit(t, f.options(), settings, memoryClient{Folders: []string{f.path("a")}}).settled()
	p := lsp.RecallParams{Token: "r", Session: "a", Query: "gateway timeout"}
	pending := d.begin(p)
	d.awaitFast("r")
	d.folders([]string{f.path("b")}, nil)
	d.folders(nil, []string{f.path("a")})
	d.settled()
	for _, r := range d.status().Roots {
		if !strings.HasPrefix(r.Path, f.path("b")) && r.Scope != "user" {
			t.Errorf("still served: %s", r.Path)
		}
	}
	close(release)
	if r := d.finish(pending, p); len(r.refined.Documents) != 0 {
		t.Errorf("of a folder that has gone: %v", refs(r.refined.Documents))
	}
	if r := d.recall(lsp.RecallParams{Session: "a", Query: "gateway timeout"}); len(r.all()) != 0 {
		t.Errorf("the session of a folder that has gone got %v", r.all())
	}
	wantRefs(t, "the folder that came", d.recall(lsp.RecallParams{Session: "b", Query: "gateway timeout"}).all(), "project:g.md")
	// Folders that are no directories of this machine bring nothing.
	d.notify("workspace/didChangeWorkspaceFolders", `{"event":{"added":[{"uri":"untitled:x","name":"x"},{"uri":"vscode-remote://h/y","name":"y"}],"removed":[]}}`)
	if len(d.settled().status().Roots) != 2 {
		t.Errorf("%+v", d.status().Roots)
	}
}

// A directory in which an agent begins to keep memories is noticed, one that has
// gone as well.
func TestMemoriesThatAppearAreFound(t *testing.T) {
	f := newFinding(t)
	f.write("ws/.git/HEAD", "")
	for name, text := range others() {
		f.write("ws/.memory/"+name, text)
	}
	look := make(chan time.Time)
	opt := f.options()
	opt.After = func(d time.Duration) <-chan time.Time {
		if d == 10*time.Second {
			return look
		}
		return time.After(d)
	}
	d := sit(t, opt, lsp.InitializationOptions{Trusted: true}, memoryClient{Folders: []string{f.path("ws")}}).settled()
	dir := "home/.claude/projects/" + f.slug("ws") + "/memory"
	f.write(dir+"/c.md", note("Claude fish", "d", "zebrafish"))
	look <- time.Time{}
	look <- time.Time{} // the look before has ended
	d.settled()
	if got := d.titles("zebrafish"); got != "Claude fish" {
		t.Errorf("found %q", got)
	}
	if err := os.RemoveAll(f.path("home/.claude")); err != nil {
		t.Fatal(err)
	}
	look <- time.Time{}
	look <- time.Time{}
	for _, r := range d.settled().status().Roots {
		if r.Path == f.path(dir) {
			t.Errorf("still served: %+v", r)
		}
	}
}

// Where nothing has been remembered yet, a recall says so, and the first memory
// is found without a look around.
func TestNothingIsThereYet(t *testing.T) {
	f := newFinding(t)
	f.write("ws/.git/HEAD", "")
	d := sit(t, f.options(), lsp.InitializationOptions{Trusted: true}, memoryClient{Folders: []string{f.path("ws")}}).settled()
	if r := d.ask("zebrafish"); r.response.Outcome != "not_started" || r.response.Reason != "no_roots" {
		t.Errorf("%+v", r.response)
	}
	s := d.status()
	if len(s.Roots) != 2 || s.Roots[0].State != "missing" || s.Roots[0].Path != f.path("ws/.memory") {
		t.Errorf("%+v", s.Roots)
	}
	f.write("ws/.memory/a.md", note("First fish", "d", "zebrafish"))
	d.until("the first memory", func(l lsp.ListResult) bool { return len(l.Documents) == 1 })
	wantRefs(t, "the first memory", d.ask("zebrafish").all(), "project:a.md")
}

// Two projects whose paths make the same name: the status says whose it is.
func TestClashingProjectsAreReported(t *testing.T) {
	f := newFinding(t)
	f.write("w/a_b/.git/HEAD", "")
	f.write("w/a-b/.git/HEAD", "")
	f.write("home/.qwen/projects/"+f.slug("w/a_b")+"/memory/q.md", note("Fish", "d", "zebrafish"))
	for i, name := range []string{"w/a_b", "w/a-b"} {
		d := sit(t, f.options(), lsp.InitializationOptions{}, memoryClient{Folders: []string{f.path(name)}}).settled()
		if got, want := d.titles("zebrafish"), []string{"Fish", ""}[i]; got != want {
			t.Errorf("%s: %q", name, got)
		}
		root := d.status().Roots[0]
		if want := []string{"ready", "error"}[i]; root.State != want || i == 1 && !strings.Contains(root.Reason, f.path("w/a_b")) {
			t.Errorf("%s: %+v", name, root)
		}
	}
}

func TestFolderCapabilityIsDeclared(t *testing.T) {
	d := ring(t, lsp.MemoryOptions{})
	var result struct {
		Capabilities struct {
			Workspace struct {
				WorkspaceFolders struct{ Supported, ChangeNotifications bool }
			}
		}
	}
	d.call("initialize", fmt.Sprintf(`{"processId":null,"capabilities":{},"workspaceFolders":[{"uri":"file://%s","name":"x"}]}`, t.TempDir()), &result)
	if w := result.Capabilities.Workspace.WorkspaceFolders; !w.Supported || !w.ChangeNotifications {
		t.Errorf("%+v", result)
	}
}

// The status shows where an index and the files beside it differ, both ways.
func TestIndexDriftIsInTheStatus(t *testing.T) {
	s := newStore(t, map[string]string{
		"a.md": note("A", "d", "x"), "left out.md": note("B", "d", "x"), "old.md": "---\nexpires_at: 2001-01-01\n---\nx",
		"MEMORY.md": "# Index\n\n- [A](a.md) — x\n- [Gone](gone.md) — y\n",
	})
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	want := lsp.IndexStatus{
		Listed: 1, Missing: []lsp.IndexedName{{Target: "gone.md", Line: 3}}, MissingTotal: 1, Unlisted: []string{"project:left%20out.md"}, UnlistedTotal: 1, Lines: 4, Bytes: 51,
	}
	if got := d.status().Roots[0].Index; got == nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := sit(t, lsp.MemoryOptions{}, serving(newStore(t, gateways()))).settled().status().Roots[0].Index; got != nil {
		t.Errorf("without an index: %+v", got)
	}
}
