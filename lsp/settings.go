package lsp

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	methodDidChangeConfiguration = "workspace/didChangeConfiguration"

	// settingsSection is the name of our settings in a client's configuration.
	settingsSection = "memls"

	// defaultBackgroundTokens is the contract's daily budget of extract,
	// dream and embeddings.
	defaultBackgroundTokens = 200_000

	// configurationTimeout bounds the wait for a client's configuration.
	configurationTimeout = 30 * time.Second
)

// Settings are the options in force, with every default filled in.
type Settings struct {
	Roots                  []RootOption
	RootsGiven             bool   // roots was set, perhaps to none: no discovery
	Profile                string // auto, qwen, claude, plain
	Trusted                bool
	Recall, Extract, Dream bool          // enabled
	WritePolicy            string        // off, review, auto
	Model                  *ModelOptions // nil without a model
	BackgroundTokensPerDay int
	Watcher                string // auto, poll
	Worktrees              string // isolate, share
	Activity, Telemetry    bool
}

// Settings checks the options and fills in the defaults. The error is a
// [*ParamError] that names the field.
func (o InitializationOptions) Settings() (Settings, error) {
	s := Settings{
		Roots: o.Roots, RootsGiven: o.Roots != nil,
		Profile: either(o.Profile, "auto"), Trusted: o.Trusted,
		Recall: on(o.Recall, true), Extract: on(o.Extract, false), Dream: on(o.Dream, false),
		WritePolicy: either(o.WritePolicy, "review"), Model: o.Model,
		BackgroundTokensPerDay: defaultBackgroundTokens,
		Watcher:                either(o.Watcher, "auto"), Worktrees: either(o.Worktrees, "isolate"),
		Activity: o.Activity, Telemetry: o.Telemetry,
	}
	if o.BackgroundTokensPerDay != nil {
		s.BackgroundTokensPerDay = *o.BackgroundTokensPerDay
	}
	return s, s.check()
}

func (s Settings) check() error {
	for _, enum := range []struct {
		field, value string
		allowed      []string
	}{
		{"profile", s.Profile, []string{"auto", "qwen", "claude", "plain"}},
		{"writePolicy", s.WritePolicy, []string{"off", "review", "auto"}},
		{"watcher", s.Watcher, []string{"auto", "poll"}},
		{"worktrees", s.Worktrees, []string{"isolate", "share"}},
	} {
		if err := oneOf(enum.field, enum.value, enum.allowed...); err != nil {
			return err
		}
	}
	for i, root := range s.Roots {
		field := fmt.Sprintf("roots[%d]", i)
		if err := oneOf(field+".scope", root.Scope, "project", "user", "team"); err != nil {
			return err
		}
		if root.Path == "" {
			return InvalidParam(field+".path", "must not be empty")
		}
	}
	if s.BackgroundTokensPerDay < 0 {
		return InvalidParam("backgroundTokensPerDay", "must not be negative")
	}
	return checkModel(s.Model)
}

func oneOf(field, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return InvalidParam(field, "%q is not one of %s", short(value), strings.Join(allowed, ", "))
}

func either(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

func on(s SwitchOption, otherwise bool) bool {
	if s.Enabled == nil {
		return otherwise
	}
	return *s.Enabled
}

// rawSettings are options as they were sent, by top-level key: the unit in
// which updates are merged.
type rawSettings map[string]jsontext.Value

// merge returns the settings after an update in which null restores a default.
// The receiver is left as it is.
func (r rawSettings) merge(update []byte) (rawSettings, Settings, error) {
	var change rawSettings
	if err := decodeParams(update, &change); err != nil {
		return nil, Settings{}, err
	}
	merged := maps.Clone(r)
	if merged == nil {
		merged = rawSettings{}
	}
	for key, value := range change {
		if isNull(value) {
			delete(merged, key)
		} else {
			merged[key] = value
		}
	}
	all, err := encode(map[string]jsontext.Value(merged))
	if err != nil {
		return nil, Settings{}, err
	}
	var options InitializationOptions
	if err := decodeParams(all, &options); err != nil {
		return nil, Settings{}, err
	}
	if err := checkRequired(all, reflect.TypeOf(options)); err != nil {
		return nil, Settings{}, err
	}
	settings, err := options.Settings()
	return merged, settings, err
}

func isNull(v jsontext.Value) bool {
	v = bytes.TrimSpace(v)
	return len(v) == 0 || string(v) == "null"
}

// applySettings merges an update and tells the hooks.
func (s *Server) applySettings(update []byte) error {
	s.settingsMu.Lock()
	defer s.settingsMu.Unlock()
	raw, settings, err := s.rawSettings.merge(update)
	if err != nil {
		return err
	}
	for _, check := range s.checkSettings {
		if err := check(settings); err != nil {
			return err
		}
	}
	if unknown := unknownFields(update, reflect.TypeFor[InitializationOptions]()); len(unknown) > 0 {
		s.log.Warn("settings that are not known are ignored", "keys", unknown)
	}
	old := s.Settings()
	s.rawSettings = raw
	s.settings.Store(&settings)
	for _, hook := range s.onSettings {
		hook(old, settings)
	}
	return nil
}

type didChangeConfigurationParams struct {
	Settings jsontext.Value `json:"settings"`
}

type configurationParams struct {
	Items []configurationItem `json:"items"`
}

type configurationItem struct {
	Section string `json:"section"`
}

type showMessageParams struct {
	Type    int    `json:"type"` // LSP's: 1 error, 2 warning, 3 information, 4 log
	Message string `json:"message"`
}

// didChangeConfiguration takes settings that were pushed, or fetches them from
// a client that only says that something has changed.
func (s *Server) didChangeConfiguration(p *didChangeConfigurationParams) error {
	var sections struct {
		Memls jsontext.Value `json:"memls"`
	}
	if !isNull(p.Settings) {
		if err := decodeParams(p.Settings, &sections); err != nil {
			return s.badSettings(err)
		}
	}
	if sections.Memls != nil {
		return s.badSettings(s.applySettings(sections.Memls))
	}
	if s.Client().Configuration {
		s.Go(s.fetchConfiguration)
	}
	return nil
}

func (s *Server) fetchConfiguration(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, configurationTimeout)
	defer cancel()
	var answer []jsontext.Value
	params := configurationParams{Items: []configurationItem{{Section: settingsSection}}}
	if err := s.Request(ctx, askConfiguration, &params, &answer); err != nil {
		s.log.Warn("settings not fetched", "err", err)
		return
	}
	if len(answer) == 0 || isNull(answer[0]) {
		return // no settings
	}
	if err := s.badSettings(s.applySettings(answer[0])); err != nil {
		s.log.Warn("settings", "err", err)
	}
}

// badSettings shows a fault in the settings to the person, for a notification
// has no answer in which it could stand. It returns err.
func (s *Server) badSettings(err error) error {
	if err == nil {
		return nil
	}
	msg := showMessageParams{Type: 2, Message: "memls: setting " + err.Error() + "; the previous settings stay in force"}
	if nerr := s.Notify(notifyShowMessage, &msg); nerr != nil {
		s.log.Debug("message not shown", "err", nerr)
	}
	return err
}
