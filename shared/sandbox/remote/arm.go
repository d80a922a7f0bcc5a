package remote

import (
	"context"
	"net/http"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

// Arm has the agent nudge the control plane once, when the command has output
// behind offset or has ended: at once if it has already. Arming again with the
// same offset is one arming. It lasts for two minutes, and not beyond the agent's
// end. Errors: those of ReadOutput; rate_limited; unsupported for an agent that
// has not joined.
func (p *Provider) Arm(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64) error {
	return p.exchange(ctx, p.command(http.MethodPost, ref, id, "arm"), agentapi.Arm{Offset: offset}, nil)
}
