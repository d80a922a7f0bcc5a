//go:build linux

package ssh_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/sandbox/ssh"
	"github.com/berth-dev/berth/shared/shell"
	"github.com/berth-dev/berth/shared/shell/sshdtest"
)

// transports are the two ways to a host.
var transports = map[string]func(*sshdtest.Server) func(ctx context.Context, destination, configFile string) (ssh.Shell, error){
	"program": func(*sshdtest.Server) func(context.Context, string, string) (ssh.Shell, error) {
		return func(_ context.Context, destination, configFile string) (ssh.Shell, error) {
			return shell.NewProgram(shell.ProgramConfig{Destination: destination, ConfigFile: configFile})
		}
	},
	"native": func(s *sshdtest.Server) func(context.Context, string, string) (ssh.Shell, error) {
		return func(_ context.Context, destination, _ string) (ssh.Shell, error) {
			return shell.NewNative(shell.NativeConfig{Destination: destination, Key: berth.NewSecretValue(s.Key), KnownHosts: s.KnownHosts})
		}
	},
}

// rig is a host with a provider.
type rig struct {
	server    *sshdtest.Server
	transport string
	config    ssh.Config

	mu      sync.Mutex // guards records
	records []ssh.Record
	present *ssh.Provider
}

func newRig(t *testing.T, transport string, options ...string) *rig {
	t.Helper()
	r := &rig{server: sshdtest.Start(t, options...), transport: transport}
	r.config = ssh.Config{
		Installation: "test",
		Connect:      transports[transport](r.server),
		Guest:        guestFile(t),
		Records: func(context.Context) ([]ssh.Record, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return append([]ssh.Record(nil), r.records...), nil
		},
	}
	r.present = ssh.New(r.config)
	t.Cleanup(func() { r.present.Close() })
	return r
}

// guestFile is the guest's program, for every architecture: hosts of tests are
// this machine.
func guestFile(t testing.TB) func(arch string) ([]byte, error) {
	guest := sandboxtest.GuestBytes(t)
	return func(string) ([]byte, error) { return guest, nil }
}

// reopen is the next server.
func (r *rig) reopen() *ssh.Provider {
	r.present.Close()
	r.present = ssh.New(r.config)
	return r.present
}

// spec is recorded, as the server does it before it asks a provider.
func (r *rig) spec(t testing.TB) berth.SandboxSpec {
	o := berth.SSHOptions{Destination: sshdtest.Alias, ConfigFile: r.server.ClientConfig, WorkingDirectory: filepath.Join(t.TempDir(), "made", "work")}
	if r.transport == "native" {
		o.Destination, o.ConfigFile = r.server.Destination(), ""
	}
	spec := berth.SandboxSpec{ID: sandboxtest.NewID(), Installation: "test", Run: "01arz3ndektsv4rrffq69g5fav", Environment: berth.Environment{Provider: berth.ProviderSSH, SSH: &o}}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, ssh.Record{ID: spec.ID, Options: o})
	return spec
}

func (r *rig) folder(id berth.SandboxID) string {
	return filepath.Join(r.server.Home, ".berth", "test", string(id))
}
