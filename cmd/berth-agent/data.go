//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
	"github.com/spf13/pflag"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/privatefile"
)

// folder is an agent's data folder.
type folder string

func (d folder) path(name string) string { return filepath.Join(string(d), name) }

func (d folder) certificate() string  { return d.path("certificate.pem") }
func (d folder) token() string        { return d.path("token") }
func (d folder) log() string          { return d.path("agent.log") }
func (d folder) installation() string { return d.path("installation") }
func (d folder) guests() string       { return d.path("guests") }
func (d folder) sandboxes(kind berth.ProviderKind) string {
	return filepath.Join(d.path("sandboxes"), string(kind))
}

// folderFlag adds --data-dir.
func folderFlag(flags *pflag.FlagSet, d *folder) {
	flags.StringVar((*string)(d), "data-dir", string(usualFolder()), "`folder` for the agent's key, log and sandboxes")
}

func usualFolder() folder {
	if os.Geteuid() == 0 {
		return "/var/lib/berth-agent"
	}
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return folder(filepath.Join(dir, "berth-agent"))
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return folder(filepath.Join(home, ".local", "share", "berth-agent"))
}

// absolute makes the folder's path independent of the current folder.
func (d folder) absolute() (folder, error) {
	if d == "" {
		return "", berth.FieldErrorf(berth.CodeInvalid, "--data-dir", "must be given, as no home folder is known")
	}
	path, err := filepath.Abs(string(d))
	return folder(path), err
}

// claim takes the folder for this process, for as long as it lives. Errors:
// conflict, unavailable.
func (d folder) claim() (*flock.Flock, error) {
	unusable := func(err error) error {
		return &berth.Error{
			Code: berth.CodeUnavailable, Message: "the data folder " + string(d) + " cannot be used",
			Remediation: "make it a writable folder of the agent's user, or choose another with --data-dir", Cause: err,
		}
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return nil, unusable(err)
	}
	if err := os.Chmod(string(d), 0o700); err != nil {
		return nil, unusable(err)
	}
	lock := flock.New(d.path("lock"), flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err != nil {
		return nil, unusable(err)
	}
	if !held {
		return nil, &berth.Error{
			Code: berth.CodeConflict, Message: "another agent uses the data folder " + string(d),
			Remediation: "stop that one, or give this one another --data-dir",
		}
	}
	return lock, nil
}

// owner is the installation that the agent belongs to; empty while none has called.
func (d folder) owner() (berth.InstallationID, error) {
	b, err := os.ReadFile(d.installation())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading whom the agent belongs to: %w", err)
	}
	return berth.InstallationID(strings.TrimSpace(string(b))), nil
}

func (d folder) setOwner(id berth.InstallationID) error {
	return privatefile.Write(d.installation(), []byte(id+"\n"))
}
