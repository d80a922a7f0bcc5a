//go:build linux

package docker

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// adopt takes up a sandbox that an earlier server recorded. A guest that lives is
// connected without the engine's help.
func (b *box) adopt(m meta, engineAnswers bool) error {
	unlock, err := b.lock(context.Background()) // nobody else has it yet
	if err != nil {
		return err
	}
	defer unlock()
	if err := b.open(m); err != nil {
		return err
	}
	if m.attached() {
		return b.adoptAttached(m)
	}
	process, alive := m.guest(b.provider.boot)
	switch {
	case m.Status == berth.SandboxDestroyed:
		b.finish("destroying a sandbox", b.remove)
	case m.Status == berth.SandboxStopped && alive: // the server died while it stopped this one
		b.finish("stopping a sandbox", func(ctx context.Context) error {
			if b.present().Status != berth.SandboxStopped { // it was started again before its turn came
				return nil
			}
			return b.kill(ctx)
		})
	case alive:
		if err := b.agent.Listen(m.SandboxStart); err != nil {
			return err
		}
		b.agent.Expect(process.PID)
		b.watch(process)
	case m.Status == berth.SandboxReady:
		reason := engineStopped
		if engineAnswers {
			reason = b.findReason("")
		}
		b.recordEnd(m, reason)
	}
	return nil
}

// adoptAttached is adopt for a sandbox whose guest is its own agent. Whether it
// lives is the engine's to say, once it answers.
func (b *box) adoptAttached(m meta) error {
	switch m.Status {
	case berth.SandboxDestroyed:
		b.finish("destroying a sandbox", b.remove)
	case berth.SandboxStopped:
		b.finish("stopping a sandbox", func(ctx context.Context) error {
			if b.present().Status != berth.SandboxStopped {
				return nil
			}
			return b.kill(ctx)
		})
	case berth.SandboxReady:
		b.watchAttached()
	case berth.SandboxCreating:
		if m.StartedAt != "" {
			b.watchAttached()
		}
	}
	return nil
}

// finish does in the background, until it is done, what an earlier server began.
func (b *box) finish(doing string, do func(context.Context) error) {
	b.provider.work.Go(func() {
		ctx, cancel := b.provider.untilClosed()
		defer cancel()
		for pause := time.Second; ; pause = min(2*pause, time.Minute) {
			unlock, err := b.lock(ctx)
			if err != nil {
				return
			}
			err = do(ctx)
			unlock()
			if err == nil {
				if b.isGone() {
					b.provider.boxes.Forget(b.id, b)
				}
				return
			}
			b.logger().Warn("what an earlier server began is not done yet", "doing", doing, "error", err)
			if b.provider.config.Clock.Sleep(ctx, pause) != nil {
				return
			}
		}
	})
}
