package lsp_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
	"github.com/memls/memls/recall/model/modeltest"
)

// keeping switches activity on.
func keeping(o lsp.InitializationOptions) lsp.InitializationOptions {
	o.Activity = true
	return o
}

// awaitActivity waits for the n-th memory/activity, from 0.
func (d *desk) awaitActivity(n int) lsp.ActivityParams {
	d.t.Helper()
	m, err := d.client.Await(d.t.Context(), 0, func(m lsptest.Message) bool {
		if m.Method == "memory/activity" {
			n--
		}
		return n < 0
	})
	if err != nil {
		d.t.Fatalf("memory/activity: %v", err)
	}
	return decode[lsp.ActivityParams](d.t, m.Params)
}

// stateFiles are the texts of all files in a state directory.
func stateFiles(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %v", path, info.Mode())
		}
		raw, err := os.ReadFile(path)
		out[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// An editor is told what an agent host on another connection was given, by
// whatever name the root has there, and what it was given itself.
func TestActivityOfAnotherHost(t *testing.T) {
	state := t.TempDir()
	s, more := newStore(t, gateways()), newStore(t, map[string]string{"u.md": note("Mine", "gateway timeouts", "gateway timeout of mine")})
	stub, release := heldModel(t, modeltest.Choose("Gateway rule 4"))
	// No time runs out while the machine is busy: neither that which the start of a
	// turn waits at most, nor the model's.
	patient := lsp.MemoryOptions{State: state, After: func(d time.Duration) <-chan time.Time {
		if d >= 100*time.Millisecond {
			return nil
		}
		return time.After(d)
	}}
	agent := sit(t, patient, keeping(asking(s, stub)), memoryClient{Name: "acp\x1b[31m-agent", Plain: true}).settled()
	settings := keeping(serving(more))
	settings.Roots = append(settings.Roots, s.root("project")) // the second root of its scope
	editor := sit(t, lsp.MemoryOptions{State: state}, settings, memoryClient{Name: "editor"}).settled()
	// The tail of the editor has begun when it shows the editor's own.
	editor.recall(lsp.RecallParams{Query: "nine colours palette"})
	own := editor.awaitActivity(0)
	if !own.Own || own.Host != "editor" || own.Phase != "fast" || len(own.Refs) != 1 || !strings.HasSuffix(own.Refs[0], ":palette.md") {
		t.Errorf("its own: %+v", own)
	}
	prefix := strings.TrimSuffix(own.Refs[0], "palette.md")

	pending := agent.pull("s", "a", "gateway timeout")
	agent.consume("s", "a", "initial")
	fast := editor.awaitActivity(1)
	wantRefs(t, "fast", fast.Refs, prefix+"g0.md", prefix+"g1.md")
	if fast.Own || fast.Phase != "fast" || fast.Strategy != "heuristic" || fast.Status != "delivered" || fast.At.IsZero() || fast.Host != "acp[31m-agent" {
		t.Errorf("fast %+v", fast)
	}
	release()
	agent.answer(pending)
	agent.consume("s", "a", "tool_result")
	refined := editor.awaitActivity(2)
	if wantRefs(t, "refined", refined.Refs, prefix+"g4.md"); refined.Phase != "refined" || refined.Strategy != "model" {
		t.Errorf("refined %+v", refined)
	}
	for path, text := range stateFiles(t, state) {
		for _, word := range []string{"nine", "colours", "timeout", "Gateway rule", "sha256", `"s"`, "session", "token"} {
			if strings.Contains(text, word) {
				t.Errorf("%q in %s: %s", word, path, text)
			}
		}
	}
	for _, m := range agent.client.Log() {
		if m.Method == "memory/activity" {
			t.Errorf("a client without the memory capability was told %s", m.Params)
		}
	}
}

// Without the setting nothing is written, counted or shown; it can be switched
// on and off while the server runs.
func TestActivityIsOptIn(t *testing.T) {
	state := t.TempDir()
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{State: state}, serving(s)).settled()
	d.ask("gateway timeout")
	stats := func() (r lsp.StatsResult) {
		d.call("memory/stats", lsp.StatsParams{}, &r)
		return r
	}
	if r := stats(); r.Enabled || len(r.Days) != 0 {
		t.Errorf("%+v", r)
	}
	if files := stateFiles(t, state); len(files) != 0 {
		t.Errorf("%v", files)
	}
	d.configure(`{"activity":true}`)
	d.ask("nine colours palette")
	if r := stats(); !r.Enabled || len(r.Days) != 1 || r.Days[0].Recalled != 1 {
		t.Errorf("%+v", r)
	}
	d.configure(`{"activity":null}`)
	d.ask("who is on call")
	if r := stats(); r.Enabled || r.Days[0].Recalled != 1 {
		t.Errorf("%+v", r)
	}
	without := sit(t, lsp.MemoryOptions{State: stateless}, keeping(serving(s))).settled()
	without.ask("gateway timeout")
	var r lsp.StatsResult
	if without.call("memory/stats", nil, &r); r.Enabled || len(r.Days) != 0 {
		t.Errorf("without a state directory: %+v", r)
	}
	flagged := sit(t, lsp.MemoryOptions{State: state, Activity: true}, serving(s)).settled()
	flagged.ask("gateway timeout")
	if flagged.call("memory/stats", nil, &r); !r.Enabled || r.Days[0].Recalled != 2 {
		t.Errorf("asked for by the command line: %+v", r)
	}
}

// What became of recalls is counted, over all connections of the person.
func TestStats(t *testing.T) {
	state := t.TempDir()
	s := newStore(t, gateways())
	d := sit(t, lsp.MemoryOptions{State: state}, keeping(serving(s))).settled()
	d.ask("gateway timeout")                      // two, then three
	d.ask("nine colours palette")                 // all in fast
	d.ask("zebrafish aquarium")                   // nothing
	d.answer(d.pull("t", "a", "gateway timeout")) // not taken
	e := sit(t, lsp.MemoryOptions{State: state}, keeping(serving(s))).settled()
	e.pull("s", "a", "gateway timeout")
	e.consume("s", "a", "initial") // five
	d.ended(lsp.FinishParams{Session: "t", Outcome: "end_turn"})
	e.call("memory/stats", lsp.StatsParams{}, nil) // writes what it has
	var r lsp.StatsResult
	d.call("memory/stats", lsp.StatsParams{Days: pointer(1)}, &r)
	if len(r.Days) != 1 {
		t.Fatalf("%+v", r)
	}
	day := r.Days[0]
	want := []lsp.DiscardCount{{Reason: "already_delivered", Count: 1}, {Reason: "no_relevant_results", Count: 1}, {Reason: "no_safe_delivery_point", Count: 1}}
	if day.Recalled != 5 || day.Delivered != 3 || day.Documents != 2+3+1+5 || !slices.Equal(day.Discarded, want) {
		t.Errorf("%+v", day)
	}
	for _, days := range []int{0, -1, 401} {
		if err := d.refused("memory/stats", lsp.StatsParams{Days: pointer(days)}); code(err) != -32602 || data[lsp.ParamErrorData](t, err).Field != "days" {
			t.Errorf("%d days: %v", days, err)
		}
	}
	// What is left when a connection closes is written, too.
	d.pull("u", "b", "palette")
	d.call("shutdown", nil, nil)
	d.notify("exit", nil)
	<-d.done
	e.call("memory/stats", nil, &r)
	if r.Days[0].Recalled != 6 {
		t.Errorf("after a shutdown: %+v", r.Days[0])
	}
}
