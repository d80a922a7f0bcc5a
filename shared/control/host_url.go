package control

import (
	"slices"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// plainURL is a public URL in the one form in which it is recorded and compared;
// empty for none.
func plainURL(text string) string {
	u, _ := berth.ParsePublicURL(text) // what it refuses was refused before, or is none
	return u.String()
}

// usedBy is the host that has joined with a public URL before id; empty for none. A
// name leads to one machine: previews would be looked for on the other.
func usedBy(hosts []records.StoredHost, id berth.HostID, url string) berth.HostID {
	url = plainURL(url)
	i := slices.IndexFunc(hosts, func(h records.StoredHost) bool {
		return url != "" && h.ID != id && h.JoinedAt != nil && plainURL(h.PublicURL) == url
	})
	if i < 0 {
		return ""
	}
	return hosts[i].ID
}
