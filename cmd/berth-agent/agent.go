//go:build linux

package main

import (
	"context"
	"log/slog"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
	"github.com/berth-dev/berth/shared/version"
)

// agent is what serves, and what it has opened.
type agent struct {
	options    serveOptions
	logger     *slog.Logger
	registries registries
	trial      bool // whom it belongs to is not recorded
	public     *public

	mu           sync.Mutex // guards what follows: a first caller may come late
	opened       *opened
	installation berth.InstallationID // of what is opened
	closed       bool
}

// handler serves the installation that the agent belongs to, or the first that
// calls. nudge is nil for an agent that has not joined. Close the handler first.
func (a *agent) handler(token string, nudge func(berth.Nudge)) (*agentapi.Server, error) {
	config := agentapi.Config{
		Token: token, Capacity: a.options.dir.capacity, MinFreeDisk: a.options.minFreeBytes, Version: version.Info(""),
		Credentials: a.registries.lend, Nudge: nudge, Clock: a.options.clock, Logger: a.logger,
	}
	if a.public != nil {
		config.Previews = a.public
	}
	owner, err := a.owner()
	if err != nil {
		return nil, err
	}
	if owner == "" {
		config.Adopt = func(_ context.Context, id berth.InstallationID) (agentapi.Providers, error) { return a.open(id) }
		return agentapi.New(config)
	}
	config.Installation = owner
	if config.Providers, err = a.open(owner); err != nil {
		return nil, err
	}
	return agentapi.New(config)
}

// owner is the installation that was named by flag or that an earlier start of
// the agent has served. Errors: invalid, conflict when they differ.
func (a *agent) owner() (berth.InstallationID, error) {
	recorded, err := a.options.dir.owner()
	named := berth.InstallationID(a.options.installation)
	if err != nil || named == "" {
		return recorded, err
	}
	if _, err := berth.ParseSlug("the installation", string(named)); err != nil {
		return "", berth.FieldErrorf(berth.CodeInvalid, "--installation", "%s", err.Error())
	}
	if recorded != "" && recorded != named {
		return "", &berth.Error{
			Code: berth.CodeConflict, Message: "the sandboxes in " + string(a.options.dir) + " belong to the installation " + string(recorded),
			Remediation: "leave --installation away, or give the agent another --data-dir",
		}
	}
	return named, nil
}

// open opens the providers for good: sandboxes have their installation written
// on them.
func (a *agent) open(id berth.InstallationID) (agentapi.Providers, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, berth.Errorf(berth.CodeUnavailable, "the host agent is ending")
	}
	if !a.trial {
		if err := a.options.dir.setOwner(id); err != nil {
			return nil, err
		}
	}
	all, err := a.options.openProviders(id, &a.registries, a.logger)
	if err != nil {
		return nil, err
	}
	a.opened, a.installation = all, id
	return all.Providers, nil
}

// adopted is the installation that has called; empty while none has.
func (a *agent) adopted() berth.InstallationID {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.installation
}

// close lets go of the sandboxes, which go on.
func (a *agent) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if a.opened == nil {
		return
	}
	if err := a.opened.Close(); err != nil {
		a.logger.Error("closing the providers", "error", err)
	}
}
