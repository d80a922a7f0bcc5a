package main

import (
	"cmp"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/terminal"
)

func preflightCommand(a *app) *cobra.Command {
	var f requestFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "preflight [flags] (-- COMMAND [ARGUMENT...] | -c SCRIPT)",
		Short: "Check a run without starting it",
		Long: `Check what a run with the same flags would meet: settings and where each comes
from, variables and secrets, what the provider can do, the target. Nothing is
started. Ends with 2 when a check is an error.`,
		Example: "  berth preflight --environment ci -- make test",
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := a.request(cmd, f, args)
			if err != nil {
				return err
			}
			c, err := a.connect()
			if err != nil {
				return err
			}
			defer c.Close()
			if err := a.settleTarget(cmd.Context(), c, &req); err != nil {
				return nearEnvironment(cmd.Context(), c, berth.EnvironmentID(req.Environment), err)
			}
			report, err := c.Preflight(cmd.Context(), req)
			if err != nil {
				return nearEnvironment(cmd.Context(), c, berth.EnvironmentID(req.Environment), err)
			}
			return a.printPreflight(report, asJSON)
		},
	}
	f.add(a, cmd)
	jsonFlag(cmd, &asJSON, "the report")
	return cmd
}

// printPreflight prints a report; one that is not OK ends the program with the
// status of an invalid request.
func (a *app) printPreflight(report berth.Preflight, asJSON bool) error {
	var err error
	if asJSON {
		err = a.printJSON(report)
	} else {
		err = a.preflightPage(report)
	}
	if err == nil && !report.OK {
		return exitStatus(berth.CodeInvalid.Info().CLI)
	}
	return err
}

func (a *app) preflightPage(report berth.Preflight) error {
	var t terminal.Table
	if e := report.Environment; e != nil {
		t.Row("", "environment", string(e.ID)+" ("+string(e.Provider)+")")
	}
	if report.Target != nil {
		t.Row("", "target", cmp.Or(targetText(*report.Target), "-"))
	}
	for _, check := range report.Checks {
		status, summary, details := string(check.Status), check.Summary, check.Details
		if len(details) == 1 && details[0].Message == summary {
			summary, details = problemLine(details[0]), nil
		}
		if report.Environment == nil && check.Status == berth.CheckWarning && len(details) == 0 {
			status = "-" // nothing was resolved, so nothing of this was looked at
		}
		t.Row(status, check.Name, summary)
		for _, d := range details {
			t.Row("", "", problemLine(d))
		}
		remedy := check.Remediation
		if kind, why, off := offProvider(check.Summary); off {
			remedy = cmp.Or(remedy, a.turnOn(kind, why))
		}
		if remedy != "" {
			t.Row("", "", "to do: "+remedy)
		}
	}
	if err := t.Print(a.stdout, ""); err != nil {
		return err
	}
	return a.sourcesTable(report.Sources)
}

// sourcesTable says which layer each setting came from.
func (a *app) sourcesTable(sources map[string]string) error {
	if len(sources) == 0 {
		return nil
	}
	if err := a.printf("\nsettings\n"); err != nil {
		return err
	}
	var t terminal.Table
	for _, field := range slices.Sorted(maps.Keys(sources)) {
		t.Row(field, "from "+sources[field])
	}
	return t.Print(a.stdout, "  ")
}
