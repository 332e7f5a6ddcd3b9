package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/meaning"
	"github.com/memls/memls/recall/model"
)

// maxStdin bounds a query that is read from standard input. The ranker looks at
// 64 KiB of either end; what is beyond this bound is no query.
const maxStdin = 32 << 20

// question makes the query of the arguments: all of them, or standard input
// when the only one is "-". What cannot be decoded in it names nothing.
func (p *program) question(args []string) (string, error) {
	query, err := p.words(args, "query")
	if bad, ok := errors.AsType[*memory.UndecodableError](err); ok {
		query, err = bad.Text, nil
	}
	return query, err
}

// words are the text of the arguments: all of them, or standard input in any
// encoding of Unicode when the only one is "-". what names it in errors, of which
// a [memory.UndecodableError] is one.
func (p *program) words(args []string, what string) (string, error) {
	text, from := strings.Join(args, " "), "the "+what
	raw := []byte(text)
	if len(args) == 1 && args[0] == "-" {
		from += " on standard input"
		var err error
		if raw, err = io.ReadAll(io.LimitReader(p.stdin, maxStdin+1)); err != nil {
			return "", failure(fmt.Errorf("read the %s from standard input: %w", what, err))
		}
		if len(raw) > maxStdin {
			return "", usagef("%s is longer than %d MiB", from, maxStdin>>20)
		}
	}
	text, err := memory.DecodeText(raw)
	if err != nil {
		return "", usage(fmt.Errorf("%s: %w", from, err))
	}
	if strings.TrimSpace(text) == "" {
		return "", usagef("the %s is empty", what)
	}
	return text, nil
}

// filterFlags narrow what is searched and how it is shown.
type filterFlags struct {
	roots         rootFlags
	scopes, types []string
	limit         int
	json          bool
	color         string
}

func (f *filterFlags) add(cmd *cobra.Command, limit, most int) {
	flags := cmd.Flags()
	f.roots.add(cmd)
	flags.StringSliceVar(&f.scopes, "scope", nil, "only memories of this `SCOPE`: project, user, team; may be repeated")
	flags.StringSliceVar(&f.types, "type", nil, "only memories of this `TYPE`: user, feedback, project, reference, any other, or untyped for those without one; may be repeated")
	flags.IntVar(&f.limit, "limit", limit, fmt.Sprintf("at most `N` memories, 1 to %d", most))
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	addColorFlag(cmd, &f.color)
	complete(cmd, "scope", string(memory.ScopeProject), string(memory.ScopeUser), string(memory.ScopeTeam))
	complete(cmd, "type", memory.TypeUser, memory.TypeFeedback, memory.TypeProject, memory.TypeReference, untyped)
}

// untyped stands for the type of a memory that has none.
const untyped = "untyped"

// query checks the flags and makes a query of them.
func (f *filterFlags) query(text string, most int) (recall.Query, error) {
	q := recall.Query{Text: text, Limit: f.limit, Types: f.types, Now: time.Now()}
	if f.limit < 1 || f.limit > most {
		return q, usagef("--limit %d is not within 1 to %d", f.limit, most)
	}
	if slices.Contains(f.types, untyped) {
		q.Types = append(slices.Clone(f.types), "")
	}
	for _, s := range f.scopes {
		if !memory.Scope(s).Valid() {
			return q, usagef("--scope %q is none of project, user, team", s)
		}
		q.Scopes = append(q.Scopes, memory.Scope(s))
	}
	return q, nil
}

// modelFlags name a language model.
type modelFlags struct {
	url, name, keyEnv string
	timeout           time.Duration
	embedding         embeddingFlags
}

// embeddingFlags name an embedding model.
type embeddingFlags struct{ name, url, keyEnv string }

func (f *embeddingFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "embedding-model", "", "find by meaning, too: `NAME` of an embedding model at --model-url or --embedding-url")
	flags.StringVar(&f.url, "embedding-url", "", "base `URL` of the embedding model's endpoint, when it is another")
	flags.StringVar(&f.keyEnv, "embedding-key-env", "", "environment `VARIABLE` that holds the key of --embedding-url")
}

func (f *modelFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.url, "model-url", "", "let a model choose: base `URL` of an OpenAI-compatible endpoint, as http://localhost:11434/v1")
	flags.StringVar(&f.name, "model", "", "`NAME` of the model at that endpoint")
	flags.StringVar(&f.keyEnv, "model-key-env", "", "environment `VARIABLE` that holds the endpoint's key")
	flags.DurationVar(&f.timeout, "model-timeout", recall.SelectorCeiling, "wait at most this `DURATION` for the model")
}

