package lsp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
	"github.com/memls/memls/memory"
	"github.com/memls/memls/watcher"
)

// follower fits the real watcher to the catalog.
type follower struct {
	*watcher.Watcher
	poll bool
}

func (f follower) Status() memory.WatchStatus {
	s := f.Watcher.Status()
	if f.poll {
		s.Reason = ""
	}
	return memory.WatchStatus{Mode: string(s.Mode), Reason: s.Reason, Since: s.Since, LastEvent: s.LastEvent, LastSweep: s.LastSweep}
}

func followers(poll bool) memory.WatchFactory {
	return func(dir string, keep func(string, bool) bool, sink func(memory.FileChange)) memory.Watcher {
		return follower{poll: poll, Watcher: watcher.New(dir, watcher.Options{Poll: poll, Keep: keep}, func(b watcher.Batch) {
			c := memory.FileChange{
				Changed: slices.Collect(maps.Keys(b.Changed)), Removed: slices.Collect(maps.Keys(b.Removed)),
				SkipsKnown: b.SkipsKnown, Full: b.Full, Missing: b.Missing,
			}
			for _, s := range b.Skipped {
				c.Skipped = append(c.Skipped, memory.Skip{Path: s.Path, Reason: s.Reason})
			}
			sink(c)
		})}
	}
}

// completeSetup is what a complete server serves.
func completeSetup(testing.TB) func(*lsp.Server) error {
	return lsp.Memory(lsp.MemoryOptions{Watch: followers})
}

// store is a directory of memory files.
type store struct {
	t   testing.TB
	dir string
}

func newStore(t testing.TB, files map[string]string) store {
	s := store{t, t.TempDir()}
	for name, text := range files {
		s.write(name, text)
	}
	return s
}

func (s store) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

