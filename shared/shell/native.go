package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
)

// NativeConfig is a machine for the built-in client.
type NativeConfig struct {
	// Destination is user@host.
	Destination string
	// Port is that of the host's line in the known hosts, or 22, when empty.
	Port string
	// Key is a private key in the format of OpenSSH or PEM, without a passphrase.
	Key berth.SecretValue
	// KnownHosts is the text of a known_hosts file.
	KnownHosts []byte
	// Fingerprint, such as SHA256:…, names the one key that the host may have, in
	// place of KnownHosts.
	Fingerprint string
	// AcceptNew takes the key of a host that is not known, and keeps to it for as
	// long as the client lives. One that differs from what is known is refused.
	AcceptNew bool
	// Dial connects; by TCP when nil.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Native is the built-in SSH client. It keeps its connections; a machine that
// takes no more command lines on one gets another.
type Native struct {
	host, address string
	config        *ssh.ClientConfig
	dial          func(ctx context.Context, network, address string) (net.Conn, error)

	mu      sync.Mutex // guards all below
	clients []*ssh.Client
	closed  bool
}

var _ relay.Shell = (*Native)(nil)

// NewNative connects when it is used first. Errors: invalid for a destination
// without a user, and for a key or known hosts that cannot be read.
func NewNative(config NativeConfig) (*Native, error) {
	user, host, found := cutLast(config.Destination, "@")
	if !found {
		return nil, berth.FieldErrorf(berth.CodeInvalid, "ssh.destination", "must be user@host: this server knows no aliases and no user of its own")
	}
	signer, err := parseKey(config.Key)
	if err != nil {
		return nil, err
	}
	hosts, err := parseKnownHosts(config)
	if err != nil {
		return nil, err
	}
	if config.Port == "" {
		config.Port = hosts.port(host)
	}
	address := net.JoinHostPort(host, config.Port)
	n := &Native{host: config.Destination, address: address, dial: config.Dial}
	if n.dial == nil {
		n.dial = (&net.Dialer{Timeout: dialLimit}).DialContext
	}
	n.config = &ssh.ClientConfig{
		User: user, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: hosts.check, HostKeyAlgorithms: hosts.algorithms(address),
		ClientVersion: "SSH-2.0-berth",
	}
	return n, nil
}

// CheckKey finds what NewNative would say of a private key. Error: invalid.
func CheckKey(key berth.SecretValue) error {
	_, err := parseKey(key)
	return err
}

func parseKey(key berth.SecretValue) (ssh.Signer, error) {
	signer, err := ssh.ParsePrivateKey(key.Reveal())
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return nil, &berth.Error{
			Code: berth.CodeInvalid, Message: "the SSH key has a passphrase, which nobody could type",
			Remediation: "Make a key for berth alone, without one: ssh-keygen -t ed25519 -N ''.",
		}
	case err != nil: // it may show some of the text
		return nil, &berth.Error{
			Code: berth.CodeInvalid, Message: "the SSH key cannot be read: it is no private key in the format of OpenSSH or PEM",
			Remediation: "Give the file that ssh-keygen made, and not the one that ends in .pub.",
		}
	}
	return signer, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+len(sep):], true
}

const (
	dialLimit  = 15 * time.Second
	aliveEvery = 10 * time.Second
	aliveLimit = 30 * time.Second
)

// Close ends all connections.
func (n *Native) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for _, c := range n.clients {
		c.Close()
	}
	n.clients = nil
	return nil
}

