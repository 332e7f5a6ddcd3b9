package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/memory"
)

const serveName = "serve"

type serveFlags struct {
	activity bool
	roots    rootFlags
	poll     bool
	model    modelFlags
}

func (p *program) serveCommand() *cobra.Command {
	var f serveFlags
	var stdio bool
	var parent int
	cmd := &cobra.Command{
		Use:   serveName + " [--stdio]",
		Short: "Serve an editor or an agent over standard input and output",
		Long: `serve speaks the Language Server Protocol and memls's own methods
(docs/protocol.md) with one client over standard input and output, until the
client leaves, a signal comes, or the process that started it has gone.

Roots and a model that the client names in initializationOptions go before those
of the flags; without either, the memories of the workspace folders are found
where agents and people keep them. When there are none, nothing is recalled; the
built-in sample memory is not served. Nothing but the protocol is written to
standard output; the log goes to standard error.
` + exitHelp,
		Example: `  memls serve --stdio
  memls serve --stdio --root project=.memory --root user=$HOME/notes
  memls serve --stdio --log /tmp/memls.log --log-level debug`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return worked(p.serve(cmd.Context(), &f))
		},
	}
	addRootFlag(cmd, &f.roots.named)
	f.model.add(cmd)
	f.model.embedding.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.poll, "poll", false, "look for changes by polling, where events of the file system are not to be trusted")
	flags.BoolVar(&f.activity, "activity", false, "keep on this machine what was delivered, and count it for memls stats, also for a client that does not ask for it")
	// Editors add these two by themselves. The transport is always stdio; the
	// parent is named once more in initialize, which counts.
	flags.BoolVar(&stdio, "stdio", true, "speak over standard input and output (the only way there is)")
	flags.IntVar(&parent, "clientProcessId", 0, "")
	_ = flags.MarkHidden("clientProcessId") // Inv: the flag exists
	return cmd
}

func (p *program) serve(ctx context.Context, f *serveFlags) error {
	// An editor that closes standard error must not kill the server at its next
	// line of log.
	signal.Ignore(syscall.SIGPIPE)
	roots, err := parseRoots(f.roots.named)
	if err != nil {
		return err
	}
	model, err := f.model.options()
	if err != nil {
		return err
	}
	log, closeLog, err := p.logger(slog.LevelInfo)
	if err != nil {
		return err
	}
	defer closeLog()
	if in, ok := p.stdin.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		fmt.Fprintln(p.stderr, "memls: serve waits on standard input for an editor or an agent that speaks the Language Server Protocol; it is of no use at a terminal. To ask something yourself, use memls recall. Ctrl-C ends it.")
	}
	log.Info("memls serves", "version", currentBuild().Version, "roots", len(roots))
	stream := stdio{Reader: p.stdin, Writer: p.protocol, closers: []io.Closer{p.protocol}}
	if in, ok := p.stdin.(io.Closer); ok {
		stream.closers = append(stream.closers, in)
	}
	code, err := lsp.Serve(ctx, stream, lsp.Options{
		Log: log, Version: currentBuild().Version, ParentAlive: processAlive,
		Setup: lsp.Memory(lsp.MemoryOptions{
			Watch: func(poll bool) memory.WatchFactory { return followers(poll || f.poll, log) },
			Roots: roots, Discover: discover, DefaultModel: model, State: stateHome(), Activity: f.activity,
		}),
	})
	switch {
	case err != nil:
		return &exitError{code, err}
	case ctx.Err() != nil:
		return nil // a signal asked for the end
	}
	return exit(code)
}

// stdio is both directions of the connection.
type stdio struct {
	io.Reader
	io.Writer
	closers []io.Closer
}

// Close closes both directions.
func (s stdio) Close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