func (s store) write(name, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.path(name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s store) remove(name string) {
	s.t.Helper()
	if err := os.Remove(s.path(name)); err != nil {
		s.t.Fatal(err)
	}
}

// age sets when a file was last modified.
func (s store) age(name string, days int) {
	s.t.Helper()
	at := time.Now().AddDate(0, 0, -days)
	if err := os.Chtimes(s.path(name), at, at); err != nil {
		s.t.Fatal(err)
	}
}

func (s store) root(scope string) lsp.RootOption { return lsp.RootOption{Scope: scope, Path: s.dir} }

// note is a memory file.
func note(name, description, body string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\ntype: project\n---\n%s\n", name, description, body)
}

// desk is a client at work with a server that serves memory.
type desk struct {
	t      testing.TB
	client *lsptest.Client
	server *lsp.Server
	cancel context.CancelFunc
	done   chan none
	code   int
	tokens int
}

// memoryClient are the params of initialize but for the settings.
type memoryClient struct {
	Folders  []string // paths
	Encoding string
	Plain    bool // without the memory capability
	Name     string

	Capabilities map[string]any // others
}

// sit starts a server and a client that is through with the handshake.
func sit(t testing.TB, opt lsp.MemoryOptions, settings lsp.InitializationOptions, who ...memoryClient) *desk {
	t.Helper()
	d := ring(t, opt)
	if err := d.initialize(settings, who...); err != nil {
		t.Fatal(err)
	}
	d.notify("initialized", "{}")
	return d
}

// stateless stands in options for a server without a state directory.
const stateless = "stateless"

// ring starts a server and a client that has not sent initialize.
func ring(t testing.TB, opt lsp.MemoryOptions) *desk {
	t.Helper()
	here, there := net.Pipe()
	d := &desk{t: t, done: make(chan none)}
	if opt.Watch == nil {
		opt.Watch = followers
	}
	switch opt.State {
	case "":
		opt.State = filepath.Join(t.TempDir(), "state")
	case stateless:
		opt.State = ""
	}
	setup := lsp.Memory(opt)
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	ready := make(chan none)
	go func() {
		defer close(d.done)
		d.code, _ = lsp.Serve(ctx, there, lsp.Options{Version: "v9", Setup: func(s *lsp.Server) error {
			d.server = s
			close(ready)
			return setup(s)
		}})
	}()
	t.Cleanup(func() {
		cancel()
		<-d.done
	})
	<-ready
	d.client = lsptest.New(t, here)
	return d
}

func (d *desk) initialize(settings lsp.InitializationOptions, who ...memoryClient) error {
	var w memoryClient
	if len(who) > 0 {
		w = who[0]
	}
	capabilities := map[string]any{}
	maps.Copy(capabilities, w.Capabilities)
	if !w.Plain {
		capabilities["experimental"] = map[string]any{"memory": map[string]int{"version": 1}}
	}
	if w.Encoding != "" {
		capabilities["general"] = map[string]any{"positionEncodings": []string{w.Encoding}}
	}
	folders := []lsp.Folder{}
	for _, path := range w.Folders {
		folders = append(folders, lsp.Folder{URI: "file://" + path, Name: filepath.Base(path)})
	}
	return d.client.Call(d.t.Context(), "initialize", map[string]any{
		"processId": nil, "clientInfo": map[string]string{"name": w.Name}, "capabilities": capabilities, "initializationOptions": settings, "workspaceFolders": folders,
	}, nil)
}

func (d *desk) notify(method string, params any) {
	d.t.Helper()
	if err := d.client.Notify(method, params); err != nil {
		d.t.Fatalf("%s: %v", method, err)
	}
}

func (d *desk) call(method string, params, result any) {
	d.t.Helper()
	if err := d.client.Call(d.t.Context(), method, params, result); err != nil {
		d.t.Fatalf("%s: %v", method, err)
	}
}

// refused calls and returns the error that it must answer.
func (d *desk) refused(method string, params any) error {
	d.t.Helper()
	err := d.client.Call(d.t.Context(), method, params, nil)
	if err == nil {
		d.t.Fatalf("%s %v was not refused", method, params)
	}
	return err
}

// settled returns when the roots are ready.
func (d *desk) settled() *desk {
	d.t.Helper()
	d.call("memory/list", lsp.ListParams{}, nil)
	return d
}

// until asks for the list until it satisfies ok, once for every change.
func (d *desk) until(what string, ok func(lsp.ListResult) bool) {
	d.t.Helper()
	for seq := 0; ; {
		var list lsp.ListResult
		d.call("memory/list", lsp.ListParams{}, &list)
		if ok(list) {
			return
		}
		m, err := d.client.Await(d.t.Context(), seq, lsptest.Method("memory/changed"))
		if err != nil {
			d.t.Fatalf("waiting for %s: %v", what, err)
		}
		seq = m.Seq + 1
	}
}

// holds returns when the version of a file has become another than before.
func (d *desk) changed(ref, before string) (now string) {
	d.t.Helper()
	d.until("a new version of "+ref, func(l lsp.ListResult) bool {
		i := slices.IndexFunc(l.Documents, func(x lsp.ListedDocument) bool { return x.Ref == ref })
		if i < 0 || l.Documents[i].Version == before {
			return false
		}
		now = l.Documents[i].Version
		return true
	})
	return now
}

// recalled is one recall as the client saw it.
type recalled struct {
	fast     *lsp.RecallResult // nil when none came
	refined  lsp.RecallResult
	response lsp.RecallResponse
	err      *lsptest.Error
}

// token makes one that no recall had.
func (d *desk) token() string {
	d.tokens++
	return fmt.Sprintf("t%d", d.tokens)
}

// begin starts a recall.
func (d *desk) begin(p lsp.RecallParams) lsptest.Pending {
	d.t.Helper()
	pending, err := d.client.Start("memory/recall", p)
	if err != nil {
		d.t.Fatal(err)
	}
	return pending
}

// recall runs a recall to its end.
func (d *desk) recall(p lsp.RecallParams) recalled {
	d.t.Helper()
	if p.Token == "" {
		p.Token = d.token()
	}
	if p.Session == "" {
		p.Session = "s"
	}
	return d.finish(d.begin(p), p)
}

// ask recalls a query in the session "s".
func (d *desk) ask(query string) recalled {
	d.t.Helper()
	return d.recall(lsp.RecallParams{Query: query})
}

// finish waits for the end of a recall and checks what holds for every one: the
// events come in order, each once, and before the answer.
func (d *desk) finish(pending lsptest.Pending, p lsp.RecallParams) recalled {
	d.t.Helper()
	m, err := pending.Wait(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	var r recalled
	var phases []string
	for _, n := range d.events(p.Session, p.Token) {
		if n.Seq > m.Seq {
			d.t.Errorf("%s of %s came after the answer", n.Method, p.Token)
		}
		phases = append(phases, n.Method)
		res := decode[lsp.RecallResult](d.t, n.Params)
		if n.Method == lsp.NotifyRecallFast {
			r.fast = &res
		} else {
			r.refined = res
		}
	}
	if r.err = m.Error; r.err == nil {
		r.response = decode[lsp.RecallResponse](d.t, m.Result)
	}
	want := []string{lsp.NotifyRecallFast, lsp.NotifyRecallRefined}
	switch {
	case r.response.Outcome == "not_started" || r.err != nil && r.err.Code != -32800:
		want = nil
	case r.fast == nil && r.refined.Status == "cancelled":
		want = want[1:]
	}
	if !slices.Equal(phases, want) {
		d.t.Errorf("events of %s: %v, want %v", p.Token, phases, want)
	}
	if n := len(d.client.Answers(fmt.Sprint(pending.ID()))); n != 1 {
		d.t.Errorf("%s has %d answers", p.Token, n)
	}
	return r
}

// events are the notifications of a recall so far.
func (d *desk) events(session, token string) (out []lsptest.Message) {
	for _, m := range d.client.Log() {
		if !strings.HasPrefix(m.Method, "memory/recall") {
			continue
		}
		if r := decode[lsp.RecallResult](d.t, m.Params); r.Token == token && r.Session == session {
			out = append(out, m)
		}
	}
	return out
}

// awaitFast waits for the fast result of a recall that is under way.
func (d *desk) awaitFast(token string) lsp.RecallResult {
	d.t.Helper()
	m, err := d.client.Await(d.t.Context(), 0, func(m lsptest.Message) bool {
		return m.Method == lsp.NotifyRecallFast && decode[lsp.RecallResult](d.t, m.Params).Token == token
	})
	if err != nil {
		d.t.Fatalf("fast result of %s: %v", token, err)
	}
	return decode[lsp.RecallResult](d.t, m.Params)
}

func (d *desk) status() lsp.StatusResult {
	d.t.Helper()
	var s lsp.StatusResult
	d.call("memory/status", nil, &s)
	return s
}

func (d *desk) configure(memls string) {
	d.t.Helper()
	d.notify("workspace/didChangeConfiguration", `{"settings":{"memls":`+memls+`}}`)
}

func decode[T any](t testing.TB, raw json.RawMessage) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%T from %s: %v", v, raw, err)
	}
	return v
}

