package meaning

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/model"
)

const (
	// maxAsked bounds the queries whose vectors are remembered: a recall asks for the
	// same one as the explanation after it, and a person asks again.
	maxAsked = 128
	// askedRunes is how much of a query is asked for, half of it from either end.
	askedRunes = 2000
	// After patience failures in a row queries are not asked for the next restPause: an
	// endpoint that does not answer would hold up every one of them.
	patience  = 3
	restPause = 30 * time.Second
)

// asked remembers the vectors of queries, by digest.
type asked struct {
	vectors map[[sha256.Size]byte][]float32
	order   [][sha256.Size]byte // the oldest first
	failed  int
	until   time.Time // no query is asked for before it
	last    string    // why the last one failed

	spreads map[string]spread // by the roots that they are of
}

func (a *asked) forget() { *a = asked{failed: a.failed, until: a.until, last: a.last} }

func (a *asked) keep(k [sha256.Size]byte, v []float32) {
	if a.vectors == nil {
		a.vectors = map[[sha256.Size]byte][]float32{}
	}
	if a.vectors[k] == nil {
		a.order = append(a.order, k)
	}
	a.vectors[k] = v
	if len(a.order) > maxAsked {
		delete(a.vectors, a.order[0])
		a.order = slices.Delete(a.order, 0, 1)
	}
}

// Near implements [recall.Meaning].
func (s *Service) Near(ctx context.Context, q recall.MeaningQuery) recall.Nearness {
	lacks, usable := s.lacks()
	if !usable {
		return recall.Nearness{Degraded: lacks}
	}
	sp, ok := s.spread(q.Reaches)
	switch {
	case !ok:
		return recall.Nearness{Degraded: unavailable("how near the embedding model sees unrelated texts has not been measured yet")}
	case sp.width == 0: // no memory that the query reaches
		return recall.Nearness{}
	}
	v, fault := s.vector(ctx, q.Text)
	if fault != nil {
		return recall.Nearness{Degraded: fault}
	}
	n := recall.Nearness{Floor: sp.floor(), Degraded: lacks}
	snap := s.opt.Snapshot()
	search := Search{Model: s.opt.Embedder.ID(), Vector: v, Floor: n.Floor, Limit: q.Limit, Visible: func(d *memory.Document) bool {
		// Inv: what has gone or changed since its vector was made is not there.
		now, ok := snap.Get(d.Ref)
		return ok && now == d && q.Visible(d)
	}}
	hits, err := s.index.Nearest(ctx, search)
	if err != nil {
		return recall.Nearness{Degraded: s.unsearched(err)}
	}
	for _, h := range sp.near(hits) {
		n.Near = append(n.Near, recall.Near{Doc: h.Doc, Passage: h.Passage, Cosine: h.Cosine})
	}
	if q.Asked != nil {
		visible := search.Visible
		search.Visible = func(d *memory.Document) bool { return d == q.Asked && visible(d) }
		search.Floor, search.Limit = -1, 1
		if hits, err := s.index.Nearest(ctx, search); err == nil && len(hits) > 0 {
			n.Asked = &hits[0].Cosine
		}
	}
	return n
}

func unavailable(format string, args ...any) *recall.Degraded {
	return &recall.Degraded{Reason: recall.DegradedEmbedding, Detail: fmt.Sprintf(format, args...)}
}

// lacks says what a search would have to do without, and whether it can be made.
func (s *Service) lacks() (lacks *recall.Degraded, usable bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wanted > s.opt.MaxVectors {
		return &recall.Degraded{Reason: recall.DegradedTruncated, Detail: fmt.Sprintf(
			"no search by meaning: the memories come to %d passages, and at most %d are compared", s.wanted, s.opt.MaxVectors)}, false
	}
	missing := s.counts[-waiting]
	if !s.synced || missing > 0 {
		detail := fmt.Sprintf("%d of %d passages of memories have no vector yet", missing, s.wanted)
		reason := recall.DegradedEmbedding
		if s.fault != "" {
			detail += ": " + s.fault
		}
		if s.broke {
			reason = recall.DegradedBudget
		}
		lacks = &recall.Degraded{Reason: reason, Detail: detail}
	}
	return lacks, s.counts[0] > 0
}

