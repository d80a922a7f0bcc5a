package tunnel

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/berth-dev/berth/shared/berth"
)

// clock is set by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(context.Context, time.Duration) error { return nil }

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// site is a server that carries streams, and says what a handler would.
type site struct {
	*Tickets
	t      *testing.T
	server *httptest.Server
	clock  *clock
}

func newSite(t *testing.T) *site {
	t.Helper()
	c := &clock{now: time.Unix(1e9, 0)}
	s := &site{t: t, Tickets: NewTickets(c), clock: c}
	s.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.Serve(w, r); err != nil {
			w.WriteHeader(berth.CodeOf(err).Info().HTTP)
			_, _ = io.WriteString(w, `{"code":"`+string(berth.CodeOf(err))+`","detail":"no stream"}`)
		}
	}))
	t.Cleanup(func() {
		s.Close()
		s.server.Close()
	})
	return s
}

// issue gives out a ticket for an end of a pipe, whose other end comes out of ends.
func (s *site) issue(spec berth.StreamSpec, ttl time.Duration) (ticket berth.Ticket, ends <-chan net.Conn) {
	s.t.Helper()
	far := make(chan net.Conn, 16)
	ticket, err := s.Issue(spec, ttl, func(context.Context, berth.StreamSpec) (io.ReadWriteCloser, error) {
		near, end := net.Pipe()
		far <- end
		return near, nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ticket.URL = s.server.URL
	ticket.Fingerprint = fingerprint(s.server.Certificate())
	return ticket, far
}

func fingerprint(c *x509.Certificate) string {
	changed := ""
	_ = transport("none", &changed).TLSClientConfig.VerifyConnection(tls.ConnectionState{PeerCertificates: []*x509.Certificate{c}})
	return changed
}

func (s *site) refused(what string, ticket berth.Ticket, want berth.Code) {
	s.t.Helper()
	stream, err := Dial(s.t.Context(), ticket)
	if err == nil {
		stream.Close()
	}
	if berth.CodeOf(err) != want {
		s.t.Errorf("Dial with %s: %v, want %s", what, err, want)
	}
}

var (
	shell = berth.StreamSpec{Kind: berth.StreamShell}
	port  = berth.StreamSpec{Kind: berth.StreamPort, Port: 80}
)

func TestAStreamCarriesBytesBothWaysUntilEitherSideEnds(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, byClient := range []bool{true, false} {
		ticket, ends := s.issue(port, 0)
		stream, err := Dial(t.Context(), ticket)
		if err != nil {
			t.Fatal(err)
		}
		guest := <-ends
		sent := bytes.Repeat([]byte("0123456789\x00\xff"), 100_000)
		go func() {
			_, _ = guest.Write(sent) // what arrives tells
		}()
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(stream, got); err != nil || !bytes.Equal(got, sent) {
			t.Fatalf("what came from the guest differs: %v", err)
		}
		go func() {
			_, _ = stream.Write(sent)
		}()
		if _, err := io.ReadFull(guest, got); err != nil || !bytes.Equal(got, sent) {
			t.Fatalf("what came from the client differs: %v", err)
		}
		near, far := io.ReadWriteCloser(stream), io.ReadWriteCloser(guest)
		if !byClient {
			near, far = far, near
		}
		near.Close()
		if n, err := far.Read(got); err != io.EOF {
			t.Errorf("after the end by the client (%v): Read = %d, %v", byClient, n, err)
		}
		far.Close()
	}
}

func TestATicketForAShellIsGoodOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ticket, ends := s.issue(shell, 0)
	// What is no WebSocket, or comes from a web page, does not use it up.
	for _, origin := range []string{"", "https://elsewhere.example"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{Header: {ticket.Value}, "Origin": {origin}}
		if origin == "" {
			req.Header.Del("Origin")
		}
		resp, err := s.server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if want := map[string]int{"": 400, "https://elsewhere.example": 403}[origin]; resp.StatusCode != want {
			t.Errorf("with the origin %q: %s, want %d", origin, resp.Status, want)
		}
	}
	stream, err := Dial(t.Context(), ticket)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	defer (<-ends).Close()
	s.refused("a ticket that was used", ticket, berth.CodeUnauthenticated)
	stream.Close()
	s.refused("a ticket whose shell is over", ticket, berth.CodeUnauthenticated)
}

func TestATicketForAPortIsGoodUntilItsEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ticket, ends := s.issue(port, time.Hour)
	if life := ticket.ExpiresAt.Sub(s.clock.Now()); life != PortLife {
		t.Errorf("a ticket that was to last an hour lasts %s", life)
	}
	for range 3 {
		stream, err := Dial(t.Context(), ticket)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		defer (<-ends).Close()
	}
	s.clock.pass(PortLife)
	s.refused("a ticket that is too old", ticket, berth.CodeUnauthenticated)
	late, _ := s.issue(shell, time.Second)
	s.clock.pass(time.Second)
	s.refused("a shell's ticket that is too old", late, berth.CodeUnauthenticated)
	for what, value := range map[string]string{"no ticket": "", "a ticket that was made up": strings.Repeat("A", 43), "half a ticket": ticket.Value[:20]} {
		ticket.Value = value
		s.refused(what, ticket, berth.CodeUnauthenticated)
	}
}

