package lsp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
)

// Error codes on the wire. The first group is JSON-RPC's, the second LSP's.
const (
	codeParseError     = jsonrpc2.ParseError           // -32700
	codeInvalidRequest = jsonrpc2.InvalidRequest       // -32600
	codeMethodNotFound = jsonrpc2.MethodNotFound       // -32601
	codeInvalidParams  = jsonrpc2.InvalidParams        // -32602
	codeInternalError  = jsonrpc2.InternalError        // -32603
	codeNotInitialized = jsonrpc2.ServerNotInitialized // -32002

	codeRequestCancelled = jsonrpc2.Code(protocol.LSPErrorCodesRequestCancelled) // -32800
	codeRequestFailed    = jsonrpc2.Code(protocol.LSPErrorCodesRequestFailed)    // -32803
)

// ErrCancelled is the cause of a request context that the client ended with
// $/cancelRequest; see [context.Cause].
var ErrCancelled = errors.New("the client cancelled the request")

// ErrShutdown is the cause of a request context that ended because the
// connection is being closed.
var ErrShutdown = errors.New("the server is shutting down")

// Kind says, for a client's program, why an operation was refused or failed.
// The values are fixed by the wire contract.
type Kind string

// The kinds of [Failure].
const (
	KindNotFound         Kind = "not_found"
	KindConflict         Kind = "conflict"
	KindStalePlan        Kind = "stale_plan"
	KindLocked           Kind = "locked"
	KindReadOnly         Kind = "read_only"
	KindUntrusted        Kind = "untrusted"
	KindDisabled         Kind = "disabled"
	KindPathEscape       Kind = "path_escape"
	KindTooLarge         Kind = "too_large"
	KindSecretFound      Kind = "secret_found"
	KindModelUnavailable Kind = "model_unavailable"
	KindModelInvalid     Kind = "model_invalid"
	KindBudgetExhausted  Kind = "budget_exhausted"
	KindIO               Kind = "io"
)

// Failure is an operation that was understood and then refused or failed. It
// goes out as -32803 with data {kind, detail, refs}.
type Failure struct {
	Kind   Kind
	Detail string   // one sentence for a person; never a secret
	Refs   []string // the memories concerned, if any
	Err    error    // what lies behind it, for the log only
}

// Fail returns a [Failure] with a formatted detail. An argument that is
// formatted with %w becomes the wrapped error.
func Fail(kind Kind, format string, args ...any) *Failure {
	err := fmt.Errorf(format, args...)
	return &Failure{Kind: kind, Detail: err.Error(), Err: errors.Unwrap(err)}
}

// Error implements error.
func (f *Failure) Error() string { return string(f.Kind) + ": " + f.Detail }

// Unwrap gives access to the error behind the failure.
func (f *Failure) Unwrap() error { return f.Err }

// ParamError is a malformed parameter. It goes out as -32602 with data {field}.
type ParamError struct {
	Field   string // dotted path inside params, such as "roots[1].scope"
	Problem string
}

// InvalidParam returns a [ParamError] for field with a formatted problem.
func InvalidParam(field, format string, args ...any) *ParamError {
	return &ParamError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// Error implements error.
func (e *ParamError) Error() string { return e.Field + ": " + e.Problem }

// within puts the field below a parent object.
func (e *ParamError) within(parent string) *ParamError {
	if e.Field == wholeParams {
		return &ParamError{Field: parent, Problem: e.Problem}
	}
	return &ParamError{Field: parent + "." + e.Field, Problem: e.Problem}
}

// ClientError is what the client answered to a request of ours that it refused.
type ClientError struct {
	Method  string
	Code    int // as the client sent it, for instance -32601
	Message string
}

// Error implements error.
func (e *ClientError) Error() string {
	return fmt.Sprintf("%s: the client answered %d: %s", e.Method, e.Code, e.Message)
}

// short makes an owned copy of a name that came from the wire, cut to a length
// that fits a message.
func short(name string) string {
	const most = 100
	if len(name) > most {
		return strings.ToValidUTF8(name[:most], "") + "…"
	}
	return strings.Clone(name)
}

// wireError gives err the code and data that the contract states for it.
// ctx is the request's own context and decides whether a cancellation was the
// client's: -32800 answers only $/cancelRequest and shutdown.
func wireError(ctx context.Context, method string, err error) *jsonrpc2.Error {
	var (
		coded   *jsonrpc2.Error
		param   *ParamError
		failure *Failure
	)
	switch {
	case errors.As(err, &coded):
		return coded
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, ErrCancelled) || errors.Is(err, ErrShutdown)):
		return jsonrpc2.Errorf(codeRequestCancelled, "%s: %v", method, context.Cause(ctx))
	case errors.As(err, &param):
		return withData(codeInvalidParams, method, err, ParamErrorData{Field: param.Field})
	case errors.As(err, &failure):
		return withData(codeRequestFailed, method, err,
			FailureData{Kind: failure.Kind, Detail: failure.Detail, Refs: failure.Refs})
	default:
		return withData(codeRequestFailed, method, err, FailureData{Kind: KindIO, Detail: err.Error()})
	}
}

func withData(code jsonrpc2.Code, method string, err error, data any) *jsonrpc2.Error {
	e := jsonrpc2.Errorf(code, "%s: %v", method, err)
	raw, merr := encode(data)
	if merr != nil { // plain strings only: cannot fail
		return e
	}
	e.Data = raw
	return e
}
