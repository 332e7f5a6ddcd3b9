package memory_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memls/memls/memory"
)

func impatient(o *memory.StoreOptions) { o.LockWait = 30 * time.Millisecond }

// TestLOSS_07_EveryChangeTakesTheLock: while another process is in the middle of
// a change, nothing that changes anything goes through, and who is in the way is
// said.
func TestLOSS_07_EveryChangeTakesTheLock(t *testing.T) {
	s := openStore(t, func(o *memory.StoreOptions) { impatient(o); o.Index = listing })
	s.write(0, "a.md", "a\n")
	op := s.do(s.create(0, "b.md", "b\n"))
	p := s.propose(s.remove(0, "a.md"))
	inbox := s.propose(s.extracted("c.md"))
	cmd, out := child(t, filepath.Dir(s.state), "hold")
	in := cmd.Stdin
	_ = in
	if !out.Scan() || out.Text() != "ready" {
		t.Fatalf("the other process says %q", out.Text())
	}
	draft := s.create(0, "d.md", "d\n")
	for what, f := range map[string]func() error{
		"do":      func() error { _, err := s.Do(t.Context(), draft); return err },
		"apply":   func() error { _, err := s.Apply(t.Context(), p.ID, memory.ApplyOptions{}); return err },
		"undo":    func() error { _, err := s.Undo(t.Context(), op.ID); return err },
		"discard": func() error { return s.Discard(t.Context(), inbox.ID) },
		"propose": func() error { _, err := s.Propose(t.Context(), s.extracted("e.md")); return err },
		"rebuild": func() error {
			s.write(0, "MEMORY.md", "something else\n")
			_, err := s.RebuildIndex(t.Context(), s.roots[0])
			return err
		},
	} {
		err := f()
		r := wantRefusal(t, err, memory.RefusedLocked)
		if r.Holder == nil || r.Holder.PID != cmd.Process.Pid || r.Holder.Since.IsZero() {
			t.Errorf("%s: held by %+v, want process %d", what, r.Holder, cmd.Process.Pid)
		}
		if !strings.Contains(r.Detail, strconv.Itoa(cmd.Process.Pid)) {
			t.Errorf("%s: %q", what, r.Detail)
		}
	}
	// Other roots are free, recovery leaves it alone, and reading goes on.
	s.do(s.create(1, "a.md", "a\n"))
	if found, err := s.Recover(t.Context()); err != nil || len(found) != 0 {
		t.Errorf("recovered %v, %v", found, err)
	}
	if _, _, err := s.Operations(0); err != nil {
		t.Error(err)
	}
	// A process that is killed holds nothing any more, and what it began is settled
	// by who comes next.
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	s.do(draft)
	if got := s.read(0, "held.md"); got != "held\n" {
		t.Errorf("what it began: %q", got)
	}
}

func TestLocksOfDifferentStateDirectories(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("directories cannot be locked here")
		return
	}
	s := openStore(t, nil)
	other := s.again(func(o *memory.StoreOptions) { impatient(o); o.State = filepath.Join(t.TempDir(), "elsewhere") })
	err := s.holding(func() {
		_, err := other.Do(t.Context(), s.create(0, "x.md", "x\n"))
		wantRefusal(t, err, memory.RefusedLocked)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Do(t.Context(), s.create(0, "x.md", "x\n")); err != nil {
		t.Error(err)
	}
}

// upstream writes the lock of Qwen Code beside the project root.
func (s *shop) upstream(text string, age time.Duration) string {
	s.t.Helper()
	path := write(s.t, filepath.Dir(s.state), "consolidation.lock", text)
	at := time.Now().Add(-age)
	if err := os.Chtimes(path, at, at); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func TestLOSS_05_TheLockOfQwenCodeIsHonoured(t *testing.T) {
	s := openStore(t, impatient)
	cmd, out := child(t, filepath.Dir(openStore(t, nil).state), "hold")
	out.Scan()
	live := strconv.Itoa(cmd.Process.Pid)
	for n, c := range []struct {
		text   string
		age    time.Duration
		locked bool
	}{
		{live, time.Second, true},
		{live + "\n", 59 * time.Minute, true},
		{live, 61 * time.Minute, false}, // forgotten
		{"", 0, true},                   // made a moment ago, and not yet filled
		{"", 11 * time.Second, false},
		{"not a number", time.Minute, false},
		{strconv.Itoa(os.Getpid()), time.Minute, false}, // our own
	} {
		path := s.upstream(c.text, c.age)
		_, err := s.Do(t.Context(), s.create(0, fmt.Sprintf("f%d.md", n), "x\n"))
		if c.locked {
			if r := wantRefusal(t, err, memory.RefusedLocked); r.Holder == nil || !r.Holder.Upstream {
				t.Errorf("%q: held by %+v", c.text, r.Holder)
			}
		} else if err != nil {
			t.Errorf("%q of %v ago: %v", c.text, c.age, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != c.text {
			t.Errorf("%q: the lock is %q now, %v", c.text, got, err)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	s.upstream(live, time.Second)
	if _, err := s.Do(t.Context(), s.create(0, "dead.md", "x\n")); err != nil {
		t.Errorf("after its process ended: %v", err)
	}
}

func TestLOSS_06_TheLockOfQwenCodeIsTakenAndGivenBack(t *testing.T) {
	s := openStore(t, impatient)
	path := filepath.Join(filepath.Dir(s.state), "consolidation.lock")
	release, err := s.HoldUpstream(t.Context(), s.roots[0])
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != strconv.Itoa(os.Getpid()) {
		t.Errorf("the lock is %q, %v", got, err)
	}
	s.do(s.create(0, "a.md", "our own lock is not in our way\n"))
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock is still there: %v", err)
	}
	// One that is not ours any more stays; a stale one is replaced.
	s.upstream("999999999", time.Minute)
	if release, err = s.HoldUpstream(t.Context(), s.roots[0]); err != nil {
		t.Fatal(err)
	}
	s.upstream("1", 0)
	if err := release(); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "1" {
		t.Errorf("another's lock is %q, %v", got, err)
	}
	_, err = s.HoldUpstream(t.Context(), s.roots[0])
	wantRefusal(t, err, memory.RefusedLocked)
}

// TestLOSS_08_StateIsNotLostBetweenWriters: what several keep in one state
// directory at once is all there.
func TestLOSS_08_StateIsNotLostBetweenWriters(t *testing.T) {
	s := openStore(t, nil)
	var wg sync.WaitGroup
	for w := range 4 {
		store := s.again(func(o *memory.StoreOptions) { o.LockWait = time.Minute })
		wg.Go(func() {
			for n := range 10 {
				name := fmt.Sprintf("w%d-%d.md", w, n)
				if _, err := store.Propose(t.Context(), s.extracted("plan-"+name)); err != nil {
					t.Error(err)
				}
				if _, err := store.Do(t.Context(), s.create(n%2, name, "x\n")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	plans, err := s.Plans()
	if err != nil || len(plans) != 40 {
		t.Errorf("%d plans, %v", len(plans), err)
	}
	ops, _, err := s.Operations(0)
	if err != nil || len(ops) != 40 {
		t.Errorf("%d operations, %v", len(ops), err)
	}
	if ops, more, err := s.Operations(7); err != nil || len(ops) != 7 || !more {
		t.Errorf("%d operations, more %v, %v", len(ops), more, err)
	}
}
