package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

var memls string // the program, built by TestMain

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "memls-pane-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		memls = filepath.Join(dir, "memls")
		if runtime.GOOS == "windows" {
			memls += ".exe"
		}
		build := exec.Command("go", "build", "-o", memls, "./cmd/memls")
		build.Dir = filepath.Join("..", "..", "..")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build memls: %v\n%s", err, out)
			return 1
		}
		os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
		os.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
		return m.Run()
	}())
}

// selector is a model endpoint that chooses the memories with some titles, when
// the test says so.
type selector struct {
	*httptest.Server
	titles []string
	gate   chan struct{}
}

func newSelector(t *testing.T, titles ...string) *selector {
	s := &selector{titles: titles, gate: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(s.choose))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

var shortID = regexp.MustCompile(`\bm[0-9]+\b`)

func (s *selector) choose(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var chat struct {
		Messages []struct{ Content string }
	}
	_ = json.Unmarshal(raw, &chat)
	ids := []string{}
	for _, title := range s.titles {
		for _, m := range chat.Messages {
			for _, line := range strings.Split(m.Content, "\n") {
				if id := shortID.FindString(line); id != "" && strings.Contains(line, title) {
					ids = append(ids, id)
				}
			}
		}
	}
	select {
	case <-s.gate:
	case <-r.Context().Done():
		return
	}
	content, _ := json.Marshal(map[string][]string{"ids": ids})
	_ = json.NewEncoder(w).Encode(map[string]any{
		"choices": []any{map[string]any{"message": map[string]string{"role": "assistant", "content": string(content)}, "finish_reason": "stop"}},
	})
}

// screen is what a pane shows.
type screen struct {
	t     *testing.T
	lines chan string // holds more than any test shows: the pane waits for no reader
	seen  []string
}

func newScreen(t *testing.T, r io.Reader) *screen {
	s := &screen{t: t, lines: make(chan string, 1000)}
	go func() {
		defer close(s.lines)
		for in := bufio.NewScanner(r); in.Scan(); {
			s.lines <- in.Text()
		}
	}()
	return s
}

// until reads to a line that holds text.
func (s *screen) until(text string) {
	s.t.Helper()
	for line := range s.lines {
		s.seen = append(s.seen, line)
		if strings.Contains(line, text) {
			return
		}
	}
	s.t.Fatalf("no %q in\n%s", text, strings.Join(s.seen, "\n"))
}

// open starts a pane on some notes.
func open(t *testing.T, notes map[string]string, model *selector) (typed io.WriteCloser, shown *screen, ended <-chan error) {
	dir := t.TempDir()
	for name, text := range notes {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	options := map[string]any{"trusted": true, "roots": []any{map[string]string{"scope": "project", "path": dir}}}
	if model != nil {
		options["model"] = map[string]string{"baseURL": model.URL + "/v1", "name": "m"}
	}
	raw, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	in, typed := io.Pipe()
	screenIn, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(t.Context(), []string{memls, "serve", "--stdio", "--log-level", "off"}, raw, in, out)
		_ = out.CloseWithError(io.EOF)
		done <- err
	}()
	return typed, newScreen(t, screenIn), done
}

func note(title, description, body string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\ntype: project\n---\n%s\n", title, description, body)
}

var notes = map[string]string{
	"port.md":  note("Gateway port", "which port the gateway uses", "The gateway listens on 7433."),
	"owner.md": note("Gateway owner", "who owns the gateway", "The gateway belongs to Ana."),
	"tides.md": note("Tides", "harbour tables", "High water at six."),
}

func end(t *testing.T, typed io.Closer, shown *screen, ended <-chan error) {
	t.Helper()
	if err := typed.Close(); err != nil {
		t.Fatal(err)
	}
	for line := range shown.lines {
		shown.seen = append(shown.seen, line)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the pane did not end")
	}
}

// What the index knows is there while the model thinks; what the model adds and
// withdraws comes later; what was withdrawn may be shown again.
func TestPane(t *testing.T) {
	model := newSelector(t, "Tides")
	typed, shown, ended := open(t, notes, model)
	fmt.Fprintln(typed, "which port does the gateway use")
	shown.until("1  + Gateway port: The gateway listens on 7433.")
	close(model.gate)
	shown.until("1  + Tides: High water at six.")
	shown.until("1  - project:port.md")
	shown.until("1  settled")
	fmt.Fprintln(typed, "ok thanks") // nothing is about that
	shown.until("2  settled")
	end(t, typed, shown, ended)
}

// The next line cancels what a model still thinks about the one before.
func TestPaneGoesOn(t *testing.T) {
	model := newSelector(t)
	typed, shown, ended := open(t, notes, model)
	fmt.Fprintln(typed, "which port does the gateway use")
	shown.until("1  + Gateway port")
	fmt.Fprintln(typed, "harbour tables")
	shown.until("2  + Tides")
	close(model.gate)
	end(t, typed, shown, ended)
	if all := strings.Join(shown.seen, "\n"); !strings.Contains(all, "1  cancelled new_query") || !strings.Contains(all, "2  settled") {
		t.Errorf("%s", all)
	}
}

// Without a model everything is there at once, and once.
func TestPaneWithoutAModel(t *testing.T) {
	typed, shown, ended := open(t, notes, nil)
	for range 2 {
		fmt.Fprintln(typed, "which port does the gateway use")
	}
	shown.until("2  settled")
	end(t, typed, shown, ended)
	if all := strings.Join(shown.seen, "\n"); strings.Count(all, "+ Gateway port") != 1 {
		t.Errorf("%s", all)
	}
}

// A memls that cannot be started is an error that says so.
func TestPaneWithoutMemls(t *testing.T) {
	err := run(t.Context(), []string{filepath.Join(t.TempDir(), "none")}, nil, strings.NewReader(""), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "start memls") {
		t.Errorf("%v", err)
	}
}
