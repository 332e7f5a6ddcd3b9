package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// This file says in memls's words what the command-line library says in its own.

// valueKinds word the types of flags.
var valueKinds = map[string]string{
	"int": "a whole number", "float64": "a number", "bool": "true or false", "duration": "a duration such as 8s or 500ms",
}

// flagError words what is wrong with the flags that were given.
func flagError(_ *cobra.Command, err error) error {
	var (
		value  *pflag.InvalidValueError
		absent *pflag.ValueRequiredError
	)
	switch {
	case errors.As(err, &value):
		if kind := valueKinds[value.GetFlag().Value.Type()]; kind != "" {
			return usagef("--%s %q is not %s", value.GetFlag().Name, value.GetValue(), kind)
		}
	case errors.As(err, &absent):
		return usagef("--%s needs a value", absent.GetFlag().Name)
	}
	return usage(err)
}

// groupFaults are the two ways in which cobra words that flags do not go
// together; the names of those at fault stand in brackets.
var groupFaults = []struct {
	form   *regexp.Regexp
	reword func(names, group []string) string
}{
	{
		regexp.MustCompile(`^if any flags in the group \[(?P<group>[^\]]*)\] are set none of the others can be; \[(?P<names>[^\]]*)\] were all set$`),
		func(names, _ []string) string { return flagList(names) + " exclude each other" },
	},
	{
		regexp.MustCompile(`^if any flags in the group \[(?P<group>[^\]]*)\] are set they must all be set; missing \[(?P<names>[^\]]*)\]$`),
		func(names, group []string) string {
			return fmt.Sprintf("%s go together, and there is no %s", flagList(group), flagList(names))
		},
	},
}

// checkGroups is asked before a command runs.
func checkGroups(cmd *cobra.Command, _ []string) error {
	err := cmd.ValidateFlagGroups()
	if err == nil {
		return nil
	}
	for _, f := range groupFaults {
		if m := f.form.FindStringSubmatch(err.Error()); m != nil {
			return usage(errors.New(f.reword(strings.Fields(m[f.form.SubexpIndex("names")]), strings.Fields(m[f.form.SubexpIndex("group")]))))
		}
	}
	return usage(err)
}

func flagList(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = "--" + n
	}
	if len(out) < 2 {
		return strings.Join(out, "")
	}
	return strings.Join(out[:len(out)-1], ", ") + " and " + out[len(out)-1]
}

// strictHelp makes "help" fail for a command that there is not.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "help" {
			continue
		}
		cmd.Args = func(_ *cobra.Command, args []string) error {
			if asked, _, err := root.Find(args); err != nil || asked == nil || asked == root && len(args) > 0 {
				return usagef("there is no command %q", strings.Join(args, " "))
			}
			return nil
		}
	}
}
