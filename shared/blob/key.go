// Package blob holds what every adapter of the berth.Blobs port shares: the
// rules of keys.
package blob

import (
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// The caps of a key, in bytes: that of S3, and that of a file name with room
// for a suffix.
const (
	MaxKeyBytes  = 1024
	MaxPartBytes = 200
)

// CheckKey returns invalid unless key names a blob: parts of [A-Za-z0-9._-]
// between single slashes, none of them "." or "..".
func CheckKey(key string) error {
	if len(key) > MaxKeyBytes {
		return berth.Errorf(berth.CodeInvalid, "a blob's key is at most %d bytes", MaxKeyBytes)
	}
	for part := range strings.SplitSeq(key, "/") {
		if err := checkPart(part); err != nil {
			return err
		}
	}
	return nil
}

// CheckPrefix returns invalid unless prefix can begin a key. The empty prefix,
// which would be everything, is refused.
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return berth.Errorf(berth.CodeInvalid, "a prefix of blobs may not be empty")
	}
	return CheckKey(strings.TrimSuffix(prefix, "/"))
}

func checkPart(part string) error {
	switch {
	case part == "", part == ".", part == "..":
		return berth.Errorf(berth.CodeInvalid, "a blob's key may not have an empty, %q or %q part", ".", "..")
	case len(part) > MaxPartBytes:
		return berth.Errorf(berth.CodeInvalid, "a part of a blob's key is at most %d bytes", MaxPartBytes)
	}
	for i := range len(part) {
		c := part[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-') {
			return berth.Errorf(berth.CodeInvalid, "a blob's key takes letters, digits, dots, dashes and underscores between slashes")
		}
	}
	return nil
}
