package sprites

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sprites/spritesapi"
)

// Config is what a Provider needs. Token, Guest and Installation are required.
type Config struct {
	// URL is the API's base; the hosted one when empty.
	URL string
	// Token is asked for each request: it may be replaced at any time.
	Token func(ctx context.Context) (berth.SecretValue, error)
	// Guest is the program cmd/berth-guest for an architecture in Go's words.
	Guest        func(arch string) ([]byte, error)
	Installation berth.InstallationID
	// Hold is how long a connection that has gone keeps the sprite awake, and what
	// runs in it; DefaultHold when zero.
	Hold time.Duration
	// Moment is how long Provision waits before it says "creating": 1 s. A function
	// that is frozen between calls gives more.
	Moment time.Duration
	// HTTP makes the requests, without a timeout of its own; a fresh one when nil.
	HTTP   *http.Client
	Pace   spritesapi.Pace
	Clock  berth.Clock // the system's when nil
	Logger *slog.Logger
}

// DefaultHold outlasts the longest time between two looks at a command.
const DefaultHold = 75 * time.Second

func (c *Config) setDefaults() {
	if c.Clock == nil {
		c.Clock = berth.SystemClock{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Moment == 0 {
		c.Moment = time.Second
	}
	if c.Hold == 0 {
		c.Hold = DefaultHold
	}
}
