package embedded

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/fleet"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
	"github.com/berth-dev/berth/shared/sandbox/remote"
	"github.com/berth-dev/berth/shared/tokenfile"
)

// Agent is a host agent on another machine, whose providers are the server's.
type Agent struct {
	URL         string
	Fingerprint string
	TokenFile   string
	// Kinds are the providers to take; docker alone when empty.
	Kinds []berth.ProviderKind
}

// agent is the connection to one.
type agent struct {
	providers []berth.Provider
	kinds     []berth.ProviderKind
	first     *remote.Provider
	logger    *slog.Logger
}

// openAgent makes a provider for each kind, of an agent if there is one. One that
// does not answer is no error: the server comes up, and runs wait for it. Error:
// invalid.
func openAgent(o Options, s stores, logger *slog.Logger) (*agent, error) {
	a := &agent{kinds: o.Agent.Kinds, logger: logger}
	if o.Agent.URL == "" {
		return a, nil
	}
	fingerprint, err := agentapi.ParseFingerprint(o.Agent.Fingerprint)
	if err != nil {
		return nil, atFlag("--agent-fingerprint", err)
	}
	token, err := tokenfile.Read(o.Agent.TokenFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, berth.FieldErrorf(berth.CodeInvalid, "--agent-token-file", "must name a file that holds the agent's token, for its owner alone")
	}
	if err != nil {
		return nil, atFlag("--agent-token-file", err)
	}
	if len(a.kinds) == 0 {
		a.kinds = []berth.ProviderKind{berth.ProviderDocker}
	}
	for _, kind := range a.kinds {
		config := remote.Config{
			URL: o.Agent.URL, Fingerprint: fingerprint, Token: token, Kind: kind, Installation: s.installation.ID, Clock: o.Clock,
		}
		if kind == berth.ProviderDocker {
			config.Credentials = fleet.LendFrom(s.secrets)
		}
		p, err := remote.New(config)
		if err != nil {
			return nil, atFlag("--agent", err)
		}
		a.first = p
		a.providers = append(a.providers, p)
	}
	return a, nil
}

// beside returns the server's own providers and the agent's. Error: invalid when
// one would be both.
func (a *agent) beside(own []berth.Provider) ([]berth.Provider, error) {
	all := append([]berth.Provider(nil), own...)
	for _, p := range a.providers {
		if slices.ContainsFunc(all, func(other berth.Provider) bool { return other.Kind() == p.Kind() }) {
			return nil, &berth.Error{
				Code: berth.CodeInvalid, Field: "--agent-provider", Message: string(p.Kind()) + " is there already: as the server's own, or named twice",
				Remediation: "Leave one of them out, as with --allow-local=false.",
			}
		}
		all = append(all, p)
	}
	return all, nil
}

// atFlag names the flag that is at fault.
func atFlag(flag string, err error) error {
	var e *berth.Error
	if !errors.As(err, &e) {
		return berth.FieldErrorf(berth.CodeInvalid, flag, "%s", err.Error())
	}
	named := *e
	named.Field = flag
	return &named
}

// greetLimit is how long the agent has to say what it is.
const greetLimit = 10 * time.Second

// greet logs what the agent says of itself, or why nothing will come of it.
func (a *agent) greet(ctx context.Context) {
	if a.first == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, greetLimit)
	defer cancel()
	health, err := a.first.Health(ctx)
	if err != nil {
		a.logger.Error("the host agent cannot be used now", "code", string(berth.CodeOf(err)), "error", err)
		return
	}
	for _, kind := range a.kinds {
		i := slices.IndexFunc(health.Providers, func(h agentapi.ProviderHealth) bool { return h.Kind == kind })
		switch {
		case i < 0:
			a.logger.Error("the host agent does not serve this provider", "provider", string(kind))
		case health.Providers[i].Problem != "":
			a.logger.Error("the host agent's provider does not work now", "provider", string(kind), "problem", health.Providers[i].Problem)
		default:
			a.logger.Info("the host agent makes sandboxes", "provider", string(kind), "engine", health.Providers[i].Engine,
				"version", health.Version, "cpus", health.CPUs, "memory_bytes", health.MemoryBytes, "free_disk_bytes", health.FreeDiskBytes)
		}
	}
}
