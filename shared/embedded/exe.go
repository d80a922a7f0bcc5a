package embedded

import (
	"context"
	"log/slog"
	"net"
	"strings"

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
	// Fault is why there is no key, where one was named that cannot be used.
	Fault error
	// Lobby is another lobby, host:port, for tests, and Fingerprint its host key's.
	Lobby, Fingerprint string
}

// check finds what could not be used, before a run does. Error: invalid, at the
// variable that is wrong.
func (e Exe) check() error {
	const lobby, fingerprint = "EXE_LOBBY", "EXE_LOBBY_FINGERPRINT"
	if err := shell.CheckKey(e.Key); err != nil {
		return atFlag("EXE_SSH_KEY_FILE", err)
	}
	_, port, err := net.SplitHostPort(e.Lobby)
	switch {
	case e.Lobby == "" && e.Fingerprint == "":
		return nil
	case e.Lobby == "":
		return berth.FieldErrorf(berth.CodeInvalid, lobby, "is missing: %s is of another lobby than exe.dev's, whose own is known", fingerprint)
	case err != nil || port == "":
		return berth.FieldErrorf(berth.CodeInvalid, lobby, "must be host:port")
	case !strings.HasPrefix(e.Fingerprint, "SHA256:"):
		return berth.FieldErrorf(berth.CodeInvalid, fingerprint, "must be the fingerprint of the lobby's host key, SHA256:…, as ssh-keygen -l shows it")
	}
	return nil
}

// openExe makes the provider of the account. Without a key it is off. Errors: invalid
// for an account that cannot be used, or its fault.
func openExe(o Options, s stores, logger *slog.Logger) (berth.Provider, error) {
	if o.Exe.Fault != nil {
		return nil, o.Exe.Fault
	}
	if o.Exe.Key.Len() == 0 {
		return control.Off(berth.ProviderExe, "the server was started without EXE_SSH_KEY_FILE in its environment"), nil
	}
	if err := o.Exe.check(); err != nil {
		return nil, err
	}
	key := func(context.Context) (berth.SecretValue, error) { return o.Exe.Key, nil }
	return exe.New(exe.Config{
		Installation: s.installation.ID, Guest: guestOf(o), Clock: o.Clock, Logger: logger,
		Lobby: shell.ExeLobby(key, o.Exe.Lobby, o.Exe.Fingerprint),
		Connect: func(ctx context.Context, destination, port string) (exe.Shell, error) {
			return shell.ExeVM(ctx, key, destination, port)
		},
	}), nil
}
