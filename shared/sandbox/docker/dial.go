package docker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	// dialLimit is how long an engine on another machine may take to accept a
	// connection.
	dialLimit = 10 * time.Second
	// deadAfter is after how long a connection counts as dead whose other side has
	// gone without a word, as machines and networks do.
	deadAfter   = 30 * time.Second
	idleConns   = 6
	idleTimeout = 30 * time.Second
)

// tcpOptions are those of a client that connects by TCP. Requests and streams go
// through one dialer, so that each connection is watched, and encrypted if any is.
// Error: invalid for certificates that cannot be used.
func tcpOptions(host string) ([]client.Opt, error) {
	u, err := url.Parse(host)
	if err != nil {
		return nil, berth.FieldErrorf(berth.CodeInvalid, "docker-host", "%s", err.Error())
	}
	if u.User != nil {
		return nil, berth.FieldErrorf(berth.CodeInvalid, "docker-host", "must hold no user and no password: an engine knows its clients by their certificates")
	}
	config, err := tlsFromEnv(u.Scheme == "https")
	if err != nil {
		return nil, err
	}
	dial := dialTCP(host, config)
	transport := &http.Transport{DialContext: dial, MaxIdleConns: idleConns, IdleConnTimeout: idleTimeout}
	return []client.Opt{
		client.WithHost(host), // checks it
		client.WithHTTPClient(&http.Client{Transport: transport, CheckRedirect: client.CheckRedirect}),
	}, nil
}

// dialTCP connects, and agrees on the encryption where config says that there is one.
func dialTCP(host string, config *tls.Config) func(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{
		Timeout:         dialLimit,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: deadAfter / 2, Interval: deadAfter / 6, Count: 3},
		Control:         limitUnanswered,
	}
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil || config == nil {
			return conn, err
		}
		ctx, cancel := context.WithTimeout(ctx, dialLimit)
		defer cancel()
		own := config.Clone()
		own.ServerName, _, _ = net.SplitHostPort(address)
		encrypted := tls.Client(conn, own)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, handshakeError(host, err)
		}
		return encrypted, nil
	}
}

// handshakeError tells a certificate that is not the right one from an engine that
// does not answer.
func handshakeError(host string, err error) error {
	var plain tls.RecordHeaderError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &plain):
		return &berth.Error{
			Code: berth.CodeUnavailable, Message: "the Docker engine at " + host + " does not speak TLS", Cause: err,
			Remediation: "Unset DOCKER_CERT_PATH and DOCKER_TLS_VERIFY where that is meant to be, or name the engine's port for TLS.",
		}
	case errors.As(err, &untrusted):
		return &berth.Error{
			Code: berth.CodeUnavailable, Message: "the certificate of the Docker engine at " + host + " is not to be trusted: " + untrusted.Err.Error(), Cause: err,
			Remediation: "Look at ca.pem in the folder that DOCKER_CERT_PATH names, and at the name by which the engine is reached.",
		}
	}
	return err
}

// refusedCertificate reports whether the other side has ended the encryption: it
// does that, among the first words, for a certificate that it does not take.
func refusedCertificate(err error) bool {
	var said *net.OpError
	return errors.As(err, &said) && said.Op == "remote error"
}

// tlsFromEnv reads the certificates that the docker client would use: those in
// DOCKER_CERT_PATH, or with DOCKER_TLS_VERIFY alone those in the client's own
// folder. It is nil when neither is set, unless the address asks for TLS. Error:
// invalid.
func tlsFromEnv(always bool) (*tls.Config, error) {
	dir, verify := os.Getenv(client.EnvOverrideCertPath), os.Getenv(client.EnvTLSVerify) != ""
	if dir == "" && !verify {
		if always {
			return &tls.Config{MinVersion: tls.VersionTLS12}, nil
		}
		return nil, nil
	}
	named := dir != ""
	if !named {
		if dir = os.Getenv("DOCKER_CONFIG"); dir == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return nil, certificateError(dir, err)
			}
			dir = filepath.Join(home, ".docker")
		}
	}
	// Without DOCKER_TLS_VERIFY the docker client asks no engine who it is.
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: !verify}
	if _, err := os.Stat(dir); err != nil && (named || !errors.Is(err, fs.ErrNotExist)) {
		return nil, certificateError(dir, err)
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	switch {
	case err == nil:
		if config.RootCAs, err = x509.SystemCertPool(); err != nil {
			return nil, certificateError(dir, err)
		}
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, certificateError(dir, errors.New("ca.pem holds no certificate"))
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, certificateError(dir, err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	switch {
	case err == nil:
		config.Certificates = []tls.Certificate{pair}
	case !errors.Is(err, fs.ErrNotExist) || anyThere(dir, "cert.pem", "key.pem"):
		return nil, certificateError(dir, err)
	}
	return config, nil
}

func anyThere(dir string, names ...string) bool {
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

func certificateError(dir string, err error) error {
	return &berth.Error{
		Code: berth.CodeInvalid, Field: client.EnvOverrideCertPath, Message: "the certificates in " + dir + " cannot be used: " + err.Error(), Cause: err,
		Remediation: "Put ca.pem, cert.pem and key.pem there, readable by the server's user, or name another folder.",
	}
}
