package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	inputPiece    = 1 << 20 // bytes of standard input in one request, at most
	inputPause    = 10 * time.Millisecond
	inputMaxPause = 500 * time.Millisecond
)

// passInput streams standard input to the command until its end, no faster than
// the command takes it. A failure ends the whole with that error.
func (x execution) passInput(ctx context.Context, leave context.CancelCauseFunc) {
	buf := make([]byte, inputPiece)
	for offset := int64(0); ; {
		n, err := x.app.stdin.Read(buf)
		if err != nil && !errors.Is(err, io.EOF) {
			leave(local(err, "reading standard input"))
			return
		}
		next, werr := x.writeAll(ctx, offset, buf[:n], err != nil)
		if werr != nil && !x.ended(ctx) {
			leave(fmt.Errorf("passing standard input on: %w", werr))
		}
		if werr != nil || err != nil {
			return
		}
		offset = next
	}
}

// writeAll writes data at offset, and the end of the input behind it when last.
// What the command does not take yet is offered again.
func (x execution) writeAll(ctx context.Context, offset int64, data []byte, last bool) (int64, error) {
	for pause := inputPause; len(data) > 0 || last; {
		next, err := x.client.WriteInput(ctx, x.sandbox, x.command, berth.StdinRequest{Offset: offset, Data: data, EOF: last})
		if err != nil {
			return offset, err
		}
		taken := next - offset
		if taken < 0 || taken > int64(len(data)) {
			return offset, berth.Errorf(berth.CodeInternal, "the server took standard input up to %d of %d bytes", next, offset+int64(len(data)))
		}
		data, offset = data[taken:], next
		if len(data) == 0 {
			return offset, nil
		}
		if taken > 0 {
			pause = inputPause
		}
		if err := x.app.clock.Sleep(ctx, pause); err != nil {
			return offset, err
		}
		pause = min(2*pause, inputMaxPause)
	}
	return offset, nil
}

// ended reports whether the command takes no input because it is over.
func (x execution) ended(ctx context.Context) bool {
	command, err := x.client.FindCommand(ctx, x.sandbox, x.command)
	return ctx.Err() != nil || (err == nil && command.Status == berth.CommandEnded)
}
