package berth

// Conditions are the tests behind the names in [MappingRow.When].
var Conditions = map[Condition]func(Environment) bool{
	WithoutDockerfile: func(e Environment) bool { return e.Image.Dockerfile == nil },
	BelowDockerMemory: func(e Environment) bool {
		if e.Resources.Memory == nil {
			return false
		}
		bytes, err := e.Resources.Memory.Bytes()
		return err == nil && bytes < MinDockerMemoryBytes
	},
	CopiesLocalFiles: func(e Environment) bool {
		if e.Image.Dockerfile == nil {
			return false
		}
		_, file := LocalCopy(e.Image.Dockerfile.Value)
		return file != ""
	},
	OtherThanHosts:   func(e Environment) bool { return len(HostLabels(e)) < len(e.Labels) },
	MoreThanTenCIDRs: func(e Environment) bool { return len(e.Network.Allow) > MaxDaytonaNetworks },
	HasIPv6: func(e Environment) bool {
		for _, cidr := range e.Network.Allow {
			if prefix, err := ParseCIDR(cidr); err == nil && prefix.Addr().Is6() {
				return true
			}
		}
		return false
	},
}

// The limits of providers that the mapping knows.
const (
	MinDockerMemoryBytes = 6 << 20
	MaxDaytonaNetworks   = 10
	DockerCPUPeriod      = 100_000 // microseconds; cpu_quota = cpu * DockerCPUPeriod
)

// field returns the value of a mapped field as text, and whether it is set. The
// text matters only for fields whose rows have values.
func (e Environment) field(name string) (value string, set bool) {
	switch name {
	case "image.docker":
		return "", e.Image.Docker != nil
	case "image.dockerfile":
		return "", e.Image.Dockerfile != nil
	case "resources.cpu":
		return "", e.Resources.CPU != nil
	case "resources.memory":
		return "", e.Resources.Memory != nil
	case "resources.disk":
		return "", e.Resources.Disk != nil
	case "network.mode":
		return string(e.Network.Mode), e.Network.Mode != ""
	case "network.allow":
		return "", len(e.Network.Allow) > 0
	case "labels":
		return "", len(e.Labels) > 0
	case "lifecycle.auto_stop":
		return "", e.Lifecycle.AutoStop != nil
	case "env":
		return "", len(e.Env) > 0
	case "cwd":
		return "", e.CWD != nil
	}
	return "", e.optionSet(name)
}

func (e Environment) optionSet(name string) bool {
	d, y, s, x, p := e.Docker, e.Daytona, e.SSH, e.Exe, e.Sprites
	switch name {
	case "docker":
		return d != nil
	case "docker.extra_mounts":
		return d != nil && len(d.ExtraMounts) > 0
	case "docker.network_mode":
		return d != nil && d.NetworkMode != ""
	case "docker.auto_pull":
		return d != nil && d.AutoPull != nil
	case "docker.pool_size":
		return d != nil && d.PoolSize != 0
	case "daytona":
		return y != nil
	case "daytona.snapshot":
		return y != nil && y.Snapshot != ""
	case "daytona.target":
		return y != nil && y.Target != ""
	case "ssh":
		return s != nil
	case "ssh.destination":
		return s != nil && s.Destination != ""
	case "ssh.working_directory":
		return s != nil && s.WorkingDirectory != ""
	case "ssh.config_file":
		return s != nil && s.ConfigFile != ""
	case "ssh.preview_url_base":
		return s != nil && s.PreviewURLBase != ""
	case "exe":
		return x != nil
	case "exe.image":
		return x != nil && x.Image != ""
	case "sprites":
		return p != nil
	case "sprites.org":
		return p != nil && p.Org != ""
	case "sprites.name":
		return p != nil && p.Name != ""
	case "sprites.url_auth":
		return p != nil && p.URLAuth != ""
	}
	panic("berth: the mapping has a field that no environment has: " + name)
}
