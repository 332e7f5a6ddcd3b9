package lsp_test

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/memory"
)

func TestRootPathsAreChecked(t *testing.T) {
	for _, path := range []string{"notes", "./notes", "~/notes", "~", "vscode-remote://ssh/notes", "file:notes", "file://host/notes", "a\x00b", "/a\x00b"} {
		d := ring(t, lsp.MemoryOptions{})
		err := d.initialize(lsp.InitializationOptions{Roots: []lsp.RootOption{{Scope: "user", Path: t.TempDir()}, {Scope: "user", Path: path}}})
		if code(err) != -32602 || data[lsp.ParamErrorData](t, err).Field != "initializationOptions.roots[1].path" {
			t.Errorf("%q: %v", path, err)
		}
		// A client may try again.
		if err := d.initialize(lsp.InitializationOptions{}); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
	s := newStore(t, nil)
	s.write("a b/n.md", note("Fish", "d", "zebrafish"))
	uri := "file://" + filepath.ToSlash(s.dir) + "/a%20b"
	d := sit(t, lsp.MemoryOptions{}, lsp.InitializationOptions{Roots: []lsp.RootOption{{Scope: "user", Path: uri}}}).settled()
	wantRefs(t, "file URI", d.ask("zebrafish").all(), "user:n.md")
}

// Roots that are no directories are listed with the reason, and others go on.
func TestRootsThatAreNone(t *testing.T) {
	s := newStore(t, gateways())
	trash := newStore(t, map[string]string{"file": "x"})
	if err := os.Symlink(trash.path("loop"), trash.path("loop")); err != nil {
		t.Fatal(err)
	}
	fifo(t, trash.path("fifo"))
	for _, alone := range []bool{true, false} {
		options := lsp.InitializationOptions{Roots: []lsp.RootOption{
			{Scope: "user", Path: trash.path("file")}, {Scope: "user", Path: trash.path("fifo")}, {Scope: "user", Path: trash.path("loop")},
		}}
		if !alone {
			options.Roots = append(options.Roots, lsp.RootOption{Scope: "user", Path: trash.path("missing")}, s.root("project"))
		}
		d := sit(t, lsp.MemoryOptions{}, options).settled()
		for i, root := range d.status().Roots {
			want := "error"
			switch i {
			case 3:
				want = "missing"
			case 4:
				want = "ready"
			}
			if root.State != want || (root.Reason == "") != (want == "ready") {
				t.Errorf("%s: %s %s", root.Path, root.State, root.Reason)
			}
			// One that is missing is watched for as soon as its watcher has started.
			if none := root.Watch.Mode == "none"; want != "missing" && none != (want == "error") {
				t.Errorf("%s: watched by %q", root.Path, root.Watch.Mode)
			}
		}
		r := d.ask("gateway timeout")
		if alone && r.response.Reason != "no_roots" || !alone && len(r.all()) != 5 {
			t.Errorf("%v %+v", r.all(), r.response)
		}
		if alone {
			// Why there is nothing is told.
			for _, part := range []string{"file: not a directory (error)", "fifo: not a directory (error)", "loop: cannot be resolved: its symlinks lead in a circle (error)"} {
				if !strings.Contains(r.response.Detail, part) {
					t.Errorf("detail %q, want %q in it", r.response.Detail, part)
				}
			}
			continue
		}
		unavailable := 0
		for _, g := range r.fast.Degraded {
			if g.Reason == "root_unavailable" {
				unavailable++
			}
		}
		if unavailable != 3 {
			t.Errorf("degraded %+v", r.fast.Degraded)
		}
	}
	d := sit(t, lsp.MemoryOptions{}, lsp.InitializationOptions{Roots: []lsp.RootOption{}}).settled()
	if r := d.ask("gateway timeout"); r.response.Detail != "no root is named, and none was found" {
		t.Errorf("without roots: %+v", r.response)
	}
}

// A directory that is named under two scopes is one root, and the status says so.
func TestRootNamedTwice(t *testing.T) {
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{}, lsp.InitializationOptions{Roots: []lsp.RootOption{s.root("project"), s.root("user"), s.root("project")}}).settled()
	status := d.status()
	if len(status.Roots) != 1 || len(status.Notes) != 1 || !strings.Contains(status.Notes[0], "is named as project and as user;") {
		t.Errorf("%d roots, notes %q", len(status.Roots), status.Notes)
	}
	d.configure(`{"roots":[{"scope":"user","path":"` + s.dir + `"}]}`)
	d.settled()
	if status := d.status(); len(status.Notes) != 0 || status.Roots[0].Scope != "user" {
		t.Errorf("notes %q", status.Notes)
	}
}

