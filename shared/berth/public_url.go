package berth

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// PublicURL is where browsers reach previews at a host: https, and any one label
// before a name, so that each preview is an origin of its own.
type PublicURL struct {
	parent string // host.example.com
	port   string // empty for the usual one
}

const (
	publicExample = "such as https://*.host.example.com"
	// PublicLabelBytes is how long the label of a preview may be.
	PublicLabelBytes = 32
	maxNameBytes     = 253
	maxLabelBytes    = 63
)

// ParsePublicURL reads https://*.NAME or https://*.NAME:PORT. Error: invalid,
// which says what of it cannot be.
func ParsePublicURL(s string) (PublicURL, error) {
	var none PublicURL
	// Not url.Parse first: what is wrong with a star is to be said in these words.
	rest, secure := strings.CutPrefix(s, "https://")
	u, err := url.Parse(strings.Replace(s, "*.", "", 1))
	switch {
	case s == "" || len(s) > maxHostText || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }):
		return none, Errorf(CodeInvalid, "must be a URL of visible ASCII characters, %s; a name in other letters in its xn-- form", publicExample)
	case !secure:
		return none, Errorf(CodeInvalid, "must begin with https://, %s: browsers keep the cookie of a preview for https alone", publicExample)
	case err != nil || u.Host == "":
		return none, Errorf(CodeInvalid, "must be a URL, %s", publicExample)
	case u.User != nil:
		return none, Errorf(CodeInvalid, "must have no user or password, %s", publicExample)
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || strings.Contains(s, "#"):
		return none, Errorf(CodeInvalid, "must have no path, query or fragment, %s: each preview has a name of its own instead", publicExample)
	case !strings.HasPrefix(rest, "*.") || strings.Count(s, "*") > 1:
		if _, err := netip.ParseAddr(u.Hostname()); err == nil {
			return none, Errorf(CodeInvalid, "must have a name, %s: there is nothing below an address, and each preview needs an origin of its own", publicExample)
		}
		return none, Errorf(CodeInvalid, "must have *. before its name and no other star, %s: each preview needs an origin of its own", publicExample)
	}
	p := PublicURL{parent: strings.ToLower(u.Hostname()), port: u.Port()}
	if err := checkParent(p.parent); err != nil {
		return none, err
	}
	if p.port != "" || strings.HasSuffix(u.Host, ":") {
		n, err := strconv.Atoi(p.port)
		if err != nil || n < 1 || n > 65535 {
			return none, Errorf(CodeInvalid, "must have a port from 1 to 65535, such as https://*.host.example.com:8443")
		}
		if p.port = strconv.Itoa(n); p.port == "443" {
			p.port = ""
		}
	}
	return p, nil
}

// checkParent refuses names that no certificate covers with a star.
func checkParent(name string) error {
	if _, err := netip.ParseAddr(name); err == nil {
		return Errorf(CodeInvalid, "must have a name, %s: there is nothing below an address", publicExample)
	}
	labels := strings.Split(name, ".")
	if len(labels) < 2 {
		return Errorf(CodeInvalid, "must have a name of two parts or more behind the star, %s: no authority certifies *.%s", publicExample, name)
	}
	if len(name)+1+PublicLabelBytes > maxNameBytes {
		return Errorf(CodeInvalid, "must have a name of %d bytes at most", maxNameBytes-1-PublicLabelBytes)
	}
	for _, label := range labels {
		plain := label != "" && len(label) <= maxLabelBytes && label[0] != '-' && label[len(label)-1] != '-'
		for _, r := range label {
			plain = plain && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-')
		}
		if !plain {
			return Errorf(CodeInvalid, "must have a name of letters, digits and dashes between dots, %s", publicExample)
		}
	}
	if last := labels[len(labels)-1]; strings.Trim(last, "0123456789") == "" {
		return Errorf(CodeInvalid, "must have a name, %s: browsers take %s for an address", publicExample, name)
	}
	return nil
}

// String is the URL with its star; empty for none.
func (p PublicURL) String() string {
	if p.parent == "" {
		return ""
	}
	return p.Origin("*")
}

// Origin is that of one label.
func (p PublicURL) Origin(label string) string {
	host := label + "." + p.parent
	if p.port != "" {
		host = net.JoinHostPort(host, p.port)
	}
	return "https://" + host
}

// Name is the host of one label, without a port.
func (p PublicURL) Name(label string) string { return label + "." + p.parent }

// Port is the one that browsers connect to.
func (p PublicURL) Port() int {
	if n, err := strconv.Atoi(p.port); err == nil {
		return n
	}
	return 443
}

// Label is that of the host of a request, with or without its port; false for a
// host that is none of this URL's.
func (p PublicURL) Label(host string) (string, bool) {
	if name, port, err := net.SplitHostPort(host); err == nil && port == strconv.Itoa(p.Port()) {
		host = name
	}
	label, found := strings.CutSuffix(strings.ToLower(strings.TrimSuffix(host, ".")), "."+p.parent)
	return label, found && p.parent != "" && label != "" && !strings.Contains(label, ".")
}
