package berth

import (
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// HostRequest is the body of POST /hosts.
type HostRequest struct {
	ID HostID `json:"id,omitempty" doc:"Slug of 1 to 63 lower-case letters, digits and dashes; made when absent"`
	// Labels win over those that the host itself joins with.
	Labels map[string]string `json:"labels,omitempty" doc:"What environments choose hosts by"`
}

// DrainRequest is the body of POST /hosts/{id}/drain.
type DrainRequest struct {
	Draining bool `json:"draining" doc:"true takes no new sandbox; false takes them again"`
}

// ParseHostID returns invalid when s is not a slug.
func ParseHostID(s string) (HostID, error) {
	v, err := ParseSlug("host id", s)
	return HostID(v), err
}

// ValidateHostRequest returns every fault of r.
func ValidateHostRequest(r HostRequest) []Problem {
	var p Problems
	if r.ID != "" {
		_, err := ParseHostID(string(r.ID))
		p.AddError("id", err)
	}
	p.Add(ValidateLabels("labels", r.Labels)...)
	return p.List()
}

const (
	minBearerBytes = 32
	maxBearerBytes = 512
	maxHostText    = 256 // bytes of an address or a version
	maxHostCPU     = 1 << 16
	maxHostBytes   = 1 << 60 // of memory or of disk: sums of some hosts do not overflow
)

var fingerprintPattern = lazyPattern(`^sha256:[0-9a-f]{64}$`)

// ValidateHostJoin returns every fault of j but those of its token. loopback says
// whether an address on the server's own machine is one that the server reaches.
func ValidateHostJoin(j HostJoin, loopback bool) []Problem {
	var p Problems
	p.AddError("address", CheckHostAddress(j.Address, loopback))
	if !fingerprintPattern.MatchString(j.Fingerprint) {
		p.Addf("fingerprint", "must be sha256: and 64 hex digits, as `berth-agent fingerprint` prints it")
	}
	if n := len(j.Bearer); n < minBearerBytes || n > maxBearerBytes || strings.ContainsFunc(j.Bearer, func(r rune) bool { return r <= ' ' || r > '~' }) {
		p.Addf("bearer", "must be %d to %d visible ASCII characters", minBearerBytes, maxBearerBytes)
	}
	if !slices.Contains(j.Providers, ProviderDocker) {
		p.Addf("providers", "must have docker, which is what sandboxes on hosts are made with")
	}
	for i, kind := range j.Providers {
		switch {
		case !slices.Contains(ProviderKinds, kind):
			p.Addf(IndexPath("providers", i), "is not a provider")
		case slices.Index(j.Providers, kind) < i:
			p.Addf(IndexPath("providers", i), "is there twice")
		}
	}
	p.Add(ValidateLabels("labels", j.Labels)...)
	p.Add(validatePublicURL(j.PublicURL)...)
	p.Add(ValidateHostCapacity(j.HostCapacity)...)
	p.Add(validateHostVersion(j.Version)...)
	return p.List()
}

// ValidateHeartbeat returns every fault of h.
func ValidateHeartbeat(h Heartbeat) []Problem {
	var p Problems
	p.Add(ValidateHostCapacity(h.HostCapacity)...)
	p.Add(validatePublicURL(h.PublicURL)...)
	p.Add(validateHostVersion(h.Version)...)
	return p.List()
}

func validatePublicURL(s string) []Problem {
	var p Problems
	if s != "" {
		_, err := ParsePublicURL(s)
		p.AddError("public_url", err)
	}
	return p.List()
}

func validateHostVersion(version string) []Problem {
	var p Problems
	if version == "" || len(version) > maxHostText || badText(version) {
		p.Addf("version", "must be the agent's version, in at most %d bytes", maxHostText)
	}
	return p.List()
}

// ValidateHostCapacity returns every fault of c.
func ValidateHostCapacity(c HostCapacity) []Problem {
	var p Problems
	if c.CPU < 1 || c.CPU > maxHostCPU {
		p.Addf("cpu", "must be whole cores, from 1 to %d", maxHostCPU)
	}
	if c.MemoryBytes < 1 || c.MemoryBytes > maxHostBytes {
		p.Addf("memory_bytes", "must be bytes, from 1 to %d", int64(maxHostBytes))
	}
	if c.DiskBytes < 0 || c.DiskBytes > maxHostBytes {
		p.Addf("disk_bytes", "must be bytes, from 0 to %d", int64(maxHostBytes))
	}
	if c.Architecture != "amd64" && c.Architecture != "arm64" {
		p.Addf("architecture", "must be amd64 or arm64")
	}
	return p.List()
}

// CheckHostAddress returns invalid unless address is https://host or
// https://host:port, where host is no address that only its own machine
// understands: a link-local one reaches a cloud's metadata service, and a loopback
// one the server itself, unless loopback allows that.
func CheckHostAddress(address string, loopback bool) error {
	u, err := url.Parse(address)
	switch {
	case address == "" || len(address) > maxHostText || err != nil, u.Scheme != "https", u.Hostname() == "":
		return Errorf(CodeInvalid, "must be the agent's address, such as https://10.0.0.7:7443")
	case u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return Errorf(CodeInvalid, "must be https, a host and a port alone, such as https://10.0.0.7:7443")
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return Errorf(CodeInvalid, "must have a port from 1 to 65535, such as https://10.0.0.7:7443")
		}
	}
	name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	ip, err := netip.ParseAddr(name)
	ip = ip.Unmap()
	switch {
	case err == nil && (ip.Zone() != "" || ip.IsUnspecified() || ip.IsMulticast() || ip.IsLinkLocalUnicast()):
		return Errorf(CodeInvalid, "must be an address that the server can reach: %s is none", ip.WithZone(""))
	case loopback:
		return nil
	case err == nil && ip.IsLoopback(), name == "localhost" || strings.HasSuffix(name, ".localhost"):
		return Errorf(CodeInvalid, "must be an address that the server can reach: %s is the machine itself", name)
	}
	return nil
}

// Demand is what a sandbox takes of its host.
type Demand struct {
	CPU         int
	MemoryBytes int64
}

// What a sandbox is counted with whose environment sets no limit.
const (
	defaultDemandCPU         = 1
	defaultDemandMemoryBytes = 1 << 30
)

// DemandOf is what sandboxes of e take.
func DemandOf(e Environment) Demand {
	d := Demand{CPU: defaultDemandCPU, MemoryBytes: defaultDemandMemoryBytes}
	if e.Resources.CPU != nil {
		d.CPU = *e.Resources.CPU
	}
	if e.Resources.Memory != nil {
		if n, err := e.Resources.Memory.Bytes(); err == nil {
			d.MemoryBytes = n
		}
	}
	return d
}

// HostLabelPrefix begins the labels of an environment that choose its hosts: with
// host.zone = "a", only a host with the label zone = "a" will do.
const HostLabelPrefix = "host."

// HostLabels are the labels that a host must have for sandboxes of e.
func HostLabels(e Environment) map[string]string {
	wanted := map[string]string{}
	for key, value := range e.Labels {
		if name, ok := strings.CutPrefix(key, HostLabelPrefix); ok {
			wanted[name] = value
		}
	}
	return wanted
}

// LacksLabels names, in order, the labels of wanted that h does not have.
func (h Host) LacksLabels(wanted map[string]string) []string {
	var lacks []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if value, ok := h.Labels[name]; !ok || value != wanted[name] {
			lacks = append(lacks, name+"="+wanted[name])
		}
	}
	return lacks
}
