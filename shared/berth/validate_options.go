package berth

import (
	"net/url"
	"path"
	"strings"
)

// MaxPoolSize is the most sandboxes that one environment keeps started.
const MaxPoolSize = 100

const maxExtraMounts = 32

var (
	dockerNetwork   = lazyPattern(`^(container:)?[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)
	daytonaSnapshot = lazyPattern(`^[A-Za-z0-9_.:-]+(/[A-Za-z0-9_.:-]+)*$`)
	daytonaTarget   = lazyPattern(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)
	sshUser         = lazyPattern(`^[A-Za-z0-9_][A-Za-z0-9_.-]*\$?$`)
	sshHost         = lazyPattern(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
	sshAddress      = lazyPattern(`^[0-9A-Fa-f]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*$`)
	spriteName      = lazyPattern(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

func validateOptions(p *Problems, e Environment) {
	if e.Docker != nil {
		validateDockerOptions(p, *e.Docker)
	}
	if e.Daytona != nil {
		validateDaytonaOptions(p, *e.Daytona)
	}
	if e.SSH != nil {
		validateSSHOptions(p, *e.SSH)
	}
	if e.Exe != nil && e.Exe.Image != "" {
		_, err := ParseImage(e.Exe.Image)
		p.AddError("exe.image", err)
	}
	if e.Sprites != nil {
		validateSpritesOptions(p, *e.Sprites)
	}
}

func validateDockerOptions(p *Problems, o DockerOptions) {
	if len(o.ExtraMounts) > maxExtraMounts {
		p.Addf("docker.extra_mounts", "has %d entries, more than %d", len(o.ExtraMounts), maxExtraMounts)
		return
	}
	seen := map[string]bool{}
	for i, text := range o.ExtraMounts {
		m, err := ParseMount(text)
		at := IndexPath("docker.extra_mounts", i)
		switch {
		case err != nil:
			p.AddError(at, err)
		case seen[m.Container]:
			p.Addf(at, "mounts at a path of the container that an earlier entry has")
		}
		seen[m.Container] = true
	}
	if o.NetworkMode != "" && !dockerNetwork.MatchString(o.NetworkMode) {
		p.Addf("docker.network_mode", "must be bridge, none, host, the name of a network, or container:NAME")
	}
	if o.PoolSize < 0 || o.PoolSize > MaxPoolSize {
		p.Addf("docker.pool_size", "must be a whole number from 0 to %d", MaxPoolSize)
	}
}

// Mount is one entry of docker.extra_mounts.
type Mount struct {
	Host, Container string // absolute, clean paths
	ReadOnly        bool
}

// ParseMount reads host:container[:ro|:rw]. Error: invalid.
func ParseMount(s string) (Mount, error) {
	host, rest, ok := strings.Cut(s, ":")
	container, mode, _ := strings.Cut(rest, ":")
	switch {
	case !ok || container == "" || badText(s):
		return Mount{}, Errorf(CodeInvalid, "must be host:container or host:container:ro, both absolute paths")
	case mode != "" && mode != "ro" && mode != "rw" || strings.HasSuffix(rest, ":"):
		return Mount{}, Errorf(CodeInvalid, "has an unknown mode behind the second colon: say ro or rw")
	case !path.IsAbs(host) || path.Clean(host) != host:
		return Mount{}, Errorf(CodeInvalid, "must begin with an absolute path of the host, without . and .. parts, doubled slashes and a slash at the end")
	case !path.IsAbs(container) || path.Clean(container) != container || container == "/":
		return Mount{}, Errorf(CodeInvalid, "must name an absolute path below / in the container, without . and .. parts, doubled slashes and a slash at the end")
	}
	return Mount{Host: host, Container: container, ReadOnly: mode == "ro"}, nil
}

func validateDaytonaOptions(p *Problems, o DaytonaOptions) {
	switch {
	case o.Snapshot == "":
	case len(o.Snapshot) > maxImageName || !daytonaSnapshot.MatchString(o.Snapshot):
		p.Addf("daytona.snapshot", "is no snapshot name: letters, digits and _ . - : in parts split by slashes")
	case o.Snapshot == "latest" || strings.HasSuffix(o.Snapshot, ":latest"):
		p.Addf("daytona.snapshot", "must not be latest: name a snapshot that stays the same")
	}
	if o.Target != "" && !daytonaTarget.MatchString(o.Target) {
		p.Addf("daytona.target", "must be 1 to 63 letters, digits, dashes and underscores")
	}
}

func validateSSHOptions(p *Problems, o SSHOptions) {
	if o.Destination != "" && !sshDestination(o.Destination) {
		p.Addf("ssh.destination", "must be user@host, a host or an alias; a port, key or jump host goes into a file named by ssh.config_file")
	}
	if o.WorkingDirectory != "" {
		validateDirectory(p, "ssh.working_directory", o.WorkingDirectory)
		if o.WorkingDirectory == "/" {
			p.Addf("ssh.working_directory", "must not be the root directory")
		}
	}
	if o.ConfigFile != "" {
		validateDirectory(p, "ssh.config_file", o.ConfigFile)
	}
	if o.PreviewURLBase != "" && !previewBase(o.PreviewURLBase) {
		p.Addf("ssh.preview_url_base", "must be http:// or https:// and a host, without user, port and path: the port is put behind it")
	}
}

// sshDestination also keeps out what OpenSSH would take for an option.
func sshDestination(s string) bool {
	host := s
	if i := strings.LastIndex(s, "@"); i >= 0 {
		if !sshUser.MatchString(s[:i]) {
			return false
		}
		host = s[i+1:]
	}
	return len(s) <= maxImageName && (sshHost.MatchString(host) || sshAddress.MatchString(host))
}

func previewBase(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.Port() == "" &&
		!strings.HasSuffix(u.Host, ":") && u.User == nil && u.Path == "" && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" && !strings.HasSuffix(s, "#")
}

func validateSpritesOptions(p *Problems, o SpritesOptions) {
	if o.Org != "" && !spriteName.MatchString(o.Org) {
		p.Addf("sprites.org", "must be 1 to 63 lower-case letters, digits and dashes")
	}
	if o.Name != "" && !spriteName.MatchString(o.Name) {
		p.Addf("sprites.name", "must be 1 to 63 lower-case letters, digits and dashes")
	}
	if o.URLAuth != "" && o.URLAuth != "sprite" && o.URLAuth != "public" {
		p.Addf("sprites.url_auth", "must be one of sprite, public")
	}
}
