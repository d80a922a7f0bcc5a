//go:build linux

package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/spf13/pflag"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guestbin"
	"github.com/berth-dev/berth/shared/sandbox/docker"
)

// dockerOptions are for the provider docker.
type dockerOptions struct {
	on, wanted bool // wanted says that it was asked for by flag
	host       string
	auth       string
	policy     docker.Policy
}

func (d *dockerOptions) flags(flags *pflag.FlagSet) {
	flags.BoolVar(&d.on, "docker", true, "make sandboxes in containers (provider docker)")
	flags.StringVar(&d.host, "docker-host", "", "`address` of this machine's Docker engine (default: DOCKER_HOST, else unix:///var/run/docker.sock)")
	flags.StringVar(&d.auth, "docker-auth", "", "`file` with registries' credentials, in the form of the docker client's config.json")
	flags.StringArrayVar(&d.policy.Mounts, "allow-mount", nil, "`folder` of this machine that environments may mount, with what is below it; may be repeated")
	flags.StringArrayVar(&d.policy.NetworkModes, "allow-network-mode", nil, "network `mode` that environments may have beside bridge and none; may be repeated")
}

// openDocker finds the engine, and the sandboxes of an earlier agent.
func (o *serveOptions) openDocker(installation berth.InstallationID, logger *slog.Logger) (*docker.Provider, error) {
	config := docker.Config{
		Root: o.dir.sandboxes(berth.ProviderDocker), Installation: installation, Host: o.docker.host, Policy: o.docker.policy,
		Guarded: []string{string(o.dir), o.tokenFile}, Clock: o.clock, Logger: logger,
		Guest: o.guestFor,
	}
	if o.docker.auth != "" {
		config.Guarded = append(config.Guarded, o.docker.auth)
		// Read for each pull, so that credentials can be renewed while the agent runs.
		config.Credentials = func(ctx context.Context, registry string) (*docker.Credentials, error) {
			find, err := readAuths(o.docker.auth)
			if err != nil {
				return nil, err
			}
			return find(ctx, registry)
		}
	}
	return docker.New(config)
}

func readAuths(path string) (func(context.Context, string) (*docker.Credentials, error), error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, &berth.Error{
			Code: berth.CodeUnavailable, Message: "the registries' credentials in " + path + " cannot be read", Cause: err,
			Remediation: "Make the file that --docker-auth names readable for the agent's user.",
		}
	}
	return docker.ParseAuths(text)
}

// guestFor is the path of the guest for an architecture.
func (o *serveOptions) guestFor(arch string) (string, error) {
	if o.guest != "" {
		return o.guest, nil
	}
	return guestbin.Install(o.dir.guests(), arch)
}
