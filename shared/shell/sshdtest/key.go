package sshdtest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"testing"

	"golang.org/x/crypto/ssh"
)

type keyPair struct{ private, public []byte }

// NewHostKey is the public key of a host that has another one, as a line of
// known_hosts has it.
func NewHostKey(t testing.TB) []byte { return newKey(t).public }

func newKey(t testing.TB) keyPair {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	line, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return keyPair{pem.EncodeToMemory(block), ssh.MarshalAuthorizedKey(line)}
}
