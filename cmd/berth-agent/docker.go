//go:build linux

package main

import (
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guestbin"
	"github.com/berth-dev/berth/shared/sandbox/docker"
)

// dockerOptions are for the provider docker.
type dockerOptions struct {
	use    string // auto or off
	host   string
	auth   string
	policy docker.Policy
}

const (
	dockerAuto = "auto"
	dockerOff  = "off"
)

func (d *dockerOptions) flags(flags *pflag.FlagSet) {
	flags.StringVar(&d.use, "docker", dockerAuto, "`use` of this machine's Docker engine: auto when one answers at the start, or off")
	flags.StringVar(&d.host, "docker-host", "", "`address` of the engine, such as unix:///run/docker.sock; DOCKER_HOST or the usual one unless given")
	flags.StringVar(&d.auth, "docker-auth", "", "`file` with credentials of registries, in the form of the docker client's config.json, beside those that the server lends")
	flags.StringArrayVar(&d.policy.Mounts, "allow-mount", nil, "`directory` that environments may mount into containers, with all below it; may be repeated")
	flags.StringArrayVar(&d.policy.NetworkModes, "allow-network-mode", nil, "`mode` that docker.network_mode may have beside bridge and none, such as host; may be repeated")
}

// openDocker finds the engine, and the sandboxes of an earlier agent.
func (o *serveOptions) openDocker(installation berth.InstallationID, registries *registries, logger *slog.Logger) (*docker.Provider, error) {
	config := docker.Config{
		Root: o.dir.sandboxes(berth.ProviderDocker), Installation: installation, Host: o.docker.host, Policy: o.docker.policy,
		Guarded: []string{string(o.dir), o.tokenFile}, Clock: o.clock, Logger: logger,
		Guest: o.guestFor, Credentials: registries.find,
	}
	if o.docker.auth != "" {
		config.Guarded = append(config.Guarded, o.docker.auth)
	}
	return docker.New(config)
}

// guestFor is the path of the guest for an architecture.
func (o *serveOptions) guestFor(arch string) (string, error) {
	if o.guest != "" {
		return o.guest, nil
	}
	return guestbin.Install(o.dir.guests(), arch)
}
