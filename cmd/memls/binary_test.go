package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// buildOnce makes the program once for all tests of the package; cleaningUp
// removes it.
var buildOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "memls-test-")
	if err != nil {
		return "", err
	}
	builtIn.Store(&dir)
	path := filepath.Join(dir, "memls")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	args := []string{"build", "-o", path}
	if raceEnabled {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "-ldflags", "-X main.version=v9.8.7-test", ".")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

var builtIn atomic.Pointer[string]

// cleaningUp runs the tests and removes what buildOnce made.
type cleaningUp struct{ m *testing.M }

func (c cleaningUp) Run() int {
	code := c.m.Run()
	if dir := builtIn.Load(); dir != nil {
		if err := os.RemoveAll(*dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return max(code, 1)
		}
	}
	return code
}

// binary is the path of the built program.
func binary(t testing.TB) string {
	t.Helper()
	path, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// sampleRoot is a root of the sample memory in the checkout.
func sampleRoot(t *testing.T, scope string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "testdata", "memory", scope))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
