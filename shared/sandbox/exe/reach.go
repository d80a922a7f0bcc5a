package exe

import (
	"cmp"
	"context"
	"errors"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
)

// Reach says something to the lobby, once. Whatever it answers, it has been reached.
// Errors: those of a connection.
func (p *Provider) Reach(ctx context.Context, _ berth.Environment) error {
	_, err := p.config.Lobby.Run(ctx, "whoami", nil)
	var answer *relay.StatusError
	var failed *berth.Error
	switch {
	case err == nil || errors.As(err, &answer):
		return nil
	case !errors.As(err, &failed) || failed.Code != berth.CodeUnavailable && failed.Code != berth.CodeTimedOut:
		return err
	}
	told := *failed
	told.Remediation = cmp.Or(failed.Remediation, "See whether the server can reach exe.dev by SSH.")
	if failed.Code == berth.CodeTimedOut {
		told.Message = "exe.dev did not answer in time"
	}
	return &told
}
