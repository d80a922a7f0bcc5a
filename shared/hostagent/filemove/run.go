package filemove

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	tries      = 3 // of a move whose connection breaks
	pause      = time.Second
	longest    = time.Hour   // URLs do not last longer
	stall      = time.Minute // without a byte
	maxMessage = 512
)

var errStalled = errors.New("no byte has moved for a minute")

// run moves the file when it is its turn, and keeps what became of it.
func (m *Mover) run(v *move) {
	ctx, cancel := context.WithTimeout(m.base, longest)
	defer cancel()
	var done berth.MoveState
	err := m.turn(ctx)
	if err == nil {
		done, err = m.attempts(ctx, v)
		<-m.slots
	}
	if err != nil {
		done = berth.MoveState{Status: berth.TransferFailed, Reason: reasonOf(err)}
		m.config.Logger.LogAttrs(ctx, slog.LevelWarn, "a file was not moved",
			slog.String("transfer", v.spec.ID), slog.String("sandbox", string(v.ref.ID)), slog.String("error", err.Error()))
	} else {
		m.config.Logger.LogAttrs(ctx, slog.LevelInfo, "a file was moved",
			slog.String("transfer", v.spec.ID), slog.String("sandbox", string(v.ref.ID)), slog.Int64("bytes", done.Size))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	v.state, v.changed = done, m.config.Clock.Now()
}

// turn waits until there is a slot.
func (m *Mover) turn(ctx context.Context) error {
	select {
	case m.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return m.over(ctx, ctx.Err())
	}
}

// attempts tries again when a connection broke; a file is replaced as a whole,
// so that nothing of an earlier attempt is left.
func (m *Mover) attempts(ctx context.Context, v *move) (berth.MoveState, error) {
	for n := 1; ; n++ {
		done, err := m.attempt(ctx, v)
		if err == nil || n == tries || ctx.Err() != nil || berth.CodeOf(err) != berth.CodeUnavailable {
			return done, err
		}
		if m.config.Clock.Sleep(ctx, time.Duration(n)*pause) != nil {
			return done, err
		}
	}
}

func (m *Mover) attempt(ctx context.Context, v *move) (berth.MoveState, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(stall, func() { cancel(errStalled) })
	defer timer.Stop()
	t := &trip{mover: m, move: v, ctx: ctx, progress: func(moved int64) {
		timer.Reset(stall)
		m.mu.Lock()
		v.state.Moved = moved
		m.mu.Unlock()
	}}
	var done berth.MoveState
	var err error
	if v.spec.Direction == berth.TransferUpload {
		done, err = t.upload()
	} else {
		done, err = t.download()
	}
	return done, m.over(ctx, err)
}

// over says why a move was broken off, if it was.
func (m *Mover) over(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() == nil:
		return err
	case m.base.Err() != nil:
		return berth.Errorf(berth.CodeUnavailable, "the host agent ended before the file had moved")
	case errors.Is(context.Cause(ctx), errStalled):
		return berth.Errorf(berth.CodeUnavailable, "no byte of the file has moved for %d s", stall/time.Second)
	}
	return berth.Errorf(berth.CodeTimedOut, "the file could not be moved within an hour")
}

// reasonOf is what others may know of err.
func reasonOf(err error) *berth.Reason {
	r := &berth.Reason{
		Code: string(berth.CodeOf(err)), Message: "the host agent could not move the file because of an error of its own; its log has it",
		Remediation: "Correct what is wrong and commit the transfer again, or make a new one.",
	}
	var e *berth.Error
	if errors.As(err, &e) && e.Code != berth.CodeInternal {
		r.Message = e.Message[:min(len(e.Message), maxMessage)]
		if e.Remediation != "" {
			r.Remediation = e.Remediation
		}
	}
	return r
}
