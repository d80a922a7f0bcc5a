package agentapi

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/filemove"
	"github.com/berth-dev/berth/shared/ids"
	"github.com/berth-dev/berth/shared/tunnel"
)

// Providers are what an agent serves, by kind.
type Providers map[berth.ProviderKind]berth.Provider

// Config is what a Server needs. Token, and Installation with Providers or
// Adopt, are required.
type Config struct {
	// Token is the bearer that every request must have.
	Token string
	// Installation is the only one that is served: one control plane would sweep
	// away the sandboxes of another.
	Installation berth.InstallationID
	Providers    Providers
	// Adopt stands for both while it is not known yet whom the agent belongs to.
	// It is called with the installation that the first caller with the token
	// names, and again when it failed.
	Adopt func(context.Context, berth.InstallationID) (Providers, error)
	// Credentials, if set, is told of the registry's of each sandbox before it is
	// made.
	Credentials func(RegistryCredentials)
	// Capacity looks at the host.
	Capacity func() (Capacity, error)
	// MinFreeDisk is how many bytes have to be free for a new sandbox.
	MinFreeDisk int64
	// Nudge, if set, tells the control plane of a command that it has armed the agent
	// for. It must not wait. Without it arming is unsupported.
	Nudge func(berth.Nudge)
	// Previews, if set, gives browsers a way to ports of sandboxes. Without it there is
	// none.
	Previews Previews
	// Fetcher is for signed URLs; it must follow no redirect. One that trusts the
	// system's authorities is made when nil.
	Fetcher *http.Client
	Version berth.Version
	Clock   berth.Clock // the system's when nil
	IDs     berth.IDs   // of requests; made from Clock when nil
	Logger  *slog.Logger
}

// Server is the API of one agent. It is safe for concurrent use. Close it before
// its providers.
type Server struct {
	config  Config
	token   [sha256.Size]byte
	mux     *http.ServeMux
	armings *armings
	moves   *filemove.Mover
	tickets *tunnel.Tickets

	mu    sync.Mutex // guards owner
	owner *owner     // nil until it is known
}

// owner is the installation that the agent belongs to.
type owner struct {
	installation berth.InstallationID
	providers    Providers
}

// New makes the handler. Error: invalid without a token, or without providers
// and a way to them.
func New(config Config) (*Server, error) {
	if config.Token == "" || strings.TrimSpace(config.Token) != config.Token {
		return nil, berth.FieldErrorf(berth.CodeInvalid, "token", "must be set, without blanks around it")
	}
	if config.Clock == nil {
		config.Clock = berth.SystemClock{}
	}
	if config.IDs == nil {
		config.IDs = ids.New(config.Clock)
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{config: config, token: sha256.Sum256([]byte(config.Token)), mux: http.NewServeMux()}
	s.armings = newArmings(config.Nudge, config.Clock)
	s.tickets = tunnel.NewTickets(config.Clock)
	s.moves = filemove.New(filemove.Config{Client: config.Fetcher, Clock: config.Clock, Logger: config.Logger})
	switch {
	case config.Installation != "" && len(config.Providers) > 0:
		s.owner = &owner{config.Installation, config.Providers}
	case config.Installation != "" || config.Adopt == nil:
		return nil, berth.FieldErrorf(berth.CodeInvalid, "providers", "must be set together with the installation, or found by Adopt")
	}
	for _, route := range s.routes() {
		s.mux.Handle(route.method+" "+route.pattern, s.handler(route))
	}
	s.mux.HandleFunc("/", unknown)
	return s, nil
}

// Previews are the ways of browsers to ports of sandboxes.
type Previews interface {
	// Open makes a URL that is good for ttl, as long as is usual when zero.
	Open(sandbox berth.SandboxID, port int, ttl time.Duration, open tunnel.Opener) (url string, until time.Time, err error)
	// End breaks those of a sandbox off.
	End(sandbox berth.SandboxID)
}

// Close forgets what is armed, and breaks off files on the move and streams.
func (s *Server) Close() {
	s.tickets.Close()
	s.armings.close()
	s.moves.Close()
}
