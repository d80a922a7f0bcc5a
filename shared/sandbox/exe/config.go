package exe

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
)

// Shell is a connection to the lobby or to a VM.
type Shell interface {
	relay.Shell
	io.Closer
}

// workspace is where commands start: /home/exedev/workspace in exe's own image, and
// in others below the home of the image's user. The home itself would not do: it
// holds the image's files and berth's own, so that no code could be cloned into it,
// and a git clean there would take the sandbox with it.
const workspace = "~/workspace"

// Config is what a Provider needs.
type Config struct {
	Installation berth.InstallationID
	// Lobby is a connection to the lobby, which takes exe's commands and no shell's.
	Lobby Shell
	// Connect makes the connection to a VM: a host or user@host, and a port.
	Connect func(ctx context.Context, destination, port string) (Shell, error)
	// Guest is the guest's program for linux on an architecture.
	Guest func(arch string) ([]byte, error)
	// Patience is how long one Provision waits for a VM before it says creating;
	// StartLimit how long a VM may take in all before it is given up. Twenty
	// seconds and three minutes when zero.
	Patience, StartLimit time.Duration
	// CommandLimit bounds one command of the lobby; a minute when zero.
	CommandLimit time.Duration
	Clock        berth.Clock  // the system's when nil
	Logger       *slog.Logger // none when nil
}

func (c Config) withDefaults() Config {
	if c.Patience == 0 {
		c.Patience = 20 * time.Second
	}
	if c.StartLimit == 0 {
		c.StartLimit = 3 * time.Minute
	}
	if c.CommandLimit == 0 {
		c.CommandLimit = time.Minute
	}
	if c.Clock == nil {
		c.Clock = berth.SystemClock{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}
