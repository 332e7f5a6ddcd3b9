package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// WritePolicy says what background work may do with what it finds.
type WritePolicy string

// The policies: nothing, a plan that waits for a person, or changes of user and
// project memory that contradict nothing.
const (
	PolicyOff    WritePolicy = "off"
	PolicyReview WritePolicy = "review"
	PolicyAuto   WritePolicy = "auto"
)

// KnownMemory is a memory as a model is shown it, under a short id.
type KnownMemory struct {
	ID  string
	Doc *Document
}

// ExtractQuestion is what a model is asked about: a stretch of a conversation and
// the memories nearest to it. Messages bear the ids e1, e2, …, and hold no
// credentials.
type ExtractQuestion struct {
	Messages []Message
	Known    []KnownMemory
	Now      time.Time
}

// Extractor asks a model what a stretch of a conversation adds to the memory. The
// patches are as the model gave them; malformed counts those that were none. The
// error is a [*Skipped] when there is no answer.
type Extractor interface {
	Extract(ctx context.Context, q ExtractQuestion) (patches []Patch, malformed int, used Usage, err error)
}

// LearnTools is what helps to learn. Without an Extractor, only what a person
// asked to be remembered is found.
type LearnTools struct {
	Extractor Extractor
	Ranker    Ranker
	// Content tells words that say something from those that join others.
	Content func(word string) bool
	// Tokens is about how many tokens a text takes; a third of its bytes when nil.
	Tokens func(text string) int
}

// LearnerOptions is what a learner needs. Store, Roots and Snapshot are required.
type LearnerOptions struct {
	Store    *Store
	Roots    func() []*Root
	Snapshot func() *Snapshot
	// Sync returns when the snapshot shows what is on disk; nil when it does so by
	// itself.
	Sync  func(context.Context) error
	Tools func() LearnTools
	// Keeper applies what may be applied without a person.
	Keeper *Keeper
	// Go starts what follows a run, so that nobody waits for it; when nil it is
	// waited for.
	Go func(func(context.Context))
	// Strain tells why the machine has no strength to spare; see [Strain].
	Strain func() *Skipped
	// Ended is told how a run ended, for telemetry; nil when nobody wants to know.
	Ended func(in *Extract, out *Extracted, err error, took time.Duration)
	Now   func() time.Time
	Log   *slog.Logger
}

// Learner learns from conversations: one run a project at a time; what comes
// meanwhile follows it in one further run. It is for concurrent use.
type Learner struct {
	opt LearnerOptions

	mu      sync.Mutex
	running map[string]*queue // by the id of the project's root
}

