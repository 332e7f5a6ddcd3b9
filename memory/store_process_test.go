package memory_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memls/memls/memory"
)

// The environment variables that make this binary a process of a test.
const (
	childRole = "MEMLS_TEST_CHILD"
	childBase = "MEMLS_TEST_BASE"
)

// TestChild is the other process of tests that need one; by itself it does
// nothing.
func TestChild(t *testing.T) {
	base := os.Getenv(childBase)
	switch os.Getenv(childRole) {
	case "generations":
		generations(t, reopen(t, base))
	case "working":
		working(t, reopen(t, base))
	case "learning":
		learning(t, reopen(t, base))
	case "spending":
		spending(t, reopen(t, base))
	case "append":
		s := reopen(t, base)
		fmt.Println("ready")
		for n := range 30 {
			appendLine(t, s.Store, s, n%2, fmt.Sprintf("child-%d", n))
		}
	case "remember":
		h := (&house{shop: reopen(t, base), clock: time.Now()}).neighbour()
		fmt.Println("ready")
		bufio.NewReader(os.Stdin).ReadString('\n') // all begin at once
		for _, text := range rememberers {
			h.remember(memory.Remember{Text: text})
		}
	case "hold":
		s := reopen(t, base)
		err := s.holding(func() {
			fmt.Println("ready")
			bufio.NewReader(os.Stdin).ReadString('\n')
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// reopen is a shop over the directories that openStore made.
func reopen(t testing.TB, base string) *shop {
	s := &shop{t: t, state: filepath.Join(base, "state")}
	var configs []memory.RootConfig
	for _, scope := range []memory.Scope{memory.ScopeProject, memory.ScopeUser, memory.ScopeTeam} {
		dir := filepath.Join(base, string(scope))
		s.dirs = append(s.dirs, dir)
		configs = append(configs, memory.RootConfig{Scope: scope, Path: dir})
	}
	roots, err := memory.ResolveRoots(configs)
	if err != nil {
		t.Fatal(err)
	}
	s.roots = roots
	s.Store = s.again(func(o *memory.StoreOptions) { o.LockWait = time.Minute })
	return s
}

// holding calls f in the middle of an operation, while the lock is held.
func (s *shop) holding(f func()) error {
	once := sync.OnceFunc(f)
	store := s.again(func(o *memory.StoreOptions) {
		o.Fault = func(c memory.Call) error {
			if c.Op == "place" {
				once()
			}
			return nil
		}
	})
	_, err := store.Do(context.Background(), memory.Draft{Kind: memory.KindRemember, Edits: []memory.Edit{
		{Action: memory.ActionCreate, Root: s.roots[0], Rel: "held.md", Text: "held\n"},
	}})
	return err
}

// child starts this binary in a role.
func child(t testing.TB, base, role string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd, _, out := talking(t, base, role)
	return cmd, out
}

// talking is child, with what it can be told.
func talking(t testing.TB, base, role string) (*exec.Cmd, io.Writer, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), childRole+"="+role, childBase+"="+base)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, in, bufio.NewScanner(out)
}

// generation is a text that shows whether it is whole.
func generation(n int) string {
	body := fmt.Sprintf("generation %d\n\n%s", n, strings.Repeat(fmt.Sprintf("line of %d\n", n), 1+n*37%50))
	sum := sha256.Sum256([]byte(body))
	return body + hex.EncodeToString(sum[:]) + "\n"
}

// whole is the generation of a text, or -1.
func whole(text string) int {
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return -1
	}
	n, err := strconv.Atoi(fields[1])
	if err != nil || text != generation(n) {
		return -1
	}
	return n
}

// generations raises the generation of two files in two roots for ever, and
// takes every third step back again. A third file is there in odd ones.
func generations(t *testing.T, s *shop) {
	if _, err := s.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	for step := 0; ; step++ {
		n := whole(s.read(0, "a.md"))
		d := memory.Draft{Kind: memory.KindRemember, Edits: []memory.Edit{
			{Action: memory.ActionUpdate, Doc: s.doc(0, "a.md"), Text: generation(n + 1)},
			{Action: memory.ActionUpdate, Doc: s.doc(1, "sub/b.md"), Text: generation(n + 1)},
		}}
		if n%2 == 0 {
			d.Edits = append(d.Edits, memory.Edit{Action: memory.ActionCreate, Root: s.roots[1], Rel: "odd/x.md", Text: "odd\n"})
		} else {
			d.Edits = append(d.Edits, memory.Edit{Action: memory.ActionDelete, Doc: s.doc(1, "odd/x.md")})
		}
		fmt.Println("try", n+1)
		op, err := s.Do(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("at", n+1)
		if step%3 == 2 {
			fmt.Println("try", n)
			if _, err := s.Undo(t.Context(), op.ID); err != nil {
				t.Fatal(err)
			}
			fmt.Println("at", n)
		}
	}
}

// TestKilledProcesses kills a process that is changing memory at any moment, and
// recovers.
func TestKilledProcesses(t *testing.T) {
	rounds := 40
	if os.Getenv("MEMLS_SOAK") != "" {
		rounds = 500
	}
	s := openStoreIn(t, tempDir(t), nil) // on a disk: there the calls take their time
	s.write(0, "a.md", generation(0))
	s.write(1, "sub/b.md", generation(0))
	settled, finished := 0, 0
	for round := range rounds {
		last, tried := killedOnce(t, filepath.Dir(s.state), round)
		found, err := s.again(nil).Recover(t.Context())
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for _, r := range found {
			settled++
			if r.Finished {
				finished++
			}
		}
		a, b := whole(s.read(0, "a.md")), whole(s.read(1, "sub/b.md"))
		if a < 0 || a != b {
			t.Fatalf("round %d: generations %d and %d", round, a, b)
		}
		if last >= 0 && a != last && a != tried {
			t.Fatalf("round %d: at %d, said to be at %d, going to %d", round, a, last, tried)
		}
		_, err = os.Stat(filepath.Join(s.dirs[1], "odd", "x.md"))
		if odd := err == nil; odd != (a%2 == 1) {
			t.Fatalf("round %d: at %d, and the odd file is there: %v", round, a, odd)
		}
		for path := range tree(t, append(s.dirs, s.state)...) {
			if strings.HasPrefix(filepath.Base(path), ".memls-") || strings.Contains(path, "/journal/") {
				t.Fatalf("round %d: left behind: %s", round, path)
			}
		}
	}
	t.Logf("%d rounds; %d operations were interrupted, %d of them finished, %d rolled back; 0 bytes lost",
		rounds, settled, finished, settled-finished)
}

// killedOnce runs the process of generations and kills it. It answers what it
// said last: the generation that it was at, and the one that it was going to.
func killedOnce(t *testing.T, base string, round int) (last, tried int) {
	cmd, out := child(t, base, "generations")
	rng := rand.New(rand.NewPCG(uint64(round), 4))
	last, tried = -1, -1
	var killed sync.WaitGroup
	for steps := 0; out.Scan(); steps++ {
		word, number, _ := strings.Cut(out.Text(), " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			continue
		}
		if word == "at" {
			last = n
		} else {
			tried = n
		}
		if steps == round%5 {
			// Any moment will do; no event marks it.
			killed.Go(func() {
				<-time.After(time.Duration(rng.IntN(12000)) * time.Microsecond)
				cmd.Process.Kill()
			})
		}
	}
	killed.Wait()
	cmd.Wait()
	return last, tried
}

// appendLine adds a line to the file of a root, however often others get in the
// way, and answers how often they did.
func appendLine(t testing.TB, store *memory.Store, s *shop, root int, line string) (conflicts int) {
	for {
		d := s.doc(root, "log.md")
		_, err := store.Do(context.Background(), memory.Draft{Kind: memory.KindRemember, Edits: []memory.Edit{{
			Action: memory.ActionUpdate, Doc: d,
			Replace: []memory.Replacement{{Span: memory.Span{Start: len(d.Text), End: len(d.Text)}, New: line + "\n"}},
		}}})
		if err == nil {
			return conflicts
		}
		r, ok := errors.AsType[*memory.Refusal](err)
		if !ok || r.Kind != memory.RefusedConflict {
			t.Errorf("appending %s: %v", line, err)
			return conflicts
		}
		conflicts++
	}
}

// TestNobodysEditIsLost has two stores, another process, an editor that appends
// in place and one that saves by renaming change the same files at once.
func TestNobodysEditIsLost(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("elsewhere an edit in place is lost when it falls between two system calls; appending editors are left out")
	}
	s := openStore(t, func(o *memory.StoreOptions) { o.LockWait = time.Minute })
	for root := range 2 {
		s.write(root, "log.md", "version 0\n")
	}
	const each = 60
	var mu sync.Mutex
	conflicts, edits := 0, 0
	cmd, out := child(t, filepath.Dir(s.state), "append")
	if !out.Scan() || out.Text() != "ready" {
		t.Fatalf("the other process says %q", out.Text())
	}
	var writers, editors sync.WaitGroup
	for w := range 2 {
		store := s.again(func(o *memory.StoreOptions) { o.LockWait = time.Minute })
		writers.Go(func() {
			for n := range each {
				c := appendLine(t, store, s, (w+n)%2, fmt.Sprintf("store-%d-%d", w, n))
				mu.Lock()
				conflicts += c
				mu.Unlock()
			}
		})
	}
	stop := make(chan struct{})
	edit := func(pause time.Duration, f func(n int)) {
		editors.Go(func() {
			for n := 1; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(pause):
				}
				f(n)
				mu.Lock()
				edits++
				mu.Unlock()
			}
		})
	}
	appended, saved := 0, 0
	if runtime.GOOS == "linux" {
		edit(3*time.Millisecond, func(n int) {
			f, err := os.OpenFile(filepath.Join(s.dirs[0], "log.md"), os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprintf(f, "editor-%d\n", n)
			f.Close()
			appended = n
		})
	}
	// What this editor knows is its own first line; it saves the whole file.
	edit(5*time.Millisecond, func(n int) {
		temp := filepath.Join(s.dirs[1], ".editor.swp")
		if err := os.WriteFile(temp, fmt.Appendf(nil, "version %d\n", n), 0o644); err != nil {
			t.Error(err)
		}
		if err := os.Rename(temp, filepath.Join(s.dirs[1], "log.md")); err != nil {
			t.Error(err)
		}
		saved = n
	})
	writers.Wait()
	for out.Scan() {
		t.Log("the other process:", out.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	close(stop)
	editors.Wait()
	log := "\n" + s.read(0, "log.md")
	for w := range 2 {
		for n := range each {
			if (w+n)%2 == 0 && strings.Count(log, fmt.Sprintf("\nstore-%d-%d\n", w, n)) != 1 {
				t.Errorf("store-%d-%d is lost or twice", w, n)
			}
		}
	}
	for n := range 15 {
		if strings.Count(log, fmt.Sprintf("\nchild-%d\n", 2*n)) != 1 {
			t.Errorf("child-%d is lost or twice", 2*n)
		}
	}
	for n := 1; n <= appended; n++ {
		if strings.Count(log, fmt.Sprintf("\neditor-%d\n", n)) != 1 {
			t.Errorf("editor-%d is lost or twice", n)
		}
	}
	if got, _, _ := strings.Cut(s.read(1, "log.md"), "\n"); got != fmt.Sprintf("version %d", saved) {
		t.Errorf("the editor saved version %d, there is %q", saved, got)
	}
	t.Logf("%d changes by three stores in two processes, %d edits by editors, %d interleavings refused and done again", 2*each+30, edits, conflicts)
}
