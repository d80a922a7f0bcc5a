package main

import (
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
