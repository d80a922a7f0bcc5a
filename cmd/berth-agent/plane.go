//go:build linux

package main

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/hostagent/membership"
	"github.com/berth-dev/berth/shared/version"
)

// plane is the control plane, as a host calls it.
type plane interface {
	membership.ControlPlane
	JoinHost(ctx context.Context, ask berth.HostJoin) (berth.JoinedHost, error)
}

// dialer makes the client of a server; key is empty for a join.
type dialer func(server, key string) (plane, error)

// dial makes one that tries each call once: those who call try again themselves.
func dial(server, key string) (plane, error) {
	return client.New(client.Config{
		BaseURL: server, Token: key, UserAgent: "berth-agent/" + version.Version, Patience: -1,
	})
}
