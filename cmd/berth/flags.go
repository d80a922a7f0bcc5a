package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
)

// jsonFlag adds --json; what says which objects are printed.
func jsonFlag(cmd *cobra.Command, into *bool, what string) {
	cmd.Flags().BoolVar(into, "json", false, "print "+what+" as JSON on standard output")
}

// exactArgs wants as many arguments as names.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usagef(cmd, "%s is missing", names[len(args)])
		case len(args) > len(names) && len(names) == 0:
			return usagef(cmd, "`%s` takes no arguments", cmd.CommandPath())
		case len(args) > len(names):
			return usagef(cmd, "%s too many after %s", counted(len(args)-len(names), "argument"), names[len(names)-1])
		}
		return nil
	}
}

// mayArg takes one argument or none.
func mayArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usagef(cmd, "%s too many after %s", counted(len(args)-1, "argument"), name)
		}
		return nil
	}
}

// counted writes a number of things.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// someArgs wants one argument or more.
func someArgs(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef(cmd, "%s is missing", name)
		}
		return nil
	}
}

// pairs parses NAME=VALUE arguments of a flag; the value may be empty and hold
// further equals signs. Values are never repeated in an error.
func pairs(cmd *cobra.Command, flag string, entries []string) (map[string]string, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	m := make(map[string]string, len(entries))
	for _, entry := range entries {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			return nil, usagef(cmd, "--%s must be NAME=VALUE", flag)
		}
		if _, twice := m[name]; twice {
			return nil, usagef(cmd, "--%s %s is given twice", flag, name)
		}
		m[name] = value
	}
	return m, nil
}

// span checks the value of a duration flag; empty is none.
func span(flag, value string) (berth.Duration, error) {
	if value == "" {
		return "", nil
	}
	if _, err := berth.ParseDuration(value); err != nil {
		return "", berth.FieldErrorf(berth.CodeInvalid, "--"+flag, "%s", err.Error())
	}
	return berth.Duration(value), nil
}

// splitAtDash returns the arguments before `--` and those after it; found is
// whether there was one.
func splitAtDash(cmd *cobra.Command, args []string) (before, after []string, found bool) {
	n := cmd.ArgsLenAtDash()
	if n < 0 {
		return args, nil, false
	}
	return args[:n], args[n:], true
}
