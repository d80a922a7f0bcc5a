package embedded

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/guestbin"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/sandbox/ssh"
	"github.com/berth-dev/berth/shared/shell"
)

// SSH says how the server uses its OpenSSH client, with the configuration of the
// user that it runs as.
type SSH struct {
	// Off leaves it alone.
	Off bool
	// AllowConfigs are the files that ssh.config_file may name. Such a file can name
	// programs, which run on the server: where the local provider is on, any file may
	// be named.
	AllowConfigs []string
}

// openSSH makes the provider of hosts that the server's user can reach. Error: invalid
// for a configuration to allow that is none.
func openSSH(o Options, s stores, logger *slog.Logger) (berth.Provider, error) {
	for _, file := range o.SSH.AllowConfigs {
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
			return nil, berth.FieldErrorf(berth.CodeInvalid, "--allow-ssh-config", "%s is not there, or is no file", file)
		}
	}
	if o.SSH.Off {
		return control.Off(berth.ProviderSSH, "the server was started with --ssh=off"), nil
	}
	return control.Late(berth.ProviderSSH, o.Clock, func() (berth.Provider, string) {
		probe, err := shell.NewProgram(shell.ProgramConfig{Destination: "none"})
		if err != nil {
			return nil, reasonText(err)
		}
		_ = probe.Close() // it has made no connection
		return ssh.New(ssh.Config{
			Installation: s.installation.ID, Guest: guestOf(o), Connect: o.connectSSH, Records: sshRecords(s.records), Clock: o.Clock, Logger: logger,
		}), ""
	}), nil
}

func (o Options) connectSSH(_ context.Context, destination, configFile string) (ssh.Shell, error) {
	if configFile != "" && !o.AllowLocal && !slices.Contains(o.SSH.AllowConfigs, filepath.Clean(configFile)) {
		return nil, &berth.Error{
			Code: berth.CodeForbidden, Field: "ssh.config_file", Message: "the server does not let environments name the file " + configFile,
			Remediation: "Start it with berth serve --allow-ssh-config FILE.",
		}
	}
	return shell.NewProgram(shell.ProgramConfig{Destination: destination, ConfigFile: configFile})
}

// guestOf reads the guest's program.
func guestOf(o Options) func(arch string) ([]byte, error) {
	return func(arch string) ([]byte, error) {
		if o.GuestPath != "" {
			return os.ReadFile(o.GuestPath)
		}
		return guestbin.Binary(arch)
	}
}

// sshRecords tells the provider which hosts there are.
func sshRecords(store *records.Store) func(context.Context) ([]ssh.Record, error) {
	return func(ctx context.Context) ([]ssh.Record, error) {
		recorded, err := store.ListSandboxEnvironments(ctx, berth.ProviderSSH)
		if err != nil {
			return nil, err
		}
		var all []ssh.Record
		for _, r := range recorded {
			if r.Environment.SSH != nil {
				all = append(all, ssh.Record{ID: r.Sandbox.ID, Options: *r.Environment.SSH})
			}
		}
		return all, nil
	}
}
