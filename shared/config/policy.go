package config

import (
	"errors"
	"slices"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// ErrProviderDisabled marks, for errors.Is, that a run needs a provider which is
// off on this server; the run's reason is then [berth.ReasonProviderDisabled].
var ErrProviderDisabled = errors.New("provider is off")

// Policy is what a server allows. The zero value allows nothing.
type Policy struct {
	// Providers are on. Local is one that servers have to opt in to.
	Providers []berth.ProviderKind
	// Off is why providers are off, of those where there is more to say.
	Off map[berth.ProviderKind]string
	// Mounts are the host directories that docker.extra_mounts may name, with
	// all below them. Links are resolved by the host that mounts.
	Mounts []string
	// NetworkModes are the values that docker.network_mode may have beside
	// bridge, default and none.
	NetworkModes []string
}

// Enabled reports whether a provider is on.
func (p Policy) Enabled(kind berth.ProviderKind) bool { return slices.Contains(p.Providers, kind) }

// Check returns what of an environment the server does not allow.
func (p Policy) Check(e berth.Environment) []berth.Problem {
	var problems berth.Problems
	if !p.Enabled(e.Provider) {
		problems.Add(berth.Problem{Location: "provider", Message: p.disabled(e.Provider)})
	}
	if e.Docker == nil {
		return problems.List()
	}
	for i, text := range e.Docker.ExtraMounts {
		m, err := berth.ParseMount(text)
		if err == nil && !slices.ContainsFunc(p.Mounts, func(dir string) bool { return below(dir, m.Host) }) {
			problems.Addf(berth.IndexPath("docker.extra_mounts", i), "mounts a directory that this server's allow list does not have")
		}
	}
	free := []string{"", "bridge", "default", "none"}
	if mode := e.Docker.NetworkMode; !slices.Contains(free, mode) && !slices.Contains(p.NetworkModes, mode) {
		problems.Addf("docker.network_mode", "is not on this server's allow list: bridge and none are free")
	}
	return problems.List()
}

func (p Policy) disabled(kind berth.ProviderKind) string {
	if why := p.Off[kind]; why != "" {
		return "the " + string(kind) + " provider is off on this server: " + why
	}
	if kind == berth.ProviderLocal {
		return "the local provider is off on this server: it runs commands on the server itself; start a server with berth serve --allow-local to have it, as one on AWS has no machine for it"
	}
	return "the " + string(kind) + " provider is off on this server"
}

// below compares whole parts of paths: /srv/data holds /srv/data/x, not /srv/database.
func below(dir, path string) bool {
	dir = strings.TrimSuffix(dir, "/")
	return path == dir || strings.HasPrefix(path, dir+"/")
}
