// Package client asks a guest for what it answers in the same way to an agent
// beside it and to a relay far away: files, and the standard input of commands.
package client

import (
	"context"
	"errors"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// Ask puts one question to a guest, decodes the parameters of the answer into
// result unless that is nil, and returns its body. Errors: the guest's own;
// whatever is wrong with the way to it.
type Ask func(ctx context.Context, op wire.Op, params any, body []byte, result any) ([]byte, error)

// ContextError is the error of a call whose ctx has ended: timed_out at its
// deadline.
func ContextError(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &berth.Error{Code: berth.CodeTimedOut, Message: "the sandbox did not answer in time", Cause: ctx.Err()}
	}
	return ctx.Err()
}
