package meaning

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall/model"
)

// idlePause is how long nothing is done when nothing is to be done.
const idlePause = time.Hour

// want is one text that waits for its vector, and the passages that it stands for.
type want struct {
	text   string
	places []place
}

// place is a passage of a document that may have gone meanwhile.
type place struct {
	doc  *memory.Document
	i    int
	span memory.Span
	key  key
}

// work makes some vectors, and answers how long to wait before the next; 0 is not at
// all.
func (s *Service) work(ctx context.Context) time.Duration {
	s.mu.Lock()
	now := s.opt.Now()
	if now.Before(s.notBefore) {
		defer s.mu.Unlock()
		return s.notBefore.Sub(now)
	}
	if s.cancelled || s.wanted > s.opt.MaxVectors {
		s.mu.Unlock()
		return idlePause
	}
	if job := s.calibration(); job != nil {
		s.mu.Unlock()
		return s.after(ctx, job(ctx))
	}
	wants := s.next()
	s.mu.Unlock()
	if len(wants) == 0 {
		return idlePause
	}
	return s.after(ctx, s.embed(ctx, wants))
}

// waitFor notes that nothing is to be done for a while. Inv: mu is held.
func (s *Service) waitFor(d time.Duration) time.Duration {
	d = max(d, time.Millisecond)
	s.notBefore = s.opt.Now().Add(d)
	return d
}

// after notes how a request went, and answers how long to wait.
func (s *Service) after(ctx context.Context, err error) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return idlePause
	case err == nil:
		s.fault, s.broke, s.retry = "", false, 0
		return 0
	}
	s.fault, s.broke = sentence(err), budgetSpent(err)
	s.retry = min(max(2*s.retry, firstRetry), lastRetry)
	wait := s.retry
	var failed *model.Error
	var skipped *memory.Skipped
	switch {
	case errors.As(err, &failed):
		wait = max(wait, min(failed.RetryAfter, time.Hour))
	case errors.As(err, &skipped):
		s.retry, wait = 0, max(firstRetry, skipped.Retry)
	}
	s.opt.Log.Warn("vectors are not made", "model", s.opt.Embedder.Name(), "reason", s.fault, "again", wait)
	return s.waitFor(wait)
}

// sentence is what a person reads of an error.
func sentence(err error) string {
	var failed *model.Error
	if errors.As(err, &failed) {
		return failed.Detail
	}
	var skipped *memory.Skipped
	if errors.As(err, &skipped) {
		return skipped.Detail
	}
	return memory.CleanLine(err.Error())
}

// next are the texts of the next request. Texts that have a vector by now get it.
// Inv: mu is held.
func (s *Service) next() []want {
	for len(s.queue) > 0 && !s.waits(s.queue[0]) {
		s.queue = s.queue[1:]
	}
	var out []want
	at := map[key]int{}
	for _, d := range s.queue {
		if len(out) == s.batch {
			break
		}
		if s.waits(d) {
			out = s.collect(d, out, at)
		}
	}
	return out
}

func (s *Service) waits(d *memory.Document) bool {
	e := s.docs[d]
	return e != nil && slices.Contains(e.rows, waiting)
}

// collect adds what waits of a document to the texts of a request, up to its bound; at
// tells where a text stands in it.
func (s *Service) collect(d *memory.Document, out []want, at map[key]int) []want {
	e := s.docs[d]
	for i, p := range passagesOf(d) {
		if e.rows[i] != waiting {
			continue
		}
		k := e.keys[i]
		here := place{d, i, p.span, k}
		if row, ok := s.byKey[k]; ok {
			numbers, inverse := s.index.at(row)
			s.give(here, slices.Clone(numbers), inverse)
			continue
		}
		j, ok := at[k]
		if !ok {
			if len(out) == s.batch {
				break
			}
			j = len(out)
			at[k] = j
			out = append(out, want{text: p.text})
		}
		out[j].places = append(out[j].places, here)
	}
	return out
}