// refs are those of documents, without the scope.
func refs(docs []lsp.RecallDocument) []string {
	out := []string{}
	for _, d := range docs {
		out = append(out, d.Ref)
	}
	return out
}

// all are the refs that a recall delivered, in order.
func (r recalled) all() []string {
	out := []string{}
	if r.fast != nil {
		out = append(out, refs(r.fast.Documents)...)
	}
	return append(out, refs(r.refined.Documents)...)
}

func wantRefs(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// others are three memories that few queries of the tests are about.
func others() map[string]string {
	return map[string]string{
		"palette.md": note("Palette", "colours", "Nine colours."),
		"desk.md":    note("Desk", "chairs", "A chair."),
		"rota.md":    note("Rota", "who is on call", "Ana, then Bo."),
	}
}

// gateways are five memories on gateways, the lower number the better match,
// and three others.
func gateways() map[string]string {
	files := others()
	for i := range 5 {
		var own strings.Builder
		for j := range 20 + 10*i {
			fmt.Fprintf(&own, " q%cz%d", 'a'+i, j)
		}
		files[fmt.Sprintf("g%d.md", i)] = note(fmt.Sprintf("Gateway rule %d", i), "gateway timeouts",
			strings.Repeat("gateway timeout. ", 5-i)+own.String())
	}
	return files
}

func serving(s store) lsp.InitializationOptions {
	return lsp.InitializationOptions{Roots: []lsp.RootOption{s.root("project")}, Trusted: true}
}

type (
	lsptestHandler = lsptest.Handler
	Message        = lsptest.Message
)

func noPause(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// soak asks for the long forms of randomised tests.
func soak() bool { return os.Getenv("MEMLS_SOAK") != "" }
