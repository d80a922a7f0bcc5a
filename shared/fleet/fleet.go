// Package fleet is the docker provider of a server with hosts: each sandbox is on
// one of the hosts that have joined, or with the server's own engine where there is
// one. It places sandboxes, and passes every call on to where the sandbox is.
package fleet

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/sandbox/remote"
)

// Config is what a Fleet needs. All but Local, Dial and Credentials are required.
type Config struct {
	Records      *records.Store
	Secrets      berth.Secrets
	Installation berth.InstallationID
	Clock        berth.Clock
	Logger       *slog.Logger
	// Local finds the server's own engine, or says why there is none now.
	Local func() (provider berth.Provider, why string)
	// Dial makes the provider of one host; that of its agent when nil.
	Dial func(Member) (berth.Provider, error)
	// Credentials finds those of a registry, for agents to pull with.
	Credentials func(ctx context.Context, registry string) (agentapi.RegistryCredentials, error)
}

// Member is how one host is reached.
type Member struct {
	Host        berth.HostID
	Address     string
	Fingerprint string
	Bearer      berth.SecretValue
}

// Fleet is safe for concurrent use. Its methods return the errors of
// berth.Provider; a host that cannot be reached is unavailable, and of a host that
// was removed every sandbox is gone.
type Fleet struct {
	config Config

	mu      sync.Mutex // guards what follows
	members map[berth.HostID]*member
	joined  bool // whether any host has joined, when it was last looked
	looked  time.Time
}

var (
	_ berth.Provider = (*Fleet)(nil)
	_ berth.Placer   = (*Fleet)(nil)
)

// New makes no request.
func New(config Config) *Fleet {
	f := &Fleet{config: config, members: map[berth.HostID]*member{}}
	if config.Dial == nil {
		f.config.Dial = f.dial
	}
	return f
}

// Kind is docker: hosts bring no other provider.
func (*Fleet) Kind() berth.ProviderKind { return berth.ProviderDocker }

const noHosts = "no host has joined"

// local returns the server's own engine, or why there is none.
func (f *Fleet) local() (berth.Provider, string) {
	if f.config.Local == nil {
		return nil, noHosts
	}
	return f.config.Local()
}

const (
	// lookEvery is how long it is remembered whether there are hosts.
	lookEvery = 2 * time.Second
	lookTime  = 5 * time.Second
)

// Off says why sandboxes cannot be made at all: there is neither an engine nor a
// host. It is empty when there is one.
func (f *Fleet) Off() string {
	engine, why := f.local()
	if engine != nil {
		return ""
	}
	joined, err := f.anyJoined()
	switch {
	case err != nil: // what needs a host will say more
		f.config.Logger.Warn("the hosts could not be listed", "error", err)
		return ""
	case joined:
		return ""
	}
	return why
}

// anyJoined reports whether there are hosts. That there are some is believed for a
// while; that there are none is not, so that a run may follow the first join at once.
// The table is asked without the lock, which every call to a host needs.
func (f *Fleet) anyJoined() (bool, error) {
	now := f.config.Clock.Now()
	f.mu.Lock()
	joined, looked := f.joined, f.looked
	f.mu.Unlock()
	if joined && now.Sub(looked) < lookEvery {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	hosts, err := f.config.Records.AllHosts(ctx)
	if err != nil {
		return false, err
	}
	joined = slices.ContainsFunc(hosts, func(h records.StoredHost) bool { return h.Status != berth.HostJoining })
	f.mu.Lock()
	defer f.mu.Unlock()
	f.joined, f.looked = joined, now
	return joined, nil
}

// dial is the provider that a host's agent has.
func (f *Fleet) dial(m Member) (berth.Provider, error) {
	fingerprint, err := agentapi.ParseFingerprint(m.Fingerprint)
	if err != nil {
		return nil, err
	}
	return remote.New(remote.Config{
		URL: m.Address, Fingerprint: fingerprint, Token: string(m.Bearer.Reveal()), Kind: berth.ProviderDocker,
		Installation: f.config.Installation, Credentials: f.config.Credentials, Clock: f.config.Clock,
	})
}
