package agentapi

import (
	"net/url"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// The paths of the API. Parts that come from callers are escaped, so that an id
// stays one part whatever it holds.
const prefix = "/v1"

// HealthPath is the agent's health.
const HealthPath = prefix + "/health"

// SandboxesPath is a provider's list of sandboxes.
func SandboxesPath(kind berth.ProviderKind) string { return join(string(kind), "sandboxes") }

// SandboxPath is one sandbox, or what is below it.
func SandboxPath(kind berth.ProviderKind, id berth.SandboxID, below ...string) string {
	return join(append([]string{string(kind), "sandboxes", string(id)}, below...)...)
}

// CommandPath is one command, or what is below it.
func CommandPath(kind berth.ProviderKind, sandbox berth.SandboxID, id berth.CommandID, below ...string) string {
	return SandboxPath(kind, sandbox, append([]string{"commands", string(id)}, below...)...)
}

// MovePath is one file on the move.
func MovePath(kind berth.ProviderKind, sandbox berth.SandboxID, id string) string {
	return SandboxPath(kind, sandbox, "moves", id)
}

func join(parts ...string) string {
	var b strings.Builder
	b.WriteString(prefix)
	for _, part := range parts {
		b.WriteByte('/')
		b.WriteString(escape(part))
	}
	return b.String()
}

// escape keeps a part of dots from being taken for a folder, and an empty one
// from vanishing: a dash is as little an id as nothing is.
func escape(part string) string {
	switch part {
	case "":
		return "-"
	case ".", "..":
		return strings.ReplaceAll(part, ".", "%2E")
	}
	return url.PathEscape(part)
}
