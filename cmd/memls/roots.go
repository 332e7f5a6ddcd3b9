package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/testdata"
)

// addRootFlag defines --root.
func addRootFlag(cmd *cobra.Command, into *[]string) {
	cmd.Flags().StringArrayVar(into, "root", nil, "read the memory in `[SCOPE=]DIR`; may be repeated")
	_ = cmd.MarkFlagDirname("root") // Inv: the flag exists
}

// parseRoot reads one value of --root.
func parseRoot(value string) (memory.RootConfig, error) {
	c := memory.RootConfig{Scope: memory.ScopeProject, Path: value}
	if before, after, ok := strings.Cut(value, "="); ok && memory.Scope(before).Valid() {
		c.Scope, c.Path = memory.Scope(before), after
	}
	if c.Path == "" {
		return c, usagef("--root %q names no directory", value)
	}
	return c, nil
}

func parseRoots(values []string) ([]memory.RootConfig, error) {
	configs := make([]memory.RootConfig, 0, len(values))
	for _, v := range values {
		c, err := parseRoot(v)
		if err != nil {
			return nil, err
		}
		configs = append(configs, c)
	}
	return configs, nil
}

// checkRoot tells a person at once that a directory is not there. A server
// waits for it instead.
func checkRoot(c memory.RootConfig) error {
	info, err := os.Stat(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if before, _, ok := strings.Cut(c.Path, "="); ok && before != "" && !strings.ContainsAny(before, `/\.`) {
			return usagef("memory root %s does not exist (the scopes are project, user and team)", c.Path)
		}
		return usagef("memory root %s does not exist", c.Path)
	case err != nil:
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			err = pe.Err
		}
		return failure(fmt.Errorf("memory root %s cannot be read: %w", c.Path, err))
	case !info.IsDir():
		return usagef("memory root %s is not a directory", c.Path)
	}
	return nil
}

// sampleName stands for the path of a root of the sample, which is gone when the
// command ends.
const sampleName = "of the sample"

// sampleDate is the modification time of the sample's files, the day of the
// newest of them. Most hold no date of their own.
var sampleDate = time.Date(2026, time.February, 6, 12, 0, 0, 0, time.UTC)

// writeSample writes the built-in sample memory to a temporary directory and
// names its roots. remove deletes it again, and is set whenever err is nil.
func writeSample() (roots []memory.RootConfig, remove func() error, err error) {
	dir, err := os.MkdirTemp("", "memls-sample-")
	if err != nil {
		return nil, nil, fmt.Errorf("write the sample memory: %w", err)
	}
	remove = func() error {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove the sample memory: %w", err)
		}
		return nil
	}
	sample := testdata.Sample()
	err = fs.WalkDir(sample, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(path))
		if d.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		text, err := fs.ReadFile(sample, path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return err
		}
		return os.Chtimes(to, sampleDate, sampleDate)
	})
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("write the sample memory: %w", err), remove())
	}
	for _, scope := range []memory.Scope{memory.ScopeProject, memory.ScopeUser} {
		roots = append(roots, memory.RootConfig{Scope: scope, Path: filepath.Join(dir, string(scope)), ReadOnly: true})
	}
	return roots, remove, nil
}
