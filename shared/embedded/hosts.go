package embedded

import (
	"log/slog"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/fleet"
)

// withHosts puts the hosts that join beside what the server has of docker itself:
// its own engine, or that of --agent. Hosts go before, as long as one has room.
func withHosts(providers []berth.Provider, o Options, s stores, logger *slog.Logger) []berth.Provider {
	own := control.Off(berth.ProviderDocker, "no host has joined")
	var all []berth.Provider
	for _, p := range providers {
		if p.Kind() == berth.ProviderDocker {
			own = p
			continue
		}
		all = append(all, p)
	}
	return append(all, fleet.New(fleet.Config{
		Records: s.records, Secrets: s.secrets, Installation: s.installation.ID, Clock: o.Clock, Logger: logger,
		Local:       func() (berth.Provider, string) { return control.Opened(own) },
		Credentials: fleet.LendFrom(s.secrets),
	}))
}
