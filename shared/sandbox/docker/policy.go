package docker

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// Policy is what the server lets environments do with its machine. The zero value
// allows nothing.
type Policy struct {
	// Mounts are the directories of this machine that docker.extra_mounts may
	// name, with all below them. Links are resolved on both sides.
	Mounts []string
	// NetworkModes are the values that docker.network_mode may have beside
	// default, bridge and none.
	NetworkModes []string
}

// freeNetworks need no permission.
var freeNetworks = []string{"", "default", "bridge", "none"}

// bind is a mount whose links are resolved.
type bind struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"read_only,omitempty"`
}

// network returns the engine's network mode for e. Errors: invalid, forbidden.
func (p Policy) network(e berth.Environment) (string, error) {
	asked := ""
	if e.Docker != nil {
		asked = e.Docker.NetworkMode
	}
	if asked != "" && e.Network.Mode == berth.NetworkBlock && asked != "none" {
		return "", berth.FieldErrorf(berth.CodeInvalid, "docker.network_mode", "must be none or unset with network.mode = block")
	}
	switch {
	case e.Network.Mode == berth.NetworkBlock:
		return "none", nil
	case e.Network.Mode == berth.NetworkCIDRAllowList:
		return "", berth.FieldErrorf(berth.CodeUnsupported, "network.mode", "the docker provider cannot restrict the network to CIDRs")
	case !slices.Contains(freeNetworks, asked) && !slices.Contains(p.NetworkModes, asked):
		return "", berth.FieldErrorf(berth.CodeForbidden, "docker.network_mode", "is not on this server's allow list: bridge and none are free")
	case asked == "":
		return "default", nil
	}
	return asked, nil
}

// binds resolves and checks the extra mounts of e. No mount may hold one of the
// guarded paths or lie in it: whoever has the engine's socket has the machine.
// Errors: invalid, forbidden.
func (p Policy) binds(e berth.Environment, guarded []string) ([]bind, error) {
	if e.Docker == nil {
		return nil, nil
	}
	var binds []bind
	for i, text := range e.Docker.ExtraMounts {
		at := berth.IndexPath("docker.extra_mounts", i)
		m, err := berth.ParseMount(text)
		if err != nil {
			return nil, berth.FieldErrorf(berth.CodeInvalid, at, "%s", err.Error())
		}
		source, err := p.allowed(m.Host, guarded)
		if err != nil {
			return nil, berth.FieldErrorf(berth.CodeOf(err), at, "%s", err.Error())
		}
		if reserved(m.Container) {
			return nil, berth.FieldErrorf(berth.CodeInvalid, at, "mounts over what every sandbox has at %s", m.Container)
		}
		binds = append(binds, bind{source, m.Container, m.ReadOnly})
	}
	return binds, nil
}

func (p Policy) allowed(path string, guarded []string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if os.IsNotExist(err) {
		return "", berth.Errorf(berth.CodeInvalid, "mounts a path that does not exist on the server")
	}
	if err != nil {
		return "", berth.Errorf(berth.CodeInvalid, "mounts a path that cannot be resolved on the server")
	}
	if real == "/" {
		return "", berth.Errorf(berth.CodeForbidden, "mounts the whole machine, which is never allowed")
	}
	for _, g := range guarded {
		if within(real, g) || within(g, real) {
			return "", berth.Errorf(berth.CodeForbidden, "mounts the engine's socket or the server's own data, which is never allowed")
		}
	}
	for _, dir := range p.Mounts {
		if base, err := filepath.EvalSymlinks(dir); err == nil && within(base, real) {
			return real, nil
		}
	}
	return "", berth.Errorf(berth.CodeForbidden, "mounts a path that this server's allow list does not have")
}

// Where the guest and its socket are in a container.
const (
	socketTarget = "/run/berth"
	guestTarget  = "/run/berth-guest"
)

// reserved reports whether a mount at target would hide the guest or its socket,
// or be one of the kernel's own file systems.
func reserved(target string) bool {
	for _, ours := range []string{socketTarget, guestTarget, "/proc", "/sys", "/dev"} {
		if within(target, ours) || within(ours, target) && ours != "/dev" {
			return true
		}
	}
	return false
}

// within compares whole parts of clean paths: /srv/data holds /srv/data/x, not
// /srv/database.
func within(dir, path string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