func TestATicketOfOneServerIsNotGoodAtAnother(t *testing.T) {
	t.Parallel()
	one, other := newSite(t), newSite(t)
	ticket, _ := one.issue(port, 0)
	ticket.URL = other.server.URL
	other.refused("another server's ticket", ticket, berth.CodeUnauthenticated)
}

func TestAnotherCertificateGetsNoTicket(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ticket, _ := s.issue(port, 0)
	ticket.Fingerprint = "sha256:" + strings.Repeat("00", 32)
	stream, err := Dial(t.Context(), ticket)
	if err == nil {
		stream.Close()
	}
	if berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), "another certificate") {
		t.Errorf("Dial under another fingerprint: %v", err)
	}
	ticket.Fingerprint = "" // then an authority is asked, which has not signed it
	s.refused("no fingerprint", ticket, berth.CodeUnavailable)
	ticket.URL, ticket.Fingerprint = "http://"+s.server.Listener.Addr().String(), fingerprint(s.server.Certificate())
	s.refused("a fingerprint without TLS", ticket, berth.CodeInvalid)
}

func TestAnAddressThatIsNotReachedIsToldWithARemedy(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, err = Dial(t.Context(), berth.Ticket{Value: "v", URL: "https://" + l.Addr().String()})
	e, ok := err.(*berth.Error)
	if !ok || e.Code != berth.CodeUnavailable || !strings.Contains(e.Message, "is not reachable from here") || !strings.Contains(e.Remediation, "berth exec") {
		t.Errorf("%v", err)
	}
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }))
	defer foreign.Close()
	if _, err := Dial(t.Context(), berth.Ticket{Value: "v", URL: foreign.URL}); berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), "no server of berth's") {
		t.Errorf("something else: %v", err)
	}
}

func TestTheEndOfAServerEndsItsStreams(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ticket, ends := s.issue(port, 0)
	stream, err := Dial(t.Context(), ticket)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	guest := <-ends
	go func() {
		_, _ = io.Copy(io.Discard, stream) // as a client does, which reads always
		stream.Close()
	}()
	s.Close()
	if _, err := guest.Read(make([]byte, 1)); err == nil {
		t.Error("the guest's side goes on")
	}
	s.refused("a ticket of a server that has ended", ticket, berth.CodeUnavailable)
	if _, err := s.Issue(port, 0, nil); berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("Issue after Close: %v", err)
	}
}

func TestMessagesThatAreTooLargeOrNoBytesEndAStream(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for what, send := range map[string]struct {
		kind websocket.MessageType
		size int
	}{"too large": {websocket.MessageBinary, 2 * maxMessage}, "text": {websocket.MessageText, 3}} {
		ticket, ends := s.issue(port, 0)
		stream, err := Dial(t.Context(), ticket)
		if err != nil {
			t.Fatal(err)
		}
		guest := <-ends
		go func() {
			_ = stream.(*conn).ws.Write(t.Context(), send.kind, make([]byte, send.size)) // it may be cut off
		}()
		_ = guest.SetReadDeadline(time.Now().Add(30 * time.Second))
		if n, err := io.Copy(io.Discard, guest); n > maxMessage+1 || err != nil {
			t.Errorf("%s: %d bytes came through, %v", what, n, err)
		}
		stream.Close()
	}
}

func TestTicketsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range maxTickets {
		s.issue(port, 0)
	}
	if _, err := s.Issue(port, 0, nil); berth.CodeOf(err) != berth.CodeRateLimited {
		t.Errorf("ticket %d: %v", maxTickets+1, err)
	}
	s.clock.pass(PortLife)
	s.issue(port, 0)
	for _, spec := range []berth.StreamSpec{{}, {Kind: berth.StreamPort}, {Kind: berth.StreamShell, Terminal: "a\nb"}} {
		if _, err := s.Issue(spec, 0, nil); berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("Issue(%+v): %v", spec, err)
		}
	}
}
