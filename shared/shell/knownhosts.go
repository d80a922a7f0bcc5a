package shell

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/berth-dev/berth/shared/berth"
)

// knownHosts are the keys by which hosts are known.
type knownHosts struct {
	text        []byte
	callback    ssh.HostKeyCallback
	fingerprint string
	acceptNew   bool

	mu       sync.Mutex // guards accepted
	accepted string     // the fingerprint of the key that was new
}

// parseKnownHosts reads a known_hosts file's text. Error: invalid.
func parseKnownHosts(config NativeConfig) (*knownHosts, error) {
	text := config.KnownHosts
	if len(bytes.TrimSpace(text)) == 0 && !config.AcceptNew && config.Fingerprint == "" {
		return nil, berth.Errorf(berth.CodeInvalid, "there are no known hosts: without them a host cannot be told from another")
	}
	// The package reads files alone.
	file, err := os.CreateTemp("", "known-hosts-")
	if err != nil {
		return nil, fmt.Errorf("reading the known hosts: %w", err)
	}
	defer os.Remove(file.Name())
	_, err = file.Write(text)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, fmt.Errorf("reading the known hosts: %w", err)
	}
	callback, err := knownhosts.New(file.Name())
	if err != nil {
		return nil, &berth.Error{Code: berth.CodeInvalid, Message: "the known hosts cannot be read: " + strings.ReplaceAll(err.Error(), file.Name(), "known_hosts"), Cause: err}
	}
	return &knownHosts{text: text, callback: callback, fingerprint: config.Fingerprint, acceptNew: config.AcceptNew}, nil
}

// check is the callback, with its errors in words that failure knows.
func (k *knownHosts) check(hostname string, remote net.Addr, key ssh.PublicKey) error {
	if k.fingerprint != "" {
		return k.same(k.fingerprint, key)
	}
	err := k.callback(hostname, remote, key)
	var mismatch *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	switch {
	case errors.As(err, &mismatch) && len(mismatch.Want) > 0:
		return fmt.Errorf("key mismatch: the host showed %s", ssh.FingerprintSHA256(key))
	case errors.As(err, &mismatch) && k.acceptNew:
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.accepted == "" {
			k.accepted = ssh.FingerprintSHA256(key)
		}
		return k.same(k.accepted, key)
	case errors.As(err, &mismatch):
		return fmt.Errorf("key is unknown: the host showed %s", ssh.FingerprintSHA256(key))
	case errors.As(err, &revoked):
		return fmt.Errorf("key mismatch: the key %s is revoked", ssh.FingerprintSHA256(key))
	}
	return err
}

func (k *knownHosts) same(fingerprint string, key ssh.PublicKey) error {
	if shown := ssh.FingerprintSHA256(key); shown != fingerprint {
		return fmt.Errorf("key mismatch: the host showed %s in place of %s", shown, fingerprint)
	}
	return nil
}

// algorithms are those of the keys by which the host is known: it may have
// others, which it would rather show.
func (k *knownHosts) algorithms(address string) []string {
	var mismatch *knownhosts.KeyError
	if !errors.As(k.callback(address, &net.TCPAddr{IP: net.IPv4zero}, noKey{}), &mismatch) {
		return nil
	}
	var all []string
	for _, known := range mismatch.Want {
		names := []string{known.Key.Type()}
		if known.Key.Type() == ssh.KeyAlgoRSA {
			names = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSA}
		}
		for _, name := range names {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// noKey is a key that no host has.
type noKey struct{}

func (noKey) Type() string                            { return "none" }
func (noKey) Marshal() []byte                         { return []byte("none") }
func (noKey) Verify(_ []byte, _ *ssh.Signature) error { return errors.New("no key") }

// port is that of the host's line when it names one, as [host]:port.
func (k *knownHosts) port(host string) string {
	for line := range bytes.Lines(k.text) {
		fields := strings.Fields(string(line))
		if len(fields) < 2 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if strings.HasPrefix(fields[0], "@") {
			fields = fields[1:]
		}
		for _, name := range strings.Split(fields[0], ",") {
			if h, port, err := net.SplitHostPort(name); err == nil && strings.HasPrefix(name, "[") && strings.EqualFold(h, host) {
				return port
			}
			if strings.EqualFold(name, host) {
				return "22"
			}
		}
	}
	return "22"
}
