package meaning

import (
	"context"
	"fmt"
	"time"

	"github.com/memls/memls/memory"
)

// taskFrom is how many texts wait when making their vectors is worth a task: what one
// request does is over before anybody could look.
const taskFrom = maxBatch + 1

// Task shows others the making of many vectors, and lets them cancel it.
// [*memory.Run] is one.
type Task interface {
	// Context ends when the task is cancelled.
	Context() context.Context
	// Step says how many of the texts have a vector; its error says that the task
	// was cancelled.
	Step(done, total int, detail string) error
	Spend(u memory.Usage)
	End(t memory.Task, err error)
}

// cancelledFault is shown instead of vectors that somebody did not want made.
const cancelledFault = "making vectors was cancelled; it goes on at the next start, or when the settings of the model change"

// errStopped ends the task of a service that ends.
var errStopped = &memory.Skipped{Reason: memory.SkipCancelled, Detail: "it goes on at the next start"}

// beginTask opens the task of what waits, when it is much. Inv: as of endTask and
// stepTask, only the goroutine that works calls it.
func (s *Service) beginTask(ctx context.Context) {
	_, waits := s.progress()
	if s.opt.Begin == nil || s.task != nil || s.untold || s.cancelled || waits < taskFrom {
		return
	}
	t, err := s.opt.Begin(ctx)
	if err != nil {
		// Vectors are made all the same, unseen, until all are there.
		s.untold = true
		s.opt.Log.Warn("the making of vectors is not listed as a task", "err", err)
		return
	}
	s.task = t
}

// stepTask tells the task how far it is, and ends it when nothing waits any more, or
// when it was cancelled: then no vectors are made for as long as the service runs.
func (s *Service) stepTask() {
	total, waits := s.progress()
	if waits == 0 {
		s.untold = false
	}
	if s.task == nil {
		return
	}
	s.mu.Lock()
	detail := s.fault
	s.mu.Unlock()
	if detail == "" {
		detail = "making vectors with " + s.opt.Embedder.Name()
	}
	err := s.task.Step(total-waits, total, memory.CleanLine(detail))
	switch {
	case err != nil && s.task.Context().Err() != nil:
		s.endTask(fmt.Sprintf("cancelled with %d texts left", waits), err)
		s.mu.Lock()
		s.cancelled, s.fault = true, cancelledFault
		s.mu.Unlock()
	case waits == 0:
		s.endTask(fmt.Sprintf("all %d texts have their vector", total), nil)
	}
}

func (s *Service) endTask(detail string, err error) {
	if s.task != nil {
		s.task.End(memory.Task{Detail: detail}, err)
		s.task = nil
	}
}

// progress counts the texts that vectors are wanted of, and those that wait for one.
func (s *Service) progress() (total, waits int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wanted, s.counts[-waiting]
}

// turn looks at what has changed and makes some vectors. It answers as work does.
func (s *Service) turn(ctx context.Context) time.Duration {
	s.sync()
	s.beginTask(ctx)
	within := ctx
	if s.task != nil {
		within = s.task.Context()
	}
	wait := s.work(within)
	if ctx.Err() == nil {
		s.stepTask()
	}
	return wait
}
