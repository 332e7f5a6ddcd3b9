package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memls/memls/memory"
)

func anchorsOf(d *memory.Document) string {
	var out []string
	for _, a := range memory.Anchors(d) {
		s := a.Name
		if a.Line > 0 {
			s += fmt.Sprintf(" line %d", a.Line)
		}
		if a.Kind == memory.AnchorIdentifier {
			s = "id " + s
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func TestAnchorsAreWhatNamesAPlaceOfTheWorkspace(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"`src/auth/token.go`", "src/auth/token.go"},
		{"` ./src/auth/token.go ` and ``cmd/memls``", "src/auth/token.go, cmd/memls"},
		{"`src/auth/token.go:42`, `a/b.go:1:2`, `a/c.go:3-9`, `a/d.ts#L10-L12`", "src/auth/token.go line 42, a/b.go line 1, a/c.go line 3, a/d.ts line 10"},
		{"see src/auth/token.go:42 there", "src/auth/token.go line 42"},
		{"bare src/auth/token.go is prose, http://host/a/b:80 an address, and/or:5 a word", "and/or line 5"},
		{"[token](src/token.go#L7), [doc](notes.md), [site](https://example.com/x.go), [here](x.go)", "src/token.go line 7"},
		{"`main.go`, `Node.js`, `index.ts`, `example.com`, `v1.2.3`, `config.yaml`", "main.go, index.ts, config.yaml"},
		{"`src/文档/说明.go` `app/[id]/page.tsx` `src/dir/`", "src/文档/说明.go, app/[id]/page.tsx, src/dir"},
		{"`/home/me/work/src/a.go`", "/home/me/work/src/a.go"},
		{"`src/*.go` `src/<name>.go` `~/x/y.go` `../x/y.go` `{a,b}/c.go` `$HOME/a.go` `@scope/package` `github.com/a/b` `a//b.go` `a/.../b.go`", ""},
		{"`go test ./...`, `--flag`, `-v`, `git push origin main`", ""},
		{"`validateToken` in `src/a.go`. `src/b.go` has `AuthService.refreshAll`; `max_retries` (`src/c.go:3`) and `Foo::bar_baz` of src/d.go:4",
			"id validateToken, src/a.go, src/b.go, id refreshAll, id max_retries, src/c.go line 3, id bar_baz, src/d.go line 4"},
		{"`refresh()` in [auth](src/auth.go), `a/b.go`: `refresh(a, b)`; `svc.refresh()` at `a/c.go`", "id refresh, src/auth.go, a/b.go, id refresh, id refresh, a/c.go"},
		// An identifier by itself may be of a library, a system, or an example.
		{"`validateToken`, `useEffect`, `React.useState`, `os.path.join()`, `camelCase`, `snake_case`", ""},
		{"Call `useEffect` as in the examples, then look at `src/app.tsx`; `helperOne`, `src/b.go`.", "src/app.tsx, src/b.go"},
		{"`HTTP_PROXY` in `a/b.sh`; `x86_64` in `a/c.sh`; `en_US` in `a/d.sh`; `aes_256_gcm` in `a/e.go`; `utf8mb4_general_ci` in `a/f.go`", "a/b.sh, a/c.sh, a/d.sh, a/e.go, a/f.go"},
		{"`oldHelper` was removed from `a/b.go`. Do not call `rawQuery` in `a/c.go`.", "a/b.go, a/c.go"},
		{"`main`, `true`, `README`, `HTTP`, `x`, `user.name`, `get()`, `GitHub`, `GITHUB_TOKEN`, `_`", ""},
		{"```\n`src/gone.go`\n```\n\n    `src/code.go`\n\n<!-- `src/comment.go` -->", ""},
		{"- item `src/a.go`\n  Why: `src/b.go:3`", "src/a.go, src/b.go line 3"},
	} {
		d := memory.Parse([]byte(c.body + "\n"))
		if got := anchorsOf(d); got != c.want {
			t.Errorf("%s: %s, want %s", c.body, got, c.want)
		}
		for _, a := range memory.Anchors(d) {
			if text := d.Text[a.Span.Start:a.Span.End]; !strings.Contains(text, strings.Trim(a.Name, "/")) {
				t.Errorf("%s: %+v stands at %q", c.body, a, text)
			}
		}
	}
	d := memory.Parse([]byte("---\ntype: user\n---\n`validateToken` in `src/a.go`\n"))
	if got := anchorsOf(d); got != "src/a.go" {
		t.Errorf("of a user's memory: %s", got)
	}
	d = memory.Parse([]byte(strings.Repeat("`src/a.go` x/y/z.go:3 ", 4000)))
	if got := len(memory.Anchors(d)); got != 200 {
		t.Errorf("%d anchors of a text full of them", got)
	}
}