// give puts a vector where it belongs, unless that has gone. Inv: mu is held.
func (s *Service) give(p place, numbers []int8, inverse float32) {
	e := s.docs[p.doc]
	if e == nil || e.rows[p.i] != waiting {
		return
	}
	had := hasVector(e)
	row := s.put(p.doc, p.span, p.key, numbers, inverse)
	s.count(waiting, -1)
	s.count(row, 1)
	e.rows[p.i] = row
	r := s.rootOf(p.doc)
	r.dirty = true
	if !had && hasVector(e) {
		r.docs++
	}
}

// embed makes the vectors of one request.
func (s *Service) embed(ctx context.Context, wants []want) error {
	texts := make([]string, len(wants))
	for i := range wants {
		texts[i] = wants[i].text
	}
	got, err := s.request(ctx, model.EmbedRequest{Texts: texts, Purpose: "memories"})
	if err != nil {
		if ctx.Err() == nil && ofTheText(err) {
			return s.isolate(wants, err)
		}
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, dim := s.index.Len(); dim != 0 && len(got[0]) != dim {
		return s.otherLength(dim, len(got[0]))
	}
	for i, w := range wants {
		numbers, inverse := quantise(got[i])
		for _, p := range w.places {
			s.give(p, numbers, inverse)
		}
	}
	s.refusals = 0
	s.batch = min(2*s.batch, maxBatch)
	return nil
}

// otherLength begins anew with vectors of another length. Inv: mu is held.
func (s *Service) otherLength(had, got int) error {
	if s.reset() {
		s.opt.Log.Warn("another model goes by the name of the embedding model: its vectors are made anew",
			"model", s.opt.Embedder.Name(), "had", had, "has", got)
		return nil
	}
	return fmt.Errorf("the endpoint answers vectors now of %d and now of %d numbers", had, got)
}

// request asks for vectors, within the budget of the day when they are made elsewhere.
func (s *Service) request(ctx context.Context, r model.EmbedRequest) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	settle := func(context.Context, int) error { return nil }
	if s.opt.Reserve != nil && !s.opt.Embedder.Local() {
		var err error
		if settle, err = s.opt.Reserve(ctx, estimated(r.Texts)); err != nil {
			return nil, err
		}
	}
	got, usage, err := s.opt.Embedder.Embed(ctx, r)
	used := usage.PromptTokens
	if err == nil && used == 0 {
		used = estimated(r.Texts)
	}
	if s.task != nil {
		s.task.Spend(memory.Usage{Requests: 1, PromptTokens: used, Estimated: err == nil && usage.PromptTokens == 0})
	}
	if err := settle(context.WithoutCancel(ctx), used); err != nil {
		s.opt.Log.Warn("the account of background work is not kept", "err", err)
	}
	return got, err
}

// ofTheText tells whether an error may come from what was sent, and not from the
// endpoint's state.
func ofTheText(err error) bool {
	var failed *model.Error
	if !errors.As(err, &failed) {
		return false
	}
	switch failed.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return true
	}
	return failed.Kind == model.Invalid
}

// isolate finds the text that an endpoint refuses: it sends half as many at once, and
// leaves out one that is refused alone. An endpoint that refuses one after the other
// is itself at fault.
func (s *Service) isolate(wants []want, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(wants) > 1 {
		s.batch = max(1, len(wants)/2)
		return nil
	}
	if s.refusals++; s.refusals >= maxRefusals {
		s.pardon()
		return err
	}
	for _, p := range wants[0].places {
		if e := s.docs[p.doc]; e != nil && e.rows[p.i] == waiting {
			e.rows[p.i] = refused
			s.count(waiting, -1)
			s.count(refused, 1)
		}
	}
	s.opt.Log.Warn("the embedding model refuses a text", "memory", wants[0].places[0].doc.Ref, "reason", sentence(err))
	return nil
}

// pardon lets the texts that were refused wait again. Inv: mu is held.
func (s *Service) pardon() {
	s.refusals, s.batch = 0, maxBatch
	for _, e := range s.docs {
		for i, row := range e.rows {
			if row == refused {
				e.rows[i] = waiting
				s.count(refused, -1)
				s.count(waiting, 1)
			}
		}
	}
	s.sortQueue()
}

