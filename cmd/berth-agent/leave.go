//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/membership"
)

func leaveCommand() *cobra.Command {
	var dir folder
	cmd := &cobra.Command{
		Use: "leave", Short: "Forget the server that this machine is a host of",
		Long: `Forget the server that this machine is a host of: its key, and the bearer token that
it knows. Sandboxes are left as they are. The server is not told: remove the host
there with ` + "`berth host rm`" + `.`,
		Example: "  berth-agent leave", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			member, err := leave(dir)
			if err == nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "berth-agent: forgotten%s; if the server still lists the host, remove it there: berth host rm %s\n",
					serverOf(member), member.Host)
			}
			return err
		},
	}
	folderFlag(cmd.Flags(), &dir)
	return cmd
}

func serverOf(m membership.Record) string {
	if m.Server == "" {
		return ""
	}
	return ": " + m.Server
}

// leave also does away with a record that cannot be read. Errors: conflict while an
// agent runs; not_found when none has joined.
func leave(dir folder) (membership.Record, error) {
	dir, err := dir.absolute()
	if err != nil {
		return membership.Record{}, err
	}
	lock, err := dir.claim()
	if err != nil {
		return membership.Record{}, berth.Wrap(err, "leaving, for which no agent may run (systemctl stop berth-agent)")
	}
	defer lock.Unlock()
	member, _, _ := dir.member()
	found, err := membership.Forget(dir.host())
	if err == nil && !found {
		err = &berth.Error{
			Code: berth.CodeNotFound, Message: "no join is recorded in " + string(dir),
			Remediation: "name the agent's folder with --data-dir",
		}
	}
	if err != nil {
		return member, err
	}
	if err := os.Remove(dir.token()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return member, fmt.Errorf("removing the token that the server knows: %w", err)
	}
	return member, nil
}
