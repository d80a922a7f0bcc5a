package preview_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/channel"
	"github.com/berth-dev/berth/shared/hostagent/preview"
	"github.com/berth-dev/berth/shared/hostagent/preview/previewtest"
	"github.com/berth-dev/berth/shared/listen"
	"github.com/berth-dev/berth/shared/tunnel"
)

const (
	patience = 30 * time.Second
	one      = berth.SandboxID("01arz3ndektsv4rrffq69g5faa")
	other    = berth.SandboxID("01arz3ndektsv4rrffq69g5fbb")
)

// clock is set by hand; who sleeps is woken by it.
type clock struct {
	mu      sync.Mutex
	now     time.Time
	waiting map[chan struct{}]time.Time
}

func newClock() *clock { return &clock{now: time.Now(), waiting: map[chan struct{}]time.Time{}} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	wake := make(chan struct{})
	c.waiting[wake] = c.now.Add(d)
	c.mu.Unlock()
	select {
	case <-wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for wake, at := range c.waiting {
		if !c.now.Before(at) {
			close(wake)
			delete(c.waiting, wake)
		}
	}
}

// site serves previews under a certificate of a test's authority.
type site struct {
	*preview.Store
	t         *testing.T
	authority *previewtest.Authority
	clock     *clock
	address   string
}

func newSite(t *testing.T, change func(*preview.Config)) *site {
	t.Helper()
	url, err := berth.ParsePublicURL("https://*.host.example.com")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, authority: previewtest.NewAuthority(t), clock: newClock()}
	s.authority.Issue("*.host.example.com", time.Now().Add(time.Hour))
	config := preview.Config{URL: url, Clock: s.clock}
	if change != nil {
		change(&config)
	}
	s.Store = preview.New(config)
	cert, key := s.authority.Files()
	certificate, err := preview.OpenCertificate(url, cert, key, s.clock, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() {
		_ = listen.Serve(ctx, tls.NewListener(listen.Limit(l, preview.MaxConns), certificate.TLS()), s.Store, log.New(io.Discard, "", 0))
	})
	t.Cleanup(func() {
		s.Close()
		stop()
		served.Wait()
	})
	return s
}

func (s *site) browser() *previewtest.Browser {
	return previewtest.NewBrowser(s.t, s.authority, s.address)
}

// sandbox is a program that listens in a sandbox, and the way to it.
func sandbox(t *testing.T, h http.HandlerFunc) tunnel.Opener {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return func(ctx context.Context, spec berth.StreamSpec) (io.ReadWriteCloser, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", server.Listener.Addr().String())
		if err != nil {
			return nil, err
		}
		near, far := net.Pipe()
		go channel.Join(conn.(*net.TCPConn), far)
		return near, nil
	}
}

func (s *site) open(id berth.SandboxID, ttl time.Duration, open tunnel.Opener) string {
	s.t.Helper()
	url, until, err := s.Open(id, 8080, ttl, open)
	if err != nil {
		s.t.Fatal(err)
	}
	if ttl > 0 && !until.Equal(s.clock.Now().Add(ttl)) {
		s.t.Errorf("a preview for %s lasts until %s", ttl, until)
	}
	return url
}

// originOf is a preview's URL without the ticket.
func originOf(url string) string { return url[:strings.Index(url, "/?")] }

func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s host=%s cookie=%q for=%d proto=%s fhost=%s port=%q body=%q", r.Method, r.RequestURI, r.Host, r.Header.Values("Cookie"),
		len(strings.Split(r.Header.Get("X-Forwarded-For"), ",")), r.Header.Get("X-Forwarded-Proto"), r.Header.Get("X-Forwarded-Host"), r.Header.Get("X-Forwarded-Port"), body)
}

