//go:build linux

package main

import (
	"errors"
	"io"
	"log/slog"
	"runtime"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
	"github.com/berth-dev/berth/shared/sandbox/local"
)

// opened are the providers that are on. Closing them leaves their sandboxes
// running.
type opened struct {
	agentapi.Providers
	closers []io.Closer
}

func (o *opened) add(p interface {
	berth.Provider
	io.Closer
},
) {
	o.Providers[p.Kind()] = p
	o.closers = append(o.closers, p)
}

func (o *opened) Close() error {
	var errs []error
	for _, c := range o.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// openProviders takes up what an earlier agent left running.
func (o *serveOptions) openProviders(installation berth.InstallationID, registries *registries, logger *slog.Logger) (*opened, error) {
	all := &opened{Providers: agentapi.Providers{}}
	if o.allowLocal {
		guest, err := o.guestFor(runtime.GOARCH)
		if err != nil {
			return nil, err
		}
		p, err := local.New(local.Config{
			Root: o.dir.sandboxes(berth.ProviderLocal), GuestPath: guest, Installation: installation, Clock: o.clock, Logger: logger,
		})
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all.add(p)
	}
	if o.docker.use != dockerOff {
		p, err := o.openDocker(installation, registries, logger)
		switch {
		case err == nil:
			all.add(p)
		case berth.CodeOf(err) == berth.CodeUnavailable && o.allowLocal:
			logger.Warn("the provider docker is off", "error", err)
		default:
			return nil, errors.Join(err, all.Close())
		}
	}
	return all, nil
}
