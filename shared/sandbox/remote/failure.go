package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

var (
	errSlow    = errors.New("the answer took too long")
	errTooMuch = errors.New("the answer is too large")
)

// broken is the failure of a connection: another attempt may help. sent says
// that the request may have reached the agent all the same.
type broken struct {
	err  *berth.Error
	sent bool
}

func (b *broken) Error() string { return b.err.Error() }
func (b *broken) Unwrap() error { return b.err }

// unreachable is the error of a request that got no whole answer.
func (p *Provider) unreachable(ctx context.Context, err error) error {
	var changed *changedCertificate
	var record tls.RecordHeaderError
	switch {
	case errors.Is(context.Cause(ctx), errSlow), errors.Is(err, errTooMuch):
		return p.unavailable("does not answer as it should", err)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &berth.Error{Code: berth.CodeTimedOut, Message: "the host agent at " + p.host + " did not answer in time", Cause: ctx.Err()}
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &changed):
		return changed
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return p.unavailable("does not speak TLS: is this the address that berth-agent printed?", nil)
	}
	var address *url.Error
	if errors.As(err, &address) { // its text repeats the whole URL
		err = address.Err
	}
	var op *net.OpError
	return &broken{p.unavailable("cannot be reached", err), !errors.As(err, &op) || op.Op != "dial"}
}

func (p *Provider) unavailable(what string, cause error) *berth.Error {
	return &berth.Error{
		Code: berth.CodeUnavailable, Message: "the host agent at " + p.host + " " + what, Cause: cause,
		Remediation: "See whether berth-agent runs on the host and its port is open to the server.",
	}
}

// refused is the error that the agent answered.
func (p *Provider) refused(resp *http.Response, body []byte) error {
	if media(resp.Header) == agentapi.MediaProblem {
		if problem, ok := agentapi.ReadProblem(body); ok {
			return plainError(problem.Err())
		}
	}
	return p.foreign(strconv.Itoa(resp.StatusCode))
}

// foreign is the error of an answer that no agent gives. The certificate was the
// agent's, so it can only be one of another version.
func (p *Provider) foreign(how string) error {
	e := p.unavailable("answered "+how+", which this berth does not understand", nil)
	e.Remediation = "Bring berth-agent on the host to the version of the server."
	return e
}
