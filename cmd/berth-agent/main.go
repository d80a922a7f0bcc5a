//go:build linux

// Command berth-agent runs on a machine that is to hold sandboxes. A berth
// server talks to it over HTTPS.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/version"
)

func main() {
	ctx, stop := untilSignal()
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program at once
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// untilSignal is a context that ends with what ends programs: Ctrl-C, a polite kill
// and the end of the terminal, but for those that the program was started to ignore,
// as by nohup.
func untilSignal() (ctx context.Context, stop context.CancelFunc) {
	ends := []os.Signal{syscall.SIGTERM}
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			ends = append(ends, s)
		}
	}
	return signal.NotifyContext(context.Background(), ends...)
}

// run is the whole program but for the process around it: it returns the exit
// status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return runRoot(ctx, rootCommand(), args, stdout, stderr)
}

func runRoot(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "berth-agent: %s: %v\n", berth.CodeOf(err), err)
	info := berth.CodeOf(err).Info()
	var e *berth.Error
	if errors.As(err, &e) {
		fmt.Fprintf(stderr, "  to do: %s\n", cmp.Or(e.Remediation, info.Remedy))
	}
	return info.CLI
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use: "berth-agent", Short: "Hold sandboxes on this machine for a berth server",
		Long: `berth-agent holds sandboxes on this machine for a berth server elsewhere, which
talks to it over HTTPS: with the token from the agent's token file, and trusting
the agent's certificate alone.`,
		Example:       "  berth-agent join https://berth.example.com --token T\n  berth-agent serve",
		SilenceErrors: true, SilenceUsage: true,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(cmd, err.Error()) })
	root.AddCommand(joinCommand(), serveCommand(), leaveCommand(), fingerprintCommand(), versionCommand())
	return root
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usage(cmd, fmt.Sprintf("%q is not understood here", args[0]))
}

func usage(cmd *cobra.Command, message string) error {
	e := berth.Errorf(berth.CodeInvalid, "%s", message)
	e.Remediation = fmt.Sprintf("see `%s --help`", cmd.CommandPath())
	return e
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this program", Example: "  berth-agent version", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := version.Info("")
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "berth-agent %s (%s, %s)\n", info.Version, info.Commit, info.Go)
			return err
		},
	}
}
