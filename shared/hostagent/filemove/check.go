package filemove

import (
	"encoding/hex"
	"net"
	"net/url"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// check refuses what cannot be moved, with every problem at once. Error: invalid.
func check(spec berth.Move) error {
	var problems berth.Problems
	if !berth.IsULID(spec.ID) {
		problems.Addf("id", "must be a lower-case ULID")
	}
	switch spec.Direction {
	case berth.TransferUpload, berth.TransferDownload:
	default:
		problems.Addf("direction", "must be one of upload, download")
	}
	if spec.Path == "" {
		problems.Addf("path", "is missing")
	}
	if spec.Size < 0 || spec.Size > berth.MaxMoveBytes {
		problems.Addf("size", "must be 0 to %d bytes", int64(berth.MaxMoveBytes))
	}
	if spec.SHA256 != "" || spec.Direction == berth.TransferUpload {
		sum, err := hex.DecodeString(spec.SHA256)
		if err != nil || len(sum) != 32 || strings.ToLower(spec.SHA256) != spec.SHA256 {
			problems.Addf("sha256", "must be 64 lower-case hex digits")
		}
	}
	if spec.Mode > 0o777 {
		problems.Addf("mode", "must be permission bits")
	}
	if !fetchable(spec.URL) {
		problems.Addf("url", "must be an https URL: only on this machine itself may it be http")
	}
	return berth.Invalid(problems.List())
}

// fetchable reports whether nobody on the way can read what goes to or comes from
// a URL.
func fetchable(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	if u.Scheme == "http" {
		ip := net.ParseIP(u.Hostname())
		return u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())
	}
	return u.Scheme == "https"
}
