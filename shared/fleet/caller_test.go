package fleet_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/fleet"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

const bearer = "the-bearer-of-the-agent-in-this-test"

// dockerInMemory is a provider of the kind that hosts bring.
type dockerInMemory struct{ *runnertest.Provider }

func (dockerInMemory) Kind() berth.ProviderKind { return berth.ProviderDocker }

// certificate is a new one.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// listening is a real agent on a loopback port.
type listening struct {
	address     string
	fingerprint string
	provider    dockerInMemory
	close       func()
}

func agentAt(t *testing.T, address string, installation berth.InstallationID) listening {
	t.Helper()
	a := listening{provider: dockerInMemory{runnertest.NewProvider()}}
	h, err := agentapi.New(agentapi.Config{
		Token: bearer, Installation: installation, Providers: agentapi.Providers{berth.ProviderDocker: a.provider},
		Version: berth.Version{Version: "9.9"},
		Capacity: func() (agentapi.Capacity, error) {
			return agentapi.Capacity{CPUs: 3, MemoryBytes: 7e9}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	cert := certificate(t)
	server := &http.Server{Handler: h, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}}, ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.ServeTLS(l, "", "") // it ends with the server
	}()
	a.close = func() { server.Close(); <-served }
	t.Cleanup(a.close)
	a.address = "https://" + l.Addr().String()
	a.fingerprint = agentapi.FingerprintOf(cert.Certificate[0]).String()
	return a
}

func TestTheCallBackSaysWhatOfAJoinIsWrong(t *testing.T) {
	t.Parallel()
	a := agentAt(t, "127.0.0.1:0", "inst")
	foreign := agentAt(t, "127.0.0.1:0", "other")
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "https://" + closed.Addr().String()
	closed.Close()
	good := control.HostCall{Address: a.address, Fingerprint: a.fingerprint, Bearer: berth.NewSecretValue([]byte(bearer))}
	for name, test := range map[string]struct {
		change func(*control.HostCall)
		code   berth.Code
		field  string
		says   string
	}{
		"nobody there":         {func(k *control.HostCall) { k.Address = nobody }, berth.CodeInvalid, "address", "cannot be called back"},
		"no TLS there":         {func(k *control.HostCall) { k.Address = strings.Replace(plain.URL, "http:", "https:", 1) }, berth.CodeInvalid, "address", "does not speak TLS"},
		"another certificate":  {func(k *control.HostCall) { k.Fingerprint = "sha256:" + strings.Repeat("00", 32) }, berth.CodeInvalid, "fingerprint", "is not that of the certificate"},
		"no fingerprint":       {func(k *control.HostCall) { k.Fingerprint = "x" }, berth.CodeInvalid, "fingerprint", "64 hex digits"},
		"another bearer":       {func(k *control.HostCall) { k.Bearer = berth.NewSecretValue([]byte(strings.Repeat("x", 40))) }, berth.CodeInvalid, "bearer", "refused"},
		"another installation": {func(k *control.HostCall) { k.Address, k.Fingerprint = foreign.address, foreign.fingerprint }, berth.CodeConflict, "address", "another installation"},
		"no URL":               {func(k *control.HostCall) { k.Address = "10.0.0.7" }, berth.CodeInvalid, "address", "such as https"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := good
			test.change(&k)
			_, err := fleet.Caller{Installation: "inst", Clock: berth.SystemClock{}}.Call(t.Context(), k)
			var e *berth.Error
			if !errors.As(err, &e) || e.Code != test.code || e.Field != test.field || !strings.Contains(err.Error(), test.says) {
				t.Errorf("Call() = %v, want %s at %s saying %q", err, test.code, test.field, test.says)
			}
		})
	}
	answer, err := fleet.Caller{Installation: "inst", Clock: berth.SystemClock{}}.Call(t.Context(), good)
	if err != nil || answer.Installation != "inst" || answer.CPU != 3 || answer.MemoryBytes != 7e9 || answer.Version != "9.9" {
		t.Errorf("Call() = %+v, %v", answer, err)
	}
	if problem, served := answer.Providers[berth.ProviderDocker]; !served || problem != "" {
		t.Errorf("providers %v", answer.Providers)
	}
}

