package lsp

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	methodExecuteCommand = "workspace/executeCommand"
	memoryPrefix         = "memory/"
	commandPrefix        = "memory."
)

// executeCommandParams are LSP's ExecuteCommandParams.
type executeCommandParams struct {
	Command   string           `json:"command"`
	Arguments []jsontext.Value `json:"arguments"`
}

// command turns workspace/executeCommand memory.<x> into the request
// memory/<x> with its single argument, so that a client without custom
// requests can use everything. The request keeps its own order and errors.
func (s *Server) command(raw []byte) (*Method, []byte, error) {
	var p executeCommandParams
	if err := decodeParams(raw, &p); err != nil {
		return nil, nil, err
	}
	name, ok := strings.CutPrefix(p.Command, commandPrefix)
	m := s.methods[memoryPrefix+name]
	if !ok || m == nil || m.call == nil {
		return nil, nil, InvalidParam("command", "unknown command %q", short(p.Command))
	}
	switch len(p.Arguments) {
	case 0:
		return m, nil, nil
	case 1:
		return m, p.Arguments[0], nil
	default:
		return nil, nil, InvalidParam("arguments", "%s takes one object, got %d arguments", p.Command, len(p.Arguments))
	}
}

// commands are the commands that the server advertises.
func (s *Server) commands() []string {
	names := memoryNames(s.methods, func(m *Method) bool { return m.call != nil })
	for i, name := range names {
		names[i] = commandPrefix + strings.TrimPrefix(name, memoryPrefix)
	}
	return names
}
