package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/model"
)

const (
	// keyWait is how long a recall waits for a key that the client was asked for.
	keyWait = 5 * time.Second
	// secretWait is how long the client may take to ask its person for it.
	secretWait = 2 * time.Minute
)

// NewModel makes the model that options name. It is the default of
// [MemoryOptions.Model].
func NewModel(o ModelOptions, key string) (recall.Model, error) {
	c, err := model.New(model.Config{BaseURL: o.BaseURL, Name: o.Name, Key: key, Timeout: selectorTimeout(o)})
	var setting *model.SettingError
	switch {
	case errors.As(err, &setting):
		return nil, InvalidParam("model."+string(setting.Setting), "%s", setting.Problem)
	case err != nil:
		return nil, err
	}
	return c, nil
}

// checkModel checks what can be known of a model before it is asked: nil is no
// model.
func checkModel(o *ModelOptions) error {
	if o == nil {
		return nil
	}
	if most := recall.SelectorCeiling.Milliseconds(); o.RequestTimeoutMs < 0 || int64(o.RequestTimeoutMs) > most {
		return InvalidParam("model.requestTimeoutMs", "%d is not within 1 to %d", o.RequestTimeoutMs, most)
	}
	if o.Price.Input < 0 || o.Price.Output < 0 {
		return InvalidParam("model.price", "must not be negative")
	}
	if o.Name != "" || o.EmbeddingName == "" {
		if err := settingFault(o.config("").Check(), func(s model.Setting) string { return string(s) }); err != nil {
			return err
		}
	}
	if o.EmbeddingName != "" {
		return settingFault(o.embedding().config("").CheckEmbedding(), o.embeddingField)
	}
	return nil
}

// settingFault words what is wrong with a setting of a model.
func settingFault(err error, field func(model.Setting) string) error {
	var setting *model.SettingError
	switch {
	case errors.As(err, &setting):
		return InvalidParam("model."+field(setting.Setting), "%s", setting.Problem)
	case err != nil:
		return InvalidParam("model", "%v", err)
	}
	return nil
}

// selectorTimeout bounds one question of a recall.
func selectorTimeout(o ModelOptions) time.Duration {
	if d := time.Duration(o.RequestTimeoutMs) * time.Millisecond; d > 0 && d < recall.SelectorCeiling {
		return d
	}
	return recall.SelectorCeiling
}

// selector is the model of one configuration, from the moment it is named. It
// is a [recall.Model] that answers with the fault when it cannot be used, so
// that a recall goes on without it and says why.
type selector struct {
	options ModelOptions
	log     *slog.Logger
	after   func(time.Duration) <-chan time.Time
	ready   chan struct{} // closed when inner or fault is set

	inner recall.Model // set before ready is closed
	key   string
	fault string

	mu      sync.Mutex
	users   int
	retired bool
	asked   bool
	last    *model.Error // of the last call; nil after a success
	worked  bool
}

func newSelector(o ModelOptions, log *slog.Logger, after func(time.Duration) <-chan time.Time) *selector {
	return &selector{options: o, log: log, after: after, ready: make(chan struct{})}
}

