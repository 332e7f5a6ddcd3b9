package lsp

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.lsp.dev/jsonrpc2"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// The outcomes of a recall.
const (
	outcomeSettled    = "settled"
	outcomeCancelled  = "cancelled"
	outcomeNotStarted = "not_started"
)

// Why a recall was cancelled or not started.
const (
	reasonNewQuery = "new_query"
	reasonAbort    = "abort"
	reasonReset    = "reset"
	reasonShutdown = "shutdown"
	// Its turn ended before there was a place for it in a request.
	reasonNoSafePoint = "no_safe_delivery_point"

	reasonNotUserTurn = "not_user_turn"
	reasonDisabled    = "disabled"
	reasonEmptyQuery  = "empty_query"
	reasonNoRoots     = "no_roots"
)

const (
	deliveryPush = "push"
	deliveryPull = "pull"

	phaseFast    = "fast"
	phaseRefined = "refined"

	// maxListed bounds the lists of params.
	maxListed = 10_000
)

// recall serves memory/recall. It runs on the read loop until the fast result
// is out, or until it has to wait for a first scan.
func (f *features) recall(ctx context.Context, p *RecallParams) (*RecallResponse, error) {
	began := f.opt.Now()
	if err := checkRecall(p); err != nil {
		return nil, err
	}
	if reason := f.notStarted(p); reason != "" {
		f.sessions.get(p.Session).passed(p, reason)
		r := &RecallResponse{Token: p.Token, Outcome: outcomeNotStarted, Reason: reason}
		if reason == reasonNoRoots {
			r.Detail = unserved(f.catalog().Snapshot().Roots())
		}
		return r, nil
	}
	r, err := f.begin(ctx, p, began)
	if err != nil {
		return nil, err
	}
	defer f.rescue(r)
	AfterAnswer(ctx, f.sweepSoon)
	if snap := f.catalog().Snapshot(); snap.Loading() {
		f.s.Go(func(context.Context) { f.whileLoading(r) })
	} else if ranking, fast, ok := f.fast(r, snap); ok {
		f.s.Go(func(context.Context) { f.choose(r, snap, ranking, fast) })
	}
	Release(ctx)
	return f.await(ctx, r)
}

// checkRecall checks what is independent of the state of the server.
func checkRecall(p *RecallParams) error {
	for _, name := range []struct{ field, value string }{{"token", p.Token}, {"session", p.Session}} {
		if err := checkName(name.field, name.value); err != nil {
			return err
		}
	}
	if err := oneOf("turn", either(p.Turn, turnUser), turns()...); err != nil {
		return err
	}
	if err := oneOf("delivery", either(p.Delivery, deliveryPush), deliveryPush, deliveryPull); err != nil {
		return err
	}
	if _, err := limitOf(p.Limit, recall.MaxRelevantDocs, recall.MaxRelevantDocs); err != nil {
		return err
	}
	for _, list := range []struct {
		field string
		n     int
	}{{"recentTools", len(p.RecentTools)}, {"exclude", len(p.Exclude)}, {"delivered", len(p.Delivered)}} {
		if list.n > maxListed {
			return InvalidParam(list.field, "has %d items, at most %d are taken", list.n, maxListed)
		}
	}
	if err := checkRefs("exclude", p.Exclude); err != nil {
		return err
	}
	if err := checkVersioned("delivered", p.Delivered); err != nil {
		return err
	}
	return checkFilter(p.Scopes, p.Types)
}

// checkRefs checks a list of refs: one in another spelling names nothing, and so
// would do nothing.
func checkRefs(field string, refs []string) error {
	for i, ref := range refs {
		if _, err := memory.ParseRef(ref); err != nil {
			return InvalidParam(fmt.Sprintf("%s[%d]", field, i), "%v", err)
		}
	}
	return nil
}

// version is how versions of files are spelled.
var version = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func checkVersioned(field string, refs []VersionedRef) error {
	for i, v := range refs {
		at := fmt.Sprintf("%s[%d]", field, i)
		if _, err := memory.ParseRef(v.Ref); err != nil {
			return InvalidParam(at+".ref", "%v", err)
		}
		if !version.MatchString(v.Version) {
			return InvalidParam(at+".version", "%q is no version of a memory", short(v.Version))
		}
	}
	return nil
}

// limitOf is the limit that a param asks for.
func limitOf(given *int, otherwise, most int) (int, error) {
	if given == nil {
		return otherwise, nil
	}
	if *given < 1 || *given > most {
		return 0, InvalidParam("limit", "%d is not within 1 to %d", *given, most)
	}
	return *given, nil
}

// notStarted is why a turn starts no recall, or empty.
func (f *features) notStarted(p *RecallParams) string {
	switch {
	case either(p.Turn, turnUser) != turnUser:
		return reasonNotUserTurn
	case !f.s.Settings().Recall:
		return reasonDisabled
	case strings.TrimSpace(p.Query) == "":
		return reasonEmptyQuery
	case !f.serves():
		return reasonNoRoots
	}
	return ""
}

