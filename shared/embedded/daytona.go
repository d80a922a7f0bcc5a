package embedded

import (
	"context"
	"log/slog"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/sandbox/daytona"
	"github.com/berth-dev/berth/shared/sandbox/ssh/plain"
)

// openDaytona makes the provider of the account.
func openDaytona(o Options, s stores, logger *slog.Logger) (berth.Provider, error) {
	return o.Daytona.open(berth.ProviderDaytona, variables{"DAYTONA_API_KEY", "DAYTONA_API_URL"}, func(key readKey) (berth.Provider, error) {
		return daytona.New(daytona.Config{
			URL: o.Daytona.URL, Key: key, Installation: s.installation.ID, Clock: o.Clock, Logger: logger,
			Scope: s.records.SnapshotScope,
			Guest: guestOf(o),
			Plain: func(shell func(context.Context, berth.SandboxRef) (relay.Shell, error)) daytona.Plain {
				return plain.Sandboxes{Installation: s.installation.ID, Shell: shell}
			},
		})
	})
}
