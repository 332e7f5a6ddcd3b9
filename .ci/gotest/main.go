// Command gotest runs `go test -json` with its arguments and prints what a person needs: a line a package, the whole output
// of what failed, every skipped test, and a count. With CI=true a skipped test is a failure. Tests that skip themselves
// because they belong to `make soak` (their message names MEMLS_SOAK) are counted apart.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tests:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	t := tally{output: map[string][]string{}}
	if err := errors.Join(t.read(out), cmd.Wait()); err != nil {
		return fmt.Errorf("%w (%s)", err, t.String())
	}
	return t.close()
}

// event is what test2json emits, as far as it matters here.
type event struct {
	Action, Package, Test, Output, ImportPath string
}

type tally struct {
	output                                  map[string][]string // by package and test, until its verdict
	packages, passed, failed, skipped, soak int
	skips                                   []string
}

func (t *tally) String() string {
	s := fmt.Sprintf("%d tests in %d packages passed", t.passed, t.packages)
	if t.failed > 0 {
		s += fmt.Sprintf(", %d failed", t.failed)
	}
	if t.soak > 0 {
		s += fmt.Sprintf(", %d left to make soak", t.soak)
	}
	return s
}

func (t *tally) read(r io.Reader) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Print(string(line)) // not from a test: say it as it is
			} else {
				t.take(&e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *tally) take(e *event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		fmt.Print(e.Output)
	case "output":
		if e.Test == "" && (strings.HasPrefix(e.Output, "ok ") || strings.HasPrefix(e.Output, "FAIL\t")) {
			fmt.Print("   ", e.Output)
			return
		}
		t.output[key] = append(t.output[key], e.Output)
	case "pass", "fail", "skip":
		t.verdict(e, strings.Join(t.output[key], ""))
		delete(t.output, key)
	}
}

func (t *tally) verdict(e *event, output string) {
	switch {
	case e.Action == "fail":
		fmt.Print(output)
		if e.Test != "" {
			t.failed++
			return
		}
		t.unfinished(e.Package)
	case e.Test == "":
		if e.Action == "pass" {
			t.packages++
		}
	case e.Action == "pass":
		t.passed++
	case strings.Contains(output, "MEMLS_SOAK"):
		t.soak++
	default:
		t.skipped++
		t.skips = append(t.skips, fmt.Sprintf("%s in %s: %s", e.Test, e.Package, reason(output)))
	}
}

// unfinished prints what the tests of a package said that were cut off: by the end of their process, say.
func (t *tally) unfinished(pkg string) {
	for key, lines := range t.output {
		if strings.HasPrefix(key, pkg+" ") && !strings.HasSuffix(key, " ") {
			fmt.Print(strings.Join(lines, ""))
			delete(t.output, key)
		}
	}
}

// reason is the message of a skipped test: its last line that the framework did not write.
func reason(output string) string {
	last := "no reason given"
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			last = line
		}
	}
	return last
}

func (t *tally) close() error {
	for _, s := range t.skips {
		fmt.Println("   skipped:", s)
	}
	if t.skipped > 0 && os.Getenv("CI") == "true" {
		return fmt.Errorf("%d skipped, and CI=true allows no skip", t.skipped)
	}
	if err := addLines("MEMLS_SKIPS", t.skips...); err != nil {
		return err
	}
	fmt.Println("  ", t.String())
	return addLines("MEMLS_NOTES", t.String())
}

// addLines adds to the file that the environment variable names, if it names one.
func addLines(variable string, lines ...string) error {
	path := os.Getenv(variable)
	if path == "" || len(lines) == 0 {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(lines, "\n") + "\n")
	return errors.Join(err, f.Close())
}
