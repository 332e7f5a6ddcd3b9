package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"
)

// TaskKind says what a task does.
type TaskKind string

// The kinds of a [Task]: those of the wire contract.
const (
	TaskExtract TaskKind = "extract"
	TaskDream   TaskKind = "dream"
	// TaskEmbedding makes the vectors of many memories, of all roots.
	TaskEmbedding TaskKind = "embedding"
)

// TaskState says how far a task is.
type TaskState string

// The states of a [Task]. An interrupted one belonged to a process that is gone.
const (
	TaskQueued      TaskState = "queued"
	TaskRunning     TaskState = "running"
	TaskDone        TaskState = "done"
	TaskSkipped     TaskState = "skipped" // it ended without having had anything to do
	TaskFailed      TaskState = "failed"
	TaskCancelled   TaskState = "cancelled"
	TaskInterrupted TaskState = "interrupted"
)

// Ended tells whether nothing more happens to a task of this state.
func (s TaskState) Ended() bool { return s != TaskQueued && s != TaskRunning }

// Task is one piece of background work, of whichever process.
type Task struct {
	ID    string    `json:"id"`
	Kind  TaskKind  `json:"kind"`
	State TaskState `json:"state"`
	// Root is the prefix of the root that it is about, as in refs.
	Root string `json:"root,omitempty"`
	// Detail is one line for a person: what is being done, or how it ended. Inv:
	// never a text of a memory, a message or a model.
	Detail string `json:"detail,omitempty"`
	// Done of Total steps are over; a Total of 0 is not known yet.
	Done  int `json:"done,omitempty"`
	Total int `json:"total,omitempty"`

	CreatedAt time.Time `json:"createdAt"`
	EndedAt   time.Time `json:"endedAt"`
	Usage     Usage     `json:"usage"`
	// Plan and Operation are what came of it.
	Plan      string    `json:"plan,omitempty"`
	Operation string    `json:"operation,omitempty"`
	Skipped   []Skipped `json:"skipped,omitempty"`
}

const (
	stateTasks = "tasks"
	// An ended task is listed for a month, and no more than the newest of them.
	maxEndedTasks = 100
	endedTaskLife = 30 * 24 * time.Hour

	taskLock   = ".lock"   // held for as long as the task runs
	taskCancel = ".cancel" // somebody wants it to end
)

// Run is a task while this process works on it. Its methods are for concurrent
// use.
type Run struct {
	store  *Store
	ctx    context.Context
	cancel context.CancelCauseFunc
	lock   *os.File

	mu   sync.Mutex
	task Task
}

// errTaskCancelled ends the context of a task that was cancelled.
var errTaskCancelled = &Skipped{Reason: SkipCancelled, Detail: "the task was cancelled"}

