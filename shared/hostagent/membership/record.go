// Package membership is a host agent's side of having joined a control plane: the
// record of it, the heartbeats, and the nudges.
package membership

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/privatefile"
)

// Record is what a host agent keeps of its join.
type Record struct {
	Server       string               // the API's URL, without /api/v1
	Installation berth.InstallationID // whom it belongs to
	Host         berth.HostID         // what it is called there
	Key          berth.SecretValue    // its own API key
	Address      string               // where the server reaches it
	Listen       string               // host:port that it listened on as it joined
	Public       Public
	JoinedAt     time.Time
}

// Public is how browsers reach previews; its zero value is not at all.
type Public struct {
	URL    string `json:"url"`    // https://*.NAME
	Listen string `json:"listen"` // host:port
	Cert   string `json:"cert"`   // the file of the certificate; empty behind a proxy
	Key    string `json:"key"`
}

const schema = 1

// stored is a Record in its file.
type stored struct {
	Schema       int                  `json:"schema"`
	Server       string               `json:"server"`
	Installation berth.InstallationID `json:"installation"`
	Host         berth.HostID         `json:"host"`
	Key          string               `json:"key"`
	Address      string               `json:"address"`
	Listen       string               `json:"listen"`
	Public       *Public              `json:"public,omitempty"`
	JoinedAt     time.Time            `json:"joined_at"`
}

// Write keeps r in a file that is for its owner alone.
func (r Record) Write(path string) error {
	s := stored{
		Schema: schema, Server: r.Server, Installation: r.Installation, Host: r.Host, Key: string(r.Key.Reveal()),
		Address: r.Address, Listen: r.Listen, JoinedAt: r.JoinedAt,
	}
	if r.Public != (Public{}) {
		s.Public = &r.Public
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("recording the join: %w", err)
	}
	return privatefile.Write(path, append(b, '\n'))
}

// Read returns what Write has kept; joined is false when there is no file. Errors:
// invalid for a file that others may read, or that is no such record; unavailable
// for one of a newer berth.
func Read(path string) (r Record, joined bool, err error) {
	b, err := privatefile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	var s stored
	if err := json.Unmarshal(b, &s); err != nil || s.Server == "" || s.Host == "" || s.Installation == "" || s.Key == "" {
		return r, false, &berth.Error{
			Code: berth.CodeInvalid, Message: path + " is no record of a join",
			Remediation: "restore it; or run `berth-agent leave`, and join again",
		}
	}
	if s.Schema > schema {
		return r, false, berth.Errorf(berth.CodeUnavailable, "%s was written by a newer berth-agent: update this one", path)
	}
	r = Record{
		Server: s.Server, Installation: s.Installation, Host: s.Host, Key: berth.NewSecretValue([]byte(s.Key)),
		Address: s.Address, Listen: s.Listen, JoinedAt: s.JoinedAt,
	}
	if s.Public != nil {
		r.Public = *s.Public
	}
	return r, true, nil
}

// Forget removes the record; false when there is none.
func Forget(path string) (bool, error) {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("forgetting the join: %w", err)
	}
	return true, nil
}
