package discovery_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/memory/discovery"
)

// world is a machine with a home directory and workspaces.
type world struct {
	t   *testing.T
	dir string
	env map[string]string
}

func newWorld(t *testing.T) *world {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, dir, map[string]string{}}
	w.mkdir("home")
	return w
}

func (w *world) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(w.dir, filepath.FromSlash(name))
}

func (w *world) mkdir(names ...string) {
	w.t.Helper()
	for _, name := range names {
		if err := os.MkdirAll(w.path(name), 0o755); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) write(name, text string) {
	w.t.Helper()
	w.mkdir(filepath.Dir(w.path(name)))
	if err := os.WriteFile(w.path(name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) link(target, name string) {
	w.t.Helper()
	w.mkdir(filepath.Dir(w.path(name)))
	if err := os.Symlink(target, w.path(name)); err != nil {
		w.t.Skipf("no symlinks here: %v", err)
	}
}

// slug is the name of a project's directory.
func (w *world) slug(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, w.path(name))
}

func (w *world) find(req discovery.Request, folders ...string) *discovery.Result {
	w.t.Helper()
	for _, f := range folders {
		req.Folders = append(req.Folders, w.path(f))
	}
	return discovery.Find(discovery.Env{
		Getenv: func(name string) string { return w.env[name] }, Home: w.path("home"), Temp: w.path("temp"), State: w.path("state"),
	}, req)
}

// roots are the roots of a result, as "scope path" below the world, with what
// keeps them from being served.
func (w *world) roots(r *discovery.Result) []string {
	var out []string
	for _, c := range r.Roots {
		s := string(c.Scope) + " " + w.rel(c.Path)
		if c.Untrusted {
			s += " untrusted"
		}
		if c.Refused != "" {
			s += " refused"
		}
		if _, err := os.Stat(c.Path); err != nil && !c.Untrusted && c.Refused == "" {
			s += " new"
		}
		out = append(out, s)
	}
	return out
}

func (w *world) rel(path string) string {
	rel, err := filepath.Rel(w.dir, path)
	if err != nil {
		w.t.Fatal(err)
	}
	return filepath.ToSlash(rel)
}

func (w *world) want(r *discovery.Result, roots ...string) {
	w.t.Helper()
	if got := w.roots(r); !slices.Equal(got, roots) {
		w.t.Errorf("roots\n%s\nwant\n%s\nplaces\n%s", strings.Join(got, "\n"), strings.Join(roots, "\n"), w.places(r))
	}
}

func (w *world) places(r *discovery.Result) string {
	var b strings.Builder
	for _, p := range r.Places {
		fmt.Fprintf(&b, "%s %s %s %s %s\n", p.Profile, p.Scope, w.rel(p.Path), p.State, p.Reason)
	}
	return b.String() + strings.Join(r.Notes, "\n")
}

// reason is why a place is not served.
func (w *world) reason(r *discovery.Result, path string, state discovery.State) string {
	w.t.Helper()
	for _, p := range r.Places {
		if w.rel(p.Path) == path && p.State == state {
			return p.Reason
		}
	}
	w.t.Errorf("no place %s that is %s among\n%s", path, state, w.places(r))
	return ""
}

// Every layout is found, from any folder of the repository, in one order.
func TestEveryLayoutIsFound(t *testing.T) {
	w := newWorld(t)
	w.mkdir("ws/.git", "ws/sub/deep", "ws/.memory", "ws/sub/.memory", "ws/.qwen/team-memory")
	qwen, claude := "home/.qwen/projects/"+w.slug("ws")+"/memory", "home/.claude/projects/"+w.slug("ws")+"/memory"
	w.mkdir(qwen, claude, "home/.qwen/memories", "home/.claude/memory", "home/.local/share/memls/user")
	all := w.find(discovery.Request{Trusted: true}, "ws/sub/deep")
	w.want(all, "project "+qwen, "project "+claude, "project ws/sub/.memory", "project ws/.memory", "team ws/.qwen/team-memory",
		"user home/.qwen/memories", "user home/.claude/memory", "user home/.local/share/memls/user")
	for _, c := range all.Roots {
		if own := c.Scope != memory.ScopeUser; c.Folders.Has("elsewhere") == own || own && c.Folders != memory.InFolders(w.path("ws/sub/deep")) {
			t.Errorf("%s belongs to %q", c.Path, c.Folders)
		}
	}
	if len(all.Notes) > 0 || all.Served() != 8 {
		t.Errorf("%d served, notes %q", all.Served(), all.Notes)
	}
	w.want(w.find(discovery.Request{Trusted: true, Profile: "qwen"}, "ws"), "project "+qwen, "team ws/.qwen/team-memory", "user home/.qwen/memories")
	w.want(w.find(discovery.Request{Trusted: true, Profile: "claude"}, "ws"), "project "+claude, "user home/.claude/memory")
	w.want(w.find(discovery.Request{Trusted: true, Profile: "plain"}, "ws"), "project ws/.memory", "user home/.local/share/memls/user")
	// Without a folder there is only what is the person's own.
	w.want(w.find(discovery.Request{}), "user home/.qwen/memories", "user home/.claude/memory", "user home/.local/share/memls/user")
}

// Where there is nothing, the plain places, or those of the one layout that was
// asked for, are where memories will be.
func TestPlacesForTheFirstMemory(t *testing.T) {
	w := newWorld(t)
	w.mkdir("ws/.git", "ws/sub")
	w.want(w.find(discovery.Request{Trusted: true}, "ws/sub"), "project ws/.memory new", "user home/.local/share/memls/user new")
	w.want(w.find(discovery.Request{Trusted: true, Profile: "qwen"}, "ws/sub"), "project home/.qwen/projects/"+w.slug("ws")+"/memory new", "user home/.qwen/memories new")
	w.want(w.find(discovery.Request{Trusted: true, Profile: "claude"}, "ws/sub"), "project home/.claude/projects/"+w.slug("ws")+"/memory new", "user home/.claude/memory new")
	// Nothing of a workspace that is not trusted is made a root before it is there.
	r := w.find(discovery.Request{}, "ws/sub")
	w.want(r, "user home/.local/share/memls/user new")
	if why := w.reason(r, "ws/.memory", discovery.StateAbsent); !strings.Contains(why, "trusted") {
		t.Errorf("reason %q", why)
	}
	w.env["XDG_DATA_HOME"] = w.path("data")
	w.mkdir("home/.claude/memory")
	w.want(w.find(discovery.Request{}), "user home/.claude/memory")
	w.mkdir("data/memls/user")
	w.want(w.find(discovery.Request{}), "user home/.claude/memory", "user data/memls/user")
}

// The variables of qwen-code decide as they do there, the more particular first.
func TestQwenVariables(t *testing.T) {
	w := newWorld(t)
	w.mkdir("ws/.git", "ws/sub")
	bases := []string{"a", "b", "c", "d", "home/.qwen"}
	for _, base := range bases {
		w.mkdir(base+"/memories", base+"/projects/"+w.slug("ws")+"/memory")
	}
	w.env["QWEN_CODE_MEMORY_BASE_DIR"], w.env["QWEN_RUNTIME_DIR"], w.env["QWEN_HOME"] = w.path("a"), w.path("b"), w.path("d")
	w.write("d/settings.json", `{ // mine
		"advanced": {"runtimeOutputDir": "~/../c",}, }`)
	for i, base := range bases {
		w.want(w.find(discovery.Request{Profile: "qwen"}, "ws/sub"), "project "+base+"/projects/"+w.slug("ws")+"/memory", "user "+base+"/memories")
		switch i {
		case 0:
			delete(w.env, "QWEN_CODE_MEMORY_BASE_DIR")
		case 1:
			delete(w.env, "QWEN_RUNTIME_DIR")
		case 2:
			w.write("d/settings.json", `{}`)
		case 3:
			delete(w.env, "QWEN_HOME")
		}
	}
	// What is no absolute path is not followed, and said.
	w.env["QWEN_RUNTIME_DIR"] = "relative"
	r := w.find(discovery.Request{Profile: "qwen"}, "ws")
	w.want(r, "project home/.qwen/projects/"+w.slug("ws")+"/memory", "user home/.qwen/memories")
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "QWEN_RUNTIME_DIR") {
		t.Errorf("notes %q", r.Notes)
	}
}

// The scope of a project, local mode, and what they leave out, with the reason.
func TestQwenProjectScope(t *testing.T) {
	w := newWorld(t)
	w.mkdir("ws/.git", "ws/sub/.qwen/memory", "home/.qwen/memories")
	whole, part := "home/.qwen/projects/"+w.slug("ws")+"/memory", "home/.qwen/projects/"+w.slug("ws/sub")+"/memory"
	w.mkdir(whole, part)
	req := discovery.Request{Profile: "qwen", Trusted: true}
	r := w.find(req, "ws/sub")
	w.want(r, "project "+whole, "user home/.qwen/memories")
	if why := w.reason(r, part, discovery.StateOff); !strings.Contains(why, "QWEN_CODE_MEMORY_PROJECT_SCOPE=workspace") {
		t.Errorf("reason %q", why)
	}
	if why := w.reason(r, "ws/sub/.qwen/memory", discovery.StateOff); !strings.Contains(why, "QWEN_CODE_MEMORY_LOCAL") {
		t.Errorf("reason %q", why)
	}
	w.env["QWEN_CODE_MEMORY_PROJECT_SCOPE"] = " Workspace "
	r = w.find(req, "ws/sub")
	w.want(r, "project "+part, "user home/.qwen/memories")
	w.reason(r, whole, discovery.StateOff)
	w.env["QWEN_CODE_MEMORY_PROJECT_SCOPE"] = "other"
	if r = w.find(req, "ws/sub"); len(r.Notes) != 1 || w.roots(r)[0] != "project "+whole {
		t.Errorf("%v, notes %q", w.roots(r), r.Notes)
	}
	delete(w.env, "QWEN_CODE_MEMORY_PROJECT_SCOPE")
	w.env["QWEN_CODE_MEMORY_LOCAL"] = "1"
	r = w.find(req, "ws/sub")
	w.want(r, "project ws/sub/.qwen/memory", "user home/.qwen/memories")
	w.reason(r, whole, discovery.StateOff)
	w.mkdir("ws/.qwen/team-memory")
	w.env["QWEN_CODE_MEMORY_TEAM"] = "0"
	w.reason(w.find(req, "ws/sub"), "ws/.qwen/team-memory", discovery.StateOff)
}

func TestClaudeSettings(t *testing.T) {
	w := newWorld(t)
	w.mkdir("ws/.git", "ws/sub", "kept")
	own := "home/.claude/projects/" + w.slug("ws") + "/memory"
	w.mkdir(own, "home/.claude/projects/"+w.slug("ws/sub")+"/memory")
	w.write("home/.claude/settings.json", `{"autoMemoryDirectory": "`+filepath.ToSlash(w.path("kept"))+`"}`)
	// A project's settings name nothing.
	w.write("ws/.claude/settings.json", `{"autoMemoryDirectory": "/"}`)
	w.write("ws/.claude/settings.local.json", `{"autoMemoryDirectory": "/"}`)
	r := w.find(discovery.Request{Profile: "claude", Trusted: true}, "ws/sub")
	w.want(r, "project kept", "project "+own, "user home/.claude/memory new")
	w.reason(r, "home/.claude/projects/"+w.slug("ws/sub")+"/memory", discovery.StateOff)
	for text, note := range map[string]string{
		`{"autoMemoryDirectory": "relative"}`: "no absolute path", `{"autoMemoryDirectory": 5}`: "left out of account", `{`: "left out of account",
		strings.Repeat(" ", 2<<20): "larger",
	} {
		w.write("home/.claude/settings.json", text)
		r := w.find(discovery.Request{Profile: "claude"}, "ws")
		if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], note) || w.roots(r)[0] != "project "+own {
			t.Errorf("%.40s: %v, notes %q", text, w.roots(r), r.Notes)
		}
	}
	w.env["CLAUDE_CONFIG_DIR"] = w.path("cfg")
	w.mkdir("cfg/memory")
	w.want(w.find(discovery.Request{Profile: "claude"}, "ws"), "project cfg/projects/"+w.slug("ws")+"/memory new", "user cfg/memory")
}

