package lsp

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Method is one request or notification that the client may send, made by
// [NewCall], [NewOrderedCall] or [NewNotification]. The Go types of its params
// and result are part of it, so that the document of the protocol can be
// checked against them.
type Method struct {
	// Ordered requests run on the read loop: they see the effect of every
	// earlier message and finish, or call [Release], before the next message
	// is read. All others run on goroutines of their own.
	Ordered bool
	Params  reflect.Type
	Result  reflect.Type // nil for a notification

	name   string
	strict *bool // params must hold what the protocol requires
	call   func(ctx context.Context, params []byte) (any, error)
	notify func(params []byte) error
}

// NewCall makes a request that is handled concurrently with others. P must be
// a struct. fn's context ends when the client cancels the request (cause
// [ErrCancelled]) or the connection closes (cause [ErrShutdown]); fn returns
// the result, or an error: a [*ParamError], a [*Failure], the context's, or
// any other, which goes out as a failure of kind io.
func NewCall[P, R any](fn func(ctx context.Context, params *P) (R, error)) Method {
	strict := new(bool)
	return Method{
		Params: reflect.TypeFor[P](),
		Result: reflect.TypeFor[R](),
		strict: strict,
		call: func(ctx context.Context, raw []byte) (any, error) {
			params, err := decodeMessage[P](raw, *strict)
			if err != nil {
				return nil, err
			}
			return fn(ctx, params)
		},
	}
}

// decodeMessage decodes the params of a message, which with strict must hold
// every required field.
func decodeMessage[P any](raw []byte, strict bool) (*P, error) {
	params := new(P)
	if err := decodeParams(raw, params); err != nil {
		return nil, err
	}
	if !strict {
		return params, nil
	}
	return params, checkRequired(someParams(raw), reflect.TypeFor[P]())
}

// NewOrderedCall is [NewCall] for a request that runs on the read loop.
func NewOrderedCall[P, R any](fn func(ctx context.Context, params *P) (R, error)) Method {
	m := NewCall(fn)
	m.Ordered = true
	return m
}

// NewNotification makes a notification; fn runs on the read loop. Its error is
// logged, for nobody waits for an answer.
func NewNotification[P any](fn func(params *P) error) Method {
	strict := new(bool)
	return Method{
		Ordered: true,
		Params:  reflect.TypeFor[P](),
		strict:  strict,
		notify: func(raw []byte) error {
			params, err := decodeMessage[P](raw, *strict)
			if err != nil {
				return err
			}
			return fn(params)
		},
	}
}

// Outgoing is one notification that the server sends, made by [NewOutgoing]
// or [NewUnasked].
type Outgoing struct {
	Params reflect.Type
	// Unasked notifications answer nothing. Only a client that declares
	// capabilities.experimental.memory gets them, never before the handshake
	// is over, and one that still waits in the outbox is merged with the next.
	Unasked bool

	key   func(params any) string
	merge func(old, next any) any
}

// NewOutgoing makes a notification that is delivered as it is sent.
func NewOutgoing[P any]() Outgoing {
	return Outgoing{Params: reflect.TypeFor[*P]()}
}

// NewUnasked makes an unasked notification. key tells apart the ones that
// stand beside each other, such as the tasks of taskChanged; nil means that
// there is only one. merge returns what replaces old and next, and must leave
// both unchanged; nil keeps next.
func NewUnasked[P any](key func(params *P) string, merge func(old, next *P) *P) Outgoing {
	out := Outgoing{Params: reflect.TypeFor[*P](), Unasked: true}
	out.key = func(any) string { return "" }
	if key != nil {
		out.key = func(params any) string { return key(params.(*P)) } //nolint:errcheck // Inv: Notify is given the announced type; another is a fault to be seen
	}
	out.merge = func(_, next any) any { return next }
	if merge != nil {
		out.merge = func(old, next any) any { return merge(old.(*P), next.(*P)) } //nolint:errcheck // Inv: as above
	}
	return out
}

// Asked is one request that the server sends to the client.
type Asked struct {
	Params, Result reflect.Type
}

// NewAsked makes a request to the client.
func NewAsked[P, R any]() Asked {
	return Asked{Params: reflect.TypeFor[P](), Result: reflect.TypeFor[R]()}
}

// Direction is who sends a message of the [Table].
type Direction string

// The directions.
const (
	FromClient Direction = "client"
	FromServer Direction = "server"
)

// TableRow describes one message that is registered on a server.
type TableRow struct {
	Name    string
	From    Direction
	Ordered bool
	Unasked bool
	Params  reflect.Type
	Result  reflect.Type // nil for a notification
}

// Table lists every registered message, by name: what the protocol's document
// must describe.
func (s *Server) Table() []TableRow {
	var rows []TableRow
	for name, m := range s.methods {
		rows = append(rows, TableRow{Name: name, From: FromClient, Ordered: m.Ordered, Params: m.Params, Result: m.Result})
	}
	for name, o := range s.outgoing {
		rows = append(rows, TableRow{Name: name, From: FromServer, Unasked: o.Unasked, Params: o.Params.Elem()})
	}
	for name, a := range s.asked {
		rows = append(rows, TableRow{Name: name, From: FromServer, Params: a.Params, Result: a.Result})
	}
	slices.SortFunc(rows, func(a, b TableRow) int { return strings.Compare(a.Name, b.Name) })
	return rows
}

// Register adds a method that the client may call or notify. It must be
// called from [Options.Setup]; a name that is taken is an error.
func (s *Server) Register(name string, m Method) error {
	if err := s.adding(name); err != nil {
		return err
	}
	if _, taken := s.methods[name]; taken || name == methodCancel {
		return fmt.Errorf("method %s is registered already", name)
	}
	m.name = name
	// Other messages are LSP's, whose clients are served with whatever they send.
	*m.strict = strings.HasPrefix(name, memoryPrefix)
	s.methods[name] = &m
	return nil
}

// Announce adds a notification that [Server.Notify] may send. It must be
// called from [Options.Setup].
func (s *Server) Announce(name string, o Outgoing) error {
	if err := s.adding(name); err != nil {
		return err
	}
	if _, taken := s.outgoing[name]; taken {
		return fmt.Errorf("notification %s is announced already", name)
	}
	s.outgoing[name] = o
	return nil
}

// Expect adds a request that [Server.Request] may send to the client. It must
// be called from [Options.Setup].
func (s *Server) Expect(name string, a Asked) error {
	if err := s.adding(name); err != nil {
		return err
	}
	if _, taken := s.asked[name]; taken {
		return fmt.Errorf("request %s is expected already", name)
	}
	s.asked[name] = a
	return nil
}

func (s *Server) adding(name string) error {
	if s.open.Load() {
		return fmt.Errorf("%s comes too late: the connection has been opened", name)
	}
	return nil
}

// memoryNames returns the sorted names under memory/ for which keep holds.
func memoryNames[T any](table map[string]T, keep func(T) bool) []string {
	names := []string{}
	for name, v := range table {
		if strings.HasPrefix(name, memoryPrefix) && keep(v) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
