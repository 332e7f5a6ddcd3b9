package memory_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/memory"
)

// worksite is a workspace folder with a clock.
type worksite struct {
	t   *testing.T
	dir string
	now time.Time
	w   *memory.Workspace
}

func newWorksite(t *testing.T, files map[string]string) *worksite {
	p := &worksite{t: t, dir: t.TempDir(), now: time.Now()}
	for name, text := range files {
		p.write(name, text)
	}
	p.w = memory.NewWorkspace(p.dir, []string{filepath.Join(p.dir, "docs", "team-memory")}, func() time.Time { return p.now })
	return p
}

func (p *worksite) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// check is the verdict on what stands in code font: dead, alive or unknown.
func (p *worksite) check(code string) (verdict, why string) {
	p.t.Helper()
	anchors := memory.Anchors(memory.Parse([]byte("`" + code + "`\n")))
	if len(anchors) == 0 {
		anchors = memory.Anchors(memory.Parse([]byte("`" + code + "` in `a/b.go`\n")))[:1]
	}
	if len(anchors) != 1 || !strings.Contains(code, anchors[0].Name) && !strings.HasPrefix(code, ".") {
		p.t.Fatalf("%s: %+v", code, anchors)
	}
	v, err := p.w.Check(p.t.Context(), anchors)
	switch {
	case err != nil:
		p.t.Fatal(err)
	case v[0].Dead:
		return "dead", v[0].Why
	case v[0].Known:
		return "alive", ""
	}
	return "unknown", ""
}

var sources = map[string]string{
	"main.go":                       "package main\n\nfunc main() { refreshToken() }\n",
	"src/auth/token.go":             "package auth\n\n// validateToken is here.\nfunc validateToken() {}\n",
	"services/api/lib/util.go":      "package lib\n",
	"services/web/src/page.ts":      "export const maxRetries = 3\n",
	"internal/build/builder.go":     "package build\n\nfunc BuildAll() {}\n",
	".github/workflows/ci.yml":      "env:\n  DEPLOY_TOKEN: x\n",
	".gitignore":                    "# made\ngenerated\n*.log\n/src/**/made_[!x]*.go\nassets/*/out/\n!assets/keep/out\n",
	"node_modules/lib/lib.js":       "exports.hiddenHelper = 1\n",
	"docs/team-memory/old.md":       "`retiredHelper` was here\n",
	"services/web/.gitignore":       "cache/\n",
	"docs/image.bin":                "\x00\x01 binaryWord_x\n",
	"src/reportWriter/readme.txt":   "text\n",
	"services/api/same/config.yaml": "a: 1\n", "services/web/same/config.yaml": "a: 2\n",
}

func TestWorkspaceKnowsWhatIsThere(t *testing.T) {
	p := newWorksite(t, sources)
	if err := os.Symlink("/nowhere", filepath.Join(p.dir, "src", "linked.go")); err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]string{
		"src/auth/token.go": "alive", "./src/auth/": "alive", "src/auth": "alive", "token.go": "alive", "auth/token.go": "alive",
		"lib/util.go": "alive", "same/config.yaml": "alive", "config.yaml": "alive",
		"src/auth/token.go:4": "alive", "src/auth/token.go:5": "dead", "auth/token.go:99": "dead",
		"src/gone.go": "dead", "gone/away.go": "dead", "gone.go": "dead", "src/gone": "dead", "src/auth/token.go/x.go": "dead",
		"origin/main": "unknown", "application/json": "unknown",
		"generated/api.go": "unknown", "dist/app.js": "unknown", "node_modules/x/y.js": "unknown", "internal/build/gone.go": "unknown",
		"src/a/b/made_by.go": "unknown", "src/made_x.go": "dead", "src/run.log": "unknown", "assets/x/out/y.js": "unknown",
		"services/web/cache/a.ts": "unknown", "services/api/cache/a.go": "unknown", // wherever a pattern stands
		"settings.json": "unknown", "main.py": "unknown", "other/place.yaml": "unknown", "src/place.yaml": "dead", "docs/fix-typo": "unknown", "docs/a/b": "dead",
		"/etc/passwd.conf": "unknown", p.dir + "/src/auth/token.go": "alive", p.dir + "/src/gone.go": "dead",
		"linked.go":     "unknown",
		"validateToken": "alive", "auth.refreshToken()": "alive", "maxRetries": "alive", "BuildAll": "alive",
		"reportWriter": "alive", "removedHelper": "dead", "retiredHelper": "dead", "hiddenHelper": "dead", "binaryWord_x": "dead",
	} {
		if got, why := p.check(code); got != want || (got == "dead") != (why != "") {
			t.Errorf("%s: %s (%s), want %s", code, got, why, want)
		}
	}
}

// In doubt nothing is dead.
func TestWorkspaceInDoubt(t *testing.T) {
	empty := newWorksite(t, nil)
	for _, code := range []string{"src/gone.go", "gone.go", "removedHelper"} {
		if got, _ := empty.check(code); got != "unknown" {
			t.Errorf("%s in an empty folder: %s", code, got)
		}
	}
	prose := newWorksite(t, map[string]string{"letters/one.md": "Dear Ana,\n"})
	if got, _ := prose.check("removedHelper"); got != "unknown" {
		t.Errorf("an identifier where there are no programs: %s", got)
	}
	w := memory.NewWorkspace(filepath.Join(t.TempDir(), "none"), nil, time.Now)
	if _, err := w.Check(t.Context(), []memory.Anchor{{Kind: memory.AnchorPath, Name: "a.go"}}); err == nil {
		t.Error("a folder that is not there can be looked at")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := newWorksite(t, sources)
	if _, err := p.w.Check(ctx, []memory.Anchor{{Kind: memory.AnchorPath, Name: "a.go"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("a check that was cancelled: %v", err)
	}
}

// A workspace is looked through again when it may have changed, and only the
// files that have are read.
func TestWorkspaceSeesChanges(t *testing.T) {
	p := newWorksite(t, sources)
	want := func(step, code, want string) {
		t.Helper()
		if got, _ := p.check(code); got != want {
			t.Errorf("%s: %s is %s, want %s", step, code, got, want)
		}
	}
	want("before", "removedHelper", "dead")
	want("before", "lib/new.go", "dead")
	p.write("services/web/lib/new.go", "package lib\n\nfunc removedHelper() {}\n"+strings.Repeat("// more\n", 9))
	want("at once, by its whole path", "services/web/lib/new.go", "alive")
	p.now = p.now.Add(memory.SurveyAge)
	want("later", "removedHelper", "alive")
	want("later", "lib/new.go", "alive")
	want("later", "validateToken", "alive")
	p.write("src/auth/token.go", "package auth\n")
	p.now = p.now.Add(memory.SurveyAge)
	want("after the edit", "validateToken", "dead")
	want("after the edit", "removedHelper", "alive")
}