// settle makes the model, or notes why there is none. It is called once.
func (s *selector) settle(build func(ModelOptions, string) (recall.Model, error), key, fault string) {
	defer close(s.ready)
	s.key = key
	if s.fault = fault; fault == "" {
		m, err := build(s.options, key)
		if err != nil {
			s.fault = err.Error()
		}
		s.inner = m
	}
	if s.fault != "" {
		s.log.Warn("the model cannot be used", "reason", s.fault)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeUnused()
}

// ask gets the key from the client and settles.
func (s *selector) ask(ctx context.Context, server *Server, build func(ModelOptions, string) (recall.Model, error)) {
	s.mu.Lock()
	first := !s.asked
	s.asked = true
	s.mu.Unlock()
	if !first {
		return
	}
	key, fault := askKey(ctx, server, s.options.APIKeyEnv)
	s.settle(build, key, fault)
}

// askKey asks the client for a key, or says why there is none.
func askKey(ctx context.Context, server *Server, name string) (key, fault string) {
	ctx, cancel := context.WithTimeout(ctx, secretWait)
	defer cancel()
	key, err := server.Secret(ctx, name)
	var refused *ClientError
	switch {
	case errors.As(err, &refused):
		fault = fmt.Sprintf("model.apiKeyEnv: the environment has no %s and the client answered %s with %d", name, AskSecret, refused.Code)
	case err != nil:
		// Inv: the error of an answer in the wrong form may quote it, and is not
		// to be shown or logged.
		fault = fmt.Sprintf("model.apiKeyEnv: the environment has no %s and the client did not give it", name)
	case key == "":
		fault = fmt.Sprintf("model.apiKeyEnv: neither the environment nor the client has a %s", name)
	}
	return key, fault
}

// Complete implements [recall.Model].
func (s *selector) Complete(ctx context.Context, r model.Request) (json.RawMessage, model.Usage, error) {
	select {
	case <-s.ready:
	default:
		select {
		case <-s.ready:
		case <-ctx.Done():
			return nil, model.Usage{}, ctx.Err()
		case <-s.after(keyWait):
			return nil, model.Usage{}, &model.Error{Kind: model.Unavailable,
				Detail: "model.apiKeyEnv: the client has not yet given " + s.options.APIKeyEnv}
		}
	}
	if s.fault != "" {
		return nil, model.Usage{}, &model.Error{Kind: model.Unavailable, Detail: s.fault}
	}
	s.use(1)
	defer s.use(-1)
	raw, usage, err := s.inner.Complete(ctx, r)
	s.note(ctx, err)
	return raw, usage, err
}

// note keeps how a call went, unless it was the caller who ended it.
func (s *selector) note(ctx context.Context, err error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.worked = nil, err == nil
	if err != nil && !errors.As(err, &s.last) {
		s.last = &model.Error{Kind: model.Unavailable, Detail: "the model could not be asked"}
	}
}

func (s *selector) use(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users += n
	s.closeUnused()
}

// retire lets go of the connections once nobody uses them any more.
func (s *selector) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = true
	s.closeUnused()
}

// closeUnused closes idle connections of a retired model. Inv: mu is held.
func (s *selector) closeUnused() {
	if !s.retired || s.users > 0 {
		return
	}
	select {
	case <-s.ready:
		if c, ok := s.inner.(interface{ Close() }); ok {
			c.Close()
		}
	default:
	}
}

// status says how the model does.
func (s *selector) status() ModelStatus {
	m := ModelStatus{State: "configured", Name: s.options.Name}
	select {
	case <-s.ready:
	default:
		m.Detail = "model.apiKeyEnv: waiting for " + s.options.APIKeyEnv
		return m
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.fault != "":
		m.State, m.Detail = "failing", s.fault
	case s.last != nil:
		m.State, m.Detail = "failing", s.last.Error()
	case s.worked:
		m.State = "ready"
	}
	return m
}

// models holds the selector in force.
type models struct {
	server *Server
	opt    *MemoryOptions

	mu      sync.Mutex
	now     *selector // nil without a model
	mayAsk  bool      // the handshake is over
	closing bool
}

// current is the selector in force, or nil.
func (m *models) current() *selector {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// configure takes the model that settings name.
func (m *models) configure(o *ModelOptions) {
	if o == nil {
		o = m.opt.DefaultModel
	}
	if o != nil {
		if o.Name == "" {
			o = nil // an embedding model alone
		} else {
			chat := o.chat()
			o = &chat
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now != nil {
		if o != nil && m.now.options == *o {
			return
		}
		m.now.retire()
		m.now = nil
	}
	if o == nil || m.closing {
		return
	}
	s := newSelector(*o, m.server.Log(), m.opt.After)
	m.now = s
	key := ""
	if o.APIKeyEnv != "" {
		if key = m.opt.Getenv(o.APIKeyEnv); key == "" {
			m.askLocked()
			return
		}
	}
	s.settle(m.opt.Model, key, "")
}

// handshakeDone lets the client be asked for a key.
func (m *models) handshakeDone() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mayAsk = true
	m.askLocked()
}

// askLocked asks the client for a key that is missing, when it may be asked.
// Inv: mu is held.
func (m *models) askLocked() {
	s := m.now
	if s == nil || !m.mayAsk {
		return
	}
	select {
	case <-s.ready:
	default:
		m.server.Go(func(ctx context.Context) { s.ask(ctx, m.server, m.opt.Model) })
	}
}

// close lets go of the model at the end of the connection.
func (m *models) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closing = true
	if m.now != nil {
		m.now.retire()
	}
}
