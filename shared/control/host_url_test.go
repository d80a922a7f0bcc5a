package control_test

import (
	"bytes"
	"context"
	"log/slog"
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

// queries counts the queries of a table.
type queries struct {
	berth.Table
	count int
}

func (q *queries) Query(ctx context.Context, query berth.Query) (berth.Page, error) {
	q.count++
	return q.Table.Query(ctx, query)
}

func TestAHostWhoseURLAnotherHasIsWarnedOfOnceAndLooksAtAllHostsOnce(t *testing.T) {
	t.Parallel()
	const url, next = "https://*.eu-1.example.com", "https://*.eu-3.example.com"
	p, _, _ := hosting(t)
	for fingerprint, host := range map[string]berth.HostID{"0a": "eu-1", "0c": "eu-3"} {
		if err := p.joinURL(host, fingerprint, "https://*."+string(host)+".example.com"); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.joinURL("eu-2", "0b", ""); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	p.Logger = slog.New(slog.NewTextHandler(&log, nil))
	counted := &queries{Table: p.Records.Table}
	p.Records.Table = counted
	beat := berth.Heartbeat{HostCapacity: berth.HostCapacity{CPU: 4, MemoryBytes: 8e9, Architecture: "arm64"}, Version: "1.2.3"}
	for _, step := range []struct {
		says            string
		warned, queried int // in all
	}{
		{url, 1, 1},
		{url, 1, 1},
		{url + ":443/", 1, 1}, // the same, written otherwise
		{next, 2, 2},          // another's too
		{next, 2, 2},
		{"", 2, 2}, // none any more: the next time is news
		{next, 3, 3},
	} {
		beat.PublicURL = step.says
		if err := p.BeatHost(t.Context(), "eu-2", beat); err != nil {
			t.Fatal(err)
		}
		if warned := strings.Count(log.String(), "level=WARN"); warned != step.warned || counted.count != step.queried || p.publicURL("eu-2") != "" {
			t.Errorf("after %q: %d warnings and %d queries, want %d and %d; recorded %q", step.says, warned, counted.count, step.warned, step.queried, p.publicURL("eu-2"))
		}
	}
	if err := p.RemoveHost(t.Context(), "eu-3", false); err != nil {
		t.Fatal(err)
	}
	if err := p.BeatHost(t.Context(), "eu-2", beat); err != nil || p.publicURL("eu-2") != next {
		t.Errorf("recorded %q, %v; want the URL of the host that was removed", p.publicURL("eu-2"), err)
	}
}
