package lsp_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
	"github.com/memls/memls/recall/model/modeltest"
)

func TestSettingsDefaults(t *testing.T) {
	for _, options := range []string{``, `null`, `{}`, `[]`, `{"recall":[],"roots":null,"model":null,"unknown":1,"Trusted":true}`} {
		s := connect(t, lsp.Options{})
		params := `{}`
		if options != "" {
			params = `{"initializationOptions":` + options + `}`
		}
		s.call(t, "initialize", params, nil)
		want := lsp.Settings{
			Profile: "auto", Recall: true, WritePolicy: "review", BackgroundTokensPerDay: 200_000,
			Watcher: "auto", Worktrees: "isolate",
		}
		if got := s.server.Settings(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", options, got, want)
		}
	}
}

func TestSettingsAreRead(t *testing.T) {
	s := connect(t, lsp.Options{})
	s.call(t, "initialize", `{"initializationOptions":{
		"roots":[{"scope":"user","path":"/u"},{"scope":"team","path":"/t","readOnly":true}],
		"profile":"qwen","trusted":true,"recall":{"enabled":false},"extract":{"enabled":true},"dream":{"enabled":true},
		"writePolicy":"auto","backgroundTokensPerDay":0,"watcher":"poll","worktrees":"share","activity":true,"telemetry":true,
		"model":{"baseURL":"http://localhost:1/v1","name":"m","apiKeyEnv":"K","embeddingName":"e","requestTimeoutMs":900}}}`, nil)
	want := lsp.Settings{
		Roots:      []lsp.RootOption{{Scope: "user", Path: "/u"}, {Scope: "team", Path: "/t", ReadOnly: true}},
		RootsGiven: true, Profile: "qwen", Trusted: true, Extract: true, Dream: true, WritePolicy: "auto",
		Watcher: "poll", Worktrees: "share", Activity: true, Telemetry: true,
		Model: &lsp.ModelOptions{BaseURL: "http://localhost:1/v1", Name: "m", APIKeyEnv: "K", EmbeddingName: "e", RequestTimeoutMs: 900},
	}
	if got := s.server.Settings(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// PROTO-08: an error names the field that is wrong.
func TestPROTO_08_WrongSettingIsNamed(t *testing.T) {
	for options, field := range map[string]string{
		`5`:                        "",
		`"x"`:                      "",
		`[1]`:                      "",
		`{"trusted":"yes"}`:        ".trusted",
		`{"recall":true}`:          ".recall",
		`{"recall":{"enabled":1}}`: ".recall.enabled",
		`{"roots":"x"}`:            ".roots",
		`{"roots":[5]}`:            ".roots[0]",
		`{"roots":[{"scope":"user","path":"/a"},{"scope":"moon","path":"/b"}]}`: ".roots[1].scope",
		`{"roots":[{"scope":"user"}]}`:                                          ".roots[0].path",
		`{"profile":"x"}`:                                                       ".profile",
		`{"writePolicy":"never"}`:                                               ".writePolicy",
		`{"watcher":"magic"}`:                                                   ".watcher",
		`{"worktrees":"x"}`:                                                     ".worktrees",
		`{"backgroundTokensPerDay":-1}`:                                         ".backgroundTokensPerDay",
		`{"backgroundTokensPerDay":1.5}`:                                        ".backgroundTokensPerDay",
		`{"model":{"name":"m"}}`:                                                ".model.baseURL",
		`{"model":{"baseURL":"http://u"}}`:                                      ".model.name",
		`{"model":{"baseURL":"http://u","name":" "}}`:                           ".model.name",
		`{"model":{"baseURL":"http://u","name":"m","requestTimeoutMs":-1}}`:     ".model.requestTimeoutMs",
		`{"model":{"baseURL":"http://u","name":"m","requestTimeoutMs":"1s"}}`:   ".model.requestTimeoutMs",
		`{"model":{"baseURL":"http://u","name":"m","requestTimeoutMs":30001}}`:  ".model.requestTimeoutMs",
		`{"model":{"baseURL":"","name":"m"}}`:                                   ".model.baseURL",
		`{"model":{"baseURL":"localhost:11434/v1","name":"m"}}`:                 ".model.baseURL",
		`{"model":{"baseURL":"ftp://u","name":"m"}}`:                            ".model.baseURL",
		`{"model":{"baseURL":"http://me:secret@u","name":"m"}}`:                 ".model.baseURL",
	} {
		s := connect(t, lsp.Options{})
		err := s.client.Call(t.Context(), "initialize", `{"initializationOptions":`+options+`}`, nil)
		field = "initializationOptions" + field
		if code(err) != -32602 || data[lsp.ParamErrorData](t, err).Field != field || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v, want field %s", options, err, field)
		}
	}
}

func TestSettingsChange(t *testing.T) {
	var seen []lsp.Settings
	s := connect(t, lsp.Options{Setup: func(s *lsp.Server) error {
		s.OnSettings(func(_, now lsp.Settings) { seen = append(seen, now) })
		return nil
	}})
	s.handshake(t, `{"initializationOptions":{"profile":"qwen","recall":{"enabled":false},"trusted":true}}`)
	change := func(settings string) lsp.Settings {
		s.notify(t, "workspace/didChangeConfiguration", `{"settings":`+settings+`}`)
		s.alive(t)
		return s.server.Settings()
	}
	if now := change(`{"memls":{"profile":"claude"}}`); now.Profile != "claude" || now.Recall || !now.Trusted {
		t.Errorf("merged: %+v", now)
	}
	if now := change(`{"memls":{"recall":null,"profile":null},"other":{"profile":"plain"}}`); now.Profile != "auto" || !now.Recall || !now.Trusted {
		t.Errorf("restored: %+v", now)
	}
	hooks := len(seen)
	for _, nothing := range []string{`null`, `{}`, `[]`, `{"memls":[]}`, `{"memls":null}`, `{"other":1}`} {
		if now := change(nothing); now.Profile != "auto" || !now.Trusted {
			t.Errorf("%s: %+v", nothing, now)
		}
	}
	if hooks != 3 {
		t.Errorf("the hook had run %d times after three updates", hooks)
	}
	if now := change(`{"memls":{"profile":"plain","watcher":"magic"}}`); now.Profile != "auto" {
		t.Errorf("half of a wrong update was taken: %+v", now)
	}
	m, err := s.client.Await(t.Context(), 0, lsptest.Method("window/showMessage"))
	if err != nil || !strings.Contains(string(m.Params), "watcher") {
		t.Errorf("the person was not told: %s %v", m.Params, err)
	}
}

// A model that cannot be is not taken, the one in force stays, and the person is
// told.
func TestWrongModelLeavesTheOneInForce(t *testing.T) {
	s := newStore(t, gateways())
	stub := modeltest.New(t)
	stub.Otherwise(modeltest.Choose("Gateway rule 3"))
	d := sit(t, lsp.MemoryOptions{}, asking(s, stub)).settled()
	for _, model := range []string{`{"baseURL":"localhost:1/v1","name":"m"}`, `{"baseURL":"http://localhost:1/v1"}`, `{"baseURL":"http://localhost:1/v1","name":"m","requestTimeoutMs":99999}`} {
		seen := len(d.client.Log())
		d.configure(`{"model":` + model + `}`)
		m, err := d.client.Await(t.Context(), seen, lsptest.Method("window/showMessage"))
		if err != nil || !strings.Contains(string(m.Params), "setting model.") || !strings.Contains(string(m.Params), "the previous settings stay in force") {
			t.Errorf("%s: %s %v", model, m.Params, err)
		}
		if r := d.ask("gateway timeout"); r.refined.Strategy != "model" {
			t.Errorf("%s: %+v", model, r.refined)
		}
		d.call("memory/resetSession", lsp.ResetSessionParams{Session: "s", Reason: "reset"}, nil)
	}
}

func TestSettingsAreFetchedFromAClientThatKeepsThem(t *testing.T) {
	changed := make(chan lsp.Settings, 1)
	s := connect(t, lsp.Options{Setup: func(s *lsp.Server) error {
		s.OnSettings(func(_, now lsp.Settings) { changed <- now })
		return nil
	}})
	answers := []any{nil, []any{nil}, []any{}, errors.New("no"), []any{map[string]string{"profile": "plain"}}}
	asked := make(chan string, len(answers))
	s.client.Handle("workspace/configuration", func(params json.RawMessage) (any, error) {
		now := answers[0]
		answers = answers[1:]
		asked <- string(params)
		if err, ok := now.(error); ok {
			return nil, err
		}
		return now, nil
	})
	s.handshake(t, `{"capabilities":{"workspace":{"configuration":true}}}`)
	<-changed
	for range len(answers) {
		s.notify(t, "workspace/didChangeConfiguration", `{"settings":null}`)
		if got := <-asked; got != `{"items":[{"section":"memls"}]}` {
			t.Errorf("asked for %s", got)
		}
	}
	if now := <-changed; now.Profile != "plain" {
		t.Errorf("settings %+v", now)
	}
}
