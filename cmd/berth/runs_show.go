package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/terminal"
)

func runsShowCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show RUN", Short: "Show one run: its stages, times, exit and reason",
		Example:           "  berth runs show 01k5m3v9x2qf\n  berth runs show 01k5m3v9x2qf --json",
		Args:              exactArgs("the run's id"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runsShow(cmd.Context(), runID(args[0]), asJSON)
		},
	}
	jsonFlag(cmd, &asJSON, "the run")
	return cmd
}

func (a *app) runsShow(ctx context.Context, id berth.RunID, asJSON bool) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	run, err := c.FindRun(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(run)
	}
	if err := a.runHead(run).Print(a.stdout, ""); err != nil {
		return err
	}
	if len(run.Stages) == 0 {
		return nil
	}
	if err := a.printf("\nstages\n"); err != nil {
		return err
	}
	return a.stagesTable(run.Stages).Print(a.stdout, "  ")
}

// runHead is the upper part of the page; what is not there has no line.
func (a *app) runHead(run berth.Run) *terminal.Table {
	var t terminal.Table
	line := func(name, value string) {
		if value != "" {
			t.Row(name, value)
		}
	}
	line("run", string(run.ID))
	line("status", statusText(run))
	if run.Reason != nil {
		line("reason", run.Reason.Code+": "+run.Reason.Message)
		for part := range strings.SplitSeq(run.Reason.Remediation, "\n") {
			line("to do", part)
		}
	}
	if run.Exit != nil {
		line("exit", exitText(*run.Exit))
	}
	line("environment", fmt.Sprintf("%s (%s)", run.Environment.ID, run.Environment.Provider))
	line("target", targetText(run.Target))
	line("command", commandText(run))
	line("sandbox", string(run.Sandbox))
	line("get in", run.Hint)
	line("labels", labelsText(run.Labels))
	line("created", a.when(&run.CreatedAt)+by(run.CreatedBy))
	line("started", a.when(run.StartedAt))
	line("ended", a.when(run.EndedAt))
	for _, w := range run.Warnings {
		line("warning", problemLine(w))
	}
	return &t
}

func statusText(run berth.Run) string {
	text := string(run.Status)
	if run.CancelRequested && !run.Status.Ended() {
		text += ", to be cancelled"
	}
	if run.EndedAt != nil {
		text += " after " + terminal.Span(run.EndedAt.Sub(run.CreatedAt))
	}
	return text
}

func commandText(run berth.Run) string {
	if run.Script != "" {
		return "bash -c " + berth.ShellQuote(run.Script)
	}
	return berth.ShellQuote(run.Command...)
}

func targetText(t berth.Target) string {
	switch t.Kind {
	case berth.TargetGit:
		text := t.Origin
		for _, part := range []string{t.Branch, t.Tag, t.SHA} {
			if part != "" {
				text += " " + part
			}
		}
		return text
	case berth.TargetFolder:
		return "folder " + t.Path
	}
	return string(t.Kind)
}

func labelsText(labels map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, name+"="+labels[name])
	}
	return strings.Join(parts, " ")
}

func by(name string) string {
	if name == "" {
		return ""
	}
	return " by " + name
}

func (a *app) when(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05") + " (" + a.ago(*t) + ")"
}

func (a *app) stagesTable(stages []berth.Stage) *terminal.Table {
	var t terminal.Table
	t.Row("STAGE", "KIND", "STATUS", "TOOK", "EXIT", "NAME")
	for _, s := range stages {
		t.Row(string(s.ID), string(s.Kind), string(s.Status), a.took(s), stageExit(s), cmp.Or(oneLine(s.Name), "-"))
	}
	return &t
}

func stageExit(s berth.Stage) string {
	if s.Exit == nil {
		return "-"
	}
	return exitText(*s.Exit)
}

func (a *app) took(s berth.Stage) string {
	switch {
	case s.StartedAt == nil:
		return "-"
	case s.EndedAt == nil:
		return terminal.Span(a.clock.Now().Sub(*s.StartedAt))
	}
	return terminal.Span(s.EndedAt.Sub(*s.StartedAt))
}

// orList writes words for a sentence: a, b or c.
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
