package memory_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/memls/memls/memory"
)

// working is the process of a task that waits to be killed or told to end.
func working(t *testing.T, s *shop) {
	run, err := s.Begin(t.Context(), memory.TaskExtract, s.roots[0])
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(run.ID())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		err := run.Step(1, 2, in.Text())
		fmt.Println("step", err != nil)
		if err != nil {
			run.End(memory.Task{}, err)
			fmt.Println(run.Task().State)
			return
		}
	}
}

// A task is seen by every process, with how far it is; one whose process was
// killed is interrupted, and one that another process cancels ends between two
// steps.
func TestTasksOfProcesses(t *testing.T) {
	s := openStore(t, nil)
	only := func() memory.Task {
		t.Helper()
		tasks, err := s.Tasks()
		if err != nil || len(tasks) == 0 {
			t.Fatalf("tasks %+v, error %v", tasks, err)
		}
		return tasks[0]
	}
	killed, out := child(t, filepath.Dir(s.state), "working")
	out.Scan()
	id := out.Text()
	if got := only(); got.ID != id || got.State != memory.TaskRunning || got.Root != "project" {
		t.Errorf("running: %+v", got)
	}
	killed.Process.Kill()
	killed.Wait()
	if got := only(); got.ID != id || got.State != memory.TaskInterrupted {
		t.Errorf("its process was killed: %+v", got)
	}
	wantRefusal(t, s.CancelTask(t.Context(), id), memory.RefusedNotFound)

	other, in, out := talking(t, filepath.Dir(s.state), "working")
	out.Scan()
	id = out.Text()
	fmt.Fprintln(in, "reading")
	out.Scan()
	if got := only(); got.Detail != "reading" || got.Done != 1 || got.Total != 2 || out.Text() != "step false" {
		t.Errorf("after a step: %+v, %q", got, out.Text())
	}
	if err := s.CancelTask(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, "writing")
	out.Scan()
	said := out.Text()
	out.Scan()
	if got := only(); said != "step true" || got.State != memory.TaskCancelled || out.Text() != "cancelled" {
		t.Errorf("cancelled by another process: %q, %+v", said, got)
	}
	other.Wait()
}

// What a task ends with follows from how its work ended.
func TestTasksEnd(t *testing.T) {
	for name, c := range map[string]struct {
		end   error
		state memory.TaskState
	}{
		"done":    {nil, memory.TaskDone},
		"skipped": {fmt.Errorf("asking: %w", &memory.Skipped{Reason: memory.SkipModelInvalid, Detail: "prose"}), memory.TaskSkipped},
		"locked":  {&memory.Refusal{Kind: memory.RefusedLocked, Detail: "by somebody"}, memory.TaskSkipped},
		"failed":  {errors.New("a bug"), memory.TaskFailed},
	} {
		t.Run(name, func(t *testing.T) {
			var heard []memory.TaskState
			s := openStore(t, func(o *memory.StoreOptions) {
				o.TaskChanged = func(t memory.Task) { heard = append(heard, t.State) }
			})
			run, err := s.Begin(t.Context(), memory.TaskDream, s.roots[1])
			if err != nil {
				t.Fatal(err)
			}
			run.Spend(memory.Usage{Requests: 1, PromptTokens: 10})
			run.Spend(memory.Usage{Requests: 1, PromptTokens: 5, Estimated: true})
			run.End(memory.Task{Plan: "p-1"}, c.end)
			tasks, err := s.again(nil).Tasks()
			if err != nil {
				t.Fatal(err)
			}
			want := memory.Usage{Requests: 2, PromptTokens: 15, Estimated: true}
			if got := tasks[0]; got.State != c.state || got.Usage != want || got.Plan != "p-1" || got.EndedAt.IsZero() {
				t.Errorf("%+v", got)
			}
			if last := heard[len(heard)-1]; last != c.state || heard[0] != memory.TaskRunning {
				t.Errorf("told %v", heard)
			}
		})
	}
}