// Paths that make one name: the first project has the memory, the second is told
// whose it is, and gets it once the first is gone.
func TestNamesThatStandForSeveralPaths(t *testing.T) {
	w := newWorld(t)
	w.mkdir("w/a_b", "w/a-b", "w/日本", "w/中国")
	for _, pair := range [][2]string{{"w/a_b", "w/a-b"}, {"w/日本", "w/中国"}} {
		dir := "home/.qwen/projects/" + w.slug(pair[0]) + "/memory"
		if w.slug(pair[0]) != w.slug(pair[1]) {
			t.Fatal("the names differ")
		}
		w.mkdir(dir)
		req := discovery.Request{Profile: "qwen"}
		w.want(w.find(req, pair[0]), "project "+dir, "user home/.qwen/memories new")
		w.want(w.find(req, pair[0]), "project "+dir, "user home/.qwen/memories new")
		r := w.find(req, pair[1])
		w.want(r, "project "+dir+" refused", "user home/.qwen/memories new")
		if why := w.reason(r, dir, discovery.StateRefused); !strings.Contains(why, w.path(pair[0])) {
			t.Errorf("reason %q", why)
		}
		if err := os.Remove(w.path(pair[0])); err != nil {
			t.Fatal(err)
		}
		r = w.find(req, pair[1])
		w.want(r, "project "+dir, "user home/.qwen/memories new")
		if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "gone") {
			t.Errorf("notes %q", r.Notes)
		}
	}
	// A record that is no longer one is put aside, and another is made.
	records, err := filepath.Glob(w.path("state/projects/*.json"))
	if err != nil || len(records) != 2 {
		t.Fatalf("%v %v", records, err)
	}
	for _, record := range records {
		if err := os.WriteFile(record, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := w.find(discovery.Request{Profile: "qwen"}, "w/a-b")
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], ".corrupt") || r.Served() != 1 {
		t.Errorf("%s", w.places(r))
	}
	if r = w.find(discovery.Request{Profile: "qwen"}, "w/a-b"); len(r.Notes) != 0 {
		t.Errorf("notes %q", r.Notes)
	}
}

