package relay

import (
	"context"
	"sort"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// StartCommand starts a command, once however often it is called. Values of
// secrets travel in the stream and stay in memory at the other end.
func (s *Sandboxes) StartCommand(ctx context.Context, ref berth.SandboxRef, spec berth.CommandSpec) error {
	if spec.Timeout < 0 { // told here: the other end would not hear of other types
		return berth.FieldErrorf(berth.CodeInvalid, "timeout", "must not be negative")
	}
	p := wire.Command{
		ID: spec.ID, Argv: wire.Texts(spec.Argv), Script: wire.Text(spec.Script), Dir: wire.Text(spec.Dir),
		Timeout: spec.Timeout, Stdin: spec.Stdin, OutputCap: spec.OutputCap,
	}
	p.Env, p.Mask = variables(spec.Env), values(spec.Mask)
	_, _, err := s.ask(ctx, ref, wire.OpCommand, p, nil, nil)
	return err
}

// variables are in the order of their names.
func variables(env map[string]string) []wire.Variable {
	names := make([]string, 0, len(env))
	for name := range env {
		names = append(names, name)
	}
	sort.Strings(names)
	var all []wire.Variable
	for _, name := range names {
		all = append(all, wire.Variable{Name: wire.Text(name), Value: wire.Text(env[name])})
	}
	return all
}

func values(secrets []berth.SecretValue) []wire.Text {
	var all []wire.Text
	for _, value := range secrets {
		all = append(all, wire.Text(value.Reveal()))
	}
	return all
}

// DescribeCommand answers from the command's spool.
func (s *Sandboxes) DescribeCommand(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) (berth.CommandState, error) {
	var state wire.CommandState
	_, _, err := s.ask(ctx, ref, wire.OpDescribeCommand, wire.CommandRef{ID: id}, nil, &state)
	return berth.CommandState(state), err
}

// readWait is the longest wait of one question: a reader that is gone must not
// be waited for long.
const readWait = 20 * time.Second

// ReadOutput returns whole frames from offset and waits for them up to wait.
func (s *Sandboxes) ReadOutput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, limit int, wait time.Duration) (berth.Output, error) {
	for deadline := time.Now().Add(wait); ; {
		left := max(time.Until(deadline), 0)
		var answer wire.OutputResult
		body, _, err := s.ask(ctx, ref, wire.OpOutput, wire.Output{ID: id, Offset: offset, Limit: limit, Wait: min(left, readWait)}, nil, &answer)
		if err != nil {
			return berth.Output{Next: offset}, err
		}
		if len(body) > 0 || answer.Ended || left <= readWait {
			return berth.Output{Bytes: body, Next: answer.Next, Ended: answer.Ended, Exit: answer.Exit}, nil
		}
	}
}

// WriteInput appends to a command's standard input and returns when all is
// accepted; the offset that comes with an error says how far it got.
func (s *Sandboxes) WriteInput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, data []byte, eof bool) (int64, error) {
	return s.asks(ref).WriteInput(ctx, id, offset, data, eof)
}

// Signal sends to a command's process group.
func (s *Sandboxes) Signal(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, signal string) error {
	_, again, err := s.ask(ctx, ref, wire.OpSignal, wire.Signal{ID: id, Name: signal}, nil, nil)
	if again > 0 && berth.CodeOf(err) == berth.CodeConflict {
		return nil // it has ended of the signal that was sent before
	}
	return err
}

// Cancel ends a command's process tree.
func (s *Sandboxes) Cancel(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) error {
	_, _, err := s.ask(ctx, ref, wire.OpCancel, wire.Signal{ID: id}, nil, nil)
	return err
}
