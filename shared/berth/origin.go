package berth

import (
	"net/url"
	"strings"
)

const maxOriginBytes = 2048

// scpOrigin is git's short SSH form, user@host:path.
var scpOrigin = lazyPattern(`^(?:([A-Za-z0-9_.-]+)@)?([A-Za-z0-9][A-Za-z0-9.-]*):([^:].*)$`)

// CanonicalOrigin checks a git origin and returns the URL to clone from: the
// SSH forms (git@host:owner/repo, ssh://…) become HTTPS of the same host and
// path, the host is in lower case, no slash is at the end. Error: invalid; the
// message never holds the origin, as people put credentials into it.
func CanonicalOrigin(origin string) (string, error) {
	switch {
	case origin == "":
		return "", Errorf(CodeInvalid, "is missing: a git target needs the URL of a repository")
	case len(origin) > maxOriginBytes || badText(origin) || strings.ContainsAny(origin, " \\"):
		return "", Errorf(CodeInvalid, "is no URL of a repository")
	}
	if m := scpOrigin.FindStringSubmatch(origin); m != nil && !strings.Contains(origin, "://") {
		origin = "ssh://" + m[2] + "/" + strings.TrimLeft(m[3], "/")
	}
	u, err := url.Parse(origin)
	if err != nil || u.Opaque != "" || u.Scheme == "" {
		return "", Errorf(CodeInvalid, "is no URL of a repository: write https://host/owner/repository")
	}
	if err := checkOriginParts(u); err != nil {
		return "", err
	}
	if u.Scheme == "ssh" {
		u.Scheme, u.Host = "https", u.Hostname() // the port is that of SSH
		if strings.Contains(u.Host, ":") {
			u.Host = "[" + u.Host + "]"
		}
	}
	u.User, u.Host = nil, strings.ToLower(u.Host)
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u.String(), nil
}

func checkOriginParts(u *url.URL) error {
	_, hasPassword := u.User.Password()
	switch u.Scheme {
	case "https", "http", "git":
		if u.User != nil {
			return Errorf(CodeInvalid, "has a user or password in it: take it out, credentials do not belong in an origin")
		}
	case "ssh":
		if hasPassword {
			return Errorf(CodeInvalid, "has a password in it: take it out, credentials do not belong in an origin")
		}
	default:
		return Errorf(CodeInvalid, "has a scheme that cannot be cloned: use https, http, git or an SSH form")
	}
	switch {
	case u.Hostname() == "" || strings.HasPrefix(u.Host, "-"):
		return Errorf(CodeInvalid, "names no host")
	case strings.Trim(u.Path, "/") == "":
		return Errorf(CodeInvalid, "names no repository")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return Errorf(CodeInvalid, "has a query or a fragment: write the URL of the repository alone")
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if part == ".." || part == "." {
			return Errorf(CodeInvalid, "has . or .. in its path")
		}
	}
	return nil
}
