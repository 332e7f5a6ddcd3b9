package lsp_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/memls/memls/lsp"
)

// zeroOf is a value of type t that decodes, with its required fields.
func zeroOf(t reflect.Type) any {
	switch t.Kind() {
	case reflect.Pointer:
		return zeroOf(t.Elem())
	case reflect.Slice:
		return []any{zeroOf(t.Elem())}
	case reflect.Struct:
		o := map[string]any{}
		for _, f := range requiredOf(t) {
			o[f.name] = zeroOf(f.typ)
		}
		return o
	}
	return reflect.Zero(t).Interface()
}

type requiredField struct {
	name string
	typ  reflect.Type
}

func requiredOf(t reflect.Type) (fields []requiredField) {
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if !strings.Contains(options, "omitzero") {
			fields = append(fields, requiredField{name, t.Field(i).Type})
		}
	}
	return fields
}

// PROTO-08: of every request, each field that the protocol calls required must
// be there; the answer names the one that is missing.
func TestPROTO_08_RequiredFieldsAreRequired(t *testing.T) {
	d := sit(t, lsp.MemoryOptions{}, serving(newStore(t, gateways()))).settled()
	checked := 0
	for _, row := range memoryTable(t) {
		if row.From != lsp.FromClient || row.Result == nil {
			continue
		}
		for _, missing := range requiredOf(row.Params) {
			for _, null := range []bool{false, true} {
				params, ok := zeroOf(row.Params).(map[string]any)
				if !ok {
					t.Fatalf("the params of %s are no object", row.Name)
				}
				if delete(params, missing.name); null {
					params[missing.name] = nil
				}
				raw, err := json.Marshal(params)
				if err != nil {
					t.Fatal(err)
				}
				err = d.refused(row.Name, string(raw))
				if code(err) != -32602 || data[lsp.ParamErrorData](t, err).Field != missing.name || !strings.Contains(err.Error(), "is required") {
					t.Errorf("%s %s: %v, want field %s", row.Name, raw, err, missing.name)
				}
				checked++
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d fields were checked", checked)
	}
}

// logged keeps what is written to it.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Keys of settings that are not known are ignored, and named in the log.
func TestUnknownSettingsAreNamed(t *testing.T) {
	log := &logged{}
	s := connect(t, lsp.Options{Log: slog.New(slog.NewTextHandler(log, nil))})
	s.handshake(t, `{"initializationOptions":{"root":"/a","profile":"qwen","roots":[{"scope":"user","path":"/u","readonly":true}],"recall":{"on":true}}}`)
	if got := s.server.Settings(); got.Profile != "qwen" || len(got.Roots) != 1 {
		t.Errorf("settings %+v", got)
	}
	s.notify(t, "workspace/didChangeConfiguration", `{"settings":{"memls":{"profil":"plain"}}}`)
	s.alive(t)
	for _, keys := range []string{`keys="[recall.on root roots[0].readonly]"`, `keys=[profil]`} {
		if n := strings.Count(log.String(), keys); n != 1 {
			t.Errorf("%s stands %d times in the log:\n%s", keys, n, log)
		}
	}
}