// calibration is the request that finds out how near unrelated texts lie, when one is
// due; nil otherwise. Inv: mu is held.
func (s *Service) calibration() func(context.Context) error {
	if len(s.docs) == 0 {
		return nil
	}
	if s.reference == nil {
		return s.sampleReference
	}
	for _, id := range s.sortedRoots() {
		if r := s.roots[id]; r.docs >= minSampled && r.docs >= 2*r.sampled {
			return func(ctx context.Context) error { return s.sampleRoot(ctx, id) }
		}
	}
	return nil
}

func (s *Service) sortedRoots() []string {
	ids := make([]string, 0, len(s.roots))
	for id := range s.roots {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// sampleReference compares the built-in texts.
func (s *Service) sampleReference(ctx context.Context) error {
	queries, err := s.request(ctx, model.EmbedRequest{Texts: referenceQueries, Query: true, Purpose: "calibration"})
	if err != nil {
		return err
	}
	texts, err := s.request(ctx, model.EmbedRequest{Texts: referenceTexts, Purpose: "calibration"})
	if err != nil {
		return err
	}
	if len(queries[0]) != len(texts[0]) {
		return errors.New("the endpoint answers vectors of different lengths")
	}
	var sample []float32
	for _, v := range queries {
		q := ask(v)
		for _, t := range texts {
			numbers, inverse := quantise(t)
			sample = append(sample, float32(q.cosine(numbers, inverse)))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reference = shrunk(sample)
	s.asked.spreads = nil
	return nil
}

// sampleRoot compares titles of a root, which are as queries are, with the texts of
// other memories of it.
func (s *Service) sampleRoot(ctx context.Context, id string) error {
	s.mu.Lock()
	var docs []*memory.Document
	for d, e := range s.docs {
		if d.Root.ID == id && hasVector(e) {
			docs = append(docs, d)
		}
	}
	had := s.rootDocs(id)
	// Any order will do that has nothing to do with what the memories say, and is the
	// same at every start.
	slices.SortFunc(docs, func(a, b *memory.Document) int {
		return slices.Compare(s.docs[a].keys[0][:], s.docs[b].keys[0][:])
	})
	var probes []*memory.Document
	var titles []string
	for _, d := range docs {
		title := sendable(clipped(d.Title, maxHeadRunes))
		if len(titles) < maxProbes && strings.TrimSpace(title) != "" && (s.opt.Embedder.Local() || len(memory.FindSecrets(title)) == 0) {
			probes, titles = append(probes, d), append(titles, title)
		}
	}
	s.mu.Unlock()
	var vectors [][]float32
	for part := range slices.Chunk(titles, maxBatch) {
		got, err := s.request(ctx, model.EmbedRequest{Texts: part, Query: true, Purpose: "calibration"})
		if err != nil {
			return err
		}
		vectors = append(vectors, got...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sample, err := s.compare(probes, vectors, docs)
	r := s.roots[id]
	if err != nil || r == nil {
		return err
	}
	r.sample, r.sampled, r.dirty = shrunk(sample), max(had, 1), true
	s.asked.spreads = nil
	return nil
}

func (s *Service) rootDocs(id string) int {
	if r := s.roots[id]; r != nil {
		return r.docs
	}
	return 0
}

// compare are the cosines of probes with the first passages of other documents. Inv:
// mu is held.
func (s *Service) compare(probes []*memory.Document, of [][]float32, docs []*memory.Document) ([]float32, error) {
	_, dim := s.index.Len()
	var sample []float32
	for i, v := range of {
		if len(v) != dim && dim != 0 {
			return nil, s.otherLength(dim, len(v))
		}
		q := ask(v)
		for _, d := range docs[:min(len(docs), maxCompared)] {
			if e := s.docs[d]; d != probes[i] && e != nil && e.rows[0] >= 0 {
				numbers, inverse := s.index.at(e.rows[0])
				sample = append(sample, float32(q.cosine(numbers, inverse)))
			}
		}
	}
	return sample, nil
}
