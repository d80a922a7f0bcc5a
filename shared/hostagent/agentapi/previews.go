package agentapi

import (
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// PreviewRequest asks for a URL of a port.
type PreviewRequest struct {
	Port int           `json:"port"`
	TTL  time.Duration `json:"ttl,omitempty"` // nanoseconds
}

// Preview answers with one, for browsers. Whoever opens it first is let in.
type Preview struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
}

// openPreview gives out a URL for a sandbox that is there.
func openPreview(x *exchange) error {
	var request PreviewRequest
	if err := x.decode(&request); err != nil {
		return err
	}
	previews := x.server.config.Previews
	if previews == nil {
		return &berth.Error{
			Code: berth.CodeUnsupported, Message: "berth-agent there has no public URL, so browsers have no way to its sandboxes",
			Remediation: "Give it one with `berth-agent serve --public-url https://*.NAME` and a certificate; or leave --browser away: a port of your machine leads there then.",
		}
	}
	if err := (berth.StreamSpec{Kind: berth.StreamPort, Port: request.Port}).Check(); err != nil {
		return err
	}
	open, err := x.opener()
	if err != nil {
		return err
	}
	url, until, err := previews.Open(x.ref.ID, request.Port, request.TTL, open)
	if err != nil {
		return err
	}
	return x.answer(Preview{url, until.UTC()})
}
