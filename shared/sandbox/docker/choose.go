//go:build linux

package docker

import (
	"context"
	"time"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
)

// chosen is what a probe has found out about an engine.
type chosen struct {
	engine    string // its id and its runtime
	process   string // the engine's, where it is one of this machine
	checkedAt time.Time
	transport Transport
	why       string // of the second transport
}

// checkAgain is how long it is believed that the engine is still the same one.
const checkAgain = 30 * time.Second

// Transport is how new sandboxes are reached, and why it is not the socket. It
// waits for the probe of this engine. Errors: unavailable when the engine does not
// answer.
func (p *Provider) Transport(ctx context.Context) (Transport, string, error) {
	if t := p.config.Transport; t != "" {
		return t, "the server was told so", nil
	}
	select {
	case p.choosing <- struct{}{}:
	case <-ctx.Done():
		return "", "", &berth.Error{Code: berth.CodeUnavailable, Message: "it is still being found out how sandboxes are reached", Cause: ctx.Err()}
	}
	defer func() { <-p.choosing }()
	now := p.config.Clock.Now()
	by, _ := p.engine.process()
	process := processName(by)
	if p.chosen != nil && p.chosen.process == process && now.Sub(p.chosen.checkedAt) < checkAgain {
		return p.chosen.transport, p.chosen.why, nil
	}
	found, err := p.choose(ctx)
	if err != nil {
		return "", "", err
	}
	if p.chosen == nil || p.chosen.transport != found.transport {
		p.config.Logger.Info("it is known how sandboxes of the Docker engine are reached", "transport", string(found.transport), "why", found.why)
	}
	found.process, found.checkedAt = process, now
	p.chosen = found
	if found.transport == TransportAttached {
		p.attaches.Store(true)
	}
	return found.transport, found.why, nil
}

// choose probes an engine that is not the last one. One that answers and does not
// let itself be probed, as through a proxy that allows little, is believed to be
// where its address says.
func (p *Provider) choose(ctx context.Context) (*chosen, error) {
	engine, err := p.engine.identity(ctx)
	if err == nil && p.chosen != nil && p.chosen.engine == engine {
		same := *p.chosen
		return &same, nil
	}
	why := ""
	if err == nil {
		why, err = p.probeSocket(ctx)
	}
	switch code := berth.CodeOf(err); {
	case err == nil && why == "":
		return &chosen{engine: engine, transport: TransportSocket}, nil
	case err == nil:
		return &chosen{engine: engine, transport: TransportAttached, why: why}, nil
	case code == berth.CodeUnavailable || code == berth.CodeTimedOut || ctx.Err() != nil:
		return nil, err
	case p.engine.socket == "":
		return &chosen{engine: engine, transport: TransportAttached, why: "the engine cannot be probed: " + reasonOf(err).Message}, nil
	}
	p.config.Logger.Warn("the Docker engine cannot be probed; it is taken for one of this machine", "error", err)
	return &chosen{engine: engine, transport: TransportSocket}, nil
}

// chooseEarly probes the engine before the first sandbox is asked for.
func (p *Provider) chooseEarly() {
	p.work.Go(func() {
		ctx, cancel := p.untilClosed()
		defer cancel()
		if _, _, err := p.Transport(ctx); err != nil && !p.isClosed() {
			p.config.Logger.Warn("how sandboxes of the Docker engine are reached is not known yet", "error", err)
		}
	})
}

// identity tells the engine, with the runtime that it gives containers, from
// every other.
func (e *engine) identity(ctx context.Context) (id string, err error) {
	err = e.call(ctx, "asking the Docker engine what it is", func(ctx context.Context) error {
		found, err := e.api.Info(ctx, client.InfoOptions{})
		id = found.Info.ID + " " + found.Info.DefaultRuntime
		return err
	})
	return id, err
}
