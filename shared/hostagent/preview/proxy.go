package preview

import (
	"context"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/channel"
)

const (
	// openTime is how long a connection to the port may take to begin.
	openTime  = 30 * time.Second
	idleTime  = 30 * time.Second
	keptConns = 8 // without a request, of one preview
)

// newTransport leads to the port of the sandbox, and to nothing else.
func (p *preview) newTransport() *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, openTime)
			defer cancel()
			stream, err := p.open(ctx, p.spec)
			if err != nil {
				return nil, err
			}
			return channel.NewConn(stream), nil
		},
		DisableCompression: true, MaxConnsPerHost: maxOfOne, MaxIdleConnsPerHost: keptConns, IdleConnTimeout: idleTime,
	}
}

// serve hands a request on. It returns an error when nothing was answered.
func (p *preview) serve(w http.ResponseWriter, r *http.Request, proxied bool) (err error) {
	hand := httputil.ReverseProxy{
		Transport: p.transport,
		Rewrite:   func(pr *httputil.ProxyRequest) { p.rewrite(pr, proxied) },
		ModifyResponse: func(resp *http.Response) error {
			confine(resp.Header)
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, failed error) { err = failed },
		ErrorLog:     log.New(logged{p}, "", 0),
	}
	hand.ServeHTTP(early{w}, r)
	return err
}

// early confines what comes before an answer, such as 103, too: ModifyResponse is
// not asked about that.
type early struct{ http.ResponseWriter }

func (w early) WriteHeader(status int) {
	if status < http.StatusOK && status != http.StatusSwitchingProtocols {
		confine(w.Header())
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w early) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// rewrite tells the program in the sandbox under which name it was called, and
// keeps the cookie of the preview from it.
func (p *preview) rewrite(pr *httputil.ProxyRequest, proxied bool) {
	out := pr.Out
	out.URL.Scheme, out.URL.Host = "http", net.JoinHostPort("127.0.0.1", strconv.Itoa(p.spec.Port))
	out.URL.RawQuery = pr.In.URL.RawQuery // also what Go would not parse
	host := strings.TrimPrefix(p.origin, "https://")
	out.Host = host
	for name := range out.Header {
		if strings.HasPrefix(name, "X-Forwarded-") {
			out.Header.Del(name)
		}
	}
	if before := pr.In.Header["X-Forwarded-For"]; proxied && len(before) > 0 {
		out.Header["X-Forwarded-For"] = before
	}
	pr.SetXForwarded()
	out.Header.Set("X-Forwarded-Host", host)
	out.Header.Set("X-Forwarded-Proto", "https")
	cookies := withoutCookie(out.Header["Cookie"])
	out.Header.Del("Cookie")
	if len(cookies) > 0 {
		out.Header["Cookie"] = cookies
	}
}

// withoutCookie leaves the other cookies as they are.
func withoutCookie(lines []string) []string {
	var kept []string
	for _, line := range lines {
		var rest []string
		for pair := range strings.SplitSeq(line, ";") {
			if name, _, _ := strings.Cut(pair, "="); strings.TrimSpace(name) != Cookie {
				rest = append(rest, strings.TrimSpace(pair))
			}
		}
		if len(rest) > 0 {
			kept = append(kept, strings.Join(rest, "; "))
		}
	}
	return kept
}

// confine keeps a page from what reaches beyond its origin: a cookie for all
// previews of the host, the cookie of the preview itself, and the clearing of
// everybody's.
func confine(h http.Header) {
	h.Del("Clear-Site-Data")
	lines := h["Set-Cookie"]
	h.Del("Set-Cookie")
	for _, line := range lines {
		parts := strings.Split(line, ";")
		if isOurs(parts[0]) {
			continue
		}
		attributes := slices.DeleteFunc(parts[1:], func(part string) bool {
			name, _, _ := strings.Cut(part, "=")
			return strings.EqualFold(strings.TrimSpace(name), "domain")
		})
		h.Add("Set-Cookie", strings.Join(append(parts[:1], attributes...), ";"))
	}
}

// isOurs reports whether a browser may send name=value back as the preview's own
// cookie: one without a name goes out as its value alone.
func isOurs(pair string) bool {
	name, value, _ := strings.Cut(pair, "=")
	if name = strings.TrimSpace(name); name == "" {
		name, _, _ = strings.Cut(strings.TrimSpace(value), "=")
	}
	return strings.EqualFold(strings.TrimSpace(name), Cookie)
}

// logged is the log of what breaks while an answer is on its way, which a browser that
// goes away does: it is no news.
type logged struct{ p *preview }

func (l logged) Write(line []byte) (int, error) {
	l.p.logger.Debug("a preview", "sandbox", string(l.p.sandbox), "message", strings.TrimSpace(string(line)))
	return len(line), nil
}
