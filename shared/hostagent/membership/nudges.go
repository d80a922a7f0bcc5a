package membership

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	maxNudges    = 1024 // that wait to be sent
	nudgeWorkers = 4
	nudgeTries   = 4
	nudgePause   = 250 * time.Millisecond // before the second try; each next is four times as long
)

// Nudges tells the control plane of commands that it has armed the agent for. A
// nudge that is lost costs time alone: the control plane looks by itself as well.
type Nudges struct {
	plane  ControlPlane
	host   berth.HostID
	clock  berth.Clock
	logger *slog.Logger
	queue  chan berth.Nudge

	mu      sync.Mutex // guards what follows
	waiting map[berth.Nudge]bool
	failing bool
}

// NewNudges makes the queue; nothing is sent before Run.
func NewNudges(plane ControlPlane, host berth.HostID, clock berth.Clock, logger *slog.Logger) *Nudges {
	return &Nudges{
		plane: plane, host: host, clock: clock, logger: logger,
		queue: make(chan berth.Nudge, maxNudges), waiting: map[berth.Nudge]bool{},
	}
}

// Send takes a nudge and returns at once. One that waits to be sent already is not
// sent twice, and one for which there is no room is lost.
func (n *Nudges) Send(nudge berth.Nudge) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiting[nudge] {
		return
	}
	select {
	case n.queue <- nudge:
		n.waiting[nudge] = true
	default:
		n.told(berth.Errorf(berth.CodeUnavailable, "%d nudges wait already", maxNudges))
	}
}

// Run sends nudges until ctx ends.
func (n *Nudges) Run(ctx context.Context) {
	var work sync.WaitGroup
	for range nudgeWorkers {
		work.Go(func() {
			for {
				select {
				case nudge := <-n.queue:
					n.deliver(ctx, nudge)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	work.Wait()
}

func (n *Nudges) deliver(ctx context.Context, nudge berth.Nudge) {
	n.mu.Lock()
	delete(n.waiting, nudge) // what comes from now on is news again
	n.mu.Unlock()
	err := n.try(ctx, nudge)
	for pause, tries := nudgePause, 1; err != nil && !refused(err) && tries < nudgeTries; pause, tries = 4*pause, tries+1 {
		if n.clock.Sleep(ctx, pause/2+rand.N(pause)) != nil {
			return
		}
		err = n.try(ctx, nudge)
	}
	if ctx.Err() != nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.told(err)
}

func (n *Nudges) try(ctx context.Context, nudge berth.Nudge) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return n.plane.NudgeHost(ctx, n.host, nudge)
}

// told logs when nudges begin to be lost, and when they arrive again.
func (n *Nudges) told(err error) {
	switch {
	case err != nil && !n.failing:
		n.logger.Warn("nudges are lost: runs go on, and notice output and ends later", "host", string(n.host), "code", string(berth.CodeOf(err)), "error", err)
	case err == nil && n.failing:
		n.logger.Info("nudges arrive again", "host", string(n.host))
	}
	n.failing = err != nil
}