func TestABrowserThatOpensTheURLIsLetInAndNoOther(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	url := s.open(one, 0, sandbox(t, echo))
	origin := originOf(url)
	host := strings.TrimPrefix(origin, "https://")
	b := s.browser()
	if page := b.Load(origin + "/"); page.Status != 403 || !strings.Contains(page.Body, "not open to you") {
		t.Fatalf("without the ticket: %+v", page)
	}
	page := b.Load(url, "X-Forwarded-For", "6.6.6.6", "X-Forwarded-Host", "evil.example", "X-Forwarded-Proto", "http", "X-Forwarded-Port", "1")
	want := fmt.Sprintf("GET / host=%s cookie=[] for=1 proto=https fhost=%s port=\"\" body=\"\"", host, host)
	if page.Status != 200 || page.Body != want || page.URL != origin+"/" {
		t.Fatalf("the first load is %+v, want %s at %s/", page, want, origin)
	}
	page = b.Send(http.MethodPost, origin+"/a%2Fb//c?x=1&y=;z", strings.NewReader("data"), "Cookie", "theme=dark; a=b=c", "Origin", origin, "Sec-Fetch-Site", "same-origin")
	want = fmt.Sprintf("POST /a%%2Fb//c?x=1&y=;z host=%s cookie=[\"theme=dark; a=b=c\"] for=1 proto=https fhost=%s port=\"\" body=\"data\"", host, host)
	if diff := cmp.Diff(want, page.Body); diff != "" {
		t.Errorf("what the sandbox sees (-want +got)\n%s", diff)
	}
	if page := b.Load(url); page.Status != 200 || page.URL != origin+"/" {
		t.Errorf("the same browser, again: %+v", page)
	}
	for name, page := range map[string]previewtest.Page{
		"another browser with the ticket":    s.browser().Load(url),
		"another browser":                    s.browser().Load(origin + "/"),
		"another preview's name":             b.Load("https://" + strings.Repeat("a", 26) + ".host.example.com/"),
		"a made up cookie":                   s.browser().Load(origin+"/", "Cookie", preview.Cookie+"=AAAA"),
		"an empty cookie":                    s.browser().Load(origin+"/", "Cookie", preview.Cookie+"="),
		"a ticket as the cookie":             s.browser().Load(origin+"/", "Cookie", preview.Cookie+"="+url[strings.Index(url, "=")+1:]),
		"a ticket in a form, for the cookie": s.browser().Send(http.MethodPost, url, nil),
	} {
		if page.Status != 403 || strings.Contains(page.Body, "host=") {
			t.Errorf("%s: %+v", name, page)
		}
	}
	for _, name := range []string{"host.example.com", "127.0.0.1", "a.b.host.example.com", host + ".evil.example"} {
		if page := b.Load(origin+"/", "Host", name); page.Status != http.StatusMisdirectedRequest {
			t.Errorf("for the host %s: %+v", name, page)
		}
	}
}

func TestTheCookieIsForItsOriginAloneAndTheAddressIsCleaned(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	url := s.open(one, 2*time.Hour, sandbox(t, echo))
	b := s.browser()
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, fetch := range []string{"Sec-Purpose", "Purpose", "X-Moz"} {
		if page := b.Load(url, fetch, "prefetch"); page.Status != 403 || len(page.Header["Set-Cookie"]) > 0 {
			t.Errorf("fetched in advance: %+v", page)
		}
	}
	if page := b.Send(http.MethodHead, url, nil); page.Status != 403 {
		t.Errorf("HEAD: %+v", page)
	}
	page := b.Load(strings.Replace(url, "/?", "//evil.example/a%2f?b=c&", 1) + "&d=;e")
	if want := originOf(url) + "//evil.example/a%2f?b=c&d=;e"; page.Status != 303 || page.Header.Get("Location") != want {
		t.Errorf("it leads to %s with %d, want %s", page.Header.Get("Location"), page.Status, want)
	}
	cookie := page.Header.Get("Set-Cookie")
	for _, part := range []string{preview.Cookie + "=", "; Path=/", "; Max-Age=7200", "; HttpOnly", "; Secure", "; SameSite=Lax"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the cookie %s lacks %q", cookie, part)
		}
	}
	if strings.Contains(strings.ToLower(cookie), "domain") || page.Header.Get("Cache-Control") != "no-store" || page.Header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("the headers are %+v", page.Header)
	}
}

