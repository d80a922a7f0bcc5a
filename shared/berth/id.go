package berth

import (
	"strings"
)

// Ids have their own types and are parsed once at the edge.
type (
	// EnvironmentID is a slug of 1 to 63 lower-case letters, digits and dashes.
	EnvironmentID string
	// RunID is a lower-case ULID.
	RunID string
	// SandboxID is a lower-case ULID.
	SandboxID string
	// CommandID is unique within its sandbox: a slug, chosen by the caller or made by the server.
	CommandID string
	// StageID is unique within its run: a slug.
	StageID string
	// HostID is a slug.
	HostID string
	// InstallationID marks everything that one control plane creates anywhere.
	InstallationID string
	// ExecutionID is <run>-<seq>.
	ExecutionID string
)

var (
	slugPattern = lazyPattern(`^[a-z0-9][a-z0-9-]{0,62}$`)
	ulidPattern = lazyPattern(`^[0-7][0-9a-hjkmnp-tv-z]{25}$`)
	ulidPrefix  = lazyPattern(`^[0-7][0-9a-hjkmnp-tv-z]{5,25}$`)
)

const slugRule = "must be 1 to 63 lower-case letters, digits and dashes, and begin with a letter or digit"

// ParseSlug checks a slug; what names the thing in the message ("environment id").
func ParseSlug(what, s string) (string, error) {
	if slugPattern.MatchString(s) {
		return s, nil
	}
	return "", Errorf(CodeInvalid, "%s %s", what, slugRule)
}

// ParseEnvironmentID returns invalid when s is not a slug.
func ParseEnvironmentID(s string) (EnvironmentID, error) {
	v, err := ParseSlug("environment id", s)
	return EnvironmentID(v), err
}

// ParseCommandID returns invalid when s is not a slug.
func ParseCommandID(s string) (CommandID, error) {
	v, err := ParseSlug("command id", s)
	return CommandID(v), err
}

// IsIDPrefix reports whether s may stand for a run or sandbox: the first 6 to
// 26 characters of a lower-case ULID. Upper case is folded by the caller.
func IsIDPrefix(s string) bool { return ulidPrefix.MatchString(s) }

// IsULID reports whether s is a whole lower-case ULID.
func IsULID(s string) bool { return ulidPattern.MatchString(s) }

// FoldID lower-cases what a person typed as an id.
func FoldID(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
