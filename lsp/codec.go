package lsp

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
)

// wholeParams names the params object itself where a field is asked for.
const wholeParams = "params"

// codec encodes and decodes payloads for jsonrpc2. Encoding is the protocol
// package's, which knows the standard LSP unions; decoding is lenient in the
// ways that real clients need.
type codec struct{}

// Marshal implements [jsonrpc2.Codec].
func (codec) Marshal(v any) ([]byte, error) {
	if raw, ok := v.(jsonrpc2.RawMessage); ok {
		return raw, nil
	}
	return encode(v)
}

// Unmarshal implements [jsonrpc2.Codec]. It decodes what the client answered
// to a request of ours.
func (codec) Unmarshal(data []byte, v any) error {
	if raw, ok := v.(*jsonrpc2.RawMessage); ok {
		*raw = append(jsonrpc2.RawMessage(nil), data...)
		return nil
	}
	return json.Unmarshal(data, v, lenient)
}

// encode renders v as the wire wants it: nil slices are [], strings that are
// not valid UTF-8 are repaired instead of refused.
func encode(v any) (jsonrpc2.RawMessage, error) {
	b, err := protocol.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return b, nil
}

// wireJSON are the liberties of LSP JSON: the last of two equal keys wins and
// lone surrogates become U+FFFD.
var wireJSON = json.JoinOptions(
	jsontext.AllowDuplicateNames(true),
	jsontext.AllowInvalidUTF8(true),
)

// lenient also accepts what languages with one table type send for nothing:
// an empty array where an object is wanted, and the reverse.
var lenient = json.JoinOptions(wireJSON, json.WithUnmarshalers(json.UnmarshalFromFunc(emptyTable)))

func emptyTable(dec *jsontext.Decoder, v any) error {
	var open, end jsontext.Kind
	switch reflect.TypeOf(v).Elem().Kind() {
	case reflect.Struct, reflect.Map:
		open, end = '[', ']'
	case reflect.Slice:
		open, end = '{', '}'
	default:
		return errors.ErrUnsupported
	}
	// Raw values are byte slices, and keep whatever was sent.
	if _, raw := v.(*jsontext.Value); raw || dec.PeekKind() != open {
		return errors.ErrUnsupported
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	if dec.PeekKind() != end {
		return &json.SemanticError{JSONKind: open, GoType: reflect.TypeOf(v).Elem()}
	}
	_, err := dec.ReadToken()
	return err
}

// someParams are params, without what stands for none: some JSON-RPC libraries
// send [null] when a caller passes nothing.
func someParams(params []byte) []byte {
	inner, open := bytes.CutPrefix(bytes.TrimSpace(params), []byte("["))
	inner, closed := bytes.CutSuffix(inner, []byte("]"))
	if open && closed && isNull(bytes.TrimSpace(inner)) {
		return nil
	}
	return params
}

// decodeParams decodes params into the struct that v points to. Absent, null,
// [] and [null] mean {}. The error is a [*ParamError] that names the field.
//
// Inv: nothing in v refers to params afterwards, which borrows a frame.
func decodeParams(params []byte, v any) error {
	params = someParams(params)
	if len(params) == 0 {
		return nil
	}
	err := json.Unmarshal(params, v, lenient)
	if err == nil {
		return nil
	}
	var (
		semantic  *json.SemanticError
		syntactic *jsontext.SyntacticError
	)
	switch {
	case errors.As(err, &semantic):
		return InvalidParam(fieldPath(semantic.JSONPointer), "%s", mismatch(semantic))
	case errors.As(err, &syntactic):
		return InvalidParam(fieldPath(syntactic.JSONPointer), "malformed JSON")
	default:
		return InvalidParam(wholeParams, "%v", err)
	}
}

// fieldPath turns a JSON pointer, "/roots/1/scope", into "roots[1].scope".
func fieldPath(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "" && b.Len() > 0:
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	if b.Len() == 0 {
		return wholeParams
	}
	return b.String()
}

// mismatch says what was expected and what came, without Go's type names.
func mismatch(e *json.SemanticError) string {
	want := "another value"
	if e.GoType != nil {
		want = jsonName(e.GoType)
	}
	got := map[jsontext.Kind]string{
		'n': "null", 't': "a boolean", 'f': "a boolean", '"': "a string",
		'0': "a number", '{': "an object", '[': "an array",
	}[e.JSONKind]
	switch {
	case got == "":
		return "expected " + want
	case got == want || e.JSONKind == '0' && e.Err != nil:
		return fmt.Sprintf("expected %s, got %s", want, e.JSONValue)
	default:
		return fmt.Sprintf("expected %s, got %s", want, got)
	}
}

func jsonName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonName(t.Elem())
	case reflect.Bool:
		return "a boolean"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number from 0"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	default:
		return "an object"
	}
}