// Several folders: each has its own, what they share belongs to both.
func TestSeveralFolders(t *testing.T) {
	w := newWorld(t)
	w.mkdir("mono/.git", "mono/a/.memory", "mono/b/.memory", "mono/.memory", "other/.memory", "home/.qwen/memories")
	r := w.find(discovery.Request{Trusted: true}, "mono/a", "mono/b", "other")
	w.want(r, "project mono/a/.memory", "project mono/.memory", "project mono/b/.memory", "project other/.memory", "user home/.qwen/memories")
	a, b, other := w.path("mono/a"), w.path("mono/b"), w.path("other")
	for i, want := range []memory.Folders{memory.InFolders(a), memory.InFolders(a, b), memory.InFolders(b), memory.InFolders(other), ""} {
		if got := r.Roots[i].Folders; got != want {
			t.Errorf("%s belongs to %q, want %q", r.Roots[i].Path, got, want)
		}
	}
}

// A person may open the memories themselves.
func TestFoldersOfMemories(t *testing.T) {
	w := newWorld(t)
	w.mkdir("home/.qwen/projects/-x-y/memory/user", "home/.claude/projects/-z/memory", "notes/.memory", "home/.claude/memory")
	for folder, want := range map[string]string{
		"home/.qwen/projects/-x-y/memory/user": "project home/.qwen/projects/-x-y/memory", "home/.claude/projects/-z/memory": "project home/.claude/projects/-z/memory",
		"notes/.memory": "project notes/.memory",
	} {
		w.want(w.find(discovery.Request{Trusted: true}, folder), want, "user home/.claude/memory")
	}
}

