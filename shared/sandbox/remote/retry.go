package remote

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	firstPause = 20 * time.Millisecond
	longPause  = 500 * time.Millisecond
)

// do sends k until it is answered, or no connection has held for as long as
// patience goes. Every call of the seam has its effect once however often it is
// sent, but for those that say otherwise.
func (p *Provider) do(ctx context.Context, k call) (answer, error) {
	end := p.config.Clock.Now().Add(p.config.Patience)
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		a, err := p.attempt(ctx, k)
		final := k.once
		if k.stream != nil {
			fault, begun := k.stream.end()
			if fault != nil {
				return a, fault
			}
			final = begun
		}
		var b *broken
		switch {
		case !errors.As(err, &b):
			return a, err
		case b.sent && final:
			return a, b.err
		}
		// Between half and the whole of the pause, so that the clients of an agent
		// that comes back do not march in step.
		rest := pause/2 + rand.N(pause/2)
		if p.config.Clock.Now().Add(rest).After(end) || p.config.Clock.Sleep(ctx, rest) != nil {
			return a, b.err
		}
	}
}
