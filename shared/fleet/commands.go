package fleet

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// StartCommand starts a command where the sandbox is.
func (f *Fleet) StartCommand(ctx context.Context, ref berth.SandboxRef, spec berth.CommandSpec) error {
	return f.done(ctx, ref, func(p berth.Provider) error { return p.StartCommand(ctx, ref, spec) })
}

// DescribeCommand tells of a command.
func (f *Fleet) DescribeCommand(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) (berth.CommandState, error) {
	state, err := call(ctx, f, ref.Host, true, func(p berth.Provider) (berth.CommandState, error) { return p.DescribeCommand(ctx, ref, id) })
	return state, gone(ref, err)
}

// ReadOutput answers lost for a command on a host that was removed.
func (f *Fleet) ReadOutput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, limit int, wait time.Duration) (berth.Output, error) {
	out, err := call(ctx, f, ref.Host, true, func(p berth.Provider) (berth.Output, error) {
		return p.ReadOutput(ctx, ref, id, offset, limit, wait)
	})
	if isRemoved(err) {
		return berth.Output{Next: offset, Ended: true, Exit: &berth.Exit{Code: -1, Reason: berth.ExitLost, Message: err.Error()}}, nil
	}
	return out, err
}

// WriteInput appends to standard input.
func (f *Fleet) WriteInput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, data []byte, eof bool) (int64, error) {
	next, err := call(ctx, f, ref.Host, true, func(p berth.Provider) (int64, error) { return p.WriteInput(ctx, ref, id, offset, data, eof) })
	return next, gone(ref, err)
}

// Signal sends to the command's process group.
func (f *Fleet) Signal(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, signal string) error {
	return f.done(ctx, ref, func(p berth.Provider) error { return p.Signal(ctx, ref, id, signal) })
}

// Cancel ends the command's process tree.
func (f *Fleet) Cancel(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) error {
	return f.done(ctx, ref, func(p berth.Provider) error { return p.Cancel(ctx, ref, id) })
}

// armer is the power of a host's agent to nudge.
type armer interface {
	Arm(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64) error
}

// Arm lets the host nudge once the command has spoken past offset or has ended.
// Error: unsupported for the server's own engine, which has nobody to nudge.
func (f *Fleet) Arm(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64) error {
	return f.done(ctx, ref, func(p berth.Provider) error {
		a, ok := p.(armer)
		if !ok {
			return berth.Errorf(berth.CodeUnsupported, "the provider of sandbox %s does not nudge", ref.ID)
		}
		return a.Arm(ctx, ref, id, offset)
	})
}

var _ berth.Mover = (*Fleet)(nil)

// StartMove has the host's agent move a file by itself. Error: unsupported where
// the server has to move it.
func (f *Fleet) StartMove(ctx context.Context, ref berth.SandboxRef, move berth.Move) error {
	return f.done(ctx, ref, func(p berth.Provider) error {
		m, ok := p.(berth.Mover)
		if !ok {
			return berth.Errorf(berth.CodeUnsupported, "the provider of sandbox %s moves no files by itself", ref.ID)
		}
		return m.StartMove(ctx, ref, move)
	})
}

// DescribeMove asks the host's agent how far a move is.
func (f *Fleet) DescribeMove(ctx context.Context, ref berth.SandboxRef, id string) (berth.MoveState, error) {
	state, err := call(ctx, f, ref.Host, true, func(p berth.Provider) (berth.MoveState, error) {
		m, ok := p.(berth.Mover)
		if !ok {
			return berth.MoveState{}, berth.Errorf(berth.CodeNotFound, "sandbox %s has no move %s", ref.ID, id)
		}
		return m.DescribeMove(ctx, ref, id)
	})
	return state, gone(ref, err)
}
