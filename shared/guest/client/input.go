package client

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// inputPiece is how much of standard input is sent at once.
const inputPiece = 256 << 10

// WriteInput appends to the command's standard input. It returns when all is
// accepted, which a command that does not read delays; the offset that comes
// with an error says how far it got.
func (ask Ask) WriteInput(ctx context.Context, id berth.CommandID, offset int64, data []byte, eof bool) (int64, error) {
	for {
		piece := data[:min(len(data), inputPiece)]
		last := len(piece) == len(data)
		var answer wire.Offset
		if _, err := ask(ctx, wire.OpInput, wire.Input{ID: id, Offset: offset, EOF: eof && last}, piece, &answer); err != nil {
			return offset, err
		}
		taken := answer.Offset - offset
		if taken >= int64(len(data)) {
			return answer.Offset, nil
		}
		data, offset = data[max(taken, 0):], max(answer.Offset, offset)
		if ctx.Err() != nil {
			return offset, ContextError(ctx)
		}
	}
}