func TestTheCallBackPassesOnTheRemedyOfTheAgent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status                     int
		media, body, field, remedy string
	}{
		"its own trouble":     {503, agentapi.MediaProblem, `{"code":"unavailable","detail":"the disk is full","remediation":"Make room in /var/lib."}`, "address", "Make room in /var/lib."},
		"something it is not": {422, agentapi.MediaProblem, `{"code":"unsupported","detail":"not so","remediation":"Do it so."}`, "address", "Do it so."},
		"another version":     {200, "text/html", "<html>", "address", "Bring berth-agent on the host to the version of the server."},
	} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tt.media)
			w.WriteHeader(tt.status)
			_, _ = w.Write([]byte(tt.body))
		}))
		server.TLS = &tls.Config{MinVersion: tls.VersionTLS13}
		server.StartTLS()
		t.Cleanup(server.Close)
		_, err := fleet.Caller{Installation: "inst", Clock: berth.SystemClock{}}.Call(t.Context(), control.HostCall{
			Address: server.URL, Fingerprint: agentapi.FingerprintOf(server.Certificate().Raw).String(), Bearer: berth.NewSecretValue([]byte(bearer)),
		})
		var e *berth.Error
		if !errors.As(err, &e) || e.Code != berth.CodeInvalid || e.Field != tt.field || e.Remediation != tt.remedy {
			t.Errorf("%s: %+v, want the remedy %q", name, err, tt.remedy)
		}
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	_, err = fleet.Caller{Installation: "inst", Clock: berth.SystemClock{}}.Call(t.Context(), control.HostCall{
		Address: "https://" + closed.Addr().String(), Fingerprint: "sha256:" + strings.Repeat("00", 32), Bearer: berth.NewSecretValue([]byte(bearer)),
	})
	var e *berth.Error
	if !errors.Is(err, syscall.ECONNREFUSED) || !errors.As(err, &e) || !strings.Contains(e.Remediation, "security groups") {
		t.Errorf("nobody there: %+v", err)
	}
}

func TestACertificateThatChangedIsNamedAndTrustedAgainOnlyByAJoin(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := agentAt(t, "127.0.0.1:0", "inst")
	dialled := fleet.New(fleet.Config{
		Records: f.records, Secrets: f.secrets, Installation: "inst", Clock: berth.SystemClock{}, Logger: quiet(),
	})
	joinAt := func(a listening) {
		f.host("eu-1", 4, 8e9)
		if err := f.secrets.Put(t.Context(), "provider/host/eu-1", berth.NewSecretValue([]byte(bearer))); err != nil {
			t.Fatal(err)
		}
		f.change("eu-1", func(h *records.StoredHost) { h.Address, h.Fingerprint = a.address, a.fingerprint })
	}
	joinAt(a)
	id := f.sandbox()
	if state, err := dialled.Provision(t.Context(), berth.SandboxSpec{ID: id, Host: "eu-1", Environment: environment(1, "1GB")}); err != nil || state.Host != "eu-1" {
		t.Fatalf("Provision() over TLS = %+v, %v", state, err)
	}
	a.close()
	anew := agentAt(t, strings.TrimPrefix(a.address, "https://"), "inst")
	ref := berth.SandboxRef{ID: id, Host: "eu-1"}
	_, err := dialled.Describe(t.Context(), ref)
	wantCode(t, "another certificate", err, berth.CodeUnavailable, "host eu-1", "the host's certificate changed", anew.fingerprint, a.fingerprint)
	var e *berth.Error
	if !errors.As(err, &e) || !strings.Contains(e.Remediation, "berth host rm --force eu-1 && berth host add eu-1") || strings.Contains(e.Remediation, "--agent-fingerprint") {
		t.Errorf("it does not say what to do: %+v", e)
	}
	if _, err := f.records.FindHost(t.Context(), "eu-1"); err != nil {
		t.Fatal(err)
	}
	if err := f.records.DeleteHost(t.Context(), "eu-1"); err != nil {
		t.Fatal(err)
	}
	joinAt(anew)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		state, err := dialled.Describe(t.Context(), ref)
		if err == nil {
			if state.Status != berth.SandboxGone { // the new agent knows nothing of it
				t.Errorf("after it joined anew: %+v", state)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after it joined anew: %v", err)
		}
	}
}