// config checks the flags; named is false when they name no model. A key never
// stands on the command line, where everybody can read it.
func (f *modelFlags) config() (cfg model.Config, named bool, err error) {
	e := &f.embedding
	switch {
	case f.url == "" && (f.name != "" || f.keyEnv != ""):
		return cfg, false, usage(errors.New("--model and --model-key-env need --model-url"))
	case e.name == "" && (e.url != "" || e.keyEnv != ""):
		return cfg, false, usage(errors.New("--embedding-url and --embedding-key-env need --embedding-model"))
	case e.name != "" && f.url == "" && e.url == "":
		return cfg, false, usage(errors.New("--embedding-model needs --embedding-url or --model-url"))
	case e.keyEnv != "" && e.url == "":
		return cfg, false, usage(errors.New("--embedding-key-env needs --embedding-url; that of --model-url is --model-key-env"))
	case f.url != "" && f.name == "" && e.name == "":
		return cfg, false, usage(errors.New("--model-url needs --model, or --embedding-model"))
	case f.url == "" || f.name == "":
		return cfg, false, nil
	}
	if f.timeout < time.Millisecond || f.timeout > recall.SelectorCeiling {
		return cfg, false, usagef("--model-timeout %s is not within 1ms to %s", f.timeout, recall.SelectorCeiling)
	}
	return model.Config{BaseURL: f.url, Name: f.name, Timeout: f.timeout}, true, nil
}

// client makes a client of the model, or nil when none is named. Nothing is
// sent.
func (f *modelFlags) client(opts ...model.Option) (recall.Model, error) {
	cfg, named, err := f.config()
	if err != nil || !named {
		return nil, err
	}
	if f.keyEnv != "" {
		if cfg.Key = os.Getenv(f.keyEnv); cfg.Key == "" {
			return nil, usagef("--model-key-env: the environment has no %s", f.keyEnv)
		}
	}
	c, err := model.New(cfg, opts...)
	if err != nil {
		return nil, modelError(err)
	}
	return c, nil
}

// modelSettings are the flags of a model's settings.
var modelSettings = map[model.Setting]string{
	model.SettingBaseURL: "model-url", model.SettingName: "model", model.SettingKey: "model-key-env", model.SettingTimeout: "model-timeout",
}

// modelError names the flag of the setting that is wrong.
func modelError(err error) error {
	var e *model.SettingError
	if errors.As(err, &e) && modelSettings[e.Setting] != "" {
		return usagef("--%s: %s", modelSettings[e.Setting], e.Problem)
	}
	return usage(err)
}

// embedder makes a client of the embedding model, or nil when none is named. Nothing
// is sent.
func (f *modelFlags) embedder(opts ...model.Option) (meaning.Embedder, error) {
	if _, _, err := f.config(); err != nil || f.embedding.name == "" {
		return nil, err
	}
	e, url, env, flag := &f.embedding, f.embedding.url, f.embedding.keyEnv, "embedding-key-env"
	if url == "" {
		url, env, flag = f.url, f.keyEnv, "model-key-env"
	}
	cfg := model.Config{BaseURL: url, EmbeddingName: e.name}
	if env != "" {
		if cfg.Key = os.Getenv(env); cfg.Key == "" {
			return nil, usagef("--%s: the environment has no %s", flag, env)
		}
	}
	m, err := model.NewEmbedder(cfg, opts...)
	if err != nil {
		return nil, f.embeddingError(err)
	}
	return m, nil
}

// embeddingError names the flag of the setting that is wrong.
func (f *modelFlags) embeddingError(err error) error {
	var s *model.SettingError
	switch {
	case !errors.As(err, &s):
	case s.Setting == model.SettingEmbedding:
		return usagef("--embedding-model: %s", s.Problem)
	case s.Setting == model.SettingBaseURL && f.embedding.url != "":
		return usagef("--embedding-url: %s", s.Problem)
	}
	return modelError(err)
}

// options are the flags as a server takes them, or nil when they name no model.
// The key may still come from the client.
func (f *modelFlags) options() (*lsp.ModelOptions, error) {
	cfg, named, err := f.config()
	if err != nil || !named && f.embedding.name == "" {
		return nil, err
	}
	o := &lsp.ModelOptions{
		BaseURL: f.url, Name: cfg.Name, APIKeyEnv: f.keyEnv, RequestTimeoutMs: int(f.timeout.Milliseconds()),
		EmbeddingName: f.embedding.name, EmbeddingBaseURL: f.embedding.url, EmbeddingAPIKeyEnv: f.embedding.keyEnv,
	}
	if named { // a wrong URL is better told now than at the first recall
		if err := cfg.Check(); err != nil {
			return nil, modelError(err)
		}
	}
	if o.EmbeddingName != "" {
		at := model.Config{BaseURL: o.BaseURL, EmbeddingName: o.EmbeddingName}
		if o.EmbeddingBaseURL != "" {
			at.BaseURL = o.EmbeddingBaseURL
		}
		if err := at.CheckEmbedding(); err != nil {
			return nil, f.embeddingError(err)
		}
	}
	return o, nil
}
