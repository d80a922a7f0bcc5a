package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/terminal"
)

// finding is one line of the doctor's report.
type finding struct {
	Check   string `json:"check"`
	Status  string `json:"status"` // pass, warn, fail or off
	Message string `json:"message"`
	Remedy  string `json:"remediation,omitempty"`
}

const (
	pass = "pass"
	warn = "warn"
	fail = "fail"
	off  = "off" // of a provider; nobody needs all
)

// MarshalJSON keeps the three statuses that programs know: what is off passes, and
// is marked.
func (f finding) MarshalJSON() ([]byte, error) {
	type plain finding
	marked := struct {
		plain
		Off bool `json:"off,omitempty"`
	}{plain(f), f.Status == off}
	if marked.Off {
		marked.Status = pass
	}
	return json.Marshal(marked)
}

func doctorCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check this machine and the server",
		Long: `Check what berth needs: the data folder, the server, bash, the guest, git, the
Docker engine with its version, socket and disk, the clock, which providers are on
and answer and why others are off, and the environment of runs that name none. When
its image is on this machine, a short container without a network looks for bash and
git in it. Each line is pass, warn, fail or off, with what to do; in JSON what is off
is a pass with "off": true. A server is started when none is configured and none
runs. Ends with 1 when a check fails.`,
		Example: "  berth doctor\n  berth doctor --json",
		Args:    exactArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context(), asJSON) },
	}
	jsonFlag(cmd, &asJSON, "the report")
	return cmd
}

// checkLimit bounds one check.
const checkLimit = 30 * time.Second

func (a *app) doctor(ctx context.Context, asJSON bool) error {
	var findings []finding
	for _, check := range a.checks() {
		limited, cancel := context.WithTimeout(ctx, checkLimit)
		findings = append(findings, check(limited)...)
		cancel()
	}
	failed := false
	for _, f := range findings {
		failed = failed || f.Status == fail
	}
	if err := a.printFindings(findings, !failed, asJSON); err != nil {
		return err
	}
	if failed {
		return exitStatus(statusFailure)
	}
	return nil
}

// checks are those of this machine, which matter when the server is to run here,
// and those of the server.
func (a *app) checks() []func(context.Context) []finding {
	server := []func(context.Context) []finding{a.checkContext, a.checkServer, a.checkProviders, a.checkDefaultEnvironment}
	if configured, err := a.configuredServer(); configured != "" || err != nil {
		return append([]func(context.Context) []finding{a.checkGit}, server...)
	}
	return append([]func(context.Context) []finding{a.checkDataFolder, a.checkBash, a.checkGuest, a.checkGit, a.checkDocker}, server...)
}

func (a *app) printFindings(findings []finding, ok, asJSON bool) error {
	if asJSON {
		return a.printJSON(struct {
			OK     bool      `json:"ok"`
			Checks []finding `json:"checks"`
		}{ok, findings})
	}
	var t terminal.Table
	for _, f := range findings {
		t.Row(f.Status, f.Check, f.Message)
		if f.Remedy != "" {
			t.Row("", "", "to do: "+f.Remedy)
		}
	}
	return t.Print(a.stdout, "")
}

// said is a finding as a list.
func said(check, status, message, remedy string) []finding {
	return []finding{{check, status, message, remedy}}
}
