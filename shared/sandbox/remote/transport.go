package remote

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

const (
	dialTime      = 5 * time.Second
	handshakeTime = 10 * time.Second
	// idleTime is shorter than the agent's, so that it is this side that ends an
	// idle connection.
	idleTime    = 90 * time.Second
	idleMost    = 64 // connections; a poll that waits holds one
	bufferBytes = 64 << 10
	// continueTime is how long a large body waits for the agent to want it.
	continueTime = 5 * time.Second
	headerBytes  = 64 << 10 // of an answer; Go's own limit is 10 MB
)

// transport speaks HTTP/1.1: a body of output passes through it with fewer
// copies than through the frames of HTTP/2, and a slow one holds up no other.
func (p *Provider) transport(keep bool) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	dialer := &net.Dialer{Timeout: dialTime}
	return &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: p.tls(), TLSHandshakeTimeout: handshakeTime,
		Protocols: protocols, DisableKeepAlives: !keep, DisableCompression: true,
		MaxIdleConns: idleMost, MaxIdleConnsPerHost: idleMost, IdleConnTimeout: idleTime,
		ReadBufferSize: bufferBytes, WriteBufferSize: bufferBytes, ExpectContinueTimeout: continueTime,
		MaxResponseHeaderBytes: headerBytes,
	}
}

// tls trusts the pinned certificate and no other, whoever has signed it.
func (p *Provider) tls() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection is stricter
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return p.changed("none")
			}
			if found := agentapi.FingerprintOf(state.PeerCertificates[0].Raw); found != p.config.Fingerprint {
				return p.changed(found.String())
			}
			return nil
		},
	}
}

// changedCertificate is the failure of a handshake with somebody else.
type changedCertificate struct{ err *berth.Error }

func (c *changedCertificate) Error() string { return c.err.Error() }
func (c *changedCertificate) Unwrap() error { return c.err }

// CertificateChanged reports whether err came of a certificate that is not the
// pinned one.
func CertificateChanged(err error) bool {
	var changed *changedCertificate
	return errors.As(err, &changed)
}

func (p *Provider) changed(found string) error {
	return &changedCertificate{&berth.Error{
		Code: berth.CodeUnavailable,
		Message: "the host's certificate changed: " + p.host + " shows " + found + ", and the one that is trusted is " +
			p.config.Fingerprint.String(),
		Remediation: "Run `berth-agent fingerprint` on the host. If it prints the new one, the agent was set up anew: start the server " +
			"with it as --agent-fingerprint. If not, somebody is between the server and the host.",
	}}
}