// session opens one on a connection that takes it.
func (n *Native) session(ctx context.Context) (*ssh.Session, error) {
	n.mu.Lock()
	clients := append([]*ssh.Client(nil), n.clients...)
	n.mu.Unlock()
	for _, c := range clients {
		s, err := withContext(ctx, c.NewSession, func(s *ssh.Session) { s.Close() })
		if err == nil {
			return s, nil
		}
		if ctx.Err() != nil {
			return nil, contextError(ctx)
		}
		var refused *ssh.OpenChannelError
		if !errors.As(err, &refused) {
			n.drop(c)
		}
	}
	c, err := n.connect(ctx)
	if err != nil {
		return nil, err
	}
	s, err := withContext(ctx, c.NewSession, func(s *ssh.Session) { s.Close() })
	switch {
	case err == nil:
		return s, nil
	case ctx.Err() != nil:
		return nil, contextError(ctx)
	}
	n.drop(c)
	return nil, failure(n.host, err.Error(), err)
}

// withContext calls f, which knows no context. What comes too late is undone.
func withContext[T any](ctx context.Context, f func() (T, error), undo func(T)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		v, err := f()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
		go func() {
			if r := <-done; r.err == nil {
				undo(r.v)
			}
		}()
		var none T
		return none, ctx.Err()
	}
}

func (n *Native) drop(c *ssh.Client) {
	c.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, other := range n.clients {
		if other == c {
			n.clients = append(n.clients[:i:i], n.clients[i+1:]...)
			return
		}
	}
}

func (n *Native) connect(ctx context.Context) (*ssh.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	conn, err := n.dial(ctx, "tcp", n.address)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil, contextError(ctx)
		}
		return nil, failure(n.host, err.Error(), err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	c, channels, requests, err := ssh.NewClientConn(conn, n.address, n.config)
	if !stop() && err != nil {
		return nil, contextError(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, failure(n.host, err.Error(), err)
	}
	client := ssh.NewClient(c, channels, requests)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		client.Close()
		return nil, failure(n.host, "it was closed", nil)
	}
	n.clients = append(n.clients, client)
	go keepAlive(client)
	return client, nil
}

// keepAlive ends a connection whose other side has gone silent.
func keepAlive(c *ssh.Client) {
	ended := make(chan struct{})
	go func() {
		_ = c.Wait()
		close(ended)
	}()
	tick := time.NewTicker(aliveEvery)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		timer := time.AfterFunc(aliveLimit, func() { c.Close() })
		_, _, err := c.SendRequest("keepalive@openssh.com", true, nil)
		timer.Stop()
		if err != nil {
			c.Close()
			return
		}
	}
}

// Run runs line to its end.
func (n *Native) Run(ctx context.Context, line string, stdin io.Reader) ([]byte, error) {
	s, err := n.session(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	stdout, stderr := &tail{most: maxOutput}, &tail{most: maxStderr}
	s.Stdout, s.Stderr, s.Stdin = stdout, stderr, stdin
	// A line that goes on holds its session open: it is left behind.
	_, err = withContext(ctx, func() (struct{}, error) { return struct{}{}, s.Run(line) }, func(struct{}) {})
	if ctx.Err() != nil {
		return nil, contextError(ctx)
	}
	var exit *ssh.ExitError
	switch {
	case err == nil:
		return stdout.whole()
	case errors.As(err, &exit):
		return stdout.Bytes(), &relay.StatusError{Status: exit.ExitStatus(), Stderr: stderr.String()}
	}
	return nil, failure(n.host, err.Error(), err)
}

// Open connects a stream to line.
func (n *Native) Open(ctx context.Context, line string) (io.ReadWriteCloser, error) {
	s, err := n.session(ctx)
	if err != nil {
		return nil, err
	}
	in, err := s.StdinPipe()
	if err != nil {
		s.Close()
		return nil, err
	}
	out, err := s.StdoutPipe()
	if err != nil {
		s.Close()
		return nil, err
	}
	s.Stderr = &tail{most: maxStderr}
	if err := s.Start(line); err != nil {
		s.Close()
		return nil, failure(n.host, fmt.Sprint(err), err)
	}
	return &nativeStream{out, in, s}, nil
}

type nativeStream struct {
	io.Reader
	io.Writer
	session *ssh.Session
}

func (s *nativeStream) Close() error {
	s.session.Close() // it says EOF where the other side was first
	return nil
}
