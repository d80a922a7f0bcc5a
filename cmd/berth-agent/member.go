//go:build linux

package main

import (
	"context"
	"log/slog"
	"net/url"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/credentials"
	"github.com/berth-dev/berth/shared/hostagent/membership"
	"github.com/berth-dev/berth/shared/version"
)

func (d folder) host() string { return d.path("host.json") }

// member is what is recorded of a join.
func (d folder) member() (membership.Record, bool, error) { return membership.Read(d.host()) }

// member is the part of an agent that talks to the server it has joined.
type member struct {
	heart  *membership.Heart
	nudges *membership.Nudges
	work   sync.WaitGroup
	stop   context.CancelFunc
}

func newMember(o serveOptions, r membership.Record, browsers *public, logger *slog.Logger) (*member, error) {
	server, err := o.dial(r.Server, string(r.Key.Reveal()))
	if err != nil {
		return nil, berth.Wrap(err, "reading whom the agent has joined")
	}
	beat := func() (berth.Heartbeat, error) {
		capacity, err := o.dir.hostCapacity()
		return berth.Heartbeat{HostCapacity: capacity, PublicURL: browsers.announced(), Version: version.Version}, err
	}
	heart := &membership.Heart{Plane: server, Host: r.Host, Beat: beat, Clock: o.clock, Logger: logger}
	if browsers != nil {
		heart.Refused = browsers.EndAll // whoever was let in, the host is not the server's any more
	}
	return &member{heart: heart, nudges: membership.NewNudges(server, r.Host, o.clock, logger)}, nil
}

// start begins to send heartbeats and nudges.
func (m *member) start(ctx context.Context) {
	ctx, m.stop = context.WithCancel(ctx)
	m.work.Go(func() { m.heart.Run(ctx) })
	m.work.Go(func() { m.nudges.Run(ctx) })
}

// close waits until nothing is sent any more.
func (m *member) close() {
	m.stop()
	m.work.Wait()
}

// misses says what is wrong with an agent that listens where its server does not call.
func misses(r membership.Record, listened string) string {
	u, err := url.Parse(r.Address)
	if err != nil || credentials.IsLoopback(u.Hostname()) {
		return ""
	}
	if here, err := url.Parse(listened); err == nil && credentials.IsLoopback(here.Hostname()) {
		return "the server calls " + r.Address + ", and only this machine reaches " + listened +
			": unless something forwards the calls, leave --listen away or listen on :" + u.Port()
	}
	return ""
}
