package ssh

import (
	"cmp"
	"context"
	"errors"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
)

// Reach runs nothing on the environment's host, once. Whatever the host answers, it
// has been reached. Errors: those of a connection.
func (p *Provider) Reach(ctx context.Context, e berth.Environment) error {
	if e.SSH == nil || e.SSH.Destination == "" {
		return nil
	}
	h := hostOf(*e.SSH)
	sh, err := p.shell(ctx, h)
	if err == nil {
		_, err = sh.Run(ctx, ":", nil)
	}
	var answer *relay.StatusError
	var failed *berth.Error
	switch {
	case err == nil || errors.As(err, &answer):
		return nil
	case !errors.As(err, &failed) || failed.Code != berth.CodeUnavailable && failed.Code != berth.CodeTimedOut:
		return err
	}
	told := *failed
	told.Remediation = cmp.Or(failed.Remediation, "See whether the host is up and its SSH server answers; ssh "+h.destination+" on the server shows the same.")
	if failed.Code == berth.CodeTimedOut {
		told.Message = "the host " + h.destination + " did not answer in time"
	}
	return &told
}
