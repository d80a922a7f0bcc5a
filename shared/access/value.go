// Package access makes API keys and says whom a bearer token stands for. The
// embedded server and the functions on AWS share it.
package access

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// A key's value is Prefix and 32 random bytes in base64url, 43 characters.
const (
	Prefix     = "bth_"
	valueBytes = 32
	shownChars = 8 // of what is behind Prefix
)

// ValueLength is the length of every key's value.
const ValueLength = len(Prefix) + (valueBytes*8+5)/6

// JoinPrefix begins the tokens that hosts join with. They are no keys.
const JoinPrefix = "bthj_"

// NewValue makes a key's value from a source of random bytes.
func NewValue(random io.Reader) (string, error) { return newToken(Prefix, random) }

// NewJoinToken makes the token of a host's join from a source of random bytes.
func NewJoinToken(random io.Reader) (string, error) { return newToken(JoinPrefix, random) }

func newToken(prefix string, random io.Reader) (string, error) {
	b := make([]byte, valueBytes)
	if _, err := io.ReadFull(random, b); err != nil {
		return "", fmt.Errorf("making a key: %w", err)
	}
	return prefix + base64.RawURLEncoding.EncodeToString(b), nil
}

// IsValue reports whether s has the form of a key. Only its form is looked at,
// which everybody knows.
func IsValue(s string) bool {
	if len(s) != ValueLength || !strings.HasPrefix(s, Prefix) {
		return false
	}
	for i := len(Prefix); i < len(s); i++ {
		c := s[i]
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
		if !ok {
			return false
		}
	}
	return true
}

// Shown is the part of a value that may be shown, to tell keys apart; empty for
// what is no value.
func Shown(value string) string {
	if !IsValue(value) {
		return ""
	}
	return value[len(Prefix) : len(Prefix)+shownChars]
}

// HashOf is all that is kept of a key's value, or of a join token. It is also the
// way to the record: who does not have the value cannot come closer to it by
// trying, since a hash tells nothing about those beside it.
func HashOf(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:])
}