// gitWorktree makes a linked worktree as git does.
func (w *world) gitWorktree(main, linked, name string) {
	admin := main + "/.git/worktrees/" + name
	w.write(linked+"/.git", "gitdir: "+w.path(admin)+"\n")
	w.write(admin+"/commondir", "../..\n")
	w.write(admin+"/gitdir", w.path(linked+"/.git")+"\n")
}

func TestLinkedWorktrees(t *testing.T) {
	w := newWorld(t)
	w.mkdir("main/.memory", "home/.qwen/memories")
	w.gitWorktree("main", "linked", "linked")
	of := func(name string) string { return "home/.qwen/projects/" + w.slug(name) + "/memory" }
	w.mkdir(of("main"), of("linked"), "linked/.qwen/team-memory", "home/.claude/projects/"+w.slug("main")+"/memory")
	user := "user home/.qwen/memories"
	r := w.find(discovery.Request{Trusted: true}, "linked")
	w.want(r, "project "+of("linked"), "team linked/.qwen/team-memory", user)
	if why := w.reason(r, "home/.claude/projects/"+w.slug("main")+"/memory", discovery.StateOff); !strings.Contains(why, "worktrees: share") {
		t.Errorf("reason %q", why)
	}
	r = w.find(discovery.Request{Trusted: true, Share: true}, "linked")
	w.want(r, "project "+of("main"), "project home/.claude/projects/"+w.slug("main")+"/memory", "project main/.memory", "team linked/.qwen/team-memory", user)
	// The main one and the linked one open together: one root for both.
	if r = w.find(discovery.Request{Trusted: true, Share: true}, "main", "linked"); r.Roots[0].Folders != memory.InFolders(w.path("main"), w.path("linked")) {
		t.Errorf("%+v", r.Roots[0])
	}
	w.mkdir("main/part/.qwen/memory", "linked/part/.qwen/memory")
	w.env["QWEN_CODE_MEMORY_LOCAL"] = "1"
	w.want(w.find(discovery.Request{Trusted: true, Share: true, Profile: "qwen"}, "linked/part"), "project main/part/.qwen/memory", "team linked/.qwen/team-memory", user)
	w.want(w.find(discovery.Request{Trusted: true, Profile: "qwen"}, "linked/part"), "project linked/part/.qwen/memory", "team linked/.qwen/team-memory", user)
	delete(w.env, "QWEN_CODE_MEMORY_LOCAL")
	// Without trust, git's files in the workspace say nothing.
	r = w.find(discovery.Request{Share: true}, "linked")
	w.want(r, "project "+of("linked"), "team linked/.qwen/team-memory untrusted", user)
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "not trusted") {
		t.Errorf("notes %q", r.Notes)
	}
	// A submodule and a bare repository.
	w.write("main/sub/.git", "gitdir: ../.git/modules/sub\n")
	w.mkdir("main/.git/modules/sub")
	w.mkdir(of("main/sub"))
	w.want(w.find(discovery.Request{Trusted: true, Share: true}, "main/sub"), "project "+of("main/sub"), user)
	w.write("bare.git/worktrees/x/commondir", "../..\n")
	w.write("bare.git/worktrees/x/gitdir", w.path("x/.git")+"\n")
	w.write("x/.git", "gitdir: "+w.path("bare.git/worktrees/x")+"\n")
	w.mkdir(of("bare.git"))
	w.want(w.find(discovery.Request{Trusted: true, Share: true, Profile: "qwen"}, "x"), "project "+of("bare.git"), user)
}

