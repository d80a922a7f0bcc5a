package control

import (
	"context"
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

// takenBy is the host that has the public URL that h says in a heartbeat; empty for
// none. It seldom changes: only then are all hosts looked at.
func (p *Plane) takenBy(ctx context.Context, h records.StoredHost, url string) (berth.HostID, error) {
	if url == "" || url == h.PublicURL {
		return "", nil
	}
	if h.TakenBy != "" && h.TakenURL == url {
		other, err := p.Records.FindHost(ctx, h.TakenBy)
		switch {
		case berth.CodeOf(err) == berth.CodeNotFound: // removed: it may be free
		case err != nil:
			return "", err
		case usedBy([]records.StoredHost{other}, h.ID, url) != "":
			return other.ID, nil
		}
	}
	hosts, err := p.Records.AllHosts(ctx)
	return usedBy(hosts, h.ID, url), err
}
