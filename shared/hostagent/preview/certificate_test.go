package preview_test

import (
	"crypto/tls"
	"log/slog"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/preview"
	"github.com/berth-dev/berth/shared/hostagent/preview/previewtest"
)

func publicURL(t *testing.T) berth.PublicURL {
	t.Helper()
	url, err := berth.ParsePublicURL("https://*.host.example.com")
	if err != nil {
		t.Fatal(err)
	}
	return url
}

func TestARenewedCertificateIsShownWithoutARestart(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	shown := func() *big.Int {
		t.Helper()
		conn, err := tls.Dial("tcp", s.address, &tls.Config{RootCAs: s.authority.Pool(), ServerName: "a.host.example.com"})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber
	}
	first := shown()
	renewed := s.authority.Issue("*.host.example.com", time.Now().Add(2*time.Hour))
	s.clock.pass(time.Minute)
	if got := shown(); got.Cmp(renewed) != 0 || got.Cmp(first) == 0 {
		t.Errorf("certificate %d is shown, want %d", got, renewed)
	}
	cert, key := s.authority.Files()
	for what, spoil := range map[string]func() error{
		"half a file":  func() error { return os.WriteFile(cert, []byte("-----BEGIN CERTIFICATE-----\nMIIB"), 0o600) },
		"no key":       func() error { return os.Remove(key) },
		"another name": func() error { s.authority.Issue("*.elsewhere.example.com", time.Now().Add(time.Hour)); return nil },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		s.clock.pass(time.Minute)
		if got := shown(); got.Cmp(renewed) != 0 {
			t.Errorf("with %s certificate %d is shown, want %d still", what, got, renewed)
		}
	}
	last := s.authority.Issue("*.host.example.com", time.Now().Add(3*time.Hour))
	s.clock.pass(time.Minute)
	if got := shown(); got.Cmp(last) != 0 {
		t.Errorf("certificate %d is shown, want %d again", got, last)
	}
}

func TestOtherNamesAreShownNoCertificate(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, name := range []string{"", "host.example.com", "a.b.host.example.com", "berth-agent"} {
		conn, err := tls.Dial("tcp", s.address, &tls.Config{InsecureSkipVerify: true, ServerName: name})
		if err == nil {
			conn.Close()
			t.Errorf("%q is shown a certificate", name)
		}
	}
}

func TestACertificateThatWouldNotDoIsRefused(t *testing.T) {
	t.Parallel()
	a := previewtest.NewAuthority(t)
	cert, key := a.Files()
	open := func() (*preview.Certificate, error) {
		return preview.OpenCertificate(publicURL(t), cert, key, berth.SystemClock{}, slog.New(slog.DiscardHandler))
	}
	if _, err := open(); berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), "no certificate with its key") {
		t.Errorf("without files: %v", err)
	}
	for _, name := range []string{"host.example.com", "*.example.com", "a.host.example.com"} {
		a.Issue(name, time.Now().Add(time.Hour))
		if _, err := open(); berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), "does not certify *.host.example.com") {
			t.Errorf("for %s: %v", name, err)
		}
	}
	until := time.Now().Add(-time.Hour)
	a.Issue("*.host.example.com", until)
	c, err := open()
	if err != nil {
		t.Fatal(err)
	}
	if at, over := c.Expired(); !over || at.Unix() != until.Unix() {
		t.Errorf("Expired() = %s, %v", at, over)
	}
}
