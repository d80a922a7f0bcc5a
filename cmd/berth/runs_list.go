package main

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

type runsFilter struct {
	limit       int
	status      string
	environment string
}

func runsListCommand(a *app) *cobra.Command {
	var f runsFilter
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List runs, newest first",
		Example: "  berth runs list\n  berth runs list --status failed --limit 5\n  berth runs list --environment ci --json",
		Args:    exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.limit < 1 {
				return usagef(cmd, "--limit must be 1 or more")
			}
			if !slices.Contains(runStatuses, f.status) && f.status != "" {
				e := berth.FieldErrorf(berth.CodeInvalid, "--status", "%q is not a status of a run", f.status)
				e.Remediation = "choose from " + orList(runStatuses)
				return e
			}
			return a.runsList(cmd.Context(), f, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&f.limit, "limit", "n", 20, "show at most this `number`")
	flags.StringVar(&f.status, "status", "", "only runs with this `status`")
	flags.VarP((*named)(&f.environment), "environment", "e", "only runs in this environment, by `slug`")
	jsonFlag(cmd, &asJSON, "them")
	_ = cmd.RegisterFlagCompletionFunc("environment", a.completeEnvironments)
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(runStatuses, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

var runStatuses = []string{
	string(berth.RunSubmitted), string(berth.RunQueued), string(berth.RunProvisioning), string(berth.RunRunning),
	string(berth.RunBlocked), string(berth.RunSucceeded), string(berth.RunFailed), string(berth.RunCancelled),
}

func (a *app) runsList(ctx context.Context, f runsFilter, asJSON bool) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	runs, err := f.take(client.All(ctx, c.ListRuns))
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(berth.List[berth.RunSummary]{Items: runs})
	}
	if len(runs) == 0 {
		a.note("no runs")
		return nil
	}
	return a.runsTable(runs)
}

func (f runsFilter) take(all iter.Seq2[berth.RunSummary, error]) ([]berth.RunSummary, error) {
	runs := []berth.RunSummary{}
	for run, err := range all {
		if err != nil {
			return nil, err
		}
		if (f.status == "" || string(run.Status) == f.status) && (f.environment == "" || string(run.Environment) == f.environment) {
			runs = append(runs, run)
		}
		if len(runs) == f.limit {
			break
		}
	}
	return runs, nil
}

func (a *app) runsTable(runs []berth.RunSummary) error {
	ids := make([]string, len(runs))
	for i, run := range runs {
		ids[i] = string(run.ID)
	}
	short := shortIDs(ids)
	var t terminal.Table
	t.Row("RUN", "STATUS", "ENVIRONMENT", "CREATED", "TOOK", "COMMAND")
	for _, run := range runs {
		end := a.clock.Now()
		if run.EndedAt != nil {
			end = *run.EndedAt
		}
		t.Row(short[string(run.ID)], string(run.Status), cmp.Or(string(run.Environment), "-"), a.ago(run.CreatedAt),
			terminal.Span(end.Sub(run.CreatedAt)), oneLine(run.Command))
	}
	return t.Print(a.stdout, "")
}
