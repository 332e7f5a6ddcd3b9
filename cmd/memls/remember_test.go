package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Several runs of the program that remember the same at once make one memory, and
// each says which.
func TestRememberByManyProcesses(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "notes")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	const many = 6
	outs := make([]strings.Builder, many)
	cmds := make([]*exec.Cmd, many)
	for i := range cmds {
		cmds[i] = exec.CommandContext(t.Context(), binary(t), "remember", "the crane is out of order until May", "--root", root)
		cmds[i].Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
		cmds[i].Stdout, cmds[i].Stderr = &outs[i], &outs[i]
		if err := cmds[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	made := 0
	for i, cmd := range cmds {
		// Who waited for the lock in vain says so, and has made nothing.
		if err := cmd.Wait(); err != nil && !strings.Contains(outs[i].String(), "is changing the") {
			t.Errorf("%v: %s", err, outs[i].String())
		}
		if strings.Contains(outs[i].String(), "  created") {
			made++
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "the-crane*.md"))
	if err != nil || len(files) != 1 || made != 1 {
		t.Errorf("%d made, files %q, %v", made, files, err)
	}
}
