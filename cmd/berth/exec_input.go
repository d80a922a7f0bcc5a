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
	readPiece     = 64 << 10 // bytes: what a pipe gives at once
	readAhead     = 16       // pieces that wait while a request is under way
	inputPiece    = 1 << 20  // bytes of standard input in one request, at most
	inputPause    = 10 * time.Millisecond
	inputMaxPause = 100 * time.Millisecond
)

// passInput streams standard input to the command until its end, no faster than
// the command takes it. A failure ends the whole with that error.
func (x execution) passInput(ctx context.Context, leave context.CancelCauseFunc) {
	pieces := readPieces(ctx, x.app.stdin)
	for offset, last := int64(0), false; !last; {
		var data []byte
		var err error
		if data, last, err = nextInput(pieces); err != nil {
			leave(local(err, "reading standard input"))
			return
		}
		if offset, err = x.writeAll(ctx, offset, data, last); err != nil {
			if !x.ended(ctx) {
				leave(fmt.Errorf("passing standard input on: %w", err))
			}
			return
		}
	}
}

// piece is one read of the input.
type piece struct {
	data []byte
	err  error
}

// readPieces reads ahead a little, so that requests are fewer and larger than
// the reads of a pipe. The channel closes behind the first error.
func readPieces(ctx context.Context, r io.Reader) <-chan piece {
	pieces := make(chan piece, readAhead)
	go func() {
		defer close(pieces)
		for {
			buf := make([]byte, readPiece)
			n, err := r.Read(buf)
			select {
			case pieces <- piece{buf[:n], err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return pieces
}

// nextInput waits for a piece and takes along those that are there by now; last
// says that nothing follows.
func nextInput(pieces <-chan piece) (data []byte, last bool, err error) {
	p, ok := <-pieces
	for ; ok; p, ok = <-pieces {
		data = append(data, p.data...)
		if p.err != nil && !errors.Is(p.err, io.EOF) {
			return data, false, p.err
		}
		if p.err != nil {
			return data, true, nil
		}
		if len(pieces) == 0 || len(data)+readPiece > inputPiece {
			return data, false, nil
		}
	}
	return data, true, nil
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
		if taken > 0 { // the command is reading: go on at once
			pause = inputPause
			continue
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
