package ssh

import (
	"context"
	"errors"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
)

var _ berth.Asker = (*Provider)(nil)

// nobody is the end of names that no host has (RFC 6761): who asks about one wants
// to know of the server alone.
const nobody = ".invalid"

// Ask asks the environment's host for nothing but to run true, over a connection
// of its own: one that is kept would hide what a new one meets. Errors: invalid,
// forbidden, unsupported, unavailable, timed_out, as Provision would say it.
func (p *Provider) Ask(ctx context.Context, e berth.Environment) (said string, asked bool, err error) {
	o := e.SSH
	if o == nil || o.Destination == "" {
		return "", false, berth.FieldErrorf(berth.CodeInvalid, "ssh.destination", "must name a host")
	}
	if strings.HasSuffix(o.Destination, nobody) {
		return "the SSH client is here; no host was asked", false, nil
	}
	sh, err := p.config.Connect(ctx, o.Destination, o.ConfigFile)
	if err != nil {
		return "", false, err
	}
	defer sh.Close()
	_, err = sh.Run(ctx, "true", nil)
	var status *relay.StatusError
	switch {
	case errors.As(err, &status):
		return "", false, &berth.Error{
			Code: berth.CodeUnavailable, Message: "the host " + o.Destination + " lets the server in and runs no command: " + status.Error(), Cause: err,
			Remediation: "Give the user a login shell, and its key no forced command.",
		}
	case berth.CodeOf(err) == berth.CodeTimedOut:
		return "", false, &berth.Error{
			Code: berth.CodeTimedOut, Message: "the host " + o.Destination + " did not answer in time", Cause: err,
			Remediation: "Look whether it runs, and whether a firewall lets the server in.",
		}
	case err != nil:
		return "", false, err
	}
	return "the host " + o.Destination + " answers", true, nil
}