func TestPagesOfOthersReachNoPreview(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	url := s.open(one, 0, sandbox(t, echo))
	theirs := originOf(s.open(other, 0, sandbox(t, echo)))
	b, origin := s.browser(), originOf(url)
	b.Load(url)
	for name, tt := range map[string]struct {
		method  string
		headers []string
		want    int
	}{
		"its own page":                     {"POST", []string{"Origin", origin, "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"}, 200},
		"an old browser":                   {"GET", nil, 200},
		"a bookmark":                       {"GET", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200},
		"a link elsewhere":                 {"GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200},
		"a link in another preview":        {"GET", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200},
		"a form in another preview":        {"POST", []string{"Origin", theirs, "Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 403},
		"a frame in another preview":       {"GET", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403},
		"a script in another preview":      {"GET", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"}, 403},
		"a fetch by another preview":       {"GET", []string{"Origin", theirs, "Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"}, 403},
		"a fetch by an old browser":        {"POST", []string{"Origin", theirs}, 403},
		"a fetch from nowhere":             {"POST", []string{"Origin", "null"}, 403},
		"a socket by another preview":      {"GET", []string{"Origin", theirs, "Connection", "Upgrade", "Upgrade", "websocket"}, 403},
		"a socket that says it is a click": {"GET", []string{"Origin", theirs, "Upgrade", "websocket", "Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 403},
	} {
		if page := b.Send(tt.method, origin+"/", nil, tt.headers...); page.Status != tt.want {
			t.Errorf("%s: %d %s, want %d", name, page.Status, page.Body, tt.want)
		}
	}
	if page := b.Load(theirs + "/"); page.Status != 403 {
		t.Errorf("the cookie of one opens another: %+v", page)
	}
}

func TestAPageKeepsToItsOrigin(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	url := s.open(one, 0, sandbox(t, func(w http.ResponseWriter, _ *http.Request) {
		for _, line := range []string{
			"a=1; Domain=host.example.com; Path=/x; HttpOnly", "b=2;domain=.example.com;Secure", "c=3; Path=/", "domain=4; DOMAIN = host.example.com",
			preview.Cookie + "=evil; Path=/; Secure", "__host-BERTH-preview=evil", "=" + preview.Cookie + "=evil", preview.Cookie,
		} {
			w.Header().Add("Set-Cookie", line)
		}
		w.Header().Set("Clear-Site-Data", `"cookies"`)
		w.Header().Set("X-Own", "kept")
	}))
	page := s.browser().Load(url)
	want := []string{"a=1; Path=/x; HttpOnly", "b=2;Secure", "c=3; Path=/", "domain=4"}
	if diff := cmp.Diff(want, page.Header["Set-Cookie"]); diff != "" || page.Header.Get("Clear-Site-Data") != "" || page.Header.Get("X-Own") != "kept" {
		t.Errorf("%d, %v (-want +got)\n%s", page.Status, page.Header, diff)
	}
}

func TestWhatComesBeforeAnAnswerKeepsToItsOriginToo(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	url := s.open(one, 0, sandbox(t, func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Link", "</style.css>; rel=preload")
		h.Set("Set-Cookie", "a=1; Domain=host.example.com")
		h.Set("Clear-Site-Data", `"cookies"`)
		w.WriteHeader(http.StatusEarlyHints)
		clear(h)
		_, _ = io.WriteString(w, "the answer")
	}))
	b := s.browser()
	b.Load(url)
	var hints []textproto.MIMEHeader
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(_ int, h textproto.MIMEHeader) error {
		hints = append(hints, h)
		return nil
	}})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, originOf(url)+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := b.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	want := []textproto.MIMEHeader{{"Link": {"</style.css>; rel=preload"}, "Set-Cookie": {"a=1"}}}
	if diff := cmp.Diff(want, hints); diff != "" || string(body) != "the answer" || err != nil {
		t.Errorf("the answer is %q, %v; its hints (-want +got)\n%s", body, err, diff)
	}
}

func TestWhatDoesNotAnswerIsSaid(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for name, tt := range map[string]struct {
		err    error
		status int
		says   string
	}{
		"nobody listens":         {berth.FieldErrorf(berth.CodeUnavailable, "port", "nothing listens"), 502, "Nothing listens on port 8080"},
		"a stopped sandbox":      {berth.Errorf(berth.CodeConflict, "the sandbox is stopped"), 503, "does not run"},
		"a port that hangs":      {berth.Errorf(berth.CodeTimedOut, "slow"), 504, "does not answer"},
		"a guest that is gone":   {berth.Errorf(berth.CodeUnavailable, "secret <b>"), 502, "cannot be reached"},
		"an end in the middle":   {errors.New("secret"), 502, "broke the connection off"},
		"a sandbox that is gone": {berth.Errorf(berth.CodeNotFound, "gone"), 403, "has ended"},
	} {
		url := s.open(one, 0, func(context.Context, berth.StreamSpec) (io.ReadWriteCloser, error) { return nil, tt.err })
		b := s.browser()
		page := b.Load(url)
		if page.Status != tt.status || !strings.Contains(page.Body, tt.says) || strings.Contains(page.Body, "secret") {
			t.Errorf("%s: %+v", name, page)
		}
		again := b.Load(originOf(url) + "/")
		if again.Status != tt.status {
			t.Errorf("%s, again: %+v", name, again)
		}
	}
}

func TestAPreviewEndsWithItsTimeAndItsSandbox(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ttl time.Duration
		end func(*site)
	}{
		"its time":        {time.Hour, func(s *site) { s.clock.pass(time.Hour) }},
		"its sandbox":     {0, func(s *site) { s.End(one) }},
		"all of them":     {0, func(s *site) { s.EndAll() }},
		"the host agent":  {0, func(s *site) { s.Close() }},
		"a day, the most": {48 * time.Hour, func(s *site) { s.clock.pass(24 * time.Hour) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			gone := make(chan struct{})
			url, _, err := s.Open(one, 8080, tt.ttl, sandbox(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/socket" {
					ws, err := websocket.Accept(w, r, nil)
					if err != nil {
						t.Error(err)
						return
					}
					kind, text, err := ws.Read(r.Context())
					if err == nil {
						err = ws.Write(r.Context(), kind, append([]byte("heard "), text...))
					}
					if err != nil {
						t.Error(err)
					}
					_, _, _ = ws.Read(context.Background())
					close(gone)
				}
			}))
			if err != nil {
				t.Fatal(err)
			}
			b, origin := s.browser(), originOf(url)
			b.Load(url)
			kept := *b.Client
			kept.Timeout = 0
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			ws, _, err := websocket.Dial(ctx, strings.Replace(origin, "https", "wss", 1)+"/socket", &websocket.DialOptions{HTTPClient: &kept, HTTPHeader: http.Header{"Origin": {origin}}})
			if err != nil {
				t.Fatal(err)
			}
			defer ws.CloseNow()
			if err := ws.Write(ctx, websocket.MessageText, []byte("me")); err != nil {
				t.Fatal(err)
			}
			if _, text, err := ws.Read(ctx); err != nil || string(text) != "heard me" {
				t.Fatalf("the socket says %q, %v", text, err)
			}
			// Whose time is waited for is woken twice: at the end of the ticket, and of all.
			if strings.HasPrefix(name, "its time") || strings.HasPrefix(name, "a day") {
				waits := func() bool { s.clock.mu.Lock(); defer s.clock.mu.Unlock(); return len(s.clock.waiting) == 1 }
				waitFor(t, waits)
				s.clock.pass(preview.EnterLife)
				waitFor(t, waits)
				if page := b.Load(origin + "/"); page.Status != 200 {
					t.Errorf("before its end: %+v", page)
				}
			}
			tt.end(s)
			if _, _, err := ws.Read(ctx); err == nil || ctx.Err() != nil {
				t.Errorf("the socket outlives it: %v", err)
			}
			select {
			case <-gone:
			case <-time.After(patience):
				t.Error("the connection in the sandbox outlives it")
			}
			if page := b.Load(origin + "/"); page.Status != 403 {
				t.Errorf("after its end: %+v", page)
			}
			if _, _, err := s.Open(one, 1, 0, nil); name == "the host agent" && berth.CodeOf(err) != berth.CodeUnavailable {
				t.Errorf("Open after Close: %v", err)
			}
		})
	}
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come to pass")
		}
	}
}

