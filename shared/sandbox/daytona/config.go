package daytona

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
)

// Config is what a Provider needs. Key, Scope, Guest and Installation are
// required.
type Config struct {
	// URL is the control plane's base; the hosted one when empty.
	URL string
	// Key is the API key, asked for each request: it may be rotated at any time.
	Key func(ctx context.Context) (berth.SecretValue, error)
	// Scope is the secret that names of built snapshots are keyed with. It is the
	// installation's own and never changes: other names would build all anew.
	Scope func(ctx context.Context) (berth.SecretValue, error)
	// Guest is the program cmd/berth-guest for an architecture in Go's words.
	Guest        func(arch string) ([]byte, error)
	Installation berth.InstallationID
	// Plain runs commands where the guest does not run, over a shell; nil refuses
	// such sandboxes.
	Plain func(shell func(ctx context.Context, ref berth.SandboxRef) (relay.Shell, error)) Plain
	// Transport carries the requests; a fresh one when nil.
	Transport http.RoundTripper
	Pace      Pace
	Clock     berth.Clock // the system's when nil
	Logger    *slog.Logger
}

// Pace says how long things are waited for. Zero fields are as they say.
type Pace struct {
	// Provision is how long Provision waits before it says "creating": 1 s. A
	// function that is frozen between calls gives more.
	Provision time.Duration
	// Snapshot is how long a build may take: 10 minutes.
	Snapshot time.Duration
	// Start is how long a sandbox may take to start: 5 minutes.
	Start time.Duration
	// Poll is the first pause between two looks at a sandbox, which grows up to ten
	// times as much: 200 ms. At a snapshot it is looked ten times less often.
	Poll time.Duration
	// Patience and FirstPause are the client's: how long one call is repeated, 2
	// minutes, and the first pause of that, 500 ms.
	Patience, FirstPause time.Duration
	// Relay is how long a request to the guest goes on dialling: 45 s. A toolbox
	// comes and goes with the proxy before it.
	Relay time.Duration
	// Dial bounds one try of that: 20 s.
	Dial time.Duration
	// Silence is how long a started sandbox may be silent before its commands are
	// lost: 2 minutes. A toolbox that the kernel killed for memory does not come back.
	Silence time.Duration
	// Gone is how long Destroy waits for the sandbox's end: 5 s. Daytona may take an
	// hour, and no run waits for that.
	Gone time.Duration
	// Restart is how long Start waits before it says "creating": 5 s.
	Restart time.Duration
	// Stop is how long Stop waits for it: 20 s, less than a gateway gives.
	Stop time.Duration
}

func orElse(d *time.Duration, usual time.Duration) {
	if *d == 0 {
		*d = usual
	}
}

func (c *Config) setDefaults() {
	if c.Clock == nil {
		c.Clock = berth.SystemClock{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	orElse(&c.Pace.Provision, time.Second)
	orElse(&c.Pace.Snapshot, 10*time.Minute)
	orElse(&c.Pace.Start, 5*time.Minute)
	orElse(&c.Pace.Poll, 200*time.Millisecond)
	orElse(&c.Pace.Relay, 45*time.Second)
	orElse(&c.Pace.Dial, 20*time.Second)
	orElse(&c.Pace.Silence, 2*time.Minute)
	orElse(&c.Pace.Gone, 5*time.Second)
	orElse(&c.Pace.Restart, 5*time.Second)
	orElse(&c.Pace.Stop, 20*time.Second)
}
