package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
)

// stageOf is the id of the one stage of a run that has this id or name.
func stageOf(run berth.Run, wanted string) (string, error) {
	var ids, named []string
	for _, stage := range run.Stages {
		if string(stage.ID) == wanted {
			return wanted, nil
		}
		if stage.Name == wanted {
			named = append(named, string(stage.ID))
		}
		ids = append(ids, string(stage.ID))
	}
	switch len(named) {
	case 1:
		return named[0], nil
	case 0:
		e := berth.Errorf(berth.CodeNotFound, "run %s has no stage %q", run.ID, wanted)
		e.Remediation = "choose " + orList(ids)
		return "", e
	}
	e := berth.Errorf(berth.CodeConflict, "run %s has several stages %q", run.ID, wanted)
	e.Remediation = "choose " + orList(named)
	return "", e
}

// completeStages completes with the stages of the run that the command line names.
func (a *app) completeStages(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp
	if len(args) == 0 {
		return nil, directive
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeLimit)
	defer cancel()
	c, err := a.connectRunning()
	if err != nil {
		return nil, directive
	}
	defer c.Close()
	run, err := c.FindRun(ctx, runID(args[0]))
	if err != nil {
		return nil, directive
	}
	var ids []cobra.Completion
	for _, stage := range run.Stages {
		ids = append(ids, cobra.CompletionWithDesc(string(stage.ID), stage.Name))
	}
	return ids, directive
}
