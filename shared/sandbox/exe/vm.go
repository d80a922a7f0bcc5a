package exe

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	namePrefix = "berth-"
	nameSuffix = "-vm" // names that end in digits behind a dash are refused
)

// nameOf is the VM's name of a sandbox.
func nameOf(id berth.SandboxID) string { return namePrefix + string(id) + nameSuffix }

// sandboxOf is the inverse; found is false for a VM that is not berth's.
func sandboxOf(name string) (id berth.SandboxID, found bool) {
	text, prefixed := strings.CutPrefix(name, namePrefix)
	text, suffixed := strings.CutSuffix(text, nameSuffix)
	return berth.SandboxID(text), prefixed && suffixed && berth.IsULID(text)
}

// label is a VM's comment: whose it is. It is one word without quotes, so that
// the lobby cannot read it in two ways, and has at most 200 bytes.
type label struct {
	Installation berth.InstallationID
	Run          berth.RunID
}

const labelPrefix = "berth:"

func (l label) text() string { return labelPrefix + string(l.Installation) + ":" + string(l.Run) }

// label is empty for another's VM.
func (v vm) label() (l label) {
	text, ours := strings.CutPrefix(v.Comment, labelPrefix)
	if !ours {
		return label{}
	}
	installation, run, _ := strings.Cut(text, ":")
	return label{berth.InstallationID(installation), berth.RunID(run)}
}

// ownTag is on every VM of an installation. The lobby leaves comments out where
// it has none to tell, and tags are told always.
func ownTag(installation berth.InstallationID) string { return "berth-" + string(installation) }

// belongs reports whether the VM is that installation's.
func (v vm) belongs(installation berth.InstallationID) bool {
	return v.label().Installation == installation || slices.Contains(v.Tags, ownTag(installation))
}

func (v vm) createdAt() time.Time {
	at, err := time.Parse(time.RFC3339, v.CreatedAt)
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}

// ref is how to reach the VM, as a URL: what the lobby said, not what its name
// suggests.
func (v vm) ref() string {
	dest := v.Dest
	if dest == "" {
		dest = v.Host
	}
	u := url.URL{Scheme: "exe"}
	if i := strings.LastIndex(dest, "@"); i >= 0 {
		u.User, dest = url.User(dest[:i]), dest[i+1:]
	} else if v.User != "" {
		u.User = url.User(v.User)
	}
	u.Host = dest
	if v.Port != 0 && v.Port != 22 {
		u.Host = net.JoinHostPort(strings.Trim(dest, "[]"), strconv.Itoa(v.Port))
	}
	return u.String()
}

// parseRef gives what ref was made of. Error: invalid.
func parseRef(ref string) (destination, port string, err error) {
	u, err := url.Parse(ref)
	if err != nil || u.Scheme != "exe" || u.Hostname() == "" {
		return "", "", berth.Errorf(berth.CodeInvalid, "the sandbox's reference %q is none of provider exe", ref)
	}
	destination, port = u.Hostname(), u.Port()
	if u.User != nil {
		destination = u.User.Username() + "@" + destination
	}
	if port == "" {
		port = "22"
	}
	return destination, port, nil
}
