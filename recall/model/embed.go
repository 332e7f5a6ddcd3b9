package model

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"
)

// maxDimension bounds the length of a vector; the longest of today's models have
// 8,192 numbers.
const maxDimension = 16_384

// EmbedRequest are texts to be turned into vectors.
type EmbedRequest struct {
	Texts []string // none empty; valid UTF-8
	// Query says that the texts ask, and are not what is looked through: some models
	// want to be told.
	Query   bool
	Purpose string // in errors and logs
}

// Embedder turns texts into vectors with one embedding model at one endpoint. It is
// safe for concurrent use.
type Embedder struct {
	c       *Client
	prompts prompts
}

// NewEmbedder makes an embedder of the embedding model of cfg, whose chat model is
// not looked at. It sends nothing; an error names the setting at fault.
func NewEmbedder(cfg Config, opts ...Option) (*Embedder, error) {
	if err := cfg.CheckEmbedding(); err != nil {
		return nil, err
	}
	cfg.Name = cfg.EmbeddingName
	c, err := New(cfg, opts...)
	if err != nil {
		return nil, err
	}
	c.serves = servesEmbeddings
	return &Embedder{c: c, prompts: promptsOf(cfg.Name)}, nil
}

// CheckEmbedding tells what is wrong with the embedding model of a config, with a
// [*SettingError], without asking anybody.
func (c Config) CheckEmbedding() error {
	c.Name = c.EmbeddingName
	err := c.Check()
	var setting *SettingError
	if errors.As(err, &setting) && setting.Setting == SettingName {
		return &SettingError{SettingEmbedding, setting.Problem}
	}
	return err
}

// Name is the model's name as configured.
func (e *Embedder) Name() string { return e.c.name }

// ID tells apart models whose vectors must not be mixed: the same name at another
// endpoint may be another model.
func (e *Embedder) ID() string { return e.c.name + " at " + e.c.endpoint }

// Local tells whether what is sent stays on this machine.
func (e *Embedder) Local() bool {
	u, err := url.Parse(e.c.endpoint)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || ip != nil && ip.IsLoopback()
}

// Close drops idle connections. Calls in flight end by their contexts.
func (e *Embedder) Close() { e.c.Close() }

// String shows the model and endpoint.
func (e *Embedder) String() string { return e.c.String() }

// Format prints String whatever the verb, as that of [Client] does.
func (e *Embedder) Format(f fmt.State, v rune) { e.c.Format(f, v) }

// Embed answers one vector for each text, in their order: all of one length, and
// every number finite. Its errors are those of [Client.Complete]. It waits for a
// place, and tries again, within ctx and the time-out of the config.
func (e *Embedder) Embed(ctx context.Context, r EmbedRequest) ([][]float32, Usage, error) {
	c := e.c
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	q := Request{Purpose: r.Purpose}
	leave, err := c.gate.enter(bounded)
	if err != nil {
		return nil, Usage{}, c.explain(ctx, bounded, q, err)
	}
	defer leave()
	began := time.Now()
	vectors, usage, err := e.send(bounded, e.prompts.put(r))
	if err != nil {
		err = c.explain(ctx, bounded, q, err)
	}
	c.set.log.Debug("embedding call", "purpose", q.purpose(), "model", c.name, "texts", len(r.Texts), "took", time.Since(began),
		"promptTokens", usage.PromptTokens, "err", err)
	return vectors, usage, err
}

func (e *Embedder) send(ctx context.Context, texts []string) ([][]float32, Usage, error) {
	api := e.c.api
	x := &exchange{http: e.c.http, pause: e.c.set.pause, idle: e.c.set.idle, trim: withoutUser}
	api.HTTPClient = x
	_, err := openai.NewClientWithConfig(api).CreateEmbeddings(ctx, openai.EmbeddingRequest{
		Input: texts, Model: openai.EmbeddingModel(e.c.name),
	})
	if x.answer == nil {
		return nil, Usage{}, fmt.Errorf("asking for embeddings: %w", err)
	}
	// The library takes vectors in one form, places them where they say they belong,
	// and does not count them. So they are read here.
	vectors, usage, bad := readVectors(x.answer, len(texts))
	if bad != nil {
		return nil, usage, bad
	}
	return vectors, usage, nil
}

// withoutUser takes the empty user out of a request, which the library always
// sends: some endpoints refuse members that they do not know.
func withoutUser(body []byte) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil || string(members["user"]) != `""` {
		return body
	}
	delete(members, "user")
	if out, err := json.Marshal(members); err == nil {
		return out
	}
	return body
}

