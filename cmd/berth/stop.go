package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/credentials"
	"github.com/berth-dev/berth/shared/embedded"
)

func stopCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "stop", Short: "End the server on this machine",
		Long: `End the server of the data folder on this machine, in good order, whether it was
started in the background or with "berth serve". The next command that needs one
starts it again, with the environment that it has: so keys of providers that were
set since then, and another version of berth, come into force.

Runs go on meanwhile, as their commands live in the sandboxes; the next server takes
them up, and no output is lost. Runs of a provider that the next server has no key for
wait, until a server has it or they are cancelled; but one whose sandbox nobody asked
for yet fails there. A "berth run" that follows one starts that server at once. Where
no server runs, there is nothing to do, which is no error. A server on another machine
is never ended by this.`,
		Example: "  berth stop\n  berth stop --json",
		Args:    exactArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.stop(cmd.Context(), asJSON) },
	}
	jsonFlag(cmd, &asJSON, "what was ended")
	return cmd
}

// stopped is what --json prints.
type stopped struct {
	Stopped  bool   `json:"stopped"`
	DataDir  string `json:"data_dir"`
	URL      string `json:"url,omitempty"`
	PID      int    `json:"pid,omitempty"`
	LiveRuns bool   `json:"live_runs"` // go on until the next server takes them up
}

func (a *app) stop(ctx context.Context, asJSON bool) error {
	if a.server != "" || (a.context != "" && a.context != credentials.Local) {
		e := berth.Errorf(berth.CodeInvalid, "`berth stop` ends the server on this machine only")
		e.Remediation = "leave --server and --context out; --data-dir names another data folder"
		return e
	}
	dir, err := a.dataFolder()
	if err != nil {
		return err
	}
	ended, err := embedded.Stop(ctx, dir)
	none := berth.CodeOf(err) == berth.CodeNotFound
	if err != nil && !none {
		return err
	}
	if asJSON {
		return a.printJSON(stopped{Stopped: !none, DataDir: dir, URL: ended.URL, PID: ended.PID, LiveRuns: ended.LiveRuns})
	}
	switch {
	case none:
		a.note("no server runs for %s: there is nothing to stop", dir)
	case ended.LiveRuns:
		a.note("stopped the server of %s (process %d); its live runs go on, and the next server takes them up", dir, ended.PID)
	default:
		a.note("stopped the server of %s (process %d)", dir, ended.PID)
	}
	return nil
}
