package serverless

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/exe"
	"github.com/berth-dev/berth/shared/sandbox/ssh"
	"github.com/berth-dev/berth/shared/shell"
)

// The secrets of berth's own that SSH needs.
const (
	sshKey        = "ssh/key"
	sshKnownHosts = "ssh/known_hosts"
	exeKey        = "exe/key"
)

// openSSH makes the provider whose key and known hosts are in the store of
// secrets. No request is made: without them, runs are told so.
func (w *Wiring) openSSH() berth.Provider {
	return ssh.New(ssh.Config{
		Installation: w.Variables.Installation, Guest: w.guests, Connect: w.connectSSH, Records: w.sshRecords, Clock: w.clock, Logger: w.Logger,
	})
}

func (w *Wiring) connectSSH(ctx context.Context, destination, configFile string) (ssh.Shell, error) {
	if configFile != "" {
		return nil, &berth.Error{
			Code: berth.CodeUnsupported, Field: "ssh.config_file", Message: "a server on AWS has no files: it uses the key and the known hosts in its store of secrets",
			Remediation: "Leave it out, and write the destination as user@host.",
		}
	}
	key, err := w.providerSecret(ctx, sshKey, "the private key with which hosts let the server in")
	if err != nil {
		return nil, err
	}
	known, err := w.providerSecret(ctx, sshKnownHosts, "the lines of known_hosts by which hosts are told from others")
	if err != nil {
		return nil, err
	}
	return shell.NewNative(shell.NativeConfig{Destination: destination, Key: key, KnownHosts: known.Reveal()})
}

// openExe makes the provider of the account whose key is in the store of secrets.
func (w *Wiring) openExe() berth.Provider {
	key := func(ctx context.Context) (berth.SecretValue, error) {
		return w.providerSecret(ctx, exeKey, "a private key that exe.dev knows")
	}
	return exe.New(exe.Config{
		Installation: w.Variables.Installation, Guest: w.guests, Clock: w.clock, Logger: w.Logger, Lobby: shell.ExeLobby(key, "", ""),
		Connect: func(ctx context.Context, destination, port string) (exe.Shell, error) {
			return shell.ExeVM(ctx, key, destination, port)
		},
	})
}

// providerSecret reads a secret of berth's own. Error: unsupported, with what to
// put there, when there is none.
func (w *Wiring) providerSecret(ctx context.Context, name, what string) (berth.SecretValue, error) {
	value, err := w.secrets.Read(ctx, berth.ProviderSecret(name))
	if berth.CodeOf(err) == berth.CodeNotFound {
		return value, &berth.Error{
			Code: berth.CodeUnsupported, Message: "the store of secrets holds no " + berth.ProviderSecret(name) + ": " + what,
			Remediation: "Put it into Secrets Manager under berth/" + string(w.Variables.Installation) + "/" + berth.ProviderSecret(name) + ".",
		}
	}
	return value, err
}

// sshRecords tells the provider which hosts there are.
func (w *Wiring) sshRecords(ctx context.Context) ([]ssh.Record, error) {
	recorded, err := w.Records.ListSandboxEnvironments(ctx, berth.ProviderSSH)
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
