package lsp

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/memory/vectors"
	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/meaning"
	"github.com/memls/memls/recall/model"
)

// NewEmbedder makes the embedding model that options name. It is the default of
// [MemoryOptions.Embedder].
func NewEmbedder(o ModelOptions, key string) (meaning.Embedder, error) {
	e, err := model.NewEmbedder(o.embedding().config(key))
	var setting *model.SettingError
	switch {
	case errors.As(err, &setting):
		return nil, InvalidParam("model."+o.embeddingField(setting.Setting), "%s", setting.Problem)
	case err != nil:
		return nil, err
	}
	return e, nil
}

// embedding are the options of the embedding model alone.
func (o ModelOptions) embedding() ModelOptions {
	if o.EmbeddingBaseURL != "" {
		o.BaseURL, o.APIKeyEnv = o.EmbeddingBaseURL, o.EmbeddingAPIKeyEnv
	}
	return ModelOptions{BaseURL: o.BaseURL, APIKeyEnv: o.APIKeyEnv, EmbeddingName: o.EmbeddingName, RequestTimeoutMs: o.RequestTimeoutMs}
}

// chat are the options of the model that chooses alone.
func (o ModelOptions) chat() ModelOptions {
	o.EmbeddingName, o.EmbeddingBaseURL, o.EmbeddingAPIKeyEnv = "", "", ""
	return o
}

// embeddingField is the name of a setting of the embedding model.
func (o ModelOptions) embeddingField(s model.Setting) string {
	switch {
	case o.EmbeddingBaseURL == "":
	case s == model.SettingBaseURL:
		return "embeddingBaseURL"
	case s == model.SettingKey:
		return "embeddingApiKeyEnv"
	}
	return string(s)
}

func (o ModelOptions) config(key string) model.Config {
	return model.Config{BaseURL: o.BaseURL, Name: o.Name, Key: key, EmbeddingName: o.EmbeddingName}
}

// queryTimeout bounds the wait for the vector of a query.
func (o ModelOptions) queryTimeout() time.Duration {
	if d := time.Duration(o.RequestTimeoutMs) * time.Millisecond; d > 0 {
		return d
	}
	return meaning.QueryTimeout
}

// embeddings holds the search by meaning that is in force.
type embeddings struct {
	f *features

	mu      sync.Mutex
	now     *embeddingRun // nil without an embedding model
	mayAsk  bool          // the handshake is over
	closing bool
}

// embeddingRun is the search by meaning of one configuration. It is a [recall.Meaning]
// that says why when it cannot be used.
type embeddingRun struct {
	options ModelOptions
	tokens  int
	ready   atomic.Pointer[meaning.Service] // nil until the key is there
	fault   atomic.Pointer[string]
	ctx     context.Context // ends with the configuration
	cancel  context.CancelFunc
	start   sync.Once
}

// Near implements [recall.Meaning].
func (r *embeddingRun) Near(ctx context.Context, q recall.MeaningQuery) recall.Nearness {
	if s := r.ready.Load(); s != nil {
		return s.Near(ctx, q)
	}
	detail := "model.apiKeyEnv: waiting for " + r.options.APIKeyEnv
	if fault := r.fault.Load(); fault != nil {
		detail = *fault
	}
	return recall.Nearness{Degraded: &recall.Degraded{Reason: recall.DegradedEmbedding, Detail: detail}}
}

