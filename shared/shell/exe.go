package shell

import (
	"context"
	"net"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// What exe.dev has published: its lobby and the fingerprint of that host's key.
const (
	exeLobby       = "exe.dev:22"
	exeFingerprint = "SHA256:JJOP/lwiBGOMilfONPWZCXUrfK154cnJFXcqlsi6lPo"
	exeUser        = "exedev"
)

// Key reads a private key, when it is needed.
type Key func(ctx context.Context) (berth.SecretValue, error)

// ExeLobby is the lobby of exe.dev, whose host key is known by its fingerprint.
// Another address, host:port, and its fingerprint are for tests.
func ExeLobby(key Key, address, fingerprint string) *Lazy {
	if address == "" {
		address, fingerprint = exeLobby, exeFingerprint
	}
	return &Lazy{Make: func(ctx context.Context) (Closer, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, berth.Errorf(berth.CodeInvalid, "%q is no address of a lobby: it must be host:port", address)
		}
		value, err := key(ctx)
		if err != nil {
			return nil, err
		}
		// The lobby knows people by their keys; the user's name says nothing to it.
		return NewNative(NativeConfig{Destination: exeUser + "@" + host, Port: port, Key: value, Fingerprint: fingerprint})
	}}
}

// ExeVM is a VM of exe.dev. Its host key is new to everybody: the first is kept to.
func ExeVM(ctx context.Context, key Key, destination, port string) (Closer, error) {
	if !strings.Contains(destination, "@") {
		destination = exeUser + "@" + destination
	}
	value, err := key(ctx)
	if err != nil {
		return nil, err
	}
	return NewNative(NativeConfig{Destination: destination, Port: port, Key: value, AcceptNew: true})
}
