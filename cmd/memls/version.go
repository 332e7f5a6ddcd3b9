package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/memls/memls/lsp"
)

// build is what is known of the running binary.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the source, when it was built in a checkout
	Modified bool   `json:"modified,omitempty"` // the checkout had changes of its own
	Time     string `json:"time,omitempty"`     // of the revision, RFC 3339
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Protocol int    `json:"protocol"` // version of the memory methods
}

// currentBuild prefers the version that the linker set, then that of the
// module, which `go install …@version` records.
func currentBuild() build {
	b := build{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Protocol: lsp.ProtocolVersion}
	if info, ok := debug.ReadBuildInfo(); ok {
		if b.Version == "" && info.Main.Version != "(devel)" {
			b.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Revision = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			case "vcs.time":
				b.Time = s.Value
			}
		}
	}
	if b.Version == "" {
		b.Version = "dev"
	}
	return b
}

// String is the build on one line.
func (b build) String() string {
	s := fmt.Sprintf("memls %s (%s, %s/%s, protocol %d", b.Version, b.Go, b.OS, b.Arch, b.Protocol)
	if b.Revision != "" {
		s += fmt.Sprintf(", source %.12s", b.Revision)
		if b.Modified {
			s += " with changes"
		}
	}
	return s + ")"
}

func (p *program) versionCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `version prints which memls this is and what it was built from.

--json prints one object: version, revision, modified, time (of the source, when
known), go, os, arch, protocol (version of the memory methods).
` + exitHelp,
		Example: `  memls version
  memls --version
  memls version --json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			b := currentBuild()
			if asJSON {
				return worked(p.printJSON(b))
			}
			out := &page{}
			out.printf("%s\n", b)
			return worked(p.print(out))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(fmt.Errorf("%s takes no arguments, got %q", cmd.CommandPath(), args[0]))
	}
	return nil
}
