package daytona

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonaapi"
)

const (
	// longestTouch is the most time between two signs of life.
	longestTouch = 5 * time.Minute
	touchLimit   = 30 * time.Second
)

// ReadOutput returns whole frames from offset and waits for them up to wait. A
// sandbox of which Daytona says that it is started, and that has not answered for a
// long time, has lost its commands.
func (p *Provider) ReadOutput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, limit int, wait time.Duration) (berth.Output, error) {
	p.touch(ref.ID)
	began := p.config.Clock.Now()
	out, err := p.doer(ctx, ref).ReadOutput(ctx, ref, id, offset, limit, wait)
	b := p.box(ref.ID)
	if berth.CodeOf(err) != berth.CodeUnavailable {
		b.heard()
		return out, err
	}
	if b.silentFor(began, p.config.Clock.Now(), p.config.Pace.Silence) < p.config.Pace.Silence {
		return out, err
	}
	s, findErr := p.find(ctx, ref)
	switch {
	case isNotFound(findErr):
		return out, findErr
	case findErr != nil || s.State != daytonaapi.Started:
		return out, err // whatever is wrong, it is not this sandbox alone
	}
	p.config.Logger.Warn("a sandbox is lost", "sandbox", ref.ID, "error", err)
	return berth.Output{Next: offset, Ended: true, Exit: &berth.Exit{
		Code: -1, Reason: berth.ExitLost, Message: "the sandbox is lost: it has not answered for " + p.config.Pace.Silence.String(),
	}}, nil
}

func (b *box) heard() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.silentSince = time.Time{}
}

// silentFor is for how long the sandbox has been asked in vain, with a question
// that was put at began and has come to nothing now. While nobody asked for longer
// than gap, it may have answered.
func (b *box) silentFor(began, now time.Time, gap time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.silentSince.IsZero() || began.Sub(b.silentLast) > gap {
		b.silentSince = now
	}
	b.silentLast = now
	return now.Sub(b.silentSince)
}

// touch pushes Daytona's clock of the auto-stop forward, in the background and
// not too often: what runs inside does not count as activity, and nor does a
// silent command.
func (p *Provider) touch(id berth.SandboxID) {
	b := p.box(id)
	now := p.config.Clock.Now()
	b.mu.Lock()
	l := b.live
	due := false
	if l != nil && l.sandbox.AutoStopInterval > 0 {
		every := min(time.Duration(l.sandbox.AutoStopInterval*float64(time.Minute))/3, longestTouch)
		if due = now.Sub(b.touched) >= every; due {
			b.touched = now
		}
	}
	b.mu.Unlock()
	if !due {
		return
	}
	p.spawn(func() {
		ctx, cancel := p.untilClosed()
		defer cancel()
		ctx, stop := context.WithTimeout(ctx, touchLimit)
		defer stop()
		if err := p.client.Touch(ctx, l.sandbox.ID); err != nil {
			p.config.Logger.Warn("a sandbox's auto-stop is not put off", "sandbox", id, "error", err)
		}
	})
}

// KeepAlive holds the auto-stop off for a sandbox whose run lives and waits:
// nothing reads from it then.
func (p *Provider) KeepAlive(ctx context.Context, ref berth.SandboxRef) error {
	s, err := p.find(ctx, ref)
	if err != nil || s.AutoStopInterval <= 0 {
		return err
	}
	return p.client.Touch(ctx, s.ID)
}