// spread is what is known of the similarities in the roots that a query reaches. Inv:
// other roots do not influence it.
func (s *Service) spread(reaches func(*memory.Root) bool) (spread, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reference == nil {
		return spread{}, false
	}
	unrelated := spreadOf(s.reference)
	var ids []string
	var samples [][]float32
	for _, id := range s.sortedRoots() {
		r := s.roots[id]
		if r.total == 0 || reaches != nil && !reaches(r.of) {
			continue
		}
		ids = append(ids, fmt.Sprintf("%s %d", id, r.sampled))
		// Memories that all say nearly the same do not tell where unrelated texts lie.
		if r.sample == nil || spreadOf(r.sample).middle >= unrelated.floor() {
			samples = append(samples, s.reference)
		} else {
			samples = append(samples, r.sample)
		}
	}
	if len(ids) == 0 {
		return spread{}, true
	}
	name := strings.Join(ids, " ")
	if sp, ok := s.asked.spreads[name]; ok {
		return sp, true
	}
	sp := spreadOf(samples...)
	if s.asked.spreads == nil || len(s.asked.spreads) > maxAsked {
		s.asked.spreads = map[string]spread{}
	}
	s.asked.spreads[name] = sp
	return sp, true
}

// vector is the vector of a query, or why there is none.
func (s *Service) vector(ctx context.Context, text string) ([]float32, *recall.Degraded) {
	text = ends(sendable(text))
	if found := memory.FindSecrets(text); len(found) > 0 && !s.opt.Embedder.Local() {
		return nil, unavailable("the query holds a credential (%s) and is not sent away", strings.Join(memory.SecretRules(found), ", "))
	}
	k := sha256.Sum256([]byte(text))
	s.mu.Lock()
	v, known := s.asked.vectors[k]
	resting, last := s.opt.Now().Before(s.asked.until), s.asked.last
	s.mu.Unlock()
	switch {
	case known:
		return v, nil
	case resting:
		return nil, unavailable("%s; it is not asked for a while", last)
	}
	bounded, cancel := context.WithTimeout(ctx, s.opt.QueryTimeout)
	defer cancel()
	got, _, err := s.opt.Embedder.Embed(bounded, model.EmbedRequest{Texts: []string{text}, Query: true, Purpose: "query"})
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			s.asked.last = sentence(err)
			if s.asked.failed++; s.asked.failed >= patience {
				s.asked.until = s.opt.Now().Add(restPause)
			}
		}
		return nil, unavailable("%s", sentence(err))
	}
	s.asked.failed, s.asked.until = 0, time.Time{}
	s.asked.keep(k, got[0])
	return got[0], nil
}

// unsearched words why vectors could not be searched.
func (s *Service) unsearched(err error) *recall.Degraded {
	var other *dimensionError
	if errors.As(err, &other) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked.forget()
		if fault := s.otherLength(other.want, other.got); fault != nil {
			return unavailable("%v", fault)
		}
		s.Changed()
		return unavailable("another model goes by the name %s: the vectors of the memories are made anew", s.opt.Embedder.Name())
	}
	return unavailable("%v", err)
}

// ends are the two ends of a text that is too long.
func ends(s string) string {
	runes := []rune(s)
	if len(runes) <= askedRunes {
		return s
	}
	return string(runes[:askedRunes/2]) + "\n" + string(runes[len(runes)-askedRunes/2:])
}

// Status is how far the vectors are.
type Status struct {
	Model     string
	Vectors   int // made
	Total     int // wanted: the passages of all memories
	Withheld  int // hold a credential and are not sent away
	Refused   int // the model takes everything but these
	Dimension int
	Bytes     int // in memory
	Memories  int
	Floor     float64 // over all roots; 0 while it is not known
	Fault     string  // why none are made now; empty when they are
	Truncated bool    // there are too many to be compared
}

// Status tells how far the vectors are.
func (s *Service) Status() Status {
	sp, known := s.spread(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, dim := s.index.Len()
	st := Status{
		Model: s.opt.Embedder.Name(), Vectors: s.counts[0], Total: s.wanted, Withheld: s.counts[-withheld], Refused: s.counts[-refused],
		Dimension: dim, Bytes: s.index.Bytes(), Memories: len(s.docs), Fault: s.fault, Truncated: s.wanted > s.opt.MaxVectors,
	}
	if known && sp.width > 0 {
		st.Floor = sp.floor()
	}
	if st.Fault == "" && s.asked.failed > 0 {
		st.Fault = s.asked.last
	}
	return st
}
