package ssh

import (
	"net"
	"net/url"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// host is where a sandbox is, as the sandbox's Ref keeps it. Hosts that differ
// in nothing share a connection.
type host struct {
	destination string
	configFile  string
	previewBase string
	plain       bool // it holds no guest
}

func hostOf(o berth.SSHOptions) host {
	return host{destination: o.Destination, configFile: o.ConfigFile, previewBase: o.PreviewURLBase}
}

// connection is what tells connections apart.
func (h host) connection() host { return host{destination: h.destination, configFile: h.configFile} }

// ref is h as a URL: ssh://user@host?config=FILE&preview=URL.
func (h host) ref() string {
	u := url.URL{Scheme: "ssh", Host: h.destination}
	if i := strings.LastIndex(h.destination, "@"); i >= 0 {
		u.User, u.Host = url.User(h.destination[:i]), h.destination[i+1:]
	}
	if strings.Contains(u.Host, ":") { // an IPv6 address; destinations have no port
		u.Host = "[" + u.Host + "]"
	}
	query := url.Values{}
	if h.configFile != "" {
		query.Set("config", h.configFile)
	}
	if h.previewBase != "" {
		query.Set("preview", h.previewBase)
	}
	if h.plain {
		query.Set("guest", "none")
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// parseRef is the inverse. Error: invalid.
func parseRef(ref string) (host, error) {
	u, err := url.Parse(ref)
	if err != nil || u.Scheme != "ssh" || u.Host == "" {
		return host{}, berth.Errorf(berth.CodeInvalid, "the sandbox's reference %q is none of provider ssh", ref)
	}
	h := host{u.Host, u.Query().Get("config"), u.Query().Get("preview"), u.Query().Get("guest") == "none"}
	if strings.HasPrefix(u.Host, "[") {
		h.destination = strings.Trim(u.Host, "[]")
	}
	if u.User != nil {
		h.destination = u.User.Username() + "@" + h.destination
	}
	return h, nil
}

// preview is the URL of a port of the host.
func (h host) preview(port string) string {
	u, err := url.Parse(h.previewBase)
	if err != nil {
		return h.previewBase + ":" + port
	}
	u.Host = net.JoinHostPort(u.Hostname(), port)
	return u.String()
}
