package memory_test

import (
	"io"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/memls/memls/memory"
)

// neighbour is a keeper of another process over the same directories: with a
// catalog of its own, that notices nothing until it is asked to.
func (h *house) neighbour() *house {
	h.t.Helper()
	n := &house{clock: h.clock, shop: &shop{t: h.t, state: h.state, dirs: h.dirs, roots: h.roots}}
	n.Store = n.again(func(o *memory.StoreOptions) { o.Index = nil; o.LockWait = time.Minute })
	n.bench = open(h.t, h.dirs[0], func(o *memory.CatalogOptions) {
		o.Roots, o.Index = nil, nil
		for _, r := range h.roots {
			o.Roots = append(o.Roots, memory.RootConfig{Scope: r.Scope, Path: r.Path})
		}
	})
	n.bench.ready()
	n.Keeper = memory.NewKeeper(memory.KeeperOptions{
		Store: n.Store, Roots: func() []*memory.Root { return n.roots }, Snapshot: n.bench.Snapshot, Sync: n.bench.Sync,
		Now: func() time.Time { return n.clock },
	})
	return n
}

// What another process has noted since this one looked last is known: said again
// it stays one memory, and what it says less is what is replaced.
func TestRememberKnowsWhatAnotherProcessHasJustNoted(t *testing.T) {
	h := keep(t, nil, nil)
	other := h.neighbour()
	h.remember(memory.Remember{Text: "tides are high at six"})
	if kept := other.remember(memory.Remember{Text: "Remember that tides are high at six."}); kept.Operation != nil || len(kept.Unchanged) != 1 {
		t.Errorf("said again: %+v", kept)
	}
	if n := len(h.files()); n != 1 {
		t.Errorf("%d files: %v", n, h.files())
	}

	h.remember(memory.Remember{Text: "berths are washed on Mondays"})
	kept := other.remember(memory.Remember{Text: "berths are washed on Mondays and on Fridays"})
	if c := kept.Operation.Changes[0]; c.Action != memory.ActionUpdate {
		t.Errorf("what says more: %+v", c)
	}
	// A name that was taken meanwhile is no conflict.
	h.remember(memory.Remember{Text: "one thing", Name: "Gates"})
	other.remember(memory.Remember{Text: "another thing altogether, about cranes", Name: "gates!"})
	if n := len(h.files()); n != 3 {
		t.Errorf("%d files: %v", n, h.files())
	}
}

// rememberers is what each of the processes of TestRememberInSeveralProcesses
// says.
var rememberers = []string{
	"tides are high at six", "berths are washed on Mondays", "tides are high at six", "the crane is out of order until May", "tides are high at six",
}

// TestRememberInSeveralProcesses: whoever says the same at once makes one
// memory.
func TestRememberInSeveralProcesses(t *testing.T) {
	for range 3 {
		h := keep(t, nil, nil)
		base := filepath.Dir(h.state)
		var all []*exec.Cmd
		var starts []io.Writer
		for range 4 {
			cmd, in, out := talking(t, base, "remember")
			if !out.Scan() || out.Text() != "ready" {
				t.Fatalf("the other process says %q", out.Text())
			}
			all, starts = append(all, cmd), append(starts, in)
		}
		for _, in := range starts {
			if _, err := io.WriteString(in, "\n"); err != nil {
				t.Fatal(err)
			}
		}
		for _, cmd := range all {
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		}
		if n := len(h.files()); n != 3 {
			t.Errorf("%d files: %v", n, h.files())
		}
	}
}
