package embedded

import (
	"errors"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/config"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/guestbin"
	"github.com/berth-dev/berth/shared/registryauth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
)

// Docker says how the server uses a Docker engine.
type Docker struct {
	// Off leaves the engine alone, also when there is one.
	Off bool
	// Host is the engine's address; DOCKER_HOST or the usual socket when empty.
	Host string
	// AllowMounts are the directories that environments may mount, and what is
	// below them; AllowNetworkModes are the networks beside bridge and none.
	AllowMounts, AllowNetworkModes []string
}

// policy is what of an engine environments may use.
func (d Docker) policy() config.Policy {
	return config.Policy{Mounts: d.AllowMounts, NetworkModes: d.AllowNetworkModes}
}

// openDocker makes the provider of this machine's engine. While there is none that
// can be used it is off, with the reason.
func openDocker(p paths, o Options, s stores, logger *slog.Logger) berth.Provider {
	switch {
	case o.Docker.Off:
		return control.Off(berth.ProviderDocker, "the server was started with --docker=off")
	case o.Agent.URL != "" && (len(o.Agent.Kinds) == 0 || slices.Contains(o.Agent.Kinds, berth.ProviderDocker)):
		return nil // it is the agent's
	}
	config := dockerConfig(p, o, s, logger)
	told := ""
	return control.Late(berth.ProviderDocker, o.Clock, func() (berth.Provider, string) {
		provider, err := docker.New(config)
		if err == nil {
			logger.Info("the docker provider is on")
			return provider, ""
		}
		why := reasonText(err)
		if why != told {
			logger.Info("the docker provider is off", "error", err)
			told = why
		}
		return nil, why
	})
}

func dockerConfig(p paths, o Options, s stores, logger *slog.Logger) docker.Config {
	return docker.Config{
		Root: p.containers(), Installation: s.installation.ID, Host: o.Docker.Host,
		Guest: func(arch string) (string, error) {
			if o.GuestPath != "" {
				return filepath.Abs(o.GuestPath)
			}
			return guestbin.Install(p.guests(), arch)
		},
		Policy:      docker.Policy{Mounts: o.Docker.AllowMounts, NetworkModes: o.Docker.AllowNetworkModes},
		Guarded:     guarded(o),
		Credentials: registryauth.FromSecret(s.secrets),
		Clock:       o.Clock, Logger: logger,
	}
}

// guarded are the server's own folders.
func guarded(o Options) []string {
	var dirs []string
	for _, dir := range []string{o.DataDir, o.ConfigDir} {
		if abs, err := filepath.Abs(dir); dir != "" && err == nil {
			dirs = append(dirs, abs)
		}
	}
	return dirs
}

// reasonText is an error's message without its cause.
func reasonText(err error) string {
	var e *berth.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	shown := *e
	shown.Cause = nil
	if shown.Remediation != "" {
		return shown.Error() + ". " + shown.Remediation
	}
	return shown.Error()
}
