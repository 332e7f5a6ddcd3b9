package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/memory/discovery"
)

// lookFlags are those of the commands that show what is read as a server reads it.
type lookFlags struct {
	roots rootFlags
	poll  bool
	json  bool
	color string
}

func (f *lookFlags) add(cmd *cobra.Command) {
	f.roots.add(cmd)
	f.roots.shows = true
	addColorFlag(cmd, &f.color)
	flags := cmd.Flags()
	flags.BoolVar(&f.poll, "poll", false, "watch by polling, as serve --poll does")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
}

// look reads the roots with the watchers of a server, so that their mode is the one
// that it would have, and has show print what came of it.
func (p *program) look(ctx context.Context, f *lookFlags, show func(*opened, *page) error) (err error) {
	out, err := p.newPage(f.color)
	if err != nil {
		return err
	}
	log, closeLog, err := p.logger(slog.LevelError)
	if err != nil {
		return err
	}
	defer closeLog()
	o, err := p.open(ctx, &f.roots, followers(f.poll, log), log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.close()) }()
	return show(o, out)
}

func (p *program) doctorCommand() *cobra.Command {
	var f lookFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Explain which memories are found here, which are not, and what to do about it",
		Long: `doctor looks for the memories of the directory that you are in, reads them as a
server would, and explains: which project you are in and whether it is trusted,
every place that was looked at and why it is read or not, how changes in each
root are noticed, what files have problems, and where an index MEMORY.md and the
files beside it differ. Each finding comes with advice. It changes nothing but
what --trust asks for.
` + rootHelp + `
--json prints one object: version, os, arch, environment, a list of {name,
value} of the variables that are set and decide where memories are looked for,
state (where memls keeps its records), project, trusted, discovered and notes as
status has them, roots as status has them, and findings, a list of {level,
about, what, advice} with level error, warning or info.

Exit codes: 0 all is well; 1 there are warnings or errors; 2 wrong usage or bad
input; 3 the environment failed.`,
		Example: `  memls doctor
  memls doctor --trust
  memls doctor --root .memory --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return worked(p.doctor(cmd.Context(), &f))
		},
	}
	f.add(cmd)
	f.roots.bare = true
	return cmd
}

func (p *program) doctor(ctx context.Context, f *lookFlags) error {
	return p.look(ctx, f, func(o *opened, out *page) (err error) {
		d := examine(o)
		if f.json {
			err = p.doctorJSON(o, d)
		} else {
			out.doctor(o, d)
			err = p.print(out)
		}
		if err == nil && d.ill() {
			return exit(exitNothing)
		}
		return err
	})
}

// The levels of a finding.
const (
	levelError   = "error"
	levelWarning = "warning"
	levelInfo    = "info"
)

// finding is something that a person may want to know, and what to do about it.
type finding struct {
	Level  string `json:"level"`
	About  string `json:"about"` // the path or variable
	What   string `json:"what"`
	Advice string `json:"advice,omitempty"`
}

// diagnosis are the findings of one look.
type diagnosis struct{ findings []finding }

func (d *diagnosis) add(level, about, what, advice string) {
	d.findings = append(d.findings, finding{level, about, what, advice})
}

// ill tells whether there is more than information.
func (d *diagnosis) ill() bool {
	for _, f := range d.findings {
		if f.Level != levelInfo {
			return true
		}
	}
	return false
}

// examine finds out what is wrong.
func examine(o *opened) *diagnosis {
	d := &diagnosis{}
	if o.found != nil {
		d.places(o.found)
	}
	for _, r := range o.status {
		d.root(o, r)
	}
	rank := []string{levelError, levelWarning, levelInfo}
	slices.SortStableFunc(d.findings, func(a, b finding) int { return slices.Index(rank, a.Level) - slices.Index(rank, b.Level) })
	return d
}

func (d *diagnosis) places(s *surroundings) {
	untrusted := false
	for _, p := range s.Places {
		switch p.State {
		case discovery.StateUntrusted:
			untrusted = true
		case discovery.StateRefused:
			d.add(levelError, p.Path, "it is not read: "+p.Reason, "")
		case discovery.StateOff:
			d.add(levelInfo, p.Path, "there are memories that are left out: "+p.Reason, "")
		}
	}
	if untrusted {
		// Whom a person trusts is no fault.
		d.add(levelInfo, s.project, "the project holds memories that are not read, since nobody has said that it is trusted",
			"if you trust what it holds, say memls doctor --trust; in an editor, trust the workspace")
	}
	for _, note := range s.Notes {
		d.add(levelWarning, "", note, "")
	}
	if s.Served()+s.Closed() > 0 {
		return
	}
	for _, p := range s.Places {
		if p.State == discovery.StateNew {
			d.add(levelWarning, p.Path, "there are no memories yet",
				"write a Markdown file there, or name a directory of them with --root")
			return
		}
	}
	d.add(levelWarning, s.dir, "there are no memories here", "name a directory of Markdown files with --root")
}

func (d *diagnosis) root(o *opened, r memory.RootStatus) {
	path := r.Root.Path
	switch r.State {
	case memory.StateError:
		if r.Root.Refused == "" {
			d.add(levelError, path, "it cannot be read: "+r.Reason, "")
		}
	case memory.StateMissing:
		d.add(levelInfo, path, "it does not exist yet and is watched for", "")
	case memory.StateDegraded:
		d.add(levelWarning, path, "changes may be noticed late: "+r.Reason, watchAdvice(r.Reason))
	}
	if twice := r.Root.Twice(); twice != "" {
		d.add(levelWarning, path, "it "+strings.TrimPrefix(twice, path+" "), "name it once")
	}
	if n := len(r.Skipped); n > 0 {
		d.add(levelWarning, path, fmt.Sprintf("%s not read, the first: %s: %s", count(n, "entry")+isAre(n), r.Skipped[0].Path, r.Skipped[0].Reason), "memls status --all lists them")
	}
	d.problems(o, r)
	d.index(o, r)
}

func isAre(n int) string {
	if n == 1 {
		return " is"
	}
	return " are"
}

// watchAdvice is what helps against a limit of the system.
func watchAdvice(reason string) string {
	lower := strings.ToLower(reason)
	switch {
	case strings.Contains(lower, "no space left"), strings.Contains(lower, "max_user_watches"):
		return "raise fs.inotify.max_user_watches (sysctl); until then the files are looked at in intervals"
	case strings.Contains(lower, "too many open files"), strings.Contains(lower, "max_user_instances"):
		return "raise fs.inotify.max_user_instances or the limit of open files; until then the files are looked at in intervals"
	}
	return "the files are looked at in intervals instead; nothing is lost"
}

// problems counts what is wrong inside files.
func (d *diagnosis) problems(o *opened, r memory.RootStatus) {
	warnings, infos := 0, 0
	var first fileProblem
	for _, p := range problemsOf(o.snap, r.Root) {
		if p.Severity == severityNames[memory.SeverityInfo] {
			infos++
			continue
		}
		if warnings++; warnings == 1 {
			first = p
		}
	}
	if warnings > 0 {
		d.add(levelWarning, r.Root.Path, fmt.Sprintf("%s in files that are read all the same, the first: %s:%d: %s",
			count(warnings, "problem"), first.Path, first.Line, first.Message), "memls status --all lists them")
	}
	if infos > 0 {
		d.add(levelInfo, r.Root.Path, count(infos, "remark")+" on what stands in files", "memls status --all lists them")
	}
}

// index tells where the index and the files differ.
func (d *diagnosis) index(o *opened, r memory.RootStatus) {
	drift, ok := driftOf(o, r)
	if !ok {
		return
	}
	path := pathIn(r.Root, memory.IndexName)
	for _, problem := range r.Index.Problems(drift) {
		if problem.Code == memory.ProblemIndexMissing {
			continue
		}
		level := levelInfo
		if problem.Severity != memory.SeverityInfo {
			level = levelWarning
		}
		d.add(level, path, problem.Message, "")
	}
	if n := len(drift.Missing); n > 0 {
		d.add(levelWarning, path, fmt.Sprintf("it names %s not there, the first: %s", count(n, "memory")+thatAre(n), drift.Missing[0].Target.Target), "")
	}
}

func thatAre(n int) string {
	if n == 1 {
		return " that is"
	}
	return " that are"
}

// environmentNames are the variables that decide where memories are looked for.
func environmentNames() []string {
	return []string{
		"QWEN_CODE_MEMORY_BASE_DIR", "QWEN_RUNTIME_DIR", "QWEN_HOME", "QWEN_CODE_MEMORY_LOCAL", "QWEN_CODE_MEMORY_PROJECT_SCOPE",
		"QWEN_CODE_MEMORY_TEAM", "CLAUDE_CONFIG_DIR", "XDG_DATA_HOME", "XDG_STATE_HOME", "LOCALAPPDATA",
	}
}

type variableJSON struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func environment() []variableJSON {
	set := []variableJSON{}
	for _, name := range environmentNames() {
		if value := os.Getenv(name); value != "" {
			set = append(set, variableJSON{name, value})
		}
	}
	return set
}

// doctor prints what was found out.
func (p *page) doctor(o *opened, d *diagnosis) {
	b := currentBuild()
	p.printf("memls %s, %s/%s\n", safeLine(b.Version), b.OS, b.Arch)
	if o.found != nil {
		for _, v := range environment() {
			p.hanging("  set       ", v.Name+"="+safeLine(v.Value))
		}
		p.hanging("  records   ", safeLine(stateHome()))
		p.looked(o.found, true)
	}
	for _, r := range o.status {
		p.printf("\n%s  %s\n", p.styled(styleBold, string(r.Root.Scope)), safeLine(r.Root.Path))
		p.root(r, nil, false)
		p.drift(o, r)
	}
	p.printf("\n")
	for _, f := range d.findings {
		text := safeLine(f.What)
		if f.About != "" {
			text = safeLine(f.About) + ": " + text
		}
		label := fmt.Sprintf("%-9s ", f.Level)
		p.hanging(label, text)
		if f.Advice != "" {
			p.hanging(strings.Repeat(" ", len(label)), safeLine(f.Advice))
		}
	}
	if len(d.findings) == 0 {
		p.printf("All is well.\n")
	}
}

func (p *program) doctorJSON(o *opened, d *diagnosis) error {
	b := currentBuild()
	out := struct {
		Version     string         `json:"version"`
		OS          string         `json:"os"`
		Arch        string         `json:"arch"`
		State       string         `json:"state"`
		Environment []variableJSON `json:"environment"`
		surroundingsJSON
		Roots    []rootStatusJSON `json:"roots"`
		Findings []finding        `json:"findings"`
	}{b.Version, b.OS, b.Arch, stateHome(), environment(), newSurroundingsJSON(o.found), newRootsJSON(o), d.findings}
	if out.Findings == nil {
		out.Findings = []finding{}
	}
	return p.printJSON(out)
}
