//go:build linux

package hostagent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/spool"
)

// askWith is ask with a body on both ways.
func (s *Sandbox) askWith(ctx context.Context, op wire.Op, params any, body []byte, result any) ([]byte, error) {
	l, err := s.guest()
	if err != nil {
		return nil, err
	}
	m, err := l.call(ctx, op, params, body)
	if err != nil {
		return nil, err
	}
	if result != nil {
		if err := json.Unmarshal(m.Params, result); err != nil {
			return nil, fmt.Errorf("reading the answer to %s: %w", op, err)
		}
	}
	return m.Body, nil
}

// StartCommand starts spec, once however often it is called.
func (s *Sandbox) StartCommand(ctx context.Context, spec berth.CommandSpec) error {
	if err := checkCommand(spec); err != nil {
		return err
	}
	hash := hashOf(spec)
	if was, err := s.spools.summary(spec.ID); err == nil {
		if was.Start != nil && was.Start.Hash != hash {
			return berth.FieldErrorf(berth.CodeConflict, "id", "the command id has been used for another command")
		}
		return nil
	} else if berth.CodeOf(err) != berth.CodeNotFound {
		return err
	}
	outputCap := spec.OutputCap
	if outputCap <= 0 {
		outputCap = berth.DefaultOutputCap
	}
	e, release := s.spools.use(spec.ID)
	defer release()
	s.spools.mu.Lock()
	e.cap = outputCap
	s.spools.mu.Unlock()
	p := wire.Command{
		ID: spec.ID, Hash: hash, Argv: wire.Texts(spec.Argv), Script: wire.Text(spec.Script), Dir: wire.Text(spec.Dir),
		Timeout: spec.Timeout, Stdin: spec.Stdin, OutputCap: outputCap,
	}
	for _, name := range sortedNames(spec.Env) {
		p.Env = append(p.Env, wire.Variable{Name: wire.Text(name), Value: wire.Text(spec.Env[name])})
	}
	for _, value := range spec.Mask {
		p.Mask = append(p.Mask, wire.Text(value.Reveal()))
	}
	l, err := s.guest()
	if err != nil {
		return err
	}
	if l.unnamed {
		p.SandboxStart = l.start
	}
	return s.askWithSpool(ctx, l, wire.OpStart, spec.ID, p)
}

// askWithSpool hands the guest the command's spool.
func (s *Sandbox) askWithSpool(ctx context.Context, l *link, op wire.Op, id berth.CommandID, params any) error {
	file, err := s.spools.open(id)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = l.call(ctx, op, params, nil, file)
	return err
}

// DescribeCommand answers from the spool.
func (s *Sandbox) DescribeCommand(_ context.Context, id berth.CommandID) (berth.CommandState, error) {
	live := s.liveStart()
	said, err := s.spools.summary(id)
	if err != nil {
		return berth.CommandState{}, err
	}
	state := berth.CommandState{ID: id, Status: berth.CommandRunning, Exit: said.Exit}
	if said.Start != nil {
		state.StartedAt = said.Start.At
	}
	if state.Exit == nil && lost(said, live) {
		state.Exit = s.lostExit(said)
	}
	if state.Exit != nil {
		state.Status = berth.CommandEnded
	}
	return state, nil
}

// lost reports whether a command without an exit can have one no more. live is
// the start whose guest lived before the spool was read.
func lost(said spool.Summary, live string) bool {
	return said.Exit == nil && said.Start != nil && said.Start.SandboxStart != live
}

func (s *Sandbox) lostExit(said spool.Summary) *berth.Exit {
	if s.config.LostExit != nil {
		if exit := s.config.LostExit(said.Start.SandboxStart); exit != nil {
			return exit
		}
	}
	return &berth.Exit{Code: -1, Reason: berth.ExitLost, Message: "the sandbox ended before the command did"}
}

// growthPoll is how often a spool is looked at without a notice from the guest.
const growthPoll = 500 * time.Millisecond

// ReadOutput returns whole frames from offset and waits for them up to wait.
func (s *Sandbox) ReadOutput(ctx context.Context, id berth.CommandID, offset int64, limit int, wait time.Duration) (berth.Output, error) {
	if limit <= 0 || limit > berth.MaxOutputRead {
		limit = berth.MaxOutputRead
	}
	e, release := s.spools.use(id)
	defer release()
	deadline := time.Now().Add(wait)
	for {
		// Both are asked before the file is read, so that nothing is missed.
		grown, live := s.spools.watch(e), s.liveStart()
		out, said, err := s.spools.read(e, id, offset, limit)
		if err != nil || len(out.Bytes) > 0 || out.Ended {
			return out, err
		}
		if lost(said, live) {
			out.Ended, out.Exit = true, s.lostExit(said)
			return out, nil
		}
		left := time.Until(deadline)
		if left <= 0 {
			return out, nil
		}
		timer := time.NewTimer(min(left, growthPoll))
		select {
		case <-grown:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
	}
}

// Signal sends to the command's process group.
func (s *Sandbox) Signal(ctx context.Context, id berth.CommandID, name string) error {
	signal, err := wire.ParseSignal(name)
	if err != nil {
		return err
	}
	switch said, err := s.spools.summary(id); {
	case err == nil && said.Start == nil: // a tombstone
		return nil
	case err == nil && (said.Exit != nil || lost(said, s.liveStart())):
		return berth.Errorf(berth.CodeConflict, "the command has ended")
	case berth.CodeOf(err) == berth.CodeNotFound && !wire.Tombstone(signal):
		return err
	}
	l, err := s.guest()
	if err != nil {
		return err
	}
	return s.askWithSpool(ctx, l, wire.OpSignal, id, wire.Signal{ID: id, Name: name})
}

// Cancel ends the command's process tree.
func (s *Sandbox) Cancel(ctx context.Context, id berth.CommandID) error {
	if _, err := berth.ParseCommandID(string(id)); err != nil {
		return err
	}
	if said, err := s.spools.summary(id); err == nil && (said.Exit != nil || lost(said, s.liveStart())) {
		return nil
	}
	l, err := s.guest()
	if err != nil {
		return s.bury(id)
	}
	return s.askWithSpool(ctx, l, wire.OpCancel, id, wire.Signal{ID: id})
}

// bury leaves a tombstone while no guest lives that could start the command.
func (s *Sandbox) bury(id berth.CommandID) error {
	file, err := s.spools.open(id)
	if err != nil {
		return err
	}
	defer file.Close()
	w, said, err := spool.OpenWriter(file)
	if err != nil || said.Start != nil || said.Exit != nil {
		return err
	}
	return DiskError("writing a tombstone", w.WriteExit(berth.Exit{Code: -1, Reason: berth.ExitCancelled, Message: "cancelled before the start"}))
}