func TestATicketIsGoodForTenMinutesAndThePreviewNoLonger(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	url := s.open(one, 0, sandbox(t, echo))
	s.clock.pass(preview.EnterLife)
	if page := s.browser().Load(url); page.Status != 403 {
		t.Errorf("too late: %+v", page)
	}
	short := s.open(one, time.Minute, sandbox(t, echo))
	b := s.browser()
	if page := b.Load(short); page.Status != 200 {
		t.Errorf("a short one: %+v", page)
	}
	s.clock.pass(time.Minute)
	if page := b.Load(originOf(short) + "/"); page.Status != 403 {
		t.Errorf("after a minute: %+v", page)
	}
	for _, port := range []int{0, -1, 65536} {
		if _, _, err := s.Open(one, port, 0, nil); berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("Open of port %d: %v", port, err)
		}
	}
}

func TestPreviewsAndTheirRequestsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	release := make(chan struct{})
	defer close(release)
	url := s.open(one, 0, sandbox(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold" {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-release
		}
	}))
	b, origin := s.browser(), originOf(url)
	b.Load(url)
	for i := range 128 {
		resp, err := b.Get(origin + "/hold")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("request %d: %s", i, resp.Status)
		}
	}
	if page := b.Load(origin + "/"); page.Status != http.StatusServiceUnavailable || page.Header.Get("Retry-After") == "" {
		t.Errorf("one request too many: %+v", page)
	}
	for i := 0; ; i++ {
		_, _, err := s.Open(other, 80, 0, nil)
		if berth.CodeOf(err) == berth.CodeRateLimited {
			break
		}
		if err != nil || i > 1024 {
			t.Fatalf("preview %d: %v", i, err)
		}
	}
	s.End(other)
	if _, _, err := s.Open(other, 80, 0, nil); err != nil {
		t.Errorf("when others have ended: %v", err)
	}
}