// begin makes a recall the pending one of its session. What its predecessor
// still had to say has entered the outbox when begin returns.
func (f *features) begin(ctx context.Context, p *RecallParams, began time.Time) (*pendingRecall, error) {
	r, before, err := f.enter(ctx, f.sessions.get(p.Session), p, began)
	if err != nil {
		return nil, err
	}
	AfterAnswer(ctx, func() { close(r.answered) })
	if before != nil {
		select {
		case <-before:
		case <-ctx.Done(): // the connection ends, and this recall with it
		}
	}
	return r, nil
}

// enter lets a recall take the place of its predecessor, and returns what is
// closed when the latter has been answered; nil when there was none.
func (f *features) enter(ctx context.Context, s *session, p *RecallParams, began time.Time) (r *pendingRecall, before <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.named(p.Token); t != nil && t.started {
		return nil, nil, InvalidParam("token", "%q was used in this session before", short(p.Token))
	}
	if err := s.bind(p.Folder, f.workspace().first()); err != nil {
		return nil, nil, err
	}
	if s.pending != nil {
		f.cancelLocked(s.pending, reasonNewQuery)
	}
	s.seed(p.Delivered, f.catalog().Snapshot())
	before = s.last
	r = f.newPending(ctx, s, p, began)
	s.last, s.pending = r.answered, r
	r.turn = &turn{token: p.Token, kind: either(p.Turn, turnUser), started: true, recall: r}
	s.enter(r.turn)
	return r, before, nil
}

// newPending makes a recall of its params. Inv: the session's mu is held.
func (f *features) newPending(ctx context.Context, s *session, p *RecallParams, began time.Time) *pendingRecall {
	s.started++
	r := &pendingRecall{
		session: s, token: p.Token, number: s.started, began: began, request: ctx,
		done: make(chan struct{}), answered: make(chan struct{}),
	}
	if p.Delivery == deliveryPull {
		r.pull = &pull{fastReady: make(chan struct{})}
	}
	r.ctx, r.cancel = context.WithCancel(f.s.peer.base)
	r.limit, _ = limitOf(p.Limit, recall.MaxRelevantDocs, recall.MaxRelevantDocs) // checked
	r.query = recall.Query{
		Text: p.Query, Limit: r.limit, Scopes: scopesOf(p.Scopes), Types: p.Types, Folder: s.folder,
		Exclude: excluded(p.Exclude), RecentTools: p.RecentTools, Now: began, Trace: p.Trace, Feedback: f.votes(),
		Held: held{session: s, but: r.number},
	}
	if p.RecentTools == nil {
		r.query.RecentTools = slices.Clone(s.tools)
	}
	return r
}

// bind binds the session to the folder of its first recall. Inv: mu is held.
func (s *session) bind(given, first string) error {
	key := first
	if given != "" {
		key = folderKey(given)
	}
	switch {
	case !s.bound:
		s.folder, s.bound = key, true
	case given != "" && key != s.folder:
		return InvalidParam("folder", "the session belongs to the folder of its first recall")
	}
	return nil
}

// seed notes what the client says that the session's context holds. Inv: mu is
// held.
func (s *session) seed(delivered []VersionedRef, snap *memory.Snapshot) {
	for _, v := range delivered {
		s.ledger.seed(v.Ref, v.Version)
		// What a version stands for is known only as long as the file has it.
		if d, ok := snap.Get(v.Ref); ok {
			s.ledger.memory(v.Ref).meet(d)
		}
	}
}

// excluded are the refs of files that must not be returned. Recall returns
// files only: an entry stands for the file that holds it.
func excluded(refs []string) map[string]bool {
	if len(refs) == 0 {
		return nil
	}
	out := make(map[string]bool, len(refs))
	for _, ref := range refs {
		file, _, _ := strings.Cut(ref, "#")
		out[file] = true
	}
	return out
}

// await waits until a recall has settled or ended, or ends it when the request
// is cancelled, and answers it.
func (f *features) await(ctx context.Context, r *pendingRecall) (*RecallResponse, error) {
	select {
	case <-r.done:
	case <-ctx.Done():
		r.session.mu.Lock()
		// What has settled in this very moment is answered as such, and what its
		// host may take of it stays.
		if !r.settled {
			f.cancelLocked(r, reasonShutdown)
		}
		r.session.mu.Unlock()
	}
	if r.refusal != nil {
		return nil, jsonrpc2.Errorf(codeRequestCancelled, "memory/recall: %v", r.refusal)
	}
	fast, refined := r.fast, r.refined
	return &RecallResponse{Token: r.token, Outcome: r.outcome, Reason: r.reason, Fast: &fast, Refined: &refined}, nil
}