// NewLearner makes a learner.
func NewLearner(opt LearnerOptions) *Learner {
	if opt.Tools == nil {
		opt.Tools = func() LearnTools { return LearnTools{} }
	}
	if opt.Sync == nil {
		opt.Sync = func(context.Context) error { return nil }
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Strain == nil {
		opt.Strain = func() *Skipped { return nil }
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Learner{opt: opt, running: map[string]*queue{}}
}

// Extract is a conversation to learn from.
type Extract struct {
	Session string
	Folder  string
	// Messages are the whole history, or its tail from From.
	Messages []Message
	From     *Cursor
	Policy   WritePolicy
	// Auto says that nobody asked for just this: then it also waits for better days.
	Auto bool
	// DryRun only tells what would be proposed: nothing is kept, no cursor moves.
	DryRun bool
	// Step is told how far it is; nil when nobody wants to know.
	Step func(done, total int)
}

// Extracted is what learning from a conversation came to.
type Extracted struct {
	Plan      *Plan      // what waits for a person; of a dry run what would
	Operation *Operation // what was applied
	Skipped   []Skipped  // what was not done, and what was dropped
	Cursor    Cursor
	Task      string
	Usage     Usage
}

// maxRows bounds the rows of one result.
const maxRows = 200

func (x *Extracted) skip(s *Skipped) {
	switch {
	case len(x.Skipped) < maxRows:
		x.Skipped = append(x.Skipped, *s)
	case len(x.Skipped) == maxRows:
		x.Skipped = append(x.Skipped, Skipped{Reason: DropTooMany, Detail: "further rows are left out"})
	}
}

// queue is what waits behind a run of one project.
type queue struct{ waiting []*Extract }

// errNoRoot is that nothing is served that could be written to.
func (l *Learner) home(folder string) (*Root, error) {
	for _, scope := range []Scope{ScopeProject, ScopeUser} {
		if r, err := WritableRoot(l.opt.Roots(), scope, folder); err == nil {
			return r, nil
		}
	}
	return nil, &Skipped{Reason: SkipNoRoot, Detail: "no project or user memory is served that can be written to"}
}

// Extract learns from a conversation now, and then from what came meanwhile. While
// another run of the project is under way it answers at once with a row queued, and
// that run goes on with it. Its error is a failure; what was not done for a reason
// is a row.
func (l *Learner) Extract(ctx context.Context, in *Extract) (*Extracted, error) {
	root, err := l.home(in.Folder)
	if err != nil {
		return l.answer(in, nil, err, 0)
	}
	l.mu.Lock()
	if q := l.running[root.ID]; q != nil && !in.DryRun {
		q.add(in)
		l.mu.Unlock()
		return l.answer(in, nil, &Skipped{Reason: SkipQueued, Detail: "a run of this project is under way; it goes on with these messages"}, 0)
	}
	q := &queue{}
	if !in.DryRun {
		l.running[root.ID] = q
	}
	l.mu.Unlock()
	out, err := l.timed(ctx, root, in)
	switch {
	case in.DryRun:
	case l.opt.Go != nil && l.waits(q):
		l.opt.Go(func(ctx context.Context) { l.follow(ctx, root, q) })
	default:
		l.follow(ctx, root, q)
	}
	return out, err
}

func (l *Learner) waits(q *queue) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(q.waiting) > 0
}

// follow learns from what came while a run was under way.
func (l *Learner) follow(ctx context.Context, root *Root, q *queue) {
	for {
		l.mu.Lock()
		if len(q.waiting) == 0 || ctx.Err() != nil {
			delete(l.running, root.ID)
			l.mu.Unlock()
			return
		}
		next := q.waiting[0]
		q.waiting = q.waiting[1:]
		l.mu.Unlock()
		if _, nerr := l.timed(ctx, root, next); nerr != nil && ctx.Err() == nil {
			l.opt.Log.Error("learning from a conversation", "root", root.Real, "error", nerr)
		}
	}
}

// Busy tells whether a run of the folder's project is under way: what is asked now
// is queued.
func (l *Learner) Busy(folder string) bool {
	root, err := l.home(folder)
	if err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running[root.ID] != nil
}

// add queues a request behind a run. Of one conversation the newest history counts;
// a tail is put behind what waits.
func (q *queue) add(in *Extract) {
	for i, w := range q.waiting {
		if w.Session != in.Session {
			continue
		}
		next := *in
		if in.From != nil {
			start := 0
			if w.From != nil {
				start = w.From.Offset
			}
			if at := in.From.Offset - start; at >= 0 && at <= len(w.Messages) {
				next.Messages = slices.Concat(w.Messages[:at], in.Messages)
				next.From = w.From
			}
		}
		q.waiting[i] = &next
		return
	}
	q.waiting = append(q.waiting, in)
}

// timed is one run, told to whoever counts runs.
func (l *Learner) timed(ctx context.Context, root *Root, in *Extract) (*Extracted, error) {
	began := time.Now()
	out, err := l.run(ctx, root, in)
	return l.answer(in, out, err, time.Since(began))
}

// answer makes rows of what is no failure.
func (l *Learner) answer(in *Extract, out *Extracted, err error, took time.Duration) (*Extracted, error) {
	if out == nil {
		out = &Extracted{}
	}
	if s := SkippedOf(err); s != nil {
		out.skip(s)
		err = nil
	}
	if l.opt.Ended != nil {
		l.opt.Ended(in, out, err, took)
	}
	return out, err
}

// run is one run over one conversation.
func (l *Learner) run(ctx context.Context, root *Root, in *Extract) (out *Extracted, err error) {
	out = &Extracted{}
	if in.Policy == PolicyOff {
		return out, &Skipped{Reason: SkipDisabled, Detail: "writePolicy is off"}
	}
	held, err := l.opt.Store.holdConversation(root, in.Session)
	if err != nil {
		return out, err
	}
	defer held.Close()
	record, err := l.opt.Store.cursor(root, in.Session)
	if err != nil {
		return out, err
	}
	out.Cursor = record.Cursor
	todo, record, err := l.resume(ctx, root, in, record)
	if err != nil {
		return out, err
	}
	out.Cursor = record.Cursor
	if err := l.gates(in, record, todo); err != nil {
		return out, err
	}
	if todo.resumed != "" {
		out.skip(&Skipped{Reason: SkipHistoryGap, Detail: todo.resumed})
	}
	task, err := l.begin(ctx, root, in)
	if err != nil {
		return out, err
	}
	x := &extraction{l: l, in: in, root: root, todo: todo, record: record, out: out, task: task, tools: l.opt.Tools()}
	err = x.run(task.context(ctx))
	task.end(out, err)
	return out, err
}

// resume finds where to go on. What a run before this one wrote and did not live
// to say so is passed over.
func (l *Learner) resume(ctx context.Context, root *Root, in *Extract, record *cursorRecord) (*slice, *cursorRecord, error) {
	for {
		todo, err := record.place(in.Messages, in.From)
		if err != nil {
			return nil, record, err
		}
		done, err := l.opt.Store.madeFrom(cursorName(in.Session), Cursor{todo.at, todo.digest})
		if err != nil {
			return nil, record, err
		}
		n := done.Offset - todo.at
		if n <= 0 || n > len(todo.messages) {
			return todo, record, nil
		}
		next := record.after(todo, n)
		if next.Digest != done.Digest {
			return todo, record, nil
		}
		if !in.DryRun {
			if err := l.opt.Store.setCursor(ctx, root, in.Session, next); err != nil {
				return nil, record, err
			}
		}
		record = next
	}
}

// madeFrom is how far a plan or operation went that was made from a stretch of a
// conversation; the zero cursor when there is none.
func (s *Store) madeFrom(session string, from Cursor) (Cursor, error) {
	plans, err := s.Plans(KindExtract)
	if err != nil {
		return Cursor{}, err
	}
	for _, p := range plans {
		if o := p.Origin; o.Session == session && o.From == from {
			return o.To, nil
		}
	}
	ops, _, err := s.Operations(100)
	if err != nil {
		return Cursor{}, err
	}
	for i := range ops {
		if o := ops[i].Origin; o.Session == session && o.From == from {
			return o.To, nil
		}
	}
	return Cursor{}, nil
}

// gates are the reasons not to run, in order.
func (l *Learner) gates(in *Extract, record *cursorRecord, todo *slice) error {
	if !slices.ContainsFunc(todo.messages, func(m Message) bool { return m.Role == RoleUser && m.said() != "" }) {
		return &Skipped{Reason: SkipNoNewMessages, Detail: "nobody has said anything since the last run"}
	}
	if !in.Auto {
		return nil
	}
	if l.wroteMemory(todo.messages) {
		return &Skipped{Reason: SkipMemoryTool, Detail: "this turn changed memory itself"}
	}
	if left := record.resting(l.opt.Now()); left > 0 {
		return &Skipped{Reason: SkipModelUnavailable, Retry: left, Detail: fmt.Sprintf(
			"the model failed at this conversation %d times; the next try is in %s", record.Fails, left.Round(time.Second))}
	}
	if s := l.opt.Strain(); s != nil {
		return s
	}
	return nil
}

// wroteMemory tells whether a tool call of the latest turn changed a memory file.
// Earlier turns are no reason to leave this one out.
func (l *Learner) wroteMemory(messages []Message) bool {
	for _, m := range slices.Backward(messages) {
		for _, path := range m.Wrote {
			if !filepath.IsAbs(path) {
				continue
			}
			for _, r := range l.opt.Roots() {
				for _, dir := range []string{r.Real, r.Path} {
					if _, in := below(dir, filepath.Clean(path)); in {
						return true
					}
				}
			}
		}
		if m.Role == RoleUser && m.said() != "" {
			return false
		}
	}
	return false
}

// worktask is the task of a run; a dry run has none.
type worktask struct{ *Run }

func (l *Learner) begin(ctx context.Context, root *Root, in *Extract) (worktask, error) {
	if in.DryRun {
		return worktask{}, nil
	}
	r, err := l.opt.Store.Begin(ctx, TaskExtract, root)
	return worktask{r}, err
}

func (t worktask) context(ctx context.Context) context.Context {
	if t.Run == nil {
		return ctx
	}
	return t.Context()
}

func (t worktask) end(out *Extracted, err error) {
	if t.Run == nil {
		return
	}
	ended := Task{Skipped: out.Skipped, Detail: "nothing new"}
	if out.Plan != nil {
		ended.Plan, ended.Detail = out.Plan.ID, fmt.Sprintf("%d changes wait", len(out.Plan.Changes))
	}
	if out.Operation != nil {
		ended.Operation, ended.Detail = out.Operation.ID, fmt.Sprintf("%d memories changed", len(out.Operation.Changes))
	}
	out.Task = t.ID()
	t.End(ended, err)
}

// extraction is one run at work.
type extraction struct {
	l      *Learner
	in     *Extract
	root   *Root
	todo   *slice
	record *cursorRecord
	out    *Extracted
	task   worktask
	tools  LearnTools
}

// run asks about chunk after chunk, and then keeps what came of those that were
// answered: all of it or, when the process dies, nothing.
func (x *extraction) run(ctx context.Context) error {
	if err := x.l.opt.Sync(ctx); err != nil {
		return err
	}
	chunks := x.chunks()
	answered := 0 // messages
	var failure error
	w := newWorkbench(x)
	for i, c := range chunks {
		if err := x.step(i, len(chunks)+1); err != nil {
			return err
		}
		if failure == nil {
			var patches []*candidate
			if patches, failure = x.ask(ctx, c, w); failure == nil {
				answered += len(c.messages)
				w.take(ctx, patches)
			}
		}
		// What a person asked to be remembered needs no model.
		w.take(ctx, c.cued())
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
	}
	if err := x.step(len(chunks), len(chunks)+1); err != nil {
		return err
	}
	for i := 1; ; i++ {
		err := x.keep(ctx, w, answered, failure)
		r, refused := errors.AsType[*Refusal](err)
		if !refused || r.Kind != RefusedConflict && r.Kind != RefusedNotFound || i == rereads {
			return err
		}
		// Somebody else changed a file meanwhile: what was found is compared with what
		// stands there now, and nobody is asked again.
		if err := x.l.opt.Sync(ctx); err != nil {
			return err
		}
		if w, err = w.again(ctx); err != nil {
			return err
		}
	}
}

func (x *extraction) step(done, total int) error {
	if x.in.Step != nil {
		x.in.Step(done, total)
	}
	if x.task.Run == nil {
		return nil
	}
	return x.task.Step(done, total, "learning from a conversation")
}

// ask has a model look at a chunk.
func (x *extraction) ask(ctx context.Context, c *chunk, w *workbench) ([]*candidate, error) {
	if x.tools.Extractor == nil {
		return nil, &Skipped{Reason: SkipModelUnavailable, Detail: "no model is configured; only what was asked to be remembered is learnt"}
	}
	known := x.nearest(ctx, c, w)
	patches, malformed, used, err := x.tools.Extractor.Extract(ctx, ExtractQuestion{Messages: c.shown(), Known: known, Now: x.l.opt.Now()})
	x.out.Usage = x.out.Usage.Plus(used)
	if x.task.Run != nil && used != (Usage{}) {
		x.task.Spend(used)
	}
	if err != nil {
		return nil, err
	}
	if malformed > 0 {
		x.out.skip(&Skipped{Reason: DropMalformed, Detail: fmt.Sprintf("%d patches of the model are none, by their form", malformed)})
	}
	if n := len(patches) - maxPatches; n > 0 {
		x.out.skip(&Skipped{Reason: DropTooMany, Detail: fmt.Sprintf("%d of %d patches are left out: no stretch of a conversation holds so many facts", n, len(patches))})
		patches = patches[:maxPatches]
	}
	var found []*candidate
	for i := range patches {
		if cand, s := c.candidate(i, &patches[i], known); s != nil {
			x.out.skip(s)
		} else {
			found = append(found, cand)
		}
	}
	return found, nil
}

const (
	// maxNear is how many memories a model is shown beside a chunk, nearEach those
	// that one message brings.
	maxNear, nearEach = 16, 4
	// maxAbout is how much of a message is used to find them, in bytes.
	maxAbout = 2000
)

// nearest are the memories that a chunk is about.
func (x *extraction) nearest(ctx context.Context, c *chunk, w *workbench) []KnownMemory {
	var docs []*Document
	add := func(d *Document) {
		if len(docs) < maxNear && !slices.ContainsFunc(docs, func(o *Document) bool { return o.Ref == d.Ref }) {
			docs = append(docs, d)
		}
	}
	snap := x.l.opt.Snapshot()
	if x.tools.Ranker == nil {
		for d := range snap.All() {
			if d.ActiveAt(x.l.opt.Now()) && d.Root.Folders.Has(x.in.Folder) && !d.Empty() {
				add(d)
			}
		}
	} else {
		for _, m := range slices.Backward(c.messages) {
			said := m.said()
			if m.Role != RoleUser || said == "" {
				continue
			}
			ranked, err := x.tools.Ranker.Rank(ctx, snap, RankQuery{
				Text: clipBytes(said, maxAbout), Folder: x.in.Folder, Limit: nearEach, Now: x.l.opt.Now(),
			})
			if err != nil {
				x.l.opt.Log.Warn("looking for what is known", "error", err)
				break
			}
			for _, r := range ranked {
				add(r.Doc)
			}
		}
	}
	known := make([]KnownMemory, len(docs))
	for i, d := range docs {
		known[i] = KnownMemory{"m" + strconv.Itoa(i+1), w.current(d)}
	}
	return known
}

// clipBytes is at most n bytes of a text, whole characters.
func clipBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// keep writes what a run found, then how far it went, then makes what may be made
// without a person.
//
// Inv: when the process dies between any two of these, the next run finds what was
// written by its origin, and neither loses nor repeats it.
func (x *extraction) keep(ctx context.Context, w *workbench, answered int, failure error) error {
	next := x.record
	if answered > 0 {
		next = x.record.after(x.todo, answered)
	}
	var auto []string
	if draft, safe := w.draft(); len(draft.Edits) > 0 {
		draft.Usage = x.out.Usage
		if answered > 0 {
			draft.Origin = origin{cursorName(x.in.Session), Cursor{x.todo.at, x.todo.digest}, next.Cursor}
		}
		propose := x.l.opt.Store.Propose
		if x.in.DryRun {
			propose = x.l.opt.Store.Preview
		}
		plan, err := propose(ctx, draft)
		if err != nil {
			return err
		}
		x.out.Plan = plan
		for i := range plan.Changes {
			if safe[i] && x.in.Policy == PolicyAuto {
				auto = append(auto, plan.Changes[i].ID)
			}
		}
	}
	if x.in.DryRun {
		return failure
	}
	if err := x.move(ctx, next, answered, failure); err != nil {
		return err
	}
	if len(auto) == 0 {
		return failure
	}
	op, err := x.l.opt.Keeper.Apply(ctx, x.out.Plan.ID, ApplyOptions{Only: auto})
	if err != nil {
		// The plan waits.
		if s := SkippedOf(err); s != nil {
			return s
		}
		if r, ok := errors.AsType[*Refusal](err); ok {
			return &Skipped{Reason: SkipReason(r.Kind), Detail: "the changes wait to be looked at: " + r.Detail}
		}
		return err
	}
	x.out.Operation = op
	if len(auto) == len(x.out.Plan.Changes) {
		x.out.Plan = nil
	} else if x.out.Plan, err = x.l.opt.Store.Plan(x.out.Plan.ID); err != nil {
		return err
	}
	return failure
}

// move writes the cursor: over what a model was shown and answered for, and after
// a failure of the model when to try again.
func (x *extraction) move(ctx context.Context, next *cursorRecord, answered int, failure error) error {
	s := SkippedOf(failure)
	if s != nil && x.tools.Extractor != nil && (s.Reason == SkipModelInvalid || s.Reason == SkipModelUnavailable) {
		from := x.record
		if answered > 0 {
			from = next
		}
		next = from.failed(x.l.opt.Now(), s.Retry)
	} else if answered == 0 {
		return nil
	}
	if err := x.l.opt.Store.setCursor(ctx, x.root, x.in.Session, next); err != nil {
		return err
	}
	x.out.Cursor = next.Cursor
	return nil
}

// Preview makes a plan of a draft and keeps it nowhere.
func (s *Store) Preview(ctx context.Context, d Draft) (*Plan, error) { return s.plan(ctx, d) }

// scopeOf is the root that a scope names; a patch that names none goes to where
// its type belongs.
func (x *extraction) scopeOf(c *candidate) Scope {
	s := Scope(c.Scope)
	if s.Valid() {
		return s
	}
	_, said := inferred(c.Body)
	return cmp.Or(said, map[string]Scope{TypeUser: ScopeUser, TypeFeedback: ScopeUser}[c.Type], ScopeProject)
}
