package berth

// EnvironmentDefaults is what a body or table is decoded onto: every field that
// is absent keeps the value it has here.
func EnvironmentDefaults() Environment {
	return Environment{
		Network:   Network{Mode: ""}, // decided by NormalizeEnvironment, as it depends on allow
		Lifecycle: Lifecycle{StopOnTerminal: true},
	}
}

// NormalizeEnvironment gives the stored form: the network mode that an omitted
// one means, no nil map or list, no provider object without a value in it.
func NormalizeEnvironment(e Environment) Environment {
	if e.Network.Mode == "" {
		e.Network.Mode = NetworkAllowAll
		if len(e.Network.Allow) > 0 {
			e.Network.Mode = NetworkCIDRAllowList
		}
	}
	if e.Network.Allow == nil {
		e.Network.Allow = []string{}
	}
	if e.Labels == nil {
		e.Labels = map[string]string{}
	}
	if e.Env == nil {
		e.Env = map[string]string{}
	}
	if o := e.Docker; o != nil && len(o.ExtraMounts) == 0 && o.NetworkMode == "" && o.AutoPull == nil && o.PoolSize == 0 {
		e.Docker = nil
	}
	if e.Daytona != nil && *e.Daytona == (DaytonaOptions{}) {
		e.Daytona = nil
	}
	if e.SSH != nil && *e.SSH == (SSHOptions{}) {
		e.SSH = nil
	}
	if e.Exe != nil && *e.Exe == (ExeOptions{}) {
		e.Exe = nil
	}
	if e.Sprites != nil && *e.Sprites == (SpritesOptions{}) {
		e.Sprites = nil
	}
	return e
}

// LocalEnvironment is the synthetic environment `local`. It is there only when
// the local provider is on, and it is never stored.
func LocalEnvironment() Environment {
	e := EnvironmentDefaults()
	e.ID, e.Provider = LocalEnvironmentID, ProviderLocal
	return NormalizeEnvironment(e)
}

// SeedEnvironment is the ordinary environment `default` that a new installation
// is given once.
func SeedEnvironment() Environment {
	e := EnvironmentDefaults()
	e.ID, e.Provider = DefaultEnvironmentID, ProviderDocker
	image, cpu, memory := DefaultDockerImage, 2, Size("4GB")
	e.Image.Docker = &image
	e.Resources = Resources{CPU: &cpu, Memory: &memory}
	return NormalizeEnvironment(e)
}

// CheckReserved returns conflict when id may not be created, replaced or
// deleted, because it is not stored.
func CheckReserved(id EnvironmentID) error {
	if id != LocalEnvironmentID {
		return nil
	}
	return &Error{
		Code: CodeConflict, Field: "id",
		Message:     "environment local is reserved: it is there whenever the local provider is on, and cannot be created, changed or deleted",
		Remediation: "Create an environment of provider local under another id.",
	}
}
