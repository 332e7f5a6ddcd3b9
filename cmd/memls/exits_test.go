package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// exitCase is one way to end.
type exitCase struct {
	code  int
	args  string // fields; "" in the place of an empty one
	env   string // one more variable
	stdin string
	says  string // in standard error
}

// exitCases are a way to each code that docs/exit-codes.md names, on a directory
// "notes" with a.md and b.md, in which "tides are high" was remembered last.
// "file" is a file, "set" a labelled set, "wrong" is not there.
var exitCases = map[string][]exitCase{
	"recall":  {{code: 0, args: "kestrel vault"}, {code: 1, args: "sourdough"}, {code: 2, args: `""`, says: "the query is empty"}, {code: 3, args: "x --root file/x", says: "file/x cannot be read"}},
	"search":  {{code: 0, args: "kestrel"}, {code: 1, args: "sourdough"}, {code: 2, args: `""`}, {code: 3, args: "x --root file/x"}},
	"explain": {{code: 0, args: "kestrel project:a.md"}, {code: 1, args: "kestrel project:none.md"}, {code: 2, args: `""`}, {code: 3, args: "x --root file/x"}},
	"status":  {{code: 0}, {code: 1, args: "--root wrong"}, {code: 2, args: "extra"}, {code: 3, args: "--log wrong/log"}},
	"doctor":  {{code: 0}, {code: 1, args: "--root ill"}, {code: 2, args: "extra"}, {code: 3, args: "--log wrong/log"}},
	"remember": {
		{code: 0, args: "gates close at six"}, {code: 0, args: "tides are high"}, {code: 1, args: "--scope team x y"}, {code: 2, args: `""`, says: "the text is empty"}, {code: 2, says: "no text"},
		{code: 2, args: "remember that", says: "nothing to remember"}, {code: 2, args: "-", stdin: "caf\xe9", says: "the text on standard input: it is no UTF-8"},
		{code: 3, args: "x y", env: "XDG_STATE_HOME=file", says: "file/memls"},
		{code: 0, args: "- --dry-run", stdin: "\xff\xfeT\x00e\x00a\x00 \x00a\x00t\x00 \x00s\x00i\x00x\x00"},
	},
	"forget": {
		{code: 0, args: "vault --yes"}, {code: 0, args: "kestrel --json"}, {code: 0, args: "kestrel --only all --yes"}, {code: 0, args: "kestrel --only 1-2 --yes"}, {code: 1, args: "sourdough"}, {code: 1, args: "vault", stdin: "n\n", says: "nothing was forgotten"},
		{code: 1, args: "kestrel --only none"}, {code: 2, says: "say what to forget"}, {code: 2, args: "kestrel --only 7", says: `"7" is no choice among 1 to 2`}, {code: 2, args: "kestrel --only first", says: `"first" is no choice among 1 to 2`},
		{code: 2, args: "kestrel --yes", says: "say which with --only"}, {code: 3, args: "vault --yes", env: "XDG_STATE_HOME=file", says: "file/memls"},
	},
	"plans":   {{code: 0, args: "--json"}, {code: 1}, {code: 1, args: "p-1"}, {code: 2, args: "--discard"}, {code: 3, env: "XDG_STATE_HOME=file"}},
	"apply":   {{code: 1, args: "p-1"}, {code: 2}, {code: 3, args: "p-1", env: "XDG_STATE_HOME=file"}},
	"undo":    {{code: 0, args: "--yes"}, {code: 1, args: "o-1"}, {code: 1, stdin: "no\n", says: "nothing was taken back"}, {code: 1, says: "nothing was taken back"}, {code: 2, args: "o-1 o-2"}, {code: 3, args: "--yes", env: "XDG_STATE_HOME=file"}},
	"log":     {{code: 0}, {code: 1, args: "--root other"}, {code: 2, args: "--limit 0"}, {code: 3, env: "XDG_STATE_HOME=file"}},
	"serve":   {{code: 0, stdin: framed(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}`, `{"jsonrpc":"2.0","id":2,"method":"shutdown"}`, `{"jsonrpc":"2.0","method":"exit"}`)}, {code: 1}, {code: 2, args: "--nonsense"}, {code: 3, args: "--log wrong/log"}},
	"stats":   {{code: 0, args: "--json"}, {code: 1}, {code: 2, args: "--days 0"}, {code: 3, env: "XDG_STATE_HOME=file"}},
	"eval":    {{code: 0, args: "set"}, {code: 1, args: "set --min-recall5 1"}, {code: 2, args: "wrong"}},
	"version": {{code: 0}, {code: 2, args: "extra"}},
	"bench":   {{code: 0, args: "--rounds 1"}, {code: 2, args: "--rounds 0"}, {code: 3, args: "--root file/x"}},
	"dream":   {{code: 0, args: "--dry-run --root notes"}, {code: 1, args: "--scope team --root notes"}, {code: 2, args: "extra"}, {code: 3, args: "--root notes", env: "XDG_STATE_HOME=file"}},
	"extract": {{code: 0, args: "--transcript chat.jsonl --root notes"}, {code: 2}, {code: 3, args: "--transcript chat.jsonl --root notes", env: "XDG_STATE_HOME=file"}},
}

// uncased are the codes of the table that need more than a command line: an inbox,
// a set that the superuser cannot read either.
var uncased = map[string]bool{"apply 0": true, "eval 3": true}

func framed(messages ...string) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(m), m)
	}
	return b.String()
}

// exitTable is what docs/exit-codes.md says: of each command, which codes it ends
// with.
func exitTable(t *testing.T) map[string][4]bool {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "exit-codes.md"))
	if err != nil {
		t.Fatal(err)
	}
	table := map[string][4]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `memls (\\w+)` \\| (.+) \\| (.+) \\| (.+) \\| (.+) \\|$").FindAllStringSubmatch(string(raw), -1) {
		var codes [4]bool
		for i := range codes {
			codes[i] = row[2+i] != "–"
		}
		table[row[1]] = codes
	}
	return table
}

// Every subcommand ends as docs/exit-codes.md says, and with no other code.
func TestExitCodes(t *testing.T) {
	table := exitTable(t)
	for _, cmd := range (&program{}).command().Commands() {
		if name := cmd.Name(); name != "help" && name != "completion" {
			if _, ok := table[name]; !ok {
				t.Errorf("docs/exit-codes.md has no row of %s", name)
			}
		}
	}
	for name, codes := range table {
		seen := [4]bool{}
		for _, c := range exitCases[name] {
			seen[c.code] = true
			t.Run(strings.TrimSpace(name+" "+c.args+" "+c.env), func(t *testing.T) { c.run(t, name) })
		}
		for code, named := range codes {
			if named != seen[code] && !uncased[fmt.Sprintf("%s %d", name, code)] {
				t.Errorf("%s %d: in the table %v, among the cases %v", name, code, named, seen[code])
			}
		}
	}
}

// run runs one case in a directory of its own.
func (c *exitCase) run(t *testing.T, name string) {
	dir := t.TempDir()
	for file, text := range map[string]string{
		"notes/a.md": "# Kestrel\n\nThe kestrel vault is in the cellar.\n", "notes/b.md": "A kestrel nests in May.\n", "other/x.md": "Other.\n",
		"ill/x.md": "Ill.\n", "ill/MEMORY.md": "- [Gone](gone.md)\n", "file": "",
		"chat.jsonl": `{"role":"user","text":"Please remember that gates close at six."}` + "\n",
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := filepath.Abs(filepath.Join("..", "..", "testdata", "eval", "core"))
	if err != nil {
		t.Fatal(err)
	}
	run := func(env, stdin string, args ...string) (int, string) {
		cmd := exec.CommandContext(t.Context(), binary(t), args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"), "HOME="+dir)
		if name, value, ok := strings.Cut(env, "="); ok {
			cmd.Env = append(cmd.Env, name+"="+filepath.Join(dir, value))
		}
		cmd.Stdin = strings.NewReader(stdin)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		err := cmd.Run()
		var ended *exec.ExitError
		if err != nil && !errors.As(err, &ended) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), filepath.ToSlash(stderr.String())
	}
	if name == "undo" || name == "log" || name == "remember" {
		if code, stderr := run("", "", "remember", "tides are high", "--root", "notes"); code != exitOK {
			t.Fatalf("remember: %d, %s", code, stderr)
		}
	}
	args := []string{name}
	for f := range strings.FieldsSeq(c.args) {
		switch f {
		case `""`:
			f = ""
		case "set":
			f = set
		}
		args = append(args, f)
	}
	if takesRoots[name] && !strings.Contains(c.args, "--root") {
		args = append(args, "--root", "notes")
	}
	if code, stderr := run(c.env, c.stdin, args...); code != c.code || !strings.Contains(stderr, c.says) {
		t.Errorf("exit code %d, want %d with %q:\n%s", code, c.code, c.says, stderr)
	}
}

var takesRoots = map[string]bool{
	"recall": true, "search": true, "explain": true, "status": true, "doctor": true, "remember": true, "forget": true, "plans": true, "apply": true, "undo": true, "log": true, "serve": true,
}
