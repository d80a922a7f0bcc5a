package docker

import (
	"context"
	"log/slog"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/registryauth"
)

// Config is what a Provider needs. Root, Guest and Installation are required.
type Config struct {
	// Root is the folder for the sandboxes' own files, made when it is not
	// there. It belongs to one server at a time.
	Root string
	// Guest returns the path of the program cmd/berth-guest for an architecture in
	// Go's words. The file stays as long as a sandbox is there.
	Guest        func(arch string) (path string, err error)
	Installation berth.InstallationID
	// Host is the engine's address, such as unix:///var/run/docker.sock,
	// tcp://HOST:2376 or ssh://USER@HOST; DOCKER_HOST, with DOCKER_TLS_VERIFY and DOCKER_CERT_PATH, or
	// the usual socket when empty.
	Host string
	// SSHConfig replaces the user's own configuration of OpenSSH, for ssh:// hosts.
	SSHConfig string
	// Transport is how new sandboxes are reached; when empty, a probe of the engine
	// finds out.
	Transport Transport
	Policy    Policy
	// Guarded are paths that no extra mount may hold or lie in, whatever the policy
	// says, beside Root and the engine's own.
	Guarded []string
	// Credentials finds those of a registry, such as docker.io or host:5000. It is
	// asked for each pull; nil, and a nil answer, is none.
	Credentials func(ctx context.Context, registry string) (*Credentials, error)
	// PullTimeout bounds one pull; zero is 30 minutes. A pull that makes no
	// progress for PullStall, 5 minutes when zero, has failed too.
	PullTimeout, PullStall time.Duration
	// CallTimeout bounds one other call to the engine; zero is 2 minutes.
	CallTimeout time.Duration
	// OutputStall is how long the fetching of an output goes on to which nothing
	// comes; zero is CallTimeout.
	OutputStall time.Duration
	// ReadOnlyRoot makes all but the workspace and /tmp of containers read-only.
	ReadOnlyRoot bool
	// PIDsLimit is how many processes and threads a container may have; zero is
	// DefaultPIDsLimit, negative is no limit.
	PIDsLimit int64
	Clock     berth.Clock // the system's when nil
	Logger    *slog.Logger
}

// DefaultPIDsLimit keeps a fork bomb in one container from taking the machine's
// last process number.
const DefaultPIDsLimit = 16384

// Workspace is where commands of every sandbox start.
const Workspace = "/workspace"

// Credentials are one registry's.
type Credentials = registryauth.Credentials

func (c *Config) setDefaults() {
	if c.Clock == nil {
		c.Clock = berth.SystemClock{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.PullTimeout <= 0 {
		c.PullTimeout = 30 * time.Minute
	}
	if c.PullStall <= 0 {
		c.PullStall = 5 * time.Minute
	}
	if c.CallTimeout <= 0 {
		c.CallTimeout = 2 * time.Minute
	}
	if c.OutputStall <= 0 {
		c.OutputStall = c.CallTimeout
	}
	if c.PIDsLimit == 0 {
		c.PIDsLimit = DefaultPIDsLimit
	}
}