// SEC-07, SEC-09: a .git file cannot lead to the memory of another project.
func TestSEC_09_GitFilesThatLie(t *testing.T) {
	w := newWorld(t)
	w.mkdir("victim/.git/worktrees/real", "victim/.memory", "home/.qwen/projects/"+w.slug("victim")+"/memory")
	w.write("victim/.git/worktrees/real/commondir", "../..\n")
	w.write("victim/.git/worktrees/real/gitdir", w.path("elsewhere/.git")+"\n")
	for name, git := range map[string]string{
		"one that is another's": "gitdir: " + w.path("victim/.git/worktrees/real"),
		"none":                  "gitdir: " + w.path("victim/.git"),
		"its own":               "gitdir: ./fake",
		"nothing":               "",
		"long":                  "gitdir: " + strings.Repeat("x/", 20_000),
	} {
		w.write("evil/.git", git)
		w.write("evil/fake/commondir", w.path("victim/.git"))
		w.write("evil/fake/gitdir", w.path("evil/.git"))
		r := w.find(discovery.Request{Trusted: true, Share: true, Profile: "qwen"}, "evil")
		if got := w.roots(r)[0]; got != "user home/.qwen/memories new" && got != "project home/.qwen/projects/"+w.slug("evil")+"/memory new" {
			t.Errorf("%s: %v", name, w.roots(r))
		}
	}
}

