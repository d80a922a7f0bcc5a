package credentials

import (
	"net"
	"net/url"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// ParseServer returns a server's URL in the one form in which it is kept and
// compared: without /api/v1, a usual port or a slash at the end, and with scheme
// and host in lower case. Error: invalid, also for one that holds a password.
func ParseServer(raw string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return "", invalidServer()
	case u.User != nil:
		return "", berth.Errorf(berth.CodeInvalid, "the server's URL holds a user name or a password: berth sends a key instead")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", invalidServer()
	}
	scheme := strings.ToLower(u.Scheme)
	usual, known := map[string]string{"http": "80", "https": "443"}[scheme]
	if !known {
		return "", invalidServer()
	}
	host := strings.ToLower(u.Host)
	if u.Port() == usual {
		host = strings.TrimSuffix(host, ":"+usual)
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	path = strings.TrimRight(strings.TrimSuffix(path, "/api/v1"), "/")
	return scheme + "://" + strings.TrimSuffix(host, ":") + path, nil
}

func invalidServer() error {
	return berth.Errorf(berth.CodeInvalid, "the server's URL must be like https://host/stage or http://127.0.0.1:8080")
}

// IsSafe reports whether nobody on the way to a server can read what is sent to
// it: the way is encrypted, or does not leave this machine.
func IsSafe(server string) bool {
	u, err := url.Parse(server)
	return err == nil && (strings.EqualFold(u.Scheme, "https") || IsLoopback(u.Hostname()))
}

// IsLoopback reports whether host is this machine.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
