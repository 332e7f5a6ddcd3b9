// Command memls recalls what coding agents and people have noted in Markdown
// files. It serves editors and agents over stdio, and a person at a terminal.
//
// Every subcommand is a thin client of the same code: it reads flags, opens the
// memory, asks the ranker or the server, and prints. Nothing is decided here.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// version is set by the linker (see the Makefile); see also build.
var version = ""

func main() {
	p := &program{began: time.Now(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	os.Exit(p.main(os.Args[1:]))
}

// program is one run of the command line.
type program struct {
	began  time.Time
	stdin  io.Reader
	stdout *os.File
	stderr io.Writer

	// protocol is where serve speaks: standard output moved to a private
	// descriptor. Nil for every other command.
	protocol *os.File

	logFile, logLevel string // flags of every command
}

func (p *program) main(args []string) int {
	root := p.command()
	// Inv: for serve, standard output is out of everybody's reach before any
	// other code has run. Its --help goes to the private descriptor, and so to
	// where the person looks for it.
	if asked, _, err := root.Find(args); err == nil && asked.Name() == serveName {
		private, err := guardStdout()
		if err != nil {
			return p.report(failure(err))
		}
		p.protocol, p.stdout = private, private
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetIn(p.stdin)
	root.SetArgs(args)
	ran, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = failure(errors.New("interrupted"))
	}
	code := p.report(err)
	if code == exitUsage && ran != nil {
		fmt.Fprintf(p.stderr, "%s --help tells more.\n", ran.CommandPath())
	}
	return code
}

// command builds the tree of subcommands.
func (p *program) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "memls",
		Short: "Memory for coding agents and editors, from plain Markdown files",
		Long: `memls finds the memories that a question is about: notes in plain Markdown
files that agents and people keep. It answers at once from an index that it
keeps current, and, when a model is configured, once more with the model's
choice. Without a model everything works, too.

A memory root is a directory of Markdown files with a scope: project, user or
team. In a project, the roots that qwen-code, Claude Code and people keep are
found; name others with --root. When there are none, a built-in sample memory
is used, by every command but serve.
` + exitHelp,
		Example: `  memls recall "why is retryBudget different for Nordhavn"
  memls recall "座位保留多久" --root project=.memory --root user=$HOME/notes
  memls doctor
  memls serve --stdio --root project=.memory`,
		PersistentPreRunE: checkGroups,
		SilenceErrors:     true,
		SilenceUsage:      true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&p.logFile, "log", "", "append the log to `FILE` instead of standard error")
	flags.StringVar(&p.logLevel, "log-level", "", "log from this `LEVEL` on: debug, info, warn, error, off (default: error; serve: info)")
	root.SetFlagErrorFunc(flagError)
	complete(root, "log-level", logLevels...)
	root.Version = currentBuild().Version // makes --version
	root.SetVersionTemplate(currentBuild().String() + "\n")
	root.AddCommand(p.recallCommand(), p.searchCommand(), p.statusCommand(), p.doctorCommand(), p.explainCommand(), p.rememberCommand(), p.forgetCommand(),
		p.dreamCommand(), p.plansCommand(), p.applyCommand(), p.undoCommand(), p.logCommand(), p.serveCommand(), p.statsCommand(), p.evalCommand(), p.benchCommand(),
		p.extractCommand(), p.versionCommand())
	strictHelp(root)
	return root
}

// complete offers fixed values of a flag to the shell.
func complete(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		// Inv: the flag has just been defined, and is completed once.
		panic(err)
	}
}