// SEC-07: without trust nothing of the workspace is served, whatever it holds;
// what it holds changes neither trust nor roots.
func TestSEC_07_TheWorkspaceDecidesNothing(t *testing.T) {
	w := newWorld(t)
	w.mkdir("ws/.git", "ws/.memory", "ws/.qwen/team-memory", "ws/.qwen/memory", "home/.qwen/memories", "secret")
	w.write("ws/.qwen/settings.json", `{"trusted": true, "advanced": {"runtimeOutputDir": "/"}, "memory": {"enableTeamMemory": true}}`)
	w.write("ws/.claude/settings.json", `{"autoMemoryDirectory": "`+filepath.ToSlash(w.path("secret"))+`", "trusted": true}`)
	w.write("ws/.vscode/settings.json", `{"memls.trusted": true, "memls.roots": [{"scope": "user", "path": "/"}]}`)
	w.write("ws/.env", "QWEN_CODE_MEMORY_LOCAL=1\nQWEN_HOME=/\n")
	w.want(w.find(discovery.Request{}, "ws"), "project ws/.memory untrusted", "team ws/.qwen/team-memory untrusted", "user home/.qwen/memories")
	// Not even when the person's own variables lead there.
	w.env["QWEN_CODE_MEMORY_LOCAL"] = "1"
	w.env["QWEN_HOME"] = w.path("ws/.qwen")
	w.write("ws/.qwen/memories/x.md", "x")
	r := w.find(discovery.Request{}, "ws")
	w.want(r, "project ws/.qwen/memory untrusted", "project ws/.memory untrusted", "team ws/.qwen/team-memory untrusted", "user ws/.qwen/memories untrusted")
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "not read") || r.Served() != 0 || r.Closed() != 4 {
		t.Errorf("%s", w.places(r))
	}
}

// A link in a trusted workspace does not choose which directory is read.
func TestSEC_01_LinksOutOfTheWorkspace(t *testing.T) {
	w := newWorld(t)
	w.mkdir("ws/.git", "ws/notes", "other/.memory", "home/.qwen/memories")
	w.link(w.path("other/.memory"), "ws/.memory")
	w.link(w.path("other"), "ws/.qwen")
	w.mkdir("other/team-memory")
	r := w.find(discovery.Request{Trusted: true}, "ws")
	w.want(r, "project ws/.memory refused", "team ws/.qwen/team-memory refused", "user home/.qwen/memories")
	if err := os.Remove(w.path("ws/.memory")); err != nil {
		t.Fatal(err)
	}
	// One that stays inside is one of the person's own.
	w.link("notes", "ws/.memory")
	w.want(w.find(discovery.Request{Trusted: true}, "ws"), "project ws/.memory", "team ws/.qwen/team-memory refused", "user home/.qwen/memories")
	// The user's own directory may be a link, and the workspace may be reached through one.
	w.mkdir("dotfiles/memories")
	w.env["QWEN_HOME"] = w.path("q")
	w.mkdir("q")
	w.link(w.path("dotfiles/memories"), "q/memories")
	w.link(w.path("ws"), "alias")
	w.mkdir("q/projects/" + w.slug("ws") + "/memory")
	w.want(w.find(discovery.Request{Trusted: true, Profile: "qwen"}, "alias"), "project q/projects/"+w.slug("ws")+"/memory", "team alias/.qwen/team-memory refused", "user q/memories")
	// Places that are something else.
	w.write("ws2/.memory", "a file")
	w.link("nowhere", "ws2/.qwen/team-memory")
	w.want(w.find(discovery.Request{Trusted: true, Profile: "plain"}, "ws2"), "project ws2/.memory refused", "user home/.local/share/memls/user new")
	w.reason(w.find(discovery.Request{Trusted: true}, "ws2"), "ws2/.qwen/team-memory", discovery.StateRefused)
}

func TestTrustIsRemembered(t *testing.T) {
	w := newWorld(t)
	w.mkdir("ws/.git", "ws/sub", "ws/vendor/.git")
	state, now := w.path("state"), time.Now()
	trusted := func(dir string) bool {
		ok, err := discovery.Trusted(state, discovery.ProjectRoot(w.path(dir)))
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if trusted("ws") {
		t.Error("trusted from the beginning")
	}
	if err := discovery.SetTrusted(state, discovery.ProjectRoot(w.path("ws/sub")), true, now); err != nil {
		t.Fatal(err)
	}
	if !trusted("ws") || !trusted("ws/sub") || trusted("ws/vendor") {
		t.Error("trust is that of the project, and of none inside it")
	}
	if err := discovery.SetTrusted(state, w.path("ws"), false, now); err != nil || trusted("ws") {
		t.Errorf("trust was not withdrawn: %v", err)
	}
	if err := discovery.SetTrusted("", w.path("ws"), true, now); err == nil {
		t.Error("remembered nowhere")
	}
	records, err := filepath.Glob(filepath.Join(state, "trusted", "*"))
	if err != nil || len(records) != 0 {
		t.Errorf("left behind: %v %v", records, err)
	}
}
