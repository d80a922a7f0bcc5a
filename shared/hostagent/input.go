//go:build linux

package hostagent

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
)

// WriteInput appends to the command's standard input, as [client.Ask] does. What
// comes after the command has ended is dropped without an error, as by a pipe of
// the shell.
func (s *Sandbox) WriteInput(ctx context.Context, id berth.CommandID, offset int64, data []byte, eof bool) (int64, error) {
	end := offset + int64(len(data))
	offset, err := s.asks().WriteInput(ctx, id, offset, data, eof)
	if code := berth.CodeOf(err); code == berth.CodeNotFound || code == berth.CodeConflict {
		if said, spoolErr := s.spools.summary(id); spoolErr == nil && said.Exit != nil {
			return end, nil
		}
	}
	return offset, err
}
