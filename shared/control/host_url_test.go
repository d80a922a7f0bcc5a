package control_test

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

// joinURL lets a host of its own join with a public URL.
func (p *plane) joinURL(id berth.HostID, fingerprint, url string) error {
	p.t.Helper()
	j := join(p.add(id))
	j.Fingerprint, j.PublicURL = "sha256:"+strings.Repeat(fingerprint, 32), url
	_, err := p.JoinHost(p.t.Context(), j)
	return err
}

func (p *plane) publicURL(id berth.HostID) string {
	p.t.Helper()
	h, err := p.Records.FindHost(p.t.Context(), id)
	if err != nil {
		p.t.Fatal(err)
	}
	return h.PublicURL
}

func TestAPublicURLIsOneHostsHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	const url = "https://*.eu-1.example.com"
	p, _, clock := hosting(t)
	if err := p.joinURL("eu-1", "0a", "https://*.EU-1.example.com:443/"); err != nil {
		t.Fatal(err)
	}
	if got := p.publicURL("eu-1"); got != url {
		t.Errorf("recorded %s, want %s", got, url)
	}
	for _, same := range []string{url, url + ":443", url + "/", "https://*.eu-1.EXAMPLE.com"} {
		err := p.joinURL("eu-2", "0b", same)
		wantCode(t, "joining with "+same, err, berth.CodeConflict)
		if !strings.Contains(err.Error(), "host eu-1") {
			t.Errorf("joining with %s: %v", same, err)
		}
	}
	if err := p.joinURL("eu-2", "0b", url+":8443"); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		host      berth.HostID
		says, has string
	}{
		{"eu-2", url + ":443/", ""}, // another's
		{"eu-2", "https://*.EU-2.example.com", "https://*.eu-2.example.com"},
		{"eu-1", url + "/", url}, // its own
		{"eu-1", "https://*.eu-2.example.com:443", ""},
		{"eu-2", "", ""},
		{"eu-1", "https://*.eu-2.example.com:443", "https://*.eu-2.example.com"}, // free now
	} {
		clock.Advance(berth.HostHeartbeat)
		beat := berth.Heartbeat{HostCapacity: berth.HostCapacity{CPU: 4, MemoryBytes: 8e9, Architecture: "arm64"}, PublicURL: step.says, Version: "1.2.3"}
		if err := p.BeatHost(t.Context(), step.host, beat); err != nil {
			t.Fatal(err)
		}
		h, err := p.Records.FindHost(t.Context(), step.host)
		if err != nil || h.PublicURL != step.has || h.SeenAt == nil || !h.SeenAt.Equal(clock.Now()) {
			t.Errorf("%s says %q: recorded %q, seen at %v, %v; want %q", step.host, step.says, h.PublicURL, h.SeenAt, err, step.has)
		}
	}
}
