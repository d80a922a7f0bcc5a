package ssh

import (
	"context"
	"io"
	"log/slog"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
)

// Shell is a connection to a host.
type Shell interface {
	relay.Shell
	io.Closer
}

// Record is a sandbox that is or was on some host.
type Record struct {
	ID      berth.SandboxID
	Options berth.SSHOptions
}

// Config is what a Provider needs.
type Config struct {
	Installation berth.InstallationID
	// Connect makes the connection to a host, and need not use it yet.
	// configFile is empty unless the environment names one. Errors: invalid,
	// unavailable.
	Connect func(ctx context.Context, destination, configFile string) (Shell, error)
	// Guest is the guest's program for linux on an architecture.
	Guest func(arch string) ([]byte, error)
	// Records are the sandboxes of this provider that are recorded, destroyed ones
	// too: List asks their hosts, and a sandbox whose Ref was not recorded in time
	// is found by them. Nil is none.
	Records func(ctx context.Context) ([]Record, error)
	Clock   berth.Clock  // the system's when nil
	Logger  *slog.Logger // none when nil
}