// The list is bounded by number and age; what runs stays.
func TestTasksAreBounded(t *testing.T) {
	clock := time.Date(2026, 2, 6, 9, 0, 0, 0, time.UTC)
	s := openStore(t, func(o *memory.StoreOptions) { o.Now = func() time.Time { return clock } })
	long, err := s.Begin(t.Context(), memory.TaskDream, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 120 {
		run, err := s.Begin(t.Context(), memory.TaskExtract, nil)
		if err != nil {
			t.Fatal(err)
		}
		run.End(memory.Task{}, nil)
	}
	tasks, err := s.Tasks()
	if err != nil || len(tasks) != 102 {
		t.Errorf("%d tasks, error %v", len(tasks), err)
	}
	clock = clock.AddDate(0, 0, 31)
	run, err := s.Begin(t.Context(), memory.TaskExtract, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tasks, err = s.Tasks(); err != nil || len(tasks) != 2 {
		t.Errorf("a month later %d tasks, error %v", len(tasks), err)
	}
	files, err := os.ReadDir(filepath.Join(s.state, "background", "tasks"))
	if err != nil || len(files) != 4 {
		t.Errorf("%v, error %v", files, err)
	}
	run.End(memory.Task{}, nil)
	long.End(memory.Task{}, nil)
}

// spending is the process that takes tokens until there are none left.
func spending(t *testing.T, s *shop) {
	taken := 0
	for {
		r, err := s.Reserve(t.Context(), 10_000, 100)
		if skip := memory.SkippedOf(err); skip != nil {
			fmt.Println(taken, skip.Reason)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		used := 90 + taken%20 // now fewer than were set aside, now more
		if err := r.Settle(t.Context(), used); err != nil {
			t.Fatal(err)
		}
		taken += used
	}
}

// Several processes take from one day's tokens, and what they took in all is what
// the account says.
func TestBudgetIsSharedByProcesses(t *testing.T) {
	s := openStore(t, func(o *memory.StoreOptions) { o.LockWait = time.Minute })
	var mu sync.Mutex
	var all sync.WaitGroup
	sum := 0
	for range 3 {
		cmd, out := child(t, filepath.Dir(s.state), "spending")
		all.Go(func() {
			out.Scan()
			var taken int
			var why string
			if _, err := fmt.Sscan(out.Text(), &taken, &why); err != nil || why != "budget_exhausted" {
				t.Errorf("%q: %v", out.Text(), err)
			}
			mu.Lock()
			sum += taken
			mu.Unlock()
			cmd.Wait()
		})
	}
	all.Wait()
	spent, err := s.SpentToday()
	if err != nil || spent != sum || spent < 9_900 || spent > 10_100 {
		t.Errorf("spent %d, taken %d, error %v", spent, sum, err)
	}
}

// A clock that is set back finds the day as it was left; an account that cannot
// be read is begun anew and kept.
func TestBudgetDays(t *testing.T) {
	clock := time.Date(2026, 2, 6, 23, 0, 0, 0, time.UTC)
	s := openStore(t, func(o *memory.StoreOptions) { o.Now = func() time.Time { return clock } })
	take := func(tokens int) error {
		_, err := s.Reserve(t.Context(), 1000, tokens)
		return err
	}
	if err := take(900); err != nil {
		t.Fatal(err)
	}
	skip := memory.SkippedOf(take(200))
	if skip == nil || skip.Reason != memory.SkipBudgetExhausted || skip.Retry != time.Hour {
		t.Fatalf("%+v", skip)
	}
	clock = clock.Add(2 * time.Hour)
	if err := take(800); err != nil {
		t.Errorf("the next day: %v", err)
	}
	clock = clock.Add(-2 * time.Hour)
	if skip := memory.SkippedOf(take(200)); skip == nil {
		t.Error("a clock that was set back gave a day twice")
	}
	write(t, s.state, "background/budget/tokens.json", "{")
	if err := take(200); err != nil {
		t.Errorf("an account that cannot be read: %v", err)
	}
	if kept := tree(t, filepath.Join(s.state, "background", "corrupt")); len(kept) != 1 {
		t.Errorf("kept aside: %v", kept)
	}
}

// A machine that is short of memory, or empties its battery, is left alone.
func TestStrain(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	calm := "some avg10=40.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=1.00 avg60=0.00 avg300=0.00 total=1\n"
	for name, c := range map[string]struct {
		system fstest.MapFS
		want   memory.SkipReason
	}{
		"nothing known":      {fstest.MapFS{}, ""},
		"calm":               {fstest.MapFS{"proc/pressure/memory": file(calm), "proc/meminfo": file("MemTotal: 1000 kB\nMemAvailable: 500 kB\n")}, ""},
		"stalled":            {fstest.MapFS{"proc/pressure/memory": file(strings.Replace(calm, "1.00", "12.50", 1))}, "memory_pressure"},
		"full":               {fstest.MapFS{"proc/meminfo": file("MemTotal: 1000 kB\nMemAvailable: 20 kB\n")}, "memory_pressure"},
		"damaged":            {fstest.MapFS{"proc/pressure/memory": file("full avg10=many"), "proc/meminfo": file("MemTotal: some\n")}, ""},
		"battery":            {fstest.MapFS{"sys/class/power_supply/BAT0/type": file("Battery\n"), "sys/class/power_supply/BAT0/status": file("Discharging\n")}, "on_battery"},
		"battery of a mouse": {fstest.MapFS{"sys/class/power_supply/m/type": file("Battery\n"), "sys/class/power_supply/m/status": file("Discharging\n"), "sys/class/power_supply/m/scope": file("Device\n")}, ""},
		"mains": {fstest.MapFS{
			"sys/class/power_supply/BAT0/type": file("Battery\n"), "sys/class/power_supply/BAT0/status": file("Discharging\n"),
			"sys/class/power_supply/AC/type": file("Mains\n"), "sys/class/power_supply/AC/online": file("1\n"),
		}, ""},
	} {
		got := memory.SkipReason("")
		if s := memory.Strain(fs.FS(c.system)); s != nil {
			got = s.Reason
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A run that its caller ends is cancelled.
func TestTaskEndsWithItsCaller(t *testing.T) {
	s := openStore(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	run, err := s.Begin(ctx, memory.TaskExtract, nil)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	stepped := run.Step(1, 2, "reading")
	if !errors.Is(stepped, context.Canceled) {
		t.Errorf("stepped: %v", stepped)
	}
	run.End(memory.Task{}, stepped)
	if got := run.Task().State; got != memory.TaskCancelled {
		t.Errorf("state %q", got)
	}
}
