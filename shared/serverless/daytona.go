package serverless

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/sandbox/daytona"
	"github.com/berth-dev/berth/shared/sandbox/ssh/plain"
)

// provisionWait is how long a function stays with a sandbox that is being made:
// what is done in the background stands still between two calls.
const provisionWait = 20 * time.Second

// openDaytona makes the provider whose key is in the store of secrets. No request
// is made: without a key, runs are told so.
func (w *Wiring) openDaytona() (berth.Provider, error) {
	return daytona.New(daytona.Config{
		URL: w.Variables.DaytonaURL, Installation: w.Variables.Installation, Clock: w.clock, Logger: w.Logger,
		Key: daytona.Key(w.secrets, w.clock), Scope: w.Records.SnapshotScope, Guest: w.guests,
		Plain: func(shell func(context.Context, berth.SandboxRef) (relay.Shell, error)) daytona.Plain {
			return plain.Sandboxes{Installation: w.Variables.Installation, Shell: shell}
		},
		Pace: daytona.Pace{Provision: provisionWait, Restart: provisionWait},
	})
}