// SEC-07: a root inside a workspace that is not trusted is listed and not read,
// however its path is written; trust opens it and closes it again.
func TestSEC_07_UntrustedWorkspace(t *testing.T) {
	ws, home := newStore(t, nil), newStore(t, map[string]string{"u.md": note("User fish", "d", "zebrafish of the user")})
	ws.write("mem/p.md", note("Project fish", "d", "zebrafish of the project"))
	ws.write("team/t.md", note("Team fish", "d", "zebrafish of the team"))
	for name, text := range others() {
		home.write(name, text)
	}
	// A workspace may link to what lies outside, and be linked to from there.
	outside := newStore(t, map[string]string{"o.md": note("Outside fish", "d", "zebrafish from outside")})
	if err := os.Symlink(outside.dir, ws.path("out")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(ws.path("mem"), home.path("in")); err != nil {
		t.Fatal(err)
	}
	options := lsp.InitializationOptions{Roots: []lsp.RootOption{
		{Scope: "project", Path: ws.path("mem")}, {Scope: "team", Path: ws.path("team")}, {Scope: "user", Path: ws.path("out")},
		home.root("user"),
	}}
	d := sit(t, lsp.MemoryOptions{}, options, memoryClient{Folders: []string{ws.dir}}).settled()
	wantRefs(t, "untrusted", d.ask("zebrafish").all(), "user@"+d.status().Roots[3].ID+":u.md")
	states := func() string {
		var out []string
		for _, r := range d.status().Roots {
			out = append(out, r.State)
		}
		return strings.Join(out, " ")
	}
	if got := states(); got != "untrusted untrusted untrusted ready" {
		t.Errorf("states %s", got)
	}
	d.configure(`{"trusted":true}`)
	d.settled()
	if r := d.recall(lsp.RecallParams{Session: "2", Query: "zebrafish"}); len(r.all()) != 4 {
		t.Errorf("trusted: %v", r.all())
	}
	d.configure(`{"trusted":false}`)
	if r := d.recall(lsp.RecallParams{Session: "3", Query: "zebrafish"}); len(r.all()) != 1 {
		t.Errorf("no longer trusted: %v", r.all())
	}
	linked := sit(t, lsp.MemoryOptions{}, lsp.InitializationOptions{Roots: []lsp.RootOption{{Scope: "user", Path: home.path("in")}}},
		memoryClient{Folders: []string{ws.dir}}).settled()
	if root := linked.status().Roots[0]; root.State != "untrusted" {
		t.Errorf("linked to: %s", root.State)
	}
}

// The roots that the server was started with serve a client that names none,
// and only that.
func TestGivenRoots(t *testing.T) {
	given, own := newStore(t, map[string]string{"g.md": note("Given fish", "d", "zebrafish given")}), newStore(t, map[string]string{"o.md": note("Own fish", "d", "zebrafish own")})
	opt := lsp.MemoryOptions{Roots: []memory.RootConfig{{Scope: memory.ScopeProject, Path: given.dir}}}
	d := sit(t, opt, lsp.InitializationOptions{}, memoryClient{Folders: []string{given.dir}}).settled()
	wantRefs(t, "given", d.ask("zebrafish").all(), "project:g.md")
	d.configure(`{"roots":[{"scope":"user","path":"` + own.dir + `"}]}`)
	d.settled()
	wantRefs(t, "own", d.recall(lsp.RecallParams{Session: "2", Query: "zebrafish"}).all(), "user:o.md")
	d.configure(`{"roots":null}`)
	d.settled()
	wantRefs(t, "given again", d.recall(lsp.RecallParams{Session: "3", Query: "zebrafish"}).all(), "project:g.md")
	// A wrong path leaves everything as it is and is shown to the person.
	d.configure(`{"roots":[{"scope":"user","path":"relative"}]}`)
	d.settled()
	wantRefs(t, "wrong", d.recall(lsp.RecallParams{Session: "4", Query: "zebrafish"}).all(), "project:g.md")
	if !slices.ContainsFunc(d.client.Log(), func(m Message) bool {
		return m.Method == "window/showMessage" && strings.Contains(string(m.Params), "roots[0].path")
	}) {
		t.Error("the person was not told")
	}
}

// The setting watcher changes how the roots are watched, while it is served.
func TestWatcherSetting(t *testing.T) {
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	before := d.status().Roots[0].Watch.Mode
	d.configure(`{"watcher":"poll"}`)
	d.settled()
	if got := d.status().Roots[0].Watch.Mode; got != "poll" {
		t.Errorf("mode %s, before %s", got, before)
	}
	if r := d.ask("gateway timeout"); len(r.all()) != 5 {
		t.Errorf("%v", r.all())
	}
	d.configure(`{"watcher":null}`)
	d.settled()
	if got := d.status().Roots[0].Watch.Mode; got != before {
		t.Errorf("mode %s, want %s again", got, before)
	}
}

func TestMemoryNeedsAWatcher(t *testing.T) {
	here, there := net.Pipe()
	if code, err := lsp.Serve(t.Context(), there, lsp.Options{Setup: lsp.Memory(lsp.MemoryOptions{})}); code != 1 || err == nil {
		t.Errorf("%d %v", code, err)
	}
	here.Close()
}
