package lsp_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/lsp"
)

// wireTypes are the types of the contract; those of registered methods come
// from the table of a server.
func wireTypes(t *testing.T) []reflect.Type {
	s := connect(t, lsp.Options{})
	s.handshake(t, `{}`)
	types := []reflect.Type{
		reflect.TypeFor[lsp.InitializationOptions](), reflect.TypeFor[lsp.MemoryCapability](),
		reflect.TypeFor[lsp.RecallParams](), reflect.TypeFor[lsp.RecallResponse](), reflect.TypeFor[lsp.RecallResult](),
		reflect.TypeFor[lsp.ConsumeParams](), reflect.TypeFor[lsp.FinishParams](), reflect.TypeFor[lsp.FinishResult](),
		reflect.TypeFor[lsp.ToolUsedParams](), reflect.TypeFor[lsp.ResetSessionParams](), reflect.TypeFor[lsp.ResetSessionResult](),
		reflect.TypeFor[lsp.SearchParams](), reflect.TypeFor[lsp.SearchResult](),
		reflect.TypeFor[lsp.ListParams](), reflect.TypeFor[lsp.ListResult](),
		reflect.TypeFor[lsp.GetParams](), reflect.TypeFor[lsp.GetResult](),
		reflect.TypeFor[lsp.StatusParams](), reflect.TypeFor[lsp.StatusResult](),
		reflect.TypeFor[lsp.ChangedParams](), reflect.TypeFor[lsp.StatusChangedParams](),
		reflect.TypeFor[lsp.SecretParams](), reflect.TypeFor[lsp.SecretResult](),
		reflect.TypeFor[lsp.ParamErrorData](), reflect.TypeFor[lsp.FailureData](),
	}
	for _, row := range s.server.Table() {
		types = append(types, row.Params)
		if row.Result != nil {
			types = append(types, row.Result)
		}
	}
	return types
}

// A struct of the protocol package that is embedded, or held as a field, would
// bring a codec of its own; a duration or a map would not survive the wire.
func TestWireTypesArePlain(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var check func(path string, typ reflect.Type)
	check = func(path string, typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		// Texts by id are an object everywhere.
		if typ.Kind() == reflect.Map && typ != reflect.TypeFor[map[string]string]() || typ == reflect.TypeFor[time.Duration]() {
			t.Errorf("%s is a %v", path, typ)
		}
		if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[time.Time]() || seen[typ] {
			return
		}
		seen[typ] = true
		// The answer to initialize is LSP's own and complete in itself.
		if strings.HasPrefix(typ.PkgPath(), "go.lsp.dev/") {
			if typ.Name() != "InitializeResult" {
				t.Errorf("%s is a %v", path, typ)
			}
			return
		}
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous:
				t.Errorf("%s.%s is embedded", path, f.Name)
			case !f.IsExported():
				t.Errorf("%s.%s is not exported", path, f.Name)
			case name == "" || strings.ToLower(name[:1]) != name[:1]:
				t.Errorf("%s.%s has the wire name %q", path, f.Name, name)
			case strings.Contains(f.Tag.Get("json"), "omitempty"):
				t.Errorf("%s.%s: omitempty keeps 0 and false; say omitzero", path, f.Name)
			}
			check(path+"."+f.Name, f.Type)
		}
	}
	for _, typ := range wireTypes(t) {
		check(typ.String(), typ)
	}
}

func TestTableDescribesEveryMessage(t *testing.T) {
	s := connect(t, lsp.Options{})
	s.handshake(t, `{}`)
	rows := map[string]lsp.TableRow{}
	for _, row := range s.server.Table() {
		rows[row.Name] = row
	}
	for name, want := range map[string]lsp.TableRow{
		"memory/echo":          {From: lsp.FromClient, Params: reflect.TypeFor[text](), Result: reflect.TypeFor[text]()},
		"memory/get":           {From: lsp.FromClient, Ordered: true, Params: reflect.TypeFor[none](), Result: reflect.TypeFor[number]()},
		"memory/noted":         {From: lsp.FromClient, Ordered: true, Params: reflect.TypeFor[none]()},
		"memory/changed":       {From: lsp.FromServer, Unasked: true, Params: reflect.TypeFor[lsp.ChangedParams]()},
		"memory/recallRefined": {From: lsp.FromServer, Params: reflect.TypeFor[lsp.RecallResult]()},
		"memory/secret":        {From: lsp.FromServer, Params: reflect.TypeFor[lsp.SecretParams](), Result: reflect.TypeFor[lsp.SecretResult]()},
	} {
		want.Name = name
		if rows[name] != want {
			t.Errorf("%s: %+v, want %+v", name, rows[name], want)
		}
	}
}
