package berth

// ProviderKind names a kind of sandbox.
type ProviderKind string

// The providers. Which field means what on each is in the mapping table.
const (
	ProviderLocal   ProviderKind = "local"
	ProviderDocker  ProviderKind = "docker"
	ProviderDaytona ProviderKind = "daytona"
	ProviderSSH     ProviderKind = "ssh"
	ProviderExe     ProviderKind = "exe"
	ProviderSprites ProviderKind = "sprites"
)

// ProviderKinds lists every provider, in the order of documents and tables.
var ProviderKinds = []ProviderKind{ProviderLocal, ProviderDocker, ProviderDaytona, ProviderSSH, ProviderExe, ProviderSprites}

// LocalEnvironmentID is reserved: that environment is synthetic and there only
// when the local provider is on.
const LocalEnvironmentID EnvironmentID = "local"

// DefaultEnvironmentID is what a run uses when nothing else names one.
const DefaultEnvironmentID EnvironmentID = "default"

// Environment is reusable desired configuration for sandboxes. The stored and
// shown form has every key of the document, null where unset; the provider
// objects are there only when set.
type Environment struct {
	ID        EnvironmentID     `json:"id" doc:"Slug: 1 to 63 lower-case letters, digits and dashes"`
	Provider  ProviderKind      `json:"provider" enum:"local,docker,daytona,ssh,exe,sprites"`
	CWD       *string           `json:"cwd" doc:"Absolute directory on the server; honoured by local only"`
	Image     Image             `json:"image"`
	Resources Resources         `json:"resources"`
	Network   Network           `json:"network"`
	Lifecycle Lifecycle         `json:"lifecycle"`
	Labels    map[string]string `json:"labels"`
	Env       map[string]string `json:"env" doc:"Values may hold {{ vars.NAME }} and {{ secrets.NAME }}"`
	Docker    *DockerOptions    `json:"docker,omitempty"`
	Daytona   *DaytonaOptions   `json:"daytona,omitempty"`
	SSH       *SSHOptions       `json:"ssh,omitempty"`
	Exe       *ExeOptions       `json:"exe,omitempty"`
	Sprites   *SpritesOptions   `json:"sprites,omitempty"`
}

// Image says what a sandbox is made from.
type Image struct {
	Docker     *string     `json:"docker" doc:"Image reference, such as buildpack-deps:noble"`
	Dockerfile *Dockerfile `json:"dockerfile"`
}

// Dockerfile is inline text. A path is refused by the API, as the server cannot
// see the client's files; the CLI inlines it.
type Dockerfile struct {
	Type  string `json:"type" enum:"inline"`
	Value string `json:"value"`
}

// Resources are the sandbox's limits; nil is the provider's default.
type Resources struct {
	CPU    *int  `json:"cpu" doc:"Whole cores, 1 or more"`
	Memory *Size `json:"memory" doc:"Number and unit, such as 4GB or 512MiB"`
	Disk   *Size `json:"disk" doc:"Number and unit"`
}

// NetworkMode says what a sandbox may reach.
type NetworkMode string

// The network modes.
const (
	NetworkAllowAll      NetworkMode = "allow_all"
	NetworkBlock         NetworkMode = "block"
	NetworkCIDRAllowList NetworkMode = "cidr_allow_list"
)

// Network is a mode and, for cidr_allow_list, the networks that are allowed.
type Network struct {
	Mode  NetworkMode `json:"mode" enum:"allow_all,block,cidr_allow_list"`
	Allow []string    `json:"allow" doc:"CIDRs, with prefix"`
}

// Lifecycle says what becomes of a sandbox at the end of its run. With Preserve
// it is kept, stopped or running as StopOnTerminal says. Without, it is
// destroyed; with StopOnTerminal off it is left running until the run is
// deleted, for 24 hours at most.
type Lifecycle struct {
	Preserve       bool      `json:"preserve"`
	StopOnTerminal bool      `json:"stop_on_terminal"`
	AutoStop       *Duration `json:"auto_stop" doc:"One number and one unit, such as 30m"`
}

// Keeps reports whether a sandbox outlives the end of its run.
func (l Lifecycle) Keeps() bool { return l.Preserve || !l.StopOnTerminal }

// DockerOptions are for provider docker alone.
type DockerOptions struct {
	ExtraMounts []string `json:"extra_mounts,omitempty" doc:"host:container[:ro]; by the server's allow list"`
	NetworkMode string   `json:"network_mode,omitempty" doc:"By the server's allow list"`
	AutoPull    *bool    `json:"auto_pull,omitempty" doc:"Pull the image when it is missing; true unless set"`
	PoolSize    int      `json:"pool_size,omitempty" doc:"Sandboxes kept started"`
}

// DaytonaOptions are for provider daytona alone.
type DaytonaOptions struct {
	Snapshot string `json:"snapshot,omitempty"`
	Target   string `json:"target,omitempty"`
}

// SSHOptions are for provider ssh alone.
type SSHOptions struct {
	Destination      string `json:"destination,omitempty" doc:"user@host, a host or an alias"`
	WorkingDirectory string `json:"working_directory,omitempty" doc:"Absolute path on the remote host"`
	ConfigFile       string `json:"config_file,omitempty"`
	PreviewURLBase   string `json:"preview_url_base,omitempty"`
}

// ExeOptions are for provider exe alone.
type ExeOptions struct {
	Image string `json:"image,omitempty"`
}

// SpritesOptions are for provider sprites alone.
type SpritesOptions struct {
	Org     string `json:"org,omitempty"`
	Name    string `json:"name,omitempty" doc:"An existing sprite; never destroyed"`
	URLAuth string `json:"url_auth,omitempty"`
}
