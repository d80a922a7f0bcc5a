package berth

import (
	"path"
	"strings"
	"unicode/utf8"
)

// The limits of single fields.
const (
	MaxCPU             = 1024
	MaxAllowedNetworks = 100
	MaxDockerfileBytes = 64 * 1024
	maxPathBytes       = 4096
)

// validateDirectory checks an absolute path in its one spelling.
func validateDirectory(p *Problems, field, dir string) {
	switch {
	case dir == "":
		p.Addf(field, "is empty: must be an absolute path")
	case badText(dir) || len(dir) > maxPathBytes:
		p.Addf(field, "is not a path: a NUL, another control character, text that is not UTF-8, or more than %d bytes", maxPathBytes)
	case !path.IsAbs(dir):
		p.Addf(field, "must be an absolute path")
	case path.Clean(dir) != dir:
		p.Addf(field, "must be written without . and .. parts, doubled slashes and a slash at the end")
	}
}

func badText(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func validateImage(p *Problems, i Image) {
	if i.Docker != nil {
		_, err := ParseImage(*i.Docker)
		p.AddError("image.docker", err)
	}
	d := i.Dockerfile
	if d == nil {
		return
	}
	switch {
	case d.Type != "inline":
		p.Addf("image.dockerfile.type", "must be inline: %s", DockerfileHint)
	case strings.TrimSpace(d.Value) == "":
		p.Addf("image.dockerfile.value", "is empty: must be the text of a Dockerfile")
	case len(d.Value) > MaxDockerfileBytes:
		p.Addf("image.dockerfile.value", "has %d bytes, more than %d", len(d.Value), MaxDockerfileBytes)
	case strings.Contains(d.Value, "\x00") || !utf8.ValidString(d.Value):
		p.Addf("image.dockerfile.value", "is not text")
	}
}

// DockerfileHint says how to send a Dockerfile to those who send a path.
const DockerfileHint = `the server cannot see files of the client, so send the text, {"type": "inline", "value": "FROM …"}; ` +
	`the command line does it for dockerfile = { path = "Dockerfile" } in a TOML file`

func validateResources(p *Problems, r Resources) {
	if r.CPU != nil && (*r.CPU < 1 || *r.CPU > MaxCPU) {
		p.Addf("resources.cpu", "must be a whole number from 1 to %d", MaxCPU)
	}
	if r.Memory != nil {
		_, err := r.Memory.Bytes()
		p.AddError("resources.memory", err)
	}
	if r.Disk != nil {
		_, err := r.Disk.Bytes()
		p.AddError("resources.disk", err)
	}
}

func validateNetworkFields(p *Problems, n Network) {
	switch n.Mode {
	case "", NetworkAllowAll, NetworkBlock, NetworkCIDRAllowList:
	default:
		p.Addf("network.mode", "must be one of allow_all, block, cidr_allow_list")
	}
	if len(n.Allow) > MaxAllowedNetworks {
		p.Addf("network.allow", "has %d entries, more than %d", len(n.Allow), MaxAllowedNetworks)
		return
	}
	for i, cidr := range n.Allow {
		_, err := ParseCIDR(cidr)
		p.AddError(IndexPath("network.allow", i), err)
	}
}
