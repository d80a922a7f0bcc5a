package remote

import (
	"context"
	"net/http"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

var _ berth.Mover = (*Provider)(nil)

func (p *Provider) move(method string, ref berth.SandboxRef, id string) call {
	return p.call(method, agentapi.MovePath(p.config.Kind, ref.ID, id), ref)
}

// StartMove has the agent move a file between a signed URL and the sandbox.
func (p *Provider) StartMove(ctx context.Context, ref berth.SandboxRef, move berth.Move) error {
	return p.exchange(ctx, p.move(http.MethodPut, ref, move.ID), agentapi.MoveOf(move), nil)
}

// DescribeMove asks the agent, which forgets its moves when it ends.
func (p *Provider) DescribeMove(ctx context.Context, ref berth.SandboxRef, id string) (berth.MoveState, error) {
	var s agentapi.MoveState
	err := p.exchange(ctx, p.move(http.MethodGet, ref, id), nil, &s)
	return berth.MoveState(s), err
}
