// Command pane is a chat pane in a terminal that shows which memories bear on
// each line that is typed: at once what the index knows, a moment later what a
// model makes of it. It is an example of a host with push delivery.
//
//	pane [-options JSON] [--] memls serve --stdio
//
// -options are the initializationOptions of docs/protocol.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"

	"go.lsp.dev/jsonrpc2"
)

func main() {
	options := flag.String("options", "{}", "initializationOptions, as `JSON`")
	flag.Parse()
	command := flag.Args()
	if len(command) == 0 {
		command = []string{"memls", "serve", "--stdio"}
	}
	if err := run(context.Background(), command, json.RawMessage(*options), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "pane:", err)
		os.Exit(1)
	}
}

// run shows the memories of every line of in, until that ends.
func run(ctx context.Context, command []string, options json.RawMessage, in io.Reader, out io.Writer) error {
	p := &pane{out: out, first: map[string]chan struct{}{}}
	stop, err := p.start(ctx, command, options)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	var waiting sync.WaitGroup
	for n := 1; lines.Scan(); n++ {
		token, query := fmt.Sprint(n), lines.Text()
		p.show("%s> %s\n", token, query)
		first := p.expect(token)
		waiting.Go(func() { p.ask(ctx, token, query) })
		// The next line need not wait for the model: its recall cancels this one.
		<-first
	}
	waiting.Wait()
	return errors.Join(lines.Err(), stop())
}

// pane is the screen and the connection to memls.
type pane struct {
	conn jsonrpc2.Conn

	mu    sync.Mutex
	out   io.Writer
	first map[string]chan struct{} // by token, closed when something has come of a recall
}

// expect returns what is closed when something has come of a recall.
func (p *pane) expect(token string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.first[token] = make(chan struct{})
	return p.first[token]
}

func (p *pane) came(token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if first := p.first[token]; first != nil {
		close(first)
		delete(p.first, token)
	}
}

// session is the one conversation of this pane. What it has been shown is not
// shown again.
const session = "pane"

func (p *pane) show(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, format, args...)
}

// result is what memory/recallFast and memory/recallRefined carry, as far as a
// pane shows it.
type result struct {
	Token     string `json:"token"`
	Phase     string `json:"phase"`
	Status    string `json:"status"`
	Documents []struct {
		Ref   string `json:"ref"`
		Title string `json:"title"`
		Body  string `json:"body"`
	} `json:"documents"`
	Retract  []string `json:"retract"`
	Degraded []struct {
		Reason string `json:"reason"`
		Detail string `json:"detail"`
	} `json:"degraded"`
}

// start starts memls. stop ends it as the protocol wants it.
func (p *pane) start(ctx context.Context, command []string, options json.RawMessage) (stop func() error, err error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	to, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start memls: %w", err)
	}
	p.conn = jsonrpc2.NewConn(jsonrpc2.NewStream(pipes{from, to}))
	// A handler must not keep the context that it is given: the library uses it
	// again for the next message.
	p.conn.Go(ctx, func(_ context.Context, req *jsonrpc2.Request) (any, error) { return p.handle(ctx, req) })
	stop = func() error {
		_, err := p.conn.Call(ctx, "shutdown", nil, nil)
		err = errors.Join(err, p.conn.Notify(ctx, "exit", nil))
		return errors.Join(err, cmd.Wait())
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	_, err = p.conn.Call(ctx, "initialize", map[string]any{
		"processId": os.Getpid(), "clientInfo": map[string]string{"name": "memls-pane"}, "capabilities": map[string]any{},
		"workspaceFolders":      []any{map[string]string{"uri": "file://" + dir, "name": "workspace"}},
		"initializationOptions": options,
	}, nil)
	if err == nil {
		err = p.conn.Notify(ctx, "initialized", map[string]any{})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("initialize: %w", err), stop())
	}
	return stop, nil
}

// pipes are both ends of memls.
type pipes struct {
	io.ReadCloser
	io.WriteCloser
}

// Close closes both.
func (p pipes) Close() error { return errors.Join(p.ReadCloser.Close(), p.WriteCloser.Close()) }

// handle takes what memls sends. ctx is the pane's. It runs on the read loop, so that results are
// shown in the order in which they come.
func (p *pane) handle(ctx context.Context, req *jsonrpc2.Request) (any, error) {
	if req.IsCall() {
		return nil, jsonrpc2.Errorf(jsonrpc2.MethodNotFound, "the pane answers nothing")
	}
	if m := req.Method(); m != "memory/recallFast" && m != "memory/recallRefined" {
		return nil, nil
	}
	var r result
	if err := json.Unmarshal(req.Params(), &r); err != nil {
		return nil, fmt.Errorf("%s: %w", req.Method(), err)
	}
	for _, d := range r.Documents {
		p.show("%s  + %s: %s\n", r.Token, d.Title, strings.ReplaceAll(d.Body, "\n", " "))
	}
	for _, ref := range r.Retract {
		p.show("%s  - %s\n", r.Token, ref)
	}
	for _, d := range r.Degraded {
		p.show("%s  ! %s: %s\n", r.Token, d.Reason, d.Detail)
	}
	p.came(r.Token)
	if len(r.Retract) > 0 {
		// What the pane has withdrawn may be shown again one day. The answer, an
		// empty object, is not waited for: this is the read loop.
		go func() {
			params := map[string]any{"session": session, "refs": r.Retract}
			if _, err := p.conn.Call(ctx, "memory/resetSession", params, nil); err != nil {
				p.show("%s  ! %v\n", r.Token, err)
			}
		}()
	}
	return nil, nil
}

// ask recalls for one line. Its results come as notifications before the answer.
func (p *pane) ask(ctx context.Context, token, query string) {
	defer p.came(token)
	var answer jsonrpc2.RawMessage
	_, err := p.conn.Call(ctx, "memory/recall", map[string]string{"session": session, "token": token, "query": query}, &answer)
	if err != nil {
		p.show("%s  ! %v\n", token, err)
		return
	}
	var ended struct{ Outcome, Reason string }
	if err := json.Unmarshal(answer, &ended); err != nil {
		p.show("%s  ! %v\n", token, err)
		return
	}
	p.show("%s  %s %s\n", token, ended.Outcome, ended.Reason)
}
