// Package secret holds what every adapter of the berth.Secrets port shares: the
// rules of names and values.
package secret

import (
	"regexp"

	"github.com/berth-dev/berth/shared/berth"
)

// MaxNameBytes leaves room for the installation in front, within the 512 of
// Secrets Manager.
const MaxNameBytes = 256

var namePattern = regexp.MustCompile(`^(user|provider)(/[A-Za-z0-9_][A-Za-z0-9_.-]*)+$`)

// CheckName returns invalid unless name is a scope and a name: `user/NAME` or
// `provider/NAME`, where NAME may itself have parts.
func CheckName(name string) error {
	if len(name) > MaxNameBytes {
		return berth.Errorf(berth.CodeInvalid, "a secret's name is at most %d bytes", MaxNameBytes)
	}
	if !namePattern.MatchString(name) {
		return berth.Errorf(berth.CodeInvalid, "a secret's name takes letters, digits, dots, dashes and underscores, and begins with a letter, digit or underscore")
	}
	return nil
}

// CheckValue returns invalid for no bytes, too_large for more than
// berth.MaxSecretBytes. Neither tells anything of the value.
func CheckValue(value berth.SecretValue) error {
	switch n := value.Len(); {
	case n == 0:
		return berth.Errorf(berth.CodeInvalid, "a secret's value may not be empty")
	case n > berth.MaxSecretBytes:
		return berth.Errorf(berth.CodeTooLarge, "a secret's value is at most %d bytes", berth.MaxSecretBytes)
	}
	return nil
}

// NotFound is the error of a read of a secret that is not there.
func NotFound(name string) error {
	return berth.Errorf(berth.CodeNotFound, "there is no secret %s", name)
}
