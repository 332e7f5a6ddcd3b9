package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/eval"
	"github.com/memls/memls/recall/model/modeltest"
)

// BenchmarkFastOverStdio drives the built program over real pipes, with a model
// endpoint that never answers: request written to fast notification read. Beside
// it stands what a recall costs that scans and scores the same files every time,
// the way of the shipped upstream, so that the ratio is of one machine and one
// moment: in Go (the frozen copy of its scorer, and a plain scan), and where Node
// is installed in the runtime of the original.
func BenchmarkFastOverStdio(b *testing.B) {
	for _, n := range []int{1_000, 5_000, 10_000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir, queries := benchStore(b, n)
			silent := modeltest.Start()
			defer silent.Close()
			silent.Otherwise(modeltest.Hang())
			host := startHost(b, dir, silent.URL())
			defer host.stop(b)
			host.ready(b, n)
			scan := scanAndScore(b, dir, queries[0], 5)
			node, hasNode := scanInNode(b, dir, queries[0], 5)
			lat := make([]time.Duration, 0, 1<<14)
			b.ResetTimer()
			for i := 0; b.Loop(); i++ {
				time.Sleep(20 * time.Millisecond)
				lat = append(lat, host.recall(b, i, queries[i%len(queries)]))
			}
			b.StopTimer()
			slices.Sort(lat)
			p50 := lat[len(lat)/2]
			b.ReportMetric(float64(p50.Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(lat[len(lat)*95/100].Microseconds())/1000, "p95-ms")
			b.ReportMetric(float64(lat[len(lat)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(scan.Microseconds())/1000, "scan-ms")
			b.ReportMetric(float64(scan)/float64(p50), "scan/p50")
			if hasNode {
				b.ReportMetric(float64(node.Microseconds())/1000, "node-ms")
				b.ReportMetric(float64(node)/float64(p50), "node/p50")
			}
		})
	}
}

// BenchmarkInitialOverStdio is how long memory/consume keeps the start of a turn
// waiting at 1,000 files, one host at a time, with a model endpoint that never
// answers: where a fast result comes, and where nothing matches.
func BenchmarkInitialOverStdio(b *testing.B) {
	dir, queries := benchStore(b, 1_000)
	silent := modeltest.Start()
	defer silent.Close()
	silent.Otherwise(modeltest.Hang())
	host := startHost(b, dir, silent.URL())
	defer host.stop(b)
	host.ready(b, 1_000)
	var found, none []time.Duration
	for i := 0; b.Loop(); i++ {
		time.Sleep(20 * time.Millisecond)
		took, documents := host.initial(b, i, queries[i%len(queries)])
		if documents == 0 {
			b.Fatalf("nothing found for %q", queries[i%len(queries)])
		}
		found = append(found, took)
		if took, documents = host.initial(b, -1-i, "zzyzx quokka wombat"); documents > 0 {
			b.Fatal("found what is not there")
		}
		none = append(none, took)
	}
	b.ReportMetric(percentile(found, 50), "found-p50-ms")
	b.ReportMetric(percentile(found, 99), "found-p99-ms")
	b.ReportMetric(percentile(none, 50), "none-p50-ms")
	b.ReportMetric(percentile(none, 99), "none-p99-ms")
}

// percentile is that of the durations, in milliseconds.
func percentile(d []time.Duration, p int) float64 {
	slices.Sort(d)
	return float64(d[len(d)*p/100].Microseconds()) / 1000
}

// BenchmarkSavedToRecallable saves a new memory and asks for it until a recall
// has it, at 1,000 files; then deletes it and asks until none has.
func BenchmarkSavedToRecallable(b *testing.B) {
	dir, _ := benchStore(b, 1_000)
	host := startHost(b, dir, "")
	defer host.stop(b)
	host.ready(b, 1_000)
	var saved, gone []time.Duration
	for i := 0; b.Loop(); i++ {
		word := fmt.Sprintf("novelty%dword", i)
		path := filepath.Join(dir, fmt.Sprintf("fresh%d.md", i))
		began := time.Now()
		if err := os.WriteFile(path, []byte("---\nname: "+word+"\ntype: project\n---\nSaved just now.\n"), 0o600); err != nil {
			b.Fatal(err)
		}
		for !host.finds(b, word) {
		}
		saved = append(saved, time.Since(began))
		began = time.Now()
		if err := os.Remove(path); err != nil {
			b.Fatal(err)
		}
		for host.finds(b, word) {
		}
		gone = append(gone, time.Since(began))
	}
	b.ReportMetric(percentile(saved, 50), "saved-p50-ms")
	b.ReportMetric(percentile(saved, 99), "saved-p99-ms")
	b.ReportMetric(percentile(gone, 50), "gone-p50-ms")
	b.ReportMetric(percentile(gone, 99), "gone-p99-ms")
}

// benchStore writes n memories of about 2 KB and returns queries each of which
// a memory answers.
func benchStore(b *testing.B, n int) (dir string, queries []string) {
	b.Helper()
	dir = b.TempDir()
	set := eval.Synthetic(n, 5)
	if _, err := set.WriteMemory(dir); err != nil {
		b.Fatal(err)
	}
	for _, c := range set.Cases {
		queries = append(queries, c.Query)
	}
	return dir, queries
}

// scanAndScore is the median time of reading every file below dir and scoring it
// with the frozen upstream scorer.
func scanAndScore(b *testing.B, dir, query string, rounds int) time.Duration {
	b.Helper()
	var took []time.Duration
	for range rounds {
		began := time.Now()
		var docs []eval.Doc
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			m := memory.Parse(raw)
			docs = append(docs, eval.Doc{ID: path, Title: m.Title, Description: m.Description, Type: m.Type, Body: m.BodyText()})
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		eval.NewQwenCode(docs).Rank(query, 5)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// scanInNode is the same, measured by a program of its own in Node; ok is false
// where there is no Node.
func scanInNode(b *testing.B, dir, query string, rounds int) (took time.Duration, ok bool) {
	b.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		b.Log("no node: the ratio to a scan in it is left out")
		return 0, false
	}
	out, err := exec.CommandContext(b.Context(), node, filepath.Join("testdata", "upstream", "scan.mjs"), dir, fmt.Sprint(rounds), query).Output()
	if err != nil {
		b.Fatal(err)
	}
	took, err = time.ParseDuration(strings.TrimSpace(string(out)) + "ms")
	if err != nil {
		b.Fatal(err)
	}
	return took, true
}

// stdioHost is an agent host at the other end of the program's pipes.
type stdioHost struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

func startHost(b *testing.B, dir, modelURL string) *stdioHost {
	b.Helper()
	cmd := exec.Command(binary(b), "serve", "--stdio", "--log-level", "error")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	h := &stdioHost{cmd: cmd, in: in, out: bufio.NewReader(out)}
	options := map[string]any{"roots": []any{map[string]any{"scope": "user", "path": dir}}}
	if modelURL != "" {
		options["model"] = map[string]any{"baseURL": modelURL, "name": "silent"}
	}
	h.call(b, "initialize", map[string]any{"processId": nil, "capabilities": map[string]any{}, "initializationOptions": options})
	h.send(b, map[string]any{"jsonrpc": "2.0", "method": "initialized", "params": map[string]any{}})
	return h
}

func (h *stdioHost) send(b *testing.B, v any) {
	b.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := fmt.Fprintf(h.in, "Content-Length: %d\r\n\r\n%s", len(raw), raw); err != nil {
		b.Fatal(err)
	}
}

// frame reads the next frame's body.
func (h *stdioHost) frame(b *testing.B) []byte {
	b.Helper()
	n := 0
	for {
		line, err := h.out.ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		if _, err := fmt.Sscanf(line, "Content-Length: %d", &n); err != nil && strings.HasPrefix(line, "Content-Length") {
			b.Fatal(err)
		}
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(h.out, body); err != nil {
		b.Fatal(err)
	}
	return body
}

// call sends a request and returns its result.
func (h *stdioHost) call(b *testing.B, method string, params any) json.RawMessage {
	b.Helper()
	h.id++
	h.send(b, map[string]any{"jsonrpc": "2.0", "id": h.id, "method": method, "params": params})
	for {
		var m struct {
			ID     *int
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(h.frame(b), &m); err != nil {
			b.Fatal(err)
		}
		if m.ID != nil && *m.ID == h.id {
			if m.Error != nil {
				b.Fatalf("%s: %s", method, m.Error)
			}
			return m.Result
		}
	}
}

// ready waits until n memories are catalogued.
func (h *stdioHost) ready(b *testing.B, n int) {
	b.Helper()
	for {
		var s struct {
			Roots []struct {
				State      string
				Catalogued int
			}
		}
		if err := json.Unmarshal(h.call(b, "memory/status", nil), &s); err != nil {
			b.Fatal(err)
		}
		if len(s.Roots) == 1 && s.Roots[0].State == "ready" && s.Roots[0].Catalogued == n {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// recall times one recall in a session of its own to its fast result, which must
// hold a document, then cancels it.
func (h *stdioHost) recall(b *testing.B, i int, query string) time.Duration {
	b.Helper()
	h.id++
	id := h.id
	began := time.Now()
	h.send(b, map[string]any{"jsonrpc": "2.0", "id": id, "method": "memory/recall", "params": map[string]any{
		"token": "t", "session": fmt.Sprint("s", i), "query": query,
	}})
	var took time.Duration
	for {
		raw := h.frame(b)
		arrived := time.Since(began)
		var m struct {
			Method string
			ID     *int
			Params struct{ Documents []struct{ Ref string } }
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			b.Fatal(err)
		}
		switch {
		case m.Method == "memory/recallFast":
			took = arrived
			if len(m.Params.Documents) == 0 {
				b.Fatalf("nothing found for %q", query)
			}
			h.send(b, map[string]any{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": map[string]any{"id": id}})
		case m.ID != nil && *m.ID == id:
			return took
		}
	}
}

// initial times the wait of a turn's start in a session of its own: from the
// recall to the answer of memory/consume. It ends the turn.
func (h *stdioHost) initial(b *testing.B, i int, query string) (took time.Duration, documents int) {
	b.Helper()
	session := fmt.Sprint("i", i)
	h.id++
	began := time.Now()
	h.send(b, map[string]any{"jsonrpc": "2.0", "id": h.id, "method": "memory/recall", "params": map[string]any{
		"token": "t", "session": session, "query": query, "delivery": "pull",
	}})
	var r struct{ Documents []json.RawMessage }
	if err := json.Unmarshal(h.call(b, "memory/consume", map[string]any{"token": "t", "session": session, "point": "initial"}), &r); err != nil {
		b.Fatal(err)
	}
	took = time.Since(began)
	h.call(b, "memory/finish", map[string]any{"token": "t", "session": session, "outcome": "cancelled"})
	return took, len(r.Documents)
}

// finds tells whether a search for word has a hit.
func (h *stdioHost) finds(b *testing.B, word string) bool {
	b.Helper()
	var s struct{ Total int }
	if err := json.Unmarshal(h.call(b, "memory/search", map[string]any{"query": word + " "}), &s); err != nil {
		b.Fatal(err)
	}
	return s.Total > 0
}

func (h *stdioHost) stop(b *testing.B) {
	b.Helper()
	h.call(b, "shutdown", nil)
	h.send(b, map[string]any{"jsonrpc": "2.0", "method": "exit"})
	if err := h.cmd.Wait(); err != nil {
		b.Fatal(err)
	}
}