// Begin makes a task that runs from now on until [Run.End], which must be called.
// It is listed for all processes; when this one dies, as interrupted.
func (s *Store) Begin(ctx context.Context, kind TaskKind, root *Root) (*Run, error) {
	held, err := s.holdBackground(ctx)
	if err != nil {
		return nil, err
	}
	defer held.release()
	if err := s.tidyTasks(held); err != nil {
		s.opt.Log.Warn("old tasks stay listed", "error", err)
	}
	r := &Run{store: s, task: Task{
		ID: s.newID("t"), Kind: kind, State: TaskRunning, CreatedAt: s.opt.Now().UTC(),
	}}
	if root != nil {
		r.task.Root = root.Prefix
	}
	in, _, err := held.folder.enter(stateTasks, true)
	if err != nil {
		return nil, refuseIO(err, nil, "opening the tasks of background work")
	}
	defer in.close()
	if r.lock, err = in.openLock(r.task.ID + taskLock); err == nil {
		err = tryLock(r.lock)
	}
	if err == nil {
		err = writeTask(in, &r.task)
	}
	if err != nil {
		if r.lock != nil {
			r.lock.Close()
		}
		return nil, refuseIO(err, nil, "writing a task of background work")
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	s.mu.Lock()
	s.runs[r.task.ID] = r
	s.mu.Unlock()
	s.taskChanged(r.task)
	return r, nil
}

// Context ends when the task is cancelled, with a [*Skipped] as its cause.
func (r *Run) Context() context.Context { return r.ctx }

// ID names the task.
func (r *Run) ID() string { return r.task.ID }

// Task is the task as it stands.
func (r *Run) Task() Task {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.task
}

// Step says how far the task is: done of total steps, and what comes next. It
// answers why the task should end, when somebody cancelled it, also from another
// process; work looks here between its steps.
func (r *Run) Step(done, total int, detail string) error {
	r.change(func(t *Task) { t.Done, t.Total, t.Detail = done, total, detail })
	if in, err := r.store.openTasks(); err == nil && in != nil {
		asked, err := in.exists(r.task.ID + taskCancel)
		in.close()
		if err == nil && asked {
			r.cancel(errTaskCancelled)
		}
	}
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	return nil
}

// Spend adds to what the task took of a model.
func (r *Run) Spend(u Usage) { r.change(func(t *Task) { t.Usage = t.Usage.Plus(u) }) }

// Usage is what the task took of a model so far.
func (r *Run) Usage() Usage { return r.Task().Usage }

// change changes the task's record. One that cannot be written is no reason to
// end the work.
func (r *Run) change(f func(*Task)) {
	r.mu.Lock()
	f(&r.task)
	t := r.task
	err := r.store.storeTask(&t)
	r.mu.Unlock()
	if err != nil {
		r.store.opt.Log.Warn("a task cannot be recorded", "task", t.ID, "error", err)
	}
	r.store.taskChanged(t)
}

// End ends the task: what is set in t of Plan, Operation, Skipped, Detail and
// State is kept. Without a state it is done, or what err makes of it.
func (r *Run) End(t Task, err error) {
	cause := context.Cause(r.ctx)
	r.change(func(own *Task) {
		own.EndedAt = r.store.opt.Now().UTC()
		own.Plan, own.Operation, own.Skipped = t.Plan, t.Operation, t.Skipped
		own.State = cmp.Or(t.State, TaskDone)
		own.Detail = t.Detail
		skip := SkippedOf(err)
		switch {
		case err == nil:
		case cause != nil || skip != nil && skip.Reason == SkipCancelled:
			own.State = TaskCancelled
		case skip != nil:
			own.State, own.Detail = TaskSkipped, skip.Error()
		default:
			own.State, own.Detail = TaskFailed, CleanLine(err.Error())
		}
	})
	r.cancel(nil)
	r.store.mu.Lock()
	delete(r.store.runs, r.task.ID)
	r.store.mu.Unlock()
	r.lock.Close()
}

// CancelTask asks a task to end, of this process or another. It ends between two
// steps; what it has not written by then is not written.
func (s *Store) CancelTask(ctx context.Context, id string) error {
	s.mu.Lock()
	run := s.runs[id]
	s.mu.Unlock()
	if run != nil {
		run.cancel(errTaskCancelled)
		return nil
	}
	tasks, err := s.Tasks()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(tasks, func(t Task) bool { return t.ID == id })
	switch {
	case i < 0:
		return refuse(RefusedNotFound, nil, "there is no such task")
	case tasks[i].State.Ended():
		return refuse(RefusedNotFound, nil, "the task has ended: %s", tasks[i].State)
	}
	held, err := s.holdBackground(ctx)
	if err != nil {
		return err
	}
	defer held.release()
	if err := held.put(stateTasks, id+taskCancel, nil); err != nil {
		return refuseIO(err, nil, "cancelling a task")
	}
	return nil
}

// Tasks are the tasks of all processes that share the state, newest first.
func (s *Store) Tasks() ([]Task, error) {
	in, err := s.openTasks()
	if err != nil || in == nil {
		return nil, err
	}
	defer in.close()
	return s.tasksIn(in)
}

func (s *Store) tasksIn(in *folder) ([]Task, error) {
	names, err := in.list()
	if err != nil {
		return nil, refuseIO(err, nil, "listing tasks")
	}
	var all []Task
	for _, name := range names {
		id, ok := cutRecord(name)
		if !ok {
			continue
		}
		raw, err := in.readState(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed a moment ago
		}
		var t Task
		if err == nil {
			err = json.Unmarshal(raw, &t)
		}
		if err != nil || t.ID != id {
			s.opt.Log.Error("a task cannot be read", "task", id, "error", err)
			continue
		}
		if t.State == TaskRunning && s.orphaned(in, id) {
			t.State, t.Detail = TaskInterrupted, "its process ended"
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Task) int { return cmp.Compare(b.ID, a.ID) })
	return all, nil
}

func cutRecord(name string) (id string, ok bool) {
	if len(name) <= len(recordSuffix) || name[len(name)-len(recordSuffix):] != recordSuffix {
		return "", false
	}
	id = name[:len(name)-len(recordSuffix)]
	return id, plainName(id) && id[0] != '.'
}

// orphaned tells whether no process works on a task that is said to run.
func (s *Store) orphaned(in *folder, id string) bool {
	s.mu.Lock()
	own := s.runs[id] != nil
	s.mu.Unlock()
	if own {
		return false
	}
	f, err := in.root.Open(id + taskLock)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return false // in doubt it runs
	}
	defer f.Close()
	return tryLock(f) == nil
}

// tidyTasks removes what is left of tasks that ended long ago.
func (s *Store) tidyTasks(held *rootState) error {
	if err := held.tidy(stateTasks); err != nil {
		return err
	}
	in, err := s.openTasks()
	if err != nil || in == nil {
		return err
	}
	defer in.close()
	tasks, err := s.tasksIn(in)
	if err != nil {
		return err
	}
	ended := 0
	for _, t := range tasks {
		if !t.State.Ended() {
			continue
		}
		ended++
		if ended <= maxEndedTasks && s.opt.Now().Sub(t.CreatedAt) < endedTaskLife {
			continue
		}
		for _, suffix := range []string{recordSuffix, taskLock, taskCancel} {
			if err := in.remove(t.ID + suffix); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) openTasks() (*folder, error) {
	base, err := s.openBackground(false)
	if err != nil || base == nil {
		return nil, err
	}
	defer base.close()
	in, _, err := base.enter(stateTasks, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return in, err
}

func (s *Store) storeTask(t *Task) error {
	in, err := s.openTasks()
	if err != nil {
		return err
	}
	if in == nil {
		return fmt.Errorf("the tasks of background work: %w", fs.ErrNotExist)
	}
	defer in.close()
	return writeTask(in, t)
}

// writeTask writes a record. Inv: only the process that runs the task does.
func writeTask(in *folder, t *Task) error {
	raw, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("task %s: %w", t.ID, err)
	}
	return in.replace(t.ID+recordSuffix, raw)
}

func (s *Store) taskChanged(t Task) {
	if s.opt.TaskChanged != nil {
		s.opt.TaskChanged(t)
	}
}
