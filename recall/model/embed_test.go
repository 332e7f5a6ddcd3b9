package model_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/recall/model"
	"github.com/memls/memls/recall/model/modeltest"
)

func embedder(t *testing.T, stub *modeltest.Server, name string) *model.Embedder {
	t.Helper()
	e, err := model.NewEmbedder(model.Config{BaseURL: stub.URL(), EmbeddingName: name, Key: "sesame-key"},
		model.WithPause(func(ctx context.Context, _ time.Duration) error { return ctx.Err() }), model.WithIdle(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// numbered is a vector that says which text it belongs to.
func numbered(text string) []float32 { return []float32{float32(len(text)), 1, 0.5} }

var threeTexts = []string{"a", "bb", "ccc"}

// The shapes in which endpoints answer, all of which mean the same.
func TestEmbeddingShapes(t *testing.T) {
	asBase64 := func(vs [][]float32) string {
		var data []any
		for i, v := range vs {
			var raw []byte
			for _, x := range v {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
			}
			data = append(data, map[string]any{"index": i, "embedding": base64.StdEncoding.EncodeToString(raw)})
		}
		out, _ := json.Marshal(map[string]any{"data": data})
		return string(out)
	}
	bare := func(format string) func([][]float32) string {
		return func(vs [][]float32) string {
			var items []string
			for _, v := range vs {
				raw, _ := json.Marshal(v)
				items = append(items, fmt.Sprintf(format, raw))
			}
			return `{"data":[` + strings.Join(items, ",") + `],"usage":{}}`
		}
	}
	for name, body := range map[string]func([][]float32) string{
		"in order":           func(vs [][]float32) string { return modeltest.EmbeddingList(vs, nil) },
		"in another order":   func(vs [][]float32) string { return modeltest.EmbeddingList(vs, []int{2, 0, 1}) },
		"in base64":          asBase64,
		"without numbers":    bare(`{"embedding":%s}`),
		"all numbered 0":     bare(`{"index":0,"embedding":%s}`),
		"one list in a list": bare(`{"embedding":[%s]}`),
		"ollama's own": func(vs [][]float32) string {
			raw, _ := json.Marshal(map[string]any{"embeddings": vs})
			return string(raw)
		},
		"with a null for error": func(vs [][]float32) string {
			return strings.Replace(modeltest.EmbeddingList(vs, nil), "{", `{"error":null,`, 1)
		},
	} {
		stub := modeltest.New(t)
		stub.Embeddings(modeltest.Reshaped(numbered, body))
		got, _, err := embedder(t, stub, "m").Embed(t.Context(), model.EmbedRequest{Texts: threeTexts})
		if err != nil || len(got) != 3 {
			t.Errorf("%s: %v %v", name, got, err)
			continue
		}
		for i, v := range got {
			if len(v) != 3 || v[0] != float32(i+1) || v[1] != 1 {
				t.Errorf("%s: vector %d is %v", name, i, v)
			}
		}
	}
}

// What no vectors can be taken from is an error that says why, and never a guess.
func TestEmbeddingFaults(t *testing.T) {
	items := func(data string) modeltest.Step { return modeltest.Status(200, `{"data":[`+data+`]}`) }
	ok := `{"index":0,"embedding":[1,2]},{"index":1,"embedding":[3,4]}`
	for name, tc := range map[string]struct {
		step   modeltest.Step
		kind   model.Kind
		detail string
	}{
		"too few":           {items(ok), model.Invalid, "2 vectors for 3 texts"},
		"too many":          {items(ok + `,{"index":2,"embedding":[5,6]},{"index":3,"embedding":[7,8]}`), model.Invalid, "4 vectors for 3 texts"},
		"none":              {items(""), model.Invalid, "0 vectors for 3 texts"},
		"another length":    {items(ok + `,{"index":2,"embedding":[5,6,7]}`), model.Invalid, "2 and 3 numbers"},
		"one number twice":  {items(ok + `,{"index":1,"embedding":[5,6]}`), model.Invalid, "several to one"},
		"a number too high": {items(ok + `,{"index":7,"embedding":[5,6]}`), model.Invalid, "belong to no text"},
		"NaN":               {items(ok + `,{"index":2,"embedding":[5,NaN]}`), model.Invalid, "NaN"},
		"infinite":          {items(ok + `,{"index":2,"embedding":[5,1e39]}`), model.Invalid, "no list of numbers"},
		"null in a vector":  {items(ok + `,{"index":2,"embedding":[5,null]}`), model.Invalid, "null"},
		"null for a vector": {items(ok + `,{"index":2,"embedding":null}`), model.Invalid, "there is none"},
		"zeros":             {items(ok + `,{"index":2,"embedding":[0,0]}`), model.Invalid, "0"},
		"empty":             {items(`{"embedding":[]},{"embedding":[]},{"embedding":[]}`), model.Invalid, "0 numbers"},
		"NaN in base64":     {items(ok + `,{"index":2,"embedding":"AADAfwAAwH8="}`), model.Invalid, "NaN"},
		"broken base64":     {items(ok + `,{"index":2,"embedding":"%%%"}`), model.Invalid, "no base64"},
		"of every word":     {items(ok + `,{"index":2,"embedding":[[1,2],[3,4]]}`), model.Invalid, "pooling"},
		"a page":            {modeltest.HTML(200), model.Invalid, "is the base URL right?"},
		"a chat completion": {modeltest.Say("hello"), model.Invalid, "0 vectors for 3 texts"},
		"no JSON":           {modeltest.Status(200, `{"data":[`), model.Invalid, "no list of embeddings"},
		"no such model":     {modeltest.Fail(404, "model not found"), model.Unavailable, "serves no embeddings"},
		"no key":            {modeltest.Fail(401, "bad key sesame-key"), model.Unavailable, "refuses the key"},
		"too much":          {modeltest.RetryAfter(429, "30"), model.Unavailable, "fewer requests"},
		"an error in a 200": {modeltest.Status(200, `{"error":{"message":"no model loaded"}}`), model.Unavailable, "no model loaded"},
		"hung up":           {modeltest.Reset(), model.Unavailable, ""},
		"stalls":            {modeltest.Stall(), model.Timeout, "stalled"},
		"elsewhere":         {modeltest.Redirect(307, "http://example.invalid/v1/embeddings"), model.Unavailable, "another server"},
	} {
		stub := modeltest.New(t)
		stub.Embeddings(tc.step)
		got, _, err := embedder(t, stub, "m").Embed(t.Context(), model.EmbedRequest{Texts: threeTexts, Purpose: "memories"})
		var failed *model.Error
		if !errors.As(err, &failed) || failed.Kind != tc.kind || !strings.Contains(failed.Detail, tc.detail) || got != nil {
			t.Errorf("%s: %v %v, want %v with %q", name, got, err, tc.kind, tc.detail)
			continue
		}
		if strings.Contains(fmt.Sprint(err, failed.Err), "sesame") {
			t.Errorf("%s: the key is shown: %v", name, err)
		}
	}
}

// A request that is turned away for a moment is sent again; how long to wait is known
// to whoever has to.
func TestEmbeddingPatience(t *testing.T) {
	stub := modeltest.New(t)
	stub.Embeddings(modeltest.Once(modeltest.RetryAfter(429, "0.01"), modeltest.Vectors(numbered)))
	if _, _, err := embedder(t, stub, "m").Embed(t.Context(), model.EmbedRequest{Texts: threeTexts}); err != nil || len(stub.Requests()) != 2 {
		t.Errorf("%v after %d requests", err, len(stub.Requests()))
	}
	stub.Embeddings(modeltest.RetryAfter(429, "7200"))
	_, _, err := embedder(t, stub, "m").Embed(t.Context(), model.EmbedRequest{Texts: threeTexts})
	var failed *model.Error
	if !errors.As(err, &failed) || failed.RetryAfter != 2*time.Hour || failed.Status != 429 {
		t.Errorf("%+v", failed)
	}
	stub.Embeddings(modeltest.Hang())
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, _, err := embedder(t, stub, "m").Embed(ctx, model.EmbedRequest{Texts: threeTexts}); !errors.As(err, &failed) || failed.Kind != model.Timeout {
		t.Errorf("%v", err)
	}
}

// Some models want to be told what is a question; nothing is sent that an endpoint
// need not know.
func TestEmbeddingRequests(t *testing.T) {
	for name, want := range map[string][2]string{
		"nomic-embed-text:latest": {"search_query: a", "search_document: a"}, "intfloat/multilingual-e5-small": {"query: a", "passage: a"},
		"bge-m3": {"a", "a"}, "text-embedding-3-small": {"a", "a"}, "mxbai-embed-large": {"Represent this sentence for searching relevant passages: a", "a"},
	} {
		stub := modeltest.New(t)
		e := embedder(t, stub, name)
		for i, query := range []bool{true, false} {
			if _, _, err := e.Embed(t.Context(), model.EmbedRequest{Texts: []string{"a"}, Query: query}); err != nil {
				t.Fatal(err)
			}
			r := stub.Requests()[i]
			if len(r.Embedding.Input) != 1 || r.Embedding.Input[0] != want[i] || r.Embedding.Model != name || r.Path != "/v1/embeddings" {
				t.Errorf("%s: %s %+v", name, r.Path, r.Embedding)
			}
			var members map[string]any
			if err := json.Unmarshal(r.Body, &members); err != nil || len(members) != 2 {
				t.Errorf("%s: %s", name, r.Body)
			}
		}
	}
}

func TestEmbeddingSettings(t *testing.T) {
	for _, tc := range []struct {
		cfg     model.Config
		setting model.Setting
	}{
		{model.Config{BaseURL: "http://localhost/v1"}, model.SettingEmbedding},
		{model.Config{EmbeddingName: "m"}, model.SettingBaseURL},
		{model.Config{BaseURL: "http://a:b@localhost/v1", EmbeddingName: "m"}, model.SettingBaseURL},
	} {
		_, err := model.NewEmbedder(tc.cfg)
		var setting *model.SettingError
		if !errors.As(err, &setting) || setting.Setting != tc.setting {
			t.Errorf("%+v: %v", tc.cfg, err)
		}
	}
	for url, local := range map[string]bool{
		"http://localhost:11434/v1": true, "http://127.0.0.1:1234/v1": true, "http://[::1]/v1": true,
		"http://192.168.1.4/v1": false, "https://api.example.com/v1/embeddings": false, "http://localhost.example.com/v1": false,
	} {
		e, err := model.NewEmbedder(model.Config{BaseURL: url, EmbeddingName: "m"})
		if err != nil || e.Local() != local || strings.Contains(e.ID(), "/embeddings") {
			t.Errorf("%s: %v %v", url, e, err)
		}
	}
}
