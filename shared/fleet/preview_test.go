package fleet_test

import (
	"context"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// Preview is what the agent was set to say.
func (l link) Preview(context.Context, berth.SandboxRef, int, time.Duration) (string, error) {
	l.agent.mu.Lock()
	defer l.agent.mu.Unlock()
	return l.agent.preview, l.agent.down
}

func TestAPreviewLiesBelowThePublicURLOfItsHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	host := f.host("eu-1", 4, 8e9)
	ref := f.made("eu-1")
	for _, tt := range []struct {
		public, preview string
		good            bool
	}{
		{"https://*.eu-1.example.com", "https://abc.eu-1.example.com/?berth-ticket=x", true},
		{"https://*.eu-1.example.com:8443", "https://abc.eu-1.example.com:8443/?berth-ticket=x", true},
		{"", "https://abc.eu-1.example.com/", false},
		{"https://*.eu-1.example.com", "https://abc.evil.example/", false},
		{"https://*.eu-1.example.com", "https://eu-1.example.com.evil.example/", false},
		{"https://*.eu-1.example.com", "https://eu-1.example.com/", false},
		{"https://*.eu-1.example.com", "https://a.b.eu-1.example.com/", false},
		{"https://*.eu-1.example.com", "http://abc.eu-1.example.com/", false},
		{"https://*.eu-1.example.com", "https://abc.eu-1.example.com:8443/", false},
		{"https://*.eu-1.example.com:8443", "https://abc.eu-1.example.com/", false},
		{"https://*.eu-1.example.com", "https://abc.eu-1.example.com@evil.example/", false},
		{"https://*.eu-1.example.com", "https://me@abc.eu-1.example.com/", false},
		{"https://*.eu-1.example.com", "https://%zz", false},
	} {
		f.change("eu-1", func(h *records.StoredHost) { h.PublicURL = tt.public })
		host.set(func(a *agent) { a.preview = tt.preview })
		got, err := f.Preview(t.Context(), ref, 80, 0)
		if tt.good {
			if err != nil || got != tt.preview {
				t.Errorf("%s at %s = %q, %v", tt.preview, tt.public, got, err)
			}
			continue
		}
		wantCode(t, tt.preview+" at "+tt.public, err, berth.CodeUnavailable, "eu-1", "public URL")
		if got != "" {
			t.Errorf("%s at %s is given out as %s", tt.preview, tt.public, got)
		}
	}
	host.set(func(a *agent) { a.down = berth.Errorf(berth.CodeUnsupported, "no public URL") })
	_, err := f.Preview(t.Context(), ref, 80, 0)
	wantCode(t, "a preview at a host without a public URL", err, berth.CodeUnsupported, "host eu-1: no public URL")
}
