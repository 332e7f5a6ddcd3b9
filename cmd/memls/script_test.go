package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/memls/memls/recall/model/modeltest"
)

func TestMain(m *testing.M) {
	testscript.Main(cleaningUp{m}, map[string]func(){"memls": main, "guarded": guarded})
}

// guarded is a program that moves its standard output aside and then prints in
// every way that a careless library has.
func guarded() {
	private, err := guardStdout()
	if err != nil {
		panic(err)
	}
	fmt.Println("noise by fmt")
	fmt.Fprintln(os.Stdout, "noise by os.Stdout")
	fmt.Fprintln(os.NewFile(1, "one"), "noise by descriptor")
	child := exec.Command("memls", "version")
	child.Stdout = os.Stdout
	if err := child.Run(); err != nil {
		panic(err)
	}
	fmt.Fprintln(private, "protocol")
}

// The scripts drive the program as a process of its own, with arguments, an
// environment and files as a person has them. $MEMORY is the sample memory of
// the checkout, $SET the labelled set.
//
// Besides the commands of testscript they know:
//
//	exits CODE PROGRAM ARGS…   runs a program and wants that exit code
//	json PATH VALUE            wants VALUE at PATH (a.0.b, a.len for a length) of the JSON in stdout
//	in-order TEXT…             wants the texts in stdout, in that order
//	empty DIR                  wants a directory without entries
//	model STEP [TITLE…]        starts a model endpoint; its URL is in $MODEL
//	[!] asked TEXT             wants TEXT in what the endpoint was asked, or not
//	bytes FILE TEXT            writes TEXT, a Go string, to a file
func TestScripts(t *testing.T) {
	memory, err := filepath.Abs(filepath.Join("..", "..", "testdata", "memory"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("MEMORY", memory)
			// No script reads or writes what is of whoever runs the test.
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "state"))
			e.Setenv("SET", filepath.Join(filepath.Dir(memory), "eval", "core"))
			// An environment of its own: no key, proxy or colour setting of whoever runs the test.
			for _, name := range []string{"NO_COLOR", "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"} {
				e.Setenv(name, "")
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "json": wantJSON, "in-order": inOrder, "empty": empty, "model": startModel, "asked": asked,
			"bytes": writeBytes,
		},
	})
}

func positive(ts *testscript.TestScript, neg bool, args []string, least int) {
	if neg || len(args) < least {
		ts.Fatalf("this command takes at least %d arguments and no !", least)
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, args, 2)
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	code := 0
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		code = ended.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

func wantJSON(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, args, 2)
	var v any
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	ts.Check(dec.Decode(&v))
	if dec.More() {
		ts.Fatalf("more than one JSON value")
	}
	for _, step := range strings.Split(args[0], ".") {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[step]
			if !ok {
				ts.Fatalf("no %q on the way to %s", step, args[0])
			}
			v = next
		case []any:
			if step == "len" {
				v = float64(len(at))
				continue
			}
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(at) {
				ts.Fatalf("no element %q of %d on the way to %s", step, len(at), args[0])
			}
			v = at[i]
		default:
			ts.Fatalf("%q of a %v on the way to %s", step, reflect.TypeOf(v), args[0])
		}
	}
	if got := fmt.Sprint(v); got != args[1] {
		ts.Fatalf("%s is %q, want %q", args[0], got, args[1])
	}
}

func inOrder(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, args, 1)
	out := ts.ReadFile("stdout")
	for _, text := range args {
		_, after, ok := strings.Cut(out, text)
		if !ok {
			ts.Fatalf("no %q, or not there", text)
		}
		out = after
	}
}

func empty(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, args, 1)
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, e := range entries {
		ts.Fatalf("%s holds %s", args[0], e.Name())
	}
}

func writeBytes(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, args, 2)
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// endpoints are the model endpoints of the scripts that run.
var endpoints scriptValues[*modeltest.Server]

func startModel(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, args, 1)
	if args[0] == "refused" {
		url, err := modeltest.Refused()
		ts.Check(err)
		ts.Setenv("MODEL", url)
		return
	}
	steps := map[string]modeltest.Step{
		"choose": modeltest.Choose(args[1:]...), "think": modeltest.ThinkerChoosing(2000, "reasoning", args[1:]...),
		"ramble": modeltest.Length("Well, "), "unknown": modeltest.IDs("m998", "m999"), "prose": modeltest.Prose(),
		"html":  func(c *modeltest.Call) { c.Reply(200, "text/html", "<html><body>Sign in</body></html>") },
		"stall": func(c *modeltest.Call) { c.Wait(nil) },
	}
	s := modeltest.Start()
	ts.Defer(s.Close)
	switch step, ok := steps[args[0]]; {
	case ok:
		s.Otherwise(step)
	case args[0] == "embed": // each further argument is words that mean the same
		space := modeltest.Space{Dimension: 96, Common: 1.2}
		for _, words := range args[1:] {
			space.Concepts = append(space.Concepts, strings.Split(words, ","))
		}
		s.Embeddings(modeltest.Vectors(space.Vector))
	case args[0] == "embed-fewer":
		s.Embeddings(modeltest.Status(200, `{"data":[]}`))
	default:
		ts.Fatalf("no step %q", args[0])
	}
	endpoints.set(ts, s)
	ts.Setenv("MODEL", s.URL())
}

func asked(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, false, args, 1)
	s, ok := endpoints.get(ts)
	if !ok {
		ts.Fatalf("no model endpoint")
	}
	var all strings.Builder
	for _, r := range s.Requests() {
		fmt.Fprintln(&all, r.Path, r.Header.Get("Authorization"), string(r.Body))
	}
	switch has := strings.Contains(all.String(), args[0]); {
	case !neg && !has:
		ts.Fatalf("the endpoint was not asked %q but\n%s", args[0], all.String())
	case neg && has:
		ts.Fatalf("the endpoint was asked %q:\n%s", args[0], all.String())
	}
}
