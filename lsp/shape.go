package lsp

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// This file looks at which fields an object has, where decoding looks at their
// values only: what the protocol calls required must be there, and what it does
// not know may be a slip of the pen.

// checkRequired answers a [*ParamError] for the first required field that params
// of type t lack: a field whose tag has no omitzero. What does not decode is left
// to the decoder, which says what is wrong.
func checkRequired(params []byte, t reflect.Type) error {
	var s shape
	s.look(params, t, "")
	if len(s.missing) > 0 {
		return InvalidParam(s.missing[0], "is required")
	}
	return nil
}

// unknownFields are the paths of fields that a value of type t does not have.
func unknownFields(value []byte, t reflect.Type) []string {
	var s shape
	s.all = true
	s.look(value, t, "")
	return s.unknown
}

// maxUnknown bounds the unknown fields that are named.
const maxUnknown = 20

type shape struct {
	missing, unknown []string
	all              bool // look for unknown fields, too
}

func (s *shape) look(raw jsontext.Value, t reflect.Type, path string) {
	raw = bytes.TrimSpace(raw)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[jsontext.Value](), !s.all && !demands(t, nil):
	case t.Kind() == reflect.Slice:
		var items []jsontext.Value
		if json.Unmarshal(raw, &items, lenient) != nil {
			return
		}
		for i, item := range items {
			s.look(item, t.Elem(), fmt.Sprintf("%s[%d]", path, i))
		}
	case t.Kind() == reflect.Struct:
		fields := map[string]jsontext.Value{}
		if len(raw) > 0 && !isNull(raw) && json.Unmarshal(raw, &fields, lenient) != nil {
			return
		}
		s.object(fields, t, path)
	}
}

func (s *shape) object(fields map[string]jsontext.Value, t reflect.Type, path string) {
	known := map[string]bool{}
	for i := range t.NumField() {
		name, required := fieldName(t.Field(i))
		known[name] = true
		at := name
		if path != "" {
			at = path + "." + name
		}
		value, there := fields[name]
		switch {
		case there && !isNull(value):
			s.look(value, t.Field(i).Type, at)
		case required:
			s.missing = append(s.missing, at)
		}
	}
	if !s.all {
		return
	}
	for name := range fields {
		if !known[name] && len(s.unknown) < maxUnknown {
			s.unknown = append(s.unknown, strings.TrimPrefix(path+"."+short(name), "."))
		}
	}
	slices.Sort(s.unknown)
}

// fieldName is the name of a field on the wire, and whether it is required in
// params.
func fieldName(f reflect.StructField) (name string, required bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name, !slices.Contains(strings.Split(options, ","), "omitzero")
}

// demands tells whether a value of type t has required fields anywhere. within
// are the types that it was found in.
func demands(t reflect.Type, within []reflect.Type) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || slices.Contains(within, t) {
		return false
	}
	within = append(within, t)
	for i := range t.NumField() {
		if _, required := fieldName(t.Field(i)); required || demands(t.Field(i).Type, within) {
			return true
		}
	}
	return false
}