func TestWhoIsNotLetInHoldsNoConnectionByABodyThatDoesNotCome(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	url := s.open(one, 0, sandbox(t, echo))
	host := strings.TrimPrefix(originOf(url), "https://")
	for name, request := range map[string]string{
		"without a cookie":  "POST / HTTP/1.1\r\nHost: " + host,
		"to no preview":     "POST / HTTP/1.1\r\nHost: host.example.com",
		"as it is let in":   "GET " + url[strings.Index(url, "/?"):] + " HTTP/1.1\r\nHost: " + host,
		"without an ending": "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: " + host,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := tls.Dial("tcp", s.address, &tls.Config{RootCAs: s.authority.Pool(), ServerName: host})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if !strings.Contains(request, "chunked") {
				request += "\r\nContent-Length: 100000"
			}
			if _, err := io.WriteString(conn, request+"\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(conn)
			var late net.Error
			if errors.As(err, &late) && late.Timeout() || !strings.HasPrefix(string(answer), "HTTP/1.1 ") {
				t.Errorf("the connection stays: %q, %v", answer, err)
			}
		})
	}
}

func TestAProxyInFrontIsHeardAboutWhoAsks(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *preview.Config) { c.Proxied = true })
	url := s.open(one, 0, sandbox(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Forwarded-For")+" "+r.Header.Get("X-Forwarded-Proto"))
	}))
	front := httptest.NewServer(s.Store) // plain http, as behind a proxy that ends TLS
	defer front.Close()
	noRedirects := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	send := func(path, cookie string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = strings.TrimPrefix(originOf(url), "https://")
		req.Header.Set("X-Forwarded-For", "203.0.113.9")
		req.Header.Set("Cookie", cookie)
		resp, err := noRedirects.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(body)
	}
	resp, _ := send(url[strings.Index(url, "/?"):], "")
	if resp.StatusCode != 303 || resp.Header.Get("Location") != originOf(url)+"/" {
		t.Fatalf("%s to %s", resp.Status, resp.Header.Get("Location"))
	}
	cookie, _, _ := strings.Cut(resp.Header.Get("Set-Cookie"), ";")
	if _, body := send("/", cookie); body != "203.0.113.9, 127.0.0.1 https" {
		t.Errorf("the sandbox hears of %q", body)
	}
}