// current is the search by meaning in force, or nil.
func (m *embeddings) current() *embeddingRun {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// configure takes the embedding model that settings name.
func (m *embeddings) configure(s Settings) {
	o := s.Model
	if o == nil {
		o = m.f.opt.DefaultModel
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var options ModelOptions
	if o != nil && o.EmbeddingName != "" {
		options = o.embedding()
	}
	if m.now != nil {
		if m.now.options == options && m.now.tokens == s.BackgroundTokensPerDay {
			return
		}
		m.now.cancel()
		m.now = nil
	}
	if options.EmbeddingName == "" || m.closing {
		return
	}
	r := &embeddingRun{options: options, tokens: s.BackgroundTokensPerDay}
	r.ctx, r.cancel = context.WithCancel(m.f.s.peer.base)
	m.now = r
	if options.APIKeyEnv != "" && m.f.opt.Getenv(options.APIKeyEnv) == "" {
		if m.mayAsk {
			m.f.s.Go(func(context.Context) { m.ask(r) })
		}
		return
	}
	key := ""
	if options.APIKeyEnv != "" {
		key = m.f.opt.Getenv(options.APIKeyEnv)
	}
	m.f.s.Go(func(context.Context) { m.run(r, key, "") })
}

// handshakeDone lets the client be asked for a key.
func (m *embeddings) handshakeDone() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mayAsk = true
	if r := m.now; r != nil && r.ready.Load() == nil && r.options.APIKeyEnv != "" {
		m.f.s.Go(func(context.Context) { m.ask(r) })
	}
}

// ask gets the key: that of the model that chooses, when it is the same, else from
// the client.
func (m *embeddings) ask(r *embeddingRun) {
	if s := m.f.models.current(); s != nil && s.options.APIKeyEnv == r.options.APIKeyEnv {
		select {
		case <-s.ready:
			m.run(r, s.key, s.fault)
		case <-r.ctx.Done():
		}
		return
	}
	key, fault := askKey(r.ctx, m.f.s, r.options.APIKeyEnv)
	m.run(r, key, fault)
}

// run keeps vectors current until the configuration changes.
func (m *embeddings) run(r *embeddingRun, key, fault string) {
	r.start.Do(func() {
		var e meaning.Embedder
		if fault == "" {
			var err error
			if e, err = m.f.opt.Embedder(r.options, key); err != nil {
				fault = err.Error()
			}
		}
		if fault != "" {
			m.f.s.Log().Warn("the embedding model cannot be used", "reason", fault)
			r.fault.Store(&fault)
			return
		}
		opt := meaning.Options{
			Embedder: e, Snapshot: m.f.catalog().Snapshot, Reserve: m.f.reserve(r.tokens), Log: m.f.s.Log(), Now: m.f.opt.Now,
			QueryTimeout: r.options.queryTimeout(),
		}
		if store := m.f.changer.Load().store; store != nil {
			opt.Begin = func(ctx context.Context) (meaning.Task, error) { return store.Begin(ctx, memory.TaskEmbedding, nil) }
		}
		if m.f.opt.State != "" {
			opt.Files = vectors.Open(m.f.opt.State)
		}
		s := meaning.New(opt)
		r.ready.Store(s)
		s.Run(r.ctx)
		if c, ok := e.(interface{ Close() }); ok {
			c.Close()
		}
	})
}

// reserve is how vectors of memories get their tokens; nil without a state, in which an
// account could be kept.
func (f *features) reserve(perDay int) meaning.Reserve {
	store := f.changer.Load().store
	if store == nil {
		return nil
	}
	return meaning.ReserveOf(store, perDay)
}

// changed says that the catalog has changed.
func (m *embeddings) changed() {
	if r := m.current(); r != nil {
		if s := r.ready.Load(); s != nil {
			s.Changed()
		}
	}
}

// close lets go of it at the end of the connection.
func (m *embeddings) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closing = true
	if m.now != nil {
		m.now.cancel()
	}
}

// forgetVectors erases the vectors of what a purge forgets, here and in the state.
func (f *features) forgetVectors(ctx context.Context, gone memory.Forgotten) error {
	if r := f.embeddings.current(); r != nil {
		if s := r.ready.Load(); s != nil {
			s.Forget(gone.AllRefs())
		}
	}
	return gone.EachRoot(func(root string, refs []string) error { return vectors.Open(f.opt.State).Forget(ctx, root, refs) })
}

// embeddingStatus says how the search by meaning does.
func (f *features) embeddingStatus() EmbeddingStatus {
	r := f.embeddings.current()
	if r == nil {
		return EmbeddingStatus{State: "none"}
	}
	st := EmbeddingStatus{State: "configured", Name: r.options.EmbeddingName}
	s := r.ready.Load()
	if s == nil {
		if fault := r.fault.Load(); fault != nil {
			st.State, st.Detail = "failing", *fault
		} else {
			st.Detail = "model.apiKeyEnv: waiting for " + r.options.APIKeyEnv
		}
		return st
	}
	now := s.Status()
	st.Vectors, st.Total, st.Withheld, st.Refused = now.Vectors, now.Total, now.Withheld, now.Refused
	st.Dimension, st.Bytes, st.Floor, st.Detail = now.Dimension, int64(now.Bytes), now.Floor, now.Fault
	switch {
	case now.Truncated:
		st.State, st.Detail = "failing", "there are more passages than are compared: no search by meaning"
	case now.Fault != "":
		st.State = "failing"
	case now.Vectors+now.Withheld+now.Refused < now.Total:
		st.State = "indexing"
	case now.Vectors > 0:
		st.State = "ready"
	}
	return st
}
