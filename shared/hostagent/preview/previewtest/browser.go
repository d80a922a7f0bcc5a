package previewtest

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"testing"
	"time"
)

// Browser keeps cookies, follows redirects, and finds every name at one address.
type Browser struct {
	*http.Client
	t *testing.T
}

// patience bounds one page.
const patience = time.Minute

// NewBrowser trusts the authority, and reaches address under any name.
func NewBrowser(t *testing.T, a *Authority, address string) *Browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: a.Pool(), MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &Browser{&http.Client{Transport: transport, Jar: jar, Timeout: patience}, t}
}

// Page is what a browser has loaded.
type Page struct {
	Status int
	URL    string // where it is, after redirects
	Header http.Header
	Body   string
}

// Load opens a URL in a tab, with headers in pairs.
func (b *Browser) Load(url string, headers ...string) Page {
	b.t.Helper()
	return b.Send(http.MethodGet, url, nil, headers...)
}

// Send is what a page does.
func (b *Browser) Send(method, url string, body io.Reader, headers ...string) Page {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, url, body)
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := b.Do(req)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, url, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, url, err)
	}
	return Page{resp.StatusCode, resp.Request.URL.String(), resp.Header, string(text)}
}
