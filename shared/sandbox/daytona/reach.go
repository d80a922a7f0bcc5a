package daytona

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
)

// Reach says whether Daytona answers at all. Error: unavailable.
func (p *Provider) Reach(ctx context.Context, _ berth.Environment) error { return p.client.Reach(ctx) }
