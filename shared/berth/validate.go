package berth

import (
	"encoding/json"
	"slices"
)

// MaxEnvironmentBytes is the most that an environment may take as JSON: it is
// stored whole, and again with each run.
const MaxEnvironmentBytes = 80 * 1024

// ValidateEnvironment returns every fault of e, each with the path of its
// field. What is right but beyond the provider is not among them: see
// [CheckMapping].
func ValidateEnvironment(e Environment) []Problem {
	var p Problems
	if _, err := ParseEnvironmentID(string(e.ID)); err != nil {
		p.AddError("id", err)
	}
	if e.Provider == "" {
		p.Addf("provider", "is missing: must be one of %s", providerList)
	}
	p.Add(ValidateLayer(e)...)
	n := NormalizeEnvironment(e)
	validateNetwork(&p, n)
	validateOwners(&p, n)
	validateRequired(&p, n)
	if p.Empty() {
		validateSize(&p, n)
	}
	return p.List()
}

// ValidateLayer applies the rules that look at one field alone, and leaves out
// those about absent fields and about fields together. It is for a part of an
// environment, such as a table of a configuration file.
func ValidateLayer(e Environment) []Problem {
	var p Problems
	if e.Provider != "" && !e.Provider.Known() {
		p.Addf("provider", "must be one of %s", providerList)
	}
	if e.CWD != nil {
		validateDirectory(&p, "cwd", *e.CWD)
	}
	validateImage(&p, e.Image)
	validateResources(&p, e.Resources)
	validateNetworkFields(&p, e.Network)
	if e.Lifecycle.AutoStop != nil {
		_, err := ParseDuration(string(*e.Lifecycle.AutoStop))
		p.AddError("lifecycle.auto_stop", err)
	}
	p.Add(ValidateLabels("labels", e.Labels)...)
	p.Add(ValidateEnv("env", e.Env)...)
	validateOptions(&p, e)
	return p.List()
}

// Known reports whether k is one of [ProviderKinds].
func (k ProviderKind) Known() bool { return slices.Contains(ProviderKinds, k) }

const providerList = "local, docker, daytona, ssh, exe, sprites"

func validateNetwork(p *Problems, e Environment) {
	n := e.Network
	switch {
	case n.Mode == NetworkCIDRAllowList && len(n.Allow) == 0:
		p.Addf("network.allow", "is empty, and network.mode is cidr_allow_list: list at least one CIDR, or say network.mode = block")
	case (n.Mode == NetworkAllowAll || n.Mode == NetworkBlock) && len(n.Allow) > 0:
		p.Addf("network.allow", "has no effect with network.mode = %s: empty the list, or say network.mode = cidr_allow_list", n.Mode)
	}
	if e.Docker != nil && n.Mode == NetworkBlock && e.Docker.NetworkMode != "" && e.Docker.NetworkMode != "none" {
		p.Addf("docker.network_mode", "contradicts network.mode = block: leave it out or say none")
	}
}

func validateOwners(p *Problems, e Environment) {
	if !e.Provider.Known() {
		return
	}
	for _, o := range e.options() {
		if o.set && o.owner != e.Provider {
			p.Addf(string(o.owner), "%s", foreignObject(o.owner, e.Provider))
		}
	}
}

func validateRequired(p *Problems, e Environment) {
	if e.Provider == ProviderSSH {
		var o SSHOptions
		if e.SSH != nil {
			o = *e.SSH
		}
		if o.Destination == "" {
			p.Addf("ssh.destination", "is missing: provider ssh needs user@host, a host or an alias")
		}
		if o.WorkingDirectory == "" {
			p.Addf("ssh.working_directory", "is missing: provider ssh needs an absolute path on the remote host")
		}
	}
	if e.Daytona != nil && e.Daytona.Snapshot != "" && e.Image.Dockerfile != nil {
		p.Addf("daytona.snapshot", "contradicts image.dockerfile: name a snapshot, or have one built")
	}
}

func validateSize(p *Problems, e Environment) {
	b, err := json.Marshal(e)
	if err == nil && len(b) > MaxEnvironmentBytes {
		p.Addf("", "the environment takes %d bytes as JSON, more than %d: move large values into secrets or files", len(b), MaxEnvironmentBytes)
	}
}

type option struct {
	owner ProviderKind
	set   bool
}

// options tells which provider objects e has.
func (e Environment) options() []option {
	return []option{
		{ProviderDocker, e.Docker != nil},
		{ProviderDaytona, e.Daytona != nil},
		{ProviderSSH, e.SSH != nil},
		{ProviderExe, e.Exe != nil},
		{ProviderSprites, e.Sprites != nil},
	}
}
