//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/memls/memls/recall/model/modeltest"
)

// A signal ends a server in the orderly way.
func TestServeEndsBySignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		e := startServer(t, "--root", notes(t))
		e.initialize(nil)
		e.recall("s", "t", "kestrel vault")
		if err := e.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if code := e.exitCode(); code != exitOK {
			t.Errorf("%s: exit code %d, want 0\n%s", sig, code, e.stderr.String())
		}
	}
}

// A signal ends a command that waits for a model, which takes its sample along.
func TestRecallEndsBySignal(t *testing.T) {
	endpoint := modeltest.New(t)
	endpoint.Otherwise(func(c *modeltest.Call) { c.Wait(nil) })
	temp := t.TempDir()
	cmd := exec.CommandContext(t.Context(), binary(t), "recall", "retryBudget", "Nordhavn", "--model-url", endpoint.URL(), "--model", "m")
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-endpoint.Arrived()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var ended *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &ended) || ended.ExitCode() != exitFailure {
		t.Errorf("ended with %v, want exit code %d", err, exitFailure)
	}
	if !strings.Contains(stdout.String(), "booking_saga_timeouts.md") {
		t.Errorf("the fast result was not shown before the model answered:\n%s", stdout.String())
	}
	if !strings.Contains(stderr.String(), "memls: interrupted") {
		t.Errorf("standard error: %s", stderr.String())
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