// answered is the body of an answer with vectors, in the shapes of the endpoints.
type answered struct {
	Data []struct {
		Index     *int            `json:"index"`
		Embedding json.RawMessage `json:"embedding"`
	} `json:"data"`
	// Ollama's own method answers the vectors alone.
	Embeddings []json.RawMessage `json:"embeddings"`
	Usage      struct {
		PromptTokens int `json:"prompt_tokens"`
		TotalTokens  int `json:"total_tokens"`
	} `json:"usage"`
}

// readVectors reads n vectors from the body of an answer. Nothing in it is believed
// without a look: a vector in the wrong place would be wrong for as long as it is kept.
func readVectors(raw []byte, n int) ([][]float32, Usage, *unusable) {
	var a answered
	if err := json.Unmarshal(raw, &a); err != nil {
		if bytes.Contains(raw, []byte("NaN")) || bytes.Contains(raw, []byte("Infinity")) {
			return nil, Usage{}, &unusable{detail: "the answer holds numbers that are none (NaN or Infinity)"}
		}
		return nil, Usage{}, &unusable{detail: "the answer is no list of embeddings", err: err}
	}
	usage := Usage{PromptTokens: max(0, a.Usage.PromptTokens, a.Usage.TotalTokens)}
	items := a.Embeddings
	if len(items) == 0 {
		var bad *unusable
		if items, bad = a.ordered(); bad != nil {
			return nil, usage, bad
		}
	}
	if len(items) != n {
		return nil, usage, &unusable{detail: fmt.Sprintf("the answer has %d vectors for %d texts", len(items), n)}
	}
	vectors := make([][]float32, n)
	for i, item := range items {
		v, err := readVector(item)
		if err != nil {
			return nil, usage, &unusable{detail: fmt.Sprintf("vector %d of the answer: %v", i, err)}
		}
		if len(v) != len(vectors[0]) && i > 0 {
			return nil, usage, &unusable{detail: fmt.Sprintf("the vectors of one answer have %d and %d numbers", len(vectors[0]), len(v))}
		}
		vectors[i] = v
	}
	return vectors, usage, nil
}

// ordered are the vectors of an answer in the order of the texts. They come in any
// order when they say where they belong, and in that of the texts when none does.
func (a *answered) ordered() ([]json.RawMessage, *unusable) {
	items := make([]json.RawMessage, len(a.Data))
	silent := 0
	for _, d := range a.Data {
		if d.Index == nil || *d.Index == 0 {
			silent++
		}
	}
	if silent == len(a.Data) { // some endpoints number nothing, or everything with 0
		for i, d := range a.Data {
			items[i] = d.Embedding
		}
		return items, nil
	}
	for _, d := range a.Data {
		if d.Index == nil || *d.Index < 0 || *d.Index >= len(items) || items[*d.Index] != nil {
			return nil, &unusable{detail: "the answer numbers its vectors so that they belong to no text, or several to one"}
		}
		items[*d.Index] = d.Embedding
	}
	return items, nil
}

// readVector reads a list of numbers, the same in base64 as little-endian float32,
// or a list that holds one such list.
func readVector(raw json.RawMessage) ([]float32, error) {
	var v []float32
	switch raw = bytes.TrimSpace(raw); {
	case len(raw) == 0, string(raw) == "null":
		return nil, errors.New("there is none")
	case raw[0] == '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, errors.New("a broken string")
		}
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(b)%4 != 0 {
			return nil, errors.New("a string that is no base64 of numbers")
		}
		v = make([]float32, len(b)/4)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	case bytes.HasPrefix(raw, []byte("[[")):
		var nested [][]float32
		if err := json.Unmarshal(raw, &nested); err != nil || len(nested) != 1 {
			return nil, errors.New("vectors of single words instead of one of the text; switch pooling on")
		}
		v = nested[0]
	default:
		// Inv: null in a list decodes to zero, which would be believed.
		if bytes.Contains(raw, []byte("null")) {
			return nil, errors.New("it holds null in place of numbers")
		}
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, errors.New("no list of numbers")
		}
	}
	return v, checkVector(v)
}

func checkVector(v []float32) error {
	if len(v) == 0 || len(v) > maxDimension {
		return fmt.Errorf("%d numbers", len(v))
	}
	zero := true
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return errors.New("it holds numbers that are none (NaN or infinite)")
		}
		zero = zero && x == 0
	}
	if zero {
		return errors.New("all its numbers are 0")
	}
	return nil
}
