package tunnel

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/coder/websocket"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	dialTime   = 10 * time.Second
	answerTime = openTime + 10*time.Second
)

// Dial opens the stream that a ticket is for. Errors: unavailable when its address
// is not reachable from here, or shows another certificate than the ticket tells;
// unauthenticated for a ticket that is not good any more; what the other side said.
func Dial(ctx context.Context, t berth.Ticket) (io.ReadWriteCloser, error) {
	u, err := url.Parse(t.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || t.Fingerprint != "") {
		return nil, berth.FieldErrorf(berth.CodeInvalid, "url", "the ticket's URL %q is none of a server or an agent", t.URL)
	}
	changed := ""
	client := &http.Client{
		Transport:     transport(t.Fingerprint, &changed),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	ws, resp, err := websocket.Dial(ctx, t.URL, &websocket.DialOptions{
		HTTPClient: client, HTTPHeader: http.Header{Header: {t.Value}}, Subprotocols: []string{protocol},
	})
	switch {
	case err == nil:
		return newConn(ws), nil
	case changed != "":
		return nil, &berth.Error{
			Code:        berth.CodeUnavailable,
			Message:     u.Host + " shows another certificate, " + changed + ", than the one of the host, " + t.Fingerprint,
			Remediation: "Run `berth-agent fingerprint` on the host. If it prints the first, let the host join again. If not, somebody is between here and the host.",
		}
	case resp != nil:
		return nil, refused(resp, u.Host)
	case errors.Is(context.Cause(ctx), context.Canceled):
		return nil, context.Canceled
	}
	return nil, &berth.Error{
		Code: berth.CodeUnavailable, Message: "the address of the sandbox's host, " + u.Host + ", is not reachable from here", Cause: plainCause(err),
		Remediation: "Reach its network, by a VPN for example, or use `berth exec SANDBOX -- COMMAND`, which goes through the server.",
	}
}

// plainCause leaves out what repeats the URL.
func plainCause(err error) error {
	var inner *url.Error
	if errors.As(err, &inner) {
		return inner.Err
	}
	return err
}

// refused is what was answered in place of a WebSocket. Only the first kilobyte
// of a body is there.
func refused(resp *http.Response, host string) error {
	body, _ := io.ReadAll(resp.Body)
	var problem struct {
		Code        berth.Code      `json:"code"`
		Detail      string          `json:"detail"`
		Field       string          `json:"field"`
		Remediation string          `json:"remediation"`
		Errors      []berth.Problem `json:"errors"`
	}
	if json.Unmarshal(body, &problem) == nil && problem.Code != "" && problem.Code.Info().Code == problem.Code {
		if len(problem.Errors) > 0 && problem.Field == "" {
			problem.Field = problem.Errors[0].Location
		}
		return &berth.Error{Code: problem.Code, Message: problem.Detail, Field: problem.Field, Remediation: problem.Remediation}
	}
	return berth.Errorf(berth.CodeUnavailable, "what answers at %s is no server of berth's: it said %s", host, resp.Status)
}

// transport speaks HTTP/1.1, and with a fingerprint trusts that certificate
// alone. It says in changed which other one it was shown.
func transport(fingerprint string, changed *string) *http.Transport {
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dialTime}).DialContext,
		TLSHandshakeTimeout: dialTime, DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
	}
	if fingerprint == "" {
		return t
	}
	t.Proxy = nil // an agent is reached straight
	t.TLSClientConfig = &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection is stricter
		VerifyConnection: func(state tls.ConnectionState) error {
			shown := "none"
			if len(state.PeerCertificates) > 0 {
				sum := sha256.Sum256(state.PeerCertificates[0].Raw)
				shown = "sha256:" + hex.EncodeToString(sum[:])
			}
			if shown != fingerprint {
				*changed = shown
				return errors.New("another certificate")
			}
			return nil
		},
	}
	return t
}
