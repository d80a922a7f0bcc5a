package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/embedded"
)

// The values of --ssh.
const (
	sshAuto = "auto"
	sshOff  = "off"
)

func sshFlags(flags *pflag.FlagSet, f *serveFlags) {
	flags.StringVar(&f.ssh, "ssh", sshAuto, "`use` of this machine's OpenSSH client: auto, when it is installed, or off")
	flags.StringArrayVar(&f.sshConfigs, "allow-ssh-config", nil, "`file` that ssh.config_file may name where --allow-local is off; may be repeated")
}

// ssh is what the flags say of this machine's OpenSSH client.
func (a *app) ssh(f serveFlags) (embedded.SSH, error) {
	if f.ssh != sshAuto && f.ssh != sshOff {
		return embedded.SSH{}, berth.FieldErrorf(berth.CodeInvalid, "--ssh", "must be %s or %s", sshAuto, sshOff)
	}
	hosts := embedded.SSH{Off: f.ssh == sshOff}
	for _, file := range f.sshConfigs {
		if !filepath.IsAbs(file) {
			file = filepath.Join(a.dir, file)
		}
		hosts.AllowConfigs = append(hosts.AllowConfigs, filepath.Clean(file))
	}
	return hosts, nil
}

// exe is the account of exe.dev whose key the environment names by its file: a
// key itself has several lines.
func (a *app) exe() (embedded.Exe, error) {
	const variable = "EXE_SSH_KEY_FILE"
	file := a.env[variable]
	if file == "" {
		return embedded.Exe{}, nil
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(a.dir, file)
	}
	key, err := os.ReadFile(file)
	if err != nil {
		return embedded.Exe{}, &berth.Error{Code: berth.CodeInvalid, Field: variable, Message: "names a file that cannot be read", Cause: err}
	}
	return embedded.Exe{Key: berth.NewSecretValue(key), Lobby: a.env["EXE_LOBBY"], Fingerprint: a.env["EXE_LOBBY_FINGERPRINT"]}, nil
}
