//go:build linux

package hostagent

import (
	"context"
	"encoding/json"

	"github.com/berth-dev/berth/shared/guest/wire"
)

// Forward hands a request about files to the guest as it is, and returns the
// answer as it is. An upload that is begun so belongs to the sandbox, not to who
// began it. Errors: the guest's own; unavailable; conflict when no guest lives.
func (s *Sandbox) Forward(ctx context.Context, op wire.Op, params json.RawMessage, body []byte) (json.RawMessage, []byte, error) {
	l, err := s.guest()
	if err != nil {
		return nil, nil, err
	}
	m, err := l.call(ctx, op, params, body)
	return m.Params, m.Body, err
}
