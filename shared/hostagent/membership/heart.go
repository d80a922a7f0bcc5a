package membership

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// ControlPlane is what a host agent tells its control plane. Each call is tried
// once. Errors: unauthenticated and forbidden for a key that was revoked;
// not_found for a host that was removed; unavailable, timed_out, rate_limited.
type ControlPlane interface {
	BeatHost(ctx context.Context, id berth.HostID, beat berth.Heartbeat) error
	NudgeHost(ctx context.Context, id berth.HostID, nudge berth.Nudge) error
}

// Heart sends the heartbeats of a host.
type Heart struct {
	Plane ControlPlane
	Host  berth.HostID
	// Beat looks at the host anew.
	Beat func() (berth.Heartbeat, error)
	// Refused, if set, is called when the server has refused a heartbeat for good: the
	// host was removed, or its key.
	Refused func()
	Clock   berth.Clock
	Logger  *slog.Logger

	failures int // in a row
	state    string
}

const (
	callTime   = 10 * time.Second // of one call
	firstAgain = 2 * time.Second  // after a heartbeat that did not arrive
	// refusedAgain is the time between two heartbeats that the server refuses: only
	// people can change that.
	refusedAgain = 4 * berth.HostHeartbeat
)

// Run sends heartbeats until ctx ends. A server that does not answer or refuses
// them changes nothing for the sandboxes.
func (h *Heart) Run(ctx context.Context) {
	for {
		err := h.beat(ctx)
		if ctx.Err() != nil {
			return
		}
		h.tell(err)
		if h.Clock.Sleep(ctx, h.pause(err)) != nil {
			return
		}
	}
}

func (h *Heart) beat(ctx context.Context) error {
	beat, err := h.Beat()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return h.Plane.BeatHost(ctx, h.Host, beat)
}

// pause spreads the heartbeats of hosts that began together.
func (h *Heart) pause(err error) time.Duration {
	switch {
	case err == nil:
		h.failures = 0
		return berth.HostHeartbeat*9/10 + rand.N(berth.HostHeartbeat/5)
	case refused(err):
		h.failures = 0
		return refusedAgain*9/10 + rand.N(refusedAgain/5)
	}
	again := min(firstAgain<<min(h.failures, 10), berth.HostHeartbeat)
	h.failures++
	return again/2 + rand.N(again/2)
}

// refused reports whether the server has answered that it does not want to hear.
func refused(err error) bool {
	switch berth.CodeOf(err) {
	case berth.CodeUnauthenticated, berth.CodeForbidden, berth.CodeNotFound, berth.CodeConflict, berth.CodeInvalid, berth.CodeUnsupported:
		return true
	}
	return false
}

// tell logs how it stands with the server, when that has changed.
func (h *Heart) tell(err error) {
	state := string(berth.CodeOf(err))
	if state == h.state && h.state != "" {
		return
	}
	before := h.state
	switch berth.CodeOf(err) {
	case "":
		state = "heard"
		if before != state {
			h.Logger.Info("the server hears the heartbeats", "host", string(h.Host))
		}
	case berth.CodeUnauthenticated, berth.CodeForbidden:
		h.refused()
		h.Logger.Error("the server does not take this host's key any more: sandboxes go on, and no new ones come; "+
			"unless it was removed on purpose, run `berth-agent leave` and join again", "host", string(h.Host), "error", err)
	case berth.CodeNotFound:
		h.refused()
		h.Logger.Error("the server does not know this host any more: run `berth-agent leave`, and join again if it is to be one",
			"host", string(h.Host), "error", err)
	default:
		h.Logger.Warn("the heartbeats do not arrive", "host", string(h.Host), "code", state, "error", err)
	}
	h.state = state
}

func (h *Heart) refused() {
	if h.Refused != nil {
		h.Refused()
	}
}
