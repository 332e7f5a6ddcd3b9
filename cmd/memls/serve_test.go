package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/memls/memls/recall/model/modeltest"
)

// The tests of this file drive the built program as an editor does: over pipes, byte by byte.

// message is any JSON-RPC message.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      *int            `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// editor is a client of a running server.
type editor struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	frames chan message
	fault  error // why frames ended, if not by the end of the output; set before it is closed
	stderr bytes.Buffer
	lastID int
	news   int // how often it was told of changed memories or roots
}

func startServer(t *testing.T, args ...string) *editor {
	t.Helper()
	e := &editor{t: t, cmd: exec.CommandContext(t.Context(), binary(t), append([]string{"serve", "--stdio"}, args...)...), frames: make(chan message, 64)}
	e.cmd.Stderr = &e.stderr
	in, err := e.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	e.in = in
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go e.read(bufio.NewReader(out))
	return e
}

// read takes the output apart. Anything in it that is no frame is a fault.
func (e *editor) read(out *bufio.Reader) {
	defer close(e.frames)
	for {
		if _, err := out.Peek(1); errors.Is(err, io.EOF) {
			return
		}
		m, err := readFrame(out)
		if err != nil {
			e.fault = err
			return
		}
		e.frames <- m
	}
}

func readFrame(out *bufio.Reader) (message, error) {
	var m message
	header, err := textproto.NewReader(out).ReadMIMEHeader()
	if err != nil {
		return m, fmt.Errorf("no header on standard output: %w", err)
	}
	n, err := strconv.Atoi(header.Get("Content-Length"))
	if err != nil || len(header) != 1 {
		return m, fmt.Errorf("headers on standard output: %v", header)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(out, body); err != nil {
		return m, fmt.Errorf("a frame of %d bytes breaks off: %w", n, err)
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return m, fmt.Errorf("frame %q: %w", body, err)
	}
	return m, nil
}

func (e *editor) send(m map[string]any) {
	e.t.Helper()
	m["jsonrpc"] = "2.0"
	body, err := json.Marshal(m)
	if err != nil {
		e.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(e.in, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		e.t.Fatalf("write to the server: %v\n%s", err, e.stderr.String())
	}
}

func (e *editor) notify(method string, params any) {
	e.t.Helper()
	e.send(map[string]any{"method": method, "params": params})
}

// call sends a request and returns its answer, and what came before it.
func (e *editor) call(method string, params any) (answer message, before []message) {
	e.t.Helper()
	e.lastID++
	id := e.lastID
	e.send(map[string]any{"id": id, "method": method, "params": params})
	return e.until(func(m message) bool { return m.ID != nil && *m.ID == id && m.Method == "" })
}

// until returns the first message that is wanted, and those before it.
func (e *editor) until(want func(message) bool) (found message, before []message) {
	e.t.Helper()
	for m := range e.frames {
		if m.Method == "memory/changed" || m.Method == "memory/statusChanged" {
			e.news++
		}
		if want(m) {
			if m.Error != nil {
				e.t.Fatalf("error %d: %s", m.Error.Code, m.Error.Message)
			}
			return m, before
		}
		before = append(before, m)
	}
	e.t.Fatalf("the output ended, %v; messages %v\n%s", e.fault, before, e.stderr.String())
	return message{}, nil
}

// exitCode waits for the end of the server. Nothing but frames may have come.
func (e *editor) exitCode() int {
	e.t.Helper()
	for range e.frames {
	}
	if e.fault != nil {
		e.t.Error(e.fault)
	}
	err := e.cmd.Wait()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		e.t.Fatal(err)
	}
	return e.cmd.ProcessState.ExitCode()
}

func (e *editor) initialize(options map[string]any) json.RawMessage {
	e.t.Helper()
	answer, _ := e.call("initialize", map[string]any{
		"processId": os.Getpid(), "rootUri": nil, "initializationOptions": options,
		"capabilities": map[string]any{"experimental": map[string]any{"memory": map[string]any{"version": 1}}},
	})
	e.notify("initialized", map[string]any{})
	return answer.Result
}

func (e *editor) leave() int {
	e.t.Helper()
	e.call("shutdown", nil)
	e.notify("exit", nil)
	return e.exitCode()
}

// recallNote is what the tests read of a recall notification.
type recallNote struct {
	Token     string `json:"token"`
	Phase     string `json:"phase"`
	Strategy  string `json:"strategy"`
	Status    string `json:"status"`
	Prompt    string `json:"prompt"`
	Documents []struct {
		Ref  string `json:"ref"`
		Body string `json:"body"`
	} `json:"documents"`
}

func refs(d recallNote) string {
	var all []string
	for _, doc := range d.Documents {
		all = append(all, doc.Ref)
	}
	return strings.Join(all, " ")
}

// recall asks and returns the fast and the refined result, which have come in this order and before the response.
func (e *editor) recall(session, token, query string) (fast, refined recallNote) {
	e.t.Helper()
	answer, before := e.call("memory/recall", map[string]any{"session": session, "token": token, "query": query})
	var order []string
	for _, m := range before {
		var into *recallNote
		switch m.Method {
		case "memory/recallFast":
			into = &fast
		case "memory/recallRefined":
			into = &refined
		default:
			continue // unasked notifications may come at any time
		}
		order = append(order, m.Method)
		if err := json.Unmarshal(m.Params, into); err != nil {
			e.t.Fatal(err)
		}
	}
	if got, want := strings.Join(order, " "), "memory/recallFast memory/recallRefined"; got != want {
		e.t.Fatalf("before the response came %q, want %q", got, want)
	}
	var response struct {
		Token   string `json:"token"`
		Outcome string `json:"outcome"`
	}
	if err := json.Unmarshal(answer.Result, &response); err != nil {
		e.t.Fatal(err)
	}
	if response.Outcome != "settled" || response.Token != token || fast.Token != token || refined.Token != token {
		e.t.Errorf("token %q: response %+v, fast %+v, refined %+v", token, response, fast, refined)
	}
	return fast, refined
}

// changed waits until the server has told of a change of ref.
func (e *editor) changed(ref string) {
	e.t.Helper()
	e.until(func(m message) bool {
		return m.Method == "memory/changed" && strings.Contains(string(m.Params), `"`+ref+`"`)
	})
}

func notes(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writeNote(t, dir, "kestrel.md", "---\nname: Kestrel backups\n---\nBackups of the kestrel go to the north vault.\n")
	writeNote(t, dir, "sandpiper.md", "---\nname: Sandpiper\n---\nRetired last year.\n")
	writeNote(t, dir, "ptarmigan.md", "---\nname: Ptarmigan\n---\nDeployed on Mondays by Ines.\n")
	return dir
}

func TestServeOverPipes(t *testing.T) {
	dir := notes(t)
	e := startServer(t)
	result := e.initialize(map[string]any{"roots": []any{map[string]any{"scope": "project", "path": dir}}})
	for _, want := range []string{`"memory/recall"`, `"version":1`, `"name":"memls"`, `"v9.8.7-test"`} {
		if !strings.Contains(string(result), want) {
			t.Errorf("no %s in %s", want, result)
		}
	}
	fast, refined := e.recall("s", "t1", "where do backups of the kestrel go")
	if refs(fast) != "project:kestrel.md" || fast.Phase != "fast" || fast.Strategy != "heuristic" {
		t.Errorf("fast %+v", fast)
	}
	if !strings.Contains(fast.Prompt, "north vault") {
		t.Errorf("the prompt lacks the passage: %q", fast.Prompt)
	}
	if refs(refined) != "" || refined.Phase != "refined" || refined.Status != "already_delivered" {
		t.Errorf("refined %+v", refined)
	}
	fast, refined = e.recall("s", "t2", "marathon taper week")
	if refs(fast)+refs(refined) != "" || fast.Strategy != "none" || refined.Status != "no_relevant_results" {
		t.Errorf("silence is right, got %+v, %+v", fast, refined)
	}

	writeNote(t, dir, "curlew.md", "---\nname: Curlew\n---\nThe curlew listens on port 7084.\n")
	e.changed("project:curlew.md")
	if fast, _ = e.recall("s", "t3", "which port does the curlew use"); refs(fast) != "project:curlew.md" {
		t.Errorf("a saved file is not recalled: %+v", fast)
	}
	if err := os.Remove(filepath.Join(dir, "curlew.md")); err != nil {
		t.Fatal(err)
	}
	e.changed("project:curlew.md")
	if fast, _ = e.recall("other", "t4", "which port does the curlew use"); refs(fast) != "" {
		t.Errorf("a deleted file is recalled: %+v", fast)
	}
	if code := e.leave(); code != 0 {
		t.Errorf("exit code %d after shutdown, want 0\n%s", code, e.stderr.String())
	}
}

func TestServeRootFlags(t *testing.T) {
	project, user := notes(t), t.TempDir()
	writeNote(t, user, "curlew.md", "---\nname: Curlew\n---\nThe curlew listens on port 7084.\n")
	for _, poll := range []bool{false, true} {
		args := []string{"--root", project, "--root", "user=" + user}
		if poll {
			args = append(args, "--poll")
		}
		e := startServer(t, args...)
		e.initialize(nil)
		if fast, _ := e.recall("s", "t", "curlew port kestrel vault"); !strings.Contains(refs(fast), "user:curlew.md") || !strings.Contains(refs(fast), "project:kestrel.md") {
			t.Errorf("poll %v: fast %+v", poll, fast)
		}
		answer, _ := e.call("memory/status", map[string]any{})
		mode := `"mode":"poll"`
		if strings.Contains(string(answer.Result), mode) != poll {
			t.Errorf("poll %v, status %s", poll, answer.Result)
		}
		if code := e.leave(); code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
	}
}

func TestServeModelFlags(t *testing.T) {
	endpoint := modeltest.New(t)
	endpoint.Otherwise(modeltest.Choose("Sandpiper"))
	t.Setenv("MEMLS_TEST_KEY", "sesame-opens")
	e := startServer(t, "--root", notes(t), "--model-url", endpoint.URL(), "--model", "m", "--model-key-env", "MEMLS_TEST_KEY", "--log-level", "debug")
	e.initialize(nil)
	fast, refined := e.recall("s", "t", "kestrel vault")
	if refs(fast) != "project:kestrel.md" || refs(refined) != "project:sandpiper.md" || refined.Strategy != "model" {
		t.Errorf("fast %+v, refined %+v", fast, refined)
	}
	if got := endpoint.Requests()[0].Header.Get("Authorization"); got != "Bearer sesame-opens" {
		t.Errorf("authorization %q", got)
	}
	if code := e.leave(); code != 0 || strings.Contains(e.stderr.String(), "sesame") {
		t.Errorf("exit code %d, log\n%s", code, e.stderr.String())
	}
}

// A root that is not there yet keeps no server from starting.
func TestServeMissingRoot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	e := startServer(t, "--root", dir)
	e.initialize(nil)
	answer, _ := e.call("memory/status", map[string]any{})
	if !strings.Contains(string(answer.Result), `"state":"missing"`) {
		t.Errorf("status %s", answer.Result)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	writeNote(t, dir, "curlew.md", "---\nname: Curlew\n---\nThe curlew listens on port 7084.\n")
	e.changed("project:curlew.md")
	if fast, _ := e.recall("s", "t", "which port does the curlew use"); refs(fast) != "project:curlew.md" {
		t.Errorf("fast %+v", fast)
	}
	if code := e.leave(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// What becomes of the roots stands in the log: also of one that cannot be served.
func TestServeLogsItsRoots(t *testing.T) {
	good, file := notes(t), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e := startServer(t, "--root", good, "--root", "user="+good, "--root", "team="+file)
	e.initialize(nil)
	e.recall("s", "t", "kestrel vault")
	if code := e.leave(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{
		`level=WARN msg="memory root" path=` + file + ` scope=team state=error reason="not a directory"`,
		`msg="memory root" path=` + good + ` scope=project state=ready memories=`,
		`level=WARN msg="memory root named twice" detail="` + good + ` is named as project and as user;`,
	} {
		if n := strings.Count(e.stderr.String(), want); n != 1 {
			t.Errorf("%s stands %d times in the log:\n%s", want, n, e.stderr.String())
		}
	}
}

// What is no frame ends the connection like a client that goes without a word.
func TestServeNonsense(t *testing.T) {
	e := startServer(t, "--root", notes(t))
	if _, err := io.WriteString(e.in, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if code := e.exitCode(); code != exitNothing || !strings.Contains(e.stderr.String(), `line "hello" has no colon`) {
		t.Errorf("exit code %d, want %d\n%s", code, exitNothing, e.stderr.String())
	}
}

// A client that goes without a word is an end of its own kind, before and after initialize.
func TestServeInputEnds(t *testing.T) {
	for _, initialized := range []bool{false, true} {
		e := startServer(t, "--root", notes(t))
		if initialized {
			e.initialize(nil)
		}
		if err := e.in.Close(); err != nil {
			t.Fatal(err)
		}
		if code := e.exitCode(); code != exitNothing {
			t.Errorf("initialized %v: exit code %d, want %d\n%s", initialized, code, exitNothing, e.stderr.String())
		}
	}
}

// An editor that does not read the log, or closes it, must not end the server.
func TestServeOutlivesItsLog(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary(t), "serve", "--stdio", "--log-level", "debug")
	cmd.Stderr = w
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	e := &editor{t: t, cmd: cmd, in: in, frames: make(chan message, 64)}
	go e.read(bufio.NewReader(out))
	e.initialize(nil)
	if code := e.leave(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}
