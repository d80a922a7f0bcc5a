package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

func sandboxRemoveCommand(a *app) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "rm SANDBOX...", Short: "Destroy sandboxes",
		Long: `Destroy sandboxes with everything in them. One of the providers local and
ssh leaves its folder as it is: it is yours. One that a live run uses is a
conflict: cancel the run.

A sandbox whose provider does not answer is kept in the list, for it may be there.
Where the provider is gone for good, --force forgets the sandbox and says what may
be left of it, and where.`,
		Example:           "  berth sandbox rm 01k5m3v9x2qg\n  berth sandbox rm --force 01k5m3v9x2qg",
		Args:              someArgs("the sandbox's id"),
		ValidArgsFunction: a.completeSandboxes,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eachSandbox(cmd.Context(), args, "destroyed", func(c *client.Client, id berth.SandboxID) error {
				if force {
					return a.forgetSandbox(cmd.Context(), c, id)
				}
				return orForce(c.DestroySandbox(cmd.Context(), id), id)
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "forget sandboxes that their provider does not destroy")
	return cmd
}

// forgetSandbox also says what may be left, whether a person wants chatter or not.
func (a *app) forgetSandbox(ctx context.Context, c *client.Client, id berth.SandboxID) error {
	if err := c.ForgetSandbox(ctx, id); err != nil {
		return err
	}
	sandbox, err := c.FindSandbox(ctx, id)
	if err == nil && sandbox.Reason != nil && sandbox.Reason.Code == berth.ReasonForgotten {
		a.say("%s", terminal.Clean(sandbox.Reason.Message))
	}
	return err
}

// orForce says what else there is where a provider does not destroy a sandbox.
func orForce(err error, id berth.SandboxID) error {
	var e *berth.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case berth.CodeUnavailable, berth.CodeTimedOut, berth.CodeUnsupported:
	default:
		return err
	}
	told := *e
	if told.Remediation == "" {
		told.Remediation = "try again in a moment"
	}
	told.Remediation += "; if the provider is gone for good: berth sandbox rm --force " + string(id)
	return &told
}
