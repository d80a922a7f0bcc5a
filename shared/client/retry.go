package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"syscall"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	firstPause = 50 * time.Millisecond
	longPause  = 2 * time.Second
)

// retrying calls attempt until it succeeds, fails for good, or patience ends.
// anew tells an attempt to look for the server again.
func (c *Client) retrying(ctx context.Context, k call, attempt func(anew bool) error) error {
	patience := c.patience
	if k.patience != 0 {
		patience = k.patience
	}
	end := c.clock.Now().Add(patience)
	anew := false
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		err := attempt(anew)
		if err == nil || !worthRepeating(err, k.repeatable) {
			return err
		}
		anew = isConnectionFailure(err)
		// Between half and the whole of the pause, so that clients of a server
		// that comes back do not march in step.
		rest := pause/2 + rand.N(pause/2)
		if c.clock.Now().Add(rest).After(end) {
			return err
		}
		if c.clock.Sleep(ctx, rest) != nil {
			return err
		}
	}
}

// worthRepeating reports whether another attempt may help and can do no harm.
func worthRepeating(err error, repeatable bool) bool {
	if isRefused(err) { // nothing has reached a server
		return true
	}
	var f *Failure
	if errors.As(err, &f) && f.foreign {
		return false
	}
	return repeatable && berth.CodeOf(err) == berth.CodeUnavailable
}

// isConnectionFailure reports whether no server answered at all.
func isConnectionFailure(err error) bool {
	var f *Failure
	return !errors.As(err, &f)
}

func isRefused(err error) bool {
	var op *net.OpError
	return errors.Is(err, syscall.ECONNREFUSED) || (errors.As(err, &op) && op.Op == "dial" && !op.Timeout())
}
