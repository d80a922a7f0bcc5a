// Package control has the use cases of the control plane: what the HTTP API, a
// schedule and the sweeper ask for, whatever the wiring.
package control

import (
	"context"
	"io"
	"log/slog"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/config"
	"github.com/berth-dev/berth/shared/metric"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner"
)

// Plane is the control plane. All fields are required but those that say otherwise.
type Plane struct {
	Records      *records.Store
	Providers    Providers
	Secrets      berth.Secrets
	Orchestrator berth.Orchestrator
	IDs          berth.IDs
	Clock        berth.Clock
	Installation berth.InstallationID
	Logger       *slog.Logger
	// Metrics is nil where nobody counts.
	Metrics *metric.Recorder
	// ServerDefault is the environment of runs that name none; empty is
	// berth.DefaultEnvironmentID.
	ServerDefault berth.EnvironmentID
	// Policy is what the server allows. Which providers are on is taken from
	// Providers.
	Policy config.Policy
	// Tickets are for streams that the server itself carries; nil where it carries none.
	Tickets Ticketing
	// Room refuses runs while there is no space for their record; nil lets all begin.
	Room func() error
	// Caller calls host agents back when they join; nil refuses joins.
	Caller Caller
	// LoopbackHosts lets hosts join from the server's own machine.
	LoopbackHosts bool
	// Random is what tokens and hosts' keys are made of; the system's when nil.
	Random io.Reader
	// Directories resolves the directory of local runs; nil is the server's file system.
	Directories berth.Directories
}

// runner has the parts of the state machine that the API does by itself.
func (p *Plane) runner() *runner.Runner {
	return &runner.Runner{
		Records: p.Records, Providers: p.Providers, Secrets: p.Secrets, Orchestrator: p.Orchestrator,
		Clock: p.Clock, Installation: p.Installation, Logger: p.Logger, Metrics: p.Metrics,
	}
}

func (p *Plane) environ() runner.Environ {
	return runner.Environ{Records: p.Records, Secrets: p.Secrets}
}

func (p *Plane) policy() config.Policy {
	policy := p.Policy
	policy.Providers, policy.Off = p.Providers.Kinds(), p.Providers.Reasons()
	return policy
}

// Provider returns a provider, or unsupported with what to do when it is off.
func (p *Plane) Provider(kind berth.ProviderKind) (berth.Provider, error) {
	return p.Providers.Find(kind)
}

// providerOf returns the sandbox's provider and its address there.
func (p *Plane) providerOf(sb berth.Sandbox) (berth.Provider, berth.SandboxRef, error) {
	provider, err := p.Providers.Find(sb.Provider)
	return provider, berth.RefOf(sb), err
}

// liveRun returns conflict while the run is going.
func (p *Plane) liveRun(ctx context.Context, id berth.RunID, doing string) error {
	if id == "" {
		return nil
	}
	head, err := p.Records.FindHead(ctx, id)
	switch {
	case berth.CodeOf(err) == berth.CodeNotFound:
		return nil
	case err != nil:
		return err
	case head.Status.Ended():
		return nil
	}
	return &berth.Error{
		Code: berth.CodeConflict, Message: "run " + string(id) + " is " + string(head.Status) + ": " + doing,
		Remediation: "Wait for the run to end, or cancel it: berth runs cancel " + string(id),
	}
}
