package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/memory/discovery"
)

const rootHelp = `
Without --root the memories of the directory that you are in are looked for
where qwen-code, Claude Code and people keep them: see memls doctor. What lies
inside the project itself is read once you have said --trust there; memls
remembers that. When nothing is found, the built-in sample memory is used, and a
line on standard error says so.

--root names a directory of memory files and may be given several times. Put
its scope before it, as in user=DIR, team=DIR or project=DIR; DIR alone is a
project root. (A directory whose own name holds such a prefix is written with
./ in front.) A root is trusted by being named.`

// rootFlags say which memory a command is about.
type rootFlags struct {
	named              []string // --root
	profile, worktrees string
	trust              bool

	cmd *cobra.Command
	// writes has places be roots that the first memory is still to be written to.
	writes bool
	// shows has everything be shown, also when nothing can be read.
	shows bool
	// bare has nothing take the place of roots when there are none.
	bare bool
}

func (f *rootFlags) add(cmd *cobra.Command) {
	f.cmd = cmd
	addRootFlag(cmd, &f.named)
	f.addDiscovery(cmd)
	cmd.Flags().BoolVar(&f.trust, "trust", false, "trust the project that you are in: its own memories are read, now and later (--trust=false: no longer)")
	for _, name := range []string{"trust", "profile", "worktrees"} {
		cmd.MarkFlagsMutuallyExclusive("root", name)
	}
}

func (f *rootFlags) addDiscovery(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.profile, "profile", discovery.ProfileAuto, "look for memories as `PROGRAM` keeps them: auto (all), qwen, claude, plain")
	flags.StringVar(&f.worktrees, "worktrees", "isolate", "linked git worktrees have memories of their own, isolate, or those of the main one, `share`")
	complete(cmd, "profile", profiles()...)
	complete(cmd, "worktrees", worktreeModes()...)
}

func profiles() []string {
	return []string{discovery.ProfileAuto, discovery.ProfileQwen, discovery.ProfileClaude, discovery.ProfilePlain}
}

func worktreeModes() []string { return []string{"isolate", "share"} }

func (f *rootFlags) check() error {
	if !slices.Contains(profiles(), f.profile) {
		return usagef("--profile %q is none of %s", f.profile, strings.Join(profiles(), ", "))
	}
	if !slices.Contains(worktreeModes(), f.worktrees) {
		return usagef("--worktrees %q is none of %s", f.worktrees, strings.Join(worktreeModes(), ", "))
	}
	return nil
}

// stateHome is the directory in which memls keeps its records; empty when there
// is none.
func stateHome() string {
	dir, err := memory.StateHome()
	if err != nil {
		return ""
	}
	return dir
}

// discover finds the roots of a workspace for the server.
func discover(r discovery.Request) *discovery.Result {
	return discovery.Find(discovery.Env{State: stateHome()}, r)
}

// surroundings are the memories of the directory that a command runs in.
type surroundings struct {
	*discovery.Result
	dir     string
	project string // which is trusted or not
	trusted bool
}

// lookAround finds the memories of the current directory.
func (p *program) lookAround(f *rootFlags) (*surroundings, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("the current directory: %w", err)
	}
	s := &surroundings{dir: dir, project: discovery.ProjectRoot(dir)}
	state := stateHome()
	if f.cmd.Flags().Changed("trust") {
		if err := discovery.SetTrusted(state, s.project, f.trust, time.Now()); err != nil {
			return nil, err
		}
	}
	if s.trusted, err = discovery.Trusted(state, s.project); err != nil {
		fmt.Fprintf(p.stderr, "memls: %s; taken as not trusted\n", safeLine(err.Error()))
	}
	s.Result = discover(discovery.Request{
		Folders: []string{dir}, Profile: f.profile, Trusted: s.trusted, Share: f.worktrees == "share",
	})
	return s, nil
}

// report tells what is there and not read.
func (s *surroundings) report(p *program) {
	for _, note := range s.Notes {
		fmt.Fprintf(p.stderr, "memls: %s\n", safeLine(note))
	}
	untrusted := false
	for _, place := range s.Places {
		switch place.State {
		case discovery.StateUntrusted:
			untrusted = true
			fmt.Fprintf(p.stderr, "memls: %s is not read: %s\n", safeLine(place.Path), safeLine(place.Reason))
		case discovery.StateRefused:
			fmt.Fprintf(p.stderr, "memls: %s is not read: %s\n", safeLine(place.Path), safeLine(place.Reason))
		}
	}
	if untrusted {
		fmt.Fprintf(p.stderr, "memls: if you trust what %s holds, say --trust once\n", safeLine(s.project))
	}
}

// choose decides which roots a command reads: those that are named, else those
// that are found. Without any it answers none, for the sample.
func (p *program) choose(f *rootFlags) (configs []memory.RootConfig, found *surroundings, err error) {
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	if configs, err = parseRoots(f.named); err != nil {
		return nil, nil, err
	}
	if len(configs) > 0 {
		return configs, nil, p.checkNamed(f, configs)
	}
	if found, err = p.lookAround(f); err != nil {
		return nil, nil, err
	}
	if !f.shows {
		found.report(p)
	}
	if found.Served() == 0 && found.Closed() > 0 && !f.shows && !f.writes {
		return nil, found, usage(errors.New("no memory may be read here"))
	}
	for _, c := range found.Roots {
		isNew := slices.ContainsFunc(found.Places, func(place discovery.Place) bool {
			return place.State == discovery.StateNew && place.Path == c.Path
		})
		if !isNew || f.writes {
			configs = append(configs, c)
		}
	}
	return configs, found, nil
}

// checkNamed tells a person at once which of the roots that were named are not
// there. Others are read all the same; it is an error when there are none.
func (p *program) checkNamed(f *rootFlags, configs []memory.RootConfig) error {
	var faults []error
	for _, c := range configs {
		if err := checkRoot(c); err != nil {
			faults = append(faults, err)
		}
	}
	switch {
	case f.shows: // as a state
		return nil
	case len(faults) == len(configs):
		return allFaults(faults)
	}
	for _, err := range faults {
		fmt.Fprintf(p.stderr, "memls: %s; it is left out\n", safeLine(err.Error()))
	}
	return nil
}

// allFaults is several faults as one; the exit code is that of the first.
func allFaults(faults []error) error {
	var texts []string
	for _, err := range faults {
		texts = append(texts, err.Error())
	}
	var first *exitError
	if !errors.As(faults[0], &first) || len(faults) == 1 {
		return faults[0]
	}
	return &exitError{first.code, errors.New(strings.Join(texts, "; "))}
}

// surroundingsJSON is how status and doctor tell where they looked.
type surroundingsJSON struct {
	Project    string      `json:"project,omitempty"`
	Trusted    *bool       `json:"trusted,omitempty"`
	Discovered []placeJSON `json:"discovered,omitempty"`
	Notes      []string    `json:"notes,omitempty"`
}

type placeJSON struct {
	Profile string `json:"profile"`
	Scope   string `json:"scope"`
	Path    string `json:"path"`
	State   string `json:"state"`
	Reason  string `json:"reason,omitempty"`
}

// newSurroundingsJSON is empty when the roots were named.
func newSurroundingsJSON(s *surroundings) surroundingsJSON {
	if s == nil {
		return surroundingsJSON{}
	}
	j := surroundingsJSON{Project: s.project, Trusted: &s.trusted, Notes: s.Notes}
	for _, p := range s.Places {
		j.Discovered = append(j.Discovered, placeJSON{p.Profile, string(p.Scope), p.Path, string(p.State), p.Reason})
	}
	return j
}
