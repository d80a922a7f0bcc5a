package shell

import (
	"slices"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// failure gives what went wrong with a connection to host its code: what another
// attempt may change is unavailable, anything else is not. text is what the
// client program said, or an error's text.
func failure(host, text string, cause error) error {
	e := &berth.Error{Code: berth.CodeUnavailable, Message: "the connection to " + host + " failed", Cause: cause}
	lower := strings.ToLower(text)
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(lower, part) {
				return true
			}
		}
		return false
	}
	switch {
	case has("revoked host key", "is revoked", "marked as revoked"):
		e.Code, e.Message = berth.CodeForbidden, "the host key of "+host+" is revoked: nothing was sent to it"
		e.Remediation = "Give the host a new key, and replace the line that begins with @revoked in known_hosts by one of that key."
		text = about(text, "revoked")
	case has("identification has changed", "offending", "key mismatch"):
		e.Code, e.Message = berth.CodeForbidden, "the host key of "+host+" has changed: nothing was sent to it"
		e.Remediation = "Find out whether the host was installed anew. If so, replace its line in known_hosts; if not, somebody may stand between."
		text = about(text, "sha256:", "offending")
	case has("host key verification failed", "no matching host key", "key is unknown", "host key is known"):
		e.Code, e.Message = berth.CodeForbidden, "the host key of "+host+" is not known: nothing was sent to it"
		e.Remediation = "Add the host's key to known_hosts, after comparing it with the host's own."
	case has("temporary failure in name resolution", "server misbehaving"):
		e.Message = "the name " + host + " cannot be looked up now"
		e.Remediation = "Check the network and the name servers of the server."
	case has("could not resolve", "name or service not known", "no such host"):
		e.Code, e.Message = berth.CodeInvalid, "the name "+host+" does not resolve"
		e.Remediation = "Correct the destination, or add the alias to the SSH configuration that the server uses."
	case has("permission denied (", "unable to authenticate", "too many authentication failures"):
		e.Code, e.Message = berth.CodeForbidden, "the host "+host+" accepts none of the server's keys"
		e.Remediation = "Add the server's public key to the user's authorized_keys on the host."
	case has("bad configuration option", "can't open user config file", "bad owner or permissions"):
		e.Code, e.Message = berth.CodeInvalid, "the SSH configuration cannot be used"
		e.Remediation = "Correct the file, and its permissions, on the server."
	}
	if text = lastLines(text); text != "" {
		e.Message += ": " + text
	}
	return e
}

// about keeps the lines of text, without regard to case, that have one of words; all
// of them when none has.
func about(text string, words ...string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		lower := strings.ToLower(line)
		if !strings.HasPrefix(line, "@") && slices.ContainsFunc(words, func(word string) bool { return strings.Contains(lower, word) }) {
			kept.WriteString(line)
		}
	}
	if kept.Len() == 0 {
		return text
	}
	return kept.String()
}

// lastLines is the end of what a program said, on one line: whole lines, and only of
// one that is too long by itself the end.
func lastLines(text string) string {
	const shown = 300
	var kept []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && strings.Trim(line, "@") != "" && !strings.HasPrefix(line, "Warning: Permanently added") {
			kept = append(kept, line)
		}
	}
	joined := strings.Join(kept, " / ")
	for len(joined) > shown && len(kept) > 1 {
		kept = kept[1:]
		joined = strings.Join(kept, " / ")
	}
	if len(joined) > shown {
		joined = "…" + joined[len(joined)-shown:]
	}
	return strings.ToValidUTF8(joined, "?")
}
