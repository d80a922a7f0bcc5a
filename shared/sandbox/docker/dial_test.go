//go:build linux

package docker_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.key, a.cert = a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "the tests"}, IsCA: true, BasicConstraintsValid: true})
	return a
}

func (a *authority) sign(template *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return key, cert
}

// engine starts an engine that only answers pings, to clients with a certificate
// of the authority. It returns its port.
func (a *authority) engine() string {
	a.t.Helper()
	key, cert := a.sign(&x509.Certificate{DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		w.Header().Set("Ostype", "linux")
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of clients that it refuses
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
	}
	server.StartTLS()
	a.t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	return port
}

// folder has what a client of an engine needs.
func (a *authority) folder() string {
	a.t.Helper()
	dir := a.t.TempDir()
	key, cert := a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "client"}})
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"ca.pem": {Type: "CERTIFICATE", Bytes: a.cert.Raw}, "cert.pem": {Type: "CERTIFICATE", Bytes: cert.Raw}, "key.pem": {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return dir
}

func TestAnEngineIsReachedByTLSAsTheDockerClientReachesIt(t *testing.T) {
	a := newAuthority(t)
	port, good, other := a.engine(), a.folder(), newAuthority(t).folder()
	without := a.folder()
	for _, name := range []string{"cert.pem", "key.pem"} {
		if err := os.Remove(filepath.Join(without, name)); err != nil {
			t.Fatal(err)
		}
	}
	half, garbage := a.folder(), a.folder()
	if err := os.Remove(filepath.Join(half, "key.pem")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(garbage, "ca.pem"), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer plain.Close()
	for _, test := range []struct {
		name, host               string
		certPath, verify, folder string
		code                     berth.Code
		says, remediation        string
	}{
		{name: "with its certificates", host: "tcp://127.0.0.1:" + port, certPath: good, verify: "1"},
		{name: "as https", host: "https://localhost:" + port, certPath: good, verify: "1"},
		{name: "without verification", host: "tcp://127.0.0.1:" + port, certPath: good},
		{name: "with the docker client's own folder", host: "tcp://127.0.0.1:" + port, verify: "1", folder: good},
		{name: "another authority's", host: "tcp://127.0.0.1:" + port, certPath: other, verify: "1", code: berth.CodeUnavailable, says: "is not to be trusted", remediation: "ca.pem"},
		{name: "under another name", host: "tcp://127.0.0.2:" + port, certPath: good, verify: "1", code: berth.CodeUnavailable, remediation: "tcp://127.0.0.2"},
		{name: "another authority's without verification", host: "tcp://127.0.0.1:" + port, certPath: other, code: berth.CodeUnavailable, says: "refuses the connection", remediation: "cert.pem"},
		{name: "no certificate of the client's", host: "tcp://127.0.0.1:" + port, certPath: without, verify: "1", code: berth.CodeUnavailable, says: "refuses the connection", remediation: "cert.pem"},
		{name: "no TLS", host: "tcp://127.0.0.1:" + port, code: berth.CodeInvalid, says: "HTTPS"},
		{name: "TLS where there is none", host: strings.Replace(plain.URL, "http", "tcp", 1), certPath: good, verify: "1", code: berth.CodeUnavailable, says: "does not speak TLS", remediation: "DOCKER_TLS_VERIFY"},
		{name: "a folder that is not there", host: "tcp://127.0.0.1:" + port, certPath: "/nonexistent", code: berth.CodeInvalid, says: "DOCKER_CERT_PATH"},
		{name: "half a pair", host: "tcp://127.0.0.1:" + port, certPath: half, code: berth.CodeInvalid, says: "key.pem"},
		{name: "an authority that is none", host: "tcp://127.0.0.1:" + port, certPath: garbage, verify: "1", code: berth.CodeInvalid, says: "ca.pem holds no certificate"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(client.EnvOverrideCertPath, test.certPath)
			t.Setenv(client.EnvTLSVerify, test.verify)
			t.Setenv("DOCKER_CONFIG", test.folder)
			p, err := docker.New(fakeConfig(t, test.host))
			if err == nil {
				p.Close()
			}
			if berth.CodeOf(err) != test.code {
				t.Fatalf("New: %v, want %q", err, test.code)
			}
			if err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v does not say %q", err, test.says)
			}
			if test.remediation != "" && !strings.Contains(remediation(err), test.remediation) {
				t.Errorf("what is to be done is %q", remediation(err))
			}
		})
	}
}

func TestAConnectionWhoseOtherSideIsGoneEndsSoon(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := docker.NewClient("tcp://"+l.Addr().String(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	conn, err := c.Dialer()(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	option := func(name int) (value int) {
		if controlErr := raw.Control(func(fd uintptr) { value, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, name) }); controlErr != nil || err != nil {
			t.Fatal(controlErr, err)
		}
		return value
	}
	silent := option(unix.TCP_KEEPIDLE) + option(unix.TCP_KEEPINTVL)*option(unix.TCP_KEEPCNT)
	if unanswered := option(unix.TCP_USER_TIMEOUT); silent > 30 || silent < 10 || unanswered > 30_000 || unanswered < 10_000 {
		t.Errorf("it ends after %d s of silence, and %d ms without an answer", silent, unanswered)
	}
}

// remediation is what an error says is to be done.
func remediation(err error) string {
	var coded *berth.Error
	if !errors.As(err, &coded) {
		return ""
	}
	return coded.Remediation
}
