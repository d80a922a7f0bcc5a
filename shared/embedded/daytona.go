package embedded

import (
	"context"
	"log/slog"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/sandbox/daytona"
	"github.com/berth-dev/berth/shared/sandbox/ssh/plain"
)

// Daytona is the account that the server makes sandboxes with; the zero value is
// none.
type Daytona struct {
	Key berth.SecretValue
	// URL is the base of the API; the hosted one when empty.
	URL string
}

// openDaytona makes the provider of the account. Without a key it is off.
func openDaytona(o Options, s stores, logger *slog.Logger) (berth.Provider, error) {
	if o.Daytona.Key.Len() == 0 {
		return control.Off(berth.ProviderDaytona, "the server was started without DAYTONA_API_KEY in its environment"), nil
	}
	return daytona.New(daytona.Config{
		URL: o.Daytona.URL, Installation: s.installation.ID, Clock: o.Clock, Logger: logger,
		Key:   func(context.Context) (berth.SecretValue, error) { return o.Daytona.Key, nil },
		Scope: s.records.SnapshotScope,
		Guest: guestOf(o),
		Plain: func(shell func(context.Context, berth.SandboxRef) (relay.Shell, error)) daytona.Plain {
			return plain.Sandboxes{Installation: s.installation.ID, Shell: shell}
		},
	})
}
