package filemove

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	dialTime   = 10 * time.Second
	answerTime = time.Minute
	idleTime   = 30 * time.Second
	// drained is how much of a refusal is read so that its connection can be used
	// again, in bytes.
	drained = 64 << 10
)

// newClient trusts the system's authorities and follows no redirect: a signed URL
// names where the bytes are.
func newClient() *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dialTime}).DialContext,
			TLSHandshakeTimeout: dialTime, ResponseHeaderTimeout: answerTime, IdleConnTimeout: idleTime,
			DisableCompression: true, MaxIdleConnsPerHost: maxRunning,
		},
	}
}

// fetch sends one request to a signed URL. The URL is in no error. A body is not
// read any more when it returns, except after an early answer.
func (m *Mover) fetch(ctx context.Context, method, address string, body io.Reader, size int64) (*http.Response, error) {
	if size == 0 {
		body = http.NoBody
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, berth.Errorf(berth.CodeInvalid, "the signed URL is none")
	}
	req.ContentLength = size
	resp, err := m.config.Client.Do(req)
	if err != nil {
		return nil, unreachable("reaching the signed URL", err)
	}
	if resp.StatusCode == http.StatusOK || (method == http.MethodPut && resp.StatusCode/100 == 2) {
		return resp, nil
	}
	_, _ = io.CopyN(io.Discard, resp.Body, drained)
	resp.Body.Close()
	return nil, refused(resp.StatusCode)
}

func unreachable(doing string, err error) error {
	var address *url.Error
	if errors.As(err, &address) { // its text has the URL
		err = address.Err
	}
	return &berth.Error{Code: berth.CodeUnavailable, Message: doing + " from the host failed", Cause: err}
}

// refused is the error of an answer that is none of success.
func refused(status int) error {
	switch {
	case status == http.StatusForbidden || status == http.StatusUnauthorized:
		return &berth.Error{
			Code: berth.CodeForbidden, Message: "the signed URL is refused: it has expired, or the clocks differ",
			Remediation: "Commit the transfer again, which signs another. If that is refused too, set the clock of the host.",
		}
	case status == http.StatusNotFound:
		return berth.Errorf(berth.CodeNotFound, "there are no bytes at the signed URL")
	case status/100 == 3:
		return berth.Errorf(berth.CodeForbidden, "the signed URL leads to another address, and the host agent follows none")
	case status/100 == 5 || status == http.StatusTooManyRequests:
		return berth.Errorf(berth.CodeUnavailable, "the signed URL answered %d", status)
	}
	return berth.Errorf(berth.CodeInvalid, "the signed URL answered %d", status)
}
