package embedded

import (
	"context"
	"log/slog"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/sandbox/exe"
	"github.com/berth-dev/berth/shared/shell"
)

// Exe is the account that the server makes VMs of exe.dev with; the zero value is
// none.
type Exe struct {
	// Key is a private key that exe.dev knows.
	Key berth.SecretValue
	// Lobby is another lobby, host:port, for tests, and Fingerprint its host key's.
	Lobby, Fingerprint string
}

// openExe makes the provider of the account. Without a key it is off.
func openExe(o Options, s stores, logger *slog.Logger) berth.Provider {
	if o.Exe.Key.Len() == 0 {
		return control.Off(berth.ProviderExe, "the server was started without EXE_SSH_KEY_FILE in its environment")
	}
	key := func(context.Context) (berth.SecretValue, error) { return o.Exe.Key, nil }
	return exe.New(exe.Config{
		Installation: s.installation.ID, Guest: guestOf(o), Clock: o.Clock, Logger: logger,
		Lobby: shell.ExeLobby(key, o.Exe.Lobby, o.Exe.Fingerprint),
		Connect: func(ctx context.Context, destination, port string) (exe.Shell, error) {
			return shell.ExeVM(ctx, key, destination, port)
		},
	})
}
