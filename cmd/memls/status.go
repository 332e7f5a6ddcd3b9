package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/memory/discovery"
)

// shownEntries is how many skips, and how many files with problems, are listed
// of a root unless --all is given. The rest is counted.
const shownEntries = 20

type statusFlags struct {
	lookFlags
	all bool
}

func (p *program) statusCommand() *cobra.Command {
	var f statusFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the roots: what is read, what is skipped and why",
		Long: `status reads every root and tells how many memories are on disk and how many
were read, what was skipped and why, what is wrong inside files (no file is left
out for that), and how a server would notice changes.
` + rootHelp + `
--json prints one object: memories, sample, loadMs, and roots, a list of {id,
scope, path, real, profile, state, reason, readOnly, onDisk, catalogued,
hasIndex, index: {listed, missing, unlisted, repeated, lines, bytes, tooLarge}
(how a MEMORY.md and the files beside it agree), skipped: [{path, reason}],
problems: [{path, line, code, severity, message}], watch: {mode, reason}}. state
is ready, degraded, missing, untrusted or error; severity is error, warning or
info; mode is fsnotify, poll or none. notes says what was set and could not be
followed. Without --root also project, trusted, and discovered, a list of
{profile, scope, path, state, reason} with state served, new, absent, untrusted,
refused or off.
` + exitHelp,
		Example: `  memls status --root .memory --root user=$HOME/notes
  memls status --root .memory --all
  memls status --root .memory --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Who asks for the memories of one program is shown no other ones.
			f.roots.bare = cmd.Flags().Changed("profile")
			return worked(p.status(cmd.Context(), &f))
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.all, "all", false, fmt.Sprintf("list everything that was skipped or has problems, not only the first %d of a root", shownEntries))
	return cmd
}

func (p *program) status(ctx context.Context, f *statusFlags) error {
	return p.look(ctx, &f.lookFlags, func(o *opened, out *page) error {
		show := func() error { return p.statusPage(o, out, f.all) }
		if f.json {
			show = func() error { return p.statusJSON(o) }
		}
		if err := show(); err != nil {
			return err
		}
		return exit(statusCode(o))
	})
}

func (p *program) statusPage(o *opened, out *page, all bool) error {
	for i, r := range o.status {
		if i > 0 {
			out.printf("\n")
		}
		where := r.Root.Path
		if o.sample {
			where = sampleName
		}
		out.printf("%s  %s\n", out.styled(styleBold, string(r.Root.Scope)), safeLine(where))
		out.root(r, o.problems(r), all)
		out.drift(o, r)
	}
	if o.found != nil {
		out.looked(o.found, all)
	}
	out.printf("\n%s in %s, read in %s\n", count(o.snap.Len(), "memory"), count(len(o.status), "root"), milliseconds(o.took))
	return p.print(out)
}

// statusCode is the exit code of a status that could be shown.
func statusCode(o *opened) int {
	if len(o.status) == 0 || slices.ContainsFunc(o.status, func(r memory.RootStatus) bool { return !broken(r, false) }) {
		return exitOK
	}
	return exitNothing
}

// root prints what stands below the name of a root.
func (p *page) root(r memory.RootStatus, problems []fileProblem, all bool) {
	state := string(r.State)
	if r.Reason != "" {
		state += ": " + safeLine(r.Reason)
	}
	p.hanging("  state     ", state)
	files := fmt.Sprintf("%d read of %d on disk", r.Catalogued, r.OnDisk)
	if r.HasIndex {
		files += ", and the index " + memory.IndexName
	}
	p.hanging("  memories  ", files)
	watch := r.Watch.Mode
	if r.Watch.Reason != "" {
		watch += ": " + safeLine(r.Watch.Reason)
	}
	if watch != "" {
		p.hanging("  watched   ", "by "+watch)
	}
	shown := r.Skipped
	if !all {
		shown = shown[:min(len(shown), shownEntries)]
	}
	if len(r.Skipped) > 0 {
		p.printf("  skipped   %s\n", skips(r))
	}
	for _, s := range shown {
		p.hanging("            ", safeLine(s.Path)+": "+safeLine(s.Reason))
	}
	p.more(len(r.Skipped) - len(shown))
	p.problems(problems, all)
}

// skips counts what is not read: files that are memories by their name, and
// others, such as links and folders.
func skips(r memory.RootStatus) string {
	files := min(max(r.OnDisk-r.Catalogued, 0), len(r.Skipped))
	others := len(r.Skipped) - files
	switch {
	case others == 0:
		return fmt.Sprint(files)
	case files == 0:
		return fmt.Sprintf("%d, no memories", others)
	}
	return fmt.Sprintf("%d: %s, and %d that%s none", len(r.Skipped), count(files, "memory"), others, isAre(others))
}

func (p *page) problems(problems []fileProblem, all bool) {
	if len(problems) == 0 {
		return
	}
	shown := problems
	if !all {
		shown = shown[:min(len(shown), shownEntries)]
	}
	p.printf("  problems  %d\n", len(problems))
	for _, f := range shown {
		p.hanging("            ", fmt.Sprintf("%s:%d: %s: %s (%s)", safeLine(f.Path), f.Line, f.Severity, safeLine(f.Message), f.Code))
	}
	p.more(len(problems) - len(shown))
}

func (p *page) more(n int) {
	if n > 0 {
		p.printf("            and %d more; --all lists them\n", n)
	}
}

// fileProblem is a problem with its place.
type fileProblem struct {
	Path     string `json:"path"` // below the root
	Line     int    `json:"line"` // from 1
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
}

var severityNames = map[memory.Severity]string{
	memory.SeverityError: "error", memory.SeverityWarning: "warning", memory.SeverityInfo: "info",
}

// problems are those of a root's files; of the sample none, which is not the
// reader's to mend.
func (o *opened) problems(r memory.RootStatus) []fileProblem {
	if o.sample {
		return []fileProblem{}
	}
	return problemsOf(o.snap, r.Root)
}

// problemsOf lists the problems of a root's files by path and line.
func problemsOf(snap *memory.Snapshot, root *memory.Root) []fileProblem {
	found := []fileProblem{}
	for d := range snap.All() {
		if d.Root != root {
			continue
		}
		for _, p := range d.Problems {
			found = append(found, fileProblem{d.Rel, lineOf(d.Text, p.Span.Start), p.Code, severityNames[p.Severity], p.Message})
		}
	}
	slices.SortStableFunc(found, func(a, b fileProblem) int {
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	return found
}

// looked tells where memories were looked for, and what came of it. Places that
// are not there are counted unless all are asked for.
func (p *page) looked(s *surroundings, all bool) {
	trust := "not trusted"
	if s.trusted {
		trust = "trusted"
	}
	p.printf("\n%s  %s, %s\n", p.styled(styleBold, "looked around"), safeLine(s.project), trust)
	absent := 0
	for _, place := range s.Places {
		if place.State == discovery.StateAbsent && !all {
			absent++
			continue
		}
		line := fmt.Sprintf("%-7s %-6s %s", place.Scope, place.Profile, safeLine(place.Path))
		if place.Reason != "" {
			line += ": " + safeLine(place.Reason)
		}
		p.hanging(fmt.Sprintf("  %-9s ", place.State), line)
	}
	if absent > 0 {
		p.printf("  and %s where there is nothing; --all lists them\n", count(absent, "place"))
	}
	for _, note := range s.Notes {
		p.hanging("  note      ", safeLine(note))
	}
}

type skipJSON struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

type watchJSON struct {
	Mode   string `json:"mode"`
	Reason string `json:"reason,omitempty"`
}

type rootStatusJSON struct {
	ID         string        `json:"id"`
	Scope      string        `json:"scope"`
	Path       string        `json:"path"`
	Real       string        `json:"real"`
	Profile    string        `json:"profile,omitempty"`
	State      string        `json:"state"`
	Reason     string        `json:"reason,omitempty"`
	ReadOnly   bool          `json:"readOnly"`
	OnDisk     int           `json:"onDisk"`
	Catalogued int           `json:"catalogued"`
	HasIndex   bool          `json:"hasIndex"`
	Index      *indexJSON    `json:"index,omitempty"`
	Skipped    []skipJSON    `json:"skipped"`
	Problems   []fileProblem `json:"problems"`
	Watch      watchJSON     `json:"watch"`
}

func (p *program) statusJSON(o *opened) error {
	out := struct {
		Memories int              `json:"memories"`
		Sample   bool             `json:"sample"`
		LoadMs   float64          `json:"loadMs"`
		Roots    []rootStatusJSON `json:"roots"`
		surroundingsJSON
	}{o.snap.Len(), o.sample, rounded(o.took), newRootsJSON(o), newSurroundingsJSON(o.found)}
	for _, r := range o.status {
		if twice := r.Root.Twice(); twice != "" {
			out.Notes = append(out.Notes, twice)
		}
	}
	return p.printJSON(out)
}

func newRootsJSON(o *opened) []rootStatusJSON {
	roots := []rootStatusJSON{}
	for _, r := range o.status {
		j := rootStatusJSON{
			ID: r.Root.ID, Scope: string(r.Root.Scope), Path: r.Root.Path, Real: r.Root.Real, Profile: r.Root.Profile, State: string(r.State), Reason: r.Reason,
			ReadOnly: r.Root.ReadOnly, OnDisk: r.OnDisk, Catalogued: r.Catalogued, HasIndex: r.HasIndex,
			Skipped: []skipJSON{}, Problems: o.problems(r), Watch: watchJSON{cmp.Or(r.Watch.Mode, "none"), r.Watch.Reason},
		}
		for _, s := range r.Skipped {
			j.Skipped = append(j.Skipped, skipJSON{s.Path, s.Reason})
		}
		j.Index = newIndexJSON(o, r)
		roots = append(roots, j)
	}
	return roots
}

// indexJSON is how an index and the files beside it agree.
type indexJSON struct {
	Listed   int      `json:"listed"`
	Missing  []string `json:"missing"`
	Unlisted []string `json:"unlisted"`
	Repeated int      `json:"repeated"`
	Lines    int      `json:"lines"`
	Bytes    int      `json:"bytes"`
	TooLarge bool     `json:"tooLarge"`
}

// driftOf compares the index of a root with its files; ok is false when there is
// none that can be read.
func driftOf(o *opened, r memory.RootStatus) (drift memory.Drift, ok bool) {
	if r.Index == nil {
		return drift, false
	}
	return r.Index.Drift(o.snap.Of(r.Root), memory.IndexOptions{Now: time.Now()}.Active), true
}

func newIndexJSON(o *opened, r memory.RootStatus) *indexJSON {
	drift, ok := driftOf(o, r)
	if !ok {
		return nil
	}
	j := &indexJSON{
		Listed: drift.Listed, Missing: []string{}, Unlisted: []string{}, Repeated: len(drift.Repeated),
		Lines: drift.Lines, Bytes: drift.Bytes, TooLarge: drift.TooLarge,
	}
	for _, m := range drift.Missing {
		j.Missing = append(j.Missing, m.Target.Target)
	}
	for _, d := range drift.Unlisted {
		j.Unlisted = append(j.Unlisted, d.Rel)
	}
	return j
}

// drift tells how the index of a root and its files agree.
func (p *page) drift(o *opened, r memory.RootStatus) {
	drift, ok := driftOf(o, r)
	if !ok {
		return
	}
	text := fmt.Sprintf("%s lists %s", memory.IndexName, count(drift.Listed, "memory"))
	if n := len(drift.Missing); n > 0 {
		text += fmt.Sprintf(", names %d that %s not there", n, strings.TrimSpace(isAre(n)))
	}
	if n := len(drift.Unlisted); n > 0 {
		text += fmt.Sprintf(", leaves out %d", n)
	}
	if drift.TooLarge {
		text += fmt.Sprintf("; with %d lines and %d bytes it is larger than what programs load", drift.Lines, drift.Bytes)
	}
	p.hanging("  index     ", text)
}
