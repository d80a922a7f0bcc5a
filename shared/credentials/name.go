package credentials

import (
	"net/url"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// Local names the server on this machine, which needs no login. No context has
// this name.
const Local = "local"

// ParseName checks a context's name. Error: invalid.
func ParseName(name string) (string, error) {
	if name == Local {
		return "", berth.Errorf(berth.CodeInvalid, "context name %s is reserved for the server on this machine", Local)
	}
	return berth.ParseSlug("context name", name)
}

const maxName = 63

// NameFor makes a context's name of a server's URL: its host, without what only
// the machine reads.
func NameFor(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return "server"
	}
	var b strings.Builder
	for _, r := range strings.ToLower(u.Host) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		default:
			b.WriteByte('-')
		}
	}
	name := strings.Trim(b.String(), "-")
	name = strings.TrimRight(name[:min(len(name), maxName)], "-")
	switch name {
	case "", Local:
		return "server"
	}
	return name
}
