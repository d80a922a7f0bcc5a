package agentapi

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// Fingerprint is the SHA-256 of an agent's certificate. It is all that a client
// trusts: no authority, no name and no date is looked at.
type Fingerprint [sha256.Size]byte

// FingerprintOf takes a certificate in DER.
func FingerprintOf(certificate []byte) Fingerprint { return sha256.Sum256(certificate) }

const fingerprintPrefix = "sha256:"

// ParseFingerprint reads 64 hex digits, with or without colons between them and
// the prefix sha256:. Error: invalid.
func ParseFingerprint(s string) (Fingerprint, error) {
	var f Fingerprint
	digits := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(s)), fingerprintPrefix)
	b, err := hex.DecodeString(strings.ReplaceAll(digits, ":", ""))
	if err != nil || len(b) != len(f) {
		return f, &berth.Error{
			Code: berth.CodeInvalid, Message: "must be the SHA-256 of the agent's certificate: sha256: and 64 hex digits",
			Remediation: "Run `berth-agent fingerprint` on the host.",
		}
	}
	return Fingerprint(b), nil
}

// String is the form that people copy.
func (f Fingerprint) String() string { return fingerprintPrefix + hex.EncodeToString(f[:]) }
