package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/config"
)

// requestFlags are the flags that say what a run is to be; run and preflight share them.
type requestFlags struct {
	environment, target, timeout, script, workflow string
	preserve                                       bool
	labels                                         []string
}

func (f *requestFlags) add(a *app, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.VarP((*named)(&f.environment), "environment", "e", "environment `slug`; else BERTH_ENVIRONMENT, the config files, the server's default")
	flags.VarP((*named)(&f.target), "target", "t", "`target` to take the code from: git:ORIGIN[#BRANCH], none or folder:PATH")
	flags.StringVar(&f.timeout, "timeout", "", "end the command after this `time`, such as 90s or 10m")
	flags.StringVarP(&f.script, "script", "c", "", "run this `script` with bash -c, instead of a command after --")
	flags.Var((*named)(&f.workflow), "workflow", "use the settings of this workflow, by `slug`")
	flags.BoolVar(&f.preserve, "preserve-sandbox", false, "keep the sandbox when the run has ended")
	flags.StringArrayVarP(&f.labels, "label", "l", nil, "label the run with `NAME=VALUE`; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("environment", a.completeEnvironments)
}

// request makes the body of a run from the flags, the arguments after `--` and
// the files around the current folder. Its target is still what the flags say.
func (a *app) request(cmd *cobra.Command, f requestFlags, args []string) (berth.RunRequest, error) {
	var req berth.RunRequest
	argv, err := f.command(cmd, args)
	if err != nil {
		return req, err
	}
	labels, err := pairs(cmd, "label", f.labels)
	if err != nil {
		return req, err
	}
	timeout, err := span("timeout", f.timeout)
	if err != nil {
		return req, err
	}
	target, err := a.parseTarget(cmd.Context(), f.target)
	if err != nil {
		return req, err
	}
	configs, err := config.Collect(a.dir, a.configHome(), f.workflow)
	if err != nil {
		return req, err
	}
	req = berth.RunRequest{
		Environment: f.environment, Command: argv, Script: f.script, Target: target,
		SourceDirectory: a.dir, Timeout: timeout, Labels: labels, Configs: configs,
	}
	if req.Environment == "" {
		req.Environment = a.env["BERTH_ENVIRONMENT"]
	}
	if cmd.Flags().Changed("preserve-sandbox") {
		req.PreserveSandbox = &f.preserve
	}
	return req, nil
}

// command returns the argv after `--`; with a script there is none.
func (f requestFlags) command(cmd *cobra.Command, args []string) ([]string, error) {
	before, argv, dash := splitAtDash(cmd, args)
	scripted := cmd.Flags().Changed("script")
	switch {
	case len(before) > 0:
		e := usagef(cmd, "%q stands before `--`", before[0]).(*berth.Error)
		e.Remediation = "put `--` before the command to run: " + cmd.CommandPath() + " -- COMMAND ARGUMENTS"
		return nil, e
	case scripted && len(argv) > 0:
		return nil, usagef(cmd, "give a command after `--` or a script with -c, not both")
	case scripted && f.script == "":
		return nil, usagef(cmd, "the script of -c is empty")
	case scripted:
		return nil, nil
	case !dash || len(argv) == 0:
		e := usagef(cmd, "there is nothing to run").(*berth.Error)
		e.Remediation = "give a command after `--` or a script with -c: " + cmd.CommandPath() + " -- COMMAND ARGUMENTS"
		return nil, e
	}
	return argv, nil
}

// settleTarget gives a request without a target the one that its environment's
// provider wants: on local none, as the source directory decides there.
func (a *app) settleTarget(ctx context.Context, c *client.Client, req *berth.RunRequest) error {
	if req.Target != nil {
		return nil
	}
	provider, err := a.providerOf(ctx, c, *req)
	if err != nil || provider == berth.ProviderLocal {
		return err
	}
	req.Target, err = a.repositoryTarget(ctx, ".")
	return err
}

// providerOf asks the server which provider a request leads to. Without config
// files the environment says it; with them the server has to merge.
func (a *app) providerOf(ctx context.Context, c *client.Client, req berth.RunRequest) (berth.ProviderKind, error) {
	if req.Environment == string(berth.LocalEnvironmentID) && len(req.Configs) == 0 {
		return berth.ProviderLocal, nil
	}
	if req.Environment != "" && len(req.Configs) == 0 {
		e, err := c.FindEnvironment(ctx, berth.EnvironmentID(req.Environment))
		return e.Provider, err
	}
	report, err := c.Preflight(ctx, req)
	if err != nil {
		return "", err
	}
	if report.Environment == nil {
		// What keeps it from being resolved is told when the run is created.
		return berth.ProviderLocal, nil
	}
	return report.Environment.Provider, nil
}
